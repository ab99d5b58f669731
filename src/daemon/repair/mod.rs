//! Repairing a damaged state: the possible repairs, what each loses, and carrying one out.
//!
//! `evidence` gathers what is still known, `losses` compares, `lost_end` finds a truncated log,
//! `idea_list` reads `ideas.jsonl`, `numbers` finds the numbers in use, and `rebuild` makes a state
//! without a log. Called by `swarm doctor` and, for `lost_end` and `numbers`, at a start.
//! Invariant: [`examine`] changes nothing and takes no lock. A repair is offered only if it can be
//! completed; it keeps the original files, never reuses a number, and never lets an idea land
//! twice.

mod evidence;
pub(super) mod idea_list;
mod losses;
pub(super) mod lost_end;
pub(super) mod numbers;
mod rebuild;

use serde::Serialize;

use super::actor::clock::Clock;
use super::error::DaemonError;
use super::files::paths::Paths;
use super::files::{exports, store};
use crate::domain::event::{Event, LostEvents, RepairWay, StateRepaired, StateRestored};
use crate::domain::state::State;
use crate::journal::repair::{self, Begin, Diagnosis, Restorable, diagnose};
use crate::journal::{Survey, read_snapshot};
use crate::process::{self, RunDir, RunStatus};

use evidence::Evidence;
pub use losses::{IdeaChange, Losses};
use lost_end::MadeBefore;

/// Most landings in one event, so that it fits in a line of 64 KiB.
const LANDINGS_AN_EVENT: usize = 200;

/// What is wrong, and the possible repairs.
#[derive(Debug)]
pub struct Findings {
    /// A repair was interrupted; nothing else was examined.
    pub interrupted: bool,
    /// File by file; `None` while a repair is interrupted.
    pub diagnosis: Option<Diagnosis>,
    /// Runs that are still alive and prevent a repair; empty without damage.
    pub running: Vec<String>,
    /// The possible repairs, best first; empty if nothing is damaged or none is safe.
    pub ways: Vec<WayOut>,
}

/// A possible repair.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WayOut {
    /// Its name, as `--way` takes it.
    pub way: RepairWay,
    /// What it loses.
    pub loses: Losses,
    /// Loses least.
    pub recommended: bool,
    /// What it keeps, in words.
    pub why: String,
}

/// A repair that is finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// The folder in `.swarm/state/` with the original files.
    pub copy: String,
}

impl Findings {
    /// Whether something is damaged.
    pub fn is_damaged(&self) -> bool {
        self.diagnosis
            .as_ref()
            .is_some_and(|diagnosis| diagnosis.damage.is_some())
    }

    /// The repair of that name, if it is possible.
    pub fn way(&self, way: RepairWay) -> Option<&WayOut> {
        self.ways.iter().find(|offered| offered.way == way)
    }
}

/// A possible repair, with all that is needed to carry it out.
struct Candidate {
    way: RepairWay,
    evidence: Evidence,
    /// The state that the new log begins with; `None` if the log keeps its beginning.
    begin: Option<(Restorable, State)>,
}

/// Examines the log, the snapshots and what else is known. Takes no lock; no daemon may be running.
///
/// # Errors
/// A file or git cannot be read.
pub fn examine(paths: &Paths) -> Result<Findings, DaemonError> {
    Ok(examine_state(paths)?.0)
}

fn examine_state(paths: &Paths) -> Result<(Findings, Vec<Candidate>), DaemonError> {
    let interrupted = repair::is_unfinished(&paths.state);
    let diagnosis = (!interrupted).then(|| diagnosis_of(paths)).transpose()?;
    // A missing log is no damage in itself, but there may have been one.
    let repairable = diagnosis.as_ref().filter(|found| {
        found.newer.is_none() && (found.damage.is_some() || found.last_good() == 0)
    });
    let open = repairable
        .map(|found| open_ways(paths, found))
        .transpose()?;
    let open = open.unwrap_or_default();
    let mut ways: Vec<WayOut> = open.iter().map(offered).collect();
    if let Some(best) = ways.first_mut() {
        best.recommended = true;
    }
    let findings = Findings {
        interrupted,
        running: if open.is_empty() {
            Vec::new()
        } else {
            running(paths)
        },
        diagnosis,
        ways,
    };
    Ok((findings, open))
}

/// Diagnoses the files; if they are intact, also whether a checkpoint proves a lost end.
fn diagnosis_of(paths: &Paths) -> Result<Diagnosis, DaemonError> {
    let made = MadeBefore::reading(paths);
    let mut found = diagnose(&paths.state)?;
    if found.damage.is_none() && found.newer.is_none() {
        let state = evidence::state_of(paths, &found)?;
        if let Some(why) = made.missing_in(paths, &state) {
            found.end_is_missing(why);
        }
    }
    Ok(found)
}

