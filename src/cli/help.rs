//! The commands and their options, in one table: what the parser knows, what
//! the help shows and what is suggested for a slip cannot differ.

use std::fmt::Write as _;

/// An option.
#[derive(Debug, PartialEq)]
pub(super) struct Opt {
    /// Its name without dashes, and with them.
    pub(super) long: &'static str,
    pub(super) dashed: &'static str,
    pub(super) short: Option<char>,
    /// What its value is called; `None` for an option without one.
    pub(super) value: Option<&'static str>,
    /// The key that the value is put into; empty for `--set`, and for a value
    /// that is no setting.
    pub(super) key: &'static str,
    help: &'static str,
}

/// A command.
#[derive(Debug, PartialEq)]
pub(super) struct Spec {
    pub(super) name: &'static str,
    arguments: &'static str,
    /// Whether its arguments are URLs, not a configuration file.
    pub(super) takes_urls: bool,
    about: &'static str,
    more: &'static str,
    groups: &'static [&'static [Opt]],
}

impl Spec {
    /// Whether it takes several arguments.
    pub(super) fn takes_many(&self) -> bool {
        self.arguments.ends_with("...")
    }

    /// Whether it takes none as well.
    pub(super) fn takes_none(&self) -> bool {
        self.arguments.starts_with('[')
    }

    /// What it takes, in words.
    pub(super) fn wants(&self) -> &'static str {
        match self.arguments {
            "URL|FILE" => "a URL or a file",
            _ => "a URL",
        }
    }

    /// Every option of the command.
    pub(super) fn options(&self) -> impl Iterator<Item = &'static Opt> + use<> {
        self.groups.iter().flat_map(|group| group.iter())
    }
}

macro_rules! opt {
    ($long:literal $(, $short:literal)?; $value:literal -> $key:literal; $help:literal) => {
        Opt { value: Some($value), key: $key, ..opt!($long $(, $short)?; $help) }
    };
    ($long:literal, $short:literal; $help:literal) => {
        Opt { short: Some($short), ..opt!($long; $help) }
    };
    ($long:literal; $help:literal) => {
        Opt {
            long: $long,
            dashed: concat!("--", $long),
            short: None,
            value: None,
            key: "",
            help: $help,
        }
    };
}

const SETTINGS: &[Opt] = &[
    opt!("deadline"; "TIME" -> "policy.deadline";
        "start no request after this time, such as 10m"),
    opt!("max-requests"; "N" -> "policy.max_requests";
        "send at most N requests, of whatever kind"),
    opt!("set"; "KEY=VALUE" -> "";
        "set any key, such as policy.concurrency=8; may be repeated"),
];

const CRAWL_SETTINGS: &[Opt] = &[
    opt!("output", 'o'; "FILE" -> "output.path";
        "write records to FILE, not to standard output"),
    opt!("depth"; "N" -> "crawl.max_depth";
        "follow links at most N pages deep; 0 for the URLs alone"),
    opt!("rate"; "N" -> "policy.max_requests_per_minute";
        "start at most N requests a minute, or \"none\" for no bound"),
    opt!("delay"; "TIME" -> "policy.host_delay";
        "the least gap between two requests to one host"),
    opt!("concurrency"; "N" -> "policy.concurrency";
        "requests in flight at once"),
];

const ASK: &[Opt] = &[
    opt!("agent"; "NAME" -> "fetch.user_agent";
        "ask as NAME: a product token, or a whole User-Agent"),
    opt!("rate"; "N" -> "policy.max_requests_per_minute";
        "start at most N requests a minute, or \"none\" for no bound"),
    opt!("set"; "KEY=VALUE" -> "";
        "set any key, such as fetch.timeout=10; may be repeated"),
];

const ASK_MANY: &[Opt] = &[
    opt!("max-requests"; "N" -> "policy.max_requests";
        "send at most N requests"),
    opt!("deadline"; "TIME" -> "policy.deadline";
        "start no request after this time, such as 10m"),
];

const JSON: &[Opt] = &[opt!("json"; "JSON, for machines")];

const DRY_RUN: &[Opt] = &[opt!("dry-run"; "say what would be done, and send nothing")];

const FRESH: &[Opt] = &[opt!("fresh"; "forget what earlier runs kept, and begin anew")];

