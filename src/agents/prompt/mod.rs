//! Builds the prompt of one iteration.
//!
//! Invariants: the same input gives the same prompt. It is at most [`MAX_BYTES`] long, marks where
//! something was cut, and has no terminal control sequences. No signal in it is alone on its line,
//! so an agent that repeats a line of the prompt sends no signal (see [`crate::domain::signal`]).

mod brief;
mod cause;
mod changed_files;
mod conflict;
mod instructions;
pub mod synthesis;

use std::fmt::Write;

use super::recovery_context::RecoveryContext;
use super::text::{fenced, head, one_line, plain, tail};
use crate::domain::signal::shield;
use crate::domain::state::prompt_cause::PromptCause;
pub use brief::{BRIEF_HEADING, Brief, Known, MOVED_HEADING};
pub use cause::CONTINUE_HEADING;
pub use changed_files::CHANGED_HEADING;
pub use instructions::instructions;

/// Longest prompt, in bytes.
pub const MAX_BYTES: usize = 560 * 1024;

/// Heading of the section on a failed quality command.
pub const FEEDBACK_HEADING: &str = "## The last check failed";

/// Heading of the section on work that a reviewer returned.
pub const REVIEW_HEADING: &str = "## The reviewer's comment";

/// Heading of the section on a merge conflict.
pub const CONFLICT_HEADING: &str = "## A merge conflict to resolve";

/// Everything that goes into a prompt. Empty texts have no section.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PromptInput {
    /// Why the agent gets the prompt.
    pub cause: PromptCause,
    /// Id of the idea.
    pub idea_id: String,
    /// Text of the idea.
    pub idea_text: String,
    /// Shared rules in order: file name and content.
    pub shared_rules: Vec<(String, String)>,
    /// The profile's `prompt.md`.
    pub profile_prompt: String,
    /// The profile's `rules.md`.
    pub profile_rules: String,
    /// The section on what all agents found out, for a new conversation.
    pub memory: String,
    /// The same for a conversation that goes on: only what is new.
    pub memory_next: String,
    /// This agent's own learnings, oldest first.
    pub learnings_own: Vec<String>,
    /// Messages from a person to this agent, oldest first.
    pub messages: Vec<String>,
    /// The comment of the reviewer who returned the finished work.
    pub review: Option<String>,
    /// The idea for which this worktree was used before. Its work is committed on the branch.
    pub taken_over: Option<String>,
    /// The prompt of the earlier attempt whose conversation this one may resume, because idea and
    /// rules may have changed since. Empty if that prompt is unknown.
    pub told_before: Option<String>,
    /// Files that the agent read in this conversation and somebody else changed since.
    pub changed_files: Vec<String>,
    /// The agent whose exported state the idea goes on from.
    pub brief: Option<Brief>,
    /// What is known about the previous attempt, if it crashed.
    pub recovery: Option<RecoveryContext>,
    /// The quality command that failed after the last iteration.
    pub feedback: Option<GateFeedback>,
    /// The conflict, if this agent is a resolver.
    pub conflict: Option<ConflictBrief>,
    /// The commands that the result must pass.
    pub quality_commands: Vec<String>,
    /// The agent's branch.
    pub branch: String,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Number of the iteration in this attempt, from 1.
    pub iteration: u32,
}

/// A quality command that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateFeedback {
    /// The command as configured.
    pub command: String,
    /// Exit code; `None` if a signal or a timeout ended it.
    pub exit_code: Option<i32>,
    /// The end of its output.
    pub output_tail: String,
}

/// What a resolver needs to know about a conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictBrief {
    /// Files in conflict, relative to the worktree.
    pub files: Vec<String>,
    /// Branch into which the work is merged.
    pub target_branch: String,
    /// Changes on the target's side.
    pub ours: String,
    /// Changes on the idea's side.
    pub theirs: String,
    /// Commit with the unfinished resolution from before the target moved.
    pub saved: Option<String>,
}

const KIB: usize = 1024;

/// Limit in bytes of each section before escaping. Quoting signals adds at most an eighth, and the
/// fence of the last output adds at most twice that output. The sum stays below [`MAX_BYTES`].
mod budget {
    use super::KIB;

    pub(super) const NAME: usize = 256;
    pub(super) const COMMANDS: usize = 4 * KIB;
    pub(super) const SHARED_RULES: usize = 80 * KIB;
    pub(super) const PROFILE: usize = 32 * KIB;
    pub(super) const IDEA: usize = 80 * KIB;
    pub(super) const MEMORY: usize = 64 * KIB;
    pub(super) const LEARNINGS_OWN: usize = 16 * KIB;
    pub(super) const MESSAGES: usize = 32 * KIB;
    pub(super) const REVIEW: usize = 16 * KIB;
    pub(super) const RECOVERY: usize = 16 * KIB;
    pub(super) const OUTPUT: usize = 24 * KIB;
    pub(super) const CONFLICT_FILES: usize = 8 * KIB;
    pub(super) const CONFLICT_SIDE: usize = 4 * KIB;
}

