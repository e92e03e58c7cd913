//! Folders, clocks and changes for the tests of the ledger.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime};

use canter::ledger::{
    Anchor, Change, End, Ended, Identity, Ledger, LedgerOptions, OutputSpec, PageMemory, Pending,
    Queued, Restored, StateSpec, Totals,
};
use canter::{ErrorKind, Purpose, Request, Url};

/// A folder of a test's own, removed when it ends well.
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("ledger-{name}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder for the test");
        Folder { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.join("state")
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.join("state/journal.jsonl")
    }

    /// Every file in it, with its bytes.
    pub(crate) fn snapshot(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(&self.path, &mut files);
        files
    }

    pub(crate) fn restore(&self, files: &BTreeMap<PathBuf, Vec<u8>>) {
        let _ = fs::remove_dir_all(&self.path);
        for (path, bytes) in files {
            fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
            fs::write(path, bytes).expect("a file is written");
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

fn collect(dir: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(dir).expect("the folder can be read") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            let bytes = fs::read(&path).expect("the file can be read");
            files.insert(path, bytes);
        }
    }
}

static START: LazyLock<Instant> = LazyLock::new(Instant::now);
/// The wall clock at the start of every test.
pub(crate) const EPOCH: Duration = Duration::from_secs(1_700_000_000);

/// The moment so many seconds after the start.
pub(crate) fn at(seconds: u64) -> Anchor {
    Anchor {
        instant: instant(seconds),
        wall: SystemTime::UNIX_EPOCH + EPOCH + Duration::from_secs(seconds),
    }
}

pub(crate) fn instant(seconds: u64) -> Instant {
    // Far enough from the start of the clock to look back a few days.
    *START + Duration::from_secs(10 * 24 * 3600 + seconds)
}

/// The identity of the crawl that begins at page 0.
pub(crate) fn identity() -> Identity {
    Identity {
        seeds: vec![fingerprint(0)],
        label: url(0).to_string(),
        settings: "hosts = [\"a.test\"]".to_owned(),
    }
}

/// Records, log and state, all in the folder.
pub(crate) fn options(folder: &Folder, now: Anchor) -> LedgerOptions {
    let mut options = LedgerOptions::new(now);
    options.records = Some(OutputSpec::new(folder.join("pages.jsonl")));
    options.log = Some(OutputSpec::new(folder.join("log.jsonl")));
    options.state = Some(StateSpec::new(folder.state(), identity()));
    options
}

pub(crate) fn open(folder: &Folder, seconds: u64) -> (Ledger, Restored) {
    Ledger::open(options(folder, at(seconds))).expect("the ledger opens")
}