const TALK: &[Opt] = &[
    opt!("quiet", 'q'; "no progress line; the summary at the end stays"),
    opt!("verbose", 'v'; "log what happens; twice for every detail"),
    opt!("json-logs"; "log, errors and summary as JSON, an object a line"),
];

const PAGE: &[Opt] = &[opt!("report"; "FILE" -> "";
    "write a page about the run to FILE at its end")];

const REPORT: &[Opt] = &[opt!("output", 'o'; "FILE" -> "";
    "write the page to FILE, not to standard output")];

const INIT: &[Opt] = &[opt!("output", 'o'; "FILE" -> "";
    "write to FILE, which must not be there yet")];

const EXTRACT: &[Opt] = &[
    opt!("output", 'o'; "FILE" -> "";
        "write items to FILE, as CSV if it ends in .csv"),
    opt!("into"; "FOLDER" -> "";
        "write what the crawl wrote, under the same names, into FOLDER"),
    opt!("set"; "KEY=VALUE" -> "";
        "set any key, such as output.fields=[\"url\",\"text\"]; may be repeated"),
    opt!("quiet", 'q'; "no line at the end"),
    opt!("verbose", 'v'; "log what happens; twice for every detail"),
];

const LOOK: &[Opt] = &[
    opt!("failed"; "list the URLs that failed, and why"),
    opt!("json"; "JSON, for machines"),
];

const HELP: &[Opt] = &[opt!("help", 'h'; "show this help")];

/// Every command.
pub(super) const COMMANDS: &[Spec] = &[
    Spec {
        name: "run",
        arguments: "CONFIG",
        takes_urls: false,
        about: "run the crawl that a configuration describes",
        more: "Records go where output.path says, everything else to standard error.\n\
               With [state] a run that was stopped goes on where it ended.",
        groups: &[SETTINGS, FRESH, DRY_RUN, PAGE, TALK, HELP],
    },
    Spec {
        name: "crawl",
        arguments: "URL...",
        takes_urls: true,
        about: "crawl from some URLs, records to standard output",
        more: "One line of JSON for each page. Nothing is kept between runs.\n\
               \"-\" reads further URLs from standard input, one a line. When nobody reads the\n\
               records any more (canter crawl URL | head), the crawl ends, with code 141.",
        groups: &[CRAWL_SETTINGS, SETTINGS, DRY_RUN, PAGE, TALK, HELP],
    },
    Spec {
        name: "check",
        arguments: "CONFIG",
        takes_urls: false,
        about: "check a configuration and show what is in effect",
        more: "Shows every value and where it comes from, how each host is treated, and the\n\
               least time that a crawl takes. Nothing is requested and nothing written.",
        groups: &[SETTINGS, HELP],
    },
    Spec {
        name: "init",
        arguments: "[URL]",
        takes_urls: true,
        about: "write a configuration to begin with",
        more: "With a URL, the site is asked for its robots.txt and that page, politely, and\n\
               what they say goes into the configuration. `canter check` accepts it as it is.\n\
               A file that is there stays as it is, and the command ends with 2.",
        groups: &[INIT, HELP],
    },
    Spec {
        name: "status",
        arguments: "CONFIG",
        takes_urls: false,
        about: "show what the state of a crawl holds",
        more: "Needs no lock: it can be asked while a run goes on, and tells what was true at\n\
               the last checkpoint. Before the first run it says so, and that is no failure.",
        groups: &[LOOK, HELP],
    },
    Spec {
        name: "extract",
        arguments: "CONFIG",
        takes_urls: false,
        about: "run the extraction again over saved bodies",
        more: "Reads the pages that runs with output.bodies have kept, without the network and on\n\
               every core (RAYON_NUM_THREADS sets how many), and writes the items that the\n\
               configuration makes of them now, in the order of the crawl.",
        groups: &[EXTRACT, HELP],
    },
    Spec {
        name: "report",
        arguments: "CONFIG",
        takes_urls: false,
        about: "write a page about the last run and the crawl",
        more: "One HTML file that needs no other: plots of pace, answers, times, pauses and\n\
               failures. Needs [state], and no lock: it can be asked while a run goes on. Before\n\
               the first run the page says so, and that is no failure.",
        groups: &[REPORT, HELP],
    },
    Spec {
        name: "robots",
        arguments: "URL",
        takes_urls: true,
        about: "say whether a URL may be fetched, and which line decides",
        more: "Asks for the robots.txt of the URL's site, and for nothing else. Ends with 0 if the\n\
               URL may be fetched, with 5 if it may not or nobody can tell.",
        groups: &[ASK, HELP],
    },
    Spec {
        name: "sitemap",
        arguments: "URL|FILE",
        takes_urls: true,
        about: "list the URLs of a sitemap, an index or a feed",
        more: "The sitemaps that an index lists are read too, one after the other; those that an\n\
               index in a file lists are only listed. \"-\" is standard input. robots.txt is not\n\
               asked for: what is read was named. Ends with 5 if nothing could be read\n\
               or listed.",
        groups: &[ASK, ASK_MANY, JSON, HELP],
    },
];

