//! [`Extracted`]: the items of a page, and what could not be read. Keeps: the
//! same page and rules give the same items in the same order; what is not
//! there is never made up.

use std::fmt;
use std::sync::Arc;

use scraper::ElementRef;

use super::dom::Dom;
use super::field::{Field, Kind};
use super::item::{Item, Value};
use super::number::Number;
use super::raw::{no_element, raw};
use super::rules::Rules;

/// How much of what stands on a page a message repeats, in characters: enough
/// to recognise it.
const QUOTED: usize = 100;

/// What rules made of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extracted {
    /// The items, in the order of the page. An item of which nothing at all is
    /// there is none.
    pub items: Vec<Item>,
    /// What was there and could not be read, and what was missing that is
    /// required.
    pub faults: Vec<Fault>,
}

/// A field that an item does not have although it should.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The name of the rules.
    pub rules: Arc<str>,
    /// The name of the field.
    pub field: Arc<str>,
    /// Which of the page's items, from 1; 0 when the item is the page.
    pub item: usize,
    /// Why, and what is there.
    pub problem: String,
    /// Whether the item was left out for it.
    pub left_out: bool,
}

/// `extract.lamp.price, item 2: no number in "on request"`
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "extract.{}.{}", self.rules, self.field)?;
        if self.item > 0 {
            write!(f, ", item {}", self.item)?;
        }
        write!(f, ": {}", self.problem)?;
        if self.left_out {
            f.write_str("; the item is left out")?;
        }
        Ok(())
    }
}

impl Rules {
    /// Reads a page. Whether it is one of [theirs](Self::apply_to) is not
    /// asked.
    #[must_use]
    pub fn extract(&self, dom: &Dom) -> Extracted {
        let url = Arc::new(crate::uri::without_credentials(dom.url()).into_owned());
        let mut extracted = Extracted::default();
        let mut read = |element: Option<ElementRef<'_>>, number: usize| {
            let reading = Reading { dom, element };
            let item = self.item(&reading, number, &mut extracted.faults);
            extracted.items.extend(item.map(|fields| Item {
                url: Arc::clone(&url),
                rules: Arc::clone(&self.name),
                fields,
            }));
        };
        match &self.item {
            None => read(None, 0),
            Some(css) => {
                for (at, element) in dom.html().select(&css.selector).enumerate() {
                    read(Some(element), at + 1);
                }
            }
        }
        extracted
    }

    /// The fields of one item; `None` when it is left out.
    fn item(
        &self,
        reading: &Reading<'_>,
        number: usize,
        faults: &mut Vec<Fault>,
    ) -> Option<Vec<(Arc<str>, Value)>> {
        let mut fields = Vec::with_capacity(self.fields.len());
        let (mut anything, mut whole) = (false, true);
        let known_faults = faults.len();
        for field in &self.fields {
            let mut fault = |problem, left_out| {
                faults.push(Fault {
                    rules: Arc::clone(&self.name),
                    field: Arc::clone(&field.name),
                    item: number,
                    problem,
                    left_out,
                });
            };
            let value = match reading.field(field) {
                Ok(found) => {
                    anything = true;
                    for problem in found.problems {
                        fault(problem, false);
                    }
                    found.value
                }
                Err(Absent { there, problem }) => {
                    anything |= there;
                    whole &= !field.required;
                    // Whoever gives a default expects that.
                    if field.required || there && field.default.is_none() {
                        fault(problem, field.required);
                    }
                    field.absent()
                }
            };
            fields.push((Arc::clone(&field.name), value));
        }
        if !anything && self.take_any_page() {
            // A page that has nothing to do with it.
            faults.truncate(known_faults);
        }
        (anything && whole).then_some(fields)
    }
}

/// Where the fields of an item are read.
struct Reading<'a> {
    dom: &'a Dom,
    /// The item; `None` when it is the page.
    element: Option<ElementRef<'a>>,
}

struct Found {
    value: Value,
    /// What was wrong with parts of it.
    problems: Vec<String>,
}

/// A field that is not there.
struct Absent {
    /// Whether something is there that could not be read.
    there: bool,
    problem: String,
}

impl<'a> Reading<'a> {
    fn field(&self, field: &Field) -> Result<Found, Absent> {
        let elements = self.elements(field);
        if field.list {
            return self.list(field, elements);
        }
        let mut nothing = None;
        for element in elements {
            match raw(element, field) {
                Ok(text) => {
                    let value = self.value(field, &text).map_err(|problem| Absent {
                        there: true,
                        problem,
                    })?;
                    let problems = Vec::new();
                    return Ok(Found { value, problems });
                }
                Err(problem) => nothing = nothing.or(Some(problem)),
            }
        }
        Err(Absent {
            there: false,
            problem: nothing.unwrap_or_else(|| no_element(field)),
        })
    }

