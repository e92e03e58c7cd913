//! [`Admit`]: works out, before any lock is taken, everything about a found
//! URL that the engine needs to decide on it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use url::{Position, Url};

use crate::fetch::Response;
use crate::frontier::{Candidate, Scope, TrapLimits};
use crate::ledger::Queued;
use crate::request::{Hop, Method, Purpose, Request};
use crate::uri;

/// The rules by which a found URL is looked at.
#[derive(Debug)]
pub(super) struct Admit {
    pub(super) scope: Scope,
    pub(super) traps: TrapLimits,
    pub(super) max_depth: Option<u32>,
    /// Makes each URL that is found another one, for a crawl without dedup.
    pub(super) repeats: Option<AtomicU64>,
}

impl Admit {
    /// A link that a handler follows.
    pub(super) fn link(&self, request: Request) -> Candidate {
        self.candidate(request, Purpose::Page, false)
    }

    /// A seed. Paths and traps are no matter for it: somebody has named it.
    pub(super) fn seed(&self, request: Request) -> Candidate {
        let mut candidate = self.candidate(request, Purpose::Page, true);
        candidate.refusal = None;
        candidate.too_deep = false;
        candidate
    }

    /// A sitemap. It may lie on another host than the pages it lists.
    pub(super) fn sitemap(&self, request: Request) -> Candidate {
        as_sitemap(self.candidate(request, Purpose::Sitemap, false))
    }

    /// The sitemaps of the origin with the robots.txt at `robots`: those that
    /// it names, or else the usual place.
    pub(super) fn sitemaps_of(&self, robots: &Url, named: &[String]) -> Vec<Candidate> {
        let sitemap = |text: &str, referrer: Option<Arc<str>>| {
            let url = uri::resolve(robots, text)?;
            let found = Request::new(Method::Get, url).with_referrer(referrer);
            Some(self.sitemap(found))
        };
        if named.is_empty() {
            return sitemap("/sitemap.xml", None).into_iter().collect();
        }
        let referrer: Arc<str> = robots.as_str().into();
        named
            .iter()
            .filter_map(|text| sitemap(text, Some(referrer.clone())))
            .collect()
    }

    /// A request that an earlier run left. What it may do as a seed or as a
    /// sitemap it still may, whatever the scope has become since.
    pub(super) fn restored(&self, request: Request, purpose: Purpose, seed: bool) -> Candidate {
        let mut candidate = self.candidate(request, purpose, seed);
        match purpose {
            Purpose::Sitemap => as_sitemap(candidate),
            Purpose::Page => {
                if seed {
                    candidate.refusal = None;
                    candidate.too_deep = false;
                }
                candidate
            }
        }
    }

    /// A request that an earlier run let in and left, under the same settings:
    /// nothing about it needs to be worked out again.
    pub(super) fn as_it_was(queued: Queued) -> Candidate {
        Candidate {
            fingerprint: queued.fingerprint,
            purpose: queued.purpose,
            seed: queued.seed,
            refusal: None,
            foreign_host: false,
            too_deep: false,
            variant_of: variant_of(queued.request.url()),
            leads_back: false,
            request: queued.request,
        }
    }

    /// Where a redirect leads. The target takes the place of the request that
    /// was redirected, on its own host's terms.
    ///
    /// A target that is a page on the way here is a loop, with two exceptions.
    /// One that differs only by parameters that are dropped is asked for with
    /// them, since the site insists. And one that may answer otherwise now,
    /// because a cookie was set on the way, is asked for once more.
    pub(super) fn hop(&self, from: &Request, hop: Redirect, seed: bool) -> Candidate {
        let Redirect {
            status,
            target,
            purpose,
            sets_cookie,
        } = hop;
        let set = sets_cookie || from.cookie_set();
        let request = redirected(from, status, target).with_cookie_set(set);
        let clean = self.scope.clean(request.url().clone());
        let leads_back = |url: &Url| {
            let text = uri::canonical(&uri::without_credentials(url));
            let hops = request.hops();
            hops.iter().any(|hop| uri::canonical(&hop.url) == text)
        };
        let (clean_back, back) = (leads_back(&clean), leads_back(request.url()));
        let mut candidate = match (clean_back, back) {
            (true, false) => self.candidate_as_is(request, purpose, seed),
            (true, true) if set => {
                let hops = without_repeats(request.hops());
                let request = request.with_hops(hops).with_again(true);
                self.candidate(request, purpose, seed)
            }
            _ => self.candidate(request, purpose, seed),
        };
        candidate.leads_back = clean_back && back;
        match purpose {
            Purpose::Sitemap => as_sitemap(candidate),
            Purpose::Page => {
                if seed {
                    candidate.refusal = None;
                }
                candidate
            }
        }
    }

