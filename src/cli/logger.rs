//! The log on standard error: `env_logger` with lines that never hold a control
//! character of the network's, printed above the progress line.

use std::io::{self, Write};
use std::time::SystemTime;

use env_logger::{Builder, Target};
use log::{Level, LevelFilter, Record};

use super::term::{STDERR, sanitize};
use crate::config::rfc3339;

/// The name of this crate's log targets.
const OURS: &str = env!("CARGO_PKG_NAME");

/// Starts the log: warnings, with `-v` also what happens, with `-vv` every
/// detail. `RUST_LOG`, where it is set, decides instead.
pub(super) fn start(verbose: u8) {
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
            builder.filter_module(OURS, level);
        }
    }
    builder.format(|out, record| out.write_all(&line(record, SystemTime::now())));
    builder.target(Target::Pipe(Box::new(AboveProgress)));
    // Only another logger of the same process could be in the way; its
    // lines are as good.
    let _ = builder.try_init();
}

/// `2026-01-31T09:05:03.250Z warning: MESSAGE`, and the target if it is not
/// ours.
fn line(record: &Record<'_>, now: SystemTime) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    rfc3339::write(now, &mut out);
    let level = match record.level() {
        Level::Error => "error",
        Level::Warn => "warning",
        Level::Info => "info",
        Level::Debug => "debug",
        Level::Trace => "trace",
    };
    out.push(b' ');
    out.extend_from_slice(level.as_bytes());
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
