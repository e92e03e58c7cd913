//! [`Emitter`]: what the tokenizer says, as tags with the few attributes that
//! somebody wants. Nothing else is copied, and nothing is allocated for it.

use std::convert::Infallible;

use html5gum::{Error, State};

use super::collect::Collector;
use super::source::Unwanted;
use super::tag::{Attr, AttrSet, Name, Tag};
use super::tree::{Place, Token, Tree};

/// The wanted attributes of one start tag.
#[derive(Debug)]
pub(super) struct Attrs {
    present: AttrSet,
    /// Where each present attribute's value is in `values`.
    ranges: [(usize, usize); Attr::COUNT],
    values: Vec<u8>,
}

impl Attrs {
    fn new() -> Self {
        Attrs {
            present: AttrSet::NONE,
            ranges: [(0, 0); Attr::COUNT],
            values: Vec::new(),
        }
    }

    #[inline]
    fn clear(&mut self) {
        self.present = AttrSet::NONE;
        self.values.clear();
    }

    pub(super) fn get(&self, attr: Attr) -> Option<&[u8]> {
        let (start, end) = self.ranges[attr as usize];
        self.present.has(attr).then(|| &self.values[start..end])
    }

    pub(super) fn has(&self, attr: Attr) -> bool {
        self.present.has(attr)
    }
}

/// What the tokenizer's next attribute piece is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Nobody wants an attribute of this tag.
    Nothing,
    /// A name that may be wanted.
    Name,
    /// The value of a wanted attribute that is not there yet.
    Value(Attr),
    /// The value of an attribute that is not wanted, or the second of its name.
    OtherValue,
}

pub(super) struct Emitter<'a> {
    tree: Tree,
    collector: &'a mut Collector,
    unwanted: &'a Unwanted,
    is_start: bool,
    self_closing: bool,
    name: Name,
    /// Known from the first attribute on.
    tag: Option<Tag>,
    wanted: AttrSet,
    reading: Reading,
    attr_name: Name,
    attrs: Attrs,
    /// The element whose text is being read without markup.
    raw_name: Name,
}

impl<'a> Emitter<'a> {
    pub(super) fn new(collector: &'a mut Collector, unwanted: &'a Unwanted) -> Self {
        Emitter {
            tree: Tree::new(),
            collector,
            unwanted,
            is_start: false,
            self_closing: false,
            name: Name::EMPTY,
            tag: None,
            wanted: AttrSet::NONE,
            reading: Reading::Nothing,
            attr_name: Name::EMPTY,
            attrs: Attrs::new(),
            raw_name: Name::EMPTY,
        }
    }

    #[inline]
    fn tag(&mut self) -> Tag {
        *self
            .tag
            .get_or_insert_with(|| Tag::from_name(self.name.known()))
    }

    /// Ends the attribute at hand. One without a value is there, and empty.
    #[inline]
    fn end_attribute(&mut self) {
        match self.reading {
            Reading::Name => {
                if let Some(attr) = self.wanted_attr() {
                    let end = self.attrs.values.len();
                    self.attrs.ranges[attr as usize] = (end, end);
                    self.attrs.present.add(attr);
                }
            }
            Reading::Value(attr) => {
                self.attrs.ranges[attr as usize].1 = self.attrs.values.len();
                self.attrs.present.add(attr);
            }
            Reading::Nothing | Reading::OtherValue => {}
        }
        self.reading = Reading::Nothing;
    }

    /// The attribute of the name at hand, if it is wanted and the first one.
    #[inline]
    fn wanted_attr(&self) -> Option<Attr> {
        Attr::from_name(self.attr_name.known())
            .filter(|&attr| self.wanted.has(attr) && !self.attrs.present.has(attr))
    }

    #[inline]
    fn note_body(&mut self, was_in_body: bool) {
        if !was_in_body && self.tree.in_body() {
            self.collector.begin_body();
        }
    }

    /// Says what the source may jump over.
    #[inline]
    fn note_wants(&mut self) {
        let wanted = self.collector.wants_text() || self.tree.wants_text();
        self.unwanted.text.set(!wanted);
    }

    /// Takes in the start tag at hand. XML's empty elements end where they
    /// start.
    fn start_tag(&mut self) -> Option<State> {
        let (place, state) = self.open_tag();
        let tag = self.tag();
        let is_empty = self.self_closing && self.collector.is_xml() && !tag.is_void();
        if is_empty && place != Place::Foreign {
            self.end_tag(tag);
            return None;
        }
        state
    }

