//! Damaged state: shows it with the possible repairs, and carries one out.
//!
//! Invariant: a repair starts only after its losses were shown and accepted. An interrupted repair
//! was accepted before and is finished without asking.

use clap::ValueEnum;
use serde_json::{Value, json};

use super::check::{Check, fixed};
use crate::cli::confirm::agree;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::terminal::safe;
use crate::daemon::repair::{self, Findings, IdeaChange, Losses, Repaired, WayOut};
use crate::daemon::{Paths, offline};
use crate::domain::event::RepairWay;
use crate::domain::state::IdeaStatus;
use crate::journal::repair::{Diagnosis, Health, SegmentHealth};

/// At most this many ideas or landings are shown; `--json` has all.
const SHOWN: usize = 20;

/// How to repair damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Way {
    /// Keep the events before the damage and drop the rest.
    Cut,
    /// Keep a snapshot's state and all events after it.
    Snapshot,
    /// Rebuild the state from ideas.jsonl, git and the worktrees.
    Rebuild,
}

impl Way {
    fn as_domain(self) -> RepairWay {
        match self {
            Self::Cut => RepairWay::Cut,
            Self::Snapshot => RepairWay::Snapshot,
            Self::Rebuild => RepairWay::Rebuild,
        }
    }
}

/// Repairs damage, or finishes an interrupted repair. `None` if nothing is damaged.
pub(super) fn repair(
    way: Way,
    yes: bool,
    context: &mut Context,
) -> Result<Option<Check>, CliError> {
    let paths = context.repo()?.paths();
    if offline::is_locked(&paths)? {
        return Err(CliError::refused(
            "a daemon or another command is using the state, so nothing was repaired",
        )
        .hint("stop it first: swarm stop"));
    }
    let findings = repair::examine(&paths)?;
    if !findings.interrupted {
        let newer = findings
            .diagnosis
            .as_ref()
            .is_some_and(|it| it.newer.is_some());
        if findings.ways.is_empty() && !findings.is_damaged() && !newer {
            return Ok(None);
        }
        let offered = findings
            .way(way.as_domain())
            .ok_or_else(|| not_offered(&findings))?;
        for line in lines_of(offered) {
            context.output.note(line);
        }
        agree(context, yes, "Repair the state this way?")?;
    }
    let done = repair::take(&paths, way.as_domain())?;
    Ok(done.map(|done| done_check(&done)))
}

/// Finishes an interrupted repair.
pub(super) fn finish(paths: &Paths) -> Check {
    match repair::finish(paths) {
        Ok(Some(done)) => done_check(&done),
        Ok(None) => Check::ok("repair", "no repair in progress"),
        Err(error) => Check::error("repair", error),
    }
}

fn done_check(done: &Repaired) -> Check {
    let copy = safe(&done.copy);
    fixed(
        "repair",
        format!(
            "state repaired; the original files and a copy of ideas.jsonl are in \
            .swarm/state/{copy}/old/"
        ),
    )
}

fn not_offered(findings: &Findings) -> CliError {
    let ways: Vec<&str> = findings.ways.iter().map(|way| way.way.as_str()).collect();
    let error = CliError::refused("this repair is not available for this damage");
    match ways.as_slice() {
        [] => error.hint("see what is wrong and what to do: swarm doctor"),
        ways => error.hint(format!("available: {}", ways.join(", "))),
    }
}

/// The findings as checks; empty if the files are intact.
pub(super) fn checks(findings: &Findings) -> Vec<Check> {
    if findings.interrupted {
        let check = Check::fail(
            "repair",
            "a repair was interrupted, and the files do not match yet",
        );
        return vec![check.advice("finish it: swarm doctor --fix")];
    }
    let Some(found) = &findings.diagnosis else {
        return vec![];
    };
    let mut checks = Vec::new();
    if let Some(newer) = &found.newer {
        let check = Check::fail("log", format!("written by a newer swarm: {}", safe(newer)));
        checks.push(check.advice("use that newer swarm; nothing was changed"));
    } else if found.damage.is_some() {
        checks.push(damaged(found).advice(match findings.ways.as_slice() {
            [] => "restore .swarm/state/ from a backup",
            _ => "restore .swarm/state/ from a backup, or choose a repair below",
        }));
    }
    if !findings.is_damaged() && !findings.ways.is_empty() {
        let message = "the event log is empty or gone, but ideas.jsonl or the worktrees have \
            ideas, so the log may have been deleted";
        checks.push(Check::fail("log", message).advice(
            "restore .swarm/state/ from a backup, or choose a repair below\nor start over without \
            these ideas: mv .swarm/ideas.jsonl ideas-before.jsonl",
        ));
    }
    if !findings.running.is_empty() {
        let message = format!("still running: {}", findings.running.join(", "));
        checks.push(Check::warn("agents", message).advice(
            "wait until they stop, at most `agents.leaseMinutes` after their daemon stopped; \
            then repair",
        ));
    }
    for snapshot in &found.snapshots {
        if let Some(wrong) = &snapshot.wrong {
            let message = format!("{}: {}", snapshot.file, safe(wrong));
            checks.push(
                Check::warn("snapshot", message)
                    .advice("nothing is lost: it is rebuilt from the events"),
            );
        }
    }
    checks
}

