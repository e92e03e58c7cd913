//! A fetcher of one's own: pages come from a folder of saved files instead of
//! the network. Scope, depth, pace, retries and handlers are as ever.
//!
//! ```text
//! cargo run --example folder -- fixtures/site/127.0.0.1
//! ```

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Instant;

use canter::extract::{Html, Queue};
use canter::fetch::{Fetch, Response};
use canter::{Crawler, Error, Request, Result, Stats};

/// The made-up host that the folder is crawled as.
const SITE: &str = "http://folder.test/";

/// Serves the files of a folder as pages.
struct Folder(PathBuf);

impl Fetch for Folder {
    fn fetch(&self, request: &Request, _deadline: Instant) -> Result<Response> {
        let url = request.url();
        let mut path = self.0.clone();
        // The URL parser has resolved "..", and no saved file has an encoded
        // slash in its name.
        path.extend(url.path_segments().into_iter().flatten());
        if path.is_dir() {
            path.push("index.html");
        }
        match fs::read(&path) {
            Ok(body) => Ok(Response::new(url.clone(), 200).with_body(body)),
            // A status is an answer; what it means is the crawl's business.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Ok(Response::new(url.clone(), 404))
            }
            // The kind says whether it is worth another attempt.
            Err(error) => Err(Error::new(canter::ErrorKind::Connect)
                .with_message(format!("cannot read {}", path.display()))
                .with_source(error)),
        }
    }
}

fn main() -> Result<()> {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("usage: folder FOLDER");
        std::process::exit(2);
    };
    let stats = crawl(folder.into(), |line| println!("{line}"))?;
    eprintln!("{stats}");
    Ok(())
}

pub(crate) fn crawl(
    folder: PathBuf,
    print: impl Fn(&str) + Send + Sync + 'static,
) -> Result<Stats> {
    Crawler::builder()
        .seed(SITE)
        .fetcher(Folder(folder))
        .handler(move |page: Html, queue: Queue| {
            let links = queue.follow_all(page.links());
            print(&format!("{} has {links} links", page.url()));
        })
        .build()?
        .run()
}
