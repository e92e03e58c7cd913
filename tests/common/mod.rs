//! What integration tests share: a scripted server, the fixture site, the
//! program under test, folders that clean up after themselves, JSON Lines.
//!
//! Every server is on loopback, and every child process is ended by the value
//! that started it.

#![allow(
    dead_code,
    unused_imports,
    reason = "each test binary uses its own part of these helpers"
)]

#[cfg(feature = "cli")]
pub(crate) mod crawl;
pub(crate) mod jsonl;
pub(crate) mod program;
pub(crate) mod server;
pub(crate) mod site;
pub(crate) mod temp;

#[cfg(feature = "cli")]
pub(crate) use crawl::{Crawl, Crawled};
#[cfg(feature = "cli")]
pub(crate) use program::canter;
pub(crate) use program::{Program, Run, Running};
pub(crate) use server::{Log, Req, Resp, Script, Server};
pub(crate) use temp::TempDir;

/// A page with a title and these links, in order.
pub(crate) fn page(title: &str, links: &[&str]) -> String {
    use std::fmt::Write as _;
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title></head><body>\n"
    );
    for link in links {
        let _ = writeln!(html, "<a href=\"{link}\">{link}</a>");
    }
    html.push_str("</body></html>\n");
    html
}

/// The bytes as gzip.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("memory takes every byte");
    encoder.finish().expect("memory takes every byte")
}
