//! [`Collector`]: gathers from the tags of a page what was asked for.

use std::borrow::Cow;
use std::sync::Arc;

use super::directives::{RobotsDirectives, meta_directives, refresh_target};
use super::emitter::Attrs;
use super::json_ld::is_json_ld;
use super::links::{LinkKind, References};
use super::tag::{Attr, AttrSet, Name, Tag};
use super::text::Text;
use super::tree::Place;

const LINK: AttrSet = AttrSet::of(&[Attr::Href, Attr::Rel]);
const ANCHOR: AttrSet = AttrSet::of(&[Attr::Href, Attr::XlinkHref, Attr::Rel]);
const SRC: AttrSet = AttrSet::of(&[Attr::Src]);
const BASE: AttrSet = AttrSet::of(&[Attr::Href]);
const META: AttrSet = AttrSet::of(&[Attr::Name, Attr::Property, Attr::HttpEquiv, Attr::Content]);
const SCRIPT: AttrSet = AttrSet::of(&[Attr::Type]);
const LANG: AttrSet = AttrSet::of(&[Attr::Lang]);

/// What is gathered.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is asked for on its own"
)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wanted {
    /// Whether the page is XHTML, where `<title/>` is an empty element.
    pub(super) xml: bool,
    pub(super) links: bool,
    /// Title, description, canonical URL and language.
    pub(super) head: bool,
    /// Every `meta` with a name and a content.
    pub(super) metas: bool,
    /// Every script that holds JSON-LD.
    pub(super) json_ld: bool,
    pub(super) text: bool,
}

#[derive(Debug, Default)]
pub(super) struct Collector {
    wanted: Wanted,
    /// Our product token, for `meta` elements that name it.
    agent: Option<Arc<str>>,
    pub(super) references: References,
    pub(super) base: Option<String>,
    pub(super) robots: RobotsDirectives,
    title: Option<Vec<u8>>,
    in_title: bool,
    pub(super) description: Option<String>,
    pub(super) canonical: Option<String>,
    pub(super) lang: Option<String>,
    pub(super) metas: Vec<(String, String)>,
    /// Scripts that hold JSON-LD.
    scripts: Vec<Vec<u8>>,
    in_script: bool,
    text: Option<Text>,
    before_body: BeforeBody,
}

/// What had been gathered when the body began, for the case that a frameset
/// takes the body's place.
#[expect(
    clippy::struct_excessive_bools,
    reason = "one for each that can be there"
)]
#[derive(Debug, Default)]
struct BeforeBody {
    references: usize,
    metas: usize,
    scripts: usize,
    robots: RobotsDirectives,
    base: bool,
    title: bool,
    description: bool,
    canonical: bool,
}

impl Collector {
    pub(super) fn new(wanted: Wanted, agent: Option<Arc<str>>) -> Self {
        Collector {
            wanted,
            agent,
            text: wanted.text.then(Text::new),
            ..Collector::default()
        }
    }

    /// The attributes of this element that make a difference.
    #[inline]
    pub(super) fn wanted(&self, tag: Tag) -> AttrSet {
        let attrs = match tag {
            Tag::A if self.wanted.links => ANCHOR,
            Tag::Area if self.wanted.links => LINK,
            Tag::Iframe | Tag::Frame if self.wanted.links => SRC,
            Tag::Base => BASE,
            Tag::Meta if self.wanted.links || self.wanted.head || self.wanted.metas => META,
            Tag::Link if self.wanted.head => LINK,
            Tag::Html if self.wanted.head => LANG,
            Tag::Script if self.wanted.json_ld => SCRIPT,
            _ => AttrSet::NONE,
        };
        if self.text.is_some() {
            attrs.with(Text::WANTED)
        } else {
            attrs
        }
    }

    #[inline]
    pub(super) fn is_xml(&self) -> bool {
        self.wanted.xml
    }

    #[inline]
    pub(super) fn wants_text(&self) -> bool {
        self.in_title || self.in_script || self.text.is_some()
    }

    #[inline]
    pub(super) fn start(
        &mut self,
        tag: Tag,
        name: &Name,
        place: Place,
        attrs: &Attrs,
        self_closing: bool,
    ) {
        if let Some(text) = &mut self.text {
            text.start(tag, name, place, attrs, self_closing);
        }
        match place {
            Place::Html => self.html(tag, attrs),
            Place::Foreign if tag == Tag::A => {
                // SVG 2 section 16.2: the older attribute where the other is not.
                let href = attrs.get(Attr::Href).or(attrs.get(Attr::XlinkHref));
                self.link(LinkKind::Anchor, href, attrs);
            }
            Place::Foreign | Place::Nowhere => {}
        }
    }

    #[inline]
    fn html(&mut self, tag: Tag, attrs: &Attrs) {
        match tag {
            Tag::A => self.link(LinkKind::Anchor, attrs.get(Attr::Href), attrs),
            Tag::Area => self.link(LinkKind::Area, attrs.get(Attr::Href), attrs),
            Tag::Iframe | Tag::Frame => {
                // A frame without an address shows nothing; it is not the page.
                let src = attrs.get(Attr::Src).filter(|src| !src.is_empty());
                self.link(LinkKind::Frame, src, attrs);
            }
            Tag::Meta => self.meta(attrs),
            Tag::Base if self.base.is_none() => self.base = attrs.get(Attr::Href).map(text_of),
            Tag::Link if self.canonical.is_none() => {
                let rel = attrs.get(Attr::Rel).unwrap_or_default();
                if has_token(rel, b"canonical") {
                    self.canonical = attrs.get(Attr::Href).map(text_of);
                }
            }
            Tag::Html if self.lang.is_none() => self.lang = attrs.get(Attr::Lang).map(text_of),
            Tag::Title if self.wanted.head && self.title.is_none() => {
                self.title = Some(Vec::new());
                self.in_title = true;
            }
            Tag::Script
                if self.wanted.json_ld && is_json_ld(attrs.get(Attr::Type).unwrap_or_default()) =>
            {
                self.scripts.push(Vec::new());
                self.in_script = true;
            }
            _ => {}
        }
    }

