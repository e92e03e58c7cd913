//! [`Text`]: the text of a page as a reader sees it.
//!
//! Lines end where blocks do, and white space is collapsed but for `pre`. What
//! a browser does not show is left out: scripts, style sheets, templates, form
//! fields, the fallbacks of embedded content, and what is `hidden`, a `popover`,
//! or a `dialog` that is not open. What a reader can bring up on the page itself
//! is kept: closed `details`, and what is `hidden=until-found`. `rp` is kept: it
//! is there for those who cannot set ruby.

use super::emitter::Attrs;
use super::open::Open;
use super::tag::{Attr, AttrSet, Name, Tag};
use super::tree::Place;

#[derive(Debug)]
pub(super) struct Text {
    out: String,
    /// Text since the last tag. The tokenizer may cut it anywhere, even within
    /// a letter.
    run: Vec<u8>,
    /// What goes before the next word.
    gap: Gap,
    open: Open,
    /// A line end right after `<pre>` is no text.
    skip_line_end: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    None,
    Space,
    /// Between the cells of a table row.
    Cell,
    Line,
}

impl Gap {
    /// What the borders of such an element are.
    pub(super) fn around(tag: Tag) -> Gap {
        match tag {
            Tag::Td | Tag::Th => Gap::Cell,
            Tag::Br => Gap::Line,
            _ if tag.is_block() => Gap::Line,
            _ => Gap::None,
        }
    }
}

impl Text {
    /// Attributes that hide an element.
    pub(super) const WANTED: AttrSet =
        AttrSet::of(&[Attr::Hidden, Attr::Style, Attr::Open, Attr::Popover]);

    pub(super) fn new() -> Self {
        Text {
            out: String::new(),
            run: Vec::new(),
            gap: Gap::None,
            open: Open::new(),
            skip_line_end: false,
        }
    }

    pub(super) fn start(
        &mut self,
        tag: Tag,
        name: &Name,
        place: Place,
        attrs: &Attrs,
        self_closing: bool,
    ) {
        self.end_run();
        self.skip_line_end = false;
        let opens = match place {
            Place::Html => !tag.is_void(),
            Place::Foreign => !self_closing,
            Place::Nowhere => return,
        };
        let is_raw = is_raw(tag, place);
        // A whole page that is hidden is one that a script shows later on.
        let hides = !matches!(tag, Tag::Html | Tag::Body);
        let hidden = hides && (is_unseen(tag, place) || is_hidden(tag, attrs));
        let opens = opens && (!is_raw || tag.is_preformatted());
        self.apart(|open| open.start(tag, name, place, opens, hidden));
        self.skip_line_end = tag.is_preformatted() && !self.open.is_hidden();
    }

    /// Takes in an end tag; `was_raw` if it ends text without markup.
    pub(super) fn end(&mut self, tag: Tag, name: &Name, was_raw: bool) {
        self.end_run();
        self.skip_line_end = false;
        self.apart(|open| {
            if was_raw {
                open.end_raw(tag)
            } else {
                open.end(tag, name)
            }
        });
    }

    fn apart(&mut self, tag: impl FnOnce(&mut Open) -> Gap) {
        self.gap = self.gap.max(tag(&mut self.open));
    }

    pub(super) fn push(&mut self, text: &[u8], raw: Option<Tag>) {
        let shown = match raw {
            None | Some(Tag::Xmp | Tag::Plaintext) => !self.open.is_hidden(),
            Some(_) => false,
        };
        if shown {
            self.run.extend_from_slice(text);
        }
    }

    pub(super) fn finish(mut self) -> String {
        self.end_run();
        self.out.truncate(self.out.trim_end().len());
        self.out
    }

    fn end_run(&mut self) {
        if self.run.is_empty() {
            return;
        }
        let run = std::mem::take(&mut self.run);
        let text = String::from_utf8_lossy(&run);
        if self.open.is_preformatted() {
            self.preformatted(&text);
        } else {
            self.words(&text);
        }
        self.run = run;
        self.run.clear();
    }

