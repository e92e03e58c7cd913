//! [`parse`]: the locations that a sitemap, a sitemap index or a feed lists
//! (sitemaps.org protocol 0.9; RSS 0.9 to 2.0; RFC 4287).
//!
//! Invariant: reading always ends and never fails. A faulty file gives the
//! entries that could be read, and the fault beside them; time is linear in the
//! text, and memory does not grow with what a compressed body inflates to.

mod base;
mod lastmod;
mod reference;
mod source;
#[cfg(test)]
mod tests;
mod walk;

use std::fmt;
use std::io::BufRead;
use std::ops::ControlFlow;
use std::time::SystemTime;

use crate::error::{Error, ErrorKind};
use crate::http::{Sniffed, sniff};
use source::Source;
use walk::Walk;

/// The most entries that [`parse`] reads, as the protocol limits them.
pub const MAX_ENTRIES: usize = 50_000;

/// The most text that is read, in bytes after decompression. The protocol limits
/// a sitemap to it.
pub const MAX_TEXT: usize = 50 * 1024 * 1024;

/// How much of the start of a text is looked at to tell markup from plain text,
/// in bytes: more than an error message that a server prints before the markup.
const HEAD: usize = 4096;

/// What kind of list a file is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// None of the others: no sitemap.
    #[default]
    Unknown,
    /// A `urlset`: its entries are pages.
    Urlset,
    /// A `sitemapindex`: its entries are sitemaps.
    Index,
    /// An RSS feed: its entries are pages.
    Rss,
    /// An Atom feed: its entries are pages.
    Atom,
    /// Plain text, a URL on each line: its entries are pages.
    Text,
}

impl Kind {
    /// The stable lower-case word that logs use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Unknown => "unknown",
            Kind::Urlset => "urlset",
            Kind::Index => "index",
            Kind::Rss => "rss",
            Kind::Atom => "atom",
            Kind::Text => "text",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One location of a list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Entry {
    /// An absolute http or https URL as it is written, references decoded and
    /// outer white space removed. A relative link of a feed is made absolute by
    /// its `xml:base`, and left out without one.
    pub loc: String,
    /// When it changed last, as it is written: `lastmod`, RSS's `pubDate`, Atom's
    /// `updated`.
    pub lastmod: Option<String>,
}

impl Entry {
    /// The moment by which it had changed last, if [`lastmod`](Self::lastmod) is
    /// a date. One without a time of day means the end of that day; one without a
    /// zone is UTC.
    ///
    /// ```
    /// let map = b"<urlset><url><loc>http://a.test/</loc><lastmod>1970-01-01T01:00+01:00</lastmod></url></urlset>";
    /// let sitemap = canter::sitemap::parse(map);
    /// assert_eq!(sitemap.entries[0].changed_by(), Some(std::time::UNIX_EPOCH));
    /// ```
    #[must_use]
    pub fn changed_by(&self) -> Option<SystemTime> {
        self.lastmod.as_deref().and_then(lastmod::changed_by)
    }
}

/// What [`parse`] found.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Sitemap {
    /// What kind of list it is.
    pub kind: Kind,
    /// Its entries in order, repeats kept. Entries without an absolute http or
    /// https location are left out.
    pub entries: Vec<Entry>,
    /// How many were left out: their location is missing, relative, of another
    /// scheme, or has an entity that is not known; of a text file, lines that
    /// are not blank and no URL. 0 for what is no sitemap.
    pub left_out: usize,
    /// What stopped the reading or else the first fault that it came across, of
    /// kind [`Extract`](ErrorKind::Extract); `None` if all was read.
    pub error: Option<Error>,
}

/// What [`parse_with`] found, besides the entries.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Summary {
    /// What kind of list it is.
    pub kind: Kind,
    /// How many entries were handed over.
    pub entries: usize,
    /// As in [`Sitemap::left_out`].
    pub left_out: usize,
    /// As in [`Sitemap::error`].
    pub error: Option<Error>,
}

/// Reads a sitemap, a sitemap index, an RSS or Atom feed, or a text file of URLs,
/// up to [`MAX_ENTRIES`] entries and [`MAX_TEXT`] bytes.
///
/// gzip is undone, whatever the name or type of the file said. Encodings are
/// those of a byte order mark or an XML declaration. Namespaces are not looked
/// at, only local names and places, so that the `loc` of an image is none of a
/// page. No entity of a document type is expanded and nothing is opened: an
/// entry whose location has one is left out.
///
/// ```
/// use canter::sitemap::{Kind, parse};
/// let sitemap = parse(b"<urlset><url><loc>https://example.com/?a&amp;b</loc></url></urlset>");
/// assert_eq!(sitemap.kind, Kind::Urlset);
/// assert_eq!(sitemap.entries[0].loc, "https://example.com/?a&b");
/// assert!(sitemap.error.is_none());
/// let sitemap = parse(b"<urlset><url><loc>/relative</loc></url></urlset>");
/// assert_eq!((sitemap.entries.len(), sitemap.left_out), (0, 1));
/// ```
#[must_use]
pub fn parse(body: &[u8]) -> Sitemap {
    let mut entries = Vec::new();
    let summary = parse_with(body, MAX_ENTRIES, |_, entry| {
        entries.push(entry);
        ControlFlow::Continue(())
    });
    Sitemap {
        kind: summary.kind,
        entries,
        left_out: summary.left_out,
        error: summary.error,
    }
}

