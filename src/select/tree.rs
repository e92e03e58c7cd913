//! [`parse`]: a page as a tree, by the tokenizer that reads every page and the
//! tree builder of a browser, whose own tokenizer would bring half a megabyte
//! of tables. Keeps: a page made to take all time or memory is not read on.

use std::collections::HashSet;
use std::convert::Infallible;
use std::mem;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{Doctype, Tag, TagKind, Token, TokenSink as _, TokenSinkResult};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts, TreeSink};
use html5ever::{Attribute, LocalName, QualName, ns};
use html5gum::{Emitter, Readable as _, Reader, State, StringReader, Tokenizer};
use scraper::{Html, HtmlTreeSink};

use super::growth::{Growth, too};
use crate::error::{Error, Result};

/// How many nodes are added before the tree is looked at again.
const NODES_A_LOOK: usize = 256;
/// How many attributes all `html` and `body` tags of a page may have. Those of
/// later tags are added to the first (HTML section 13.2.6.4.7), each after a look
/// through all that are there; people write a handful.
const MAX_SHARED: usize = 10_000;
/// The line of every token: nobody asks for it.
const LINE: u64 = 1;

/// The handle of a node, which is the same in tree and sink.
pub(super) type NodeId = <HtmlTreeSink as TreeSink>::Handle;

type Builder = TreeBuilder<NodeId, HtmlTreeSink>;

/// Reads a page as browsers do with scripting off.
///
/// # Errors
/// [`ErrorKind::Extract`] when its tree would be too deep or too large.
pub(super) fn parse(source: &str) -> Result<Html> {
    let options = TreeBuilderOpts {
        scripting_enabled: false,
        ..TreeBuilderOpts::default()
    };
    let sink = HtmlTreeSink::new(Html::new_document());
    let builder = TreeBuilder::new(sink, options);
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let feed = Feed::new(&builder, source.len());
    let mut tokenizer = Tokenizer::new_with_emitter(Source(source.to_reader()), feed);
    if let Some(Ok(refusal)) = tokenizer.next() {
        return Err(refusal);
    }
    Ok(builder.sink.finish())
}

/// A page as it is. Its search is one function: made anew for every state of
/// the tokenizer, it would take more room than the rest of the state.
struct Source<'a>(StringReader<'a>);

impl Reader for Source<'_> {
    type Error = Infallible;

    fn read_byte(&mut self) -> Result<Option<u8>, Infallible> {
        self.0.read_byte()
    }

    #[inline(never)]
    fn try_read_string(&mut self, text: &[u8], case_sensitive: bool) -> Result<bool, Infallible> {
        self.0.try_read_string(text, case_sensitive)
    }

    #[inline(never)]
    fn read_until<'b>(
        &'b mut self,
        ends: &[u8],
        buffer: &'b mut [u8; 4],
    ) -> Result<Option<&'b [u8]>, Infallible> {
        self.0.read_until(ends, buffer)
    }
}

/// Hands the tokenizer's tokens to the tree builder. The pieces that the
/// tokenizer gives may end within a character, so they are bytes until the
/// token is whole.
struct Feed<'a> {
    builder: &'a Builder,
    growth: Growth,
    /// Why the page is not read on.
    refusal: Option<Error>,
    /// Attributes of `html` and `body` tags so far.
    shared: usize,
    /// All text since the last other token.
    text: Vec<u8>,
    comment: Vec<u8>,
    doctype: DoctypeBytes,
    is_start: bool,
    self_closing: bool,
    name: Vec<u8>,
    last_start: Vec<u8>,
    attrs: Vec<Attribute>,
    attr_names: HashSet<LocalName>,
    /// The attribute at hand, if there is one.
    attr: Option<(Vec<u8>, Vec<u8>)>,
}

#[derive(Default)]
struct DoctypeBytes {
    name: Vec<u8>,
    public_id: Option<Vec<u8>>,
    system_id: Option<Vec<u8>>,
    force_quirks: bool,
}

impl<'a> Feed<'a> {
    fn new(builder: &'a Builder, length: usize) -> Self {
        Feed {
            builder,
            growth: Growth::new(length),
            refusal: None,
            shared: 0,
            text: Vec::new(),
            comment: Vec::new(),
            doctype: DoctypeBytes::default(),
            is_start: false,
            self_closing: false,
            name: Vec::new(),
            last_start: Vec::new(),
            attrs: Vec::new(),
            attr_names: HashSet::new(),
            attr: None,
        }
    }

    /// Hands over the text so far, then a token; says what state comes next.
    fn token(&mut self, token: Token) -> Option<State> {
        self.end_text();
        match self.builder.process_token(token, LINE) {
            TokenSinkResult::Plaintext => Some(State::PlainText),
            TokenSinkResult::RawData(RawKind::Rcdata) => Some(State::RcData),
            TokenSinkResult::RawData(RawKind::Rawtext) => Some(State::RawText),
            TokenSinkResult::RawData(_) => Some(State::ScriptData),
            TokenSinkResult::Continue
            | TokenSinkResult::Script(_)
            | TokenSinkResult::EncodingIndicator(_) => None,
        }
    }

    fn end_text(&mut self) {
        if self.text.is_empty() {
            return;
        }
        let text = String::from_utf8_lossy(&self.text);
        for (at, part) in text.split('\0').enumerate() {
            if at > 0 {
                let _ = self.builder.process_token(Token::NullCharacterToken, LINE);
            }
            let part = Token::CharacterTokens(StrTendril::from_slice(part));
            let _ = self.builder.process_token(part, LINE);
        }
        self.text.clear();
    }

