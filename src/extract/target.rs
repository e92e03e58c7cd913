//! [`Target`]: what a queue can follow, and [`Base`]: where it starts from.

use encoding_rs::{Encoding, UTF_8};
use url::Url;

use crate::admission::SkipReason;
use crate::html::Link;
use crate::sitemap::Entry;
use crate::uri;

/// What references on a page are resolved against: a URL, and the encoding
/// that the page's links have their queries in.
#[derive(Debug, Clone, Copy)]
pub struct Base<'a> {
    url: &'a Url,
    encoding: &'static Encoding,
}

impl<'a> Base<'a> {
    pub(crate) fn new(url: &'a Url, encoding: &'static Encoding) -> Self {
        Base { url, encoding }
    }

    /// The base of what is no page.
    pub(crate) fn of_url(url: &'a Url) -> Self {
        Base::new(url, UTF_8)
    }

    /// The URL.
    #[must_use]
    pub fn url(self) -> &'a Url {
        self.url
    }

    /// Resolves a reference as a link of the page would be
    /// ([`resolve_with_encoding`](crate::uri::resolve_with_encoding)). `None`
    /// for what gives no http or https URL.
    #[must_use]
    pub fn resolve(self, href: &str) -> Option<Url> {
        uri::resolve_with_encoding(self.url, href, self.encoding)
    }
}

/// What [`Queue`](super::Queue) can follow: a [`Link`], a [`Url`], the
/// [`Entry`] of a sitemap, or text that is resolved as a link of the page.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is nothing that can be followed",
    note = "a queue follows `Link`, `Url`, sitemap entries and text"
)]
pub trait Target {
    /// The URL to ask for.
    ///
    /// # Errors
    /// Why it is not to be followed.
    fn target(self, base: Base<'_>) -> Result<Url, SkipReason>;

    /// The URL that [`target`](Self::target) would give, if it is there
    /// already: one that the crawl knows need not be taken out.
    fn peek(&self) -> Option<&Url> {
        None
    }
}

impl Target for Url {
    fn target(self, _base: Base<'_>) -> Result<Url, SkipReason> {
        if uri::is_web(&self) {
            Ok(self)
        } else {
            Err(SkipReason::Invalid)
        }
    }
}

impl Target for &Url {
    fn target(self, base: Base<'_>) -> Result<Url, SkipReason> {
        self.clone().target(base)
    }

    fn peek(&self) -> Option<&Url> {
        uri::is_web(self).then_some(self)
    }
}

impl Target for Link {
    fn target(self, base: Base<'_>) -> Result<Url, SkipReason> {
        if self.nofollow {
            Err(SkipReason::NoFollow)
        } else {
            self.url.target(base)
        }
    }
}

impl Target for &Link {
    fn target(self, base: Base<'_>) -> Result<Url, SkipReason> {
        if self.nofollow {
            Err(SkipReason::NoFollow)
        } else {
            self.url.clone().target(base)
        }
    }

    fn peek(&self) -> Option<&Url> {
        (!self.nofollow && uri::is_web(&self.url)).then_some(&self.url)
    }
}

impl Target for &Entry {
    fn target(self, base: Base<'_>) -> Result<Url, SkipReason> {
        self.loc.as_str().target(base)
    }
}

impl Target for &str {
    fn target(self, base: Base<'_>) -> Result<Url, SkipReason> {
        base.resolve(self).ok_or(SkipReason::Invalid)
    }
}

impl Target for String {
    fn target(self, base: Base<'_>) -> Result<Url, SkipReason> {
        self.as_str().target(base)
    }
}

impl Target for &String {
    fn target(self, base: Base<'_>) -> Result<Url, SkipReason> {
        self.as_str().target(base)
    }
}
