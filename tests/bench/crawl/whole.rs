//! Whole crawls of the site, in turn in one run: the bare client, Canter with
//! and without a state, wget2. What they did is checked before it is believed.

use std::collections::HashSet;
use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use crate::child::{self, Usage};
use crate::program::{self, Crawl};
use crate::server::Server;
use crate::site;

/// Each crawl is run so often, in turn with the others; the middle time counts.
const ROUNDS: usize = 3;
/// Times are given for so many pages.
const PER: f64 = 10_000.0;
/// The exit code of a complete crawl.
const COMPLETE: Option<i32> = Some(0);

#[derive(Clone, Copy, PartialEq)]
enum What {
    /// The bare client.
    Floor,
    Canter,
    /// Canter that keeps a state.
    Kept,
    Wget2,
}

impl What {
    fn name(self) -> &'static str {
        match self {
            What::Floor => "bare ureq loop",
            What::Canter => "canter",
            What::Kept => "canter, [state]",
            What::Wget2 => "wget2",
        }
    }
}

/// The crawls of the table, and how many connections each has.
const CRAWLS: [(What, usize); 13] = [
    (What::Floor, 4),
    (What::Canter, 4),
    (What::Kept, 4),
    (What::Wget2, 4),
    (What::Floor, 16),
    (What::Canter, 16),
    (What::Kept, 16),
    (What::Wget2, 16),
    (What::Floor, 64),
    (What::Canter, 64),
    (What::Kept, 64),
    (What::Wget2, 64),
    (What::Canter, 256),
];

struct Row {
    what: What,
    connections: usize,
    runs: Vec<Usage>,
    requests: usize,
}

impl Row {
    fn cpu(&self) -> Duration {
        self.middle(|usage| usage.cpu)
    }

    fn wall(&self) -> Duration {
        self.middle(|usage| usage.wall)
    }

    /// The most that any run had, in MiB.
    fn peak(&self) -> f64 {
        let peaks = self.runs.iter().map(|usage| usage.peak);
        peaks.max().unwrap_or(0) as f64 / 1024.0
    }

    fn middle(&self, of: impl Fn(&Usage) -> Duration) -> Duration {
        let mut times: Vec<Duration> = self.runs.iter().map(of).collect();
        times.sort_unstable();
        times[times.len() / 2]
    }
}

/// Runs the crawls and prints the table.
pub(crate) fn run(folder: &Path) {
    let server = serve(folder);
    let mut wget2 = Command::new("wget2");
    wget2.arg("--version").stdout(Stdio::null());
    let has_wget2 = wget2.status().is_ok_and(|status| status.success());
    if !has_wget2 {
        println!("wget2 is not installed: its rows are left out");
    }
    let mut rows: Vec<Row> = CRAWLS
        .into_iter()
        .filter(|(what, _)| has_wget2 || *what != What::Wget2)
        .map(|(what, connections)| Row {
            what,
            connections,
            runs: Vec::new(),
            requests: 0,
        })
        .collect();
    for _ in 0..ROUNDS {
        for row in &mut rows {
            let usage = crawl(row.what, row.connections, &server, &folder.join("run"));
            row.requests = check(row, &server);
            row.runs.push(usage);
        }
    }
    print(&rows);
    print_goals(&rows);
}

/// Serves the site.
pub(crate) fn serve(folder: &Path) -> Server {
    let root = folder.join("site");
    site::write(&root);
    Server::nginx(&folder.join("nginx"), &root).unwrap_or_else(|| {
        println!("nginx is not installed: a server of the bench's own stands in for it");
        let pages: Vec<Arc<str>> = (0..site::PAGES).map(|n| site::page(n).into()).collect();
        Server::own(move |path| {
            (0..site::PAGES)
                .find(|&page| site::path(page) == path)
                .map(|page| Arc::clone(&pages[page]))
        })
    })
}

