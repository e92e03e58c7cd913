//! [`Open`]: the open elements of a page whose text is read, so that what is
//! hidden ends where browsers end it, with an end tag or without one (WHATWG
//! HTML section 13.2.6).
//!
//! Its depth is bounded, so that each tag takes bounded time however a page is
//! nested. Only the text needs it: links are read without.

use super::stack::{Inside, MAX_DEPTH, Namespace, is_scope, is_table_part};
use super::tag::{Name, Tag};
use super::text::Gap;
use super::tree::Place;

#[derive(Debug, Clone, Copy)]
struct Node {
    tag: Tag,
    name: Name,
    foreign: Option<(Namespace, Inside)>,
    /// Whether what is inside is not shown.
    hides: bool,
    /// A form whose end tag has been there, while more is open inside.
    ended: bool,
}

impl Node {
    /// Whether it is a foreign element that may have HTML elements inside.
    fn integrates(&self) -> bool {
        matches!(self.foreign, Some((_, inside)) if inside != Inside::Foreign)
    }

    fn is_html(&self) -> bool {
        self.foreign.is_none()
    }

    fn is(&self, tag: Tag) -> bool {
        self.tag == tag && self.is_html() && !self.ended
    }
}

/// From the body inwards, without `html` and `body`, which nothing closes.
#[derive(Debug)]
pub(super) struct Open {
    nodes: Vec<Node>,
    /// How many of them hide what is inside.
    hiding: usize,
    /// How many keep white space.
    preformatted: usize,
    /// How many HTML elements of each name are open.
    counts: [u16; Tag::COUNT],
    /// What the borders of the tag at hand come to.
    gap: Gap,
}

impl Open {
    pub(super) fn new() -> Self {
        Open {
            nodes: Vec::new(),
            hiding: 0,
            preformatted: 0,
            counts: [0; Tag::COUNT],
            gap: Gap::None,
        }
    }

    /// Whether text here is not shown.
    pub(super) fn is_hidden(&self) -> bool {
        self.hiding > 0
    }

    /// Whether white space counts here.
    pub(super) fn is_preformatted(&self) -> bool {
        self.preformatted > 0
    }

    /// Takes in a start tag of an element that may have content, if it `opens`.
    /// Returns what sets the text behind it apart from that before it.
    pub(super) fn start(
        &mut self,
        tag: Tag,
        name: &Name,
        place: Place,
        opens: bool,
        hides: bool,
    ) -> Gap {
        // The start tag of a list inside of one only ends it.
        let opens = opens && !(tag == Tag::Select && self.find(tag, None).is_some());
        let foreign = (place == Place::Foreign).then(|| self.foreign(tag));
        if foreign.is_none() {
            self.leave_foreign();
            self.imply_ends(tag);
        }
        let hides = opens && hides;
        if !hides {
            self.border(tag);
        }
        if opens && (foreign.is_some() || !self.ignores(tag)) {
            self.push(Node {
                tag,
                name: *name,
                foreign,
                hides,
                ended: false,
            });
        }
        self.take_gap()
    }

    /// Takes in an end tag, and returns the same.
    pub(super) fn end(&mut self, tag: Tag, name: &Name) -> Gap {
        if !self.end_foreign(tag, name) {
            self.end_html(tag, name);
        }
        self.take_gap()
    }

    /// Takes in the end tag of an element that was read without markup.
    pub(super) fn end_raw(&mut self, tag: Tag) -> Gap {
        if self.nodes.last().is_some_and(|node| node.is(tag)) {
            self.pop();
        } else {
            self.border(tag);
        }
        self.take_gap()
    }

    fn take_gap(&mut self) -> Gap {
        std::mem::replace(&mut self.gap, Gap::None)
    }

    fn border(&mut self, tag: Tag) {
        if self.hiding == 0 {
            self.gap = self.gap.max(Gap::around(tag));
        }
    }

    fn has(&self, tag: Tag) -> bool {
        self.counts[tag as usize] > 0
    }

    fn push(&mut self, node: Node) {
        if self.nodes.len() >= MAX_DEPTH {
            self.pop();
        }
        if node.is_html() {
            self.counts[node.tag as usize] += 1;
        }
        self.hiding += usize::from(node.hides);
        self.preformatted += usize::from(node.tag.is_preformatted());
        self.nodes.push(node);
    }

