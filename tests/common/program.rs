//! [`Program`]: the program under test, started as a user starts it.
//!
//! A child never outlives the value that started it, and never runs past its
//! time limit.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a run may take before it is killed and the test fails. Far above
/// what any test needs, since the machine may be busy.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// The first and the longest pause between two looks at a child that has
/// closed its output and is about to end.
const FIRST_LOOK: Duration = Duration::from_micros(100);
const LONGEST_LOOK: Duration = Duration::from_millis(10);

/// The command line program with these arguments. It sees no `RUST_LOG` and no
/// `RUST_BACKTRACE` of the surrounding shell.
#[cfg(feature = "cli")]
pub(crate) fn canter<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Program {
    Program::new(env!("CARGO_BIN_EXE_canter"), args).env("RUST_BACKTRACE", "0")
}

/// A command line, to be started.
///
/// ```ignore
/// let run = canter(["run", "crawl.toml"]).dir(folder.path()).run().expect_code(0);
/// let mut child = canter(["run", "crawl.toml"]).dir(folder.path()).start();
/// server.wait_for_requests(10, PATIENCE);
/// child.signal("KILL");
/// assert_eq!(child.wait().signal(), Some(9));
/// ```
pub(crate) struct Program {
    command: Command,
    input: Option<Vec<u8>>,
    limit: Duration,
}

impl Program {
    /// A program with these arguments and no `RUST_LOG`.
    pub(crate) fn new<A: AsRef<OsStr>>(
        program: impl AsRef<OsStr>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        let mut command = Command::new(program);
        command.args(args).env_remove("RUST_LOG");
        Program {
            command,
            input: None,
            limit: TIME_LIMIT,
        }
    }

    /// Adds an argument.
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Sets the folder it runs in.
    pub(crate) fn dir(mut self, path: impl AsRef<Path>) -> Self {
        self.command.current_dir(path);
        self
    }

    /// Sets a variable of its environment.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Gives it standard input; without this there is none.
    pub(crate) fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Some(bytes.into());
        self
    }

    /// Sets the time after which it is killed.
    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Starts it and waits for its end.
    ///
    /// # Panics
    /// When it does not end within its time.
    pub(crate) fn run(self) -> Run {
        self.start().wait()
    }

    /// Starts it.
    pub(crate) fn start(mut self) -> Running {
        let started = Instant::now();
        let mut child = self
            .command
            .stdin(if self.input.is_some() {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("cannot start {:?}: {e}", self.command));
        if let (Some(mut stdin), Some(input)) = (child.stdin.take(), self.input.take()) {
            // A child that closes its input early is no failure of the test.
            thread::spawn(move || drop(stdin.write_all(&input)));
        }
        let stdout = Capture::start(child.stdout.take().expect("stdout is piped"));
        let stderr = Capture::start(child.stderr.take().expect("stderr is piped"));
        Running {
            child,
            stdout,
            stderr,
            started,
            limit: self.limit,
            what: format!("{:?}", self.command),
        }
    }
}

/// A child that runs. Dropping it kills it.
pub(crate) struct Running {
    child: Child,
    stdout: Arc<Capture>,
    stderr: Arc<Capture>,
    started: Instant,
    limit: Duration,
    what: String,
}

impl Running {
    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal by name, such as `"TERM"`, `"INT"`, `"HUP"`, `"KILL"`.
    /// Does nothing once it has ended: its id may be another process's by then.
    pub(crate) fn signal(&mut self, name: &str) {
        if !self.is_running() {
            return;
        }
        // The shell's own `kill`, since a small system may lack the program.
        let status = Command::new("sh")
            .args(["-c", "kill -s \"$0\" \"$1\"", name, &self.id().to_string()])
            .status()
            .expect("sh can be started");
        assert!(status.success(), "kill -s {name} failed for {}", self.what);
    }

