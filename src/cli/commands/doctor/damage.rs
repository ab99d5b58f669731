//! Damaged state: what is shown of it and of the ways out, and taking one.
//!
//! Invariant: a way is taken only after what it loses was shown and somebody said yes to it; an
//! interrupted repair was agreed to before and is finished without asking.

use clap::ValueEnum;
use serde_json::{Value, json};

use super::check::{Check, mended};
use crate::cli::confirm::agree;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::terminal::safe;
use crate::daemon::repair::{self, Findings, IdeaChange, Losses, Repaired, WayOut};
use crate::daemon::{Paths, offline};
use crate::domain::event::RepairWay;
use crate::domain::state::IdeaStatus;
use crate::journal::repair::{Diagnosis, Health};

/// So many ideas or landings are shown; `--json` has all.
const SHOWN: usize = 20;

/// A way out of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Way {
    /// Keep the events before the damage, give up those after it.
    Cut,
    /// Keep a snapshot's state and all events after it.
    Snapshot,
    /// Put the state together from what lies beside the log.
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

/// Takes the way, if something is damaged, or finishes what was interrupted.
pub(super) fn mend(way: Way, yes: bool, context: &mut Context) -> Result<Option<Check>, CliError> {
    let paths = context.repo()?.paths();
    if offline::is_locked(&paths)? {
        return Err(CliError::refused(
            "a daemon runs here, or another command is at work: nothing is repaired under it",
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
        agree(context, yes, "Repair it this way?")?;
    }
    let done = repair::take(&paths, way.as_domain())?;
    Ok(done.map(|done| done_check(&done)))
}

/// Finishes an interrupted repair.
pub(super) fn finish(paths: &Paths) -> Check {
    match repair::finish(paths) {
        Ok(Some(done)) => done_check(&done),
        Ok(None) => Check::ok("repair", "none is under way"),
        Err(error) => Check::error("repair", error),
    }
}

fn done_check(done: &Repaired) -> Check {
    let copy = safe(&done.copy);
    mended(
        "repair",
        format!(
            "the state is repaired; the files as they were, and the texts of all ideas: \
            .swarm/state/{copy}/old/"
        ),
    )
}

fn not_offered(findings: &Findings) -> CliError {
    let ways: Vec<&str> = findings.ways.iter().map(|way| way.way.as_str()).collect();
    let error = CliError::refused("this way out is not open here");
    match ways.as_slice() {
        [] => error.hint("what is wrong, and what to do: swarm doctor"),
        ways => error.hint(format!("the ways out are: {}", ways.join(", "))),
    }
}

/// What was found, as checks; none: nothing is wrong with the bytes.
pub(super) fn checks(findings: &Findings) -> Vec<Check> {
    if findings.interrupted {
        let check = Check::fail(
            "repair",
            "a repair was interrupted: the files do not fit together yet",
        );
        return vec![check.advice("finish it: swarm doctor --fix")];
    }
    let Some(found) = &findings.diagnosis else {
        return vec![];
    };
    let mut checks = Vec::new();
    if let Some(newer) = &found.newer {
        let check = Check::fail("log", format!("a newer version wrote it: {}", safe(newer)));
        checks.push(check.advice("use the newer swarm that wrote it; nothing is changed"));
    } else if found.damage.is_some() {
        checks.push(damaged(found).advice(match findings.ways.as_slice() {
            [] => "put .swarm/state/ back from a backup".to_owned(),
            _ => "the ways out, and what each loses, are below".to_owned(),
        }));
    }
    if !findings.is_damaged() && !findings.ways.is_empty() {
        let message = "there is no event, but ideas.jsonl or the worktrees tell of ideas: the log \
            was removed?";
        checks.push(Check::fail("log", message).advice(
            "put .swarm/state/ back from where it went, or see below; to begin anew instead: mv \
            .swarm/ideas.jsonl ideas-before.jsonl",
        ));
    }
    if !findings.running.is_empty() {
        let message = format!("still at work: {}", findings.running.join(", "));
        checks.push(Check::warn("agents", message).advice(
            "a repair waits for their end, at the latest `agents.leaseMinutes` after \
                    their daemon was gone",
        ));
    }
    for snapshot in &found.snapshots {
        if let Some(wrong) = &snapshot.wrong {
            let message = format!("{}: {}", snapshot.file, safe(wrong));
            checks.push(
                Check::warn("snapshot", message)
                    .advice("the events have all that it had; it is written anew"),
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
        lines.push(format!("because {}", safe(&damage.why)));
        lines.push(format!("found there: {}", safe(&damage.looks)));
    }
    for segment in &found.segments {
        lines.push(format!("{}: {}", segment.file, health(&segment.health)));
    }
    Check::fail("log", lines.join("\n"))
}

fn health(health: &Health) -> String {
    match health {
        Health::Ok => "whole".into(),
        Health::Empty => "empty".into(),
        Health::TornTail { offset } => {
            format!("its end, from byte {offset} on, was never acknowledged")
        }
        Health::Damaged => "damaged".into(),
        Health::AfterGap => "events before its first one are missing".into(),
        Health::AfterDamage => "after the damage".into(),
        Health::Stray => "no part of the log: others have what it has".into(),
        Health::Misnamed { first } => {
            format!("whole, but it begins with event {first}: its name is that of another")
        }
        Health::Newer { format } => format!("of format {format}"),
    }
}

/// The ways out, for people.
pub(super) fn ways(findings: &Findings) -> Vec<String> {
    let mut lines = Vec::new();
    for way in &findings.ways {
        lines.push(String::new());
        lines.extend(lines_of(way));
        let word = way.way.as_str();
        lines.push(format!("  take it: swarm doctor --fix --way {word}"));
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
        "way `{}`{recommended}: {}",
        way.way.as_str(),
        way.why
    )];
    lines.extend(events_lost(&way.loses));
    let ideas = way.loses.ideas.iter().map(idea_line);
    lines.extend(some_of(ideas));
    let landed = way.loses.landed_unknown.iter().map(|found| {
        let (commit, target) = (found.commit.as_str(), safe(&found.target));
        format!(
            "  {} is on {target} already ({commit:.10}): it does not land again",
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
        shown.push(format!(
            "  and {more} more, all of them: swarm doctor --json"
        ));
    }
    shown
}

fn events_lost(loses: &Losses) -> Vec<String> {
    let mut lines = Vec::new();
    if loses.history > 0 {
        lines.push(format!(
            "  what happened up to event {} can no longer be looked at (events, replay --at)",
            loses.history
        ));
        if loses.events == 0 {
            return lines;
        }
    }
    if loses.events == 0 && !loses.ideas.is_empty() {
        return vec!["  loses events that only ideas.jsonl tells of:".into()];
    }
    if loses.events == 0 {
        return vec!["  loses no event that anything tells of".into()];
    }
    lines.push(format!(
        "  loses {} events from event {} on; {} of them cannot be read",
        loses.events, loses.from, loses.unreadable
    ));
    let kinds: Vec<String> = loses
        .kinds
        .iter()
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    if !kinds.is_empty() {
        lines.push(format!("  those that can: {}", kinds.join(", ")));
    }
    lines
}

fn idea_line(change: &IdeaChange) -> String {
    if change.from == change.to {
        return format!("  {}: loses its edit  {}", change.id, safe(&change.text));
    }
    let word = |status: Option<IdeaStatus>, none| status.map_or(none, IdeaStatus::as_str);
    format!(
        "  {}: {} -> {}  {}",
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
