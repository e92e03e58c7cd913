//! [`Tree`]: as much of the standard's tree construction (WHATWG HTML section
//! 13.2.6, scripting off) as decides which tags are elements of the page and
//! how the text behind them is read.
//!
//! No tree is built. Ordinary content costs nothing but a look at the tag; a
//! [`Stack`] of open elements is kept only inside of templates, SVG and
//! `MathML`.

use html5gum::State;

use super::stack::{Inside, Namespace, Stack, is_table_part};
use super::tag::{Attr, AttrSet, Name, Tag};

/// Attributes that tree construction itself looks at.
const FONT: AttrSet = AttrSet::of(&[Attr::Color, Attr::Face, Attr::Size]);
const ANNOTATION: AttrSet = AttrSet::of(&[Attr::Encoding]);
const INPUT: AttrSet = AttrSet::of(&[Attr::Type]);

/// A tag as tree construction sees it.
pub(super) struct Token<'a> {
    pub(super) tag: Tag,
    pub(super) name: &'a Name,
    pub(super) attrs: AttrSet,
    /// The value of `type` or `encoding`, whichever the element has.
    pub(super) value: &'a [u8],
    pub(super) self_closing: bool,
}

/// What becomes of a start tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// An HTML element of the page.
    Html,
    /// An element of the page in the SVG or `MathML` namespace.
    Foreign,
    /// No element of the page: the parser ignores it, or it is in a template.
    Nowhere,
}

/// The answer to a start tag.
#[derive(Debug, Clone, Copy)]
pub(super) struct Verdict {
    pub(super) place: Place,
    /// How the tokenizer must go on, if not as before.
    pub(super) state: Option<State>,
    /// The body so far is thrown away: a frameset takes its place.
    pub(super) replaces_body: bool,
}

