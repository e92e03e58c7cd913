//! [`Guard`]: which addresses a crawl may connect to.
//!
//! Invariant: the check is made on the very address that is then connected to,
//! so a public name that resolves to an address of the inner network (DNS
//! rebinding) is refused like the address itself.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::policy::HostRule;

/// Refuses addresses that are not public, unless they are allowed in general
/// or their host is named.
#[derive(Debug, Clone, Default)]
pub(super) struct Guard {
    allow_all: bool,
    hosts: Vec<HostRule>,
}

impl Guard {
    pub(super) fn new(allow_all: bool, hosts: &[String]) -> Self {
        Guard {
            allow_all,
            hosts: hosts
                .iter()
                .map(|name| HostRule::new(bare_host(name)))
                .collect(),
        }
    }

    /// Whether every address of this host may be connected to. `host` is lower
    /// case, without brackets and final dot.
    pub(super) fn trusts(&self, host: &str) -> bool {
        self.allow_all || self.hosts.iter().any(|rule| rule.matches(host))
    }
}

/// The host as rules and caches name it: no brackets, no final dot.
pub(super) fn bare_host(host: &str) -> &str {
    host.trim_start_matches('[')
        .trim_end_matches(']')
        .trim_end_matches('.')
}

/// What kind of address it is if it is not one of the public internet, in the
/// words of the IANA special-purpose address registries (RFC 6890); `None` for
/// a public one.
///
/// An IPv6 address that carries an IPv4 address (mapped, compatible, NAT64,
/// 6to4) is judged by that one.
///
/// ```
/// use canter::fetch::special_address;
/// assert_eq!(special_address("127.0.0.1".parse()?), Some("loopback"));
/// assert_eq!(special_address("::ffff:10.0.0.1".parse()?), Some("private"));
/// assert_eq!(special_address("1.1.1.1".parse()?), None);
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[must_use]
pub fn special_address(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(v4) => special_v4(v4),
        IpAddr::V6(v6) => special_v6(v6),
    }
}

fn special_v4(address: Ipv4Addr) -> Option<&'static str> {
    let kind = match address.octets() {
        [0, ..] => "unspecified",
        [127, ..] => "loopback",
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => "private",
        [100, 64..=127, ..] => "carrier-grade NAT",
        [169, 254, ..] => "link-local",
        [192, 0, 0, _] => "protocol assignment",
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => "documentation",
        [198, 18 | 19, ..] => "benchmarking",
        [224..=239, ..] => "multicast",
        [240..=255, ..] => "reserved",
        _ => return None,
    };
    Some(kind)
}

fn special_v6(address: Ipv6Addr) -> Option<&'static str> {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        special_v4(Ipv4Addr::new(a, b, c, d))
    };
    let kind = match segments {
        [0, 0, 0, 0, 0, 0, 0, 0] => "unspecified",
        [0, 0, 0, 0, 0, 0, 0, 1] => "loopback",
        // Mapped (RFC 4291 2.5.5.2), compatible (2.5.5.1), translated, the
        // well-known NAT64 prefix (RFC 6052) and 6to4 (RFC 3056).
        [0, 0, 0, 0, 0, 0xffff | 0, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => return embedded(high, low),
        [0x64, 0xff9b, 1, ..] => "local NAT64",
        [0x100, 0, 0, 0, ..] => "discard-only",
        [0x2001, 0, ..] => "Teredo",
        [0x2001, 0xdb8, ..] => "documentation",
        [0xfc00..=0xfdff, ..] => "unique local",
        [0xfe80..=0xfebf, ..] => "link-local",
        [0xfec0..=0xfeff, ..] => "site-local",
        [0xff00..=0xffff, ..] => "multicast",
        _ => return None,
    };
    Some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Option<&'static str> {
        special_address(text.parse().expect(text))
    }

    #[test]
    fn addresses_of_the_inner_network_are_told_from_public_ones() {
        for (address, expected) in [
            ("0.0.0.0", "unspecified"),
            ("10.1.2.3", "private"),
            ("100.64.0.1", "carrier-grade NAT"),
            ("127.255.255.254", "loopback"),
            ("169.254.169.254", "link-local"),
            ("172.16.0.1", "private"),
            ("172.31.255.255", "private"),
            ("192.168.1.1", "private"),
            ("224.0.0.1", "multicast"),
            ("255.255.255.255", "reserved"),
            ("::", "unspecified"),
            ("::1", "loopback"),
            ("fe80::1", "link-local"),
            ("fd00::1", "unique local"),
            ("fec0::1", "site-local"),
            ("ff02::1", "multicast"),
        ] {
            assert_eq!(kind(address), Some(expected), "{address}");
        }
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:4860:4860::8888",
        ] {
            assert_eq!(kind(address), None, "{address}");
        }
    }

    #[test]
    fn an_ipv4_address_within_an_ipv6_one_is_what_counts() {
        for prefix in ["::ffff:", "::", "64:ff9b::", "::ffff:0:"] {
            assert_eq!(kind(&format!("{prefix}10.0.0.1")), Some("private"));
            assert_eq!(kind(&format!("{prefix}8.8.8.8")), None);
        }
        assert_eq!(kind("2002:7f00:0001::1"), Some("loopback"));
        assert_eq!(kind("2002:0808:0808::1"), None);
    }

    #[test]
    fn a_named_host_is_trusted_and_its_neighbours_are_not() {
        let guard = Guard::new(
            false,
            &["dev.test".into(), "*.lan.test".into(), "[::1]".into()],
        );
        assert!(guard.trusts("dev.test"));
        assert!(guard.trusts("a.lan.test"));
        assert!(guard.trusts("::1"));
        for host in ["x.dev.test", "lan.test", "evillan.test", "127.0.0.1"] {
            assert!(!guard.trusts(host), "{host}");
        }
        assert!(Guard::new(true, &[]).trusts("127.0.0.1"));
    }
}
