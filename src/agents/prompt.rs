//! The prompt of one iteration.
//!
//! Invariants: the same input gives the same prompt; it is at most [`MAX_BYTES`] long, and says where something was cut; it
//! holds no terminal control sequences; no signal in it stands alone on its line, so that an agent that repeats any line of
//! it says nothing to swarm by that (see [`crate::domain::signal`]).

use std::fmt::Write;

use super::recovery_context::RecoveryContext;
use super::text::{fenced, head, one_line, plain, tail};
use crate::domain::signal::shield;

/// The longest prompt, in bytes.
pub const MAX_BYTES: usize = 512 * 1024;

/// The heading over the last gate's failure.
pub const FEEDBACK_HEADING: &str = "## The last check failed";

/// The heading over a merge conflict to settle.
pub const CONFLICT_HEADING: &str = "## A merge conflict to settle";

/// Everything that goes into a prompt. Texts are taken as they are: empty ones are left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PromptInput {
    /// The idea's id.
    pub idea_id: String,
    /// The idea's text.
    pub idea_text: String,
    /// The shared rules: file name and content, in order.
    pub shared_rules: Vec<(String, String)>,
    /// The profile's prompt.
    pub profile_prompt: String,
    /// The profile's rules.
    pub profile_rules: String,
    /// Learnings of all agents, oldest first.
    pub learnings_global: Vec<String>,
    /// This agent's own learnings, oldest first.
    pub learnings_own: Vec<String>,
    /// What a person said to this agent, oldest first.
    pub messages: Vec<String>,
    /// The idea that somebody worked on in this worktree before, whose work is committed on the branch.
    pub taken_over: Option<String>,
    /// All that was told to an attempt before, with whose conversation this one may go on: the idea and rules may have changed since. Empty:
    /// there is one, and what it was told is not known.
    pub told_before: Option<String>,
    /// What is known about the attempt before, if that ended in a crash.
    pub recovery: Option<RecoveryContext>,
    /// The quality command that failed after the last iteration.
    pub feedback: Option<GateFeedback>,
    /// Set when this is a resolver's work.
    pub conflict: Option<ConflictBrief>,
    /// The commands that the result must pass.
    pub quality_commands: Vec<String>,
    /// The agent's branch.
    pub branch: String,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The iteration in this attempt, from 1.
    pub iteration: u32,
}

/// A quality command that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateFeedback {
    /// The command.
    pub command: String,
    /// Its exit code; `None` if it was ended by a signal or a time-out.
    pub exit_code: Option<i32>,
    /// The end of its output.
    pub output_tail: String,
}

/// What a resolver must know about a conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictBrief {
    /// The files in conflict, relative to the worktree.
    pub files: Vec<String>,
    /// The branch that the work is merged into.
    pub target_branch: String,
    /// What was done on the target's side.
    pub ours: String,
    /// What was done on the idea's side.
    pub theirs: String,
}

const KIB: usize = 1024;

/// Bytes for each section before signals are quoted, which adds at most an eighth, and before the fence of the last output, which
/// adds at most twice that output. The sum stays below [`MAX_BYTES`].
mod budget {
    use super::KIB;

    pub(super) const NAME: usize = 256;
    pub(super) const COMMANDS: usize = 4 * KIB;
    pub(super) const SHARED_RULES: usize = 80 * KIB;
    pub(super) const PROFILE: usize = 32 * KIB;
    pub(super) const IDEA: usize = 80 * KIB;
    pub(super) const LEARNINGS_GLOBAL: usize = 40 * KIB;
    pub(super) const LEARNINGS_OWN: usize = 16 * KIB;
    pub(super) const MESSAGES: usize = 32 * KIB;
    pub(super) const RECOVERY: usize = 16 * KIB;
    pub(super) const OUTPUT: usize = 24 * KIB;
    pub(super) const CONFLICT_FILES: usize = 8 * KIB;
    pub(super) const CONFLICT_SIDE: usize = 4 * KIB;
}