    fn preformatted(&mut self, text: &str) {
        let text = match text.strip_prefix('\n') {
            Some(rest) if self.skip_line_end => rest,
            _ => text,
        };
        if !text.is_empty() {
            self.close_gap();
            self.out.extend(text.chars().filter(|&c| c != '\0'));
        }
    }

    fn words(&mut self, text: &str) {
        // U+00A0 holds words together on screen; in plain text it is a space.
        let is_space = |c: char| c.is_ascii_whitespace() || c == '\u{A0}' || c == '\0';
        let mut rest = text;
        while let Some(start) = rest.find(|c| !is_space(c)) {
            if start > 0 {
                self.gap = self.gap.max(Gap::Space);
            }
            rest = &rest[start..];
            let end = rest.find(is_space).unwrap_or(rest.len());
            self.close_gap();
            self.out.push_str(&rest[..end]);
            rest = &rest[end..];
        }
        if !rest.is_empty() {
            self.gap = self.gap.max(Gap::Space);
        }
    }

    fn close_gap(&mut self) {
        let at_line_start = self.out.is_empty() || self.out.ends_with('\n');
        match self.gap {
            _ if at_line_start => {}
            Gap::None => {}
            Gap::Space => self.out.push(' '),
            Gap::Cell => self.out.push('\t'),
            Gap::Line => self.out.push('\n'),
        }
        self.gap = Gap::None;
    }
}

/// Whether the element's text is read without markup: it ends with its own end
/// tag, and nothing can be open inside it.
fn is_raw(tag: Tag, place: Place) -> bool {
    place == Place::Html
        && matches!(
            tag,
            Tag::Iframe
                | Tag::Noembed
                | Tag::Noframes
                | Tag::Plaintext
                | Tag::Script
                | Tag::Style
                | Tag::Textarea
                | Tag::Title
                | Tag::Xmp
        )
}

fn is_unseen(tag: Tag, place: Place) -> bool {
    tag.is_unseen() || (place == Place::Foreign && tag == Tag::Script)
}

/// Whether the author hides the element: as its style says, or else as its
/// attributes do (WHATWG HTML section 15.3.1).
fn is_hidden(tag: Tag, attrs: &Attrs) -> bool {
    attrs
        .get(Attr::Style)
        .and_then(displays_none)
        .unwrap_or_else(|| {
            let is_open = tag == Tag::Dialog && attrs.has(Attr::Open);
            let hidden = attrs
                .get(Attr::Hidden)
                .is_some_and(|value| !value.eq_ignore_ascii_case(b"until-found"));
            hidden || !is_open && (tag == Tag::Dialog || attrs.has(Attr::Popover))
        })
}

/// Whether a style says `display: none`, if it says how to display: the last
/// declaration counts, before it those that are important.
fn displays_none(style: &[u8]) -> Option<bool> {
    let style: Vec<u8> = style
        .iter()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(u8::to_ascii_lowercase)
        .collect();
    let mut found: Option<(bool, bool)> = None;
    for rule in style.split(|&byte| byte == b';') {
        let Some(value) = rule.strip_prefix(b"display:").filter(|v| !v.is_empty()) else {
            continue;
        };
        let plain = value.strip_suffix(b"!important");
        let important = plain.is_some();
        if important || !matches!(found, Some((_, true))) {
            found = Some((plain.unwrap_or(value) == b"none", important));
        }
    }
    found.map(|(none, _)| none)
}

#[cfg(test)]
mod tests {
    use encoding_rs::UTF_8;
    use url::Url;

    use super::super::{Page, PageOptions, visible_text};

    #[track_caller]
    fn reads(html: &str, expected: &str) {
        assert_eq!(visible_text(html), expected, "{html}");
        let url = Url::parse("http://a.test/").expect("a URL");
        let page = Page::parse(html, &url, UTF_8, &PageOptions::new().text(true));
        assert_eq!(page.text(), Some(expected), "{html}");
    }

    #[test]
    fn blocks_end_lines_and_white_space_is_collapsed() {
        reads("<p>a\n  b</p>\n<p>c<br>d<br/><br>e", "a b\nc\nd\ne");
        reads(
            "x<div>a<div>b</div>c</div>y<span> z </span> w",
            "x\na\nb\nc\ny z w",
        );
        reads("<ul><li>a<li> b </ul><h1>c</h1>d", "a\nb\nc\nd");
        reads("a<b>b</b> <i> c</i>d &nbsp; e&nbsp;", "ab cd e");
        reads("", "");
    }

