//! [`Written`]: the numbers that stand in a text, and what their separators
//! mean.

use super::number::Decimal;

/// A number as it was found.
#[derive(Debug)]
pub(super) struct Written {
    /// A minus or none, digits, and perhaps a point and digits; `None` when
    /// the separators make no sense.
    pub(super) digits: Option<String>,
    /// Whether it is part of a word, such as the 4 of `A4`.
    pub(super) in_word: bool,
}

/// A separator between digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separator {
    Point,
    Comma,
    Space,
    Quote,
    /// Those of Arabic have one meaning each.
    Decimal,
    Thousands,
}

impl Separator {
    fn of(c: char) -> Option<Separator> {
        Some(match c {
            '.' | '\u{ff0e}' => Separator::Point,
            ',' | '\u{ff0c}' => Separator::Comma,
            // No-break, figure, thin and narrow spaces.
            ' ' | '\u{a0}' | '\u{2007}' | '\u{2009}' | '\u{202f}' => Separator::Space,
            '\'' | '\u{2019}' | '\u{2bc}' | '\u{b4}' => Separator::Quote,
            '\u{66b}' => Separator::Decimal,
            '\u{66c}' => Separator::Thousands,
            _ => return None,
        })
    }

    /// Whether it may be a decimal separator.
    fn may_be_decimal(self) -> bool {
        matches!(
            self,
            Separator::Point | Separator::Comma | Separator::Decimal
        )
    }
}

/// The first digits of the scripts whose digits people mix with Latin ones:
/// Latin, Arabic, Persian, Devanagari, and those of full width.
const ZEROS: [char; 5] = ['0', '\u{660}', '\u{6f0}', '\u{966}', '\u{ff10}'];

/// The Latin digit that a digit stands for.
fn digit(c: char) -> Option<char> {
    let value = ZEROS.iter().find_map(|&zero| {
        let value = u32::from(c).checked_sub(u32::from(zero))?;
        (value < 10).then_some(value)
    })?;
    char::from_digit(value, 10)
}

/// The number of a text that is nothing else, in the notation of computers
/// with an exponent. Without an exponent it is read like any other.
pub(super) fn plain(text: &str) -> Option<String> {
    let allowed = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    let begins = text.trim_start_matches(['+', '-']);
    if !text.contains(['e', 'E'])
        || !begins.starts_with(|c: char| c.is_ascii_digit())
        || !text.chars().all(allowed)
    {
        return None;
    }
    // What overflows is given as more digits than a number may have.
    let number: f64 = text.parse().ok()?;
    Some(number.clamp(f64::MIN, f64::MAX).to_string())
}

/// Every number in a text.
pub(super) fn find_all(text: &str, decimal: Decimal) -> Vec<Written> {
    let chars: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    // Where the number before ends, and whether it is part of a word.
    let mut before = None;
    while at < chars.len() {
        if digit(chars[at]).is_none() {
            at += 1;
            continue;
        }
        let run = Run::read(&chars, at);
        let end = run.end;
        let mut written = run.written(&chars, at, decimal);
        // 2x3, 1h30 and 0x10 are no word with a number in it.
        if let Some((ended, in_word)) = before
            && letters_between(&chars, ended, at)
            && !is_power(&chars, ended, at, end)
        {
            written.in_word = in_word;
        }
        before = Some((end, written.in_word));
        found.push(written);
        at = end;
    }
    found
}

/// Groups of digits with separators between them.
struct Run {
    groups: Vec<String>,
    separators: Vec<Separator>,
    end: usize,
}

impl Run {
    /// Reads the digits from `at` on, and what may belong to them.
    fn read(chars: &[char], at: usize) -> Run {
        let digits = |from: usize| -> String {
            let rest = chars[from..].iter();
            rest.map_while(|&c| digit(c)).collect()
        };
        let first = digits(at);
        let mut run = Run {
            end: at + first.chars().count(),
            groups: vec![first],
            separators: Vec::new(),
        };
        while let Some(separator) = chars.get(run.end).copied().and_then(Separator::of) {
            let group = digits(run.end + 1);
            if group.is_empty() || !run.takes(separator, &group) {
                break;
            }
            run.end += 1 + group.len();
            run.separators.push(separator);
            run.groups.push(group);
        }
        if let Some(mark) = dashed_mark(chars, run.end) {
            run.separators.push(mark);
            run.groups.push(String::new());
        }
        run
    }

    /// Whether a group belongs to the number. A space or an apostrophe may
    /// also stand between two numbers, so it must make thousands; a point or a
    /// comma without a space is always within one.
    fn takes(&self, separator: Separator, group: &str) -> bool {
        if !matches!(separator, Separator::Space | Separator::Quote) {
            return true;
        }
        let first = &self.groups[0];
        group.len() == GROUP
            && first.len() <= GROUP
            && !first.starts_with('0')
            && self.separators.iter().all(|&other| other == separator)
    }