impl Verdict {
    const fn of(place: Place) -> Self {
        Verdict {
            place,
            state: None,
            replaces_body: false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Everything up to the body.
    Head,
    Body,
    /// In framesets, nested this deep.
    Frameset(u32),
    AfterFrameset,
}

/// The state of tree construction between two tokens.
#[derive(Debug)]
pub(super) struct Tree {
    mode: Mode,
    may_have_frames: bool,
    /// Set while the tokenizer reads the text of such an element.
    raw: Option<Tag>,
    open: Stack,
    /// How many of each element are open around the stack, near enough:
    /// elements that end without an end tag are taken for open.
    around: [u16; Tag::COUNT],
}

impl Tree {
    pub(super) fn new() -> Self {
        Tree {
            mode: Mode::Head,
            may_have_frames: true,
            raw: None,
            open: Stack::default(),
            around: [0; Tag::COUNT],
        }
    }

    /// Attributes that [`start`](Self::start) needs to see.
    #[inline]
    pub(super) fn wanted(tag: Tag) -> AttrSet {
        match tag {
            Tag::Font => FONT,
            Tag::AnnotationXml => ANNOTATION,
            Tag::Input => INPUT,
            _ => AttrSet::NONE,
        }
    }

    /// The element whose text is being read as such, without markup.
    #[inline]
    pub(super) fn raw(&self) -> Option<Tag> {
        self.raw
    }

    /// Whether text here belongs to the page.
    #[inline]
    pub(super) fn has_text(&self) -> bool {
        !self.open.in_template() && matches!(self.mode, Mode::Head | Mode::Body)
    }

    /// Whether the body has begun.
    #[inline]
    pub(super) fn in_body(&self) -> bool {
        self.mode != Mode::Head
    }

    /// Whether the open element is foreign, so that CDATA sections are text.
    #[inline]
    pub(super) fn in_foreign(&self) -> bool {
        self.open.foreign().is_some()
    }

    /// Whether text can still change how the page is read.
    #[inline]
    pub(super) fn wants_text(&self) -> bool {
        self.may_have_frames || self.mode == Mode::Head
    }

    /// Takes in text, if it is [wanted](Self::wants_text).
    pub(super) fn text(&mut self, text: &[u8]) {
        let counts = |byte: &u8| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0C' | b'\0');
        if self.raw.is_none() && self.has_text() && text.iter().any(counts) {
            self.mode = Mode::Body;
            self.may_have_frames = false;
        }
    }

    /// Takes in a start tag.
    #[inline]
    pub(super) fn start(&mut self, token: &Token<'_>) -> Verdict {
        let verdict = if self.open.is_empty() {
            self.html_start(token)
        } else {
            self.start_in_stack(token)
        };
        if verdict.state.is_some() {
            self.raw = Some(token.tag);
        }
        verdict
    }

    fn start_in_stack(&mut self, token: &Token<'_>) -> Verdict {
        let Some((namespace, inside)) = self.open.foreign() else {
            return self.html_start(token);
        };
        let as_html = match inside {
            Inside::Foreign => false,
            Inside::Html => true,
            Inside::MathText => !matches!(token.tag, Tag::Mglyph | Tag::Malignmark),
            Inside::Annotation => token.tag == Tag::Svg,
        };
        let breaks_out =
            token.tag.breaks_out() || (token.tag == Tag::Font && !token.attrs.is_empty());
        if as_html {
            self.html_start(token)
        } else if breaks_out {
            self.open.leave_foreign();
            self.html_start(token)
        } else {
            if !token.self_closing {
                let inside = Inside::of(namespace, token.tag, token.value);
                self.open.open_foreign(namespace, inside, token.name);
            }
            Verdict::of(self.place_or_nowhere(Place::Foreign))
        }
    }

    fn place_or_nowhere(&self, place: Place) -> Place {
        if self.open.in_template() {
            Place::Nowhere
        } else {
            place
        }
    }

    #[inline]
    fn html_start(&mut self, token: &Token<'_>) -> Verdict {
        match self.mode {
            Mode::Body => self.body_start(token),
            Mode::Head => self.head_start(token),
            Mode::Frameset(depth) => {
                match token.tag {
                    Tag::Noframes => return self.raw_text(State::RawText),
                    Tag::Frameset => self.mode = Mode::Frameset(depth.saturating_add(1)),
                    Tag::Frame | Tag::Html => {}
                    _ => return Verdict::of(Place::Nowhere),
                }
                Verdict::of(Place::Html)
            }
            Mode::AfterFrameset => match token.tag {
                Tag::Noframes => self.raw_text(State::RawText),
                Tag::Html => Verdict::of(Place::Html),
                _ => Verdict::of(Place::Nowhere),
            },
        }
    }

    fn head_start(&mut self, token: &Token<'_>) -> Verdict {
        if self.open.in_template() {
            return self.body_start(token);
        }
        match token.tag {
            Tag::Html
            | Tag::Head
            | Tag::Base
            | Tag::Basefont
            | Tag::Bgsound
            | Tag::Link
            | Tag::Meta
            | Tag::Noscript => Verdict::of(Place::Html),
            Tag::Title | Tag::Style | Tag::Script | Tag::Noframes | Tag::Template => {
                self.body_start(token)
            }
            Tag::Frameset => {
                self.mode = Mode::Frameset(1);
                Verdict::of(Place::Html)
            }
            _ => {
                self.mode = Mode::Body;
                self.may_have_frames &= token.tag != Tag::Body;
                self.body_start(token)
            }
        }
    }

    #[inline]
    fn body_start(&mut self, token: &Token<'_>) -> Verdict {
        let state = match token.tag {
            Tag::Title | Tag::Textarea => State::RcData,
            Tag::Style | Tag::Xmp | Tag::Iframe | Tag::Noembed | Tag::Noframes => State::RawText,
            Tag::Script => State::ScriptData,
            Tag::Plaintext => State::PlainText,
            _ => return self.body_element(token),
        };
        self.may_have_frames &= !token.tag.rules_out_frames();
        self.raw_text(state)
    }

    fn raw_text(&self, state: State) -> Verdict {
        Verdict {
            state: Some(state),
            ..Verdict::of(self.place_or_nowhere(Place::Html))
        }
    }

    #[inline]
    fn body_element(&mut self, token: &Token<'_>) -> Verdict {
        let place = self.place_or_nowhere(Place::Html);
        match token.tag {
            Tag::Frameset => return self.frameset_in_body(),
            Tag::Frame | Tag::Head => return Verdict::of(Place::Nowhere),
            Tag::Template => {
                self.open.open_template();
                self.may_have_frames = false;
                return Verdict::of(Place::Nowhere);
            }
            Tag::Svg | Tag::Math => {
                if !token.self_closing {
                    let svg = token.tag == Tag::Svg;
                    let namespace = if svg {
                        Namespace::Svg
                    } else {
                        Namespace::MathMl
                    };
                    self.open
                        .open_foreign(namespace, Inside::Foreign, token.name);
                }
                return Verdict::of(self.place_or_nowhere(Place::Foreign));
            }
            _ => {}
        }
        if self.may_have_frames {
            let hidden_input =
                token.tag == Tag::Input && token.value.eq_ignore_ascii_case(b"hidden");
            self.may_have_frames = !token.tag.rules_out_frames()
                && token.tag != Tag::Body
                && (token.tag != Tag::Input || hidden_input);
        }
        if self.open.is_empty() {
            let ignored = is_table_part(token.tag) && self.around[Tag::Table as usize] == 0;
            let count = &mut self.around[token.tag as usize];
            *count = count.saturating_add(u16::from(!ignored && !token.tag.is_void()));
        } else {
            self.open.open_html(token.tag, token.name);
        }
        Verdict::of(place)
    }

    fn frameset_in_body(&mut self) -> Verdict {
        if !self.may_have_frames || self.open.in_template() {
            return Verdict::of(Place::Nowhere);
        }
        self.open.clear();
        self.mode = Mode::Frameset(1);
        Verdict {
            replaces_body: true,
            ..Verdict::of(Place::Html)
        }
    }

    /// Takes in an end tag.
    #[inline]
    pub(super) fn end(&mut self, tag: Tag, name: &Name) {
        if self.raw.take().is_some() {
            return;
        }
        if matches!(tag, Tag::Br | Tag::Body | Tag::Html) && !self.open.in_template() {
            self.end_of_body(tag);
        }
        if let Mode::Frameset(depth) = self.mode {
            if tag == Tag::Frameset {
                self.mode = match depth {
                    ..=1 => Mode::AfterFrameset,
                    _ => Mode::Frameset(depth - 1),
                };
            }
        } else if self.open.is_empty() {
            let count = &mut self.around[tag as usize];
            *count = count.saturating_sub(1);
        } else {
            self.end_in_stack(tag, name);
        }
    }

    /// A body that ends has begun, and `</br>` is read as `<br>`.
    fn end_of_body(&mut self, tag: Tag) {
        if matches!(self.mode, Mode::Head | Mode::Body) {
            self.mode = Mode::Body;
            self.may_have_frames &= tag != Tag::Br;
        }
    }

    fn end_in_stack(&mut self, tag: Tag, name: &Name) {
        if self.in_foreign() {
            if matches!(tag, Tag::Br | Tag::P) {
                self.open.leave_foreign();
                return;
            }
            if self.open.close_foreign(name) {
                return;
            }
        }
        if tag == Tag::Template {
            self.open.close_template();
        } else if self.open.close_html(tag, name) {
            let around = &mut self.around[tag as usize];
            if *around > 0 && !matches!(tag, Tag::Other | Tag::Html | Tag::Body | Tag::Form) {
                *around -= 1;
                self.open.clear();
            }
        }
    }
}