fn damaged(found: &Diagnosis) -> Check {
    let mut lines = Vec::new();
    if let Some(damage) = &found.damage {
        let (file, offset, seq) = (&damage.file, damage.offset, damage.seq);
        lines.push(match damage.line {
            Some(line) => format!(
                "{file} is damaged at byte {offset} (line {line}), where event {seq} should be"
            ),
            None => format!("{file} ends at byte {offset}, where event {seq} should be"),
        });
        lines.push(format!("reason: {}", safe(&damage.why)));
        lines.push(format!("found there: {}", safe(&damage.looks)));
    }
    // The damage itself is told above.
    let others = |segment: &&SegmentHealth| segment.health != Health::Damaged;
    for segment in found.segments.iter().filter(others) {
        lines.push(format!("{}: {}", segment.file, health(&segment.health)));
    }
    Check::fail("log", lines.join("\n"))
}

fn health(health: &Health) -> String {
    match health {
        Health::Ok => "OK".into(),
        Health::Empty => "empty".into(),
        Health::TornTail { offset } => {
            format!("ends in an incomplete write from byte {offset} on, never acknowledged")
        }
        Health::Damaged => "damaged".into(),
        Health::AfterGap => "events before its first one are missing".into(),
        Health::AfterDamage => "after the damage, not checked".into(),
        Health::Stray => "not part of the log: other files have its events".into(),
        Health::Misnamed { first } => {
            format!("OK, but misnamed: it begins with event {first}")
        }
        Health::Newer { format } => format!("written in the newer format {format}"),
    }
}

/// The possible repairs and what each loses, for people.
pub(super) fn ways(findings: &Findings) -> Vec<String> {
    let mut lines = Vec::new();
    for way in &findings.ways {
        lines.push(String::new());
        lines.extend(lines_of(way));
        let word = way.way.as_str();
        lines.push(format!("  run it: swarm doctor --fix --way {word}"));
    }
    lines
}

fn lines_of(way: &WayOut) -> Vec<String> {
    let recommended = if way.recommended {
        " (recommended)"
    } else {
        ""
    };
    let mut lines = vec![format!(
        "repair `{}`{recommended}: {}",
        way.way.as_str(),
        way.why
    )];
    lines.extend(events_lost(&way.loses));
    let ideas = way.loses.ideas.iter().map(idea_line);
    lines.extend(some_of(ideas));
    let landed = way.loses.landed_unknown.iter().map(|found| {
        let (commit, target) = (found.commit.as_str(), safe(&found.target));
        format!(
            "  {} is on {target} already ({commit:.10}) and does not land again",
            found.idea
        )
    });
    lines.extend(some_of(landed));
    lines
}

fn some_of(lines: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    let more = lines.len().saturating_sub(SHOWN);
    let mut shown: Vec<String> = lines.take(SHOWN).collect();
    if more > 0 {
        shown.push(format!("  and {more} more; list all: swarm doctor --json"));
    }
    shown
}

fn events_lost(loses: &Losses) -> Vec<String> {
    let mut lines = Vec::new();
    if loses.history > 0 {
        lines.push(format!(
            "  loses the history before event {}: `swarm events` and `swarm replay --at` start \
            there",
            loses.history
        ));
        if loses.events == 0 {
            return lines;
        }
    }
    if loses.events == 0 && !loses.ideas.is_empty() {
        return vec!["  loses later changes that only ideas.jsonl shows:".into()];
    }
    if loses.events == 0 {
        return vec!["  no known event is lost".into()];
    }
    lines.push(match (loses.events, loses.unreadable) {
        (1, 1) => format!("  loses event {}, which is unreadable", loses.from),
        (1, _) => format!("  loses event {}", loses.from),
        (all, 0) => format!("  loses {all} events, from event {} on", loses.from),
        (all, bad) => format!(
            "  loses {all} events, from event {} on; {bad} of them cannot be read",
            loses.from
        ),
    });
    if !loses.kinds.is_empty() {
        lines.push("  list the others by kind: swarm doctor --json".into());
    }
    lines
}

fn idea_line(change: &IdeaChange) -> String {
    if change.from == change.to {
        return format!(
            "  {} loses its last edit: {}",
            change.id,
            safe(&change.text)
        );
    }
    let word = |status: Option<IdeaStatus>, none| status.map_or(none, IdeaStatus::as_str);
    format!(
        "  {} goes from {} to {}: {}",
        change.id,
        word(change.from, "unknown"),
        word(change.to, "gone"),
        safe(&change.text)
    )
}

/// `damage` and `ways` of the document.
pub(super) fn document(findings: Option<&Findings>) -> (Value, Value) {
    let Some(findings) = findings else {
        return (Value::Null, json!([]));
    };
    let damage = match &findings.diagnosis {
        _ if findings.interrupted => json!({ "interrupted": true }),
        Some(found) if found.damage.is_some() || found.newer.is_some() => json!({
            "interrupted": false,
            "at": found.damage,
            "newer": found.newer,
            "segments": found.segments,
            "snapshots": found.snapshots,
        }),
        _ => Value::Null,
    };
    (damage, json!(findings.ways))
}
