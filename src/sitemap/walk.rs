//! [`Walk`]: from markup to entries.
//!
//! Invariant: what counts is an element's local name and its place: an entry
//! under the root, a field right under the entry. End tags that match nothing,
//! missing ones and broken markup cost at most the entry they stand in.

use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::base::Bases;
use super::reference::{is_name_start, push_reference, unescaped};
use super::source::Source;
use super::{Flow, Kind, Sink};

/// How deep elements may nest. Sitemaps take four levels, feeds a few more for
/// the markup in their articles.
const MAX_DEPTH: usize = 128;

/// The longest location or date, in bytes; the protocol has 2,048 characters.
const MAX_FIELD: usize = 64 * 1024;

/// After so many start tags without end tag the reader, which remembers their
/// names, is replaced.
const MAX_UNCLOSED: usize = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Root,
    Entry,
    Loc,
    /// What a feed's item is known by, which is its location as well unless it
    /// says otherwise (RSS 2.0, `guid`).
    Permalink,
    /// When the entry changed.
    Modified,
    /// When it appeared, which stands in where the former is missing.
    Published,
    Other,
}

impl Role {
    fn is_field(self) -> bool {
        !matches!(self, Role::Root | Role::Entry | Role::Other)
    }
}

/// An element that is open; its name ends in [`Walk::names`] where the next one's
/// starts.
struct Open {
    role: Role,
    name_start: usize,
}

/// The entry at hand.
#[derive(Default)]
struct Draft {
    loc: Option<String>,
    permalink: Option<String>,
    modified: Option<String>,
    published: Option<String>,
    /// The text of the field at hand.
    text: String,
    overlong: bool,
    /// It has a reference to an entity that is not known.
    unknown: bool,
}

pub(super) struct Walk<'s, 'f> {
    sink: &'s mut Sink<'f>,
    open: Vec<Open>,
    names: String,
    bases: Bases,
    draft: Draft,
}

fn split_name(name: &str) -> (&str, &str) {
    name.rsplit_once(':').unwrap_or(("", name))
}

fn is_one_of(name: &str, known: &[&str]) -> bool {
    known.iter().any(|known| name.eq_ignore_ascii_case(known))
}

fn root_kind(local: &str) -> Option<Kind> {
    [
        ("urlset", Kind::Urlset),
        ("sitemapindex", Kind::Index),
        ("rss", Kind::Rss),
        ("rdf", Kind::Rss),
        ("feed", Kind::Atom),
    ]
    .into_iter()
    .find(|(name, _)| local.eq_ignore_ascii_case(name))
    .map(|(_, kind)| kind)
}

impl<'s, 'f> Walk<'s, 'f> {
    pub(super) fn new(sink: &'s mut Sink<'f>) -> Self {
        Walk {
            sink,
            open: Vec::new(),
            names: String::new(),
            bases: Bases::default(),
            draft: Draft::default(),
        }
    }