    fn written(self, chars: &[char], at: usize, decimal: Decimal) -> Written {
        let mut start = at;
        let mut value = self.value(decimal);
        let leading = match decimal {
            Decimal::Comma => Separator::Comma,
            Decimal::Guess | Decimal::Point => Separator::Point,
        };
        // A decimal without its zero, as in £.50; not the end of "No.5".
        if let Some(mark) = mark_before(chars, at) {
            start = at - 1;
            value = (self.separators.is_empty() && mark == leading)
                .then(|| format!("0.{}", self.groups[0]));
        }
        if has_odd_digit(chars, start, self.end) {
            value = None;
        }
        if is_negative(chars, start) {
            value = value.map(|value| format!("-{value}"));
        }
        Written {
            digits: value,
            in_word: is_in_word(chars, start),
        }
    }

    /// The number that the groups make.
    fn value(&self, decimal: Decimal) -> Option<String> {
        let split = self.decimal_separator(decimal)?;
        let (whole, fraction) = match split {
            Some(at) => (&self.groups[..=at], Some(&self.groups[at + 1])),
            None => (&self.groups[..], None),
        };
        let thousands = &self.separators[..whole.len() - 1];
        if !thousands.windows(2).all(|pair| pair[0] == pair[1]) || !are_thousands(whole) {
            return None;
        }
        let mut value = whole.concat();
        if let Some(fraction) = fraction {
            value.push('.');
            value.push_str(fraction);
        }
        Some(value)
    }

    /// Which separator is the decimal one, if any. `None` when there are more
    /// than there can be.
    #[expect(clippy::option_option, reason = "no number is not no separator")]
    fn decimal_separator(&self, decimal: Decimal) -> Option<Option<usize>> {
        let kinds = || self.separators.iter().filter(|kind| kind.may_be_decimal());
        let Some(&last) = kinds().next_back() else {
            return Some(None);
        };
        let mixed = kinds().any(|&kind| kind != last);
        let once = kinds().filter(|&&kind| kind == last).count() == 1;
        let expected = match decimal {
            Decimal::Guess => None,
            Decimal::Point => Some(Separator::Point),
            Decimal::Comma => Some(Separator::Comma),
        };
        // Before a dash nothing but the decimal one can stand, whatever is
        // expected; but then the expected one must not stand elsewhere.
        let dashed = self.groups.last().is_some_and(String::is_empty);
        if dashed && expected.is_some_and(|kind| kind != last) && mixed {
            return None;
        }
        let kind = match decimal {
            _ if dashed || last == Separator::Decimal => last,
            Decimal::Point => Separator::Point,
            Decimal::Comma => Separator::Comma,
            // Two kinds, or a comma after spaces: the last one is decimal.
            Decimal::Guess if mixed || kinds().count() < self.separators.len() => last,
            Decimal::Guess if once && !self.may_be_thousands() => last,
            Decimal::Guess => return Some(None),
        };
        let mut places = (0..self.separators.len()).filter(|&at| self.separators[at] == kind);
        match (places.next(), places.next()) {
            (None, _) => Some(None),
            (Some(at), None) if at + 1 == self.separators.len() => Some(Some(at)),
            _ => None,
        }
    }

    /// Whether the only separator may separate thousands.
    fn may_be_thousands(&self) -> bool {
        let [first, second] = self.groups.as_slice() else {
            return false;
        };
        second.len() == GROUP && first.len() <= GROUP && !first.starts_with('0')
    }
}

/// The decimal separator of a price that ends in a dash, as in `12,-`.
fn dashed_mark(chars: &[char], end: usize) -> Option<Separator> {
    let mark = chars.get(end).copied().and_then(Separator::of)?;
    let dash = chars.get(end + 1).is_some_and(|&c| is_dash(c));
    let range = chars.get(end + 2).copied().and_then(digit).is_some();
    (mark.may_be_decimal() && dash && !range).then_some(mark)
}

/// The separator that stands right before a number, where nothing else would
/// be the number's.
fn mark_before(chars: &[char], at: usize) -> Option<Separator> {
    let mark = Separator::of(chars[at.checked_sub(1)?])?;
    let begins = at
        .checked_sub(2)
        .is_none_or(|before| stands_before_number(chars[before]));
    (mark.may_be_decimal() && begins).then_some(mark)
}

