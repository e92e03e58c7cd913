//! Signals: the first one asks the run to stop, a second one to give up what
//! is in flight and leave with whole files, and a third one ends the program
//! where it stands.
//!
//! Even that loses nothing that counts: output and state are only ever appended
//! to by whole lines, and the next run cuts what is torn.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::exit::SIGNAL_BASE;

/// SIGTERM's number.
pub(super) const TERM: u8 = SIGTERM as u8;
/// SIGPIPE's number on every system that has it.
pub(super) const PIPE: u8 = 13;

/// What a signal is called.
pub(super) fn name(number: u8) -> String {
    match signal_hook::low_level::signal_name(i32::from(number)) {
        Some(name) => name.to_owned(),
        None => format!("signal {number}"),
    }
}

/// How long after a signal another one is taken for the same: whoever
/// ends a program often signals it and then its whole group (`timeout` does, in
/// less than a millisecond), which must not turn a clean stop into a cut. Nobody
/// presses Ctrl-C twice as fast as this.
const SAME_SIGNAL: Duration = Duration::from_millis(100);

/// Which signal came first, if any.
#[derive(Debug, Clone, Default)]
pub(super) struct Signals {
    first: Arc<AtomicUsize>,
}

impl Signals {
    /// The number of the signal that stopped the run.
    pub(super) fn stopped_by(&self) -> Option<u8> {
        match self.first.load(Ordering::SeqCst) {
            0 => None,
            number => u8::try_from(number).ok(),
        }
    }
}

/// Calls `stop`, from a thread of its own, when the program is asked to end,
/// and `at_once` when it is asked again.
///
/// A signal that whoever started us wants ignored stays so: `nohup` does that
/// with SIGHUP, and shells do it with SIGINT for what runs in the background.
pub(super) fn listen(
    stop: impl Fn() + Send + 'static,
    at_once: impl Fn() + Send + 'static,
) -> io::Result<Signals> {
    let mut wanted = vec![SIGINT, SIGTERM];
    #[cfg(unix)]
    wanted.push(signal_hook::consts::SIGHUP);
    let ignored = ignored();
    wanted.retain(|signal| ignored & (1 << (signal - 1)) == 0);
    listen_to(&wanted, SAME_SIGNAL, stop, at_once)
}

fn listen_to(
    wanted: &[i32],
    same: Duration,
    stop: impl Fn() + Send + 'static,
    at_once: impl Fn() + Send + 'static,
) -> io::Result<Signals> {
    let signals = Signals::default();
    let first = Arc::clone(&signals.first);
    let last = Arc::new(AtomicUsize::new(0));
    let leave = Arc::new(AtomicBool::new(false));
    let mut waker = Waker::new(&last)?;
    for &signal in wanted {
        let number = usize::try_from(signal).unwrap_or(0);
        // They run in this order: leave if the run was told to, else note which
        // signal it is, then wake the thread.
        let code = i32::from(SIGNAL_BASE) + signal;
        flag::register_conditional_shutdown(signal, code, Arc::clone(&leave))?;
        flag::register_usize(signal, Arc::clone(&last), number)?;
        waker.register(signal)?;
    }
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            if !waker.wait() {
                return;
            }
            first.store(last.load(Ordering::SeqCst), Ordering::SeqCst);
            stop();
            std::thread::sleep(same);
            // Those that came meanwhile are the same.
            waker.forget();
            if !waker.wait() {
                return;
            }
            at_once();
            std::thread::sleep(same);
            leave.store(true, Ordering::SeqCst);
        })?;
    Ok(signals)
}

/// Which signals are ignored, a bit for each, lowest for signal 1. Where the
/// system does not say, none.
fn ignored() -> u64 {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| ignored_of(&status))
        .unwrap_or(0)
}

