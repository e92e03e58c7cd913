//! [`Admit`]: how a found URL becomes a candidate, as the crawler's own.

use std::hash::{DefaultHasher, Hash, Hasher};

use canter::frontier::{Candidate, TrapLimits};
use canter::{Hop, Purpose, Request, Scope, SkipReason, Url, uri};
use url::Position;

/// The rules by which a found URL becomes a candidate, as the crawler's own.
#[derive(Debug, Clone)]
pub(crate) struct Admit {
    pub(crate) scope: Scope,
    pub(crate) traps: TrapLimits,
    pub(crate) max_depth: Option<u32>,
}

impl Admit {
    pub(crate) fn candidate(&self, request: Request, purpose: Purpose, seed: bool) -> Candidate {
        let mut url = request.url().clone();
        url.set_fragment(None);
        let url = self.scope.clean(url);
        let mut candidate = Candidate {
            fingerprint: uri::fingerprint(request.method().as_str(), &url, request.body()),
            purpose,
            seed,
            refusal: self.scope.refusal(&url).or_else(|| self.traps.check(&url)),
            foreign_host: !self.scope.has_host(&url),
            too_deep: self.max_depth.is_some_and(|max| request.depth() > max),
            leads_back: false,
            variant_of: url.query().map(|_| {
                let mut hasher = DefaultHasher::new();
                url[..Position::AfterPath].hash(&mut hasher);
                hasher.finish()
            }),
            request: request.with_url(url),
        };
        if seed {
            candidate.refusal = None;
        }
        if purpose == Purpose::Sitemap {
            candidate.foreign_host = false;
            candidate.refusal = candidate
                .refusal
                .filter(|reason| *reason != SkipReason::Scope);
            candidate.too_deep = false;
        }
        candidate
    }

    pub(crate) fn seed(&self, request: Request) -> Candidate {
        let mut seed = self.candidate(request, Purpose::Page, true);
        seed.too_deep = false;
        seed
    }
}

/// The request that follows a redirect.
pub(super) fn hop(from: &Request, status: u16, target: Url) -> Request {
    let mut hops = from.hops().to_vec();
    hops.push(Hop {
        url: from.url().clone(),
        status,
    });
    Request::new(from.method(), target)
        .with_tag(from.tag().clone())
        .with_priority(from.priority())
        .with_depth(from.depth())
        .with_referrer(from.referrer().cloned())
        .with_hops(hops)
}