/// Builds the prompt for the first iteration of a conversation.
pub fn build(input: &PromptInput) -> String {
    let sections = [
        cause::section(input),
        how_to_work(input),
        shared_rules(&input.shared_rules),
        role(input),
        own_rules(input),
        idea(input),
        memory(&input.memory),
        list(
            "## What you have learned",
            &input.learnings_own,
            budget::LEARNINGS_OWN,
        ),
        list(
            "## Messages from a person",
            &input.messages,
            budget::MESSAGES,
        ),
        input
            .taken_over
            .as_deref()
            .map_or_else(String::new, taken_over),
        input
            .brief
            .as_ref()
            .map_or_else(String::new, brief::section),
        input.recovery.as_ref().map_or_else(String::new, recovery),
        input.review.as_deref().map_or_else(String::new, review),
        input.feedback.as_ref().map_or_else(String::new, feedback),
        input
            .conflict
            .as_ref()
            .map_or_else(String::new, conflict::section),
    ];
    joined(&sections)
}

/// Builds the prompt for an agent that continues its conversation. It contains only what is new:
/// idea and rules appear only if they differ from those in the earlier prompt.
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
        memory(&input.memory_next),
        list(
            "## Messages from a person",
            &input.messages,
            budget::MESSAGES,
        ),
        changed_files::section(&input.changed_files),
        input
            .brief
            .as_ref()
            .map_or_else(String::new, brief::section_next),
        input.recovery.as_ref().map_or_else(String::new, recovery),
        input.review.as_deref().map_or_else(String::new, review),
        input.feedback.as_ref().map_or_else(String::new, feedback),
        input
            .conflict
            .as_ref()
            .map_or_else(String::new, conflict::section),
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

/// Whether the prompt contains exactly this section.
fn has_section(prompt: &str, section: &str) -> bool {
    let section = shield(section.trim_end());
    let ends = |at: usize| {
        let rest = &prompt[at + section.len()..];
        rest == "\n" || rest.starts_with("\n\n## ")
    };
    prompt.match_indices(&section).any(|(at, _)| ends(at))
}

fn go_on(input: &PromptInput, is_changed: bool) -> String {
    let (task, signals) = if input.conflict.is_some() {
        let task = "a merge conflict on the branch of your idea";
        (task, RESOLVER_SIGNALS)
    } else {
        let signals = "The signals are the same as before: when the idea is finished and \
            committed, give the signal `<swarm>COMPLETE</swarm>` once, at the very end.\n";
        ("the same idea", signals)
    };
    let rules = PromptCause::RulesChanged;
    let only_rules = is_changed && input.cause == PromptCause::Unfinished;
    let cause = if only_rules { &rules } else { &input.cause };
    let first = cause::first_sentence(input, cause);
    let changed = if is_changed && *cause != rules {
        " The idea or rules below have changed since you last saw them; the new text counts."
    } else {
        ""
    };
    format!(
        "{CONTINUE_HEADING}\n\n{first} Continue with {task} (`{}`) in the same worktree. First \
        check its state (`git status`, `git log`).{changed} Branch: `{}`. Attempt {}, iteration \
        {}.\n\n{}{signals}",
        name(&input.idea_id),
        name(&input.branch),
        input.attempt,
        input.iteration,
        checks(&input.quality_commands),
    )
}

const PLACE: &str = "\
You work on one idea in your own git worktree, which is your current directory. Other agents work \
on other ideas in their worktrees at the same time.

- Work only in this directory. Commit early and often: committed work survives whatever happens to \
you.
- Never push. Never switch to, change or delete another branch. Never touch other worktrees or \
`.swarm/`.
- Leave no process running when you end.
- Nobody reads along, so do not ask and wait: decide, or use a signal as described below.
";

/// Each signal is in the middle of a sentence, with text on both sides.
const SIGNALS: &str = "\
### Signals

You talk to swarm, the program that started you, with signals in your normal output. Put each \
signal on its own line.

- The idea is finished and committed: give the signal `<swarm>COMPLETE</swarm>` once, at the very \
end.
- You made progress: the signal `<swarm>PROGRESS:40</swarm>` reports that 40 percent is done.
- You cannot continue: the signal `<swarm>BLOCKED:reason</swarm>` returns the idea with your reason.
- A person must decide: the signal `<swarm>NEEDS_HUMAN:question</swarm>` asks them; you continue \
after they answer.
- You learned something that every agent here should know: use `<swarm>LEARNING_GLOBAL:one \
sentence</swarm>` to share it.
- You learned something that only you need next time: use `<swarm>LEARNING_LOCAL:one \
sentence</swarm>` to keep it.

If you end without a signal, swarm starts you again, and you continue from the state of the \
worktree.
";

const RESOLVER_SIGNALS: &str = "\
### Signals

You talk to swarm, the program that started you, with signals in your normal output. Put each \
signal on its own line.

