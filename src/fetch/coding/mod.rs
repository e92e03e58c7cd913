//! [`decode`]: content codings undone, by the bytes and not by the header
//! alone.
//!
//! Invariant: a body that is cut short or damaged within its coding, or may be,
//! is an error and never a body; a header that names a coding which the bytes
//! do not have leaves them as they are; and no more than the limit is ever
//! unpacked.

#[cfg(test)]
mod tests;
mod text;

use std::io::{self, Read};

use encoding_rs::Encoding;
use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};

use self::text::{Doubt, is_text};
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
/// applied. `identity` and empty members are none, nor are `none` and charsets,
/// which servers send by mistake.
pub(super) fn codings<'a>(fields: impl Iterator<Item = &'a [u8]>) -> Vec<Coding> {
    fields
        .flat_map(|field| field.split(|&byte| byte == b','))
        .map(<[u8]>::trim_ascii)
        .filter(|name| {
            let is_none = name.is_empty()
                || name.eq_ignore_ascii_case(b"identity")
                || name.eq_ignore_ascii_case(b"none");
            !is_none && Encoding::for_label(name).is_none()
        })
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
        Coding::Gzip if GZIP_MAGIC.starts_with(coded) => Unpacked::CutShort(Vec::new()),
        Coding::Gzip => NOT_CODED,
        Coding::Deflate => {
            let zlib = || read_all(&mut ZlibDecoder::new(coded), coded, limit);
            let mut raw = DeflateDecoder::new(coded);
            guessed(coded, is_zlib(coded).then(zlib), || {
                let unpacked = read_all(&mut raw, coded, limit);
                (unpacked, raw.total_in() < coded.len() as u64)
            })
        }
        #[cfg(feature = "brotli")]
        Coding::Brotli => guessed(coded, None, || {
            let mut decoder = brotli_decompressor::Decompressor::new(Unended(coded), BROTLI_BUFFER);
            let unpacked = read_all(&mut decoder, coded, limit);
            // Read again after its end, it reports input that it did not take.
            let has_rest =
                matches!(unpacked, Unpacked::Whole(_)) && decoder.read(&mut [0]).is_err();
            (unpacked, has_rest)
        }),
        Coding::Unknown if is_text(coded, Doubt::MayBePacked) => NOT_CODED,
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

/// The better of two attempts at a coding that has no mark of its own; the
/// second tells as well whether its stream ended before the bytes did. What
/// does not unpack is plain if it reads as text, and so is text that happens to
/// begin with a short stream or to be one of nothing.
fn guessed(
    coded: &[u8],
    first: Option<Unpacked>,
    second: impl FnOnce() -> (Unpacked, bool),
) -> Unpacked {
    if let Some(done @ (Unpacked::Whole(_) | Unpacked::Over(_))) = first {
        return done;
    }
    let (second, has_rest) = second();
    let is_cut = |attempt: &Unpacked| matches!(attempt, Unpacked::CutShort(_));
    let doubt = if is_cut(&second) || first.as_ref().is_some_and(is_cut) {
        Doubt::MayBePacked
    } else {
        Doubt::NotPacked
    };
    match (first, second) {
        (_, Unpacked::Whole(body))
            if has_rest && is_text(coded, Doubt::NotPacked)
                || body.is_empty() && is_text(coded, Doubt::MayBePacked) =>
        {
            NOT_CODED
        }
        (_, done @ (Unpacked::Whole(_) | Unpacked::Over(_))) => done,
        _ if is_text(coded, doubt) => NOT_CODED,
        (Some(failed), _) | (None, failed @ Unpacked::CutShort(_)) => failed,
        (None, _) => Unpacked::Unknown,
    }
}

/// Whether it begins like a zlib stream (RFC 1950 section 2.2).
fn is_zlib(coded: &[u8]) -> bool {
    matches!(coded, [method, flags, ..]
        if method & 0x0f == 8 && u16::from_be_bytes([*method, *flags]) % 31 == 0)
}

fn read_all(decoder: &mut impl Read, coded: &[u8], limit: u64) -> Unpacked {
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