    /// What it has written to standard output so far.
    pub(crate) fn stdout_so_far(&self) -> String {
        String::from_utf8_lossy(&self.stdout.lock().bytes).into_owned()
    }

    /// What it has written to standard error so far.
    pub(crate) fn stderr_so_far(&self) -> String {
        String::from_utf8_lossy(&self.stderr.lock().bytes).into_owned()
    }

    /// Whether it still runs.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child
            .try_wait()
            .expect("a child can be asked")
            .is_none()
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it does not end within its time, counted from its start.
    pub(crate) fn wait(mut self) -> Run {
        let deadline = self.started + self.limit;
        let closed = self.stdout.wait_closed(deadline) && self.stderr.wait_closed(deadline);
        let mut look = FIRST_LOOK;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child can be asked") {
                break status;
            }
            if Instant::now() >= deadline {
                self.end();
                panic!(
                    "{} did not end within {:?}{}\nstdout: {}\nstderr: {}",
                    self.what,
                    self.limit,
                    if closed {
                        ", though it closed its output"
                    } else {
                        ""
                    },
                    self.stdout_so_far(),
                    self.stderr_so_far(),
                );
            }
            thread::sleep(look);
            look = (look * 2).min(LONGEST_LOOK);
        };
        Run {
            status,
            stdout: std::mem::take(&mut self.stdout.lock().bytes),
            stderr: self.stderr_so_far(),
            elapsed: self.started.elapsed(),
            what: std::mem::take(&mut self.what),
        }
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// How a run ended.
pub(crate) struct Run {
    status: ExitStatus,
    /// Standard output, byte for byte.
    pub(crate) stdout: Vec<u8>,
    /// Standard error.
    pub(crate) stderr: String,
    /// From just before the start to the end.
    pub(crate) elapsed: Duration,
    what: String,
}

impl Run {
    /// The exit code; `None` when a signal ended it.
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// The signal that ended it, if one did.
    #[cfg(unix)]
    pub(crate) fn signal(&self) -> Option<i32> {
        std::os::unix::process::ExitStatusExt::signal(&self.status)
    }

    /// Standard output as text.
    ///
    /// # Panics
    /// When it is not UTF-8.
    pub(crate) fn out(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("standard output is UTF-8")
    }

    /// The records on standard output.
    pub(crate) fn records(&self) -> Vec<serde_json::Value> {
        super::jsonl::parse(self.out())
    }

    /// Fails the test, with all output, unless the exit code is this.
    #[track_caller]
    pub(crate) fn expect_code(self, code: i32) -> Self {
        assert!(
            self.code() == Some(code),
            "{} ended with {}, not {code}\nstdout: {}\nstderr: {}",
            self.what,
            self.status,
            String::from_utf8_lossy(&self.stdout),
            self.stderr,
        );
        self
    }
}

/// One output stream of a child, read as it comes.
struct Capture {
    captured: Mutex<Captured>,
    closed: Condvar,
}

#[derive(Default)]
struct Captured {
    bytes: Vec<u8>,
    closed: bool,
}

impl Capture {
    fn start(mut stream: impl Read + Send + 'static) -> Arc<Self> {
        let capture = Arc::new(Capture {
            captured: Mutex::default(),
            closed: Condvar::new(),
        });
        let ours = Arc::clone(&capture);
        thread::spawn(move || {
            let mut buffer = [0; 8192];
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                ours.lock().bytes.extend_from_slice(&buffer[..count]);
            }
            ours.lock().closed = true;
            ours.closed.notify_all();
        });
        capture
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Captured> {
        self.captured.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the stream was closed by the deadline.
    fn wait_closed(&self, deadline: Instant) -> bool {
        let rest = deadline.saturating_duration_since(Instant::now());
        let (captured, _) = self
            .closed
            .wait_timeout_while(self.lock(), rest, |captured| !captured.closed)
            .unwrap_or_else(PoisonError::into_inner);
        captured.closed
    }
}