const EXIT_CODES: &str = "\
Exit codes:
  0      the crawl is complete
  1      something failed on our side: disk full, output not writable
  2      the command line or the configuration cannot be used
  3      a bound was reached (deadline, max_requests): the rest is pending
  4      a stop rule ended it: the site refuses
  5      nothing could be fetched
  6      another run holds the state
  7      the state is damaged or belongs to something else
  128+n  stopped by signal n; the rest is pending
";

/// The first line of everything.
pub(super) fn version() -> String {
    concat!("canter ", env!("CARGO_PKG_VERSION"), "\n").to_owned()
}

/// The help of the whole program.
pub(super) fn overview() -> String {
    let mut out = version();
    out.push_str("A polite web crawler.\n\nUsage:\n");
    let width = COMMANDS.iter().map(|spec| usage(spec).len()).max();
    let width = width.unwrap_or(0) + 2;
    for spec in COMMANDS {
        let _ = writeln!(out, "  {:width$}{}", usage(spec), spec.about);
    }
    let _ = writeln!(
        out,
        "  {:width$}the options of a command",
        "canter help COMMAND"
    );
    out.push_str(
        "\nOptions:\n  -h, --help     show this help\n  -V, --version  show the version\n\n",
    );
    out.push_str(EXIT_CODES);
    out.push_str("\nRUST_LOG sets what is logged, such as RUST_LOG=canter=debug.\n");
    out
}

fn usage(spec: &Spec) -> String {
    format!("canter {} {}", spec.name, spec.arguments)
}

/// The help of one command.
pub(super) fn of(spec: &Spec) -> String {
    let mut out = format!("Usage: {} [OPTIONS]\n\n", usage(spec));
    let mut about = spec.about.chars();
    let first = about.next().map(|c| c.to_ascii_uppercase());
    out.extend(first);
    out.push_str(about.as_str());
    let _ = write!(out, ".\n{}\n\nOptions:\n", spec.more);
    let name = |option: &Opt| {
        let short = option
            .short
            .map_or("    ".to_owned(), |c| format!("-{c}, "));
        let value = option.value.map_or(String::new(), |v| format!(" {v}"));
        format!("{short}{}{value}", option.dashed)
    };
    let width = spec.options().map(|option| name(option).len()).max();
    let width = width.unwrap_or(0) + 2;
    for option in spec.options() {
        let _ = writeln!(out, "  {:width$}{}", name(option), option.help);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_option_has_the_name_of_another_and_no_line_is_wider_than_a_terminal() {
        for spec in COMMANDS {
            let mut names: Vec<&str> = spec.options().map(|option| option.long).collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{}", spec.name);
            for line in of(spec).lines().chain(overview().lines()) {
                assert!(line.chars().count() <= 90, "{line}");
            }
        }
    }

    /// A value that the key takes.
    fn sample(key: &str) -> &'static str {
        match key {
            "fetch.user_agent" => "us",
            _ => "1",
        }
    }

    #[test]
    fn an_option_with_a_value_names_a_key_that_there_is() {
        for option in COMMANDS.iter().flat_map(Spec::options) {
            if option.value.is_none() || option.key.is_empty() {
                continue;
            }
            let settings = crate::config::Source::text("crawl.seeds = [\"http://a.test/\"]")
                .option(option.dashed, option.key, sample(option.key))
                .read()
                .unwrap_or_else(|error| panic!("{error}"));
            let origin = crate::config::Origin::CommandLine(option.dashed);
            assert!(
                settings
                    .entries()
                    .iter()
                    .any(|entry| entry.origin == origin)
            );
        }
    }
}
