//! [`Kept`]: a line of the index of kept bodies: everything of an answer but
//! its body, and of its request what a record tells. Keeps: a page that is read
//! again gives the record that it gave at first, byte for byte.

use std::io::Write as _;
use std::time::SystemTime;

use super::json::string;
use super::rfc3339;
use crate::fetch::Response;
use crate::request::Request;
use crate::uri;

/// A page whose body is kept.
pub(super) struct Kept<'a> {
    pub(super) request: &'a Request,
    pub(super) response: &'a Response,
    /// The body's hash.
    pub(super) hash: u64,
    pub(super) fetched_at: SystemTime,
    pub(super) changed: Option<bool>,
}

impl Kept<'_> {
    /// Appends the line, without its end.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let Kept {
            request, response, ..
        } = self;
        out.extend_from_slice(b"{\"url\":");
        string(uri::without_credentials(response.url()).as_str(), out);
        if let Some(first) = request.hops().first() {
            out.extend_from_slice(b",\"requested\":");
            string(first.url.as_str(), out);
            out.extend_from_slice(b",\"redirects\":");
            list(request.hops(), out, |hop, out| {
                out.push(b'[');
                string(hop.url.as_str(), out);
                put(out, format_args!(",{}]", hop.status));
            });
        }
        let hash = self.hash;
        put(
            out,
            format_args!(",\"hash\":\"{hash:016x}\",\"content_type\":"),
        );
        text(response.content_type().as_deref(), out);
        put(
            out,
            format_args!(",\"status\":{},\"fetched_at\":\"", response.status()),
        );
        rfc3339::write(self.fetched_at, out);
        put(
            out,
            format_args!(
                "\",\"elapsed_ms\":{},\"bytes\":{},\"depth\":{},\"referrer\":",
                response.elapsed().as_millis(),
                response.body().len(),
                request.depth(),
            ),
        );
        text(request.referrer().map(AsRef::as_ref), out);
        if let Some(changed) = self.changed {
            put(out, format_args!(",\"changed\":{changed}"));
        }
        for (name, is) in [
            ("truncated", response.truncated()),
            ("skipped", response.body_skipped()),
            ("undecoded", response.undecoded()),
        ] {
            if is {
                put(out, format_args!(",\"{name}\":true"));
            }
        }
        out.extend_from_slice(b",\"headers\":");
        list(response.headers(), out, |(name, value), out| {
            out.push(b'[');
            string(name, out);
            out.push(b',');
            match std::str::from_utf8(value) {
                Ok(value) => string(value, out),
                Err(_) => list(value, out, |byte, out| put(out, format_args!("{byte}"))),
            }
            out.push(b']');
        });
        out.push(b'}');
    }
}

fn put(out: &mut Vec<u8>, what: std::fmt::Arguments<'_>) {
    out.write_fmt(what).expect("a vector takes every byte");
}

fn text(text: Option<&str>, out: &mut Vec<u8>) {
    match text {
        Some(text) => string(text, out),
        None => out.extend_from_slice(b"null"),
    }
}

fn list<T>(items: &[T], out: &mut Vec<u8>, mut item: impl FnMut(&T, &mut Vec<u8>)) {
    out.push(b'[');
    for (at, each) in items.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        item(each, out);
    }
    out.push(b']');
}
