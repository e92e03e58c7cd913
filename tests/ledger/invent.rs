//! Changes that an engine could make, invented at random.

use std::sync::Arc;
use std::time::Duration;

use canter::ledger::{BesideLine, Change, End, Ended, PageMemory, Queued};
use canter::{BodyLimit, ErrorKind, Hop, Method, Purpose, Request, SkipReason};

use super::common::{ended, fingerprint, instant, url};
use super::crashes::Expected;

/// Invents changes that an engine could make.
pub(crate) struct Crawl {
    pub(crate) random: fastrand::Rng,
    pub(crate) next: u64,
    /// Bytes of the larger robots.txt.
    pub(crate) bulk: usize,
}

const WORDS: [&str; 5] = ["a", "ü \u{2028} \u{1f980}", "\"\\", "\0\u{85}\n", "C:\\x"];

impl Crawl {
    pub(crate) fn change(&mut self, expected: &Expected, now: u64) -> Change {
        let waits: Vec<u64> = expected
            .urls
            .iter()
            .filter(|(_, known)| known.end.is_none())
            .map(|(key, _)| *key)
            .collect();
        let waiting = self.random.choice(&waits).copied();
        let led_to: Vec<u64> = expected
            .urls
            .iter()
            .filter(|(_, known)| known.only_led_to)
            .map(|(key, _)| *key)
            .collect();
        let led_to = self.random.choice(&led_to).copied();
        if let (Some(fingerprint), 0) = (led_to, self.random.u32(..40)) {
            // Found again: as a link, or by a redirect in a later pass.
            if !expected.urls[&fingerprint].left {
                return Change::Named { fingerprint };
            }
            let mut queued = self.queued(now);
            queued.fingerprint = fingerprint;
            return Change::Queued(Box::new(queued));
        }
        match (self.random.u32(..100), waiting) {
            (0..=4, _) => Change::Refused(Box::new(self.queued(now)), self.reason()),
            (5..=9, _) => self.robots(now),
            (10..=14, _) => Change::Paused {
                host: self.word().into(),
                until: instant(now + self.random.u64(..2000)),
            },
            (15..=24, Some(fingerprint)) => Change::Retried {
                fingerprint,
                attempt: self.random.u32(2..9),
                not_before: instant(now + self.random.u64(..3000)),
            },
            (25..=27, _) => self.skipped_without_request(),
            (28..=29, Some(fingerprint)) => {
                // Found again in another place, after it was judged again.
                let mut queued = self.queued(now);
                queued.fingerprint = fingerprint;
                Change::Queued(Box::new(queued))
            }
            (30..=64, Some(fingerprint)) => self.ended(expected, fingerprint),
            _ => Change::Queued(Box::new(self.queued(now))),
        }
    }

    fn word(&mut self) -> &'static str {
        self.random.choice(WORDS).expect("a word")
    }

    fn reason(&mut self) -> SkipReason {
        *self.random.choice(&SkipReason::ALL).expect("a reason")
    }

    fn robots(&mut self, now: u64) -> Change {
        let body = match self.random.u32(..3) {
            0 => Vec::new(),
            1 => vec![b'#'; self.bulk],
            _ => b"\xff\xfe not UTF-8 \0".to_vec(),
        };
        Change::Robots {
            origin: format!("http://{}.test", self.random.u32(..4)).into(),
            body: body.into(),
            at: instant(now),
        }
    }

    fn queued(&mut self, now: u64) -> Queued {
        let n = self.next;
        self.next += 1;
        let chance = |random: &mut fastrand::Rng| random.u32(..6) == 0;
        let mut request = match self.random.u32(..12) {
            0 => Request::new(Method::Post, url(n)).with_body(WORDS[1]),
            1 => Request::new(Method::Put, url(n)).with_body([0u8, 255, 3]),
            2 => Request::new(Method::Head, url(n)),
            _ => Request::new(Method::Get, url(n)),
        };
        request = request.with_depth(self.random.u32(..4));
        if self.random.bool() {
            let from = url(self.random.u64(..=n));
            request = request.with_referrer(Some(Arc::from(from.as_str())));
        }
        if chance(&mut self.random) {
            request = request.with_tag(self.word());
        }
        if chance(&mut self.random) {
            request = request.with_priority(self.random.i32(..));
        }
        if chance(&mut self.random) {
            request = request
                .with_header("X-Word", self.word())
                .with_header(self.word(), "");
        }
        if chance(&mut self.random) {
            let hop = |random: &mut fastrand::Rng| Hop {
                url: url(random.u64(..99)),
                status: 308,
            };
            request = request.with_hops(vec![hop(&mut self.random), hop(&mut self.random)]);
        }
        if chance(&mut self.random) {
            request = request.with_attempt(2);
        }
        if chance(&mut self.random) {
            request = request.with_body_limit(BodyLimit {
                bytes: now,
                keep_start: self.random.bool(),
            });
        }
        Queued {
            fingerprint: fingerprint(n),
            request,
            seed: chance(&mut self.random),
            purpose: if chance(&mut self.random) {
                Purpose::Sitemap
            } else {
                Purpose::Page
            },
        }
    }

    fn skipped_without_request(&mut self) -> Change {
        let n = self.next;
        self.next += 1;
        Change::Ended(Box::new(Ended {
            depth: self.random.u32(..3),
            ..ended(n, End::Skipped(self.reason()))
        }))
    }

    fn ended(&mut self, expected: &Expected, key: u64) -> Change {
        let known = &expected.urls[&key];
        let (of, depth) = (known.url.clone(), known.depth);
        let end = match self.random.u32(..10) {
            0 => End::Failed(*self.random.choice(&ErrorKind::ALL).expect("a kind")),
            1 => End::Skipped(self.reason()),
            2 => End::Redirected,
            3 => End::Unchanged,
            _ => End::Done,
        };
        let records = if end == End::Done {
            (0..self.random.usize(..4))
                .map(|at| {
                    let id = format!("{key:x}/{at}/{}", self.random.u64(..));
                    let record = serde_json::json!({"id": id, "title": self.word()});
                    record.to_string().into_bytes().into()
                })
                .collect()
        } else {
            Vec::new()
        };
        let beside = if end == End::Done {
            (0..self.random.usize(..3))
                .map(|at| {
                    let record =
                        serde_json::json!({"id": format!("{key:x}/{at}"), "title": self.word()});
                    BesideLine {
                        output: self.random.usize(..2),
                        line: record.to_string().into_bytes().into(),
                        counts: true,
                    }
                })
                .collect()
        } else {
            Vec::new()
        };
        let page = (end == End::Done && self.random.bool()).then(|| {
            Box::new(PageMemory {
                etag: self.random.bool().then(|| self.word().to_owned()),
                last_modified: self.random.bool().then(|| self.word().to_owned()),
                hash: self.random.bool().then(|| self.random.u64(..)),
                bytes: self.random.u64(..),
                elapsed: Duration::from_millis(self.random.u64(..100_000)),
            })
        });
        Change::Ended(Box::new(Ended {
            fingerprint: key,
            url: of.to_string(),
            purpose: Purpose::Page,
            beside,
            end,
            status: self.random.bool().then_some(404),
            attempts: self.random.u32(1..5),
            to: (end == End::Redirected).then(|| url(3)),
            message: self.random.bool().then(|| self.word().to_owned()),
            referrer: Some(url(2).as_str().into()),
            depth,
            page,
            records,
        }))
    }
}