fn crawl(what: What, connections: usize, server: &Server, folder: &Path) -> Usage {
    if folder.exists() {
        fs::remove_dir_all(folder).expect("a folder of ours");
    }
    fs::create_dir_all(folder).expect("a folder for the run");
    server.take_asked();
    let mut crawl = Crawl::of(server.url("/"), connections);
    match what {
        What::Floor => child::run(
            Command::new(env::current_exe().expect("a path"))
                .arg("floor")
                .arg(server.address().to_string())
                .arg(connections.to_string()),
        ),
        What::Canter | What::Kept => {
            crawl.state = what == What::Kept;
            let usage = child::run(&mut crawl.command(folder));
            assert_eq!(usage.code, COMPLETE, "the crawl is complete");
            assert_eq!(
                program::records(folder),
                site::PAGES,
                "a record for each page"
            );
            usage
        }
        What::Wget2 => child::run(
            Command::new("wget2")
                .args([
                    "--quiet",
                    "--recursive",
                    "--level=inf",
                    "--no-host-directories",
                ])
                .arg(format!("--max-threads={connections}"))
                .arg(server.url("/"))
                .current_dir(folder)
                .stdout(Stdio::null())
                .stderr(Stdio::null()),
        ),
    }
}

/// Every page must have been asked for, and by us only once.
fn check(row: &Row, server: &Server) -> usize {
    let asked = server.take_asked();
    let pages: HashSet<&str> = asked.iter().map(String::as_str).collect();
    for page in 0..site::PAGES {
        let path = site::path(page);
        assert!(pages.contains(&*path), "{}: {path}", row.what.name());
    }
    if row.what != What::Wget2 {
        assert_eq!(pages.len(), asked.len(), "{}: once each", row.what.name());
    }
    asked.len()
}

fn per_pages(time: Duration) -> f64 {
    time.as_secs_f64() * PER / site::PAGES as f64
}

fn find(rows: &[Row], what: What, connections: usize) -> Option<&Row> {
    rows.iter()
        .find(|row| row.what == what && row.connections == connections)
}

fn print(rows: &[Row]) {
    println!(
        "Whole crawls of {} pages with {} links each: processor seconds (user and system) for \
         10,000 pages and wall time are the middle of {ROUNDS} runs in turn, memory is the most.",
        site::PAGES,
        site::LINKS
    );
    println!();
    println!("| crawl | connections | CPU s | wall s | peak MiB | requests |");
    println!("|---|---|---|---|---|---|");
    for row in rows {
        println!(
            "| {} | {} | {:.2} | {:.2} | {:.1} | {} |",
            row.what.name(),
            row.connections,
            per_pages(row.cpu()),
            row.wall().as_secs_f64(),
            row.peak(),
            row.requests
        );
    }
    println!();
}

fn print_goals(rows: &[Row]) {
    let cpu = |what, connections| find(rows, what, connections).map(|row| row.cpu().as_secs_f64());
    let peak = |connections| find(rows, What::Canter, connections).map(Row::peak);
    let ratio = |over: Option<f64>, under: Option<f64>| Some(over? / under?);
    let canter = cpu(What::Canter, 16);
    println!("| at 16 connections, unless said | is | goal |");
    println!("|---|---|---|");
    let goal = |name: &str, is: Option<f64>, goal: f64| {
        if let Some(is) = is {
            println!("| {name} | {is:.2} | {goal} |");
        }
    };
    goal("CPU over wget2's", ratio(canter, cpu(What::Wget2, 16)), 0.4);
    goal(
        "CPU over the bare loop's",
        ratio(canter, cpu(What::Floor, 16)),
        2.5,
    );
    goal(
        "CPU with [state] over without",
        ratio(cpu(What::Kept, 16), canter),
        1.1,
    );
    goal("peak MiB", peak(16), 20.0);
    goal("peak MiB at 256 connections", peak(256), 60.0);
    println!();
}
