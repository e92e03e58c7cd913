//! [`text_of`]: what an element says to a reader. Keeps: words that stand
//! apart on screen stand apart in the text.

use scraper::{ElementRef, Node};

/// The text of an element on one line: white space as HTML knows it is
/// collapsed (WHATWG Infra section 4.7), other spaces are part of the text;
/// blocks, cells and line breaks part words. What is in scripts, styles,
/// templates and `noscript` inside it is left out.
pub(super) fn text_of(element: ElementRef<'_>) -> String {
    Line::of(element, parts_words)
}

/// As [`text_of`], but raised and lowered digits stand apart: 12⁹⁹ written
/// with `sup` is not 1299.
pub(super) fn digits_of(element: ElementRef<'_>) -> String {
    Line::of(element, |name| {
        parts_words(name) || matches!(name, "sup" | "sub")
    })
}

/// A line that grows.
#[derive(Default)]
struct Line {
    text: String,
    gap: bool,
}

impl Line {
    fn of(element: ElementRef<'_>, parts: impl Fn(&str) -> bool) -> String {
        let mut line = Line::default();
        let top = *element;
        let mut node = top;
        loop {
            let mut inside = node.first_child();
            match node.value() {
                Node::Text(text) => line.push(text),
                Node::Element(element) if node != top => {
                    line.gap |= parts(element.name());
                    if is_unseen(element.name()) {
                        inside = None;
                    }
                }
                _ => {}
            }
            if let Some(child) = inside {
                node = child;
                continue;
            }
            // Up, until there is something beside.
            loop {
                if node == top {
                    return line.text;
                }
                if let Node::Element(element) = node.value() {
                    line.gap |= parts(element.name());
                }
                if let Some(next) = node.next_sibling() {
                    node = next;
                    break;
                }
                node = node.parent().expect("the top is above every node");
            }
        }
    }

    fn push(&mut self, text: &str) {
        for (at, word) in text.split(|c: char| c.is_ascii_whitespace()).enumerate() {
            self.gap |= at > 0;
            if word.is_empty() {
                continue;
            }
            if self.gap && !self.text.is_empty() {
                self.text.push(' ');
            }
            self.gap = false;
            self.text.push_str(word);
        }
    }
}

fn is_unseen(name: &str) -> bool {
    matches!(name, "script" | "style" | "template" | "noscript")
}

/// Elements that do not stand in a line with what is beside them (WHATWG HTML
/// section 15.3).
fn parts_words(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "blockquote"
            | "body"
            | "br"
            | "button"
            | "caption"
            | "center"
            | "dd"
            | "details"
            | "dialog"
            | "dir"
            | "div"
            | "dl"
            | "dt"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "head"
            | "header"
            | "hgroup"
            | "hr"
            | "img"
            | "legend"
            | "li"
            | "listing"
            | "main"
            | "menu"
            | "nav"
            | "ol"
            | "optgroup"
            | "option"
            | "p"
            | "pre"
            | "search"
            | "section"
            | "select"
            | "summary"
            | "table"
            | "tbody"
            | "td"
            | "textarea"
            | "tfoot"
            | "th"
            | "thead"
            | "title"
            | "tr"
            | "ul"
            | "xmp"
    )
}

#[cfg(test)]
mod tests {
    use scraper::{Html, Selector};

    use super::*;

    fn of(read: impl Fn(ElementRef<'_>) -> String, css: &str, html: &str) -> String {
        let html = Html::parse_document(html);
        let selector = Selector::parse(css).expect("CSS");
        read(html.select(&selector).next().expect("an element"))
    }

    #[test]
    fn words_that_stand_apart_on_screen_stand_apart_in_the_text() {
        for (html, expected) in [
            ("<p> one\n  <b>two</b>three </p>", "one twothree"),
            ("<p>a</p><p>b</p>", "a b"),
            ("<table><tr><td>1<td>2<tr><td>3</table>", "1 2 3"),
            ("a<br>b<ul><li>c<li>d</ul>e", "a b c d e"),
            ("H<sub>2</sub>O", "H2O"),
            ("1&nbsp;299,00\u{202f}kr", "1\u{a0}299,00\u{202f}kr"),
            ("a<script>x()</script><style>y</style><!-- z -->b", "ab"),
            ("a<template>x</template><noscript>y</noscript>", "a"),
            ("<i> </i>a<i> </i><i> </i>b", "a b"),
        ] {
            assert_eq!(of(text_of, "body", html), expected, "{html}");
        }
    }

    #[test]
    fn an_element_that_is_asked_itself_gives_its_text() {
        let html = "<title> A\ttitle </title><script>x = 1</script><div></div>after";
        assert_eq!(of(text_of, "title", html), "A title");
        assert_eq!(of(text_of, "script", html), "x = 1");
        assert_eq!(of(text_of, "div", html), "", "nothing of what is beside it");
    }

    #[test]
    fn raised_digits_are_not_part_of_the_number_before() {
        let html = "<p>£12<sup>99</sup></p>";
        assert_eq!(of(digits_of, "p", html), "£12 99");
        assert_eq!(of(text_of, "p", html), "£1299");
    }
}
