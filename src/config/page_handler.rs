//! [`PageHandler`]: what a configured crawl does with each page. Keeps: a page
//! is parsed once, and only if a field, an item or its links are wanted; what is
//! no HTML is never parsed; and what comes of a page depends on nothing but the
//! page and what the index of kept bodies says of it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::SystemTime;

use super::RobotsSettings;
use super::bodies::Bodies;
use super::kept::Kept;
use super::record::{PageField, PageFields, PageRecord};
use crate::error::Result;
use crate::extract::{Context, Html, Queue, Record, header_directives};
use crate::fetch::Response;
use crate::handler::Handler;
use crate::http::Sniffed;
use crate::outcome::Outcome;
use crate::uri;

/// Room for a record with the usual fields, in bytes.
const RECORD_ROOM: usize = 512;

/// Writes a record of each page and those of its items, keeps its body, and
/// follows its links.
///
/// What is no HTML gets a record without title and links. Nothing is kept of a
/// page that failed, nor of one that asks for that, if it is heeded.
#[derive(Debug, Clone)]
pub(super) struct PageHandler {
    fields: PageFields,
    /// Whether pages have records.
    pages: bool,
    follow: bool,
    robots: RobotsSettings,
    /// Whether every page must be parsed for it.
    parse: bool,
    /// What is read of pages besides, and the number of the output it goes to;
    /// `None` is that of the pages' records.
    #[cfg(feature = "select")]
    rules: Vec<(crate::select::Rules, Option<usize>)>,
    /// Where bodies are kept, and the number of their index's output.
    bodies: Option<(Arc<Bodies>, usize)>,
}

impl PageHandler {
    pub(super) fn new(fields: PageFields, follow: bool, robots: RobotsSettings) -> Self {
        let parse = follow || robots.noindex || fields.iter().any(is_of_html);
        PageHandler {
            fields,
            pages: true,
            follow,
            robots,
            parse,
            #[cfg(feature = "select")]
            rules: Vec::new(),
            bodies: None,
        }
    }

    /// Writes no records of pages.
    pub(super) fn without_pages(mut self) -> Self {
        self.pages = false;
        self.parse = self.follow || self.robots.noindex;
        self
    }

    /// Reads items by these rules, for the output of that number; `None` is
    /// that of the pages' records.
    #[cfg(feature = "select")]
    pub(super) fn with_rules(mut self, rules: crate::select::Rules, output: Option<usize>) -> Self {
        self.rules.push((rules, output));
        self
    }

    /// Keeps the pages' bodies, and puts the index into the output of that
    /// number.
    pub(super) fn with_bodies(mut self, bodies: Arc<Bodies>, output: usize) -> Self {
        self.bodies = Some((bodies, output));
        self
    }

    fn page(&self, cx: &Context) -> Result<()> {
        let response = cx.response()?;
        // What cannot be read as HTML is a page of another kind.
        let html = if self.parse || self.has_rules_for(&response) {
            cx.extract::<Html>().ok()
        } else {
            None
        };
        if !(self.robots.noindex && asks_for_no_record(cx, &response, html.as_ref())) {
            self.write(cx, &response, html.as_ref())?;
        }
        if self.follow
            && let Some(html) = &html
        {
            let queue = cx.extract::<Queue>()?;
            if self.robots.nofollow {
                queue.follow_all(html.links());
            } else {
                queue.follow_all(html.links().iter().map(|link| &link.url));
            }
        }
        Ok(())
    }

