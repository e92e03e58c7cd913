//! [`Number`]: a number as people write it on pages. Keeps: what is read is
//! the number that is there, digit by digit, or an error; a text that could
//! mean several numbers is no number.
//!
//! | text | is read as | since |
//! |---|---|---|
//! | `£1,299.00`, `1.299,00 €`, `CHF 1'450.00`, `1 299,00 kr` | the same in any language | the last of two kinds of separators is the decimal one |
//! | `89,90`, `0.125`, `1234.567` | decimals | thousands come in groups of three and begin with no zero |
//! | `1.050`, `1,050` | 1050 | **a guess**: prices seldom have three decimals; [`Decimal`] says otherwise |
//! | `1,234,567`, `12,34,567` | whole numbers | a decimal separator stands once |
//! | `-5`, `−£5`, `£-5` | -5 | a sign touches the number or its currency |
//! | `(5)` | 5 | on pages that is a count, not a debt |
//! | `12,-`, `5.–`, `20 %`, `1.2k` | 12, 5, 20, 1.2 | units are not read |
//! | `£60 £45`, `10–20`, `4.5 out of 5`, `2x3`, `1h30` | nothing | several numbers, unless [`Pick`] says which |
//! | `12.05.2024`, `1½`, `12⁹⁹`, `,5` | nothing | no number that could be told |

use std::fmt;

use serde::{Serialize, Serializer};

use super::digits::{Written, find_all, plain};

/// A number, exact in every digit: as `1299.5`, without zeros that say
/// nothing.
///
/// ```
/// use canter::select::{Decimal, Number, Pick};
/// let read = |text| Number::read(text, Decimal::Guess, Pick::Only).unwrap();
/// assert_eq!(read("from £1,299.50").as_str(), "1299.5");
/// assert_eq!(read("1.299,50 € inkl. MwSt."), read("£1,299.50"));
/// assert_eq!(read("€ 1.050").as_f64(), 1050.0);
/// assert_eq!(Number::read("1,050 kg", Decimal::Comma, Pick::Only).unwrap().as_str(), "1.05");
/// assert!(Number::read("price on request", Decimal::Guess, Pick::Only).is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Number(Box<str>);

/// What separates whole numbers from decimals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Decimal {
    /// Whatever the text itself suggests.
    #[default]
    Guess,
    /// A point: `1,299.00`.
    Point,
    /// A comma: `1.299,00`.
    Comma,
}

/// Which of several numbers is meant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pick {
    /// None: a text with several different numbers cannot be read.
    #[default]
    Only,
    /// The first.
    First,
    /// The last.
    Last,
}

/// Why there is no number in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NoNumber {
    /// There is none.
    None,
    /// There are several, and they differ.
    Several,
    /// What is there could mean this or that, or is no number after all.
    Unclear,
}

impl fmt::Display for NoNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoNumber::None => "no number",
            NoNumber::Several => "several numbers",
            NoNumber::Unclear => "no clear number",
        })
    }
}

impl std::error::Error for NoNumber {}

impl Number {
    /// Reads the number in a text, whatever stands around it.
    ///
    /// # Errors
    /// Why there is none.
    pub fn read(text: &str, decimal: Decimal, pick: Pick) -> Result<Number, NoNumber> {
        if let Some(digits) = plain(text.trim()) {
            return Number::of(&digits).ok_or(NoNumber::Unclear);
        }
        let found = find_all(text, decimal);
        // Digits within a word are a number only where there is no other.
        let apart: Vec<&Written> = found.iter().filter(|number| !number.in_word).collect();
        let found = if apart.is_empty() {
            found.iter().collect()
        } else {
            apart
        };
        let chosen = match (pick, found.as_slice()) {
            (_, []) => return Err(NoNumber::None),
            (_, [only]) => only,
            (Pick::First, [first, ..]) => first,
            (Pick::Last, [.., last]) => last,
            (Pick::Only, [first, rest @ ..]) => {
                // The same number twice is one that is written twice: for eyes
                // and for screen readers.
                let number = first.digits.as_deref().and_then(Number::of);
                let same = |other: &&Written| {
                    other.digits.as_deref().and_then(Number::of) == number && number.is_some()
                };
                if !rest.iter().all(same) {
                    return Err(NoNumber::Several);
                }
                first
            }
        };
        let digits = chosen.digits.as_deref();
        digits.and_then(Number::of).ok_or(NoNumber::Unclear)
    }

    /// The number of a sign or none, digits, and perhaps a point and digits.
    /// `None` for more digits than any number on a page has.
    fn of(digits: &str) -> Option<Number> {
        /// Longer than any quantity, shorter than what is only a string of
        /// digits.
        const MOST: usize = 40;
        let (minus, rest) = match digits.strip_prefix('-') {
            Some(rest) => ("-", rest),
            None => ("", digits),
        };
        let (whole, fraction) = rest.split_once('.').unwrap_or((rest, ""));
        let whole = whole.trim_start_matches('0');
        let fraction = fraction.trim_end_matches('0');
        if whole.len() + fraction.len() > MOST {
            return None;
        }
        let whole = if whole.is_empty() { "0" } else { whole };
        let minus = if whole == "0" && fraction.is_empty() {
            ""
        } else {
            minus
        };
        let point = if fraction.is_empty() { "" } else { "." };
        Some(Number(format!("{minus}{whole}{point}{fraction}").into()))
    }

