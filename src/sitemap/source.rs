//! [`Source`]: the text of a body as UTF-8, inflated and transcoded on the way.
//!
//! Invariant: neither the whole text nor one piece of it is longer than its
//! limit; a body that exceeds one gives an error where it does.

use std::io::{self, BufRead, Read};

use encoding_rs::{Decoder, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use flate2::read::MultiGzDecoder;

use super::{HEAD, MAX_TEXT};
use crate::charset;

const GZIP: &[u8] = b"\x1F\x8B";

/// How many bytes are inflated and transcoded at a time: more than a whole head
/// in any encoding.
pub(super) const CHUNK: usize = 16 * 1024;

/// The longest tag, comment or run of text, in bytes: room for an article in a
/// feed with its pictures inlined.
pub(super) const MAX_PIECE: usize = 4 * 1024 * 1024;

pub(super) struct Source<'a> {
    inner: Box<dyn BufRead + 'a>,
    left: usize,
    left_of_piece: usize,
}

impl<'a> Source<'a> {
    pub(super) fn open(body: &'a [u8]) -> Self {
        let inner: Box<dyn BufRead + 'a> = if body.starts_with(GZIP) {
            let mut start = [0; GZIP.len()];
            let is_packed_twice =
                MultiGzDecoder::new(body).read_exact(&mut start).is_ok() && start == GZIP;
            let once = MultiGzDecoder::new(body);
            if is_packed_twice {
                // A server packs on its way out what was packed in its folder.
                let twice = MultiGzDecoder::new(once);
                Box::new(Transcoder::new(twice, None))
            } else {
                Box::new(Transcoder::new(once, None))
            }
        } else {
            let encoding = encoding_of(body);
            let mark = Encoding::for_bom(body).map_or(0, |(_, length)| length);
            if encoding == UTF_8 && std::str::from_utf8(body).is_ok() {
                Box::new(&body[mark..])
            } else {
                Box::new(Transcoder::new(body, Some(encoding)))
            }
        };
        Source {
            inner,
            left: MAX_TEXT,
            left_of_piece: MAX_PIECE,
        }
    }

    /// A copy of the first bytes, not yet taken, and what kept them from being
    /// more.
    pub(super) fn head(&mut self) -> (Vec<u8>, Option<io::Error>) {
        match self.inner.fill_buf() {
            Ok(start) => (start[..start.len().min(HEAD)].to_vec(), None),
            Err(error) => (Vec::new(), Some(error)),
        }
    }

    /// Starts a new piece.
    pub(super) fn next_piece(&mut self) {
        self.left_of_piece = MAX_PIECE;
    }
}

impl Read for Source<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(out)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Source<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let ready = self.inner.fill_buf()?;
        if ready.is_empty() {
            return Ok(ready);
        }
        if self.left == 0 {
            let message = format!("longer than {MAX_TEXT} bytes, the rest is left out");
            return Err(io::Error::other(message));
        }
        if self.left_of_piece == 0 {
            let message = format!("a tag, comment or text longer than {MAX_PIECE} bytes");
            return Err(io::Error::other(message));
        }
        Ok(&ready[..ready.len().min(self.left).min(self.left_of_piece)])
    }

    fn consume(&mut self, amount: usize) {
        self.inner.consume(amount);
        self.left -= amount;
        self.left_of_piece -= amount;
    }
}

/// The encoding of a file: by its byte order mark, by the NUL bytes beside its
/// first `<`, by its XML declaration wherever that starts in the head, or by what
/// its bytes can be.
fn encoding_of(text: &[u8]) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(text) {
        return encoding;
    }
    match text {
        [b'<', 0, ..] => return UTF_16LE,
        [0, b'<', ..] => return UTF_16BE,
        _ => {}
    }
    let head = &text[..text.len().min(HEAD)];
    let declaration = head
        .windows(b"<?xml".len())
        .position(|window| window == b"<?xml");
    charset::detect(&text[declaration.unwrap_or(0)..], Some("application/xml"))
}

/// Decodes what it reads to UTF-8.
struct Transcoder<R> {
    inner: R,
    /// What was read and not yet decoded.
    raw: Vec<u8>,
    /// What was decoded, from `at` on not yet taken.
    text: Vec<u8>,
    at: usize,
    /// `None` until the first chunk has told the encoding.
    decoder: Option<Decoder>,
    /// Handed on when all text before it was taken.
    failure: Option<io::Error>,
    ended: bool,
}

impl<R: Read> Transcoder<R> {
    fn new(inner: R, encoding: Option<&'static Encoding>) -> Self {
        Transcoder {
            inner,
            raw: Vec::with_capacity(CHUNK),
            text: Vec::new(),
            at: 0,
            decoder: encoding.map(Encoding::new_decoder_with_bom_removal),
            failure: None,
            ended: false,
        }
    }

    /// Reads a whole chunk, or up to the end or a failure.
    fn read_chunk(&mut self) {
        let wanted = (CHUNK - self.raw.len()) as u64;
        match (&mut self.inner).take(wanted).read_to_end(&mut self.raw) {
            Ok(_) => self.ended = self.raw.len() < CHUNK,
            Err(error) => {
                self.failure = Some(error);
                self.ended = true;
            }
        }
    }

    fn refill(&mut self) {
        self.read_chunk();
        let raw = &self.raw;
        let decoder = self.decoder.get_or_insert_with(|| {
            // Half a character at the cut tells nothing of the encoding.
            let whole = match std::str::from_utf8(raw) {
                Err(error) if error.error_len().is_none() => &raw[..error.valid_up_to()],
                _ => raw,
            };
            encoding_of(whole).new_decoder_with_bom_removal()
        });
        let room = decoder.max_utf8_buffer_length(raw.len());
        self.text.clear();
        self.text.resize(room.unwrap_or(4 * CHUNK), 0);
        let (_, read, written, _) = decoder.decode_to_utf8(raw, &mut self.text, self.ended);
        self.raw.drain(..read);
        self.text.truncate(written);
        self.at = 0;
    }
}

impl<R: Read> Read for Transcoder<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(out)?;
        self.consume(read);
        Ok(read)
    }
}

impl<R: Read> BufRead for Transcoder<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.at == self.text.len() {
            if self.ended {
                if let Some(failure) = self.failure.take() {
                    return Err(failure);
                }
                break;
            }
            self.refill();
        }
        Ok(&self.text[self.at..])
    }

    fn consume(&mut self, amount: usize) {
        self.at = (self.at + amount).min(self.text.len());
    }
}