    fn pop(&mut self) -> Option<Node> {
        let node = self.nodes.pop()?;
        self.forget(&node);
        Some(node)
    }

    fn forget(&mut self, node: &Node) {
        if node.is_html() && !node.ended {
            self.counts[node.tag as usize] -= 1;
        }
        self.hiding -= usize::from(node.hides);
        self.preformatted -= usize::from(node.tag.is_preformatted());
        if !node.hides {
            self.border(node.tag);
        }
    }

    /// Closes all from there inwards. Hidden formatting is opened again, as
    /// before the next text, up to the table cell or object that it is in
    /// (13.2.4.3, "reconstruct the active formatting elements").
    fn close_from(&mut self, at: usize) {
        let mut again = Vec::new();
        while self.nodes.len() > at
            && let Some(node) = self.pop()
        {
            if node.hides && node.tag.is_formatting() && node.is_html() {
                again.push(node);
            } else if is_scope(node.tag) {
                again.clear();
            }
        }
        while self.nodes.last().is_some_and(|node| node.ended) {
            self.pop();
        }
        for node in again.into_iter().rev() {
            self.push(node);
        }
    }

    fn close_current(&mut self, tag: Tag) {
        if self.nodes.last().is_some_and(|node| node.is(tag)) {
            self.close_from(self.nodes.len() - 1);
        }
    }

    fn close_heading(&mut self) {
        let heading = |node: &Node| node.tag.is_heading() && node.is_html();
        if self.nodes.last().is_some_and(heading) {
            self.close_from(self.nodes.len() - 1);
        }
    }

    /// Closes foreign elements up to one that may have HTML content.
    fn leave_foreign(&mut self) {
        while self
            .nodes
            .last()
            .is_some_and(|node| !node.is_html() && !node.integrates())
        {
            self.pop();
        }
    }

    /// What a foreign element is that begins here. An annotation is not shown,
    /// so that its encoding does not matter.
    fn foreign(&self, tag: Tag) -> (Namespace, Inside) {
        let around = self.nodes.last().and_then(|node| node.foreign);
        let namespace = match around {
            Some((namespace, Inside::Foreign)) => namespace,
            _ if tag == Tag::Svg => Namespace::Svg,
            _ => Namespace::MathMl,
        };
        (namespace, Inside::of(namespace, tag, b"text/html"))
    }

    /// Whether the start tag makes no element.
    fn ignores(&self, tag: Tag) -> bool {
        match tag {
            Tag::Html | Tag::Body | Tag::Head | Tag::Frameset | Tag::Colgroup => true,
            Tag::Form => self.has(Tag::Form),
            _ => is_table_part(tag) && !self.has(Tag::Table),
        }
    }

    /// Closes what an HTML start tag closes.
    fn imply_ends(&mut self, tag: Tag) {
        use Tag::{
            A, Button, Dd, Dt, Input, Keygen, Li, Nobr, Optgroup, Option, P, Rb, Rp, Rt, Rtc, Ruby,
            Select, Table, Tbody, Td, Textarea, Tfoot, Th, Thead, Tr,
        };
        match tag {
            Td | Th => self.close_to(&[Tr, Tbody, Thead, Tfoot, Table]),
            Tr => self.close_to(&[Tbody, Thead, Tfoot, Table]),
            _ if is_table_part(tag) => self.close_to(&[Table]),
            Li => self.close_item(&[Li]),
            Dd | Dt => self.close_item(&[Dd, Dt]),
            Option | Optgroup => self.close_current(Option),
            Rb | Rp | Rt | Rtc if self.has(Ruby) => {
                let keeps_group = matches!(tag, Rp | Rt);
                self.close_implied(|inner| keeps_group && inner == Rtc);
            }
            Button | A | Nobr => self.end_same(tag),
            Select | Input | Keygen | Textarea => self.end_same(Select),
            _ if tag.is_heading() => self.close_heading(),
            _ => {}
        }
        if tag.closes_p() {
            self.end_same(P);
        }
    }

