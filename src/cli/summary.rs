//! The summary that `start --until-idle` prints when the daemon has come to rest.
//!
//! Invariant: an idea that ended badly (exit code 5) outranks one that needs a person (6).

use std::collections::BTreeSet;

use serde::Serialize;

use super::clock;
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
use crate::view::describe::{short, status_tone};
use crate::view::{self, IdeaView, NeedsYou, Rest, Stuck, UsedView, WarningView};

/// What had happened before this run.
#[derive(Debug, Default)]
pub struct Earlier {
    /// The ideas that were done.
    landed: BTreeSet<IdeaId>,
    /// What all ideas had used.
    used: Spent,
    /// When this run started; `None` if it never got ready.
    at: Option<Timestamp>,
}

impl Earlier {
    /// Takes it from a state.
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

fn used_by_all(state: &State) -> Spent {
    let mut all = Spent::default();
    for idea in state.ideas.values() {
        all.add_all(&idea.used);
    }
    all
}

/// The result of one run of the daemon.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// When the run started.
    pub since: Option<Timestamp>,
    /// Ideas that landed in this run.
    pub landed: Vec<IdeaView>,
    /// Ideas that are done without a commit, because their agents changed nothing.
    pub nothing_to_land: Vec<IdeaView>,
    /// Ideas that are failed, timeout or blocked.
    pub failed: Vec<IdeaView>,
    /// Ideas that are pending, active or merging.
    pub waiting: Vec<IdeaView>,
    /// Which of those are held.
    pub held: Vec<IdeaId>,
    /// Agents that have made no commit for many iterations.
    pub stuck: Vec<Stuck>,
    /// Warnings that did not stop the run.
    pub warnings: Vec<WarningView>,
    /// What needs the person.
    pub needs_you: Vec<NeedsYou>,
    /// What was used in this run.
    pub used: UsedView,
    #[serde(skip)]
    totals: Spent,
}

impl Summary {
    /// Takes it from a state, without regard to what happened before this run.
    pub fn of(state: &State) -> Self {
        let pick = |wanted: &dyn Fn(IdeaStatus) -> bool| -> Vec<IdeaView> {
            let fits = |(_, idea): &(&IdeaId, &Idea)| wanted(idea.status);
            let picked = state.ideas.iter().filter(fits);
            picked.map(|(id, idea)| view::idea(id, idea)).collect()
        };
        let done = pick(&|status| status == IdeaStatus::Done);
        let (landed, nothing_to_land) = done.into_iter().partition(|idea| idea.commit.is_some());
        let totals = used_by_all(state);
        let held = state.ideas.open().filter(|(_, idea)| idea.held);
        Self {
            since: None,
            held: held.map(|(id, _)| id.clone()).collect(),
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
            used: view::used(&totals),
            totals,
        }
    }

    /// Leaves out what had landed or been used before this run.
    pub fn without(&mut self, before: &Earlier) {
        let new = |idea: &IdeaView| !before.landed.contains(&idea.id);
        self.landed.retain(new);
        self.nothing_to_land.retain(new);
        self.totals = self.totals.since(&before.used);
        self.used = view::used(&self.totals);
        self.since = before.at;
    }

    /// Shows it.
    pub fn show(&self, output: &mut Output) -> Result<(), CliError> {
        if output.json {
            return output.json_line(&serde_json::json!({ "summary": self }));
        }
        for line in self.lines(output, clock::now())? {
            output.line(line)?;
        }
        Ok(())
    }

