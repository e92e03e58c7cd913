//! [`Head`], [`Body`], [`Text`] and [`Json`]: the answer, as it came and
//! decoded.
//!
//! Bytes are always what was received. Anything that reads them as text fails
//! with [`ErrorKind::Extract`] when they are none, rather than give noise.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use serde::de::DeserializeOwned;
use url::Url;

use super::{Context, FromContext};
use crate::charset;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::Response;
use crate::http::{self, MediaType, Sniffed};

/// How much of what came from the wire a message repeats, in bytes: enough to
/// recognise it, and no flood.
const QUOTED_BYTES: usize = 200;

/// The answer without its body: status, header fields, final URL.
///
/// Which statuses get here is decided by the crawl's
/// [`StatusPolicy`](crate::fetch::StatusPolicy).
///
/// ```
/// use canter::extract::Head;
/// fn handler(head: Head) {
///     if head.header("content-type").is_some_and(|value| value.starts_with("image/")) {
///         println!("{}: an image, {:?}", head.url(), head.elapsed());
///     }
/// }
/// # let _ = canter::handler::boxed(handler);
/// ```
#[derive(Debug, Clone)]
pub struct Head {
    response: Arc<Response>,
}

impl Head {
    /// The status code.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.response.status()
    }

    /// The URL that answered: the last one, after redirects.
    #[must_use]
    pub fn url(&self) -> &Url {
        self.response.url()
    }

    /// All header fields in order, values byte for byte.
    #[must_use]
    pub fn headers(&self) -> &[(String, Vec<u8>)] {
        self.response.headers()
    }

    /// The first field of that name, whatever its case, as text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<Cow<'_, str>> {
        self.response.header(name)
    }

    /// How long the fetch took, from its start to the end of the body.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.response.elapsed()
    }

    /// The whole answer.
    #[must_use]
    pub fn response(&self) -> &Arc<Response> {
        &self.response
    }
}

impl FromContext for Head {
    fn from_context(cx: &Context) -> Result<Self> {
        cx.response().map(|response| Head { response })
    }
}

/// The body's bytes. Content codings such as gzip are undone, unless the
/// coding is not understood ([`undecoded`](Self::undecoded)).
///
/// # Errors
/// [`ErrorKind::Extract`] when the body was not read because nobody wants its
/// type.
#[derive(Debug, Clone)]
pub struct Body {
    response: Arc<Response>,
}

impl Body {
    /// Whether these are only the first bytes of a longer body.
    #[must_use]
    pub fn truncated(&self) -> bool {
        self.response.truncated()
    }

    /// Whether the bytes are still in a content coding that is not understood.
    #[must_use]
    pub fn undecoded(&self) -> bool {
        self.response.undecoded()
    }
}

impl Deref for Body {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.response.body()
    }
}

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl FromContext for Body {
    fn from_context(cx: &Context) -> Result<Self> {
        let response = cx.response()?;
        was_read(&response).map_err(|error| cx.locate(error))?;
        Ok(Body { response })
    }
}

/// The body as text, decoded by byte-order mark, declared charset or guess
/// ([`charset::decode`](crate::charset::decode)).
///
/// # Errors
/// [`ErrorKind::Extract`] when the body is binary, or in a content coding that
/// is not understood, or was not read.
#[derive(Clone)]
pub struct Text {
    inner: Arc<Decoded>,
}

struct Decoded {
    text: String,
    encoding: &'static Encoding,
}

impl Text {
    pub(crate) fn new(text: String, encoding: &'static Encoding) -> Self {
        Text {
            inner: Arc::new(Decoded { text, encoding }),
        }
    }

    pub(crate) fn read(response: &Response) -> Result<Self> {
        is_text(response)?;
        let (text, encoding) = decode(response);
        Ok(Text::new(text.into_owned(), encoding))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.inner.text
    }

    /// The encoding it was decoded from.
    #[must_use]
    pub fn encoding(&self) -> &'static Encoding {
        self.inner.encoding
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Text")
            .field("encoding", &self.encoding().name())
            .field("bytes", &self.len())
            .finish()
    }
}

impl FromContext for Text {
    fn from_context(cx: &Context) -> Result<Self> {
        cx.text()
    }
}