    /// Closes what is inside the innermost of these parts of a table.
    fn close_to(&mut self, parts: &[Tag]) {
        if self.has(Tag::Table) {
            let part = |node: &Node| node.is_html() && parts.contains(&node.tag);
            if let Some(at) = self.nodes.iter().rposition(part) {
                while self.nodes.len() > at + 1 {
                    self.pop();
                }
            }
        }
    }

    /// Closes the list item that a new one follows.
    fn close_item(&mut self, items: &[Tag]) {
        if !items.iter().any(|&item| self.has(item)) {
            return;
        }
        for at in (0..self.nodes.len()).rev() {
            let node = self.nodes[at];
            if items.iter().any(|&item| node.is(item)) {
                return self.close_from(at);
            }
            let passes = matches!(node.tag, Tag::Address | Tag::Div | Tag::P);
            if node.tag.is_special() && !passes || node.integrates() {
                return;
            }
        }
    }

    /// Closes elements that need no end tag, up to one that stays.
    fn close_implied(&mut self, stays: impl Fn(Tag) -> bool) {
        while let Some(node) = self.nodes.last()
            && node.tag.has_implied_end()
            && node.is_html()
            && !stays(node.tag)
        {
            self.pop();
        }
    }

    /// Ends the open element of that name, if its end tag would.
    fn end_same(&mut self, tag: Tag) {
        if let Some(at) = self.find(tag, None) {
            self.end_at(at);
        }
    }

    fn end_foreign(&mut self, tag: Tag, name: &Name) -> bool {
        if matches!(tag, Tag::Br | Tag::P) {
            self.leave_foreign();
            return false;
        }
        let html = self.nodes.iter().rposition(Node::is_html);
        let from = html.map_or(0, |at| at + 1);
        let same = |node: &Node| node.name == *name;
        let Some(at) = self.nodes[from..].iter().rposition(same) else {
            return false;
        };
        self.close_from(from + at);
        true
    }

    fn end_html(&mut self, tag: Tag, name: &Name) {
        match self.find(tag, Some(name)) {
            Some(at) => self.end_at(at),
            None => self.border(tag),
        }
    }

    fn end_at(&mut self, at: usize) {
        let tag = self.nodes[at].tag;
        if tag.is_formatting() {
            // Blocks inside are no longer inside (13.2.6.4.7, "adoption agency").
            let node = self.nodes.remove(at);
            self.forget(&node);
            if !self.nodes[at..].iter().any(|node| node.tag.is_special()) {
                self.close_from(at);
            }
        } else if tag == Tag::Form {
            self.close_implied(|_| false);
            if at + 1 < self.nodes.len() {
                self.nodes[at].ended = true;
                self.counts[Tag::Form as usize] -= 1;
            } else {
                self.close_from(at);
            }
        } else {
            self.close_from(at);
        }
    }

