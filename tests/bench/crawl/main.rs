//! What whole crawls cost: processor time, memory, time to start. The program
//! itself is run, as users run it, against servers on loopback.
//!
//! `cargo bench --bench crawl [-- PART...]`, where a part is `whole`, `start`,
//! `queue`, `broad` or `long`; without one, all but the last are run. `long` may
//! be followed by a number of requests. `serve` serves the site until it is ended. Needs Linux: what a process took is
//! read from `/proc`. nginx and wget2 are used when they are installed.

mod broad;
mod child;
mod floor;
mod long;
mod program;
mod queue;
mod server;
mod site;
mod start;
mod whole;

use std::env;
use std::fs;

/// Requests of the long crawl when nobody says how many.
const LONG: usize = 1_000_000;

fn main() {
    let args: Vec<String> = env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with("--"))
        .collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        // Children of this bench.
        ["floor", address, connections] => {
            let connections = connections.parse().expect("a number");
            floor::run(address.parse().expect("an address"), connections);
        }
        ["hosts", port, hosts] => {
            let hosts = hosts.parse().expect("a number");
            broad::crawl(port.parse().expect("a port"), hosts);
        }
        // For a profiler: the site, until somebody ends it.
        ["serve"] => {
            let folder = env::temp_dir().join("canter-bench-site");
            let server = whole::serve(&folder);
            println!("{}", server.url("/"));
            std::thread::park();
        }
        _ => parts(&args),
    }
}

fn parts(wanted: &[&str]) {
    let folder = env::temp_dir().join(format!("canter-bench-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder for temporary files");
    let all = ["whole", "start", "queue", "broad"];
    let parts = if wanted.is_empty() { &all } else { wanted };
    for (at, part) in parts.iter().enumerate() {
        match *part {
            "whole" => whole::run(&folder),
            "start" => start::run(&folder),
            "queue" => queue::run(&folder),
            "broad" => broad::run(&folder),
            "long" => {
                let requests = parts.get(at + 1).and_then(|number| number.parse().ok());
                long::run(&folder, requests.unwrap_or(LONG));
            }
            number if number.parse::<usize>().is_ok() => {}
            other => panic!("no part is named {other:?}"),
        }
    }
    fs::remove_dir_all(&folder).expect("a folder of ours");
}