pub(crate) fn fingerprint(n: u64) -> u64 {
    (n + 1).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

pub(crate) fn url(n: u64) -> Url {
    Url::parse(&format!("http://a.test/page/{n}")).expect("a URL")
}

pub(crate) fn queued(n: u64) -> Queued {
    let referrer = (n > 0).then(|| Arc::from(url((n - 1) / 2).as_str()));
    Queued {
        fingerprint: fingerprint(n),
        request: Request::get(url(n))
            .expect("a request")
            .with_depth(u32::from(n > 0))
            .with_referrer(referrer),
        seed: n == 0,
        purpose: Purpose::Page,
    }
}

pub(crate) fn found(n: u64) -> Change {
    Change::Queued(Box::new(queued(n)))
}

pub(crate) fn ended(n: u64, end: End) -> Ended {
    let asked = !matches!(end, End::Skipped(_));
    Ended {
        fingerprint: fingerprint(n),
        url: url(n).to_string(),
        purpose: Purpose::Page,
        end,
        status: asked.then_some(200),
        attempts: u32::from(asked),
        to: None,
        message: None,
        referrer: None,
        depth: u32::from(n > 0),
        page: None,
        records: Vec::new(),
        beside: Vec::new(),
    }
}

pub(crate) fn record(n: u64) -> Box<[u8]> {
    format!("{{\"page\":{n},\"title\":\"Page {n} \\u2028 \\u0000 \\ud83e\\udd80\"}}")
        .into_bytes()
        .into()
}

/// A page that is done, with one record.
pub(crate) fn done(n: u64) -> Change {
    Change::Ended(Box::new(Ended {
        records: vec![record(n)],
        page: Some(Box::new(memory(n))),
        ..ended(n, End::Done)
    }))
}

pub(crate) fn failed(n: u64, kind: ErrorKind) -> Change {
    Change::Ended(Box::new(Ended {
        status: Some(500),
        attempts: 4,
        message: Some(format!("page {n} is broken")),
        ..ended(n, End::Failed(kind))
    }))
}

pub(crate) fn memory(n: u64) -> PageMemory {
    PageMemory {
        etag: Some(format!("\"{n}\"")),
        last_modified: Some("Wed, 21 Oct 2015 07:28:00 GMT".to_owned()),
        hash: Some(fingerprint(n) ^ 1),
        bytes: 12_000 + n,
        elapsed: Duration::from_millis(50 + n),
    }
}

pub(crate) fn pending(restored: &Restored) -> Vec<Pending> {
    let mut pending = Vec::new();
    restored
        .each_pending(|one| pending.push(one))
        .expect("the state can be read again");
    pending
}

/// The numbers of the pages that wait, in order.
pub(crate) fn waiting(restored: &Restored) -> Vec<u64> {
    pending(restored)
        .iter()
        .map(|pending| number_of(pending.queued.request.url()))
        .collect()
}

pub(crate) fn number_of(url: &Url) -> u64 {
    url.path()
        .rsplit('/')
        .next()
        .and_then(|number| number.parse().ok())
        .expect("a page of the test has a number")
}

/// The values on the lines of a file, each of which must be whole.
pub(crate) fn lines(path: &Path) -> Vec<serde_json::Value> {
    let bytes = fs::read(path).expect("the output can be read");
    assert!(
        bytes.is_empty() || bytes.ends_with(b"\n"),
        "{} ends with a whole line",
        path.display()
    );
    String::from_utf8(bytes)
        .expect("the output is UTF-8")
        .lines()
        .map(|line| serde_json::from_str(line).expect("every line is JSON"))
        .collect()
}

/// The page numbers in the records of a file.
pub(crate) fn pages_in(path: &Path) -> Vec<u64> {
    lines(path)
        .iter()
        .map(|line| line["page"].as_u64().expect("a record has its page"))
        .collect()
}

pub(crate) fn totals(requests: u64) -> Totals {
    Totals {
        requests,
        retried: requests / 3,
        unchanged: requests / 5,
        bytes: requests * 1000,
        elapsed: Duration::from_millis(requests * 10),
    }
}

/// A run of three commits over a few pages of every kind, which leaves some
/// waiting. What is committed with each can be told from the numbers.
pub(crate) fn small_run(folder: &Folder) {
    let (mut ledger, _) = open(folder, 0);
    let commits: [Vec<Change>; 3] = [
        vec![
            found(0),
            done(0),
            found(1),
            found(2),
            found(3),
            Change::Robots {
                origin: "http://a.test".into(),
                body: Arc::from(&b"User-agent: *\nDisallow: /x\n"[..]),
                at: instant(0),
            },
        ],
        vec![
            Change::Retried {
                fingerprint: fingerprint(1),
                attempt: 2,
                not_before: instant(100),
            },
            done(2),
            found(4),
            failed(3, ErrorKind::Http),
            Change::Paused {
                host: "a.test".into(),
                until: instant(500),
            },
        ],
        vec![done(1), found(5), found(6), done(4)],
    ];
    for (n, changes) in commits.iter().enumerate() {
        let n = n as u64;
        ledger
            .commit(changes, at(10 + n), totals(n + 1))
            .expect("a commit");
    }
}

/// How many times as much is tried as usual: `CANTER_TORTURE=30`.
pub(crate) fn torture() -> u64 {
    std::env::var("CANTER_TORTURE").map_or(1, |times| times.parse().expect("a number"))
}
