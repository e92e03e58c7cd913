//! [`Text`]: the text of a page as a reader sees it.
//!
//! Lines end where blocks do, and white space is collapsed but for `pre`. What
//! a browser does not show is left out: scripts, style sheets, templates, form
//! lists, the fallbacks of embedded content, and elements that are `hidden`.

use super::emitter::Attrs;
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
    /// Open elements in which white space counts.
    pre: usize,
    /// A line end right after `<pre>` is no text.
    skip_line_end: bool,
    /// The element that is not shown, and how many of its name are open.
    unseen: Option<(Name, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    Space,
    /// Between the cells of a table row.
    Cell,
    Line,
}

impl Text {
    /// Attributes that hide an element.
    pub(super) const WANTED: AttrSet = AttrSet::of(&[Attr::Hidden, Attr::Style]);

    pub(super) fn new() -> Self {
        Text {
            out: String::new(),
            run: Vec::new(),
            gap: Gap::None,
            pre: 0,
            skip_line_end: false,
            unseen: None,
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
        if let Some((unseen, depth)) = &mut self.unseen {
            *depth += usize::from(opens && unseen == name);
            return;
        }
        if opens && !is_raw(tag, place) && (is_unseen(tag, place) || is_hidden(tag, attrs)) {
            self.unseen = Some((*name, 1));
            return;
        }
        self.border(tag);
        if is_preformatted(tag) {
            self.pre += 1;
            self.skip_line_end = true;
        }
    }

    pub(super) fn end(&mut self, tag: Tag, name: &Name, was_raw: bool) {
        self.end_run();
        self.skip_line_end = false;
        if let Some((unseen, depth)) = &mut self.unseen {
            if unseen == name && !was_raw {
                *depth -= 1;
                if *depth == 0 {
                    self.unseen = None;
                }
            }
            return;
        }
        self.border(tag);
        if is_preformatted(tag) {
            self.pre = self.pre.saturating_sub(1);
        }
    }

    pub(super) fn push(&mut self, text: &[u8], raw: Option<Tag>) {
        let shown = match raw {
            None | Some(Tag::Xmp | Tag::Plaintext) => self.unseen.is_none(),
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

    fn border(&mut self, tag: Tag) {
        let gap = match tag {
            Tag::Td | Tag::Th => Gap::Cell,
            Tag::Br => Gap::Line,
            _ if tag.is_block() => Gap::Line,
            _ => return,
        };
        self.gap = self.gap.max(gap);
    }

    fn end_run(&mut self) {
        if self.run.is_empty() {
            return;
        }
        let run = std::mem::take(&mut self.run);
        let text = String::from_utf8_lossy(&run);
        if self.pre > 0 {
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

fn is_preformatted(tag: Tag) -> bool {
    matches!(tag, Tag::Pre | Tag::Listing | Tag::Xmp | Tag::Plaintext)
}

fn is_unseen(tag: Tag, place: Place) -> bool {
    tag.is_unseen() || (place == Place::Foreign && tag == Tag::Script)
}

/// Whether the author hides the element. Where the end of an element cannot be
/// told from its end tag, hiding it could hide the rest of the page, as would
/// hiding the whole body until a script shows it.
fn is_hidden(tag: Tag, attrs: &Attrs) -> bool {
    if tag.may_lack_end() || matches!(tag, Tag::Html | Tag::Body) {
        return false;
    }
    let not_displayed = |style: &[u8]| {
        let style: Vec<u8> = style
            .iter()
            .filter(|byte| !byte.is_ascii_whitespace())
            .map(u8::to_ascii_lowercase)
            .collect();
        style
            .split(|&byte| byte == b';')
            .any(|rule| matches!(rule, b"display:none" | b"display:none!important"))
    };
    attrs.has(Attr::Hidden) || attrs.get(Attr::Style).is_some_and(not_displayed)
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
            "<head><title>t</title><style>s</style><script>j</script><noscript>n</noscript></head>a\
             <!-- c --><template>t<p>t</template><textarea>x</textarea><iframe>f</iframe>\
             <noscript><p>n</p></noscript><select><option>o</select><video>v</video><object>o</object>b",
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
    fn what_the_author_hides_is_left_out() {
        reads("a<div hidden>b<div>c</div>d</div>e", "ae");
        reads(
            "a<span style='color:red; Display: none'>b</span>c<i style='display:none-ish'>d</i>",
            "acd",
        );
        reads("a<input hidden>b<br hidden>c", "ab\nc");
        // No end tag tells where these end.
        reads("<p hidden>a<p>b", "a\nb");
        reads("<body style='display:none'>a", "a");
        // A text element inside does not end it early.
        reads("<div hidden><script></div></script>a</div>b", "b");
    }
}