    /// The number as a decimal: a minus or none, digits, and perhaps a point
    /// and digits. Equal numbers have equal texts.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The nearest floating-point number.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        self.0.parse().unwrap_or(f64::NAN)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<i64> for Number {
    fn from(number: i64) -> Self {
        Number(number.to_string().into())
    }
}

impl TryFrom<f64> for Number {
    type Error = NoNumber;

    fn try_from(number: f64) -> Result<Self, NoNumber> {
        if !number.is_finite() {
            return Err(NoNumber::None);
        }
        Number::of(&number.to_string()).ok_or(NoNumber::Unclear)
    }
}

/// A whole number where it fits into one of 64 bits, else a floating-point
/// number.
impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Ok(number) = self.0.parse::<i64>() {
            serializer.serialize_i64(number)
        } else if let Ok(number) = self.0.parse::<u64>() {
            serializer.serialize_u64(number)
        } else {
            serializer.serialize_f64(self.as_f64())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, NoNumber> {
        Number::read(text, Decimal::Guess, Pick::Only).map(|number| number.to_string())
    }

    #[track_caller]
    fn check(decimal: Decimal, table: &[(&str, &str)]) {
        for (text, expected) in table {
            let read = match Number::read(text, decimal, Pick::Only) {
                Ok(number) => number.to_string(),
                Err(error) => error.to_string(),
            };
            assert_eq!(read, *expected, "{text:?} with {decimal:?}");
        }
    }

    #[test]
    fn numbers_are_read_as_people_write_them() {
        check(
            Decimal::Guess,
            &[
                ("£1,299.00", "1299"),
                ("1.299,00 €", "1299"),
                ("£49", "49"),
                ("89,90 €", "89.9"),
                ("EUR 640", "640"),
                ("EUR640", "640"),
                ("from £35.00", "35"),
                ("1\u{a0}299,00 kr", "1299"),
                ("2\u{202f}450,00 €", "2450"),
                ("CHF 1'450.00", "1450"),
                ("CHF 1’450.–", "1450"),
                ("¥12,800", "12800"),
                ("£0.99", "0.99"),
                ("£.50", "0.5"),
                ("GBP 2,399.95", "2399.95"),
                ("£58.00 inc. VAT", "58"),
                ("12.499,50 €", "12499.5"),
                ("$1,234,567.89", "1234567.89"),
                ("1.234.567,89", "1234567.89"),
                ("1 234 567", "1234567"),
                ("₹12,34,567.50", "1234567.5"),
                ("₹1,00,000", "100000"),
                ("US$1,120.00", "1120"),
                ("R$ 1.120,00", "1120"),
                ("kr1299", "1299"),
                ("Rs500", "500"),
                ("49,-", "49"),
                ("20%", "20"),
                ("24h", "24"),
                ("No. 5", "5"),
                ("007", "7"),
                ("0", "0"),
                ("-0.00", "0"),
                ("１２，８００円", "12800"),
                ("١٬٢٣٤٫٥", "1234.5"),
                ("۱۲۳", "123"),
                ("1e3", "1000"),
                ("2.5E-2", "0.025"),
                ("  42\n", "42"),
                ("1.2k", "1.2"),
                ("kr 1.299,-", "1299"),
                ("1,299.–", "1299"),
                ("100m2", "100"),
                ("100 m2, 3rd floor", "several numbers"),
            ],
        );
    }

    #[test]
    fn one_separator_is_decimal_unless_it_makes_a_group_of_three() {
        check(
            Decimal::Guess,
            &[
                ("1.050 €", "1050"),
                ("£1,050", "1050"),
                ("0.125", "0.125"),
                ("0,999", "0.999"),
                ("1234.567", "1234.567"),
                ("3.14159", "3.14159"),
                ("1 299.500", "1299.5"),
                ("12.5", "12.5"),
            ],
        );
        check(
            Decimal::Comma,
            &[
                ("1,050 kg", "1.05"),
                ("1.050 €", "1050"),
                ("1.299,00 €", "1299"),
                ("1 299,5", "1299.5"),
                (",5", "0.5"),
                ("1.299,-", "1299"),
                (".5", "no clear number"),
                ("12.-", "12"),
                ("CHF 1'450.–", "1450"),
                ("1,299.–", "no clear number"),
                ("12.5", "no clear number"),
                ("1,299.00", "no clear number"),
            ],
        );
        check(
            Decimal::Point,
            &[
                ("1.050", "1.05"),
                ("1,050", "1050"),
                ("1,299.00", "1299"),
                (".5", "0.5"),
                (",5", "no clear number"),
                ("1.299,00", "no clear number"),
                ("1.299,-", "no clear number"),
                ("49,-", "49"),
                ("89,90", "no clear number"),
            ],
        );
    }

    #[test]
    fn a_sign_touches_its_number() {
        check(
            Decimal::Guess,
            &[
                ("-5", "-5"),
                ("\u{2212}5 °C", "-5"),
                ("–5 °C", "-5"),
                ("-£5.00", "-5"),
                ("£-5.00", "-5"),
                ("− € 5,00", "5"),
                ("-EUR 5", "-5"),
                ("+5", "5"),
                ("(5)", "5"),
                ("(-5)", "-5"),
                ("Lamp - 5", "5"),
                ("MF-001", "1"),
                ("A4", "4"),
                ("balance: -5", "-5"),
            ],
        );
    }

    #[test]
    fn what_could_mean_several_numbers_is_none() {
        check(
            Decimal::Guess,
            &[
                ("", "no number"),
                ("Price on request", "no number"),
                ("£60.00 £45.00", "several numbers"),
                ("10-20", "several numbers"),
                ("10 – 20", "several numbers"),
                ("4.5 out of 5", "several numbers"),
                ("12:30", "several numbers"),
                ("2024-05-01", "several numbers"),
                ("1/2", "several numbers"),
                ("2x3 m", "several numbers"),
                ("60x40x30 cm", "several numbers"),
                ("1h30", "several numbers"),
                ("0x10", "several numbers"),
                ("1e5 units", "several numbers"),
                ("MF1a2", "several numbers"),
                ("12 99", "several numbers"),
                ("5'11", "several numbers"),
                ("020 7946 0958", "several numbers"),
                ("12.05.2024", "no clear number"),
                ("192.168.0.1", "no clear number"),
                ("1.2.3", "no clear number"),
                ("1½", "no clear number"),
                ("£12⁹⁹", "no clear number"),
                ("3 ½ cups", "no clear number"),
                ("½ 3", "no clear number"),
                (",5", "no clear number"),
                (",50 €", "no clear number"),
                (".500.000", "no clear number"),
                ("12.5,-", "no clear number"),
                ("1,23,45", "no clear number"),
                ("1,2345.6", "no clear number"),
            ],
        );
        assert_eq!(read(&"9".repeat(41)), Err(NoNumber::Unclear));
        assert_eq!(read(&"9".repeat(40)), Ok("9".repeat(40)));
        assert_eq!(read("1e400"), Err(NoNumber::Unclear));
    }

    #[test]
    fn the_same_number_twice_is_one_and_words_with_digits_do_not_count() {
        assert_eq!(read("£12.99 £12.99").as_deref(), Ok("12.99"));
        assert_eq!(read("A4 paper, 500 sheets").as_deref(), Ok("500"));
        assert_eq!(read("MP3 player: £20").as_deref(), Ok("20"));
    }

    #[test]
    fn one_of_several_can_be_picked() {
        let pick =
            |text, pick| Number::read(text, Decimal::Guess, pick).map(|number| number.to_string());
        assert_eq!(pick("£60.00 £45.00", Pick::Last).as_deref(), Ok("45"));
        assert_eq!(pick("4.5 out of 5", Pick::First).as_deref(), Ok("4.5"));
        assert_eq!(pick("12.05.2024, 5", Pick::First), Err(NoNumber::Unclear));
        assert_eq!(pick("none", Pick::First), Err(NoNumber::None));
    }

    #[test]
    fn numbers_are_made_and_serialised_as_what_they_are() {
        let json = |text| {
            let number = Number::read(text, Decimal::Guess, Pick::Only).expect(text);
            serde_json::to_string(&number).expect("a number")
        };
        assert_eq!(json("1,299.00"), "1299");
        assert_eq!(json("-89,90"), "-89.9");
        assert_eq!(json("18446744073709551615"), "18446744073709551615");
        assert_eq!(
            Number::try_from(0.1).map(|n| n.to_string()).as_deref(),
            Ok("0.1")
        );
        assert_eq!(
            Number::try_from(1e20).map(|n| n.to_string()),
            Ok(format!("1{}", "0".repeat(20)))
        );
        assert!(Number::try_from(f64::NAN).is_err());
        assert_eq!(Number::from(-3).as_str(), "-3");
    }

    #[test]
    fn no_text_makes_it_panic_and_what_is_read_is_a_number_of_json() {
        let mut rng = fastrand::Rng::with_seed(1299);
        let pool: Vec<char> = "0123456789.,'’  \u{a0}-–−+£$€kr(½²٫٬１x:E%"
            .chars()
            .collect();
        for _ in 0..50_000 {
            let length = rng.usize(0..12);
            let text: String = (0..length).map(|_| pool[rng.usize(..pool.len())]).collect();
            for decimal in [Decimal::Guess, Decimal::Point, Decimal::Comma] {
                for pick in [Pick::Only, Pick::First, Pick::Last] {
                    if let Ok(number) = Number::read(&text, decimal, pick) {
                        let read: f64 = serde_json::from_str(number.as_str()).expect(&text);
                        assert_eq!(read.to_bits(), number.as_f64().to_bits());
                    }
                }
            }
        }
    }
}
