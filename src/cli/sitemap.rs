//! `canter sitemap`: the URLs that a sitemap, an index or a feed lists. Keeps:
//! each file is asked for once, one after the other, and what was read of a
//! broken one is shown.

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::{self, Read as _, Write};
use std::ops::ControlFlow;

use serde::Serialize;

use super::args::Given;
use super::asker::{Asked, Asker};
use super::complain;
use super::exit::Exit;
use super::progress::counted;
use super::term::sanitize;
use crate::Url;
use crate::error::Error;
use crate::request::BodyLimit;
use crate::sitemap::{self, Entry, Kind, MAX_ENTRIES, MAX_TEXT};
use crate::uri;

/// How much of a file is read, compressed or not.
const MAX_FILE: u64 = MAX_TEXT as u64;
/// How deep indexes may be nested. The protocol knows one level.
const NESTING: u32 = 5;
/// The most sitemaps that are read, unless `--max-requests` says otherwise: at
/// one a second they take a quarter of an hour.
const MAX_SITEMAPS: usize = 1000;

/// Lists what a URL or a file holds.
pub(super) fn sitemap(given: &Given, json: bool) -> Exit {
    let target = given.urls.first().map_or("", String::as_str);
    let mut listing = Listing {
        out: io::BufWriter::new(io::stdout().lock()),
        json,
        read: 0,
        listed: 0,
        lost: 0,
        closed: false,
        failed: None,
    };
    let exit = if target.contains("://") {
        from_url(given, &mut listing)
    } else {
        from_file(given, target, &mut listing)
    };
    listing.finish(exit)
}

fn from_file(given: &Given, name: &str, listing: &mut Listing<impl Write>) -> Exit {
    if let Some((option, ..)) = given.settings.first() {
        complain(&format!("{option} has no effect on a file"));
        return Exit::Usage;
    }
    let mut body = Vec::new();
    let read = if name == "-" {
        io::stdin().lock().take(MAX_FILE).read_to_end(&mut body)
    } else {
        File::open(name).and_then(|file| file.take(MAX_FILE).read_to_end(&mut body))
    };
    if let Err(error) = read {
        let hint = Url::parse(&format!("https://{name}"))
            .ok()
            .filter(|url| {
                error.kind() == io::ErrorKind::NotFound
                    && !name.starts_with(['/', '.'])
                    && url.host_str().is_some_and(|host| host.contains('.'))
                    && url.path() != "/"
            })
            .map_or(String::new(), |url| format!("; did you mean {url} ?"));
        complain(&format!("cannot read {name}: {error}{hint}"));
        return Exit::Usage;
    }
    let kind = listing.file(name, &body, None);
    if kind == Kind::Index {
        complain("this is an index: give the URL of a sitemap to read it");
    }
    Exit::Complete
}

fn from_url(given: &Given, listing: &mut Listing<impl Write>) -> Exit {
    let (mut asker, url) = match Asker::new(given) {
        Ok(asker) => asker,
        Err(message) => {
            complain(&message);
            return Exit::Usage;
        }
    };
    let mut queue = VecDeque::from([(url.clone(), 0)]);
    let mut found: HashSet<Url> = HashSet::from([uri::canonical(&url)]);
    let mut read: HashSet<Url> = HashSet::new();
    while let Some((url, depth)) = queue.pop_front() {
        let limited = |request: crate::Request| {
            request.with_body_limit(BodyLimit {
                bytes: MAX_FILE,
                keep_start: true,
            })
        };
        let shown = uri::without_credentials(&url).into_owned();
        let response = match asker.get(url, limited) {
            Ok(Asked::Answer(response)) => response,
            Ok(Asked::Bound) => {
                complain(&format!(
                    "a bound is reached: {} not read",
                    counted(queue.len() as u64 + 1, "sitemap")
                ));
                return Exit::Bound;
            }
            Err(error) => {
                complain(&format!("{shown}: {}", without_url(&error)));
                listing.lost += 1;
                continue;
            }
        };
        let at = uri::without_credentials(response.url()).into_owned();
        if !read.insert(uri::canonical(response.url())) {
            complain(&format!("{shown}: leads to {at}, which was read before"));
            continue;
        }
        let mut left_out = 0;
        let mut follow = |child: Url| {
            if depth >= NESTING || found.len() >= MAX_SITEMAPS {
                left_out += 1;
            } else if found.insert(uri::canonical(&child)) {
                queue.push_back((child, depth + 1));
            }
        };
        listing.file(at.as_str(), response.body(), Some(&mut follow));
        if left_out > 0 {
            complain(&format!(
                "{at}: {} left out: no more than {MAX_SITEMAPS} are read, nor indexes nested \
                 over {NESTING} deep",
                counted(left_out, "sitemap")
            ));
        }
        if listing.closed {
            break;
        }
    }
    Exit::Complete
}

