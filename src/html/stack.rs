//! [`Stack`]: the open elements inside of templates, SVG and `MathML`.
//!
//! Its depth is bounded, so that closing an element takes bounded time however
//! a page is nested.

use super::tag::{Name, Tag};

/// The deepest stack that is kept: browsers flatten what is nested deeper.
pub(super) const MAX_DEPTH: usize = 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Namespace {
    Svg,
    MathMl,
}

/// What HTML content a foreign element may have (WHATWG HTML section 13.2.6,
/// "integration points").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inside {
    Foreign,
    Html,
    /// HTML but for two elements of `MathML`.
    MathText,
    /// Nothing of HTML but an `svg` element.
    Annotation,
}

impl Inside {
    /// What the foreign element may have inside. `encoding` is the value of
    /// that attribute.
    pub(super) fn of(namespace: Namespace, tag: Tag, encoding: &[u8]) -> Inside {
        let html = |encoding: &[u8]| {
            encoding.eq_ignore_ascii_case(b"text/html")
                || encoding.eq_ignore_ascii_case(b"application/xhtml+xml")
        };
        match (namespace, tag) {
            (Namespace::Svg, Tag::ForeignObject | Tag::Desc | Tag::Title) => Inside::Html,
            (Namespace::MathMl, Tag::Mi | Tag::Mo | Tag::Mn | Tag::Ms | Tag::Mtext) => {
                Inside::MathText
            }
            (Namespace::MathMl, Tag::AnnotationXml) if html(encoding) => Inside::Html,
            (Namespace::MathMl, Tag::AnnotationXml) => Inside::Annotation,
            _ => Inside::Foreign,
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Node {
    Html(Tag, Name),
    Template,
    Foreign(Namespace, Inside, Name),
}

/// From the outermost template, `svg` or `math` inwards; empty outside of them.
#[derive(Debug, Default)]
pub(super) struct Stack {
    nodes: Vec<Node>,
    templates: usize,
}

impl Stack {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    #[inline]
    pub(super) fn in_template(&self) -> bool {
        self.templates > 0
    }

    /// The innermost element, if it is foreign.
    #[inline]
    pub(super) fn foreign(&self) -> Option<(Namespace, Inside)> {
        match self.nodes.last() {
            Some(Node::Foreign(namespace, inside, _)) => Some((*namespace, *inside)),
            _ => None,
        }
    }

    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        self.templates = 0;
    }

    pub(super) fn open_template(&mut self) {
        self.push(Node::Template);
        self.templates += 1;
    }

    pub(super) fn open_foreign(&mut self, namespace: Namespace, inside: Inside, name: &Name) {
        self.push(Node::Foreign(namespace, inside, *name));
    }

    /// Opens an HTML element, which matters inside of foreign ones only.
    pub(super) fn open_html(&mut self, tag: Tag, name: &Name) {
        if self.nodes.len() == self.templates || matches!(tag, Tag::Html | Tag::Body) {
            return;
        }
        if tag.closes_p() {
            self.close_within(|tag| tag == Tag::P, |tag| tag == Tag::Button);
        } else if tag == Tag::A {
            self.close_within(|tag| tag == Tag::A, is_scope);
        }
        let ignored = is_table_part(tag) && !self.has_table();
        if !ignored && !tag.is_void() {
            self.push(Node::Html(tag, *name));
        }
    }

    /// Closes the innermost of these elements and what is inside of it, unless
    /// it is behind a fence.
    fn close_within(&mut self, wanted: fn(Tag) -> bool, fence: fn(Tag) -> bool) {
        for (at, node) in self.nodes.iter().enumerate().rev() {
            match *node {
                Node::Html(tag, _) if wanted(tag) => {
                    self.nodes.truncate(at);
                    return;
                }
                Node::Html(tag, _) if !fence(tag) => {}
                _ => return,
            }
        }
    }

    fn has_table(&self) -> bool {
        let table = |node: &Node| matches!(node, Node::Html(Tag::Table, _));
        self.nodes.iter().any(table)
    }

    fn push(&mut self, node: Node) {
        if self.nodes.len() >= MAX_DEPTH
            && let Some(Node::Template) = self.nodes.pop()
        {
            self.templates -= 1;
        }
        self.nodes.push(node);
    }

    /// Closes foreign elements up to one that may have HTML content.
    pub(super) fn leave_foreign(&mut self) {
        while let Some(Node::Foreign(_, Inside::Foreign | Inside::Annotation, _)) =
            self.nodes.last()
        {
            self.nodes.pop();
        }
    }

    /// Closes the nearest foreign element of that name that only has foreign
    /// ones inside. Says whether there is one.
    pub(super) fn close_foreign(&mut self, name: &Name) -> bool {
        let mut at = self.nodes.len();
        while at > 0
            && let Node::Foreign(_, _, other) = &self.nodes[at - 1]
        {
            at -= 1;
            if other == name {
                self.nodes.truncate(at);
                return true;
            }
        }
        false
    }

    pub(super) fn close_template(&mut self) {
        let template = |node: &Node| matches!(node, Node::Template);
        if let Some(at) = self.nodes.iter().rposition(template) {
            self.nodes.truncate(at);
            self.templates -= 1;
        }
    }

    /// Closes the nearest HTML element of that name, as an end tag does. Says
    /// whether the end tag looks for it outside of the stack.
    pub(super) fn close_html(&mut self, tag: Tag, name: &Name) -> bool {
        let of_table = tag == Tag::Table || is_table_part(tag);
        for at in (0..self.nodes.len()).rev() {
            match &self.nodes[at] {
                Node::Foreign(_, Inside::Foreign, _) => {}
                Node::Foreign(..) if of_table => {}
                Node::Template | Node::Foreign(..) => return false,
                Node::Html(inner, other)
                    if other == name || tag.is_heading() && inner.is_heading() =>
                {
                    // The end of a form leaves open what is open inside.
                    if tag == Tag::Form {
                        self.nodes.remove(at);
                    } else {
                        self.nodes.truncate(at);
                    }
                    return false;
                }
                Node::Html(other, _) => {
                    let fence = match tag {
                        _ if of_table => *other == Tag::Table,
                        _ if !tag.closes_inner() => other.is_special(),
                        Tag::P => is_scope(*other) || *other == Tag::Button,
                        Tag::Li => is_scope(*other) || matches!(other, Tag::Ol | Tag::Ul),
                        _ => is_scope(*other),
                    };
                    if fence {
                        return false;
                    }
                }
            }
        }
        true
    }
}

/// Whether an end tag does not look past this element (13.2.4.2, "in scope").
pub(super) fn is_scope(tag: Tag) -> bool {
    matches!(
        tag,
        Tag::Applet
            | Tag::Caption
            | Tag::Table
            | Tag::Td
            | Tag::Th
            | Tag::Marquee
            | Tag::Object
            | Tag::Select
    )
}

/// Whether the element is ignored outside of tables (13.2.6.4.7).
pub(super) fn is_table_part(tag: Tag) -> bool {
    matches!(
        tag,
        Tag::Caption
            | Tag::Colgroup
            | Tag::Tbody
            | Tag::Td
            | Tag::Tfoot
            | Tag::Th
            | Tag::Thead
            | Tag::Tr
    )
}

#[cfg(test)]
mod tests {
    use url::Url;

    use crate::html::page_links;

    #[test]
    fn an_end_tag_ends_no_more_inside_of_foreign_content_than_the_standard_says() {
        let base = Url::parse("http://a.test/").expect("a URL");
        // Whatever holds the foreign element open makes the script a script.
        for html in [
            "<svg><foreignObject><p><button></p></foreignObject><script><a href=n></script>",
            "<svg><foreignObject><li><ul></li></foreignObject><script><a href=n></script>",
            "<svg><foreignObject><h1><b></h2></b></foreignObject><title><a href=y></title>",
            "<table><td><svg><foreignObject></table><script><a href=n></script><a href=y>",
            "<svg><foreignObject><table><tr><td><div></tr></foreignObject><script><a href=n></script>",
        ] {
            let links = page_links(html, &base);
            assert!(links.iter().all(|link| link.url.path() != "/n"), "{html}");
        }
    }
}
