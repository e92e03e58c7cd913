//! Serves a folder on loopback, by itself or while a command runs:
//!
//! ```text
//! serve fixtures/site
//! serve --addr 127.0.0.1 --addr 127.0.0.2 fixtures/site -- canter run fixtures/demo.toml
//! ```
//!
//! Files are served as they are; a `behaviour.toml` in the folder declares what
//! else happens (see `fixtures/site`). With a command, its exit code is this
//! program's. Only loopback addresses are served.

#[path = "../common/server/mod.rs"]
mod server;
#[path = "../common/site.rs"]
mod site;

use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use server::Server;
use site::{Site, USUAL_PORT};

const USAGE: &str = "\
usage: serve [--addr ADDRESS]… [--port PORT] [--port-file FILE] FOLDER [-- COMMAND [ARGUMENT]…]

  --addr ADDRESS    a loopback address to listen on; may be repeated (127.0.0.1)
  --port PORT       the port, the same on each address; 0 finds a free one (8917)
  --port-file FILE  write the port there once the server listens
  COMMAND           is run, finds the port in SERVE_PORT, and ends the server with its own end";

/// How often a waiting server looks for a signal or the end of its command.
const LOOK: Duration = Duration::from_millis(20);
/// Exit code for a wrong command line, as of most programs.
const WRONG_USAGE: u8 = 2;
/// Exit code of a command that cannot be started, as of a shell.
const NO_COMMAND: u8 = 127;
/// A shell adds a signal's number to this for its exit code.
const SIGNAL_BASE: i32 = 128;

fn main() -> ExitCode {
    let arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(e) => {
            eprintln!("serve: {e}\n{USAGE}");
            return ExitCode::from(WRONG_USAGE);
        }
    };
    match serve(arguments) {
        Ok(code) => code,
        Err(e) => {
            eprintln!("serve: {e}");
            ExitCode::FAILURE
        }
    }
}

struct Arguments {
    addresses: Vec<IpAddr>,
    port: u16,
    port_file: Option<PathBuf>,
    folder: PathBuf,
    command: Vec<OsString>,
}

impl Arguments {
    fn read() -> Result<Self, String> {
        use lexopt::prelude::*;
        let mut addresses = Vec::new();
        let mut port = USUAL_PORT;
        let mut port_file = None;
        let mut folder = None;
        let wrong = |e: lexopt::Error| e.to_string();
        // `--` ends the options, so the command is cut off first.
        let mut raw: Vec<OsString> = std::env::args_os().skip(1).collect();
        let command = match raw.iter().position(|arg| arg == "--") {
            Some(at) => raw.split_off(at).into_iter().skip(1).collect(),
            None => Vec::new(),
        };
        let mut parser = lexopt::Parser::from_args(raw);
        while let Some(arg) = parser.next().map_err(wrong)? {
            match arg {
                Long("addr") => {
                    let text = parser.value().and_then(ValueExt::string).map_err(wrong)?;
                    let address: IpAddr = text
                        .parse()
                        .map_err(|_| format!("not an address: {text:?}"))?;
                    if !address.is_loopback() {
                        return Err(format!("not a loopback address: {address}"));
                    }
                    addresses.push(address);
                }
                Long("port") => {
                    port = parser.value().and_then(|v| v.parse()).map_err(wrong)?;
                }
                Long("port-file") => {
                    port_file = Some(parser.value().map_err(wrong)?.into());
                }
                Long("help") | Short('h') => {
                    println!("{USAGE}");
                    std::process::exit(0);
                }
                Value(value) if folder.is_none() => folder = Some(value.into()),
                other => return Err(other.unexpected().to_string()),
            }
        }
        if addresses.is_empty() {
            addresses.push(IpAddr::from([127, 0, 0, 1]));
        }
        Ok(Arguments {
            addresses,
            port,
            port_file,
            folder: folder.ok_or("no folder is given")?,
            command,
        })
    }
}

