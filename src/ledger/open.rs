//! Opening a ledger. Keeps: locks first, then checks, then changes; whoever is
//! refused has changed nothing.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::anchor::{Anchor, date};
use super::fault::Fault;
use super::journal::{FILE, Journal};
use super::lock::{Locked, folder_of, lock_folder, make_folder, relative, with_suffix};
use super::model::Model;
use super::options::{Identity, LedgerOptions, OutputSpec, StateSpec, sorted};
use super::output::{Mark, Marks, Output, fill_in, is_standard_output};
use super::plan::{Known, Plan, trim};
use super::replay::replay;
use super::restored::{Beginning, Restored};
use super::table::SEED;
use super::{Ledger, State, format, parse};
use crate::error::{Error, Result};

/// What an output is called in messages.
fn name(at: usize) -> &'static str {
    match at {
        RECORDS => "records",
        LOG => "log",
        _ => "output",
    }
}

/// Places in the lists of outputs; those beside the records follow.
const RECORDS: usize = 0;
const LOG: usize = 1;

pub(super) fn open(options: LedgerOptions) -> Result<(Ledger, Restored)> {
    let LedgerOptions {
        records,
        beside,
        log,
        summary,
        state,
        sinks,
        now,
    } = options;
    let mut specs = vec![records, log];
    specs.extend(beside.into_iter().map(Some));
    let wanted = Wanted {
        specs,
        summary,
        now,
    };
    let columns = |at: usize| wanted.specs[at].as_ref()?.csv.clone();
    let csv: Vec<_> = (0..wanted.specs.len()).map(columns).collect();
    let ledger = |summary, mut outputs: Vec<Option<Output>>, state| Ledger {
        beside: outputs.drain(LOG + 1..).flatten().collect(),
        log: outputs.pop().flatten(),
        records: outputs.pop().flatten(),
        csv,
        summary,
        sinks,
        state,
        lines: Vec::new(),
        closed: None,
    };
    match state {
        None => {
            let mut restored = Restored::nothing(now);
            let targets = wanted.targets(1)?;
            let plans = wanted.plans(targets, &[], &mut restored.notes)?;
            let outputs = carry_out(plans)?;
            log_notes(&restored.notes);
            Ok((ledger(wanted.summary, outputs, None), restored))
        }
        Some(spec) => {
            let lock = lock_folder(&spec.dir)?;
            let (outputs, state, restored) = open_state(&wanted, spec, lock)?;
            log_notes(&restored.notes);
            Ok((ledger(wanted.summary, outputs, Some(state)), restored))
        }
    }
}

fn log_notes(notes: &[String]) {
    for note in notes {
        log::warn!("{note}");
    }
}

/// What is to be kept besides the state.
struct Wanted {
    /// Records, log, and what is beside them.
    specs: Vec<Option<OutputSpec>>,
    summary: Option<PathBuf>,
    now: Anchor,
}

impl Wanted {
    /// The files to write, names filled in.
    fn targets(&self, pass: u64) -> Result<Vec<Option<PathBuf>>> {
        let day = date(self.now.wall);
        let fill = |spec: &OutputSpec| fill_in(&spec.path, &day, pass);
        let targets: Vec<_> = self.specs.iter().map(|s| s.as_ref().map(fill)).collect();
        let mut taken = HashMap::new();
        for (at, target) in targets.iter().enumerate() {
            let Some(target) = target else { continue };
            let place = if is_standard_output(target) {
                target.clone()
            } else {
                relative(Path::new("/"), target)
            };
            if let Some(other) = taken.insert(place, at) {
                return Err(Error::invalid(format!(
                    "{} and {} are the same file: {}",
                    name(other),
                    if name(at) == name(other) {
                        "another"
                    } else {
                        name(at)
                    },
                    target.display()
                )));
            }
        }
        Ok(targets)
    }

    /// Checks everything that is to be written.
    fn plans(
        &self,
        targets: Vec<Option<PathBuf>>,
        known: &[Option<Known>],
        notes: &mut Vec<String>,
    ) -> Result<Vec<Option<Plan>>> {
        let mut plans = Vec::with_capacity(targets.len());
        for (at, target) in targets.into_iter().enumerate() {
            let mut planned = None;
            if let (Some(target), Some(spec)) = (target, &self.specs[at]) {
                let mut plan = Plan::new(target, spec, known.get(at).copied().flatten())?;
                let note = plan.note.take();
                notes.extend(note.map(|note| format!("{}: {note}", name(at))));
                planned = Some(plan);
            }
            plans.push(planned);
        }
        if let Some(path) = &self.summary {
            check_summary(path)
                .map_err(|error| Fault::from(error).output("cannot write the summary", path))?;
        }
        Ok(plans)
    }
}

