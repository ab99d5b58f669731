//! The message of a need, and the commands to type.

use std::fmt;

use super::{Need, What, resolver_question};
use crate::domain::event::TargetRewritten;
use crate::domain::hook::approval_wanted;
use crate::domain::ids::IdeaId;
use crate::domain::settings::Settings;
use crate::domain::state::baseline::BaselineFailure;
use crate::domain::state::provider::{Hold, HoldKind};
use crate::domain::state::{Idea, MergeEntry, State};

/// Ideas whose missing work is brought back by a command of their own.
const MOST_BROUGHT_BACK: usize = 4;

/// Path of a worktree of this name; its name alone before a daemon has said where they lie.
pub fn worktree_path(state: &State, name: &str) -> String {
    match &state.swarm.host.worktrees {
        Some(folder) => format!("{folder}/{name}"),
        None => name.to_owned(),
    }
}

/// The first four names of a list, and the number of the others.
pub fn names<T: fmt::Display>(all: &[T]) -> String {
    let shown: Vec<String> = all.iter().take(4).map(T::to_string).collect();
    match all.len().saturating_sub(shown.len()) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Which command failed on which commit of the untouched target, how, and the end of its output.
pub fn baseline_failure(failed: &BaselineFailure, settings: &Settings) -> String {
    let branch = &settings.target;
    let (Some(command), Some(commit)) = (&failed.command, &failed.commit) else {
        return format!("{branch} cannot be checked: {}", failed.how);
    };
    let output = failed.output.as_deref();
    let output = output.map_or_else(String::new, |output| format!(": {output}"));
    let is_setup = settings.setup.contains(command) && !settings.quality_commands.contains(command);
    let kind = if is_setup { "the setup command " } else { "" };
    let how = &failed.how;
    if failed.environment {
        return format!(
            "{kind}`{command}` fails on {branch} at {commit:.10}, which passed before, so \
            something outside the repository is broken ({how}){output}"
        );
    }
    format!("{kind}`{command}` fails on {branch} at {commit:.10}, before any work ({how}){output}")
}

/// The command that shows the output of the failed check.
pub fn baseline_output(failed: &BaselineFailure) -> Option<String> {
    let run = failed.run.as_ref()?;
    let folder = format!(".git/swarm/runs/{run}");
    Some(format!(
        "tail -n 50 {folder}/stdout.log {folder}/stderr.log"
    ))
}

/// What to type, and why, of `why: command`.
fn remedy(text: &str) -> String {
    match text.split_once(": swarm ") {
        Some((why, command)) => format!("swarm {command}   # {why}"),
        None => text.to_owned(),
    }
}

impl Need<'_> {
    /// What happened and why.
    pub fn message(&self) -> String {
        match self.what {
            What::Rewritten(rewritten, branch) => {
                let (from, to) = (&rewritten.from, &rewritten.to);
                format!(
                    "the history of {branch} was rewritten from {from:.10} to {to:.10}, and the \
                    work of {} is missing there. Its commits are kept as \
                    refs/swarm/rescue/dropped-{branch}-{from:.10}; everything else continues. \
                    Bring the work back, which swarm notices, or choose: redo the ideas, ignore it \
                    (they stay done), or cancel them",
                    names(&rewritten.dropped)
                )
            }
            What::Paused(reason) if reason.starts_with("paused") => reason.to_owned(),
            What::Paused(reason) => format!("paused: {reason}"),
            What::Baseline(failed) => self.red_baseline(failed),
            What::Blind(alarm) => {
                let message = &alarm.message;
                format!("{message}. Until that is mended, no idea begins and nothing lands")
            }
            What::Worktrees(held) => format!(
                "no worktree can be made: {}. No idea is charged, agents that have a worktree \
                continue, and swarm tries again by itself",
                held.message
            ),
            What::Account(account, hold) => account_held(account, hold),
            What::Profile(profile, hold) => format!(
                "the program of profile {profile} cannot begin: {}. swarm tries again by itself, \
                and no idea is charged",
                hold.message
            ),
            What::Conflict(entry) => conflict(entry),
            What::Review(entry) => format!(
                "{} is finished and waits for your review: {:.10} on {}",
                entry.idea, entry.source, entry.branch
            ),
            What::Waiting(entry, waits) => {
                let files = match waits.files.as_slice() {
                    [] => String::new(),
                    files => format!(": {}", files.join(", ")),
                };
                format!(
                    "the merge of {} is waiting: {}{files}",
                    entry.idea, waits.reason
                )
            }
            What::Question(agent, _, why) => format!("{agent} asks: {why}"),
            What::BadEnd(id, idea) => {
                format!("{id} {}: {}", idea.status.predicate(), error_of(idea))
            }
            What::WaitsInVain(id, _, before) => {
                format!("{id} waits for {before}, which is cancelled")
            }
        }
    }

    /// The commands to type in the repository's root.
    pub fn commands(&self) -> Vec<String> {
        match self.what {
            What::Rewritten(rewritten, _) => {
                let choices = ["redo", "ignore", "cancel"];
                let choices = choices.map(|choice| format!("swarm merge target {choice}"));
                bring_back(self.state, rewritten).chain(choices).collect()
            }
            What::Paused(_) | What::Account(..) => vec!["swarm resume".into()],
            What::Profile(..) | What::Worktrees(_) => vec![
                "swarm doctor".into(),
                "swarm resume   # after the fix: tries again at once".into(),
            ],
            What::Baseline(failed) => {
                let resume = "swarm resume   # after the fix: checks again at once".to_owned();
                baseline_output(failed)
                    .into_iter()
                    .chain([resume])
                    .collect()
            }
            What::Blind(alarm) => {
                let again = "swarm resume   # after another fix: probes again at once";
                let warn = "swarm config set checks.canary warn   # to be only warned";
                let remedies = alarm.remedies.iter().map(|it| remedy(it));
                remedies.chain([again.into(), warn.into()]).collect()
            }
            What::Conflict(entry) => conflict_commands(self.state, entry),
            What::Review(entry) => review_commands(entry),
            What::Waiting(entry, waits) => approval_wanted(&waits.reason)
                .into_iter()
                .chain(merge_commands(&entry.idea))
                .collect(),
            What::Question(agent, attempt, _) => vec![
                format!("swarm agent say {agent} \"...\""),
                format!("swarm idea retry {}", attempt.idea),
            ],
            What::BadEnd(id, idea) => approval_wanted(error_of(idea))
                .into_iter()
                .chain([
                    format!("swarm idea retry {id}"),
                    format!("swarm idea cancel {id}"),
                ])
                .collect(),
            What::WaitsInVain(id, idea, before) => in_vain_commands(id, idea, before),
        }
    }

    fn red_baseline(&self, failed: &BaselineFailure) -> String {
        let what = match self.state.settings.as_deref() {
            Some(settings) => baseline_failure(failed, settings),
            None => failed.how.clone(),
        };
        let held: Vec<&IdeaId> = self.state.held_by_target().map(|it| &it.idea).collect();
        let waits = match (held.as_slice(), self.state.awaits_baseline()) {
            ([], _) => "no idea begins".to_owned(),
            (held, true) => format!(
                "no idea begins or continues, and {} cannot land",
                names(held)
            ),
            (held, false) => format!("{} cannot land", names(held)),
        };
        let attempts = self.state.agents.values();
        let checked = attempts.filter(|attempt| self.state.waits_for_target(attempt));
        let checked: Vec<&IdeaId> = checked.map(|attempt| &attempt.idea).collect();
        let waits = match checked.as_slice() {
            [] => waits,
            ideas => format!(
                "{waits}, and the checks of {} wait without being charged",
                names(ideas)
            ),
        };
        format!(
            "{waits}: {what}. swarm checks again by itself, after growing waits and when \
            the branch or the configuration changes"
        )
    }
}