    /// Reads to the end. Always breaks in the end.
    pub(super) fn run(mut self, source: Source<'_>) -> Flow {
        let mut reader = lenient(source);
        let mut passed = 0;
        let mut unclosed: usize = 0;
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            reader.get_mut().next_piece();
            let start = reader.buffer_position();
            let mut replace = unclosed > MAX_UNCLOSED;
            match reader.read_event_into(&mut buffer) {
                Ok(Event::Start(tag)) => {
                    unclosed += 1;
                    self.tag(&tag, false, passed + start)?;
                }
                Ok(Event::Empty(tag)) => self.tag(&tag, true, passed + start)?,
                Ok(Event::End(tag)) => {
                    unclosed = unclosed.saturating_sub(1);
                    self.end(tag.name().as_ref(), passed + start)?;
                }
                Ok(Event::Text(text)) => self.text(&text),
                Ok(Event::CData(text)) => self.text(&text),
                Ok(Event::GeneralRef(reference)) => self.reference(&reference),
                Ok(Event::DocType(name)) => {
                    let name = name.split(|c: char| !c.is_ascii_alphanumeric()).next();
                    if name.is_some_and(|name| name.eq_ignore_ascii_case("html")) {
                        return Flow::Break(());
                    }
                }
                Ok(Event::Decl(_) | Event::PI(_) | Event::Comment(_)) => {}
                Ok(Event::Eof) => {
                    self.finish(passed + start);
                    return Flow::Break(());
                }
                Err(quick_xml::Error::Io(error)) => {
                    self.sink
                        .fault(format!("{error}, at byte {}", passed + start));
                    return Flow::Break(());
                }
                // The reader has passed the broken part: what follows may be
                // read by a new one.
                Err(error) => {
                    self.sink
                        .fault(format!("{error}, at byte {}", passed + start));
                    replace = true;
                }
            }
            if replace {
                let position = reader.buffer_position();
                if position == 0 {
                    return Flow::Break(());
                }
                passed += position;
                unclosed = 0;
                reader = lenient(reader.into_inner());
            }
        }
    }

    fn finish(&mut self, position: u64) {
        if let Some(root) = self.open.first() {
            let end = self
                .open
                .get(1)
                .map_or(self.names.len(), |next| next.name_start);
            let name = &self.names[root.name_start..end];
            self.sink
                .fault(format!("cut short: {name} does not end by byte {position}"));
        }
    }

    fn name(&self, at: usize) -> &str {
        let end = self
            .open
            .get(at + 1)
            .map_or(self.names.len(), |next| next.name_start);
        &self.names[self.open[at].name_start..end]
    }

    fn push(&mut self, role: Role, name: &str) {
        self.open.push(Open {
            role,
            name_start: self.names.len(),
        });
        self.names.push_str(name);
    }

    /// A tag that starts an element, or seems to.
    fn tag(&mut self, tag: &BytesStart<'_>, is_empty: bool, position: u64) -> Flow {
        if tag.starts_with(is_name_start) {
            self.start(tag)?;
            if is_empty {
                self.end(tag.name().as_ref(), position)?;
            }
            return Flow::Continue(());
        }
        // A bare `<` was taken for the start of a tag. What it swallowed is a
        // tag if it has another.
        self.sink.fault(format!("stray < at byte {position}"));
        let Some((_, inner)) = tag.rsplit_once('<') else {
            return Flow::Continue(());
        };
        if let Some(name) = inner.strip_prefix('/') {
            self.end(name.trim_end(), position)
        } else if inner.starts_with(is_name_start) {
            let name_length = inner.find(char::is_whitespace).unwrap_or(inner.len());
            let inner = BytesStart::from_content(inner, name_length);
            self.tag(&inner, is_empty, position)
        } else {
            Flow::Continue(())
        }
    }

    fn start(&mut self, tag: &BytesStart<'_>) -> Flow {
        let name = tag.name();
        let name: &str = name.as_ref();
        let (prefix, local) = split_name(name);
        if self.open.is_empty() {
            return self.outermost(tag, name, local);
        }
        let entry_name = match self.sink.summary.kind {
            Kind::Index => "sitemap",
            Kind::Rss => "item",
            Kind::Atom => "entry",
            _ => "url",
        };
        if local.eq_ignore_ascii_case(entry_name) {
            let entry = self.open.iter().rposition(|open| open.role == Role::Entry);
            match entry {
                None => {
                    self.draft = Draft::default();
                    self.bases.enter(self.open.len(), tag);
                    self.push(Role::Entry, name);
                    return Flow::Continue(());
                }
                // An entry in an entry: the end tag of the outer one is missing.
                Some(at) if split_name(self.name(at)).0 == prefix => {
                    self.sink.fault(format!("{name} without an end tag"));
                    self.close(at)?;
                    self.bases.enter(self.open.len(), tag);
                    self.push(Role::Entry, name);
                    return Flow::Continue(());
                }
                Some(_) => {}
            }
        }
        let role = self.field(tag, prefix, local);
        if role.is_field() {
            self.draft.text.clear();
            self.draft.overlong = false;
            self.draft.unknown = false;
        }
        if self.open.len() == MAX_DEPTH {
            self.sink
                .fault(format!("elements nest more than {MAX_DEPTH} deep"));
            return Flow::Break(());
        }
        self.push(role, name);
        Flow::Continue(())
    }

    /// An element outside of any list: the root, or nothing of interest.
    fn outermost(&mut self, tag: &BytesStart<'_>, name: &str, local: &str) -> Flow {
        let kind = &mut self.sink.summary.kind;
        if let Some(found) = root_kind(local)
            && (*kind == Kind::Unknown || *kind == found)
        {
            *kind = found;
            self.sink.complete = false;
            self.bases.enter(self.open.len(), tag);
            self.push(Role::Root, name);
        } else if *kind == Kind::Unknown && local.eq_ignore_ascii_case("html") {
            return Flow::Break(());
        }
        Flow::Continue(())
    }

    /// What an element in the list is. Atom's links, which have their location in
    /// an attribute, are read on the spot.
    fn field(&mut self, tag: &BytesStart<'_>, prefix: &str, local: &str) -> Role {
        let parent = self.open.len() - 1;
        if self.open[parent].role != Role::Entry {
            return Role::Other;
        }
        // Feeds mix vocabularies: `atom:link` is no link of an RSS item.
        let is_own = split_name(self.name(parent)).0 == prefix;
        match self.sink.summary.kind {
            Kind::Urlset | Kind::Index => {
                if is_one_of(local, &["loc"]) {
                    return Role::Loc;
                } else if is_one_of(local, &["lastmod"]) {
                    return Role::Modified;
                }
            }
            Kind::Rss => {
                if is_own && is_one_of(local, &["link"]) {
                    return Role::Loc;
                } else if is_own && is_one_of(local, &["guid"]) && is_permalink(tag) {
                    return Role::Permalink;
                } else if is_one_of(local, &["pubdate"]) {
                    return Role::Modified;
                } else if is_one_of(local, &["date"]) {
                    return Role::Published;
                }
            }
            Kind::Atom if is_own => {
                if is_one_of(local, &["link"]) {
                    self.atom_link(tag);
                } else if is_one_of(local, &["updated", "modified"]) {
                    return Role::Modified;
                } else if is_one_of(local, &["published", "issued"]) {
                    return Role::Published;
                }
            }
            _ => {}
        }
        Role::Other
    }

    fn atom_link(&mut self, tag: &BytesStart<'_>) {
        let mut href = None;
        let mut is_page = true;
        for attribute in tag.html_attributes().with_checks(false).flatten() {
            let name: &str = attribute.key.as_ref();
            if name.eq_ignore_ascii_case("rel") {
                is_page = attribute.value.trim().eq_ignore_ascii_case("alternate");
            } else if name.eq_ignore_ascii_case("href") && attribute.value.len() <= MAX_FIELD {
                href = Some(unescaped(&attribute.value));
            }
        }
        if is_page && self.draft.loc.is_none() {
            self.draft.loc = href.map(|href| {
                href.map_or_else(String::new, |href| self.bases.resolve(tag, href.trim()))
            });
        }
    }

    fn end(&mut self, name: &str, position: u64) -> Flow {
        let matching = (0..self.open.len())
            .rev()
            .find(|&at| self.name(at).eq_ignore_ascii_case(name));
        let Some(last) = self.open.len().checked_sub(1) else {
            return Flow::Continue(());
        };
        if matching != Some(last) {
            self.sink
                .fault(format!("mismatched end tag {name} at byte {position}"));
        }
        match matching {
            Some(at) => self.close(at),
            // Most likely it was to end the field that it stands in.
            None if self.open[last].role.is_field() => self.close(last),
            None => Flow::Continue(()),
        }
    }

    /// Ends all elements down to this one.
    fn close(&mut self, down_to: usize) -> Flow {
        while self.open.len() > down_to {
            let Some(open) = self.open.pop() else { break };
            self.names.truncate(open.name_start);
            self.bases.leave(self.open.len());
            match open.role {
                Role::Other => {}
                Role::Root => self.sink.complete = true,
                Role::Entry => {
                    let draft = std::mem::take(&mut self.draft);
                    let loc = draft.loc.or(draft.permalink).unwrap_or_default();
                    self.sink.entry(&loc, draft.modified.or(draft.published))?;
                }
                role => self.take_field(role),
            }
        }
        Flow::Continue(())
    }

    /// Keeps a field's text; of two the first that is not empty.
    fn take_field(&mut self, role: Role) {
        let draft = &mut self.draft;
        if draft.overlong {
            self.sink
                .fault(format!("a field longer than {MAX_FIELD} bytes is left out"));
            return;
        }
        let field = match role {
            Role::Loc => &mut draft.loc,
            Role::Permalink => &mut draft.permalink,
            Role::Modified => &mut draft.modified,
            _ => &mut draft.published,
        };
        let is_location = matches!(role, Role::Loc | Role::Permalink);
        let text = match draft.text.trim() {
            "" => return,
            // Empty, it is no location, and no other one is taken for it.
            _ if draft.unknown && is_location => "",
            text => text,
        };
        field.get_or_insert_with(|| text.to_owned());
    }

    fn text(&mut self, text: &str) {
        if self.open.last().is_some_and(|open| open.role.is_field()) {
            let draft = &mut self.draft;
            draft.overlong |= draft.text.len() + text.len() > MAX_FIELD;
            if !draft.overlong {
                draft.text.push_str(text);
            }
        }
    }

    fn reference(&mut self, reference: &BytesRef<'_>) {
        if self.open.last().is_some_and(|open| open.role.is_field()) {
            let mut text = String::new();
            self.draft.unknown |= !push_reference(reference, &mut text);
            self.text(&text);
        }
    }
}