/// Finds out whether the summary could be written, rather than at the end.
fn check_summary(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    make_folder(folder_of(path))?;
    let trial = with_suffix(path, ".trial");
    File::create(&trial)?;
    fs::remove_file(&trial)
}

fn carry_out(plans: Vec<Option<Plan>>) -> Result<Vec<Option<Output>>> {
    let carry_out = |plan: Option<Plan>| plan.map(Plan::carry_out).transpose();
    plans.into_iter().map(carry_out).collect()
}

type Opened = (Vec<Option<Output>>, State, Restored);

fn open_state(wanted: &Wanted, spec: StateSpec, lock: Locked) -> Result<Opened> {
    let path = spec.dir.join(FILE);
    let file = if spec.fresh {
        None
    } else {
        match File::open(&path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Fault::from(error).state("cannot read the state", &path)),
        }
    };
    match file {
        None => begin(wanted, spec, lock),
        Some(file) => resume(wanted, spec, lock, file),
    }
}

/// Begins a new state.
fn begin(wanted: &Wanted, spec: StateSpec, lock: Locked) -> Result<Opened> {
    let now = wanted.now;
    let mut restored = Restored::nothing(now);
    let targets = wanted.targets(restored.pass)?;
    let plans = wanted.plans(targets, &[], &mut restored.notes)?;
    let outputs = carry_out(plans)?;
    let (journal, aside) = Journal::create(
        &spec.dir,
        &spec.identity,
        &marks(&outputs, &spec.dir),
        lengths(&outputs),
        &now,
    )?;
    if let Some(aside) = aside {
        restored
            .notes
            .push(format!("the old state is kept in {}", aside.display()));
    }
    let state = State {
        dir: spec.dir,
        journal,
        pass: restored.pass,
        before: restored.totals,
        _lock: lock,
    };
    Ok((outputs, state, restored))
}

fn marks(outputs: &[Option<Output>], dir: &Path) -> Marks {
    let mark = |output: &Option<Output>| output.as_ref().map(|output| output.mark(dir));
    Marks {
        records: mark(&outputs[RECORDS]),
        log: mark(&outputs[LOG]),
        beside: outputs[LOG + 1..].iter().filter_map(mark).collect(),
    }
}

fn lengths(outputs: &[Option<Output>]) -> Vec<u64> {
    let length = |output: &Option<Output>| output.as_ref().map_or(0, Output::length);
    outputs.iter().map(length).collect()
}

/// Goes on with a state.
fn resume(wanted: &Wanted, spec: StateSpec, lock: Locked, file: File) -> Result<Opened> {
    let now = wanted.now;
    let dir = &spec.dir;
    let path = dir.join(FILE);
    let (scan, mut model) = replay(&file, &path)?;
    let committed = scan.committed;
    let mut notes = Vec::new();
    if scan.dropped > 0 {
        notes.push(format!(
            "{}: dropped {} bytes behind the last whole checkpoint, which ends at byte {committed}",
            path.display(),
            scan.dropped
        ));
    }
    check_identity(&model, &spec.identity, &path)?;

    let beginning = Beginning {
        new_pass: model.finished,
        settings_changed: model.settings != spec.identity.settings,
    };
    let mut journal = None;
    if model.finished && model.files.each().any(|(_, mark)| mark.part) {
        journal = Some(complete_replacement(dir, committed, &mut model)?);
    }

    let lengths_before = model.checkpoint.lengths.clone();
    let files_before = model.files.clone();
    let lines = opening_lines(&mut model, &spec, beginning, &now, &mut notes)?;
    let targets = wanted.targets(model.pass)?;
    let mut known = vec![None; targets.len()];
    let mut left = Vec::new();
    for (before, mark) in files_before.each() {
        let length = lengths_before.get(before).copied().unwrap_or(0);
        // A file is known by its name, whatever it is used for now.
        let now = targets.iter().position(|target| {
            let target = target.as_ref();
            target.is_some_and(|target| Mark::new(dir, target, false).path == mark.path)
        });
        if let Some(at) = now {
            known[at] = Some(Known {
                length,
                part: mark.part,
                next_pass: beginning.new_pass,
                spare: at == LOG,
            });
        } else if !beginning.new_pass && mark.path != "-" {
            left.push((mark.file(dir), length));
        }
    }
    let plans = wanted.plans(targets, &known, &mut notes)?;

    // Everything has been checked: from here on, things are changed.
    let mut journal = match journal {
        Some(journal) => journal,
        None => Journal::resume(dir, committed, &model)?,
    };
    journal.set_later_pass(model.pass > 1);
    journal.push(&lines);
    notes.extend(left.iter().filter_map(|(path, length)| trim(path, *length)));
    let outputs = carry_out(plans)?;
    let marks = marks(&outputs, dir);
    let lengths = lengths(&outputs);
    if marks != files_before || lengths != lengths_before {
        // The state must name the files before anything is written to them.
        let mut line = Vec::new();
        format::push_files(&mut line, &marks);
        journal.push(&line);
        journal.commit(lengths, journal.totals())?;
    }

    let (pass, before) = (model.pass, journal.totals());
    let mut restored = Restored::new(model, (file, path, committed), beginning, now);
    restored.notes = notes;
    let state = State {
        dir: spec.dir,
        journal,
        pass,
        before,
        _lock: lock,
    };
    Ok((outputs, state, restored))
}