/// Whether a digit that cannot be read touches the number, or a fraction
/// stands beside it: `12⁹⁹`, `1½`, `1 ½`.
fn has_odd_digit(chars: &[char], start: usize, end: usize) -> bool {
    let is_odd = |c: &char| c.is_numeric() && digit(*c).is_none();
    let is_fraction = |c: &char| matches!(c, '\u{bc}'..='\u{be}' | '\u{2150}'..='\u{215e}');
    let is_space = |c: &&char| c.is_whitespace();
    let (before, behind) = (&chars[..start], &chars[end..]);
    let touching = [before.last(), behind.first()];
    let beside = [
        before.iter().rev().find(|c| !is_space(c)),
        behind.iter().find(|c| !is_space(c)),
    ];
    touching.into_iter().flatten().any(is_odd) || beside.into_iter().flatten().any(is_fraction)
}

/// Whether nothing but letters stands between two places, one at least.
fn letters_between(chars: &[char], from: usize, to: usize) -> bool {
    from < to && chars[from..to].iter().all(|c| c.is_alphabetic())
}

/// Whether a number is the power of a unit, as in `100m2`.
fn is_power(chars: &[char], unit: usize, at: usize, end: usize) -> bool {
    chars[unit..at].ends_with(&['m'])
        && matches!(chars[at..end], ['2' | '3'])
        && !chars.get(end).is_some_and(|c| c.is_alphanumeric())
}

/// Digits of a group of thousands.
const GROUP: usize = 3;
/// Digits of the groups before the last one, in India.
const INDIAN_GROUP: usize = 2;

/// Whether groups of digits make one whole number.
fn are_thousands(groups: &[String]) -> bool {
    let [first, between @ .., last] = groups else {
        return true;
    };
    let all = |length: usize| between.iter().all(|group| group.len() == length);
    last.len() == GROUP
        && !first.starts_with('0')
        && (first.len() <= GROUP && all(GROUP) || first.len() <= INDIAN_GROUP && all(INDIAN_GROUP))
}

fn is_currency(c: char) -> bool {
    matches!(
        c,
        '$' | '£'
            | '€'
            | '¥'
            | '¢'
            | '¤'
            | '฿'
            | '\u{20a0}'..='\u{20cf}'
            | '\u{ff04}'
            | '\u{ffe0}'..='\u{ffe6}'
    )
}

/// What may stand for decimals that are not there.
fn is_dash(c: char) -> bool {
    is_minus(c) || matches!(c, '\u{2012}' | '\u{2014}' | '\u{2015}')
}

fn is_minus(c: char) -> bool {
    // Hyphen, minus, and the dash that is often typed for one.
    matches!(c, '-' | '\u{2212}' | '\u{2013}' | '\u{ff0d}')
}

/// What a number, or its sign, may follow directly.
fn stands_before_number(c: char) -> bool {
    c.is_whitespace() || is_currency(c) || is_minus(c) || matches!(c, '(' | '+' | ':' | '=')
}

/// Names of currencies that are written right before numbers, besides codes of
/// three letters (ISO 4217).
const CURRENCIES: [&str; 9] = ["kr", "Kr", "Rs", "RM", "Fr", "Ft", "TL", "R", "Kč"];

/// The letters that end before `at`.
fn word_before(chars: &[char], at: usize) -> String {
    let start = chars[..at].iter().rposition(|c| !c.is_alphabetic());
    chars[start.map_or(0, |start| start + 1)..at]
        .iter()
        .collect()
}

fn is_currency_word(word: &str) -> bool {
    let code = word.len() == 3 && word.bytes().all(|byte| byte.is_ascii_uppercase());
    code || CURRENCIES.contains(&word)
}

/// Whether the number that begins at `start` belongs to a word.
fn is_in_word(chars: &[char], start: usize) -> bool {
    let mut before = start;
    if before > 1 && is_minus(chars[before - 1]) {
        before -= 1;
    }
    let word = word_before(chars, before);
    !word.is_empty() && (before < start || !is_currency_word(&word))
}

/// Whether a minus belongs to the number that begins at `start`: right before
/// it, or right before its currency.
fn is_negative(chars: &[char], start: usize) -> bool {
    let is_sign = |at: usize| {
        is_minus(chars[at])
            && at
                .checked_sub(1)
                .is_none_or(|before| stands_before_number(chars[before]))
    };
    let Some(before) = start.checked_sub(1) else {
        return false;
    };
    if is_minus(chars[before]) {
        return is_sign(before);
    }
    let mut end = start;
    if Separator::of(chars[before]) == Some(Separator::Space) {
        end = before;
    }
    let symbols = chars[..end].iter().rev().take_while(|&&c| is_currency(c));
    let mut begin = end - symbols.count();
    let word = word_before(chars, begin);
    if is_currency_word(&word) || begin < end {
        begin -= word.chars().count();
    }
    begin < end && begin > 0 && is_sign(begin - 1)
}
