//! The terminal: [`sanitize`] makes text fit for it, [`Screen`] keeps a
//! progress line apart from the lines above it.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Stderr, Write};
#[cfg(unix)]
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

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

/// Columns that a text takes. Characters of East Asia and pictures take two;
/// what is taken for wide here and is not leaves a column free.
pub(super) fn columns(text: &str) -> usize {
    const FIRST_WIDE: char = '\u{1100}';
    text.chars()
        .map(|c| if c < FIRST_WIDE { 1 } else { 2 })
        .sum()
}

/// The terminal that standard error is.
#[derive(Debug)]
pub(super) struct Terminal {
    width: AtomicUsize,
    /// Set when the terminal has changed its size.
    changed: Arc<AtomicBool>,
    colours: bool,
}

impl Terminal {
    /// Looks at the terminal that standard error is.
    pub(super) fn of_stderr() -> Self {
        let terminal = Terminal {
            width: AtomicUsize::new(measure()),
            changed: Arc::default(),
            colours: wants_colours(|name| std::env::var_os(name)),
        };
        #[cfg(unix)]
        // Without it the width stays as it is.
        let _ = signal_hook::flag::register(
            signal_hook::consts::SIGWINCH,
            Arc::clone(&terminal.changed),
        );
        terminal
    }

    /// Columns that a line may fill without being wrapped.
    pub(super) fn width(&self) -> usize {
        if self.changed.swap(false, Ordering::Relaxed) {
            self.width.store(measure(), Ordering::Relaxed);
        }
        // The last column is left free: some terminals wrap as soon as it is full.
        self.width.load(Ordering::Relaxed).saturating_sub(1)
    }

    /// Whether colours are shown.
    pub(super) fn colours(&self) -> bool {
        self.colours
    }
}

/// Whether the environment lets colours be shown: `NO_COLOR` is not set to
/// anything, and `TERM` names a terminal that knows them.
fn wants_colours(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let forbidden = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
    !forbidden && variable("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
}

/// Whether standard error is a terminal that can draw a line again.
pub(super) fn can_redraw() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// The columns of the terminal: as the environment says (`COLUMNS`), or as the
/// terminal does, or 80.
fn measure() -> usize {
    let said = std::env::var("COLUMNS").ok();
    let said = said.and_then(|text| text.trim().parse::<usize>().ok());
    said.or_else(ask_terminal).unwrap_or(DEFAULT_WIDTH)
}

/// Asks `stty`, since the standard library cannot ask a terminal for its size.
#[cfg(unix)]
fn ask_terminal() -> Option<usize> {
    use std::os::fd::AsFd as _;
    let terminal = io::stderr().as_fd().try_clone_to_owned().ok()?;
    let output = Command::new("stty")
        .arg("size")
        .stdin(terminal)
        .stderr(Stdio::null())
        .output()
        .ok()?;
    columns_of(&String::from_utf8_lossy(&output.stdout))
}

#[cfg(not(unix))]
fn ask_terminal() -> Option<usize> {
    None
}

/// The columns in `ROWS COLUMNS`; a terminal that does not know says 0.
fn columns_of(size: &str) -> Option<usize> {
    let (_, columns) = size.trim().split_once(' ')?;
    columns.parse().ok().filter(|columns| *columns > 0)
}

/// How a part of a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    Plain,
    Bold,
    Dim,
    Red,
}

impl Paint {
    /// The code that begins it (ECMA-48 section 8.3.117).
    fn code(self) -> Option<&'static str> {
        match self {
            Paint::Plain => None,
            Paint::Bold => Some("1"),
            Paint::Dim => Some("2"),
            Paint::Red => Some("31"),
        }
    }
}

/// A line in parts that look different.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Painted {
    text: String,
    /// Where each part ends, and how it looks.
    parts: Vec<(usize, Paint)>,
}

impl Painted {
    pub(super) fn push(&mut self, text: &str, paint: Paint) {
        if !text.is_empty() {
            self.text.push_str(text);
            self.parts.push((self.text.len(), paint));
        }
    }

    /// The text alone.
    #[cfg(test)]
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The text with its codes.
    fn coloured(&self) -> String {
        let mut out = String::with_capacity(self.text.len() + 16);
        let mut from = 0;
        for (to, paint) in &self.parts {
            let part = &self.text[from..*to];
            match paint.code() {
                Some(code) => {
                    let _ = write!(out, "\x1b[{code}m{part}\x1b[0m");
                }
                None => out.push_str(part),
            }
            from = *to;
        }
        out
    }
}