    fn candidate(&self, request: Request, purpose: Purpose, seed: bool) -> Candidate {
        let request = request.with_clean_url(|url| self.scope.clean(url));
        self.candidate_as_is(request, purpose, seed)
    }

    /// The candidate of a request whose URL is not cleaned.
    fn candidate_as_is(&self, request: Request, purpose: Purpose, seed: bool) -> Candidate {
        let mut request = request.with_clean_url(|url| url);
        let mut fingerprint = request.fingerprint();
        if let Some(repeats) = &self.repeats {
            let nth = repeats.fetch_add(1, Ordering::Relaxed);
            fingerprint = uri::hash(&[fingerprint.to_le_bytes(), nth.to_le_bytes()].concat());
        }
        let url = request.url();
        Candidate {
            fingerprint,
            purpose,
            seed,
            refusal: self.scope.refusal(url).or_else(|| self.traps.check(url)),
            foreign_host: !self.scope.has_host(url),
            too_deep: self.max_depth.is_some_and(|max| request.depth() > max),
            leads_back: false,
            variant_of: variant_of(url),
            request,
        }
    }
}

/// Names host and path of a URL with a query.
fn variant_of(url: &Url) -> Option<u64> {
    url.query().map(|_| {
        let mut hasher = DefaultHasher::new();
        url[..Position::AfterPath].hash(&mut hasher);
        hasher.finish()
    })
}

/// A redirect as it came.
pub(super) struct Redirect {
    /// 301, 302, 303, 307 or 308.
    pub(super) status: u16,
    /// Where it leads.
    pub(super) target: Url,
    /// What was fetched.
    pub(super) purpose: Purpose,
    /// Whether the answer set a cookie that will be sent, to the target or on
    /// the way that it begins.
    pub(super) sets_cookie: bool,
}

impl Redirect {
    /// A redirect that came with this answer.
    pub(super) fn new(
        status: u16,
        target: Url,
        purpose: Purpose,
        response: Option<&Response>,
    ) -> Self {
        let sets_cookie = response.is_some_and(Response::cookies_changed);
        Redirect {
            status,
            target,
            purpose,
            sets_cookie,
        }
    }
}

/// The way to a page that is asked for once more. It stays with the request, so
/// that a wall of several pages that lets nobody in is a loop the second time
/// round; but each page on it once, or it grew with every pass over the site.
fn without_repeats(hops: &[Hop]) -> Vec<Hop> {
    let mut way: Vec<Hop> = Vec::with_capacity(hops.len());
    for hop in hops {
        if way.iter().all(|earlier| earlier.url != hop.url) {
            way.push(hop.clone());
        }
    }
    way
}

/// A sitemap may lie on another host than the pages it lists, and under any
/// path.
fn as_sitemap(mut candidate: Candidate) -> Candidate {
    candidate.foreign_host = false;
    candidate.refusal = candidate
        .refusal
        .filter(|reason| *reason != crate::SkipReason::Scope);
    candidate.too_deep = false;
    candidate
}

/// The request that follows a redirect (RFC 9110 section 15.4, and the HTTP
/// redirect fetch of the Fetch standard): 303, and 301 or 302 after a `POST`,
/// ask with `GET`; headers of the request's own stay with its origin.
pub(super) fn redirected(from: &Request, status: u16, target: Url) -> Request {
    let becomes_get = match status {
        303 => from.method() != Method::Head,
        301 | 302 => from.method() == Method::Post,
        _ => false,
    };
    let same_origin = from.url().origin() == target.origin();
    let mut hops = from.hops().to_vec();
    hops.push(Hop {
        url: uri::without_credentials(from.url()).into_owned(),
        status,
    });
    let method = if becomes_get {
        Method::Get
    } else {
        from.method()
    };
    let mut request = Request::new(method, target)
        .with_tag(from.tag().clone())
        .with_priority(from.priority())
        .with_depth(from.depth())
        .with_referrer(from.referrer().cloned())
        .with_hops(hops);
    if same_origin {
        for (name, value) in from.headers() {
            let of_body = name.to_ascii_lowercase().starts_with("content-");
            if !(becomes_get && of_body) {
                request = request.with_header(name, value);
            }
        }
    }
    if !becomes_get {
        request = request.with_body(from.body());
    }
    request
}
