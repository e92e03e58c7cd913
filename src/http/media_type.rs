//! [`MediaType`]: a `Content-Type` value (RFC 9110 section 8.3).

use std::borrow::Cow;

/// What a `Content-Type` value says: the type, and the charset if it names one.
///
/// Reading never fails; a value without a type has an empty one. When values
/// were joined by commas the last type counts, and a charset of an earlier one
/// only if that was the same type (Fetch section 3.6, "extract a MIME type").
/// Nothing is copied unless letters must be lower-cased.
///
/// ```
/// use canter::http::MediaType;
/// let media = MediaType::parse("TEXT/HTML; Charset=\"utf-8\"");
/// assert_eq!(media.essence(), "text/html");
/// assert_eq!(media.charset(), Some("utf-8"));
/// assert!(media.is_html());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MediaType<'a> {
    essence: Cow<'a, str>,
    charset: Option<Cow<'a, str>>,
}

impl<'a> MediaType<'a> {
    /// Reads a `Content-Type` value.
    #[must_use]
    pub fn parse(value: &'a str) -> Self {
        let mut media = MediaType::default();
        let mut of_one = MediaType::default();
        let mut rest = value;
        while !rest.is_empty() {
            let (part, after) = split_part(rest);
            of_one.part(part.trim());
            let length = rest.len() - after.len();
            if after.is_empty() || rest.as_bytes()[length - 1] == b',' {
                media.follow(std::mem::take(&mut of_one));
            }
            rest = after;
        }
        media
    }

    /// Takes what the next of several values says.
    fn follow(&mut self, next: MediaType<'a>) {
        let says_nothing = matches!(next.essence(), "" | "*/*");
        if !says_nothing && next.essence != self.essence {
            // A charset without a type is that of the type that follows.
            if !self.essence.is_empty() {
                self.charset = None;
            }
            self.essence = next.essence;
        } else if self.essence.is_empty() {
            self.essence = next.essence;
        }
        self.charset = next.charset.or(self.charset.take());
    }

    fn part(&mut self, part: &'a str) {
        if let Some((name, value)) = part.split_once('=') {
            if let Some((essence, name)) = name.trim_end().rsplit_once(char::is_whitespace) {
                // `text/html charset=utf-8`: the semicolon is missing.
                self.offer(essence);
                self.parameter(name, value);
            } else {
                self.parameter(name.trim(), value);
            }
        } else {
            self.offer(part);
        }
    }

    /// Takes the text for the type, if it is one and there is none yet.
    fn offer(&mut self, text: &'a str) {
        let text = text.split(char::is_whitespace).next().unwrap_or_default();
        let is_type = text
            .split_once('/')
            .is_some_and(|(kind, subtype)| !kind.is_empty() && !subtype.is_empty());
        if self.essence.is_empty() && is_type {
            self.essence = if text.bytes().any(|b| b.is_ascii_uppercase()) {
                Cow::Owned(text.to_ascii_lowercase())
            } else {
                Cow::Borrowed(text)
            };
        }
    }

    fn parameter(&mut self, name: &str, value: &'a str) {
        if self.charset.is_none() && name.eq_ignore_ascii_case("charset") {
            self.charset = Some(unquoted(value.trim())).filter(|charset| !charset.is_empty());
        }
    }

    /// Type and subtype in lower case, such as `text/html`; empty for none.
    #[must_use]
    pub fn essence(&self) -> &str {
        &self.essence
    }

    /// The charset as it is written, without quotes.
    #[must_use]
    pub fn charset(&self) -> Option<&str> {
        self.charset.as_deref()
    }

    /// Whether the type says nothing about the body, so that its first bytes
    /// must ([`sniff`](super::sniff)): none, or a general one such as
    /// `application/octet-stream`.
    #[must_use]
    pub fn is_unspecific(&self) -> bool {
        matches!(
            self.essence(),
            "" | "*/*"
                | "application/octet-stream"
                | "application/unknown"
                | "binary/octet-stream"
                | "unknown/unknown"
        )
    }

    /// Whether it is HTML or XHTML.
    #[must_use]
    pub fn is_html(&self) -> bool {
        matches!(self.essence(), "text/html" | "application/xhtml+xml")
    }

    /// Whether it is XML in some vocabulary, XHTML included.
    #[must_use]
    pub fn is_xml(&self) -> bool {
        matches!(self.essence(), "text/xml" | "application/xml") || self.essence().ends_with("+xml")
    }

    /// Whether it is JSON in some vocabulary.
    #[must_use]
    pub fn is_json(&self) -> bool {
        matches!(self.essence(), "application/json" | "text/json")
            || self.essence().ends_with("+json")
    }