/// All possible repairs, the best one first.
fn open_ways(paths: &Paths, diagnosis: &Diagnosis) -> Result<Vec<Candidate>, DaemonError> {
    let cut = Candidate {
        way: RepairWay::Cut,
        evidence: Evidence::of_cut(paths, diagnosis)?,
        begin: None,
    };
    let snapshot = by_snapshot(paths, diagnosis, &cut.evidence);
    let nothing_else = snapshot.is_none() && diagnosis.last_good() == 0;
    let rebuild = nothing_else.then(|| by_rebuilding(paths, &cut.evidence));
    let better = snapshot.into_iter().chain(rebuild.flatten());
    let cut = diagnosis.damage.is_some().then_some(cut);
    Ok(better.chain(cut).collect())
}

/// From the snapshot that keeps most; `None` if no snapshot is usable.
fn by_snapshot(paths: &Paths, diagnosis: &Diagnosis, cut: &Evidence) -> Option<Candidate> {
    let taken = diagnosis.snapshots.iter().filter_map(|taken| taken.seq);
    let known = taken.max().unwrap_or(0);
    let open = |found: Restorable| {
        let state: State = read_snapshot(&paths.state.join(&found.file)).ok()?.state;
        let tail = found.records::<Event>().ok()?;
        let fits = state.seq == found.seq && evidence::is_later_state(&state, &cut.after);
        fits.then(|| Candidate {
            way: RepairWay::Snapshot,
            evidence: Evidence::of_snapshot(paths, &state, &tail, known, cut),
            begin: Some((found, state)),
        })
    };
    let found = diagnosis.restorable(&paths.state);
    found.into_iter().find_map(open)
}

/// From other files; `None` if they know no idea.
fn by_rebuilding(paths: &Paths, cut: &Evidence) -> Option<Candidate> {
    let target = evidence::target_of(paths, &cut.after, &cut.seen);
    let (now, _) = Clock::after(cut.last_event_at()).now();
    // Each number was assigned by an event of its own.
    let numbers = cut.floors;
    let given = numbers.ideas + numbers.agents + numbers.runs + numbers.effects;
    let seq = cut.highest.max(given) + 1;
    let state = rebuild::state(paths, cut, target.as_deref(), seq, now)?;
    Some(Candidate {
        way: RepairWay::Rebuild,
        evidence: Evidence::of_rebuilt(paths, state.clone(), cut),
        begin: Some((Restorable::alone(seq), state)),
    })
}

fn offered(open: &Candidate) -> WayOut {
    let kept = open.evidence.after.seq;
    let history = open.begin.as_ref().map_or(0, |(from, _)| from.seq);
    let loses = Losses::of(&open.evidence, history);
    let why = match (open.way, &open.begin) {
        (RepairWay::Snapshot, Some((found, _))) => why_this_snapshot(found, &open.evidence, &loses),
        (RepairWay::Rebuild, _) => "rebuilds the ideas from ideas.jsonl, the target's history, \
            the worktrees and the readable events; past spending is unknown, so budgets start \
            from zero; nothing runs until you check the ideas and run `swarm resume`"
            .to_owned(),
        (RepairWay::Cut | RepairWay::Snapshot, _) if kept == 0 => {
            "no event before the damage is intact: the log starts over, and no number is used \
            twice"
                .to_owned()
        }
        (RepairWay::Cut | RepairWay::Snapshot, _) => {
            format!("keeps every event before event {}", kept + 1)
        }
    };
    WayOut {
        way: open.way,
        loses,
        recommended: false,
        why,
    }
}

/// What this snapshot keeps, in words.
fn why_this_snapshot(from: &Restorable, evidence: &Evidence, loses: &Losses) -> String {
    let (end, known) = (evidence.after.seq, evidence.highest);
    let after = match (end > from.seq, known > end) {
        (true, false) => ", and every later event is intact".to_owned(),
        (true, true) => format!(", and the later events are intact up to event {end}"),
        (false, false) => ", the last one known to the log and the snapshots".to_owned(),
        (false, true) => String::new(),
    };
    let lost = if known > end {
        format!(
            "; but a snapshot was taken after event {known}, so what follows event {end} is lost"
        )
    } else if !loses.ideas.is_empty() {
        "; but ideas.jsonl shows later changes, which are lost".to_owned()
    } else if !loses.landed_unknown.is_empty() {
        // They may be the very last events, so a loss is neither proven nor excluded.
        "; but the target has landings that it does not mention".to_owned()
    } else {
        "; no state is lost".to_owned()
    };
    let (file, seq) = (&from.file, from.seq);
    format!("{file} has the complete state after event {seq}{after}{lost}")
}