    /// The element that the end tag ends. Without a name, by its tag.
    fn find(&self, tag: Tag, name: Option<&Name>) -> Option<usize> {
        if !self.has(tag) && !tag.is_heading() {
            return None;
        }
        let of_table = tag == Tag::Table || is_table_part(tag);
        let in_scope = tag.closes_inner() || tag.is_formatting();
        for at in (0..self.nodes.len()).rev() {
            let node = &self.nodes[at];
            let same = node.tag == tag && name.is_none_or(|name| node.name == *name);
            if !node.is_html() {
                if node.integrates() && !of_table {
                    return None;
                }
            } else if !node.ended && (same || tag.is_heading() && node.tag.is_heading()) {
                return Some(at);
            } else {
                let fence = match tag {
                    _ if of_table => node.tag == Tag::Table,
                    _ if !in_scope => node.tag.is_special(),
                    Tag::P => is_scope(node.tag) || node.tag == Tag::Button,
                    Tag::Li => is_scope(node.tag) || matches!(node.tag, Tag::Ol | Tag::Ul),
                    _ => is_scope(node.tag),
                };
                if fence {
                    return None;
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::visible_text;

    #[track_caller]
    fn reads(html: &str, expected: &str) {
        assert_eq!(visible_text(html), expected, "{html}");
    }

    #[test]
    fn what_needs_no_end_tag_is_hidden_up_to_what_ends_it() {
        for hidden in [
            "hidden",
            "style='display:none'",
            "style='DISPLAY : None !important'",
        ] {
            for (html, expected) in [
                ("<p @>s<p>a", "a"),
                ("<p @>s<b>s</b><div>a</div>", "a"),
                ("<p @>s<ul><li>a</ul>", "a"),
                ("<div>a<p @>s</div>b", "a\nb"),
                ("<ul><li>a<li @>s<p>s<ul><li>s</ul>s<li>b</ul>c", "a\nb\nc"),
                ("<ul><li @>s<div><p>s<li>a</ul>", "a"),
                ("<ul><li>a<li @>s</ul>b", "a\nb"),
                ("<dl><dt @>s<dd>a<dt>b<dd @>s</dl>c", "a\nb\nc"),
                (
                    "<table><tr><td @>s<div>s<td>a<th @>s<tr><td>b</table>c",
                    "a\nb\nc",
                ),
                (
                    "<table><tr @><td>s<table><tr><td>s</table>s<tr><td>a</table>",
                    "a",
                ),
                (
                    "<table><thead @><tr><th>s<tbody><tr><td>a<tfoot @><tr><td>s</table>b",
                    "a\nb",
                ),
                ("<table><tbody @><tr><td>s<tbody><tr><td>a</table>", "a"),
                ("<table><caption @>s<tr><td>a</table>", "a"),
                ("<ruby>a<rp @>s<rt @>s<rt>b<rp @>s</ruby>c", "abc"),
                ("<ruby>a<rtc @>s<rt>s<rp>s<rb>b</ruby>", "ab"),
                ("<option @>s<option>a", "a"),
                ("<option @>s<optgroup>a", "a"),
                ("<button @>s<button>a", "a"),
            ] {
                let html = html.replace('@', hidden);
                assert_eq!(visible_text(&html), expected, "{html}");
            }
        }
    }

    #[test]
    fn an_end_that_is_not_theirs_does_not_end_what_is_hidden() {
        reads("<p hidden>s</div></span>s<p>a", "a");
        reads("<p hidden>s<button>s<p>s</button>s<p>a", "a");
        reads("<ul><li hidden>s<ul><li>s</li></ul>s</ul>a", "a");
        reads("<div hidden><table><tr><td></div>s</table>s</div>a", "a");
        reads("<table><tr hidden><td>s</p></div>s</table>a", "a");
        reads("<div hidden><template></div></template>s</div>a", "a");
        reads("<div hidden><span></div></span>a", "a");
        reads("<p hidden>s</body></html>s", "");
        reads("<div hidden><svg><g></div>a", "a");
        reads("<div hidden><svg><foreignObject></div>s</svg>s</div>a", "a");
        reads(
            "<svg><g style='display:none'><text>s</text></g>a<p>b",
            "a\nb",
        );
    }

    #[test]
    fn misnested_tags_hide_what_they_hide_in_a_browser() {
        reads("<div><span hidden>s</div>a", "a");
        reads("<p><b hidden>s</p>s</b>a", "a");
        reads("<b hidden>s<p>s</b>a</p>b", "a\nb");
        reads("<table><tr><td><b hidden>s</table>a", "a");
        reads("<form hidden><div>s</form>s</div>a", "a");
        reads("<form hidden>s<form>s</form>a", "a");
        reads("<select><option>s<input>a", "a");
        reads("<select><option>s<select hidden>a", "a");
        reads("<math><foreignObject><p hidden>s<p>a", "a");
        reads("<a hidden>s<a>a", "a");
        reads("<h1 hidden>s<h2>a</h2>", "a");
        reads("<h1 hidden>s</h2>a", "a");
    }

    #[test]
    fn the_depth_of_a_page_does_not_matter() {
        let deep = "<div>".repeat(100_000);
        reads(
            &format!("{deep}a{}<p hidden>s<p>b", "</div>".repeat(100_000)),
            "a\nb",
        );
        let bold = "<p><b hidden>".repeat(2_000);
        reads(&format!("{bold}s{}", "</p>".repeat(2_000)), "");
    }
}
