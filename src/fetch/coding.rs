//! [`decode`]: content codings undone, by the bytes and not by the header
//! alone.
//!
//! Invariant: a body that is cut short or damaged within its coding is an
//! error and never a body; a header that names a coding which the bytes do not
//! have leaves them as they are; and no more than the limit is ever unpacked.

use std::io::{self, Read};

use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};

use crate::error::{Error, ErrorKind, Result};
use crate::request::BodyLimit;

/// What a request says it takes. `deflate` is understood, but servers do not
/// agree on what it is, so it is not asked for.
pub(super) const ACCEPT_ENCODING: &str = if cfg!(feature = "brotli") {
    "gzip, br"
} else {
    "gzip"
};

/// The first bytes of every gzip member (RFC 1952 section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Codings laid over each other that are undone; real answers have one.
const MAX_CODINGS: usize = 4;
/// Members of a gzip body. Parallel packers write one per 64 KiB or more; a
/// body of a million empty ones is made to keep its reader busy.
const MAX_MEMBERS: usize = 10_000;
/// How many bytes are looked at to tell text from packed bytes.
const SNIFFED: usize = 512;
/// How many times its size a packed page usually unpacks to.
const USUAL_RATIO: usize = 4;

/// A content coding (RFC 9110 section 8.4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Gzip,
    Deflate,
    #[cfg(feature = "brotli")]
    Brotli,
    Unknown,
}

/// A body after its codings.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Decoded {
    pub(super) body: Vec<u8>,
    pub(super) truncated: bool,
    pub(super) undecoded: bool,
}

/// The codings that `Content-Encoding` fields name, in the order they were
/// applied; `identity` and empty members are none.
pub(super) fn codings<'a>(fields: impl Iterator<Item = &'a [u8]>) -> Vec<Coding> {
    fields
        .flat_map(|field| field.split(|&byte| byte == b','))
        .map(<[u8]>::trim_ascii)
        .filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case(b"identity"))
        .map(|name| match name.to_ascii_lowercase().as_slice() {
            b"gzip" | b"x-gzip" => Coding::Gzip,
            b"deflate" | b"x-deflate" => Coding::Deflate,
            #[cfg(feature = "brotli")]
            b"br" => Coding::Brotli,
            _ => Coding::Unknown,
        })
        .collect()
}

/// The most bytes of a coded body that are read when it may unpack to this
/// many: packing never adds more than this (RFC 1951 section 3.2.4 allows five
/// bytes for each 64 KiB), and headers are short.
pub(super) fn coded_limit(decoded: u64) -> u64 {
    decoded
        .saturating_add(decoded / 64)
        .saturating_add(64 * 1024)
}

/// Undoes the codings of a body that was read as far as `cut` says.
///
/// # Errors
/// [`ErrorKind::TooLarge`] when it unpacks to more than the limit,
/// [`ErrorKind::Connect`] when it is cut short or damaged.
pub(super) fn decode(
    coded: Vec<u8>,
    codings: &[Coding],
    cut: bool,
    limit: BodyLimit,
) -> Result<Decoded> {
    let mut decoded = Decoded {
        body: coded,
        truncated: cut,
        undecoded: false,
    };
    if codings.len() > MAX_CODINGS {
        decoded.undecoded = true;
        return Ok(decoded);
    }
    for &coding in codings.iter().rev() {
        if decoded.body.is_empty() {
            break;
        }
        match unpack(coding, &decoded.body, limit.bytes) {
            Unpacked::Whole(body) => decoded.body = body,
            Unpacked::Over(body) if limit.keep_start => {
                decoded.body = body;
                decoded.truncated = true;
            }
            Unpacked::Over(_) => return Err(too_large(limit.bytes)),
            // What was read of a body that we cut ourselves ends somewhere.
            Unpacked::CutShort(body) if decoded.truncated => decoded.body = body,
            Unpacked::CutShort(_) => {
                return Err(
                    Error::new(ErrorKind::Connect).with_message("the packed body is cut short")
                );
            }
            Unpacked::Damaged(error) => {
                return Err(Error::new(ErrorKind::Connect)
                    .with_message(format!("the packed body is damaged: {error}")));
            }
            Unpacked::NotCoded => {}
            Unpacked::Unknown => {
                decoded.undecoded = true;
                break;
            }
        }
    }
    if decoded.body.len() as u64 > limit.bytes {
        if !limit.keep_start {
            return Err(too_large(limit.bytes));
        }
        decoded
            .body
            .truncate(usize::try_from(limit.bytes).unwrap_or(usize::MAX));
        decoded.truncated = true;
    }
    Ok(decoded)
}