/// The prompt for `input`.
pub fn build(input: &PromptInput) -> String {
    let sections = [
        how_to_work(input),
        shared_rules(&input.shared_rules),
        role(input),
        own_rules(input),
        idea(input),
        list(
            "## What all agents have learned",
            &input.learnings_global,
            budget::LEARNINGS_GLOBAL,
        ),
        list(
            "## What you have learned",
            &input.learnings_own,
            budget::LEARNINGS_OWN,
        ),
        list(
            "## What a person says to you",
            &input.messages,
            budget::MESSAGES,
        ),
        input
            .taken_over
            .as_deref()
            .map_or_else(String::new, taken_over),
        input.recovery.as_ref().map_or_else(String::new, recovery),
        input.feedback.as_ref().map_or_else(String::new, feedback),
        input.conflict.as_ref().map_or_else(String::new, conflict),
    ];
    joined(&sections)
}

/// What is new, for an agent that goes on with its conversation: it knows its idea and its rules, but where they are others than an attempt
/// before was told.
pub fn build_next(input: &PromptInput) -> String {
    let changed = [
        shared_rules(&input.shared_rules),
        role(input),
        own_rules(input),
        idea(input),
    ]
    .map(|section| match &input.told_before {
        Some(told) if !has_section(told, &section) => section,
        _ => String::new(),
    });
    let is_changed = changed.iter().any(|section| !section.is_empty());
    let [shared_rules, role, own_rules, idea] = changed;
    let sections = [
        go_on(input, is_changed),
        shared_rules,
        role,
        own_rules,
        idea,
        list(
            "## What all agents have learned",
            &input.learnings_global,
            budget::LEARNINGS_GLOBAL,
        ),
        list(
            "## What a person says to you",
            &input.messages,
            budget::MESSAGES,
        ),
        input.recovery.as_ref().map_or_else(String::new, recovery),
        input.feedback.as_ref().map_or_else(String::new, feedback),
        input.conflict.as_ref().map_or_else(String::new, conflict),
    ];
    joined(&sections)
}

fn joined(sections: &[String]) -> String {
    let written: Vec<&str> = sections
        .iter()
        .map(|section| section.trim_end())
        .filter(|section| !section.is_empty())
        .collect();
    let mut prompt = shield(&written.join("\n\n"));
    prompt.push('\n');
    prompt
}

/// Whether the prompt has this section, to its end.
fn has_section(prompt: &str, section: &str) -> bool {
    let section = shield(section.trim_end());
    let ends = |at: usize| {
        let rest = &prompt[at + section.len()..];
        rest == "\n" || rest.starts_with("\n\n## ")
    };
    prompt.match_indices(&section).any(|(at, _)| ends(at))
}

fn go_on(input: &PromptInput, is_changed: bool) -> String {
    let task = if input.conflict.is_some() {
        "a merge conflict on the branch of your idea"
    } else {
        "the same idea"
    };
    let signals = if input.conflict.is_some() {
        RESOLVER_SIGNALS
    } else {
        "The signals are the same as before: when the idea is finished and committed, give the signal `<swarm>COMPLETE</swarm>` once, at the very end.\n"
    };
    let changed = if is_changed {
        " What stands below of the idea and of rules has changed since you were told it: it counts as it stands there."
    } else {
        ""
    };
    format!(
        "## Go on\n\nYou were interrupted, or ended without a result. Go on with {task} (`{}`), in the same worktree: first look at what is there (`git status`, `git log`), for your last command may have been cut off.{changed} Branch: `{}`. Attempt {}, iteration {}.\n\n{}{signals}",
        name(&input.idea_id),
        name(&input.branch),
        input.attempt,
        input.iteration,
        checks(&input.quality_commands),
    )
}

