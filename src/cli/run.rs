//! `canter run` and `canter crawl`: a configuration made a crawl, watched and
//! listened for while it runs, and summed up at its end.

use std::io::{self, IsTerminal as _};
use std::time::SystemTime;

use super::args::RunArgs;
use super::exit::Exit;
use super::metrics::Metrics;
use super::progress::{Progress, View};
use super::signal::{self, Signals};
use super::summary::Summary;
use super::term::{self, STDERR};
use super::{advise, check, complain, logger, report, speak_json, speaks_json, target};
use crate::config::{Settings, Source};
use crate::crawler::{Crawler, StatsHandle};
use crate::error::{Error, ErrorKind, Result};

/// Runs a crawl to its end.
pub(super) fn run(args: &RunArgs) -> Exit {
    if args.talk.json {
        speak_json();
    }
    let settings = args.given.source().and_then(Source::read);
    if args.dry_run {
        return check::check(settings);
    }
    let settings = match settings {
        Ok(settings) => settings,
        Err(error) => {
            complain(&error.to_string());
            return Exit::Usage;
        }
    };
    logger::start(args.talk.verbose, args.talk.json);
    match crawl(&settings, args) {
        Ok(exit) => exit,
        // Nothing has begun: one line says it all.
        Err(error) => {
            let exit = Exit::of_error(&error);
            match exit {
                Exit::Signal(signal::PIPE) => {}
                _ => complain(&error.to_string()),
            }
            exit
        }
    }
}

/// Runs it, and tells how it ended once it has begun.
fn crawl(settings: &Settings, args: &RunArgs) -> Result<Exit> {
    if let Some(path) = &args.report {
        target::check(settings, "--report", path)?;
        report::can_write(path)
            .map_err(|message| Error::new(ErrorKind::Output).with_message(message))?;
    }
    let crawler = settings
        .crawler()?
        .fresh(args.fresh)
        .chronicle(args.report.is_some())
        .build()?;
    let stop = crawler.stop_handle();
    let at_once = stop.clone();
    let signals = signal::listen(move || stop.stop(), move || at_once.stop_now())
        .map_err(|error| Error::worker("signals cannot be listened for").with_source(error))?;
    let began = SystemTime::now();
    let metrics = Metrics::start(settings, began, crawler.stats_handle())?;
    let progress = Progress::start(view(settings, args), crawler.stats_handle());
    let result = crawler.run();
    drop(progress);
    let ended = match result {
        Err(error) if !has_begun(&crawler.stats_handle()) => Err(error),
        result => {
            let exit = conclude(settings, &crawler, &signals, began, result.err());
            Ok(write_report(settings, &crawler, args, exit))
        }
    };
    if let Some(metrics) = metrics {
        let exit = match &ended {
            Ok(exit) => *exit,
            Err(error) => Exit::of_error(error),
        };
        metrics.end(&crawler.stats(), exit);
    }
    ended
}

fn view(settings: &Settings, args: &RunArgs) -> View {
    // Records on the terminal are progress enough, and would run into the line.
    let records = settings.output.path.is_stdout() && io::stdout().is_terminal();
    let quiet = args.talk.quiet || args.talk.json || records;
    View::new(settings, !quiet && term::can_redraw())
}

/// Whether a run got so far that it has an end.
fn has_begun(stats: &StatsHandle) -> bool {
    stats.stats().end.is_some()
}

/// Writes a page about the run, if one is wanted.
fn write_report(settings: &Settings, crawler: &Crawler, args: &RunArgs, exit: Exit) -> Exit {
    let Some(path) = &args.report else {
        return exit;
    };
    match report::of_run(settings, crawler.chronicle().as_ref(), path) {
        Ok(()) => exit,
        Err(message) => {
            complain(&message);
            // What is worse than this is told as it is.
            if exit == Exit::Complete {
                Exit::Failure
            } else {
                exit
            }
        }
    }
}

/// Says how the run ended, in words and in the summary file.
fn conclude(
    settings: &Settings,
    crawler: &Crawler,
    signals: &Signals,
    began: SystemTime,
    error: Option<Error>,
) -> Exit {
    let stats = crawler.stats();
    let mut exit = match &error {
        Some(error) => Exit::of_error(error),
        None => Exit::of_end(stats.end, signals.stopped_by()),
    };
    if let Some(error) = &error
        && exit != Exit::Signal(signal::PIPE)
    {
        complain(&error.to_string());
    }
    for host in settings.hosts() {
        if stats.unmatched_host_rules.contains(&host.rule.name) {
            advise(&format!(
                "[[host]] {} ({}) matched no host of the crawl",
                host.shown_name(),
                host.origin
            ));
        }
    }
    let summary = Summary::new(settings, &stats, began);
    if let Some(path) = &settings.output.summary
        && let Some(path) = path.file(began, stats.pass)
        && let Err(error) = summary.write(&path, exit)
    {
        complain(&format!(
            "the summary cannot be written to {}: {error}",
            path.display()
        ));
        // What is worse than this is told as it is.
        if exit == Exit::Complete {
            exit = Exit::Failure;
        }
    }
    if speaks_json() {
        STDERR.print(&summary.object(exit));
    } else {
        complain(&summary.line(exit));
    }
    exit
}
