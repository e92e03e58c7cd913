//! [`Bases`]: what relative addresses in a feed are relative to (XML Base,
//! which RFC 4287 section 2 asks for).
//!
//! Invariant: a base holds inside of its element only, and one that is itself
//! relative is taken in only where the one around it is known.

use quick_xml::events::BytesStart;
use url::Url;

use crate::uri;

/// The bases of the open elements that have one, outermost first.
#[derive(Default)]
pub(super) struct Bases {
    of: Vec<(usize, Url)>,
}

impl Bases {
    /// Takes in the base of an element that has this many around it.
    pub(super) fn enter(&mut self, depth: usize, tag: &BytesStart<'_>) {
        if let Some(base) = self.of_tag(tag) {
            self.of.push((depth, base));
        }
    }

    /// Forgets the bases of the elements that have this many or more around
    /// them.
    pub(super) fn leave(&mut self, depth: usize) {
        while self.of.pop_if(|(of, _)| *of >= depth).is_some() {}
    }

    /// The address that stands on an element, absolute if its base is known.
    pub(super) fn resolve(&self, tag: &BytesStart<'_>, href: &str) -> String {
        let own = self.of_tag(tag);
        let base = own.as_ref().or(self.innermost());
        let is_absolute = || uri::parse(href).is_some();
        match base.filter(|_| !is_absolute()) {
            Some(base) => uri::resolve(base, href).map_or_else(|| href.to_owned(), String::from),
            None => href.to_owned(),
        }
    }

    fn innermost(&self) -> Option<&Url> {
        self.of.last().map(|(_, base)| base)
    }

    fn of_tag(&self, tag: &BytesStart<'_>) -> Option<Url> {
        let mut attributes = tag.html_attributes();
        let attributes = attributes.with_checks(false).flatten();
        let is_base = |name: &str| name.eq_ignore_ascii_case("xml:base");
        let text = attributes
            .into_iter()
            .find(|attribute| is_base(attribute.key.as_ref()))?;
        let text = super::reference::unescaped(&text.value)?;
        match self.innermost() {
            Some(outer) => uri::resolve(outer, &text),
            None => uri::parse(&text),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::sitemap::parse;

    #[test]
    fn relative_links_of_a_feed_are_relative_to_its_base() {
        let feed = |attributes: &str, entries: &str| {
            let feed = parse(format!("<feed {attributes}>{entries}</feed>").as_bytes());
            let locs = feed
                .entries
                .into_iter()
                .map(|entry| entry.loc.replace("http://a.test/", ""));
            locs.collect::<Vec<_>>()
        };
        let entries = "<entry><link href='1'/></entry>\
            <entry xml:base='sub/'><content xml:base='no/'><p/></content><link href='2?a&amp;b'/></entry>\
            <entry><link xml:base='/top/' href='3'/></entry><entry><link href='//a.test/4'/></entry>\
            <entry xml:base='http://a.test/own/'><link href='http://a.test/5^'/></entry><entry><link href='6'/></entry>";
        assert_eq!(
            feed("xml:base='http://a.test/dir/'", entries),
            ["dir/1", "dir/sub/2?a&b", "top/3", "4", "5^", "dir/6"]
        );
        assert_eq!(feed("xml:base='/unknown/'", entries), ["5^"]);
        assert_eq!(feed("xml:base='mailto:x'", entries), ["5^"]);
    }
}