const PLACE: &str = "\
You work on one idea in a git worktree of your own. It is your current directory; other agents work on other ideas in theirs at the same time.

- Work only in this directory and commit early and often: what is committed survives whatever happens to you.
- Never push, never switch to, change or delete another branch, and never touch other worktrees or `.swarm/`.
- Leave no process running when you end.
- Nobody reads along: do not ask and wait, decide, or use a signal as below.
";

/// Each signal stands in the middle of a sentence, with text of its own on both sides.
const SIGNALS: &str = "\
### Signals

You talk to swarm, which started you, by signals in your ordinary output. When you give one, put it on a line of its own.

- The idea is finished and committed: give the signal `<swarm>COMPLETE</swarm>` once, at the very end.
- You made progress: the signal `<swarm>PROGRESS:40</swarm>` says that 40 percent are done.
- You cannot go on at all: the signal `<swarm>BLOCKED:reason</swarm>` gives the idea back, with your reason.
- A person must decide: the signal `<swarm>NEEDS_HUMAN:question</swarm>` asks them; you go on when they have answered.
- You found out what every agent here should know: say `<swarm>LEARNING_GLOBAL:one sentence</swarm>` to share it.
- You found out what only you need next time: say `<swarm>LEARNING_LOCAL:one sentence</swarm>` to keep it.

When you end without a signal you are started again and go on from what lies in the worktree.
";

const RESOLVER_SIGNALS: &str = "\
### Signals

You talk to swarm, which started you, by signals in your ordinary output. When you give one, put it on a line of its own.

- The conflict is settled in every file: give the signal `<swarm>RESOLVED</swarm>` once, at the very end.
- The two sides cannot both be kept: the signal `<swarm>NEEDS_HUMAN:question</swarm>` leaves it to a person.
";

fn how_to_work(input: &PromptInput) -> String {
    let signals = if input.conflict.is_some() {
        RESOLVER_SIGNALS
    } else {
        SIGNALS
    };
    format!(
        "## How to work here\n\n{PLACE}\nBranch: `{}`. Attempt {}, iteration {}.\n\n{}{signals}",
        name(&input.branch),
        input.attempt,
        input.iteration,
        checks(&input.quality_commands),
    )
}

fn checks(commands: &[String]) -> String {
    if commands.is_empty() {
        return String::new();
    }
    let intro = "The result is accepted only if these commands pass here; run them yourself before you finish:\n";
    let commands: Vec<String> = commands.iter().map(|command| plain(command)).collect();
    format!(
        "{intro}\n{}\n",
        fenced(&cut(&commands.join("\n"), budget::COMMANDS))
    )
}

fn shared_rules(files: &[(String, String)]) -> String {
    let mut rules = String::new();
    for (name, content) in files {
        let content = plain(content);
        if !content.trim().is_empty() {
            add(
                &mut rules,
                format_args!("### {}\n\n{}\n\n", one_line(name), content.trim()),
            );
        }
    }
    text("## Shared rules", &rules, budget::SHARED_RULES)
}

fn role(input: &PromptInput) -> String {
    text("## Your role", &input.profile_prompt, budget::PROFILE)
}

fn own_rules(input: &PromptInput) -> String {
    text("## Your rules", &input.profile_rules, budget::PROFILE)
}

fn idea(input: &PromptInput) -> String {
    let heading = format!("## The idea: {}", name(&input.idea_id));
    text(&heading, &input.idea_text, budget::IDEA)
}

fn taken_over(other: &str) -> String {
    format!(
        "## Where you begin\n\nYou take over a worktree in which `{}` was worked on. What was done for that is committed on your branch: build on it. \
         That idea is not finished here; somebody else goes on with it later.\n",
        name(other)
    )
}

fn recovery(context: &RecoveryContext) -> String {
    cut(&plain(&context.to_markdown()), budget::RECOVERY)
}

