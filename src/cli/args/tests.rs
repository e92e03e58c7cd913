//! What a command line is read as, and what is said of one that cannot be.

use super::*;

fn run(args: &[&str]) -> RunArgs {
    match parse(args) {
        Ok(Command::Run(run)) => run,
        other => panic!("{args:?}: {other:?}"),
    }
}

#[test]
fn options_may_stand_before_and_after_what_they_belong_to() {
    let expected = RunArgs {
        given: Given {
            file: Some("c.toml".into()),
            urls: Vec::new(),
            settings: vec![
                ("--deadline", "policy.deadline", "10m".to_owned()),
                ("--set", "", "a.b=1=2".to_owned()),
                ("--max-requests", "policy.max_requests", "-5".to_owned()),
            ],
        },
        fresh: true,
        dry_run: true,
        talk: Talk {
            quiet: true,
            verbose: 2,
            json: true,
        },
        report: Some("r.html".into()),
    };
    let args = "run --deadline 10m c.toml --set=a.b=1=2 -qvv --max-requests -5 --fresh --report \
         r.html --dry-run --json-logs";
    assert_eq!(run(&args.split(' ').collect::<Vec<_>>()), expected);
}

#[test]
fn crawl_takes_urls_and_short_names_of_settings() {
    let args = run(&[
        "crawl",
        "http://a.test/",
        "--depth",
        "2",
        "-",
        "-o",
        "x.jsonl",
    ]);
    assert_eq!(args.given.urls, ["http://a.test/", "-"]);
    let settings: Vec<_> = args.given.settings.iter().map(|(_, key, _)| *key).collect();
    assert_eq!(settings, ["crawl.max_depth", "output.path"]);
    let settings = args.given.source().unwrap().read().unwrap();
    assert_eq!(settings.crawl.seeds.len(), 1);
    assert_eq!(settings.crawl.seed_files, [crate::config::SeedFile::Stdin]);
    assert_eq!(settings.crawl.max_depth, Some(2));
}

#[test]
fn what_cannot_be_used_is_named_with_what_was_meant() {
    for (args, expected) in [
        ("", "no command is given; see `canter --help`"),
        (
            "rum c.toml",
            "unknown command \"rum\"; did you mean `canter run`?",
        ),
        (
            "http://a.test/",
            "unknown command \"http://a.test/\"; did you mean `canter crawl http://a.test/`?",
        ),
        (
            "c.toml",
            "unknown command \"c.toml\"; did you mean `canter run c.toml`?",
        ),
        (
            "frobnicate",
            "unknown command \"frobnicate\"; see `canter --help`",
        ),
        (
            "--verison",
            "unknown option --verison; did you mean --version?",
        ),
        (
            "--deadline 1 run",
            "unknown option --deadline; options follow a command, see `canter --help`",
        ),
        (
            "run",
            "`canter run` needs a configuration file; see `canter help run`",
        ),
        (
            "check",
            "`canter check` needs a configuration file; see `canter help check`",
        ),
        (
            "init http://a.test/ http://b.test/",
            "unexpected argument \"http://b.test/\"; `canter init` takes a URL",
        ),
        (
            "crawl",
            "`canter crawl` needs a URL; see `canter help crawl`",
        ),
        (
            "run a b",
            "unexpected argument \"b\"; `canter run` takes one configuration file",
        ),
        (
            "run http://a.test/",
            "\"http://a.test/\" is not a configuration file; URLs are for `canter crawl`",
        ),
        (
            "run c --dedline 1",
            "unknown option --dedline of `canter run`; did you mean --deadline?",
        ),
        (
            "check c --fresh",
            "unknown option --fresh of `canter check`; see `canter help check`",
        ),
        (
            "run c -x",
            "unknown option -x of `canter run`; see `canter help run`",
        ),
        (
            "run c --deadline",
            "missing argument for option '--deadline'; see `canter help run`",
        ),
        (
            "run c --fresh=yes",
            "unexpected argument for option '--fresh': \"yes\"; see `canter help run`",
        ),
        (
            "help rum",
            "unknown command \"rum\"; did you mean `canter run`?",
        ),
    ] {
        let words: Vec<&str> = args.split_whitespace().collect();
        let error = parse(words).expect_err(args);
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn help_is_found_wherever_it_is_looked_for() {
    for args in [
        "help run",
        "run --help",
        "run c.toml -h",
        "run --fresh --help",
    ] {
        let words: Vec<&str> = args.split(' ').collect();
        assert_eq!(parse(words), Ok(Command::Help(command("run"))), "{args}");
    }
    for args in ["help", "--help", "-h", "help help"] {
        let words: Vec<&str> = args.split(' ').collect();
        assert_eq!(parse(words), Ok(Command::Help(None)), "{args}");
    }
    assert_eq!(parse(["-V"]), Ok(Command::Version));
}

#[test]
fn a_hyphen_is_standard_output_for_every_command_that_writes_a_file() {
    for (named, not_named) in [
        ("init -o -", "init"),
        ("report c.toml --output -", "report c.toml"),
        ("extract c.toml -o -", "extract c.toml"),
    ] {
        let words = |args: &'static str| args.split(' ').collect::<Vec<_>>();
        let parsed = parse(words(named));
        assert!(parsed.is_ok(), "{named}");
        assert_eq!(parsed, parse(words(not_named)), "{named}");
    }
}