/// The body read as JSON (RFC 8259), whatever type it is declared as.
///
/// ```
/// use canter::extract::Json;
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Item {
///     name: String,
/// }
///
/// fn handler(Json(item): Json<Item>) {
///     println!("{}", item.name);
/// }
/// # let _ = canter::handler::boxed(handler);
/// ```
///
/// # Errors
/// [`ErrorKind::Extract`] when the body is no JSON or not that of a `T`, with
/// line and column; also when it is in a content coding that is not
/// understood, or was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T> Deref for Json<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: DeserializeOwned> FromContext for Json<T> {
    fn from_context(cx: &Context) -> Result<Self> {
        let response = cx.response()?;
        read_json(&response)
            .map(Json)
            .map_err(|error| cx.locate(error))
    }
}

/// Fails when the body was left on the wire.
pub(crate) fn was_read(response: &Response) -> Result<()> {
    if response.body_skipped() {
        return Err(extract(format!(
            "the body was not read, since nobody wants {}",
            declared(response)
        )));
    }
    Ok(())
}

/// Fails when the body was not read, or is in a coding nobody understands.
pub(crate) fn is_decoded(response: &Response) -> Result<()> {
    was_read(response)?;
    if response.undecoded() {
        let coding = response.header("content-encoding").unwrap_or_default();
        return Err(extract(format!(
            "the body's content coding {} is not understood",
            quoted(coding.as_bytes())
        )));
    }
    Ok(())
}

/// Fails when the body is no text.
fn is_text(response: &Response) -> Result<()> {
    is_decoded(response)?;
    let seen = http::sniff(response.body());
    if seen.is_binary() && !is_wide(response, seen) {
        return Err(extract(format!(
            "the body is no text: declared as {}, it looks like {}",
            declared(response),
            seen.as_str()
        )));
    }
    Ok(())
}

/// Whether the bytes look binary only because each letter takes two of them
/// and nothing but the header says so.
pub(crate) fn is_wide(response: &Response, seen: Sniffed) -> bool {
    let content_type = response.content_type();
    seen == Sniffed::Binary && declared_encoding(content_type.as_deref()).is_some_and(is_utf_16)
}

fn is_utf_16(encoding: &'static Encoding) -> bool {
    encoding == UTF_16LE || encoding == UTF_16BE
}

fn declared_encoding(content_type: Option<&str>) -> Option<&'static Encoding> {
    let media = MediaType::parse(content_type?);
    Encoding::for_label(media.charset()?.as_bytes())
}

/// Decodes the body; borrowed when it is UTF-8 as it stands.
pub(crate) fn decode(response: &Response) -> (Cow<'_, str>, &'static Encoding) {
    let content_type = response.content_type();
    charset::decode(response.body(), content_type.as_deref())
}

/// How the header calls the body, for messages.
pub(crate) fn declared(response: &Response) -> String {
    match response.content_type() {
        Some(value) => quoted(value.as_bytes()),
        None => "a body without a type".to_owned(),
    }
}

/// JSON on the wire is UTF-8 (RFC 8259 section 8.1). Older servers send
/// UTF-16, or another charset that they declare.
fn read_json<T: DeserializeOwned>(response: &Response) -> Result<T> {
    is_decoded(response)?;
    let body = response.body();
    let content_type = response.content_type();
    let (encoding, body) = match Encoding::for_bom(body) {
        Some((encoding, mark)) => (encoding, &body[mark..]),
        None => (
            declared_encoding(content_type.as_deref()).unwrap_or(UTF_8),
            body,
        ),
    };
    let read = if encoding == UTF_8 {
        serde_json::from_slice(body)
    } else {
        serde_json::from_str(&encoding.decode_without_bom_handling(body).0)
    };
    read.map_err(|error| {
        // Line and column are in the source's text.
        let what = match error.classify() {
            serde_json::error::Category::Data => "the JSON is not of the kind expected",
            _ if response.truncated() => "the body was cut short and is no JSON",
            _ => "the body is no JSON",
        };
        extract(what).with_source(error)
    })
}

pub(crate) fn extract(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Extract).with_message(message)
}

/// Bytes from the wire for a message: escaped, and cut when they are many.
pub(crate) fn quoted(value: &[u8]) -> String {
    let mut shown = value.len().min(QUOTED_BYTES);
    let rest = if shown < value.len() { "…" } else { "" };
    match std::str::from_utf8(value) {
        Ok(text) => {
            while !text.is_char_boundary(shown) {
                shown -= 1;
            }
            format!("{:?}{rest}", &text[..shown])
        }
        Err(_) => format!("\"{}\"{rest}", value[..shown].escape_ascii()),
    }
}
