//! [`Admit`]: works out, before any lock is taken, everything about a found
//! URL that the engine needs to decide on it.

use std::hash::{DefaultHasher, Hash, Hasher};

use url::{Position, Url};

use crate::frontier::{Candidate, Scope, TrapLimits};
use crate::request::{Hop, Method, Purpose, Request};
use crate::uri;

/// The rules by which a found URL is looked at.
#[derive(Debug, Clone)]
pub(super) struct Admit {
    pub(super) scope: Scope,
    pub(super) traps: TrapLimits,
    pub(super) max_depth: Option<u32>,
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
        let mut candidate = self.candidate(request, Purpose::Sitemap, false);
        candidate.foreign_host = false;
        candidate.refusal = candidate
            .refusal
            .filter(|reason| *reason != crate::SkipReason::Scope);
        candidate.too_deep = false;
        candidate
    }

    /// A request that an earlier run left.
    pub(super) fn restored(&self, request: Request, purpose: Purpose, seed: bool) -> Candidate {
        self.candidate(request, purpose, seed)
    }

    /// Where a redirect leads. The target takes the place of the request that
    /// was redirected, on its own host's terms.
    pub(super) fn hop(
        &self,
        from: &Request,
        status: u16,
        target: Url,
        purpose: Purpose,
        seed: bool,
    ) -> Candidate {
        let request = redirected(from, status, target);
        match purpose {
            Purpose::Sitemap => self.sitemap(request),
            Purpose::Page => {
                let mut candidate = self.candidate(request, purpose, seed);
                if seed {
                    candidate.refusal = None;
                }
                candidate
            }
        }
    }

    fn candidate(&self, request: Request, purpose: Purpose, seed: bool) -> Candidate {
        let mut request = request.with_clean_url(|url| self.scope.clean(url));
        let fingerprint = request.fingerprint();
        let url = request.url();
        Candidate {
            fingerprint,
            purpose,
            seed,
            refusal: self.scope.refusal(url).or_else(|| self.traps.check(url)),
            foreign_host: !self.scope.has_host(url),
            too_deep: self.max_depth.is_some_and(|max| request.depth() > max),
            variant_of: url.query().map(|_| {
                let mut hasher = DefaultHasher::new();
                url[..Position::AfterPath].hash(&mut hasher);
                hasher.finish()
            }),
            request,
        }
    }
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