/// What went wrong, without the URL that stands before it anyway.
fn without_url(error: &Error) -> String {
    match error.status() {
        Some(status) => format!("{} (status {status})", error.message()),
        None => error.message().to_owned(),
    }
}

/// An entry as `--json` shows it.
#[derive(Serialize)]
struct Line<'a> {
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    lastmod: Option<&'a str>,
    /// The file that lists it.
    sitemap: &'a str,
}

/// Standard output, and what was listed on it.
struct Listing<W: Write> {
    out: W,
    json: bool,
    /// Files that are sitemaps.
    read: usize,
    /// URLs that were listed.
    listed: usize,
    /// Entries that are no URLs, and files that could not be read.
    lost: usize,
    /// Whether the reader has gone.
    closed: bool,
    failed: Option<io::Error>,
}

impl<W: Write> Listing<W> {
    /// Lists a file's URLs, or those of an index hands to `child` if there is
    /// one. Says what the file is.
    fn file(&mut self, name: &str, body: &[u8], mut child: Option<&mut dyn FnMut(Url)>) -> Kind {
        let mut odd = 0_usize;
        let summary = sitemap::parse_with(body, MAX_ENTRIES, |kind, entry| {
            match (uri::parse(&entry.loc), child.as_mut()) {
                (Some(url), Some(child)) if kind == Kind::Index => child(url),
                (Some(url), _) => self.entry(&url, &entry, name),
                (None, _) => odd += 1,
            }
            if self.closed {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        if self.closed {
            return summary.kind;
        }
        let is_one = summary.kind != Kind::Unknown;
        self.read += usize::from(is_one);
        let mut said = if is_one {
            let entries = summary.entries + summary.left_out;
            let entries = counted(entries as u64, "entry");
            format!("{name}: {}, {entries}", summary.kind)
        } else {
            name.to_owned()
        };
        let left_out = odd + summary.left_out;
        self.lost += left_out + usize::from(!is_one);
        if left_out > 0 {
            said = format!("{said}, {left_out} left out: no absolute URL");
        }
        if let Some(error) = summary.error {
            let message = error.message();
            said = if summary.entries > 0 {
                format!("{said}; read in part: {message}")
            } else {
                format!("{said}: {message}")
            };
        }
        complain(&said);
        summary.kind
    }

    fn entry(&mut self, url: &Url, entry: &Entry, sitemap: &str) {
        let url = uri::without_credentials(url);
        let written = if self.json {
            let line = Line {
                url: url.as_str(),
                lastmod: entry.lastmod.as_deref(),
                sitemap,
            };
            serde_json::to_writer(&mut self.out, &line)
                .map_err(io::Error::from)
                .and_then(|()| self.out.write_all(b"\n"))
        } else {
            writeln!(self.out, "{}", sanitize(url.as_str()))
        };
        self.listed += 1;
        self.note(written);
    }

    fn note(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.closed = true;
            if error.kind() != io::ErrorKind::BrokenPipe {
                self.failed.get_or_insert(error);
            }
        }
    }

    fn finish(mut self, exit: Exit) -> Exit {
        let flushed = self.out.flush();
        self.note(flushed);
        if let Some(error) = self.failed {
            complain(&format!("cannot write to standard output: {error}"));
            return Exit::Failure;
        }
        if exit != Exit::Complete || self.closed {
            return exit;
        }
        if self.read > 0 && self.listed == 0 && self.lost > 0 {
            complain("nothing could be listed");
            return Exit::Nothing;
        }
        if self.read == 0 {
            return Exit::Nothing;
        }
        exit
    }
}
