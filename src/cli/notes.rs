//! [`of`]: what a configuration allows and yet perhaps does not mean, for
//! `canter check`.

use std::collections::BTreeSet;

use super::progress::counted;
use super::seeds::Seeds;
use crate::config::{Existing, Origin, Settings, default_user_agent};

/// What is allowed and yet perhaps not meant: settings without effect above
/// all.
///
/// `hosts` are those of the crawl, if they are known; names of them that came
/// from the environment must not be shown.
pub(super) fn of(
    settings: &Settings,
    seeds: &Seeds,
    hosts: Option<&BTreeSet<String>>,
    may_show: bool,
) -> Vec<String> {
    let mut notes = Vec::new();
    let policy = &settings.policy;
    let set = |table: &str, key: &str| {
        settings.entries().iter().find(|entry| {
            entry.table == table && entry.key == key && entry.origin != Origin::Default
        })
    };
    let mut no_effect = |table: &str, key: &str, idle: bool, why: &str| {
        if let Some(entry) = set(table, key).filter(|_| idle) {
            notes.push(format!(
                "{table}.{key} ({}) has no effect {why}",
                entry.origin
            ));
        }
    };
    no_effect(
        "policy",
        "burst",
        policy.max_requests_per_minute.is_none() && policy.burst > 1,
        "without max_requests_per_minute",
    );
    for key in ["fields", "jsonld"] {
        no_effect(
            "output",
            key,
            !settings.output.pages,
            "since output.pages is false",
        );
    }
    no_effect(
        "policy",
        "max_host_delay",
        policy.max_host_delay < policy.host_delay,
        "since host_delay is longer",
    );
    no_effect(
        "policy",
        "max_retry_delay",
        policy.retry.max_retries == 0,
        "without retries",
    );
    no_effect(
        "policy",
        "host_concurrency",
        policy.host_concurrency > policy.concurrency,
        "beyond concurrency",
    );
    no_effect(
        "crawl",
        "revisit",
        settings.state.is_none() && !settings.crawl.revisit.is_zero(),
        "without state.dir",
    );
    no_effect(
        "crawl",
        "max_depth",
        !settings.crawl.follow,
        "since links are not followed",
    );
    no_effect(
        "output",
        "existing",
        settings.output.path.is_stdout(),
        "on standard output",
    );
    if let Some(metrics) = &settings.output.metrics
        && metrics.extension().is_none_or(|end| end != "prom")
    {
        notes.push(
            "output.metrics: the node exporter reads only files whose name ends in .prom"
                .to_owned(),
        );
    }
    if !settings.output.pages && !settings.has_rules() {
        notes.push(
            "no records are written: output.pages is false and there is no [extract.NAME]"
                .to_owned(),
        );
    }
    if settings.output.existing == Existing::Replace && settings.state.is_some() {
        notes.push(
            "output.existing = \"replace\" with state.dir: after a later pass the file holds \
             only what that pass wrote: new pages and those sent again; {pass} in its name \
             keeps each pass"
                .to_owned(),
        );
        if settings.output.bodies.is_some() {
            notes.push(
                "output.existing = \"replace\" with state.dir and output.bodies: the index of \
                 the kept bodies is replaced likewise, so that canter extract reads only what \
                 the last pass kept"
                    .to_owned(),
            );
        }
    }
    if let Some(entry) = set("scope", "drop_params") {
        notes.push(format!(
            "scope.drop_params ({}) replaces the list of session ids that is the default",
            entry.origin
        ));
    }
    for (key, origin) in &settings.crawl.exposed {
        notes.push(format!(
            "{key} ({origin}): a value from the environment is in the path of this URL, and so \
             in records, log and state"
        ));
    }
    notes.extend(outside_note(settings, seeds, may_show));
    unmatched_hosts(settings, hosts, &mut notes);
    if !settings.robots.obey {
        notes.push("robots.txt is not obeyed (robots.obey)".to_owned());
    }
    if settings.fetch.user_agent == default_user_agent() {
        notes.push(
            "fetch.user_agent is the default: name an address where you can be reached".to_owned(),
        );
    }
    notes
}

/// Rules that no host of the crawl comes to.
fn unmatched_hosts(settings: &Settings, hosts: Option<&BTreeSet<String>>, notes: &mut Vec<String>) {
    let all: Vec<_> = settings.hosts().collect();
    for (at, host) in all.iter().enumerate() {
        if host.hidden {
            continue;
        }
        let name = &host.rule.name;
        let any_of_it = name.strip_prefix("*.").map(|parent| format!("x.{parent}"));
        let example = any_of_it.as_deref().unwrap_or(name);
        // A pattern covers another one when it is the same or a shorter end.
        if let Some(first) = all[..at].iter().find(|rule| rule.rule.matches(example)) {
            notes.push(format!(
                "[[host]] {name} ({}) is never used: the table at {} comes first",
                host.origin, first.origin
            ));
        } else if hosts.is_some_and(|hosts| !hosts.iter().any(|of| host.rule.matches(of))) {
            notes.push(format!(
                "[[host]] {name} ({}) matches no host of the crawl",
                host.origin
            ));
        }
    }
}

