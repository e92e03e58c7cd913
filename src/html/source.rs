//! [`Source`]: hands the page to the tokenizer, and jumps over what nobody
//! wants: text between tags, comments, values of attributes.
//!
//! The tokenizer names the bytes that end a run. Some of them only matter to
//! what the run says (`&`, NUL, line ends), so where it is not wanted it is left
//! out whole, up to the byte that ends it in any case.

use std::cell::Cell;
use std::convert::Infallible;

use html5gum::{Readable, Reader, StringReader};

/// What the emitter does not want to be told, from one moment to the next.
#[derive(Debug, Default)]
pub(super) struct Unwanted {
    /// Text between tags.
    pub(super) text: Cell<bool>,
    /// The value of the attribute at hand.
    pub(super) value: Cell<bool>,
}

pub(super) struct Source<'a> {
    page: StringReader<'a>,
    unwanted: &'a Unwanted,
}

impl<'a> Source<'a> {
    pub(super) fn new(page: &'a str, unwanted: &'a Unwanted) -> Self {
        Source {
            page: page.to_reader(),
            unwanted,
        }
    }

    /// The byte that ends a run nobody wants, and nothing of the run: for the
    /// tokenizer there was none. `None` at the end of the page.
    #[inline]
    fn jump_to<'b>(&mut self, end: u8, buffer: &'b mut [u8; 4]) -> Option<&'b [u8]> {
        let Ok(run) = self.page.read_until(&[end], buffer);
        if run? != [end] {
            let Ok(next) = self.page.read_byte();
            next?;
        }
        buffer[0] = end;
        Some(&buffer[..1])
    }
}

impl Reader for Source<'_> {
    type Error = Infallible;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "called for every byte of a tag")]
    fn read_byte(&mut self) -> Result<Option<u8>, Infallible> {
        self.page.read_byte()
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "the bytes are known where it is called"
    )]
    fn try_read_string(&mut self, text: &[u8], case_sensitive: bool) -> Result<bool, Infallible> {
        self.page.try_read_string(text, case_sensitive)
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "the bytes are known where it is called"
    )]
    fn read_until<'b>(
        &'b mut self,
        ends: &[u8],
        buffer: &'b mut [u8; 4],
    ) -> Result<Option<&'b [u8]>, Infallible> {
        match ends {
            b"&<\0\r" if self.unwanted.text.get() => Ok(self.jump_to(b'<', buffer)),
            b"\"&\0\r" if self.unwanted.value.get() => Ok(self.jump_to(b'"', buffer)),
            b"'&\0\r" if self.unwanted.value.get() => Ok(self.jump_to(b'\'', buffer)),
            // A comment ends with dashes whatever a `<` before them says.
            b"<-\0\r" => self.page.read_until(b"-", buffer),
            _ => self.page.read_until(ends, buffer),
        }
    }
}