    /// Emits all that there is to be written of the page.
    fn write(&self, cx: &Context, response: &Response, html: Option<&Html>) -> Result<()> {
        let now = cx.services().wall_now();
        let changed = if self.bodies.is_some() || self.fields.contains(PageField::Changed) {
            cx.changed()?
        } else {
            None
        };
        if self.pages {
            let line = self.record(cx, response, html, (now, changed));
            cx.emit(Record::from_json_line(line)?);
        }
        #[cfg(feature = "select")]
        if let Some(html) = html {
            self.items(cx, html)?;
        }
        let Some((bodies, output)) = &self.bodies else {
            return Ok(());
        };
        let body = response.body();
        let kept = Kept {
            request: cx.request(),
            response,
            hash: uri::hash(body),
            fetched_at: now,
            changed,
        };
        if !body.is_empty() {
            bodies.keep(kept.hash, body)?;
        }
        let mut line = Vec::with_capacity(RECORD_ROOM);
        kept.write(&mut line);
        cx.emit_beside(*output, Record::from_json_line(line)?, false);
        Ok(())
    }

    #[cfg(feature = "select")]
    fn has_rules_for(&self, response: &Response) -> bool {
        let mut rules = self.rules.iter();
        rules.any(|(rules, _)| rules.apply_to(response.url()))
    }

    #[cfg(not(feature = "select"))]
    #[expect(clippy::unused_self, reason = "without the feature there are no rules")]
    fn has_rules_for(&self, _: &Response) -> bool {
        false
    }

    /// Emits the page's items, and says what could not be read.
    #[cfg(feature = "select")]
    fn items(&self, cx: &Context, html: &Html) -> Result<()> {
        let url = || uri::without_credentials(html.url());
        let mut dom = None;
        for (rules, output) in &self.rules {
            if !rules.apply_to(html.url()) {
                continue;
            }
            let dom = match &mut dom {
                Some(dom) => &*dom,
                none => match html.dom() {
                    Ok(tree) => none.insert(tree),
                    Err(error) => {
                        log::warn!("{}: {}", url(), error.message());
                        return Ok(());
                    }
                },
            };
            let extracted = rules.extract(dom);
            for fault in &extracted.faults {
                log::warn!("{}: {fault}", url());
            }
            for item in &extracted.items {
                let mut line = Vec::with_capacity(RECORD_ROOM);
                super::item_record::write(item, &mut line);
                let record = Record::from_json_line(line)?;
                match output {
                    None => cx.emit(record),
                    Some(output) => cx.emit_beside(*output, record, true),
                }
            }
        }
        Ok(())
    }

    fn record(
        &self,
        cx: &Context,
        response: &Response,
        html: Option<&Html>,
        (fetched_at, changed): (SystemTime, Option<bool>),
    ) -> Vec<u8> {
        let request = cx.request();
        let url = uri::without_credentials(response.url());
        let wants = |field| self.fields.contains(field);
        let bare: Vec<_>;
        let mut links_list: Vec<&str> = Vec::new();
        if let Some(html) = html
            && wants(PageField::LinksList)
        {
            let links = html.links().iter();
            bare = links
                .map(|link| uri::without_credentials(&link.url))
                .collect();
            links_list.extend(bare.iter().map(|url| url.as_str()));
        }
        let page = PageRecord {
            hops: request.hops(),
            content_type: response.content_type(),
            title: html.and_then(Html::title).map(Cow::Borrowed),
            description: html.and_then(Html::description).map(Cow::Borrowed),
            canonical: html.and_then(Html::canonical).map(|url| {
                match uri::without_credentials(url) {
                    Cow::Borrowed(url) => Cow::Borrowed(url.as_str()),
                    Cow::Owned(url) => Cow::Owned(url.into()),
                }
            }),
            lang: html.and_then(Html::lang).map(Cow::Borrowed),
            bytes: response.body().len() as u64,
            depth: request.depth(),
            referrer: request.referrer().map(AsRef::as_ref),
            links: match html {
                Some(html) if wants(PageField::Links) => html.links().len(),
                _ => 0,
            },
            links_list: &links_list,
            fetched_at,
            elapsed: response.elapsed(),
            seen_type: if wants(PageField::SeenType) {
                response.seen().map(Sniffed::as_str)
            } else {
                None
            },
            text: match html {
                Some(html) if wants(PageField::Text) => Some(Cow::Borrowed(html.text())),
                _ => None,
            },
            headers: response.headers(),
            hash: if wants(PageField::Hash) {
                uri::hash(response.body())
            } else {
                0
            },
            changed,
            json_ld: match html {
                Some(html) if wants(PageField::JsonLd) => html.json_ld(),
                _ => &[],
            },
            ..PageRecord::new(&url, response.status())
        };
        let mut line = Vec::with_capacity(RECORD_ROOM);
        self.fields.write(&page, &mut line);
        // The ledger ends the line itself.
        line.pop();
        line
    }
}