pub(super) fn too_large(limit: u64) -> Error {
    Error::new(ErrorKind::TooLarge).with_message(format!("the body is over {limit} bytes"))
}

enum Unpacked {
    Whole(Vec<u8>),
    /// The first bytes, up to the limit.
    Over(Vec<u8>),
    /// What could be unpacked of a stream without its end.
    CutShort(Vec<u8>),
    Damaged(io::Error),
    /// The header was wrong: the bytes do not have the coding.
    NotCoded,
    /// Packed by something that is not understood.
    Unknown,
}

fn unpack(coding: Coding, coded: &[u8], limit: u64) -> Unpacked {
    match coding {
        // Gzip alone says what it is.
        Coding::Gzip if coded.starts_with(&GZIP_MAGIC) => gunzip(coded, limit),
        Coding::Gzip => NOT_CODED,
        Coding::Deflate => {
            let zlib = is_zlib(coded).then(|| read_all(ZlibDecoder::new(coded), coded, limit));
            guessed(coded, zlib, || {
                read_all(DeflateDecoder::new(coded), coded, limit)
            })
        }
        #[cfg(feature = "brotli")]
        Coding::Brotli => guessed(coded, None, || {
            let decoder = brotli_decompressor::Decompressor::new(Unended(coded), BROTLI_BUFFER);
            read_all(decoder, coded, limit)
        }),
        Coding::Unknown if is_text(coded) => NOT_CODED,
        Coding::Unknown => Unpacked::Unknown,
    }
}

const NOT_CODED: Unpacked = Unpacked::NotCoded;

/// Buffer of the brotli decoder, in bytes; it reads from memory anyway.
#[cfg(feature = "brotli")]
const BROTLI_BUFFER: usize = 4096;

/// Input whose end is an error: the decoder asks for more than there is only
/// when the stream is cut short, which it would not tell from damage.
#[cfg(feature = "brotli")]
struct Unended<'a>(&'a [u8]);

#[cfg(feature = "brotli")]
impl Read for Unended<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            result => result,
        }
    }
}

/// The better of two attempts at a coding that has no mark of its own. What
/// does not unpack is plain if it reads as text.
fn guessed(coded: &[u8], first: Option<Unpacked>, second: impl FnOnce() -> Unpacked) -> Unpacked {
    match first {
        Some(done @ (Unpacked::Whole(_) | Unpacked::Over(_))) => done,
        first => match (first, second()) {
            (_, done @ (Unpacked::Whole(_) | Unpacked::Over(_))) => done,
            _ if is_text(coded) => NOT_CODED,
            (Some(failed), _) | (None, failed @ Unpacked::CutShort(_)) => failed,
            (None, _) => Unpacked::Unknown,
        },
    }
}

/// Whether it begins like a zlib stream (RFC 1950 section 2.2).
fn is_zlib(coded: &[u8]) -> bool {
    matches!(coded, [method, flags, ..]
        if method & 0x0f == 8 && u16::from_be_bytes([*method, *flags]) % 31 == 0)
}