/// A terminal whose last line may be redrawn, while whole lines are printed
/// above it. Errors of writing are passed over: there is nobody to tell.
pub(super) struct Screen<W> {
    inner: Mutex<Inner<W>>,
}

struct Inner<W> {
    out: W,
    /// The line at the bottom; empty for none. It may hold codes for colours.
    line: String,
    /// The columns that it takes.
    width: usize,
}

impl<W: Write> Screen<W> {
    pub(super) fn new(out: W) -> Self {
        Screen {
            inner: Mutex::new(Inner {
                out,
                line: String::new(),
                width: 0,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<W>> {
        // A panic between two writes leaves nothing half done that matters.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws the bottom line anew. An empty one takes it away.
    pub(super) fn show(&self, line: &str) {
        self.draw(line, columns(line));
    }

    /// The same with a line in colours, or without them.
    pub(super) fn show_painted(&self, line: &Painted, colours: bool) {
        let width = columns(&line.text);
        if colours {
            self.draw(&line.coloured(), width);
        } else {
            self.draw(&line.text, width);
        }
    }

    fn draw(&self, line: &str, width: usize) {
        let mut inner = self.lock();
        if inner.line != line {
            let frame = inner.replace(line, width, b"");
            let _ = inner.out.write_all(&frame);
            let _ = inner.out.flush();
        }
    }

    /// Prints whole lines above the bottom line.
    pub(super) fn print(&self, text: &[u8]) {
        let mut inner = self.lock();
        let (line, width) = (inner.line.clone(), inner.width);
        let frame = inner.replace(&line, width, text);
        let _ = inner.out.write_all(&frame);
        let _ = inner.out.flush();
    }
}

impl<W> Inner<W> {
    /// The bytes that take the bottom line away, print `above` in its place,
    /// and draw `line` under it: one write, so that nothing comes between. No
    /// escape sequences but for colours: spaces cover what was there.
    fn replace(&mut self, line: &str, width: usize, above: &[u8]) -> Vec<u8> {
        let shown = self.width;
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
            let left = shown.saturating_sub(width);
            frame.resize(frame.len() + left, b' ');
        }
        line.clone_into(&mut self.line);
        self.width = width;
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
    fn colours_take_no_columns_and_are_shown_where_they_are_wanted() {
        let mut line = Painted::default();
        line.push("7 done", Paint::Bold);
        line.push(", ", Paint::Plain);
        line.push("1 failed", Paint::Red);
        assert_eq!(
            line.coloured(),
            "\u{1b}[1m7 done\u{1b}[0m, \u{1b}[31m1 failed\u{1b}[0m"
        );
        let screen = Screen::new(Vec::new());
        screen.show_painted(&line, true);
        screen.show("");
        let out = screen.inner.into_inner().unwrap().out;
        let cover = format!("\r{}\r", " ".repeat("7 done, 1 failed".len()));
        assert!(out.ends_with(cover.as_bytes()), "{out:?}");
        let screen = Screen::new(Vec::new());
        screen.show_painted(&line, false);
        assert_eq!(written(screen), ["7 done, 1 failed"]);

        let with = |pairs: &'static [(&str, &str)]| {
            wants_colours(|name| {
                let found = pairs.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            })
        };
        assert!(with(&[("TERM", "xterm")]));
        assert!(with(&[("TERM", "xterm"), ("NO_COLOR", "")]));
        assert!(!with(&[("TERM", "xterm"), ("NO_COLOR", "1")]));
        assert!(!with(&[("TERM", "dumb")]));
        assert!(!with(&[]));
    }

    #[test]
    fn the_width_is_what_the_terminal_says() {
        assert_eq!(columns_of("24 40\n"), Some(40));
        assert_eq!(columns_of("0 0\n"), None);
        assert_eq!(columns_of(""), None);
        assert_eq!(columns("a\u{e9}\u{6f22}"), 4);
    }

    #[test]
    fn a_line_taken_away_leaves_nothing_behind() {
        let screen = Screen::new(Vec::new());
        screen.show("progress");
        screen.print(b"warning\n");
        screen.show("");
        screen.print(b"end\n");
        assert_eq!(written(screen), ["warning", "end", ""]);
    }

    #[test]
    fn without_a_bottom_line_lines_are_written_as_they_are() {
        let screen = Screen::new(Vec::new());
        screen.print(b"one\n");
        screen.print(b"two\n");
        assert_eq!(screen.inner.into_inner().unwrap().out, b"one\ntwo\n");
    }
}