    /// Every element that gives something. What cannot be read is left out.
    fn list(
        &self,
        field: &Field,
        elements: impl Iterator<Item = ElementRef<'a>>,
    ) -> Result<Found, Absent> {
        let (mut values, mut problems) = (Vec::new(), Vec::new());
        let mut nothing = None;
        for element in elements {
            match raw(element, field) {
                Ok(text) => match self.value(field, &text) {
                    Ok(value) => values.push(value),
                    Err(problem) => problems.push(problem),
                },
                Err(problem) => nothing = nothing.or(Some(problem)),
            }
        }
        if values.is_empty() {
            return Err(match problems.into_iter().next() {
                Some(problem) => Absent {
                    there: true,
                    problem,
                },
                None => Absent {
                    there: false,
                    problem: nothing.unwrap_or_else(|| no_element(field)),
                },
            });
        }
        let value = Value::List(values);
        Ok(Found { value, problems })
    }

    fn elements<'b>(&self, field: &'b Field) -> Box<dyn Iterator<Item = ElementRef<'a>> + 'b>
    where
        'a: 'b,
    {
        match (&field.css, self.element) {
            (None, None) => Box::new(std::iter::once(self.dom.html().root_element())),
            (None, Some(item)) => Box::new(std::iter::once(item)),
            (Some(css), None) => Box::new(self.dom.html().select(&css.selector)),
            (Some(css), Some(item)) => Box::new(item.select(&css.selector)),
        }
    }

    /// What the text of a field means.
    fn value(&self, field: &Field, text: &str) -> Result<Value, String> {
        match field.kind {
            Kind::Text | Kind::Date | Kind::Html => Ok(Value::Text(text.to_owned())),
            Kind::Number => Number::read(text, field.decimal, field.pick)
                .map(Value::Number)
                .map_err(|why| format!("{why} in {}", quoted(text))),
            Kind::Url => match self.dom.resolve(text) {
                Some(url) => Ok(Value::Text(url.into())),
                None => Err(format!("no web address: {}", quoted(text))),
            },
        }
    }
}