fn read_all(decoder: impl Read, coded: &[u8], limit: u64) -> Unpacked {
    let mut body = unpacked_buffer(coded, limit);
    let result = decoder.take(limit.saturating_add(1)).read_to_end(&mut body);
    judged(result.map(|_| ()), body, limit)
}

/// All members one after another (RFC 1952 section 2.2). What follows them is
/// padding.
fn gunzip(coded: &[u8], limit: u64) -> Unpacked {
    let mut body = unpacked_buffer(coded, limit);
    let mut rest = coded;
    for _ in 0..MAX_MEMBERS {
        let mut member = GzDecoder::new(rest);
        let left = limit.saturating_add(1) - body.len() as u64;
        let result = member.by_ref().take(left).read_to_end(&mut body);
        if result.is_err() || body.len() as u64 > limit {
            return judged(result.map(|_| ()), body, limit);
        }
        rest = member.into_inner();
        if !rest.starts_with(&GZIP_MAGIC) {
            return Unpacked::Whole(body);
        }
    }
    Unpacked::Damaged(io::Error::other("it has too many members"))
}

fn judged(result: io::Result<()>, mut body: Vec<u8>, limit: u64) -> Unpacked {
    match result {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Unpacked::CutShort(body),
        Err(error) => Unpacked::Damaged(error),
        Ok(()) if body.len() as u64 > limit => {
            body.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            Unpacked::Over(body)
        }
        Ok(()) => Unpacked::Whole(body),
    }
}

fn unpacked_buffer(coded: &[u8], limit: u64) -> Vec<u8> {
    let usual = coded.len().saturating_mul(USUAL_RATIO);
    Vec::with_capacity(usual.min(usize::try_from(limit).unwrap_or(usize::MAX)))
}