fn serve(arguments: Arguments) -> Result<ExitCode, String> {
    let signals = Signals::watch().map_err(|e| format!("cannot watch for signals: {e}"))?;
    let site = Site::load(arguments.folder)?;
    let addresses = available(&arguments.addresses)?;
    let server = Server::builder()
        .addresses(&addresses.iter().map(String::as_str).collect::<Vec<_>>())
        .port(arguments.port)
        .try_start(move |req| site.answer(req))
        .map_err(|e| match e.kind() {
            io::ErrorKind::AddrInUse => {
                format!("{e}\nstop what listens there, or choose another port with --port")
            }
            _ => e.to_string(),
        })?;
    if let Some(file) = arguments.port_file {
        std::fs::write(&file, format!("{}\n", server.port()))
            .map_err(|e| format!("{}: {e}", file.display()))?;
    }
    for at in 0..addresses.len() {
        eprintln!("serving http://{}/", server.authority(at));
    }
    let code = if let Some((program, rest)) = arguments.command.split_first() {
        run(program, rest, server.port(), &signals)?
    } else {
        while !signals.interrupted() && !signals.terminated() {
            thread::sleep(LOOK);
        }
        ExitCode::SUCCESS
    };
    let log = server.log();
    eprintln!(
        "served {} requests on {} connections, at most {} in any one second",
        log.len(),
        log.connections(),
        log.max_in_window(Duration::from_secs(1)),
    );
    Ok(code)
}

/// The addresses that this machine has. Some systems have 127.0.0.1 alone
/// until told otherwise; the first address is needed.
fn available(addresses: &[IpAddr]) -> Result<Vec<String>, String> {
    let mut there = Vec::new();
    for (at, &address) in addresses.iter().enumerate() {
        match TcpListener::bind((address, 0)) {
            Ok(_) => there.push(address.to_string()),
            Err(e) if at > 0 && e.kind() == io::ErrorKind::AddrNotAvailable => {
                eprintln!("serve: {address} is not set up on this machine; going on without it");
            }
            Err(e) => return Err(format!("{address}: {e}")),
        }
    }
    Ok(there)
}

/// Runs the command to its end.
fn run(
    program: &OsString,
    rest: &[OsString],
    port: u16,
    signals: &Signals,
) -> Result<ExitCode, String> {
    let child = Command::new(program)
        .args(rest)
        .env("SERVE_PORT", port.to_string())
        .spawn();
    match child {
        Ok(child) => Ok(exit_code(wait(child, signals).map_err(|e| e.to_string())?)),
        Err(e) => {
            eprintln!("serve: cannot start {}: {e}", program.display());
            Ok(ExitCode::from(NO_COMMAND))
        }
    }
}

/// Waits for the command's end. A Ctrl-C reaches the command from the terminal
/// itself, and the server stays up for what the command still has to do; a
/// SIGTERM is passed on.
fn wait(mut child: Child, signals: &Signals) -> io::Result<ExitStatus> {
    let mut passed_on = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if signals.terminated() && !passed_on {
            passed_on = true;
            let script = format!("kill -s TERM {}", child.id());
            Command::new("sh").args(["-c", &script]).status()?;
        }
        thread::sleep(LOOK);
    }
}

fn exit_code(status: ExitStatus) -> ExitCode {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal: Option<i32> = None;
    let code = status
        .code()
        .unwrap_or_else(|| signal.map_or(1, |number| SIGNAL_BASE + number));
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// The signals that came.
struct Signals {
    interrupt: Arc<AtomicBool>,
    terminate: Arc<AtomicBool>,
}

impl Signals {
    fn watch() -> io::Result<Self> {
        let signals = Signals {
            interrupt: Arc::default(),
            terminate: Arc::default(),
        };
        for (signal, flag) in [
            (signal_hook::consts::SIGINT, &signals.interrupt),
            (signal_hook::consts::SIGTERM, &signals.terminate),
        ] {
            signal_hook::flag::register(signal, Arc::clone(flag))?;
        }
        Ok(signals)
    }

    fn interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    fn terminated(&self) -> bool {
        self.terminate.load(Ordering::Relaxed)
    }
}