/// Seeds that the scope leaves out.
fn outside_note(settings: &Settings, seeds: &Seeds, may_show: bool) -> Option<String> {
    let (first, count) = seeds.outside.as_ref()?;
    let entry = settings
        .entries()
        .iter()
        .find(|entry| entry.table == "scope" && entry.key == "hosts")?;
    let example = match (may_show, count) {
        (false, _) => String::new(),
        (true, 1) => format!(": {first}"),
        (true, _) => format!(", {first} first"),
    };
    Some(format!(
        "{} {} no host of scope.hosts ({}) and {} skipped{example}",
        counted(*count, "seed"),
        if *count == 1 { "has" } else { "have" },
        entry.origin,
        if *count == 1 { "is" } else { "are" },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Source;

    /// The notes, one a line.
    fn notes_of(text: &str) -> String {
        let settings = Source::text(text)
            .environment(|name| (name == "TOKEN").then(|| "hunter2".to_owned()))
            .read()
            .unwrap_or_else(|error| panic!("{error}"));
        let seeds = Seeds::read(&settings).unwrap_or_else(|errors| panic!("{}", errors[0]));
        super::super::check::report(&settings, &seeds)
            .split_once("Notes:\n")
            .map(|(_, notes)| notes.to_owned())
            .expect("there are notes")
    }

    #[test]
    fn a_setting_without_effect_is_noted() {
        let text = "[crawl]\nseeds = [\"https://a.test/\"]\nrevisit = \"1d\"\n\
                    [policy]\nmax_requests_per_minute = \"none\"\nburst = 5\n\
                    [robots]\nobey = false\n\
                    [[host]]\nname = \"*.b.test\"\ndelay = 1\n\
                    [[host]]\nname = \"c.b.test\"\ndelay = 2\n\
                    [[host]]\nname = \"a.test\"\n";
        let notes = notes_of(text);
        for note in [
            "policy.burst (line 6) has no effect without max_requests_per_minute",
            "crawl.revisit (line 3) has no effect without state.dir",
            "[[host]] *.b.test (line 9) matches no host of the crawl",
            "[[host]] c.b.test (line 12) is never used: the table at line 9 comes first",
            "robots.txt is not obeyed",
            "fetch.user_agent is the default",
        ] {
            assert!(notes.contains(note), "{note:?} in\n{notes}");
        }
        assert!(!notes.contains("[[host]] a.test"), "{notes}");
    }

    #[test]
    fn what_is_perhaps_not_meant_is_noted() {
        let seed = "crawl.seeds = [\"https://a.test/\"]\n";
        for (text, note) in [
            (
                "output.pages = false",
                "no records are written: output.pages is false and there is no [extract.NAME]",
            ),
            (
                "output = { path = \"p\", existing = \"replace\" }\nstate.dir = \"s\"",
                "after a later pass the file holds only what that pass wrote",
            ),
            (
                "output = { path = \"p\", existing = \"replace\", bodies = \"b\" }\nstate.dir = \"s\"",
                "the index of the kept bodies is replaced likewise",
            ),
            (
                "scope.drop_params = [\"utm_*\"]",
                "scope.drop_params (line 2) replaces the list of session ids",
            ),
            (
                "scope.hosts = [\"b.test\"]",
                "1 seed has no host of scope.hosts (line 2) and is skipped: https://a.test/",
            ),
        ] {
            let notes = notes_of(&format!("{seed}{text}\n"));
            assert!(notes.contains(note), "{note:?} in\n{notes}");
        }
        for text in [
            "scope.hosts = [\"a.test\"]",
            "output = { path = \"p\", existing = \"replace\" }",
            "state.dir = \"s\"",
        ] {
            assert_eq!(notes_of(&format!("{seed}{text}\n")).lines().count(), 1);
        }
    }

    #[test]
    fn a_value_of_the_environment_that_will_be_seen_is_noted() {
        for (key, url, is_noted) in [
            ("seeds", "https://a.test/${TOKEN}/x", true),
            ("sitemaps", "https://a.test/${TOKEN}.xml?p=1", true),
            ("seeds", "https://${TOKEN}/x", false),
            ("seeds", "https://${TOKEN}.test:80/", false),
            ("seeds", "https://a.test/x", false),
        ] {
            let notes = notes_of(&format!("[crawl]\n{key} = [\"{url}\"]\n"));
            let note = format!("crawl.{key} (line 2): a value from the environment is in the path");
            assert_eq!(notes.contains(&note), is_noted, "{url}: {notes}");
            assert!(!notes.contains("hunter2"), "{notes}");
        }
    }

    #[test]
    fn seeds_outside_the_scope_are_counted_and_never_shown_from_the_environment() {
        let hosts = "scope.hosts = [\"*.c.test\", \"b.test\"]\n";
        let notes = notes_of(&format!(
            "crawl.seeds = [\"http://b.test:8080/\", \"http://a.test/\", \"http://c.test/\"]\n{hosts}"
        ));
        assert!(
            notes.contains(
                "2 seeds have no host of scope.hosts (line 2) and are skipped, http://a.test/ first"
            ),
            "{notes}"
        );
        let notes = notes_of(&format!(
            "crawl.seeds = [\"http://${{TOKEN}}.test/\"]\n{hosts}"
        ));
        assert!(
            notes.contains("1 seed has no host of scope.hosts (line 2) and is skipped\n"),
            "{notes}"
        );
        assert!(!notes.contains("hunter2"), "{notes}");
    }
}