/// Does what a run that was killed at its very end had left to do: puts the
/// files of the finished pass into their places, and says so before any other
/// file can stand where they stood.
fn complete_replacement(dir: &Path, committed: u64, model: &mut Model) -> Result<Journal> {
    for mark in model.files.each_mut() {
        let path = mark.file(dir);
        mark.put_into_place(dir)
            .map_err(|error| Fault::from(error).output("cannot put into place", &path))?;
    }
    let mut journal = Journal::resume(dir, committed, model)?;
    let mut line = Vec::new();
    format::push_files(&mut line, &model.files);
    journal.push(&line);
    journal.commit(model.checkpoint.lengths.clone(), journal.totals())?;
    Ok(journal)
}

/// The lines with which the run begins, taken into the model.
fn opening_lines(
    model: &mut Model,
    spec: &StateSpec,
    beginning: Beginning,
    now: &Anchor,
    notes: &mut Vec<String>,
) -> Result<Vec<u8>> {
    let mut lines = Vec::new();
    format::push_at(&mut lines, now.seconds());
    format::push_run(&mut lines, model.run + 1);
    if beginning.new_pass {
        // At no age at all everything is due, whatever the clock says.
        let due = if spec.revisit.is_zero() {
            u64::MAX
        } else {
            now.seconds().saturating_sub(spec.revisit.as_secs())
        };
        format::push_pass(&mut lines, model.pass + 1, due);
    }
    let identity = &spec.identity;
    let (old, new) = (sorted(&model.seeds), sorted(&identity.seeds));
    let without = |some: &[u64], others: &[u64]| {
        let missing = |seed: &&u64| others.binary_search(seed).is_err();
        some.iter().filter(missing).count()
    };
    let (removed, added) = (without(&old, &new), without(&new, &old));
    drop((old, new));
    if beginning.settings_changed {
        notes
            .push("other settings than in the run before; what was skipped is judged again".into());
    }
    let other_seeds = removed > 0 || added > 0;
    if other_seeds {
        notes.push(format!(
            "other seeds than in the run before: {removed} gone, {added} new"
        ));
    }
    if beginning.settings_changed || other_seeds || model.label != identity.label {
        // The scope may be that of the seeds, and what was kept out be a seed.
        let judge_again = beginning.settings_changed || other_seeds;
        format::push_identity(&mut lines, identity, judge_again);
    }
    for (_, line) in super::blocks::lines(&lines) {
        let event = parse::event(line, false).map_err(Error::invalid)?;
        if let Some(event) = event {
            model.apply(0, 0, event);
        }
    }
    Ok(lines)
}

/// Refuses a state that is of another crawl.
fn check_identity(model: &Model, identity: &Identity, path: &Path) -> Result<()> {
    if model.seeds.is_empty() || identity.seeds.is_empty() {
        return Ok(());
    }
    let seeds = sorted(&model.seeds);
    let shared = identity.seeds.iter().any(|seed| {
        seeds.binary_search(seed).is_ok()
            || model.table.get(*seed).is_some_and(|entry| entry.has(SEED))
    });
    if shared {
        return Ok(());
    }
    let text = format!(
        "it is of another crawl ({:?}; this one is {:?}) and shares no seed with it; \
         start over and keep the old state aside (--fresh), or name another folder; \
         nothing was changed",
        model.label, identity.label
    );
    Err(Fault::Foreign(text).state("cannot use the state", path))
}
