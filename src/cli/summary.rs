//! What is said when a daemon that was to run until idle has come to rest.
//!
//! Invariant: what ended badly decides the exit code (5) before what needs a person (6).

use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use serde::Serialize;

use super::clock;
use super::describe::short;
use super::error::{CliError, Kind};
use super::json;
use super::output::Output;
use super::output::terminal::{Tone, safe, title};
use super::render;
use super::render::usage;
use crate::domain::ids::IdeaId;
use crate::domain::state::{Idea, IdeaStatus, State};
use crate::domain::time::Timestamp;
use crate::domain::usage::Spent;
use crate::view::{self, IdeaView, NeedsYou, Rest, Stuck, UsedView};

/// How things stood before.
#[derive(Debug, Default)]
pub struct Earlier {
    /// The ideas that had landed.
    landed: BTreeSet<IdeaId>,
    /// What had been used.
    used: Spent,
    /// When that was.
    at: Option<Timestamp>,
}

impl Earlier {
    /// Of a state.
    pub fn of(state: &State) -> Self {
        let done = |(_, idea): &(&IdeaId, &Idea)| idea.status == IdeaStatus::Done;
        let ideas = state.ideas.iter().filter(done);
        Self {
            landed: ideas.map(|(id, _)| id.clone()).collect(),
            used: used_by_all(state),
            at: Some(state.swarm.last_event_at),
        }
    }
}

/// What all ideas used.
fn used_by_all(state: &State) -> Spent {
    let mut all = Spent::default();
    for idea in state.ideas.values() {
        all.add_all(&idea.used);
    }
    all
}

/// What came of it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Since when.
    pub since: Option<Timestamp>,
    /// Ideas that landed meanwhile.
    pub landed: Vec<IdeaView>,
    /// Ideas that are done without a commit: their agents had changed nothing.
    pub nothing_to_land: Vec<IdeaView>,
    /// Ideas that are failed, timeout or blocked.
    pub failed: Vec<IdeaView>,
    /// Ideas that are neither over nor failed.
    pub waiting: Vec<IdeaView>,
    /// Agents that have made no commit for long.
    pub stuck: Vec<Stuck>,
    /// What is not as it should be, and kept nothing from going on.
    pub warnings: Vec<String>,
    /// What only a person can do.
    pub needs_you: Vec<NeedsYou>,
    /// What was used meanwhile.
    pub spent: UsedView,
    #[serde(skip)]
    used: Spent,
}

impl Summary {
    /// Of a state.
    pub fn of(state: &State) -> Self {
        let pick = |wanted: &dyn Fn(IdeaStatus) -> bool| -> Vec<IdeaView> {
            let fits = |(_, idea): &(&IdeaId, &Idea)| wanted(idea.status);
            let picked = state.ideas.iter().filter(fits);
            picked.map(|(id, idea)| view::idea(id, idea)).collect()
        };
        let done = pick(&|status| status == IdeaStatus::Done);
        let (landed, nothing_to_land) = done.into_iter().partition(|idea| idea.commit.is_some());
        Self {
            since: None,
            stuck: view::stuck(state),
            warnings: view::warned(state),
            landed,
            nothing_to_land,
            failed: pick(&IdeaStatus::is_bad),
            waiting: pick(&|status| {
                matches!(
                    status,
                    IdeaStatus::Pending | IdeaStatus::Active | IdeaStatus::Merging
                )
            }),
            needs_you: view::after_a_start(view::needs_you(state)),
            spent: view::used(&used_by_all(state)),
            used: used_by_all(state),
        }
    }

    /// Without what had landed, or been used, before.
    pub fn without(&mut self, before: &Earlier) {
        let new = |idea: &IdeaView| !before.landed.contains(&idea.id);
        self.landed.retain(new);
        self.nothing_to_land.retain(new);
        self.used = self.used.since(&before.used);
        self.spent = view::used(&self.used);
        self.since = before.at;
    }

    /// Shows it.
    pub fn show(&self, output: &mut Output, zone: &TimeZone) -> Result<(), CliError> {
        if output.json {
            return output.json_line(&serde_json::json!({ "summary": self }));
        }
        for line in self.lines(output, zone)? {
            output.line(line)?;
        }
        Ok(())
    }