/// Whether it reads as text: none of the bytes that the MIME Sniffing standard
/// calls binary in its first ones, or a byte-order mark before them.
fn is_text(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(SNIFFED)];
    start.starts_with(&[0xfe, 0xff])
        || start.starts_with(&[0xff, 0xfe])
        || !start
            .iter()
            .any(|byte| matches!(byte, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    const PAGE: &[u8] = b"<!doctype html><title>a page</title><p>some text, some text, some text";
    const WHOLE: BodyLimit = BodyLimit {
        bytes: 1 << 20,
        keep_start: false,
    };

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    }

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    }

    fn raw_deflate(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    }

    fn decoded(header: &str, body: &[u8]) -> Result<Decoded> {
        let codings = codings(std::iter::once(header.as_bytes()));
        decode(body.to_vec(), &codings, false, WHOLE)
    }

    fn plain(body: &[u8]) -> Decoded {
        Decoded {
            body: body.to_vec(),
            ..Decoded::default()
        }
    }

    #[test]
    fn every_spelling_of_a_known_coding_is_undone() {
        for header in [
            "gzip",
            "GZIP",
            "x-gzip",
            " gzip ",
            "gzip, identity",
            ",gzip,",
        ] {
            assert_eq!(decoded(header, &gzip(PAGE)).expect(header), plain(PAGE));
        }
        for body in [zlib(PAGE), raw_deflate(PAGE)] {
            assert_eq!(decoded("deflate", &body).expect("deflate"), plain(PAGE));
        }
        let twice = gzip(&zlib(PAGE));
        assert_eq!(decoded("deflate, gzip", &twice).expect("both"), plain(PAGE));
    }

    #[test]
    fn a_header_that_names_a_coding_the_bytes_do_not_have_is_not_believed() {
        for header in [
            "gzip", "x-gzip", "deflate", "none", "utf-8", "identity", "", "br",
        ] {
            assert_eq!(
                decoded(header, PAGE).expect(header),
                plain(PAGE),
                "{header}"
            );
        }
        // Gzip has a mark: what lacks it is not gzip, text or not.
        let picture = b"\x89PNG\r\n\x1a\n\0\0\0";
        assert_eq!(decoded("gzip", picture).expect("raw"), plain(picture));
    }

    #[test]
    fn bytes_in_an_unknown_coding_are_kept_and_marked() {
        let zstd = b"\x28\xb5\x2f\xfd\x04\x58\x01\x00\x00some";
        for header in ["zstd", "compress", "gzip, zstd"] {
            let kept = decoded(header, zstd).expect(header);
            assert!(kept.undecoded, "{header}");
            assert_eq!(kept.body, zstd);
        }
        let many = decoded("gzip,gzip,gzip,gzip,gzip", PAGE).expect("many");
        assert!(many.undecoded);
    }

    #[test]
    fn a_packed_body_without_its_end_is_never_a_body() {
        let packed = gzip(PAGE);
        for end in 2..packed.len() {
            let error = decoded("gzip", &packed[..end]).expect_err("cut");
            assert_eq!(error.kind(), ErrorKind::Connect, "at {end}");
        }
        let packed = zlib(&PAGE.repeat(50));
        let error = decoded("deflate", &packed[..packed.len() / 2]).expect_err("cut");
        assert_eq!(error.kind(), ErrorKind::Connect);
        let mut damaged = gzip(PAGE);
        let middle = damaged.len() - 6;
        damaged[middle] ^= 0xff;
        assert_eq!(
            decoded("gzip", &damaged).expect_err("crc").kind(),
            ErrorKind::Connect
        );
    }

    #[test]
    fn members_are_joined_and_padding_after_them_is_ignored() {
        let mut packed = gzip(&PAGE[..20]);
        packed.extend(gzip(&PAGE[20..]));
        packed.extend([0; 100]);
        assert_eq!(decoded("gzip", &packed).expect("members"), plain(PAGE));
        let many = gzip(b"").repeat(MAX_MEMBERS + 1);
        assert!(decoded("gzip", &many).is_err());
    }

    #[test]
    fn no_more_than_the_limit_is_unpacked() {
        let bomb = gzip(&vec![b'x'; 5 << 20]);
        assert!(bomb.len() < 10_000);
        for (header, body) in [("gzip", bomb.clone()), ("gzip, gzip", gzip(&bomb))] {
            let error = decoded(header, &body).expect_err("a bomb");
            assert_eq!(error.kind(), ErrorKind::TooLarge);
        }
        let start = BodyLimit {
            bytes: 1000,
            keep_start: true,
        };
        let kept = decode(bomb, &[Coding::Gzip], false, start).expect("the start");
        assert!(kept.truncated);
        assert_eq!(kept.body, vec![b'x'; 1000]);
        let exact = BodyLimit {
            bytes: PAGE.len() as u64,
            keep_start: false,
        };
        let whole = decode(gzip(PAGE), &[Coding::Gzip], false, exact).expect("fits");
        assert_eq!(whole, plain(PAGE));
    }

    #[test]
    fn the_start_of_a_packed_body_that_we_cut_ourselves_is_kept() {
        let start = BodyLimit {
            bytes: 4000,
            keep_start: true,
        };
        let mut rng = fastrand::Rng::with_seed(7);
        let noise: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(9000).collect();
        let packed = gzip(&noise);
        let cut = packed[..3000].to_vec();
        let kept = decode(cut, &[Coding::Gzip], true, start).expect("the start");
        assert!(kept.truncated);
        assert!(kept.body.len() > 2000 && noise.starts_with(&kept.body));
    }

    #[cfg(feature = "brotli")]
    #[test]
    fn brotli_is_undone_if_it_is_brotli() {
        // "hello" as one uncompressed and one last empty meta-block.
        let packed = [0x0b, 0x02, 0x80, b'h', b'e', b'l', b'l', b'o', 0x03];
        assert_eq!(decoded("br", &packed).expect("br"), plain(b"hello"));
        let cut = decoded("br", &packed[..6]).expect_err("cut");
        assert_eq!(cut.kind(), ErrorKind::Connect);
    }
}
