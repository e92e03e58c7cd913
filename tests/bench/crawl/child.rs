//! A program run to its end, and what it took. Times are those that the system
//! kept of children that were waited for, so this runs one child at a time.

use std::fs;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often a running child is looked at.
const LOOK: Duration = Duration::from_millis(10);
/// What `/proc` counts processor time in: `USER_HZ`, the same on every Linux.
const TICK: Duration = Duration::from_millis(10);

/// What a program took.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    /// Processor time, of the user and of the system.
    pub(crate) cpu: Duration,
    pub(crate) wall: Duration,
    /// The most memory that was resident at once, in KiB.
    pub(crate) peak: u64,
    pub(crate) code: Option<i32>,
}

/// Runs a program to its end.
pub(crate) fn run(command: &mut Command) -> Usage {
    watch(command, |_, _| {})
}

/// Runs a program to its end, and lets somebody look at it meanwhile.
pub(crate) fn watch(command: &mut Command, mut look: impl FnMut(&Child, Duration)) -> Usage {
    let before = cpu_of_children();
    let begun = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut peak = 0;
    let status = loop {
        peak = peak.max(status_value(child.id(), "VmHWM:").unwrap_or(0));
        look(&child, begun.elapsed());
        if let Some(status) = child.try_wait().expect("a child of ours") {
            break status;
        }
        std::thread::sleep(LOOK);
    };
    Usage {
        cpu: cpu_of_children().saturating_sub(before),
        wall: begun.elapsed(),
        peak,
        code: ExitStatus::code(&status),
    }
}

/// A number out of `/proc/PID/status`.
pub(crate) fn status_value(pid: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// How many files a process has open.
pub(crate) fn open_files(pid: u32) -> Option<usize> {
    Some(fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count())
}

fn cpu_of_children() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux");
    // The second field is the program's name, and may hold anything.
    let (_, rest) = stat.rsplit_once(") ").expect("a name in parentheses");
    let fields = rest.split(' ').skip(13).take(2);
    fields
        .map(|field| TICK * field.parse::<u32>().expect("a number of ticks"))
        .sum()
}