    fn lines(&self, output: &Output, zone: &TimeZone) -> Result<Vec<String>, CliError> {
        let mut lines = vec![format!("landed {}", count(self.landed.len()))];
        for idea in &self.landed {
            let commit = idea.commit.as_ref().map_or("", short);
            let line = format!("  {}  {commit}  {}", idea.id, title(&idea.content, 60));
            lines.push(output.paint(Tone::Good, &line).into_owned());
        }
        for idea in &self.nothing_to_land {
            let line = format!(
                "  {} had nothing to land: {}",
                idea.id,
                title(&idea.content, 60)
            );
            lines.push(output.paint(Tone::Warn, &line).into_owned());
        }
        for idea in &self.failed {
            let why = safe(idea.last_error.as_deref().unwrap_or("no reason known"));
            let line = format!("  {} is {}: {why}", idea.id, idea.status.as_str());
            lines.push(output.paint(Tone::Bad, &line).into_owned());
        }
        if !self.waiting.is_empty() {
            let ids: Vec<&str> = self.waiting.iter().map(|idea| idea.id.as_str()).collect();
            lines.push(format!("waiting: {}", ids.join(", ")));
        }
        for stuck in &self.stuck {
            let line = format!("stuck: {}", safe(&stuck.message));
            lines.push(output.paint(Tone::Warn, &line).into_owned());
        }
        for warning in &self.warnings {
            let line = format!("warning: {}", safe(warning));
            lines.push(output.paint(Tone::Warn, &line).into_owned());
        }
        let spent = usage::describe_usage(&json::to_value(&self.spent)?);
        if !spent.is_empty() {
            lines.push(format!("spent: {spent}"));
        }
        if let Some(since) = self.since {
            lines.push(format!("since: {}", clock::local(since, zone)));
        }
        let needs = json::to_value(&self.needs_you)?;
        let needs = needs.as_array().map_or(&[][..], Vec::as_slice);
        if !needs.is_empty() {
            lines.push("needs you:".into());
            lines.extend(render::needs_you(output, needs));
        }
        Ok(lines)
    }

    /// The verdict, as the exit code tells it.
    pub fn verdict(&self, rest: Rest) -> Result<(), CliError> {
        if !self.failed.is_empty() {
            let message = format!("{} failed, timeout or blocked", are(self.failed.len()));
            return Err(CliError::new(Kind::EndedBadly, message)
                .hint("see why: swarm idea show ID")
                .hint("give one a fresh start: swarm idea retry ID"));
        }
        if rest == Rest::NeedsPerson || self.waits_for_person() {
            return Err(
                CliError::new(Kind::NeedsPerson, "what is left needs a person")
                    .hint("see what is needed: swarm status"),
            );
        }
        Ok(())
    }

    /// Whether a person has to do something before one of those that wait can go on.
    fn waits_for_person(&self) -> bool {
        let mut waiting = self.waiting.iter();
        waiting.any(|idea| {
            let mut needs = self.needs_you.iter();
            needs.any(|need| need.idea_id.as_ref() == Some(&idea.id))
        })
    }
}

fn count(ideas: usize) -> String {
    match ideas {
        0 => "nothing".into(),
        1 => "1 idea".into(),
        ideas => format!("{ideas} ideas"),
    }
}

fn are(ideas: usize) -> String {
    let verb = if ideas == 1 { "is" } else { "are" };
    format!("{} {verb}", count(ideas))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::tests::Shared;
    use crate::cli::testkit;

    #[test]
    fn a_failure_decides_before_a_person_is_called() {
        let summary = Summary::of(&testkit::state());
        let code = |rest| summary.verdict(rest).unwrap_err().kind.exit_code();
        assert_eq!((code(Rest::Idle), code(Rest::NeedsPerson)), (5, 5));
        let empty = Summary::of(&State::default());
        assert_eq!(
            empty
                .verdict(Rest::NeedsPerson)
                .unwrap_err()
                .kind
                .exit_code(),
            6
        );
        assert!(empty.verdict(Rest::Idle).is_ok());
        // It waits for an idea that was cancelled.
        let mut left = Summary::of(&testkit::state());
        left.failed.clear();
        assert!(left.verdict(Rest::Idle).is_ok());
        let need = left.needs_you.first_mut().unwrap();
        need.idea_id = Some(left.waiting[0].id.clone());
        assert_eq!(left.verdict(Rest::Idle).unwrap_err().kind.exit_code(), 6);
    }

    #[test]
    fn the_summary_names_what_landed_failed_and_waits() {
        let data = Shared::default();
        let mut output = Output::plain(Box::new(data.clone()), Box::new(Shared::default()), false);
        Summary::of(&testkit::state())
            .show(&mut output, &TimeZone::UTC)
            .unwrap();
        let text = data.text();
        assert!(
            text.starts_with("landed nothing\n  idea-002 is failed: ␛[2J"),
            "{text}"
        );
        assert!(text.contains("waiting: idea-001\nneeds you:\n"), "{text}");
    }
}