/// What stands on the page, for a message.
fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use encoding_rs::UTF_8;
    use url::Url;

    use super::*;
    use crate::select::{Decimal, Pick};

    fn dom(html: &str) -> Dom {
        let url = Url::parse("http://u:p@a.test/dir/page").expect("a URL");
        Dom::parse(html, &url, UTF_8).expect("a page")
    }

    fn field(name: &str, css: &str) -> Field {
        Field::new(name).select(css).expect("CSS")
    }

    fn rules(fields: impl IntoIterator<Item = Field>) -> Rules {
        let fields = fields.into_iter();
        fields.fold(Rules::new("r"), |rules, field| {
            rules.field(field).expect("a field")
        })
    }

    /// The items as JSON, and the faults.
    fn extract(rules: &Rules, html: &str) -> (String, Vec<String>) {
        let extracted = rules.extract(&dom(html));
        let items = serde_json::to_string(&extracted.items).expect("JSON");
        let items = items.replace("\"url\":\"http://a.test/dir/page\",\"extract\":\"r\",", "");
        let faults = extracted.faults.iter().map(ToString::to_string);
        (items, faults.collect())
    }

    #[track_caller]
    fn check(rules: &Rules, html: &str, items: &str, faults: &[&str]) {
        assert_eq!(
            extract(rules, html),
            (
                items.to_owned(),
                faults.iter().map(|f| (*f).to_owned()).collect()
            ),
            "{html}"
        );
    }

    #[test]
    fn a_record_has_the_page_the_rules_and_the_fields_in_their_order() {
        let rules = rules([field("title", "h1"), field("b", "b"), field("a", "i")]);
        let extracted = rules.extract(&dom("<h1> A\n thing </h1><b>1</b>"));
        assert_eq!(
            serde_json::to_string(&extracted.items[0]).expect("JSON"),
            r#"{"url":"http://a.test/dir/page","extract":"r","title":"A thing","b":"1","a":null}"#
        );
        assert!(
            extracted.faults.is_empty(),
            "what is not required may be missing"
        );
    }

    #[test]
    fn each_kind_is_read_where_it_stands() {
        let html = "<base href=/b/><meta property=og:x content=' y '><a href=p?q>z</a><img src=i.png>\
            <time datetime=2024-05-01>1 May</time><i>1 May</i><data value=5>five</data>\
            <p>one <b>two</b></p><input value=v><span>c/d</span>";
        let of = |kind: Kind, css: &str| {
            let extracted = rules([field("x", css).kind(kind)]).extract(&dom(html));
            serde_json::to_string(&extracted.items[0].get("x")).expect("JSON")
        };
        for (kind, css, expected) in [
            (Kind::Text, "meta", r#""y""#),
            (Kind::Text, "a", r#""z""#),
            (Kind::Url, "a", r#""http://a.test/b/p?q""#),
            (Kind::Url, "img", r#""http://a.test/b/i.png""#),
            (Kind::Url, "span", r#""http://a.test/b/c/d""#),
            (Kind::Date, "time", r#""2024-05-01""#),
            (Kind::Date, "i", r#""1 May""#),
            (Kind::Number, "data", "5"),
            (Kind::Number, "i", "1"),
            (Kind::Text, "data", r#""five""#),
            (Kind::Html, "p", r#""one <b>two</b>""#),
            (Kind::Text, "input", r#""v""#),
        ] {
            assert_eq!(of(kind, css), expected, "{kind:?} {css}");
        }
        let attr = rules([field("x", "img").attr("src")]);
        check(&attr, html, r#"[{"x":"i.png"}]"#, &[]);
        let item = Rules::new("r")
            .select("img")
            .and_then(|r| r.field(Field::new("x").attr("src")));
        check(&item.expect("rules"), html, r#"[{"x":"i.png"}]"#, &[]);
    }

    #[test]
    fn the_text_of_a_link_that_leads_nowhere_is_no_address() {
        let rules = rules([
            field("a", "a").kind(Kind::Url),
            field("img", "img").kind(Kind::Url),
            field("all", "a, img, i").kind(Kind::Url).list(),
        ]);
        check(
            &rules,
            "<a>e/f</a><img alt=g><i>h</i>",
            r#"[{"a":null,"img":null,"all":["http://a.test/dir/h"]}]"#,
            &[],
        );
    }

    #[test]
    fn the_first_element_that_has_it_gives_the_field() {
        let rules = rules([field("x", "img").attr("alt"), field("y", "p")]);
        check(
            &rules,
            "<img><img alt=''><img alt=a><img alt=b><p> <p>x",
            r#"[{"x":"a","y":"x"}]"#,
            &[],
        );
    }

    #[test]
    fn every_element_that_matches_is_an_item_of_its_own() {
        let rules = Rules::new("r")
            .select("li")
            .and_then(|rules| rules.field(field("name", "b").required()))
            .and_then(|rules| rules.field(field("price", "i").kind(Kind::Number)))
            .expect("rules");
        check(
            &rules,
            "<ul><li><b>a</b><i>£1</i><li><i>£2</i><li><b>c</b><i>?</i><li></ul><b>d</b>",
            r#"[{"name":"a","price":1},{"name":"c","price":null}]"#,
            &[
                "extract.r.name, item 2: no element matches \"b\"; the item is left out",
                "extract.r.price, item 3: no number in \"?\"",
                "extract.r.name, item 4: no element matches \"b\"; the item is left out",
            ],
        );
    }

    #[test]
    fn a_fault_says_what_was_there() {
        let rules = rules([
            field("a", "b").kind(Kind::Number).required(),
            field("c", "a").kind(Kind::Url),
            field("d", "i").attr("title").required(),
            field("e", "u").required(),
        ]);
        check(
            &rules,
            "<b>£60 £45</b><a href='javascript:x()'>y</a><i>z</i><u> </u>",
            "[]",
            &[
                "extract.r.a: several numbers in \"£60 £45\"; the item is left out",
                "extract.r.c: no web address: \"javascript:x()\"",
                "extract.r.d: \"i\" has no attribute \"title\"; the item is left out",
                "extract.r.e: \"u\" is empty; the item is left out",
            ],
        );
        let long = rules.extract(&dom(&format!("<b>{}</b>", "é".repeat(1000))));
        assert!(long.faults[0].to_string().len() < 300);
    }

    #[test]
    fn a_page_without_anything_of_it_is_no_item() {
        let any = rules([field("a", "b").required(), field("c", "i")]);
        check(&any, "<p>about us", "[]", &[]);
        let some = rules([field("c", "i")]).paths(["/dir/*"]).expect("paths");
        check(&some, "<p>about us", "[]", &[]);
        let some = rules([field("a", "b").required()])
            .paths(["/dir/*"])
            .expect("paths");
        check(
            &some,
            "<p>about us",
            "[]",
            &["extract.r.a: no element matches \"b\"; the item is left out"],
        );
    }

    #[test]
    fn lists_take_all_and_defaults_stand_for_what_is_missing() {
        let rules = rules([
            field("a", "b").list(),
            field("n", "i").kind(Kind::Number).list(),
            field("none", "u").list(),
            field("d", "u").default_value(Value::from("x")),
            field("q", "s")
                .kind(Kind::Number)
                .default_value(Value::Number(0.into())),
        ]);
        check(
            &rules,
            "<b>1</b><b></b><b>2</b><i>1</i><i>?</i><i>2,5</i><s>sold out</s>",
            r#"[{"a":["1","2"],"n":[1,2.5],"none":[],"d":"x","q":0}]"#,
            &["extract.r.n: no number in \"?\""],
        );
    }

    #[test]
    fn decimals_and_picks_are_those_of_the_field() {
        let rules = rules([
            field("a", "b").kind(Kind::Number).decimal(Decimal::Comma),
            field("b", "i").kind(Kind::Number).pick(Pick::Last),
            field("c", "u").kind(Kind::Number),
        ]);
        check(
            &rules,
            "<b>1,050 kg</b><i><del>£60</del> <ins>£45</ins></i><u>£12<sup>99</sup></u>",
            r#"[{"a":1.05,"b":45,"c":null}]"#,
            &["extract.r.c: several numbers in \"£12 99\""],
        );
    }
}
