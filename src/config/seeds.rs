//! [`SeedLines`] reads a list of URLs, one a line, in bounded memory. A line
//! that is no URL is an error with its file and line, never skipped.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use url::Url;

use super::SeedFile;
use super::tables::seed_url;
use crate::error::{Error, ErrorKind};

/// The longest line, in bytes: longer than any URL a server takes.
const MAX_LINE: usize = 64 << 10;

/// The URLs of a list, each with its line. Empty lines and lines that begin
/// with `#` are passed over, as are a byte order mark and the spaces around a
/// URL. After an error of reading nothing follows; after a bad line the next
/// one does.
///
/// ```
/// use canter::config::SeedLines;
/// let list = "# shops\nhttps://example.com/a\n\nexample.com/b\n";
/// let mut lines = SeedLines::new("list.txt", list.as_bytes());
/// let (line, url) = lines.next().unwrap()?;
/// assert_eq!((line, url.as_str()), (2, "https://example.com/a"));
/// let error = lines.next().unwrap().unwrap_err();
/// assert!(error.to_string().starts_with("list.txt:4: not a URL"));
/// # Ok::<(), canter::config::SeedError>(())
/// ```
pub struct SeedLines<R> {
    name: String,
    input: R,
    line: u64,
    buffer: Vec<u8>,
    ended: bool,
}

/// A line of a list that cannot be used, or a list that cannot be read.
#[derive(Debug)]
pub struct SeedError {
    name: String,
    line: u64,
    message: String,
    hint: Option<String>,
}

impl SeedLines<Box<dyn BufRead>> {
    /// Opens a list.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(list: &SeedFile) -> Result<Self, SeedError> {
        match list {
            SeedFile::Stdin => Ok(SeedLines::new(
                "standard input",
                Box::new(BufReader::new(io::stdin())),
            )),
            SeedFile::File(path) => Self::open_file(path),
        }
    }

    fn open_file(path: &Path) -> Result<Self, SeedError> {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Ok(SeedLines::new(name, Box::new(BufReader::new(file)))),
            Err(error) => Err(SeedError {
                name,
                line: 0,
                message: format!("cannot be read: {error}"),
                hint: None,
            }),
        }
    }
}

impl<R: BufRead> SeedLines<R> {
    /// Reads a list from anywhere; errors call it `name`.
    pub fn new(name: impl Into<String>, input: R) -> Self {
        SeedLines {
            name: name.into(),
            input,
            line: 0,
            buffer: Vec::new(),
            ended: false,
        }
    }

    fn error(&self, message: String, hint: Option<String>) -> SeedError {
        SeedError {
            name: self.name.clone(),
            line: self.line,
            message,
            hint,
        }
    }

    /// Reads the next line. `Ok(false)` at the end, or when it is too long.
    fn fill(&mut self) -> Result<bool, SeedError> {
        self.buffer.clear();
        let mut limited = self.input.by_ref().take(MAX_LINE as u64 + 1);
        match limited.read_until(b'\n', &mut self.buffer) {
            Ok(0) => Ok(false),
            Ok(length) => {
                self.line += 1;
                if length > MAX_LINE && self.buffer.last() != Some(&b'\n') {
                    self.ended = true;
                    let message = format!("is longer than {MAX_LINE} bytes");
                    return Err(self.error(message, None));
                }
                Ok(true)
            }
            Err(error) => {
                self.ended = true;
                self.line += 1;
                Err(self.error(format!("cannot be read: {error}"), None))
            }
        }
    }
}

impl<R: BufRead> Iterator for SeedLines<R> {
    type Item = Result<(u64, Url), SeedError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            match self.fill() {
                Err(error) => return Some(Err(error)),
                Ok(false) => self.ended = true,
                Ok(true) => {
                    let bytes = match self.buffer.strip_prefix(b"\xef\xbb\xbf") {
                        Some(rest) if self.line == 1 => rest,
                        _ => &self.buffer,
                    };
                    let Ok(text) = std::str::from_utf8(bytes) else {
                        return Some(Err(self.error("is not UTF-8".to_owned(), None)));
                    };
                    let text = text.trim();
                    if text.is_empty() || text.starts_with('#') {
                        continue;
                    }
                    return Some(match seed_url(text) {
                        Ok(url) => Ok((self.line, url)),
                        Err((message, hint)) => Err(self.error(message, hint)),
                    });
                }
            }
        }
        None
    }
}

impl fmt::Display for SeedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SeedError {}

impl From<SeedError> for Error {
    fn from(error: SeedError) -> Self {
        Error::new(ErrorKind::Invalid).with_message(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(list: &[u8]) -> Vec<Result<(u64, String), String>> {
        SeedLines::new("l", list)
            .map(|line| {
                line.map(|(line, url)| (line, url.to_string()))
                    .map_err(|error| error.to_string())
            })
            .collect()
    }

    #[test]
    fn comments_blank_lines_marks_and_line_ends_are_passed_over() {
        let list = b"\xef\xbb\xbf# head\r\n\r\n  http://a.test/x#part \r\n\thttp://b.test\n#end";
        let urls = [(3, "http://a.test/x#part"), (4, "http://b.test/")];
        let urls = urls.map(|(line, url)| Ok((line, url.to_owned())));
        assert_eq!(read(list), urls);
    }

    #[test]
    fn a_bad_line_is_named_and_the_next_is_read() {
        let found = read(b"http://a.test/\nb.test/y\n\xff\xfe\nhttp://u:p@c.test/\nhttp://d.test/");
        let errors: Vec<_> = found
            .iter()
            .filter_map(|line| line.as_ref().err())
            .collect();
        assert_eq!(found.len(), 5);
        assert!(errors[0].starts_with("l:2: "), "{}", errors[0]);
        assert!(errors[0].ends_with("did you mean https://b.test/y ?"));
        assert_eq!(errors[1], "l:3: is not UTF-8");
        assert!(errors[2].starts_with("l:4: "), "{}", errors[2]);
        assert!(!errors[2].contains("u:p"), "{}", errors[2]);
        assert_eq!(found[4], Ok((5, "http://d.test/".to_owned())));
    }

    #[test]
    fn a_line_without_end_is_an_error_and_not_read_into_memory() {
        let endless = io::repeat(b'x');
        let mut lines = SeedLines::new("l", BufReader::new(endless));
        let error = lines.next().unwrap().unwrap_err();
        assert_eq!(error.to_string(), "l:1: is longer than 65536 bytes");
        assert!(lines.next().is_none());
    }
}