fn lenient(source: Source<'_>) -> Reader<Source<'_>> {
    let mut reader = Reader::from_reader(source);
    let config = reader.config_mut();
    config.allow_dangling_amp = true;
    config.allow_unmatched_ends = true;
    config.check_end_names = false;
    reader
}

/// Whether a `guid` is an address: unless it says that it is none.
fn is_permalink(tag: &BytesStart<'_>) -> bool {
    let mut attributes = tag.html_attributes();
    !attributes.with_checks(false).flatten().any(|attribute| {
        let name: &str = attribute.key.as_ref();
        name.eq_ignore_ascii_case("isPermaLink") && attribute.value.trim() == "false"
    })
}

#[cfg(test)]
mod tests {
    use crate::sitemap::parse;

    #[test]
    fn entries_without_an_absolute_url_are_left_out_and_counted() {
        let urls = "<url><loc>/a</loc></url><url/><url><loc>ftp://a.test/</loc></url>";
        for (root, body, left_out) in [
            ("urlset", urls, 3),
            (
                "urlset",
                "<url><loc>http://a.test/</loc><loc>/a</loc></url>",
                0,
            ),
            ("sitemapindex", "<sitemap><loc>a.xml</loc></sitemap>", 1),
            ("rss", "<channel><item><title>t</title></item></channel>", 1),
            ("feed", "<entry><link href='a'/></entry><entry/>", 2),
            (
                "feed xml:base='http://a.test/'",
                "<entry><link href='a'/></entry>",
                0,
            ),
            ("html", urls, 0),
        ] {
            let name = root.split(' ').next().unwrap_or_default();
            let sitemap = parse(format!("<{root}>{body}</{name}>").as_bytes());
            assert_eq!(sitemap.left_out, left_out, "{root}: {body}");
        }
        // What a file ends in is told as its fault.
        assert_eq!(parse(b"<urlset><url><loc>/cut").left_out, 0);
    }
}