fn account_held(account: &str, hold: &Hold) -> String {
    let what = match hold.kind {
        HoldKind::Login => "is not logged in, or its login was refused",
        HoldKind::Limit => "has reached its limit",
        HoldKind::Overloaded => "gets no answer from its provider",
        HoldKind::Credit => "has no credit left or has reached its spending cap",
        HoldKind::Profile => "has a program that cannot begin",
    };
    format!("account {account} {what}: {}", hold.message)
}

fn conflict(entry: &MergeEntry) -> String {
    let files = entry.conflict.as_ref();
    let files = files.map(|conflict| conflict.files.join(", "));
    let waits = entry.waits.as_ref().filter(|waits| waits.person);
    let why = waits.map_or_else(String::new, |waits| format!(" ({})", waits.reason));
    format!(
        "the merge of {} has a conflict in {}{why}",
        entry.idea,
        files.unwrap_or_default()
    )
}

/// The commands approve only the commit that they were shown with.
fn review_commands(entry: &MergeEntry) -> Vec<String> {
    let MergeEntry { idea, source, .. } = entry;
    vec![
        format!("swarm merge diff {idea}"),
        format!("swarm merge approve {idea} --commit {source:.10}"),
        format!("swarm merge reject {idea} \"...\""),
    ]
}

fn merge_commands(id: &IdeaId) -> [String; 2] {
    [
        format!("swarm merge retry {id}"),
        format!("swarm idea cancel {id}"),
    ]
}