fn ignored_of(status: &str) -> Option<u64> {
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

#[cfg(unix)]
use unix::Waker;

#[cfg(unix)]
mod unix {
    use std::io::{self, Read as _};
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    /// A pipe that every signal writes into.
    pub(super) struct Waker {
        reader: UnixStream,
        writer: UnixStream,
    }

    impl Waker {
        pub(super) fn new(_: &Arc<AtomicUsize>) -> io::Result<Self> {
            let (reader, writer) = UnixStream::pair()?;
            Ok(Waker { reader, writer })
        }

        pub(super) fn register(&mut self, signal: i32) -> io::Result<()> {
            let writer = self.writer.try_clone()?;
            signal_hook::low_level::pipe::register(signal, writer)?;
            Ok(())
        }

        /// Waits for a signal; `false` when none can come any more.
        pub(super) fn wait(&mut self) -> bool {
            loop {
                match self.reader.read(&mut [0]) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    read => return read.is_ok_and(|length| length > 0),
                }
            }
        }

        /// Forgets the signals that have come.
        pub(super) fn forget(&mut self) {
            // The pipe cannot be asked whether it is empty, so it must not
            // block for a moment.
            let _ = self.reader.set_nonblocking(true);
            while let Ok(1..) = self.reader.read(&mut [0; 64]) {}
            let _ = self.reader.set_nonblocking(false);
        }
    }
}

#[cfg(not(unix))]
use polling::Waker;

#[cfg(not(unix))]
mod polling {
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    /// How often the flag is looked at, where there are no pipes for signals.
    const INTERVAL: Duration = Duration::from_millis(100);

    pub(super) struct Waker(Arc<AtomicUsize>);

    impl Waker {
        pub(super) fn new(last: &Arc<AtomicUsize>) -> io::Result<Self> {
            Ok(Waker(Arc::clone(last)))
        }

        pub(super) fn register(&mut self, _: i32) -> io::Result<()> {
            Ok(())
        }

        pub(super) fn wait(&mut self) -> bool {
            while self.0.load(Ordering::SeqCst) == 0 {
                std::thread::sleep(INTERVAL);
            }
            true
        }

        /// Forgets the signals that have come.
        pub(super) fn forget(&mut self) {
            self.0.store(0, Ordering::SeqCst);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crossbeam::channel;
    use signal_hook::consts::{SIGHUP, SIGUSR1, SIGUSR2};

    /// How long a test waits for what must come.
    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn the_first_signal_stops_once_and_a_repeat_of_it_does_nothing() {
        let (sender, stops) = channel::unbounded();
        let again = sender.clone();
        // So long that the second signal is taken for the first.
        let same = Duration::from_secs(3600);
        let stop = move || sender.send("stop").unwrap();
        let at_once = move || again.send("at once").unwrap();
        let signals = listen_to(&[SIGUSR1], same, stop, at_once).unwrap();
        assert_eq!(signals.stopped_by(), None);
        signal_hook::low_level::raise(SIGUSR1).unwrap();
        assert_eq!(stops.recv_timeout(PATIENCE), Ok("stop"));
        assert_eq!(signals.stopped_by(), u8::try_from(SIGUSR1).ok());
        signal_hook::low_level::raise(SIGUSR1).unwrap();
        assert!(stops.is_empty());
    }

    #[test]
    fn the_second_signal_stops_at_once() {
        let (sender, stops) = channel::unbounded();
        let again = sender.clone();
        let stop = move || sender.send("stop").unwrap();
        let at_once = move || again.send("at once").unwrap();
        let signals = listen_to(&[SIGUSR2], Duration::ZERO, stop, at_once).unwrap();
        signal_hook::low_level::raise(SIGUSR2).unwrap();
        assert_eq!(stops.recv_timeout(PATIENCE), Ok("stop"));
        // The listener may still be forgetting the first one.
        let until = std::time::Instant::now() + PATIENCE;
        while stops.is_empty() && std::time::Instant::now() < until {
            signal_hook::low_level::raise(SIGUSR2).unwrap();
            std::thread::sleep(Duration::from_millis(5));
            if !stops.is_empty() {
                break;
            }
        }
        assert_eq!(stops.try_recv(), Ok("at once"));
        assert_eq!(signals.stopped_by(), u8::try_from(SIGUSR2).ok());
    }

    #[test]
    fn a_signal_that_is_ignored_is_told_by_its_bit() {
        let mask = ignored_of("Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t0\n").unwrap();
        assert_ne!(mask & (1 << (SIGHUP - 1)), 0);
        assert_eq!(mask & (1 << (SIGINT - 1)), 0);
        assert_eq!(ignored_of("Name:\tx\n"), None);
    }
}
