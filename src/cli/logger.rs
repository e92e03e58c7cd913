//! The log on standard error: `env_logger` with lines that never hold a control
//! character of the network's, printed above the progress line. For machines
//! each line is a JSON object, and so is every message.

use std::io::{self, Write};
use std::time::SystemTime;

use env_logger::{Builder, Target};
use log::{Level, LevelFilter, Record};

use super::term::{STDERR, is_obeyed, sanitize};
use crate::config::{json, rfc3339};

/// The name of this crate's log targets.
const OURS: &str = env!("CARGO_PKG_NAME");

/// The parser of trees warns of what it does not do on odd pages; nobody who
/// runs a crawl can do anything about it.
const PARSER: &str = "html5ever";

/// Starts the log: warnings, with `-v` also what happens, with `-vv` every
/// detail. `RUST_LOG`, where it is set, decides instead. With `json`, each line
/// is an object.
pub(super) fn start(verbose: u8, json: bool) {
    let mut builder = Builder::new();
    match std::env::var("RUST_LOG") {
        Ok(filters) if !filters.trim().is_empty() => {
            builder.parse_filters(&filters);
        }
        _ => {
            let level = match verbose {
                0 => LevelFilter::Warn,
                1 => LevelFilter::Info,
                _ => LevelFilter::Debug,
            };
            builder.filter_level(LevelFilter::Warn);
            builder.filter_module(PARSER, LevelFilter::Error);
            builder.filter_module(OURS, level);
        }
    }
    builder.format(move |out, record| {
        let now = SystemTime::now();
        if json {
            let target = record.target();
            let message = record.args().to_string();
            out.write_all(&object(now, word(record.level()), target, &message, b""))
        } else {
            out.write_all(&line(record, now))
        }
    });
    builder.target(Target::Pipe(Box::new(AboveProgress)));
    // Only another logger of the same process could be in the way; its
    // lines are as good.
    let _ = builder.try_init();
}

fn word(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warn => "warning",
        Level::Info => "info",
        Level::Debug => "debug",
        Level::Trace => "trace",
    }
}

/// A message as a JSON object on a line: time, level, where it comes from, the
/// text, and further members, each with a comma before it.
pub(super) fn object(
    now: SystemTime,
    level: &str,
    target: &str,
    message: &str,
    more: &[u8],
) -> Vec<u8> {
    let mut out = Vec::with_capacity(160 + more.len());
    out.extend_from_slice(b"{\"time\":\"");
    rfc3339::write(now, &mut out);
    out.extend_from_slice(b"\",\"level\":");
    string(level, &mut out);
    out.extend_from_slice(b",\"target\":");
    string(target, &mut out);
    out.extend_from_slice(b",\"message\":");
    string(message, &mut out);
    out.extend_from_slice(more);
    out.extend_from_slice(b"}\n");
    out
}

/// A JSON string that a terminal shows as it is: somebody may look at the log.
fn string(text: &str, out: &mut Vec<u8>) {
    if !text.chars().any(is_obeyed) {
        json::string(text, out);
        return;
    }
    let mut bytes = Vec::with_capacity(text.len() + 16);
    json::string(text, &mut bytes);
    for c in String::from_utf8_lossy(&bytes).chars() {
        if is_obeyed(c) {
            // None of them is beyond the plane that four digits reach.
            out.extend_from_slice(format!("\\u{:04x}", u32::from(c)).as_bytes());
        } else {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

/// `2026-01-31T09:05:03.250Z warning: MESSAGE`, and the target if it is not
/// ours.
fn line(record: &Record<'_>, now: SystemTime) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    rfc3339::write(now, &mut out);
    out.push(b' ');
    out.extend_from_slice(word(record.level()).as_bytes());
    let target = record.target();
    if target != OURS && !target.starts_with(concat!(env!("CARGO_PKG_NAME"), "::")) {
        out.extend_from_slice(b" (");
        out.extend_from_slice(sanitize(target).as_bytes());
        out.push(b')');
    }
    out.extend_from_slice(b": ");
    out.extend_from_slice(sanitize(&record.args().to_string()).as_bytes());
    out.push(b'\n');
    out
}

struct AboveProgress;

impl Write for AboveProgress {
    // The logger hands over one whole line at a time.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        STDERR.print(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::rfc3339::EPOCH;

    #[test]
    fn an_object_reads_back_whatever_the_message() {
        let message = "title \u{1b}[2J\u{202e}\"\\x\ny\u{85}\u{2028}";
        let written = object(EPOCH, "warning", "canter::cli", message, b",\"n\":1");
        let text = String::from_utf8(written).unwrap();
        let line = text.strip_suffix('\n').expect("a whole line");
        assert!(!line.chars().any(is_obeyed), "{line:?}");
        let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(
            value,
            serde_json::json!({
                "time": "1970-01-01T00:00:00.000Z",
                "level": "warning",
                "target": "canter::cli",
                "message": message,
                "n": 1,
            })
        );
    }

    #[test]
    fn a_line_has_time_level_and_message_and_no_control_character() {
        let text = |target: &str| {
            let log = |args: std::fmt::Arguments<'_>| {
                let record = Record::builder()
                    .level(Level::Warn)
                    .target(target)
                    .args(args)
                    .build();
                line(&record, EPOCH)
            };
            let written = log(format_args!("title {}", "\u{1b}[2Jx\ny"));
            String::from_utf8(written).unwrap()
        };
        let message = "title \\u{1b}[2Jx\\ny\n";
        assert_eq!(
            text("canter::crawler"),
            format!("1970-01-01T00:00:00.000Z warning: {message}")
        );
        assert_eq!(
            text("canterbury"),
            format!("1970-01-01T00:00:00.000Z warning (canterbury): {message}")
        );
    }
}