/// The exact commands to resolve a conflict by hand.
fn conflict_commands(state: &State, entry: &MergeEntry) -> Vec<String> {
    if !state.agents.contains_key(&entry.agent) {
        return vec![];
    }
    let idea = &entry.idea;
    let git = format!("git -C \"$(swarm path {idea})\"");
    let by_hand = [
        format!("{git} status"),
        format!("{git} mergetool   # or edit the files by hand"),
        format!("{git} add --all"),
        format!("{git} commit -m 'Resolve the conflict of {idea}'"),
        format!("swarm merge resolve {idea}"),
    ];
    let answer = resolver_question(state, entry).map(|_| {
        [
            format!("swarm agent say {} \"...\"", entry.agent),
            format!("swarm merge retry {idea}   # the resolver tries again with your answer"),
        ]
    });
    answer.into_iter().flatten().chain(by_hand).collect()
}

/// The commands that bring missing work back, in a checkout of the target.
fn bring_back<'a>(
    state: &'a State,
    rewritten: &'a TargetRewritten,
) -> impl Iterator<Item = String> + 'a {
    let lost = rewritten.dropped.iter().take(MOST_BROUGHT_BACK);
    lost.filter_map(|id| {
        let idea = state.ideas.get(id)?;
        let commit = idea.commit.as_ref()?;
        let what = match &idea.landed_since {
            Some(since) => format!("{since:.10}..{commit:.10}"),
            None => format!("-m 1 {commit:.10}"),
        };
        Some(format!(
            "git cherry-pick {what}   # {id}, where the target is checked out"
        ))
    })
}

fn error_of(idea: &Idea) -> &str {
    idea.last_error
        .as_deref()
        .unwrap_or("the reason is unknown")
}

fn in_vain_commands(id: &IdeaId, idea: &Idea, before: &IdeaId) -> Vec<String> {
    let rest = idea.after.iter().filter(|id| *id != before);
    let rest: Vec<&str> = rest.map(IdeaId::as_str).collect();
    let without = match rest.as_slice() {
        [] => "--no-after".to_owned(),
        rest => format!("--after {}", rest.join(",")),
    };
    vec![
        format!("swarm idea edit {id} {without}"),
        format!("swarm idea retry {before}"),
        format!("swarm idea cancel {id}"),
    ]
}