    #[test]
    fn cells_are_set_apart_and_rows_are_lines() {
        reads(
            "<table><caption>t</caption><tr><th>a<td> b <td>c</tr><tr><td><td>d</table>",
            "t\na\tb\tc\nd",
        );
    }

    #[test]
    fn white_space_in_pre_is_kept() {
        reads("a<pre>\n b\n\n  c\t</pre>d", "a\n b\n\n  c\t\nd");
        reads("<pre>\n\nb</pre>", "\nb");
        reads("<pre>a<b>\nb</b></pre>", "a\nb");
        reads("<xmp> <a> &amp;\n</xmp>b", " <a> &amp;\nb");
    }

    #[test]
    fn references_are_decoded_and_letters_never_torn() {
        reads(
            "&lt;p&gt; caf&eacute; <\u{e9}t\u{e9}> &#x1F600; \u{e9}",
            "<p> café <été> 😀 é",
        );
        reads("a\0b\r\nc", "a b c");
    }

    #[test]
    fn what_a_browser_does_not_show_is_left_out() {
        reads(
            "<head><title>t</title><style>s</style><script>j</script><noscript><style>s</style></noscript></head>a\
             <!-- c --><template>t<p>t</template><textarea>x</textarea><iframe>f</iframe>\
             <select><option>o</select><video>v</video><object>o</object>b",
            "ab",
        );
        reads(
            "<svg><title>t</title><desc>d</desc><style>s</style><text>seen</text></svg>",
            "seen",
        );
        reads("<math><mi>x</mi><annotation>tex</annotation></math>", "x");
        reads("<frameset><frame>x</frameset>y", "");
    }

    #[test]
    fn what_a_reader_can_bring_up_or_sees_is_kept() {
        reads("<details><summary>a</summary>b</details>c", "a\nb\nc");
        reads("<div hidden=Until-Found>a</div>b", "a\nb");
        reads("a<b aria-hidden=true>b</b>", "ab");
        reads("a<noscript><p>b <b>c</b></p></noscript>d", "a\nb c\nd");
        reads(
            "<noscript><script>s</script><style>s</style>a</noscript>",
            "a",
        );
        // Text ends the head, also in there (13.2.6.4.5).
        reads("<head><noscript>a</noscript></head>b", "ab");
        reads("<ruby>a<rp>(<rt>b<rp>)</ruby>", "a(b)");
    }

    #[test]
    fn what_is_in_the_fields_of_a_form_is_no_text_and_their_labels_are() {
        reads(
            "<label>a <input value=s placeholder=s></label><textarea>s</textarea>\
             <select><optgroup label=s><option selected>s</select>\
             <datalist><option>s</datalist><button>b</button><output>c</output>",
            "a bc",
        );
    }

    #[test]
    fn what_the_author_hides_is_left_out() {
        reads("a<div hidden>b<div>c</div>d</div>e", "ae");
        reads(
            "a<span style='color:red; Display: none'>b</span>c<i style='display:none-ish'>d</i>",
            "acd",
        );
        reads("a<input hidden>b<br hidden>c", "ab\nc");
        reads("<body style='display:none'>a</body>b", "ab");
        reads("a<body hidden>b", "ab");
        reads("<html style='display:none'><p>a", "a");
        reads("<template><body hidden></template>a", "a");
        reads("a<dialog>b<p>c</dialog>d<dialog open>e</dialog>", "ad\ne");
        reads("a<div popover>b</div>c<div POPOVER=manual>d</div>e", "ace");
        reads("<dialog open hidden>a</dialog>b", "b");
        reads("<div hidden style='display:block'>a</div>b", "a\nb");
        reads("<i style='display:none;display:inline'>a</i>b", "ab");
        reads(
            "<i style='display:none!important;display:inline'>a</i>b",
            "b",
        );
        // A text element inside does not end it early.
        reads("<div hidden><script></div></script>a</div>b", "b");
    }
}
