//! [`Candidate`]: a URL that was found, with everything about it worked out
//! that needs no lock.

use url::Url;

use crate::admission::SkipReason;
use crate::error::{Error, ErrorKind};
use crate::request::{Purpose, Request};
use crate::uri;

/// A URL that was found, ready to be admitted.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is worked out on its own"
)]
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The request, its URL cleaned as the settings say.
    pub request: Request,
    /// Fingerprint of method, canonical URL and body.
    pub fingerprint: u64,
    /// What it is fetched for.
    pub purpose: Purpose,
    /// Whether it is a seed, or a redirect's target that began at one.
    pub seed: bool,
    /// Why it is not asked for, as far as can be said without the crawl's state.
    pub refusal: Option<SkipReason>,
    /// Whether its host is outside the scope as configured; the crawl may have
    /// taken the host in since, when a seed landed on it.
    pub foreign_host: bool,
    /// Whether it is too many links away from a seed.
    pub too_deep: bool,
    /// Whether a redirect leads here from a page that this one redirected to: to
    /// ask again would go round in a circle.
    pub leads_back: bool,
    /// Names host and path when the URL has a query: its variants are counted.
    pub variant_of: Option<u64>,
}

impl Candidate {
    /// The URL.
    #[must_use]
    pub fn url(&self) -> &Url {
        self.request.url()
    }

    /// What becomes of a redirect that leads back.
    #[must_use]
    pub fn loop_error(&self, status: Option<u16>) -> Error {
        let url = uri::without_credentials(self.url());
        let error = Error::new(ErrorKind::Rejected)
            .with_message(format!("redirect loop: it leads back to {url}"));
        status.into_iter().fold(error, Error::with_status)
    }
}