    fn link(&mut self, kind: LinkKind, href: Option<&[u8]>, attrs: &Attrs) {
        if let Some(href) = href.filter(|_| self.wanted.links) {
            let rel = attrs.get(Attr::Rel).unwrap_or_default();
            self.references
                .push(kind, href, has_token(rel, b"nofollow"));
        }
    }

    fn meta(&mut self, attrs: &Attrs) {
        let Some(content) = attrs.get(Attr::Content) else {
            return;
        };
        let equiv = attrs.get(Attr::HttpEquiv).unwrap_or_default();
        if self.wanted.links
            && equiv.eq_ignore_ascii_case(b"refresh")
            && let Some(target) = refresh_target(content)
        {
            self.references.push(LinkKind::Refresh, target, false);
        }
        let name = attrs.get(Attr::Name).unwrap_or_default().trim_ascii();
        let is_ours = |agent: &Arc<str>| name.eq_ignore_ascii_case(agent.as_bytes());
        if name.eq_ignore_ascii_case(b"robots") || self.agent.as_ref().is_some_and(is_ours) {
            self.robots = self.robots | meta_directives(content);
        }
        if self.wanted.head
            && self.description.is_none()
            && name.eq_ignore_ascii_case(b"description")
        {
            self.description = words_of(content);
        }
        if self.wanted.metas {
            let property = attrs.get(Attr::Property).unwrap_or_default().trim_ascii();
            for key in [name, property] {
                if !key.is_empty() {
                    self.metas.push((text_of(key), text_of(content)));
                }
            }
        }
    }

    /// Takes in an end tag: `was_raw` if it ends text without markup, `in_page`
    /// if it can end an element of the page.
    pub(super) fn end(&mut self, tag: Tag, name: &Name, was_raw: bool, in_page: bool) {
        self.in_title = false;
        self.in_script = false;
        if let Some(text) = self.text.as_mut().filter(|_| in_page) {
            text.end(tag, name, was_raw);
        }
    }

    pub(super) fn text(&mut self, text: &[u8], raw: Option<Tag>) {
        if self.in_title {
            self.title.get_or_insert_default().extend_from_slice(text);
        } else if self.in_script {
            self.scripts
                .last_mut()
                .into_iter()
                .for_each(|script| script.extend_from_slice(text));
        } else if let Some(collected) = &mut self.text {
            collected.push(text, raw);
        }
    }

    /// The body begins with the next tag or text.
    pub(super) fn begin_body(&mut self) {
        self.before_body = BeforeBody {
            references: self.references.len(),
            metas: self.metas.len(),
            scripts: self.scripts.len(),
            robots: self.robots,
            base: self.base.is_some(),
            title: self.title.is_some(),
            description: self.description.is_some(),
            canonical: self.canonical.is_some(),
        };
    }

    /// Forgets what was in the body.
    pub(super) fn replace_body(&mut self) {
        let before = &self.before_body;
        self.references.truncate(before.references);
        self.metas.truncate(before.metas);
        self.scripts.truncate(before.scripts);
        self.robots = before.robots;
        self.base.take_if(|_| !before.base);
        self.title.take_if(|_| !before.title);
        self.description.take_if(|_| !before.description);
        self.canonical.take_if(|_| !before.canonical);
        if self.text.is_some() {
            self.text = Some(Text::new());
        }
    }

    pub(super) fn title(&self) -> Option<String> {
        let title = self.title.as_deref()?;
        if self.wanted.xml {
            words_of(&without_cdata_marks(title))
        } else {
            words_of(title)
        }
    }

    /// The text of every script that holds JSON-LD.
    pub(super) fn scripts(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.scripts
            .iter()
            .map(|script| String::from_utf8_lossy(script))
    }

    pub(super) fn take_text(&mut self) -> Option<String> {
        self.text.take().map(Text::finish)
    }
}

/// Whether a list separated by white space has the token, in any case.
fn has_token(list: &[u8], token: &[u8]) -> bool {
    list.split(u8::is_ascii_whitespace)
        .any(|word| word.eq_ignore_ascii_case(token))
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The text without what begins and ends CDATA sections (XML 1.0 section 2.7),
/// which is no markup for who reads a title as HTML.
fn without_cdata_marks(text: &[u8]) -> Vec<u8> {
    const BEGIN: &str = "<![CDATA[";
    const END: &str = "]]>";
    let text = String::from_utf8_lossy(text);
    let mut out = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some((before, section)) = rest.split_once(BEGIN) {
        out.push_str(before);
        let (inside, after) = section.split_once(END).unwrap_or((section, ""));
        out.push_str(inside);
        rest = after;
    }
    out.push_str(rest);
    out.into_bytes()
}

/// The words with one space between them, if there are any.
fn words_of(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let mut words = String::with_capacity(text.len());
    for word in text.split_ascii_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
    (!words.is_empty()).then_some(words)
}