/// Whether the page, or the answer it came in, says `noindex`.
fn asks_for_no_record(cx: &Context, response: &Response, html: Option<&Html>) -> bool {
    match html {
        Some(html) => html.robots().noindex,
        None => header_directives(response, cx.services().agent()).noindex,
    }
}

/// Whether the field comes from a page's HTML.
fn is_of_html(field: PageField) -> bool {
    matches!(
        field,
        PageField::Title
            | PageField::Description
            | PageField::Canonical
            | PageField::Lang
            | PageField::Links
            | PageField::LinksList
            | PageField::Text
            | PageField::JsonLd
    )
}

impl Handler for PageHandler {
    fn handle(&self, cx: &Context) -> Outcome {
        match self.page(cx) {
            Ok(()) => Outcome::Done,
            Err(error) => Outcome::Fail(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::Value;

    use super::*;
    use crate::extract::Services;
    use crate::fetch::{Fetch, Response};
    use crate::handler;
    use crate::request::{Hop, Request};
    use crate::{ErrorKind, Url};

    /// Answers every request with this.
    struct Always(Response);

    impl Fetch for Always {
        fn fetch(&self, _: &Request, _: std::time::Instant) -> Result<Response> {
            Ok(self.0.clone())
        }
    }

    fn url(text: &str) -> Url {
        Url::parse(text).expect(text)
    }

    fn answer(content_type: &str, body: &str) -> Response {
        Response::new(url("http://a.test/dir/page"), 200)
            .with_header("Content-Type", content_type)
            .with_body(body)
    }

    fn attempt(handler: &PageHandler, response: Response) -> handler::Report {
        let request = Request::get("http://a.test/dir/page")
            .expect("a URL")
            .with_hops(vec![Hop {
                url: url("http://a.test/old"),
                status: 301,
            }]);
        let services = Services::new(Arc::new(Always(response)));
        handler::run(handler, Context::new(request, Arc::new(services)))
    }

    /// The record and the links of one attempt, or why it failed.
    fn handled(
        handler: &PageHandler,
        response: Response,
    ) -> std::result::Result<(Value, Vec<String>), ErrorKind> {
        let report = attempt(handler, response);
        if let handler::Ended::Outcome(Outcome::Fail(error)) = &report.ended {
            assert!(report.effects.is_empty());
            return Err(error.kind());
        }
        assert_eq!(report.effects.records.len(), 1);
        let record = serde_json::from_slice(report.effects.records[0].as_bytes());
        let links = report.effects.links.iter();
        Ok((
            record.expect("JSON"),
            links.map(|link| link.url().to_string()).collect(),
        ))
    }

    fn all() -> PageHandler {
        PageHandler::new(
            PageFields::new(PageField::ALL),
            true,
            RobotsSettings::default(),
        )
    }

    const PAGE: &str = "<html lang=de><title>T</title><meta name=description content=D>\
        <link rel=canonical href=http://u:p@a.test/c><a href=x>1</a>\
        <a href=//u:p@b.test/y rel=nofollow>2</a><p>visible";

    #[test]
    fn a_page_gives_its_record_and_the_links_that_may_be_followed() {
        let (record, links) = handled(&all(), answer("text/html", PAGE)).expect("done");
        assert_eq!(links, ["http://a.test/dir/x"]);
        for (field, expected) in [
            ("url", "http://a.test/dir/page"),
            ("requested", "http://a.test/old"),
            ("title", "T"),
            ("description", "D"),
            ("canonical", "http://a.test/c"),
            ("lang", "de"),
            ("content_type", "text/html"),
            ("text", "12\nvisible"),
        ] {
            assert_eq!(record[field], expected, "{field}");
        }
        assert_eq!(record["links"], 2);
        let list = serde_json::json!(["http://a.test/dir/x", "http://b.test/y"]);
        assert_eq!(record["links_list"], list, "no password leaves the page");
        assert_eq!(record["bytes"], PAGE.len());
    }

    #[test]
    fn what_is_no_html_has_a_record_and_no_links() {
        for response in [
            answer("text/plain", PAGE),
            answer("text/html", "PK\u{3}\u{4}<a href=/x>"),
            answer("application/pdf", "").with_body_skipped(true),
            answer("text/html", PAGE).with_undecoded(true),
        ] {
            let (record, links) = handled(&all(), response).expect("done");
            assert_eq!(record["status"], 200);
            assert_eq!(record["title"], Value::Null);
            assert_eq!(record["links"], 0);
            assert!(links.is_empty());
        }
    }

    #[test]
    fn links_are_left_alone_when_page_answer_or_configuration_says_so() {
        let kept = |handler: &PageHandler, response| {
            let (record, links) = handled(handler, response).expect("done");
            assert_eq!(record["links"], 2);
            links.len()
        };
        let page = answer("text/html", PAGE);
        let fields = PageFields::new([PageField::Links]);
        assert_eq!(
            kept(
                &PageHandler::new(fields, false, RobotsSettings::default()),
                page.clone()
            ),
            0
        );
        let to_all = page.clone().with_header("X-Robots-Tag", "nofollow");
        assert_eq!(kept(&all(), to_all), 0);
        let to_others = page.clone().with_header("X-Robots-Tag", "other: nofollow");
        assert_eq!(kept(&all(), to_others), 1);
        let to_us = format!("<meta name=Canter content=nofollow>{PAGE}");
        assert_eq!(kept(&all(), answer("text/html", &to_us)), 0);
    }

    #[test]
    fn a_refresh_of_the_header_is_followed_like_one_of_the_page() {
        let page = answer("text/html", PAGE).with_header("Refresh", "3; url=next");
        let (record, links) = handled(&all(), page.clone()).expect("done");
        assert_eq!(links, ["http://a.test/dir/next", "http://a.test/dir/x"]);
        assert_eq!(record["links"], 3);
        let forbidden = page.with_header("X-Robots-Tag", "nofollow");
        assert!(handled(&all(), forbidden).expect("done").1.is_empty());
    }

    #[test]
    fn what_a_page_wishes_is_heeded_as_the_configuration_says() {
        let with = |robots| PageHandler::new(PageFields::new([PageField::Links]), true, robots);
        let all_links = with(RobotsSettings {
            nofollow: false,
            ..RobotsSettings::default()
        });
        let to_all = answer("text/html", PAGE).with_header("X-Robots-Tag", "none");
        let (_, links) = handled(&all_links, to_all.clone()).expect("done");
        assert_eq!(links, ["http://a.test/dir/x", "http://u:p@b.test/y"]);

        let no_records = with(RobotsSettings {
            noindex: true,
            ..RobotsSettings::default()
        });
        let in_page = format!("<meta name=robots content='noindex, max-snippet:-1'>{PAGE}");
        let pdf = answer("application/pdf", "").with_header("X-Robots-Tag", "noindex");
        for response in [to_all, answer("text/html", &in_page), pdf] {
            let mut report = attempt(&no_records, response.clone());
            assert!(report.effects.records.is_empty());
            report = attempt(&all(), response);
            assert_eq!(
                report.effects.records.len(),
                1,
                "it is not heeded by default"
            );
        }
        let report = attempt(&no_records, answer("text/html", &in_page));
        assert_eq!(report.effects.links.len(), 1, "its links may be followed");
    }

    #[test]
    fn a_failed_page_leaves_nothing() {
        let gone = Response::new(url("http://a.test/"), 404).with_body(PAGE);
        assert_eq!(handled(&all(), gone), Err(ErrorKind::Rejected));
    }
}