- The conflict is resolved in every file: give the signal `<swarm>RESOLVED</swarm>` once, at the \
very end.
- You cannot keep both sides: the signal `<swarm>NEEDS_HUMAN:question</swarm>` leaves the decision \
to a person.
";

/// Every agent can run these, whether or not its program also has the tools.
const KNOWLEDGE: &str = "\
### What agents here know

The agents here share what they find out: learnings, and facts that have a key and a version. You \
reach them with these commands, or with the tools of the server `swarm` if your program lists them.

- Look before you search the code for long: `\"$SWARM_BIN\" memory search WORDS`, `\"$SWARM_BIN\" \
memory get KEY`.
- Share what would have saved you time: `\"$SWARM_BIN\" memory learn \"[api.port] The API listens \
on 8080\" --path src/api.rs`. The key in brackets makes it a fact.
- Correct a fact that is wrong: `\"$SWARM_BIN\" memory cas KEY VERSION VALUE`, with the version \
that you saw. If it was changed meanwhile, the answer names the new value.

";

fn how_to_work(input: &PromptInput) -> String {
    let (knowledge, signals) = if input.conflict.is_some() {
        ("", RESOLVER_SIGNALS)
    } else {
        (KNOWLEDGE, SIGNALS)
    };
    format!(
        "## How to work here\n\n{PLACE}\nBranch: `{}`. Attempt {}, iteration \
        {}.\n\n{}{knowledge}{signals}",
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
    let intro = "The result is accepted only if these commands pass here. Run them yourself before \
                 you finish:\n";
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

/// The section that selects from the shared memory; its lines are made already.
fn memory(section: &str) -> String {
    cut(&plain(section), budget::MEMORY)
}

fn taken_over(other: &str) -> String {
    format!(
        "## Where you start\n\nYou take over a worktree that was used for `{}`. The work done for \
        that idea is committed on your branch: build on it. That idea is not finished here; \
        another agent continues it later.\n",
        name(other)
    )
}

fn review(comment: &str) -> String {
    let comment = cut(plain(comment).trim(), budget::REVIEW);
    format!(
        "{REVIEW_HEADING}\n\nYou finished the idea and every check passed, but the person who \
        reviewed your work did not approve it. Their comment:\n\n{comment}\n\nYour work is still \
        on your branch. Do what the comment asks, commit, then finish again.\n"
    )
}

fn recovery(context: &RecoveryContext) -> String {
    cut(&plain(&context.to_markdown()), budget::RECOVERY)
}

fn feedback(feedback: &GateFeedback) -> String {
    let end = feedback.exit_code.map_or_else(
        || "was stopped before it finished".to_owned(),
        |code| format!("ended with exit code {code}"),
    );
    let mut section = format!(
        "{FEEDBACK_HEADING}\n\nYou reported the idea as finished, but a required command failed. \
        It {end}:\n\n{}\n",
        fenced(&cut(&plain(&feedback.command), budget::COMMANDS))
    );
    let output = plain(&feedback.output_tail);
    let shown = tail(&output, budget::OUTPUT);
    if shown.trim().is_empty() {
        section.push_str("It printed nothing.\n");
    } else {
        let left = left_out(output.len() - shown.len(), "at the start");
        let shown = fenced(shown);
        add(
            &mut section,
            format_args!("The end of its output{left}:\n\n{shown}"),
        );
    }
    section.push_str("\nFix what it reports, then finish again.\n");
    section
}

/// A section of free text; empty if there is no text.
fn text(heading: &str, content: &str, budget: usize) -> String {
    let content = plain(content);
    if content.trim().is_empty() {
        return String::new();
    }
    format!("{heading}\n\n{}\n", cut(content.trim(), budget))
}

/// A section that lists items. If not all fit, it keeps the newest.
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
    let cut = left_out_items(items.len() - shown.len(), "older");
    shown.reverse();
    format!("{heading}\n\n{cut}{}", shown.concat())
}

/// Cleans and cuts an id or a branch name.
fn name(text: &str) -> String {
    head(&one_line(text), budget::NAME).to_owned()
}

/// Indents the further lines of a list item.
fn indented(item: &str) -> String {
    item.trim().replace('\n', "\n  ")
}

/// Cuts `text` to `budget` bytes and says how much was cut.
fn cut(text: &str, budget: usize) -> String {
    let shown = head(text, budget);
    if shown.len() == text.len() {
        return text.to_owned();
    }
    let cut = text.len() - shown.len();
    format!("{shown}\n[cut here: {cut} bytes omitted]\n")
}

fn left_out(bytes: usize, where_: &str) -> String {
    match bytes {
        0 => String::new(),
        bytes => format!(" ({bytes} bytes {where_} omitted)"),
    }
}

fn left_out_items(count: usize, which: &str) -> String {
    match count {
        0 => String::new(),
        count => format!("[{count} {which} entries omitted]\n\n"),
    }
}

fn add(text: &mut String, more: std::fmt::Arguments<'_>) {
    text.write_fmt(more).expect("a String takes everything");
}

#[cfg(test)]
mod tests;