    /// Whether the body is text that can be decoded: `text/*`, XML, JSON, a
    /// script.
    #[must_use]
    pub fn is_textual(&self) -> bool {
        self.essence().starts_with("text/")
            || self.is_xml()
            || self.is_json()
            || matches!(
                self.essence(),
                "application/javascript"
                    | "application/ecmascript"
                    | "application/x-javascript"
                    | "application/x-www-form-urlencoded"
                    | "application/yaml"
                    | "application/toml"
                    | "application/x-ndjson"
                    | "application/jsonl"
            )
    }
}

/// The text up to the next semicolon or comma outside of quotes, and what
/// follows it.
fn split_part(text: &str) -> (&str, &str) {
    let mut quoted = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b';' | b',' if !quoted => return (&text[..at], &text[at + 1..]),
            _ => {}
        }
    }
    (text, "")
}

/// A parameter value without its quotes; a closing quote may be missing.
fn unquoted(value: &str) -> Cow<'_, str> {
    if let Some(inner) = value.strip_prefix('\'') {
        return Cow::Borrowed(inner.strip_suffix('\'').unwrap_or(inner).trim());
    }
    let Some(inner) = value.strip_prefix('"') else {
        return Cow::Borrowed(value);
    };
    let mut out = String::new();
    let mut characters = inner.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' if out.is_empty() => return Cow::Borrowed(inner[..at].trim()),
            '"' => break,
            '\\' => {
                if out.is_empty() {
                    out.push_str(&inner[..at]);
                }
                out.extend(characters.next().map(|(_, escaped)| escaped));
            }
            _ if out.is_empty() => {}
            _ => out.push(character),
        }
    }
    if out.is_empty() {
        Cow::Borrowed(inner.trim())
    } else {
        Cow::Owned(out.trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> (String, Option<String>) {
        let media = MediaType::parse(value);
        (
            media.essence().to_owned(),
            media.charset().map(str::to_owned),
        )
    }

    #[test]
    fn junk_around_a_type_is_tolerated() {
        for (value, essence, charset) in [
            ("text/html", "text/html", None),
            ("TEXT/HTML;charset", "text/html", None),
            ("text/html, text/html", "text/html", None),
            (
                "text/html, text/html; charset=koi8-r",
                "text/html",
                Some("koi8-r"),
            ),
            ("text/html;charset=utf-8,text/plain", "text/plain", None),
            ("text/plain, text/html", "text/html", None),
            (
                "text/html;charset=koi8-r, */*, ,x",
                "text/html",
                Some("koi8-r"),
            ),
            (
                "text/html;charset=koi8-r, text/html",
                "text/html",
                Some("koi8-r"),
            ),
            (
                "TEXT/HTML ;  CHARSET=UTF-8 ; q=1",
                "text/html",
                Some("UTF-8"),
            ),
            ("text/html; mycharset=utf-8", "text/html", None),
            ("text/html; charset=\"koi8-r\"", "text/html", Some("koi8-r")),
            (
                "text/html; charset=\"a;b\\\"c\"; x=y",
                "text/html",
                Some("a;b\"c"),
            ),
            ("text/html; charset=\"utf-8", "text/html", Some("utf-8")),
            ("text/html; charset='utf-8'", "text/html", Some("utf-8")),
            ("text/html; charset = utf-8", "text/html", Some("utf-8")),
            ("text/html charset=utf-8", "text/html", Some("utf-8")),
            (
                "text/html; charset=; charset=utf-8",
                "text/html",
                Some("utf-8"),
            ),
            ("text/html; charset=a; charset=b", "text/html", Some("a")),
            ("charset=utf-8", "", Some("utf-8")),
            ("; , ;", "", None),
            ("html", "", None),
            ("/html", "", None),
            ("", "", None),
        ] {
            let expected = (essence.to_owned(), charset.map(str::to_owned));
            assert_eq!(read(value), expected, "{value}");
        }
    }

    #[test]
    fn a_plain_value_is_not_copied() {
        let media = MediaType::parse("text/html; charset=utf-8");
        assert!(matches!(media.essence, Cow::Borrowed(_)));
        assert!(matches!(media.charset, Some(Cow::Borrowed(_))));
    }

    #[test]
    fn kinds_are_told_apart() {
        let is = |value: &str| {
            let media = MediaType::parse(value);
            (
                media.is_html(),
                media.is_xml(),
                media.is_textual(),
                media.is_unspecific(),
            )
        };
        assert_eq!(is("text/html"), (true, false, true, false));
        assert_eq!(is("application/xhtml+xml"), (true, true, true, false));
        assert_eq!(is("application/rss+xml"), (false, true, true, false));
        assert_eq!(is("application/ld+json"), (false, false, true, false));
        assert_eq!(is("image/png"), (false, false, false, false));
        assert_eq!(is("Application/Octet-Stream"), (false, false, false, true));
        assert_eq!(is(""), (false, false, false, true));
    }
}