    /// Ends the attribute at hand; of those of one name, the first counts.
    fn end_attribute(&mut self) {
        let Some((name, value)) = self.attr.take() else {
            return;
        };
        let name = local_name(&name);
        if self.attr_names.insert(name.clone()) {
            self.attrs.push(Attribute {
                name: QualName::new(None, ns!(), name),
                value: tendril(&value),
            });
        }
    }

    fn look(&mut self, least: usize) {
        let looked = self.growth.look(&self.builder.sink.0.borrow(), least);
        self.refusal = self.refusal.take().or(looked.err());
    }
}

impl Emitter for Feed<'_> {
    type Token = Error;

    fn set_last_start_tag(&mut self, name: Option<&[u8]>) {
        self.last_start = name.unwrap_or_default().to_vec();
    }

    fn emit_eof(&mut self) {
        self.token(Token::EOFToken);
        self.builder.end();
        self.look(1);
    }

    fn emit_error(&mut self, _: html5gum::Error) {}

    fn should_emit_errors(&mut self) -> bool {
        false
    }

    fn pop_token(&mut self) -> Option<Error> {
        self.refusal.take()
    }

    #[inline(never)]
    fn emit_string(&mut self, text: &[u8]) {
        self.text.extend_from_slice(text);
    }

    fn init_start_tag(&mut self) {
        self.init_end_tag();
        self.is_start = true;
    }

    #[inline(never)]
    fn init_end_tag(&mut self) {
        self.is_start = false;
        self.self_closing = false;
        self.name.clear();
        self.attrs.clear();
        self.attr_names = HashSet::new();
        self.attr = None;
    }

    fn init_comment(&mut self) {
        self.comment.clear();
    }

    #[inline(never)]
    fn emit_current_tag(&mut self) -> Option<State> {
        self.end_attribute();
        let kind = if self.is_start {
            self.last_start.clone_from(&self.name);
            TagKind::StartTag
        } else {
            TagKind::EndTag
        };
        if matches!(&*self.name, b"html" | b"body") {
            self.shared += self.attrs.len();
            if self.shared > MAX_SHARED {
                self.refusal = Some(too("its root or body has too many attributes"));
                return None;
            }
        }
        let tag = Tag {
            kind,
            name: local_name(&self.name),
            self_closing: self.self_closing,
            attrs: mem::take(&mut self.attrs),
            had_duplicate_attributes: false,
        };
        let state = self.token(Token::TagToken(tag));
        self.look(NODES_A_LOOK);
        state
    }

    #[inline(never)]
    fn emit_current_comment(&mut self) {
        let comment = tendril(&self.comment);
        self.token(Token::CommentToken(comment));
        self.look(NODES_A_LOOK);
    }

    #[inline(never)]
    fn emit_current_doctype(&mut self) {
        let DoctypeBytes {
            name,
            public_id,
            system_id,
            force_quirks,
        } = mem::take(&mut self.doctype);
        self.token(Token::DoctypeToken(Doctype {
            name: Some(tendril(&name)).filter(|name| !name.is_empty()),
            public_id: public_id.map(|id| tendril(&id)),
            system_id: system_id.map(|id| tendril(&id)),
            force_quirks,
        }));
    }

    fn set_self_closing(&mut self) {
        self.self_closing = true;
    }

    fn set_force_quirks(&mut self) {
        self.doctype.force_quirks = true;
    }

    #[inline(never)]
    fn push_tag_name(&mut self, piece: &[u8]) {
        self.name.extend_from_slice(piece);
    }

    #[inline(never)]
    fn push_comment(&mut self, piece: &[u8]) {
        self.comment.extend_from_slice(piece);
    }

    fn push_doctype_name(&mut self, piece: &[u8]) {
        self.doctype.name.extend_from_slice(piece);
    }

    fn init_doctype(&mut self) {
        self.doctype = DoctypeBytes::default();
    }

    #[inline(never)]
    fn init_attribute(&mut self) {
        self.end_attribute();
        // A tag that ends an element has none.
        self.attr = self.is_start.then(Default::default);
    }

    #[inline(never)]
    fn push_attribute_name(&mut self, piece: &[u8]) {
        if let Some((name, _)) = &mut self.attr {
            name.extend_from_slice(piece);
        }
    }

    #[inline(never)]
    fn push_attribute_value(&mut self, piece: &[u8]) {
        if let Some((_, value)) = &mut self.attr {
            value.extend_from_slice(piece);
        }
    }

    fn set_doctype_public_identifier(&mut self, id: &[u8]) {
        self.doctype.public_id = Some(id.to_vec());
    }

    fn set_doctype_system_identifier(&mut self, id: &[u8]) {
        self.doctype.system_id = Some(id.to_vec());
    }

    fn push_doctype_public_identifier(&mut self, piece: &[u8]) {
        let id = self.doctype.public_id.get_or_insert_default();
        id.extend_from_slice(piece);
    }

    fn push_doctype_system_identifier(&mut self, piece: &[u8]) {
        let id = self.doctype.system_id.get_or_insert_default();
        id.extend_from_slice(piece);
    }

    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        !self.is_start && self.name == self.last_start
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        let builder = self.builder;
        builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

fn tendril(bytes: &[u8]) -> StrTendril {
    StrTendril::from_slice(&String::from_utf8_lossy(bytes))
}

fn local_name(bytes: &[u8]) -> LocalName {
    LocalName::from(&*String::from_utf8_lossy(bytes))
}

#[cfg(test)]
mod tests;
