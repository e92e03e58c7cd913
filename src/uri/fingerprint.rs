//! The 64-bit key of a request in the seen-set and in state files.
//!
//! State files outlive the program that wrote them, so the value must never
//! change: not with the version, the platform or the word size. The hash is
//! XXH64 (xxHash specification, section "XXH64"), pinned by its published test
//! vectors. At 100 million keys the odds that any two requests share one are
//! about 1 in 3,700.

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
    // Each part seeds the next, so that no two splits of the same bytes meet.
    let key = xxh64(method.as_bytes(), 0);
    let key = xxh64(canonical_str(url).as_bytes(), key);
    if body.is_empty() {
        key
    } else {
        xxh64(body, key)
    }
}

// The five constants of the specification: primes with well-mixed bits.
const PRIME_1: u64 = 0x9E37_79B1_85EB_CA87;
const PRIME_2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const PRIME_3: u64 = 0x1656_67B1_9E37_79F9;
const PRIME_4: u64 = 0x85EB_CA77_C2B2_AE63;
const PRIME_5: u64 = 0x27D4_EB2F_1656_67C5;

pub(crate) fn xxh64(input: &[u8], seed: u64) -> u64 {
    let (stripes, rest) = input.as_chunks::<32>();
    let hash = if stripes.is_empty() {
        seed.wrapping_add(PRIME_5)
    } else {
        let mut lanes = [
            seed.wrapping_add(PRIME_1).wrapping_add(PRIME_2),
            seed.wrapping_add(PRIME_2),
            seed,
            seed.wrapping_sub(PRIME_1),
        ];
        for stripe in stripes {
            let (words, _) = stripe.as_chunks::<8>();
            for (lane, word) in lanes.iter_mut().zip(words) {
                *lane = round(*lane, u64::from_le_bytes(*word));
            }
        }
        let [a, b, c, d] = lanes;
        let mixed = a
            .rotate_left(1)
            .wrapping_add(b.rotate_left(7))
            .wrapping_add(c.rotate_left(12))
            .wrapping_add(d.rotate_left(18));
        lanes.into_iter().fold(mixed, |hash, lane| {
            (hash ^ round(0, lane))
                .wrapping_mul(PRIME_1)
                .wrapping_add(PRIME_4)
        })
    };
    finish(hash.wrapping_add(input.len() as u64), rest)
}

fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(PRIME_2))
        .rotate_left(31)
        .wrapping_mul(PRIME_1)
}

fn finish(mut hash: u64, rest: &[u8]) -> u64 {
    let (words, rest) = rest.as_chunks::<8>();
    for word in words {
        hash = (hash ^ round(0, u64::from_le_bytes(*word)))
            .rotate_left(27)
            .wrapping_mul(PRIME_1)
            .wrapping_add(PRIME_4);
    }
    let (halves, rest) = rest.as_chunks::<4>();
    for half in halves {
        hash = (hash ^ u64::from(u32::from_le_bytes(*half)).wrapping_mul(PRIME_1))
            .rotate_left(23)
            .wrapping_mul(PRIME_2)
            .wrapping_add(PRIME_3);
    }
    for &byte in rest {
        hash = (hash ^ u64::from(byte).wrapping_mul(PRIME_5))
            .rotate_left(11)
            .wrapping_mul(PRIME_1);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(PRIME_2);
    hash = (hash ^ (hash >> 29)).wrapping_mul(PRIME_3);
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_xxh64() {
        let counted: Vec<u8> = (0..101).collect();
        for (input, seed, expected) in [
            (&b""[..], 0, 0xEF46_DB37_51D8_E999),
            (b"", 2_654_435_761, 0xAC75_FDA2_929B_17EF),
            (b"a", 0, 0xD24E_C4F1_A98C_6E5B),
            (b"abc", 0, 0x44BC_2CF5_AD77_0999),
            (b"abc", u64::MAX, 0x2830_6E58_9CC0_2176),
            (b"1234567", 0, 0xD3A4_6E91_0828_9359),
            (b"123456789abcd", 2_654_435_761, 0x43DE_9272_549D_BB59),
            (&[b'x'; 32], 0, 0xE2DF_261F_C2EC_30EB),
            (
                b"Nobody inspects the spammish repetition",
                0,
                0xFBCE_A83C_8A37_8BF1,
            ),
            (&counted, 0, 0xE990_3849_5F85_381E),
            (&counted, 2_654_435_761, 0xA1C6_D417_4C37_136D),
            (&counted, u64::MAX, 0x49B1_A708_7BCD_B7BE),
        ] {
            assert_eq!(xxh64(input, seed), expected, "{} bytes", input.len());
        }
    }

    #[test]
    fn a_fingerprint_never_changes() {
        let url = |text| Url::parse(text).unwrap();
        assert_eq!(
            fingerprint("GET", &url("http://example.com/#top"), b""),
            0x64FE_33F0_4C49_E136
        );
        assert_eq!(
            fingerprint("POST", &url("http://example.com/a?b=%c3%A9"), b"q=1"),
            0xF1D4_E640_B686_A105
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
        let mut keys: Vec<u64> = (0..200_000_u32)
            .map(|n| xxh64(format!("http://a.test/item?page={n}").as_bytes(), 7))
            .collect();
        let ones: u32 = keys.iter().map(|key| key.count_ones()).sum();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 200_000);
        let mean = f64::from(ones) / 200_000.0;
        assert!((mean - 32.0).abs() < 0.1, "{mean} bits set on average");
    }
}