/// Carries out a repair, or finishes an interrupted one. `None` if nothing is damaged.
///
/// # Errors
/// The lock is held; this repair is not possible; a file cannot be written: repeat the call then.
pub fn take(paths: &Paths, way: RepairWay) -> Result<Option<Repaired>, DaemonError> {
    let _lock = store::lock(paths)?;
    if let Some(finished) = finish_locked(paths)? {
        return Ok(Some(finished));
    }
    let (findings, open) = examine_state(paths)?;
    let Some(diagnosis) = findings.diagnosis.as_ref().filter(|_| !open.is_empty()) else {
        return refuse_unless_whole(&findings);
    };
    if !findings.running.is_empty() {
        return Err(DaemonError::RunsAlive(findings.running.join(", ")));
    }
    let open = open.iter().find(|open| open.way == way);
    let open = open.ok_or(DaemonError::WayNotOffered)?;
    let ideas = std::fs::read(paths.ideas()).unwrap_or_default();
    if let Some(names) = paths.second_names() {
        names.forget()?;
    }
    prepare(paths, diagnosis, open, &ideas)?;
    finish_locked(paths)
}

/// The runs whose runner is alive. A repaired state may not know them, and would send another agent
/// into their worktree.
fn running(paths: &Paths) -> Vec<String> {
    let mut alive = Vec::new();
    for name in numbers::names_in(&paths.runs) {
        let Ok(dir) = RunDir::open(&paths.runs, &name) else {
            continue;
        };
        if let Ok(RunStatus::Running { runner_pid, .. }) = process::inspect(&dir) {
            alive.push(format!("{name} (pid {runner_pid})"));
        }
    }
    alive.sort();
    alive
}

/// Does everything up to the durable intention.
fn prepare(
    paths: &Paths,
    diagnosis: &Diagnosis,
    open: &Candidate,
    ideas: &[u8],
) -> Result<(), DaemonError> {
    let evidence = &open.evidence;
    let (now, _) = Clock::after(evidence.last_event_at()).now();
    let Some((found, state)) = &open.begin else {
        let last = |copy: &str| repaired(evidence, open.way, copy);
        return Ok(diagnosis.cut(&paths.state, now, ideas, last)?);
    };
    let bytes = serde_json::to_vec(state)
        .map_err(|error| DaemonError::io("encode the state")(error.into()))?;
    let begin = Begin {
        way: open.way.as_str(),
        state: &bytes,
        at: state.swarm.last_event_at,
        first: &|sha256, copy| {
            Event::StateRestored(StateRestored {
                way: open.way,
                sha256: sha256.to_owned(),
                copy: copy.to_owned(),
            })
        },
        last: &|copy| repaired(evidence, open.way, copy),
    };
    Ok(diagnosis.restore(&paths.state, now, ideas, found, &begin)?)
}

fn refuse_unless_whole(findings: &Findings) -> Result<Option<Repaired>, DaemonError> {
    let diagnosis = findings.diagnosis.as_ref();
    let newer = diagnosis.is_some_and(|diagnosis| diagnosis.newer.is_some());
    if newer || findings.is_damaged() {
        return Err(DaemonError::WayNotOffered);
    }
    Ok(None)
}

/// Finishes an interrupted repair; `None` if there is none.
///
/// # Errors
/// The lock is held; the files cannot be moved or do not match.
pub fn finish(paths: &Paths) -> Result<Option<Repaired>, DaemonError> {
    let _lock = store::lock(paths)?;
    finish_locked(paths)
}

fn finish_locked(paths: &Paths) -> Result<Option<Repaired>, DaemonError> {
    let finished = repair::finish(&paths.state, || {
        let survey = Survey::in_repair(&paths.state)?;
        survey.verify()?;
        let folder = &paths.state;
        let state = survey
            .load::<State, Event>()?
            .try_fold(State::default, |folded, record| {
                store::apply(folder, folded, &record)
            })?;
        exports::write(paths, &state.0).map_err(DaemonError::io("write .swarm/ideas.jsonl"))?;
        Ok::<(), DaemonError>(())
    })?;
    Ok(finished.map(|copy| Repaired { copy }))
}

/// The events that record the repair, after those that are kept.
fn repaired(evidence: &Evidence, way: RepairWay, copy: &str) -> Vec<Event> {
    let first = evidence.after.seq + 1;
    let lost = (evidence.highest >= first).then_some(LostEvents {
        from: first,
        to: evidence.highest,
    });
    let known = evidence.landings_of_known_ideas();
    let mut chunks: Vec<_> = known.chunks(LANDINGS_AN_EVENT).map(<[_]>::to_vec).collect();
    if chunks.is_empty() {
        chunks.push(Vec::new());
    }
    let event = |(index, landed)| {
        Event::StateRepaired(StateRepaired {
            way,
            lost: lost.filter(|_| index == 0),
            copy: copy.to_owned(),
            floors: evidence.floors,
            landed,
        })
    };
    chunks.into_iter().enumerate().map(event).collect()
}
