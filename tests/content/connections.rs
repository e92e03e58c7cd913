//! Servers that close or reset connections they said they would keep. Whatever
//! they do, each request that reaches them has passed the gate and is counted,
//! and no page is lost.

use crate::common::{Req, Resp, Server};
use crate::crawl::Crawl;

/// How a server ends a connection that it had kept.
#[derive(Debug, Clone, Copy)]
enum Manner {
    /// It reads the second request and closes.
    Closes,
    /// It reads the second request and resets.
    Resets,
    /// It answers, and closes without a word.
    ClosesAtOnce,
    /// It closes every third request unanswered.
    ClosesNowAndThen,
}

const PAGES: usize = 12;

fn server(manner: Manner) -> Server {
    Server::start(move |req: &Req| {
        let answer = match req.path.as_str() {
            "/robots.txt" => Resp::new(404),
            "/" => {
                let links: String = (0..PAGES).map(|n| format!("<a href=/{n}>")).collect();
                Resp::html(links)
            }
            _ => Resp::html("a page"),
        };
        match manner {
            Manner::Closes if req.turn > 1 => Resp::close(),
            Manner::Resets if req.turn > 1 => Resp::reset(),
            Manner::ClosesAtOnce => answer.then_close(),
            Manner::ClosesNowAndThen if req.turn.is_multiple_of(3) => Resp::close(),
            _ => answer,
        }
    })
}

#[test]
fn what_reaches_a_server_that_drops_connections_is_what_was_counted() {
    for manner in [
        Manner::Closes,
        Manner::Resets,
        Manner::ClosesAtOnce,
        Manner::ClosesNowAndThen,
    ] {
        for concurrency in ["1", "8"] {
            let server = server(manner);
            let outcome = Crawl::from([server.url("/")])
                .set("policy", "max_retries = 0")
                .set("policy", &format!("concurrency = {concurrency}"))
                .run(&server, 0);
            let (asked, summary) = (outcome.asked.len(), &outcome.summary);
            let counted = summary["requests"].as_u64().expect("a count") as usize;
            let what = format!("{manner:?} with {concurrency}: {summary}");
            if matches!(manner, Manner::ClosesAtOnce) {
                // What is sent to a closed connection is not read by anybody.
                assert!(asked <= counted, "{asked} reached it; {what}");
            } else {
                assert_eq!(asked, counted, "{what}");
            }
            assert_eq!(outcome.records.len(), PAGES + 1, "{what}");
            assert_eq!(summary["failed"], serde_json::json!({}), "{what}");
            // Connections that break are soon not kept.
            let lost = counted - (PAGES + 2);
            assert!(lost <= 8, "{lost} lost; {what}");
        }
    }
}

#[test]
fn a_server_that_drops_connections_is_not_asked_faster_than_was_said() {
    let server = server(Manner::Closes);
    let outcome = Crawl::from([server.url("/")])
        .set("policy", "max_requests_per_minute = 1200")
        .set("policy", "max_retries = 0")
        .run(&server, 0);
    assert_eq!(outcome.records.len(), PAGES + 1);
    let first = outcome.asked.first().expect("a request").at;
    let last = outcome.asked.last().expect("a request").at;
    // One each 50 ms; the server may see the first late.
    let gaps = 50 * (outcome.asked.len() as u128 - 1) - 40;
    assert!((last - first).as_millis() >= gaps, "{:?}", outcome.asked);
}
