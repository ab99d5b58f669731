//! Damaged state: what each way out would lose, and taking one.
//!
//! Invariant: [`examine`] changes nothing and takes no lock. A way is offered only when all of it can be done; taking it keeps every file as
//! it was, never gives a number twice, and never lets an idea land that the target has already.

mod evidence;
mod losses;

use serde::Serialize;

use super::clock::Clock;
use super::error::DaemonError;
use super::paths::Paths;
use super::store;
use crate::domain::event::{Event, LostEvents, RepairWay};
use crate::domain::evolve::evolve;
use crate::domain::state::State;
use crate::journal::Survey;
use crate::journal::repair::{self, Diagnosis, diagnose};

use evidence::Evidence;
pub use losses::{IdeaChange, Losses};

/// Landings that one event names: a line of the log has 64 KiB.
const LANDINGS_AN_EVENT: usize = 200;

/// What was found, and what can be done about it.
#[derive(Debug)]
pub struct Findings {
    /// A repair was begun and not finished; then nothing else is looked at.
    pub interrupted: bool,
    /// File by file; none while a repair is interrupted.
    pub diagnosis: Option<Diagnosis>,
    /// The ways out; empty when nothing is damaged, or when none is safe.
    pub ways: Vec<WayOut>,
}

/// A way out.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WayOut {
    /// Its name.
    pub way: RepairWay,
    /// What is gone afterwards.
    pub loses: Losses,
    /// The one to take, unless there is a reason not to.
    pub recommended: bool,
    /// Why.
    pub why: String,
}

/// A repair that is finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// The folder in `.swarm/state/` that has the files as they were.
    pub copy: String,
}

impl Findings {
    /// Whether something is damaged.
    pub fn is_damaged(&self) -> bool {
        self.diagnosis
            .as_ref()
            .is_some_and(|diagnosis| diagnosis.damage.is_some())
    }

    /// The way of that name, if it is offered.
    pub fn way(&self, way: RepairWay) -> Option<&WayOut> {
        self.ways.iter().find(|offered| offered.way == way)
    }
}

/// Looks at the log and the snapshots, and at what else is known, without a lock: no daemon may be at work.
///
/// # Errors
/// A file or git cannot be read.
pub fn examine(paths: &Paths) -> Result<Findings, DaemonError> {
    Ok(look(paths)?.0)
}

fn look(paths: &Paths) -> Result<(Findings, Option<Evidence>), DaemonError> {
    let interrupted = repair::is_unfinished(&paths.state);
    let diagnosis = (!interrupted).then(|| diagnose(&paths.state)).transpose()?;
    let repairable = diagnosis
        .as_ref()
        .filter(|found| found.damage.is_some() && found.newer.is_none());
    let evidence = repairable
        .map(|found| Evidence::gather(paths, found))
        .transpose()?;
    let ways = evidence.iter().map(cut_offered).collect();
    let findings = Findings {
        interrupted,
        diagnosis,
        ways,
    };
    Ok((findings, evidence))
}

fn cut_offered(evidence: &Evidence) -> WayOut {
    let kept = evidence.prefix.seq;
    WayOut {
        way: RepairWay::Cut,
        loses: Losses::of_cut(evidence),
        recommended: true,
        why: if kept == 0 {
            "no event before the damage is whole: the log begins anew, and no number is given a second time".into()
        } else {
            format!("the events 1 to {kept} are whole and stay as they are")
        },
    }
}

/// Takes a way out. Returns none when nothing is damaged.
///
/// # Errors
/// Somebody holds the lock; the way is not offered; a file cannot be written: then a repeated call goes on.
pub fn take(paths: &Paths, way: RepairWay) -> Result<Option<Repaired>, DaemonError> {
    let _lock = store::lock(paths)?;
    if let Some(finished) = finish_locked(paths)? {
        return Ok(Some(finished));
    }
    let (findings, evidence) = look(paths)?;
    let (Some(diagnosis), Some(evidence)) = (&findings.diagnosis, evidence) else {
        return refuse_unless_whole(&findings);
    };
    if findings.way(way).is_none() {
        return Err(DaemonError::WayNotOffered);
    }
    let (now, _) = Clock::after(evidence.last_event_at()).now();
    let ideas = std::fs::read(paths.ideas()).unwrap_or_default();
    diagnosis.cut(&paths.state, now, &ideas, |copy| repaired(&evidence, copy))?;
    finish_locked(paths)
}

fn refuse_unless_whole(findings: &Findings) -> Result<Option<Repaired>, DaemonError> {
    let diagnosis = findings.diagnosis.as_ref();
    let newer = diagnosis.is_some_and(|diagnosis| diagnosis.newer.is_some());
    if newer || findings.is_damaged() {
        return Err(DaemonError::WayNotOffered);
    }
    Ok(None)
}

/// Finishes a repair that was interrupted; none: there is no such.
///
/// # Errors
/// Somebody holds the lock; the files cannot be moved or do not fit together.
pub fn finish(paths: &Paths) -> Result<Option<Repaired>, DaemonError> {
    let _lock = store::lock(paths)?;
    finish_locked(paths)
}

fn finish_locked(paths: &Paths) -> Result<Option<Repaired>, DaemonError> {
    let finished = repair::finish(&paths.state, || {
        let survey = Survey::in_repair(&paths.state)?;
        survey.verify()?;
        survey
            .load::<State, Event>()?
            .fold(State::default, |state, record| {
                evolve(state, record.seq, record.ts, &record.event);
            })?;
        Ok::<(), DaemonError>(())
    })?;
    Ok(finished.map(|copy| Repaired { copy }))
}

/// The facts that go behind the good events.
fn repaired(evidence: &Evidence, copy: &str) -> Vec<Event> {
    let first = evidence.prefix.seq + 1;
    let lost = (evidence.highest >= first).then_some(LostEvents {
        from: first,
        to: evidence.highest,
    });
    let known = evidence.landings_of_known_ideas();
    let mut chunks: Vec<_> = known.chunks(LANDINGS_AN_EVENT).map(<[_]>::to_vec).collect();
    if chunks.is_empty() {
        chunks.push(Vec::new());
    }
    let event = |(index, landed)| Event::StateRepaired {
        way: RepairWay::Cut,
        lost: lost.filter(|_| index == 0),
        copy: copy.to_owned(),
        floors: evidence.floors,
        landed,
    };
    chunks.into_iter().enumerate().map(event).collect()
}
