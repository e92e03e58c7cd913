//! The 64-bit key of a request in the seen-set and in state files.
//!
//! State files outlive the program that wrote them, so the value must never
//! change: not with the version, the platform or the word size. The hash is
//! SipHash-2-4 (Aumasson and Bernstein, 2012), pinned by its published test
//! vectors. Faster hashes would do for honest sites, but for those it is easy
//! to write a URL with the key of another one, and a page could so hide
//! somebody else's. At 100 million keys the odds that any two requests share
//! one by chance are about 1 in 3,700.

use url::Url;

use super::canonical_str;

/// The key of a request: method, [canonical](super::canonical) URL and body.
/// Two requests with the same key are one request. The same on every platform
/// and in every version.
///
/// ```
/// use canter::{Url, uri};
/// let a = Url::parse("http://example.com/%2f#top").unwrap();
/// let b = Url::parse("HTTP://EXAMPLE.com/%2F").unwrap();
/// assert_eq!(uri::fingerprint("GET", &a, b""), uri::fingerprint("GET", &b, b""));
/// assert_ne!(uri::fingerprint("GET", &a, b""), uri::fingerprint("HEAD", &a, b""));
/// ```
#[must_use]
pub fn fingerprint(method: &str, url: &Url, body: &[u8]) -> u64 {
    // Each part is in the key of the next, so that no two ways to split the
    // same bytes meet.
    let hash = match method {
        "GET" => const { siphash(KEY, b"GET") },
        _ => siphash(KEY, method.as_bytes()),
    };
    let hash = siphash([KEY[0], hash], canonical_str(url).as_bytes());
    if body.is_empty() {
        hash
    } else {
        siphash([KEY[0], hash], body)
    }
}

/// A hash of bytes that is the same on every platform and in every version.
/// Tells whether a body has changed.
#[must_use]
pub fn hash(bytes: &[u8]) -> u64 {
    siphash(KEY, bytes)
}

/// The letters "canter url key 1". Another key would be another fingerprint.
const KEY: [u64; 2] = [
    u64::from_le_bytes(*b"canter u"),
    u64::from_le_bytes(*b"rl key 1"),
];

/// The state after one round.
#[inline]
const fn round([mut a, mut b, mut c, mut d]: [u64; 4]) -> [u64; 4] {
    a = a.wrapping_add(b);
    c = c.wrapping_add(d);
    b = b.rotate_left(13) ^ a;
    d = d.rotate_left(16) ^ c;
    a = a.rotate_left(32).wrapping_add(d);
    c = c.wrapping_add(b);
    d = d.rotate_left(21) ^ a;
    b = b.rotate_left(17) ^ c;
    [a, b, c.rotate_left(32), d]
}

#[inline]
const fn absorb([a, b, c, d]: [u64; 4], word: u64) -> [u64; 4] {
    let [a, b, c, d] = round(round([a, b, c, d ^ word]));
    [a ^ word, b, c, d]
}

const fn siphash(key: [u64; 2], input: &[u8]) -> u64 {
    // The paper's constants: the letters "somepseudorandomlygeneratedbytes".
    let mut state = [
        key[0] ^ u64::from_be_bytes(*b"somepseu"),
        key[1] ^ u64::from_be_bytes(*b"dorandom"),
        key[0] ^ u64::from_be_bytes(*b"lygenera"),
        key[1] ^ u64::from_be_bytes(*b"tedbytes"),
    ];
    let (words, rest) = input.as_chunks::<8>();
    // No iterators: it runs in constants too.
    let mut at = 0;
    while at < words.len() {
        state = absorb(state, u64::from_le_bytes(words[at]));
        at += 1;
    }
    // The last word ends in the length's lowest byte.
    let mut last = [0; 8];
    last.split_at_mut(rest.len()).0.copy_from_slice(rest);
    last[7] = input.len() as u8;
    let [a, b, c, d] = absorb(state, u64::from_le_bytes(last));
    let [a, b, c, d] = round(round(round(round([a, b, c ^ 0xFF, d]))));
    a ^ b ^ c ^ d
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_siphash_2_4() {
        let counted: Vec<u8> = (0..64).collect();
        let key = [&counted[..8], &counted[8..16]]
            .map(|half| u64::from_le_bytes(half.try_into().expect("eight bytes")));
        for (length, expected) in [
            (0, 0x726F_DB47_DD0E_0E31),
            (1, 0x74F8_39C5_93DC_67FD),
            (7, 0xAB02_00F5_8B01_D137),
            (8, 0x93F5_F579_9A93_2462),
            (15, 0xA129_CA61_49BE_45E5),
            (16, 0x3F2A_CC7F_57C2_9BDB),
            (63, 0x958A_324C_EB06_4572),
        ] {
            assert_eq!(siphash(key, &counted[..length]), expected, "{length} bytes");
        }
    }

    #[test]
    fn a_fingerprint_never_changes() {
        let url = |text| Url::parse(text).unwrap();
        assert_eq!(
            fingerprint("GET", &url("http://example.com/#top"), b""),
            0x9DB2_D214_1933_B3B8
        );
        assert_eq!(
            fingerprint("POST", &url("http://example.com/a?b=%c3%A9"), b"q=1"),
            0xB39B_5CB2_E0E6_F9F0
        );
    }

    #[test]
    fn method_url_and_body_all_count() {
        let a = Url::parse("http://a.test/").unwrap();
        let b = Url::parse("http://a.test/?").unwrap();
        let mut keys = vec![
            fingerprint("GET", &a, b""),
            fingerprint("GET", &b, b""),
            fingerprint("POST", &a, b""),
            fingerprint("POST", &a, b"x"),
            fingerprint("POST", &a, b"y"),
        ];
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 5);
    }

    #[test]
    fn near_neighbours_do_not_meet() {
        let mut keys: Vec<u64> = (0..100_000_u32)
            .map(|n| siphash(KEY, format!("http://a.test/item?page={n}").as_bytes()))
            .collect();
        let ones: u32 = keys.iter().map(|key| key.count_ones()).sum();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 100_000);
        let mean = f64::from(ones) / 100_000.0;
        assert!((mean - 32.0).abs() < 0.1, "{mean} bits set on average");
    }
}
