//! [`Site`]: a folder of files as a web site, with what files alone cannot say
//! declared beside them in `behaviour.toml`.
//!
//! A folder that holds folders named by addresses (`127.0.0.1`, `127.0.0.2`)
//! is one site for each of them; any other folder is the same site on every
//! address. The site's pages may name it by its usual port, [`USUAL_PORT`]; on
//! another port that one is put in its place as the pages go out.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::server::{Req, Resp};

/// The port that the pages of `fixtures/site` name.
pub(crate) const USUAL_PORT: u16 = 8917;
/// Where behaviour is declared. Never served.
const BEHAVIOUR: &str = "behaviour.toml";
/// What a folder's own URL shows.
const INDEX: &str = "index.html";

/// A folder that is served.
pub(crate) struct Site {
    folder: PathBuf,
    paths: HashMap<(Option<IpAddr>, String), PathRule>,
}

/// `behaviour.toml`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Behaviour {
    #[serde(default)]
    path: Vec<PathRule>,
}

/// What one path does.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PathRule {
    /// The path, without a query.
    path: String,
    /// The address whose path it is; every one without this.
    host: Option<IpAddr>,
    /// Seconds before each answer.
    #[serde(default)]
    delay: f64,
    /// Answers given once each, in this order, before the ordinary one.
    #[serde(default)]
    first: Vec<Answer>,
    /// The ordinary answer, instead of the file.
    always: Option<Answer>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: String,
}

impl Site {
    /// The site in a folder.
    ///
    /// # Errors
    /// When there is no such folder or its behaviour cannot be read; names the
    /// file and the place in it.
    pub(crate) fn load(folder: impl Into<PathBuf>) -> Result<Site, String> {
        let folder = folder.into();
        if !folder.is_dir() {
            return Err(format!("{}: not a folder", folder.display()));
        }
        let file = folder.join(BEHAVIOUR);
        let behaviour: Behaviour = match fs::read_to_string(&file) {
            Ok(text) => toml::from_str(&text).map_err(|e| format!("{}: {e}", file.display()))?,
            Err(e) if e.kind() == ErrorKind::NotFound => Behaviour::default(),
            Err(e) => return Err(format!("{}: {e}", file.display())),
        };
        let mut paths = HashMap::new();
        for rule in behaviour.path {
            let fault = |what: &str| Err(format!("{}: {:?}: {what}", file.display(), rule.path));
            if !rule.path.starts_with('/') {
                return fault("a path begins with a slash");
            }
            if Duration::try_from_secs_f64(rule.delay).is_err() {
                return fault("delay: not a time in seconds");
            }
            let key = (rule.host, rule.path.clone());
            if paths.contains_key(&key) {
                return fault("is there twice");
            }
            paths.insert(key, rule);
        }
        Ok(Site { folder, paths })
    }

    /// The answer to a request.
    pub(crate) fn answer(&self, req: &Req) -> Resp {
        let path = req.path_only();
        let rule = [Some(req.host), None]
            .into_iter()
            .find_map(|host| self.paths.get(&(host, path.to_owned())));
        let Some(rule) = rule else {
            return self.file(req);
        };
        let declared = rule.first.get(req.nth - 1).or(rule.always.as_ref());
        declared
            .map_or_else(|| self.file(req), |answer| answer.resp(req.port))
            .delay(Duration::from_secs_f64(rule.delay))
    }

    /// What lies in the folder under this path.
    fn file(&self, req: &Req) -> Resp {
        let Some(relative) = relative_path(req.path_only()) else {
            return not_found();
        };
        let own = self.folder.join(req.host.to_string());
        let root = if own.is_dir() { &own } else { &self.folder };
        let mut path = root.join(&relative);
        if path == self.folder.join(BEHAVIOUR) {
            return not_found();
        }
        if path.is_dir() {
            if !req.path_only().ends_with('/') {
                return Resp::redirect(301, format!("{}/", req.path_only()));
            }
            path.push(INDEX);
        } else if req.path_only().ends_with('/') {
            return not_found();
        }
        let Ok(bytes) = fs::read(&path) else {
            return not_found();
        };
        let media_type = media_type(&path);
        let bytes = if is_text(media_type) {
            with_port(bytes, req.port)
        } else {
            bytes
        };
        let tag = format!("\"{:016x}\"", fnv1a(&bytes));
        if req.header("if-none-match") == Some(&tag) {
            return Resp::new(304).header("ETag", tag);
        }
        Resp::ok(media_type, bytes).header("ETag", tag)
    }
}

impl Answer {
    fn resp(&self, port: u16) -> Resp {
        let mut resp = Resp::new(self.status);
        for (name, value) in &self.headers {
            resp = resp.header(name, with_port(value.clone().into_bytes(), port));
        }
        resp.body(with_port(self.body.clone().into_bytes(), port))
    }
}

fn not_found() -> Resp {
    Resp::new(404)
        .header("Content-Type", "text/html; charset=utf-8")
        .body("<!doctype html>\n<title>Not found</title>\n<p>There is no such page.\n")
}

/// The file path that a URL path names, below its root; `None` for one that is
/// no file's.
fn relative_path(url_path: &str) -> Option<PathBuf> {
    let mut relative = PathBuf::new();
    for segment in url_path.strip_prefix('/')?.split('/') {
        let name = percent_decoded(segment)?;
        if name == ".." || name.contains(['/', '\\', '\0']) {
            return None;
        }
        relative.push(name);
    }
    Some(relative)
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            let (high, low) = (digit()?, digit()?);
            (high * 16 + low) as u8
        } else {
            byte
        });
    }
    String::from_utf8(bytes).ok()
}

/// The type by the file's name. HTML goes out without a charset: pages declare
/// their own, as they do on many servers.
fn media_type(path: &Path) -> &'static str {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    match extension {
        "html" => "text/html",
        "xml" => "application/xml",
        "txt" => "text/plain; charset=utf-8",
        "css" => "text/css",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" => "image/jpeg",
        _ => "application/octet-stream",
    }
}

fn is_text(media_type: &str) -> bool {
    media_type.starts_with("text/") || media_type.contains("xml") || media_type.contains("json")
}

/// The bytes with `127.0.0.N:PORT` for `127.0.0.N:8917`. Bytes, since a page
/// may be in any encoding.
fn with_port(bytes: Vec<u8>, port: u16) -> Vec<u8> {
    if port == USUAL_PORT {
        return bytes;
    }
    let usual = format!(":{USUAL_PORT}").into_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes.as_slice();
    while let Some(at) = rest.windows(usual.len()).position(|w| w == usual) {
        out.extend_from_slice(&rest[..at]);
        let digits = out.iter().rev().take_while(|b| b.is_ascii_digit()).count();
        if out[..out.len() - digits].ends_with(b"127.0.0.") {
            out.extend_from_slice(format!(":{port}").as_bytes());
        } else {
            out.extend_from_slice(&usual);
        }
        rest = &rest[at + usual.len()..];
    }
    out.extend_from_slice(rest);
    out
}

/// FNV-1a, 64 bits: tells one content from another, here for an entity tag.
fn fnv1a(bytes: &[u8]) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    bytes.iter().fold(OFFSET, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(PRIME)
    })
}