fn feedback(feedback: &GateFeedback) -> String {
    let end = feedback.exit_code.map_or_else(
        || "was ended before it finished".to_owned(),
        |code| format!("ended with exit code {code}"),
    );
    let mut section = format!(
        "{FEEDBACK_HEADING}\n\nYou said that the idea was finished, but a command that must pass did not. It {end}:\n\n{}\n",
        fenced(&cut(&plain(&feedback.command), budget::COMMANDS))
    );
    let output = plain(&feedback.output_tail);
    let shown = tail(&output, budget::OUTPUT);
    if shown.trim().is_empty() {
        section.push_str("It wrote nothing.\n");
    } else {
        add(
            &mut section,
            format_args!(
                "The end of its output{}:\n\n{}",
                left_out(output.len() - shown.len(), "of the beginning"),
                fenced(shown)
            ),
        );
    }
    section.push_str("\nMend what it complains about, then finish again.\n");
    section
}

fn conflict(brief: &ConflictBrief) -> String {
    let mut files = String::new();
    for file in &brief.files {
        add(&mut files, format_args!("- `{}`\n", one_line(file)));
    }
    let side = |description: &str| cut(one_line(description).as_str(), budget::CONFLICT_SIDE);
    format!(
        "{CONFLICT_HEADING}\n\n\
         The work on this idea is being merged into `{}`, and git could not combine it with what has landed there meanwhile. \
         This worktree holds the half-merged state: these files have conflict markers (`<<<<<<<`, `=======`, `>>>>>>>`):\n\n\
         {}\n\
         - What has landed meanwhile: {}\n\
         - What was done for this idea: {}\n\n\
         Edit every one of these files so that what both sides wanted is there, and no marker is left. Change nothing else, and do not abort \
         the merge; you need not commit: swarm takes the files as you leave them.\n",
        name(&brief.target_branch),
        cut(&files, budget::CONFLICT_FILES),
        side(&brief.ours),
        side(&brief.theirs),
    )
}

/// A section of free text; nothing if there is none.
fn text(heading: &str, content: &str, budget: usize) -> String {
    let content = plain(content);
    if content.trim().is_empty() {
        return String::new();
    }
    format!("{heading}\n\n{}\n", cut(content.trim(), budget))
}

/// A section of single facts or messages; where not all fit, the newest do.
fn list(heading: &str, items: &[String], budget: usize) -> String {
    let mut room = budget;
    let mut shown: Vec<String> = Vec::new();
    for item in items.iter().rev() {
        let item = cut(indented(&plain(item)).as_str(), budget / 2);
        match room.checked_sub(item.len() + 3) {
            Some(left) => room = left,
            None => break,
        }
        shown.push(format!("- {item}\n"));
    }
    if shown.is_empty() {
        return String::new();
    }
    let cut = left_out_items(items.len() - shown.len());
    shown.reverse();
    format!("{heading}\n\n{cut}{}", shown.concat())
}

/// An id or a branch.
fn name(text: &str) -> String {
    head(&one_line(text), budget::NAME).to_owned()
}

/// Further lines of a list's item belong to it.
fn indented(item: &str) -> String {
    item.trim().replace('\n', "\n  ")
}

/// The head of `text`, and where something was cut, how much.
fn cut(text: &str, budget: usize) -> String {
    let shown = head(text, budget);
    if shown.len() == text.len() {
        return text.to_owned();
    }
    let cut = text.len() - shown.len();
    format!("{shown}\n[cut here: {cut} bytes are left out]\n")
}

fn left_out(bytes: usize, where_: &str) -> String {
    match bytes {
        0 => String::new(),
        bytes => format!(" ({bytes} bytes {where_} are left out)"),
    }
}

fn left_out_items(count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!("[{count} older ones are left out]\n\n"),
    }
}

fn add(text: &mut String, more: std::fmt::Arguments<'_>) {
    text.write_fmt(more).expect("a String takes everything");
}

#[cfg(test)]
mod tests;
