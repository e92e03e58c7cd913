//! The terminal: [`sanitize`] makes text fit for it, [`Screen`] keeps a
//! progress line apart from the lines above it.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Stderr, Write};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// Columns of a terminal that does not say how wide it is.
const DEFAULT_WIDTH: usize = 80;

/// Standard error, shared by the log, the messages and the progress line.
pub(super) static STDERR: LazyLock<Screen<Stderr>> = LazyLock::new(|| Screen::new(io::stderr()));

/// Replaces what a terminal would obey instead of showing it: control
/// characters, line ends included, and marks that turn the direction of
/// writing.
pub(super) fn sanitize(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_obeyed(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Whether a terminal would obey it.
pub(super) fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{61c}'
            | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Columns that a line may fill without being wrapped. The environment says
/// (`COLUMNS`), or it is taken for 80.
pub(super) fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok();
    let columns = columns.and_then(|text| text.trim().parse::<usize>().ok());
    // The last column is left free: some terminals wrap as soon as it is full.
    columns.unwrap_or(DEFAULT_WIDTH).saturating_sub(1)
}

/// A terminal whose last line may be redrawn, while whole lines are printed
/// above it. Errors of writing are passed over: there is nobody to tell.
pub(super) struct Screen<W> {
    inner: Mutex<Inner<W>>,
}

struct Inner<W> {
    out: W,
    /// The line at the bottom; empty for none.
    line: String,
}

impl<W: Write> Screen<W> {
    pub(super) fn new(out: W) -> Self {
        Screen {
            inner: Mutex::new(Inner {
                out,
                line: String::new(),
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<W>> {
        // A panic between two writes leaves nothing half done that matters.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws the bottom line anew. An empty one takes it away.
    pub(super) fn show(&self, line: &str) {
        let mut inner = self.lock();
        if inner.line != line {
            let frame = inner.replace(line, b"");
            let _ = inner.out.write_all(&frame);
            let _ = inner.out.flush();
        }
    }

    /// Prints whole lines above the bottom line.
    pub(super) fn print(&self, text: &[u8]) {
        let mut inner = self.lock();
        let line = inner.line.clone();
        let frame = inner.replace(&line, text);
        let _ = inner.out.write_all(&frame);
        let _ = inner.out.flush();
    }
}

impl<W> Inner<W> {
    /// The bytes that take the bottom line away, print `above` in its place,
    /// and draw `line` under it: one write, so that nothing comes between. No
    /// escape sequences: spaces cover what was there.
    fn replace(&mut self, line: &str, above: &[u8]) -> Vec<u8> {
        let shown = self.line.chars().count();
        let mut frame = Vec::with_capacity(shown * 2 + above.len() + line.len() + 2);
        if shown > 0 {
            frame.push(b'\r');
        }
        if !above.is_empty() || line.is_empty() {
            if shown > 0 {
                frame.resize(frame.len() + shown, b' ');
                frame.push(b'\r');
            }
            frame.extend_from_slice(above);
            frame.extend_from_slice(line.as_bytes());
        } else {
            frame.extend_from_slice(line.as_bytes());
            let left = shown.saturating_sub(line.chars().count());
            frame.resize(frame.len() + left, b' ');
        }
        line.clone_into(&mut self.line);
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a terminal of one row and endless scrollback shows.
    fn terminal(bytes: &[u8]) -> Vec<String> {
        let mut rows = vec![Vec::new()];
        let mut column = 0;
        for c in String::from_utf8(bytes.to_vec()).unwrap().chars() {
            match c {
                '\r' => column = 0,
                '\n' => {
                    rows.push(Vec::new());
                    column = 0;
                }
                c => {
                    let row = rows.last_mut().unwrap();
                    if column < row.len() {
                        row[column] = c;
                    } else {
                        row.push(c);
                    }
                    column += 1;
                }
            }
        }
        rows.into_iter()
            .map(|row| row.into_iter().collect::<String>().trim_end().to_owned())
            .collect()
    }

    fn written(screen: Screen<Vec<u8>>) -> Vec<String> {
        terminal(&screen.inner.into_inner().unwrap().out)
    }

    #[test]
    fn no_control_character_is_left_whatever_the_text() {
        assert_eq!(sanitize("plain \u{e9} \u{1f600}"), "plain \u{e9} \u{1f600}");
        assert!(matches!(sanitize("plain"), Cow::Borrowed(_)));
        assert_eq!(
            sanitize("\u{1b}]0;x\u{7}\r\n\t\u{9b}31m\u{202e}\u{7f}"),
            "\\u{1b}]0;x\\u{7}\\r\\n\\t\\u{9b}31m\\u{202e}\\u{7f}"
        );
        for c in (0..0x3000).filter_map(char::from_u32) {
            assert!(
                !sanitize(&c.to_string()).contains(char::is_control),
                "{c:?}"
            );
        }
    }

    #[test]
    fn lines_above_and_the_line_below_never_mix() {
        let screen = Screen::new(Vec::new());
        screen.show("progress 1 of many");
        screen.print(b"warning\n");
        screen.show("progress 2");
        screen.print(b"a line that is longer than the progress\n");
        screen.show("p 3");
        assert_eq!(
            written(screen),
            ["warning", "a line that is longer than the progress", "p 3"]
        );
    }

    #[test]
    fn a_line_taken_away_leaves_nothing_behind() {
        let screen = Screen::new(Vec::new());
        screen.show("progress");
        screen.show("");
        screen.print(b"end\n");
        assert_eq!(written(screen), ["end", ""]);
    }

    #[test]
    fn without_a_bottom_line_lines_are_written_as_they_are() {
        let screen = Screen::new(Vec::new());
        screen.print(b"one\n");
        screen.print(b"two\n");
        assert_eq!(screen.inner.into_inner().unwrap().out, b"one\ntwo\n");
    }
}