    fn lines(&self, output: &Output, now: Timestamp) -> Result<Vec<String>, CliError> {
        let took = self.since.map_or_else(String::new, |since| {
            format!(" in {}", clock::span(now.since(since)))
        });
        let mut lines = vec![format!("landed {}{took}", count(self.landed.len()))];
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
        if !self.failed.is_empty() {
            lines.push(format!("did not land: {}", self.bad_ends()));
        }
        // The reasons are listed under "needs you".
        for idea in &self.failed {
            let (status, title) = (idea.status.as_str(), title(&idea.content, 60));
            let line = format!("  {}  {status}  {title}", idea.id);
            lines.push(output.paint(status_tone(idea.status), &line).into_owned());
        }
        let free = self.waiting.iter().filter(|idea| !idea.held);
        let free: Vec<&str> = free.map(|idea| idea.id.as_str()).collect();
        if !free.is_empty() {
            lines.push(format!("waiting: {}", free.join(", ")));
        }
        if !self.held.is_empty() {
            let ids: Vec<&str> = self.held.iter().map(IdeaId::as_str).collect();
            lines.push(format!("held: {}", ids.join(", ")));
            lines.push(format!(
                "  -> to start them: swarm idea unhold {}",
                ids.join(" ")
            ));
        }
        lines.extend(self.warning_lines(output));
        let spent = usage::describe_usage(&json::to_value(&self.used)?);
        if !spent.is_empty() {
            lines.push(format!("spent: {spent}"));
        }
        let needs = json::to_value(&self.needs_you)?;
        let needs = needs.as_array().map_or(&[][..], Vec::as_slice);
        if !needs.is_empty() {
            lines.push("needs you:".into());
            lines.extend(render::needs_you(output, needs));
        }
        Ok(lines)
    }

    /// Stuck agents and other warnings, with the commands to type.
    fn warning_lines(&self, output: &Output) -> Vec<String> {
        let stuck = self.stuck.iter();
        let stuck = stuck.map(|it| ("stuck", &it.message, &it.commands));
        let others = self.warnings.iter();
        let others = others.map(|it| ("warning", &it.message, &it.commands));
        let mut lines = Vec::new();
        for (what, message, commands) in stuck.chain(others) {
            let line = format!("{what}: {}", safe(message));
            lines.push(output.paint(Tone::Warn, &line).into_owned());
            lines.extend(commands.iter().map(|it| render::command(output, it)));
        }
        lines
    }

    /// The number of ideas in each status that is bad: `1 failed, 2 blocked`.
    fn bad_ends(&self) -> String {
        let counts = IdeaStatus::ALL.into_iter().filter_map(|status| {
            let ideas = self.failed.iter().filter(|idea| idea.status == status);
            match ideas.count() {
                0 => None,
                count => Some(format!("{count} {}", status.as_str())),
            }
        });
        counts.collect::<Vec<_>>().join(", ")
    }

    /// The verdict that the exit code tells.
    pub fn verdict(&self, rest: Rest) -> Result<(), CliError> {
        if !self.failed.is_empty() {
            let message = format!("not every idea landed: {}", self.bad_ends());
            return Err(CliError::new(Kind::EndedBadly, message)
                .hint("see why: swarm idea show ID")
                .hint("give one a fresh start: swarm idea retry ID"));
        }
        if rest == Rest::NeedsPerson || self.waits_for_person() {
            return Err(
                CliError::new(Kind::NeedsPerson, "the remaining ideas need you")
                    .hint("see what to do: swarm status"),
            );
        }
        Ok(())
    }

    /// Whether text output lists all that the verdict is about, with the commands to type.
    pub fn says_what_to_do(&self) -> bool {
        let listed = |idea: &IdeaView| {
            let mut needs = self.needs_you.iter();
            needs.any(|need| need.idea_id.as_ref() == Some(&idea.id))
        };
        !self.needs_you.is_empty() && self.failed.iter().all(listed)
    }

    /// Whether a waiting idea needs a person before it can continue.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::tests::Shared;
    use crate::cli::testkit;

    #[test]
    fn a_failure_outranks_a_need_for_a_person() {
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
        // The remaining idea is still active and needs nobody.
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
        let summary = Summary::of(&testkit::state());
        summary.show(&mut output).unwrap();
        let text = data.text();
        let failed = "landed nothing\ndid not land: 1 failed\n  idea-002  failed  a second idea\n";
        assert!(text.starts_with(failed), "{text}");
        let needs = "waiting: idea-001\nneeds you:\n  ! idea-002 failed: ␛[2J it broke\n";
        assert!(text.contains(needs), "{text}");
        assert!(summary.says_what_to_do());
        assert_eq!(text.matches("it broke").count(), 1, "{text}");
    }
}