    fn open_tag(&mut self) -> (Place, Option<State>) {
        let tag = self.tag();
        let value = match tag {
            Tag::Input => self.attrs.get(Attr::Type),
            Tag::AnnotationXml => self.attrs.get(Attr::Encoding),
            _ => None,
        };
        let was_in_body = self.tree.in_body();
        let verdict = self.tree.start(&Token {
            tag,
            name: &self.name,
            attrs: self.attrs.present,
            value: value.unwrap_or_default(),
            self_closing: self.self_closing,
        });
        if verdict.replaces_body {
            self.collector.replace_body();
        } else {
            self.note_body(was_in_body);
        }
        if verdict.state.is_some() {
            self.raw_name = self.name;
        }
        self.collector.start(
            tag,
            &self.name,
            verdict.place,
            &self.attrs,
            self.self_closing,
        );
        (verdict.place, verdict.state)
    }

    fn end_tag(&mut self, tag: Tag) {
        let was_raw = self.tree.raw().is_some();
        let was_in_body = self.tree.in_body();
        let in_page = self.tree.has_text();
        self.tree.end(tag, &self.name);
        self.note_body(was_in_body);
        if self.collector.wants_text() {
            self.collector.end(tag, &self.name, was_raw, in_page);
        }
    }
}

impl html5gum::Emitter for Emitter<'_> {
    type Token = Infallible;

    fn set_last_start_tag(&mut self, _: Option<&[u8]>) {}

    fn emit_eof(&mut self) {}

    fn emit_error(&mut self, _: Error) {}

    #[inline]
    fn should_emit_errors(&mut self) -> bool {
        false
    }

    #[inline]
    fn pop_token(&mut self) -> Option<Infallible> {
        None
    }

    #[inline]
    fn emit_string(&mut self, text: &[u8]) {
        if self.tree.wants_text() {
            let was_in_body = self.tree.in_body();
            self.tree.text(text);
            self.note_body(was_in_body);
            self.note_wants();
        }
        if self.collector.wants_text() && self.tree.has_text() {
            self.collector.text(text, self.tree.raw());
        }
    }

    #[inline]
    fn init_start_tag(&mut self) {
        self.is_start = true;
        self.self_closing = false;
        self.name.clear();
        self.tag = None;
        self.reading = Reading::Nothing;
        self.attrs.clear();
    }

    #[inline]
    fn init_end_tag(&mut self) {
        self.is_start = false;
        self.name.clear();
        self.tag = None;
        self.reading = Reading::Nothing;
    }

    fn init_comment(&mut self) {}

    #[inline]
    fn emit_current_tag(&mut self) -> Option<State> {
        if self.is_start {
            self.end_attribute();
            let state = self.start_tag();
            self.note_wants();
            return state;
        }
        let tag = self.tag();
        self.end_tag(tag);
        self.note_wants();
        None
    }

    fn emit_current_comment(&mut self) {}

    fn emit_current_doctype(&mut self) {}

    #[inline]
    fn set_self_closing(&mut self) {
        self.self_closing = true;
    }

    fn set_force_quirks(&mut self) {}

    #[inline]
    fn push_tag_name(&mut self, piece: &[u8]) {
        self.name.push(piece);
    }

    #[inline]
    fn push_comment(&mut self, _: &[u8]) {}

    fn push_doctype_name(&mut self, _: &[u8]) {}

    fn init_doctype(&mut self) {}

    #[inline]
    fn init_attribute(&mut self) {
        if !self.is_start {
            return;
        }
        if self.tag.is_none() {
            let tag = self.tag();
            self.wanted = Tree::wanted(tag).with(self.collector.wanted(tag));
        }
        if self.wanted.is_empty() {
            return;
        }
        self.end_attribute();
        self.attr_name.clear();
        self.reading = Reading::Name;
    }

    #[inline]
    fn init_attribute_value(&mut self) {
        self.unwanted.value.set(true);
        if self.reading == Reading::Name {
            self.reading = match self.wanted_attr() {
                Some(attr) => {
                    self.attrs.ranges[attr as usize].0 = self.attrs.values.len();
                    self.unwanted.value.set(false);
                    Reading::Value(attr)
                }
                None => Reading::OtherValue,
            };
        }
    }

    #[inline]
    fn push_attribute_name(&mut self, piece: &[u8]) {
        if self.reading == Reading::Name {
            self.attr_name.push(piece);
        }
    }

    #[inline]
    fn push_attribute_value(&mut self, piece: &[u8]) {
        if let Reading::Value(_) = self.reading {
            self.attrs.values.extend_from_slice(piece);
        }
    }

    fn set_doctype_public_identifier(&mut self, _: &[u8]) {}

    fn set_doctype_system_identifier(&mut self, _: &[u8]) {}

    fn push_doctype_public_identifier(&mut self, _: &[u8]) {}

    fn push_doctype_system_identifier(&mut self, _: &[u8]) {}

    #[inline]
    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        !self.is_start && self.name == self.raw_name
    }

    #[inline]
    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        self.tree.in_foreign() || self.collector.is_xml()
    }
}
