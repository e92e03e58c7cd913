//! `canter run` and `canter crawl`: a configuration made a crawl.

use super::args::RunArgs;
use super::exit::Exit;
use super::{check, complain};
use crate::config::Source;

/// Runs a crawl to its end.
pub(super) fn run(args: &RunArgs) -> Exit {
    let settings = args.given.source().and_then(Source::read);
    if args.dry_run {
        return check::check(settings);
    }
    if let Err(error) = settings {
        complain(&error.to_string());
        return Exit::Usage;
    }
    complain("canter: this build checks configurations only");
    Exit::Failure
}
