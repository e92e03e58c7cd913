//! [`Jar`]: the cookies of a run, each kept for the origin that set it.
//!
//! Invariant: a cookie goes back to the scheme, host and port that set it and
//! nowhere else, so no list of public suffixes is needed; what is kept is
//! bounded for each origin and as a whole; the lock is held only to look a few
//! cookies up or to put them in.
//!
//! RFC 6265 sections 5.2 to 5.4 and, where browsers have moved on, the drafts
//! of its successor (6265bis). Values are bytes, as they came.

mod expires;
mod set_cookie;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use log::debug;
use url::Url;

use super::credentials;
use set_cookie::{Cookie, parse};

/// Cookies of one origin: more than RFC 6265 section 6.1 asks for (50), fewer
/// than fill a request that servers still take.
const MAX_PER_ORIGIN: usize = 64;
/// Bytes of all cookies together; the origins that no request goes to any
/// more are forgotten beyond it. Enough for some 50,000 usual sites.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// What an origin or a cookie takes beside its text, in bytes, about.
const OVERHEAD: usize = 128;

/// The cookies of all origins. Shared by all threads of a crawl.
#[derive(Default)]
pub(super) struct Jar(Mutex<Sites>);

#[derive(Default)]
struct Sites {
    by_origin: HashMap<Arc<str>, Site>,
    /// Every origin once, the one to be forgotten next in front.
    order: VecDeque<Arc<str>>,
    bytes: usize,
}

/// The cookies of one origin, in the order in which they were made.
#[derive(Default)]
struct Site {
    cookies: Vec<Cookie>,
    /// Whether a request took from it since it was last to be forgotten.
    used: bool,
}

impl Jar {
    /// Takes in the `Set-Cookie` lines of an answer from `url`, and says
    /// whether a later request may be answered otherwise for it: a cookie is
    /// there, or one is no longer.
    pub(super) fn store<'a>(
        &self,
        url: &Url,
        lines: impl Iterator<Item = &'a [u8]>,
        now: SystemTime,
    ) -> bool {
        let mut cookies = Vec::new();
        for line in lines {
            match parse(line, url, now) {
                Ok(cookie) => cookies.push(cookie),
                // The value may be a secret: it is not in the message.
                Err(why) => debug!("{}: cookie refused: {why}", credentials::without(url)),
            }
        }
        !cookies.is_empty() && self.lock().put(&origin(url), cookies, now)
    }

    /// The value of a request's `Cookie` field: what the request itself says,
    /// `own`, then the cookies of its origin that it does not name.
    pub(super) fn header(&self, url: &Url, own: &[&[u8]], now: SystemTime) -> Option<Vec<u8>> {
        let named: Vec<&[u8]> = own
            .iter()
            .flat_map(|field| field.split(|&byte| byte == b';'))
            .map(|pair| pair.split(|&byte| byte == b'=').next().unwrap_or_default())
            .map(<[u8]>::trim_ascii)
            .collect();
        let mut pairs: Vec<Vec<u8>> = own.iter().map(|field| field.to_vec()).collect();
        {
            let mut sites = self.lock();
            let site = sites.by_origin.get_mut(&*origin(url))?;
            site.used = true;
            let sent = site.cookies.iter().filter(|cookie| {
                !cookie.is_over(now)
                    && cookie.matches(url.path())
                    && !named.contains(&&cookie.name[..])
            });
            // Longer paths first, then those made earlier (RFC 6265 section
            // 5.4): the sort is stable.
            let mut sent: Vec<&Cookie> = sent.collect();
            sent.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
            if sent.is_empty() {
                return None;
            }
            pairs.extend(sent.into_iter().map(Cookie::pair));
        }
        Some(pairs.join(&b"; "[..]))
    }

    fn lock(&self) -> MutexGuard<'_, Sites> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sites {
    fn put(&mut self, origin: &str, cookies: Vec<Cookie>, now: SystemTime) -> bool {
        let mut changed = false;
        let key = match self.by_origin.get_key_value(origin) {
            Some((key, _)) => Arc::clone(key),
            None if cookies.iter().all(|cookie| cookie.is_over(now)) => return false,
            None => {
                let key: Arc<str> = origin.into();
                self.order.push_back(Arc::clone(&key));
                self.bytes += key.len() + OVERHEAD;
                key
            }
        };
        let site = self.by_origin.entry(key).or_default();
        let before = site.bytes();
        site.cookies.retain(|cookie| !cookie.is_over(now));
        for cookie in cookies {
            changed |= site.put(cookie, now);
        }
        self.bytes = self.bytes - before + site.bytes();
        self.shrink();
        changed
    }

    /// Forgets origins until the rest is small enough. Each is passed over
    /// once if it was asked for since the last time.
    fn shrink(&mut self) {
        while self.bytes > MAX_BYTES
            && let Some(key) = self.order.pop_front()
        {
            match self.by_origin.get_mut(&key) {
                Some(site) if site.used => {
                    site.used = false;
                    self.order.push_back(key);
                }
                _ => {
                    let site = self.by_origin.remove(&key);
                    let bytes = site.map_or(0, |site| site.bytes());
                    self.bytes -= bytes + key.len() + OVERHEAD;
                }
            }
        }
    }
}

impl Site {
    /// Puts a cookie in the place of the one it replaces (RFC 6265 section 5.3
    /// steps 11 and 12), and says whether a request is different for it.
    fn put(&mut self, cookie: Cookie, now: SystemTime) -> bool {
        let same = |old: &Cookie| old.name == cookie.name && old.path == cookie.path;
        let place = self.cookies.iter().position(same);
        match place {
            Some(at) if cookie.is_over(now) => {
                self.cookies.remove(at);
                return true;
            }
            Some(at) => self.cookies[at] = cookie,
            None if cookie.is_over(now) => return false,
            None => {
                if self.cookies.len() >= MAX_PER_ORIGIN {
                    self.cookies.remove(0);
                }
                self.cookies.push(cookie);
            }
        }
        true
    }

    fn bytes(&self) -> usize {
        let text = |cookie: &Cookie| cookie.name.len() + cookie.value.len() + cookie.path.len();
        self.cookies.iter().map(|one| text(one) + OVERHEAD).sum()
    }
}

/// Scheme, host and port. Only http and https come here, whose ports are known.
fn origin(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or_default();
    format!("{}://{host}:{port}", url.scheme())
}

impl fmt::Debug for Jar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the cookies, which are secrets.
        f.debug_struct("Jar").finish_non_exhaustive()
    }
}