/// As [`parse`], but hands over each entry as it is read and keeps none, up to
/// `max_entries` or until told to stop.
///
/// ```
/// use std::ops::ControlFlow;
/// let body = b"https://example.com/1\nhttps://example.com/2\nhttps://example.com/3\n";
/// let summary = canter::sitemap::parse_with(body, 2, |kind, entry| {
///     println!("{kind}: {}", entry.loc);
///     ControlFlow::Continue(())
/// });
/// assert_eq!(summary.entries, 2);
/// assert!(summary.error.is_some(), "the file has more");
/// ```
pub fn parse_with(
    body: &[u8],
    max_entries: usize,
    mut each: impl FnMut(Kind, Entry) -> ControlFlow<()>,
) -> Summary {
    let mut source = Source::open(body);
    let (head, failure) = source.head();
    let mut sink = Sink {
        each: &mut each,
        left: max_entries,
        summary: Summary::default(),
        complete: false,
    };
    let is_blank = head.trim_ascii().is_empty();
    if is_blank && head.len() < HEAD {
        sink.fault(failure.map_or_else(|| "the file is empty".to_owned(), |e| e.to_string()));
    } else if is_blank || head.contains(&b'<') {
        let sniffed = sniff(&head);
        let _ = Walk::new(&mut sink).run(source);
        if sink.summary.kind == Kind::Unknown {
            sink.not_a_sitemap(sniffed);
        }
    } else {
        let _ = read_lines(source, &mut sink);
        if sink.summary.entries == 0 {
            sink.summary.kind = Kind::Unknown;
            sink.not_a_sitemap(sniff(&head));
        }
    }
    sink.summary
}

/// Whether to go on; `Break` when nothing more is to be read.
type Flow = ControlFlow<()>;

/// Takes entries and faults.
struct Sink<'f> {
    each: &'f mut dyn FnMut(Kind, Entry) -> Flow,
    left: usize,
    summary: Summary,
    /// The list has ended: what may follow it is no fault of the list.
    complete: bool,
}

impl Sink<'_> {
    /// Hands over an entry, if its location is one, or else counts it.
    fn entry(&mut self, loc: &str, lastmod: Option<String>) -> Flow {
        if !is_absolute(loc) {
            self.summary.left_out += 1;
            return Flow::Continue(());
        }
        if self.left == 0 {
            self.fault(format!(
                "more than {} entries, the rest is left out",
                self.summary.entries
            ));
            return Flow::Break(());
        }
        self.left -= 1;
        self.summary.entries += 1;
        (self.each)(
            self.summary.kind,
            Entry {
                loc: loc.to_owned(),
                lastmod,
            },
        )
    }

    /// Notes a fault; the first is kept.
    fn fault(&mut self, message: impl Into<String>) {
        if self.summary.error.is_none() && !self.complete {
            self.summary.error = Some(Error::new(ErrorKind::Extract).with_message(message));
        }
    }

    fn not_a_sitemap(&mut self, sniffed: Sniffed) {
        let message = if sniffed == Sniffed::Html {
            "an HTML page, not a sitemap".to_owned()
        } else if sniffed.is_binary() {
            format!("not a sitemap but {} data", sniffed.as_str())
        } else {
            "not a sitemap: no urlset, sitemapindex, rss or feed, and no line that is a URL"
                .to_owned()
        };
        self.summary.error = Some(Error::new(ErrorKind::Extract).with_message(message));
        self.summary.left_out = 0;
    }
}

/// Whether a location is an absolute http or https URL, by its start.
fn is_absolute(loc: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        loc.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
            && loc.len() > scheme.len()
    })
}

/// A text sitemap: each line that is a URL.
fn read_lines(mut source: Source<'_>, sink: &mut Sink<'_>) -> Flow {
    sink.summary.kind = Kind::Text;
    let mut line = Vec::new();
    loop {
        line.clear();
        source.next_piece();
        match source.read_until(b'\n', &mut line) {
            Ok(0) => return Flow::Break(()),
            Ok(_) => {}
            Err(error) => {
                sink.fault(error.to_string());
                return Flow::Break(());
            }
        }
        for line in line.split(|&byte| byte == b'\r') {
            let text = String::from_utf8_lossy(line);
            let text = text.trim();
            if text.contains(char::is_whitespace) {
                sink.summary.left_out += 1;
            } else if !text.is_empty() {
                sink.entry(text, None)?;
            }
        }
    }
}
