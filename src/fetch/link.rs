//! [`Link`]: a [`Wire`] at work for one request, as ureq's transport.
//!
//! Invariant: the wire goes back to the [`Pool`] only if ureq has found the
//! answer complete and the connection reusable; dropped in any other state, a
//! half-read answer say, it is closed. A kept wire that breaks before a byte of
//! the answer came says so as [`Fault::Stale`], and the pool learns from it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ureq::unversioned::transport::{Buffers, NextTimeout, Transport};

use super::fault::Fault;
use super::pool::Pool;
use super::wire::{Timing, Wire};

/// One request's use of a connection.
#[derive(Debug)]
pub(super) struct Link {
    /// Taken out when the link ends.
    wire: Option<Box<Wire>>,
    pool: Arc<Pool>,
    deadline: Instant,
    /// How long the wire had idled, if it was kept.
    idled: Option<Duration>,
    answered: bool,
    reusable: bool,
    /// The site's scheme and authority, while the request line has yet to be
    /// sent to a forwarding proxy.
    site: Option<String>,
}

impl Link {
    pub(super) fn new(
        wire: Box<Wire>,
        pool: Arc<Pool>,
        deadline: Instant,
        idled: Option<Duration>,
        site: Option<String>,
    ) -> Link {
        Link {
            wire: Some(wire),
            pool,
            deadline,
            idled,
            answered: false,
            reusable: false,
            site,
        }
    }

    fn wire(&mut self) -> &mut Wire {
        self.wire
            .as_mut()
            .expect("a link has its wire until it ends")
    }

    fn timing(&self, doing: &'static str) -> Timing {
        Timing {
            deadline: self.deadline,
            doing,
        }
    }

    /// What an error means: on a connection that had idled, before any answer,
    /// it is the idling that broke it.
    fn judged(&self, error: ureq::Error) -> ureq::Error {
        match self.idled {
            Some(idled) if !self.answered && !is_timeout(&error) => self.stale(idled),
            _ => error,
        }
    }

    fn stale(&self, idled: Duration) -> ureq::Error {
        if let Some(wire) = &self.wire {
            self.pool.distrust(wire.route(), idled, Instant::now());
        }
        Fault::Stale.into()
    }

    /// The first lines of a request as a forwarding proxy takes them.
    fn put_to_proxy(&mut self, amount: usize, site: &str) -> Vec<u8> {
        let wire = self.wire();
        let authorization = wire
            .forward()
            .map_or_else(String::new, |forward| forward.authorization.clone());
        let head = &wire.buffers().output()[..amount];
        let target = head
            .iter()
            .position(|&byte| byte == b' ')
            .map_or(0, |at| at + 1);
        let second_line = head
            .windows(2)
            .position(|pair| pair == b"\r\n")
            .map_or(amount, |at| at + 2);
        [
            &head[..target],
            site.as_bytes(),
            &head[target..second_line],
            authorization.as_bytes(),
            &head[second_line..],
        ]
        .concat()
    }
}

fn is_timeout(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::Timeout(_) => true,
        ureq::Error::Other(inner) => matches!(inner.downcast_ref(), Some(Fault::Timeout(_))),
        ureq::Error::Io(io) => io
            .get_ref()
            .and_then(|inner| inner.downcast_ref())
            .is_some_and(is_timeout),
        _ => false,
    }
}

impl Transport for Link {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.wire().buffers()
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), ureq::Error> {
        let timing = self.timing("sending the request");
        let sent = match self.site.take() {
            Some(site) => {
                let head = self.put_to_proxy(amount, &site);
                self.wire().send(&head, &timing)
            }
            None => self.wire().send_output(amount, &timing),
        };
        sent.map_err(|error| self.judged(error))
    }

    fn await_input(&mut self, _: NextTimeout) -> Result<bool, ureq::Error> {
        let timing = self.timing(if self.answered {
            "reading the answer"
        } else {
            "waiting for the answer"
        });
        match self.wire().receive(&timing) {
            Ok(0) => match self.idled {
                Some(idled) if !self.answered => Err(self.stale(idled)),
                _ => Ok(false),
            },
            Ok(_) => {
                self.answered = true;
                Ok(true)
            }
            Err(error) => Err(self.judged(error)),
        }
    }

    /// ureq asks this when the answer was read to its end and nothing speaks
    /// against keeping the connection. The answer is no, so that ureq drops
    /// the link at once, which puts the wire into our own pool: ureq's is
    /// searched in time quadratic in its hosts, under one lock for all threads.
    fn is_open(&mut self) -> bool {
        self.reusable = true;
        false
    }

    fn is_tls(&self) -> bool {
        self.wire.as_ref().is_some_and(|wire| wire.is_tls())
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Some(mut wire) = self.wire.take()
            && self.reusable
        {
            wire.buffers().shrink();
            self.pool.put(wire, Instant::now());
        }
    }
}
