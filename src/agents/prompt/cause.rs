//! The first sentence of a prompt that is not an idea's first: why the agent gets it.
//!
//! Invariant: it says what happened, and only that. "Interrupted" is said only after an
//! interruption.

use super::{GateFeedback, PromptInput, cut, name};
use crate::agents::text::plain;
use crate::domain::signal::SignalKind;
use crate::domain::state::AttemptEnd;
use crate::domain::state::prompt_cause::PromptCause;

/// Heading of the section.
pub const CONTINUE_HEADING: &str = "## Continue";

/// Limit in bytes on the agent's own question, and on why an attempt ended.
const LONGEST: usize = 4 * 1024;

/// The section of a whole prompt; empty for an idea's first one.
pub(super) fn section(input: &PromptInput) -> String {
    if input.cause.is_begin() {
        return String::new();
    }
    format!(
        "{CONTINUE_HEADING}\n\n{} The work so far is in this worktree: check its state first (`git \
        status`, `git log`).\n",
        first_sentence(input, &input.cause)
    )
}

/// What happened.
pub(super) fn first_sentence(input: &PromptInput, cause: &PromptCause) -> String {
    match cause {
        PromptCause::Begin => "Work on the idea begins here.".to_owned(),
        PromptCause::Unfinished => "You ended without a final signal, so the idea is not finished \
            yet."
            .to_owned(),
        PromptCause::Interrupted => "You were interrupted: your last run was cut off before it \
            ended, and perhaps its last command with it."
            .to_owned(),
        PromptCause::Crashed => {
            "The last attempt at this idea crashed and was interrupted, perhaps \
            in the middle of a command."
                .to_owned()
        }
        PromptCause::Unjudged => "You reported the idea as finished, but swarm was stopped before \
            it could judge your work: report it again when it still is."
            .to_owned(),
        PromptCause::ChangedNothing => "You said it was done and changed nothing: your branch has \
            no commit of its own. Do the work and commit it; if there is nothing to do, say why \
            with the signal BLOCKED."
            .to_owned(),
        PromptCause::FailedCheck => failed_check(input.feedback.as_ref()),
        PromptCause::Rejected { edited: false } => "A person reviewed your finished work and did \
            not approve it; their comment is below."
            .to_owned(),
        PromptCause::Rejected { edited: true } => "The text of the idea was edited after you had \
            finished it; what follows from that is below."
            .to_owned(),
        PromptCause::Asked { question } => format!(
            "You asked a person a question, and there is no answer yet.{}Decide \
            yourself, or ask again.",
            quoted(question)
        ),
        PromptCause::Answered { question } => format!(
            "A person answered your question.{}The answer is below, among the messages.",
            quoted(question)
        ),
        PromptCause::Message => "A person sent you a message; it is below.".to_owned(),
        PromptCause::Conflict => "Your branch conflicts with the branch into which it is to be \
            merged; the conflict is described below."
            .to_owned(),
        PromptCause::Redirected { from } => format!(
            "A person redirected you to this idea; the work that is already on the branch was done \
            for `{}`.",
            name(from.as_str())
        ),
        PromptCause::RulesChanged => "The idea or rules have changed since you last saw them; the \
            new text is below, and it counts."
            .to_owned(),
        PromptCause::Mentioned { signal } => mentioned(*signal),
        PromptCause::Retried { end, why } => retried(*end, why),
        PromptCause::Restored => "The work on this idea was imported or restored, and you go on \
            from it as it is now."
            .to_owned(),
        PromptCause::NewConversation { why } => format!(
            "Your last conversation could not go on, so this is a new one.{}",
            reason(why)
        ),
    }
}

fn failed_check(feedback: Option<&GateFeedback>) -> String {
    let end = match feedback {
        Some(_) => "; its output is below",
        None => "",
    };
    format!("A required command failed after you had reported the idea as finished{end}.")
}

/// The signal stands within the sentence, so that it is none.
fn mentioned(signal: SignalKind) -> String {
    let payload = match signal {
        SignalKind::Blocked => ":reason",
        SignalKind::NeedsHuman => ":question",
        SignalKind::Complete
        | SignalKind::Resolved
        | SignalKind::Progress
        | SignalKind::LearningLocal
        | SignalKind::LearningGlobal => "",
    };
    let when = match signal {
        SignalKind::Complete | SignalKind::Resolved => "when you are done",
        SignalKind::Blocked
        | SignalKind::NeedsHuman
        | SignalKind::Progress
        | SignalKind::LearningLocal
        | SignalKind::LearningGlobal => "if you mean it",
    };
    format!(
        "Your last message mentioned `<swarm>{signal}{payload}</swarm>` within a sentence, which \
        sends nothing; print it alone on a line {when}."
    )
}

fn retried(end: AttemptEnd, why: &str) -> String {
    let why = reason(why);
    format!("The last attempt at this idea {end}, and the idea was started again.{why}")
}

fn reason(why: &str) -> String {
    let why = plain(why);
    let why = cut(why.trim(), LONGEST);
    let why = why.trim_end_matches('.');
    if why.is_empty() {
        return String::new();
    }
    format!(" Why it ended: {why}.")
}

fn quoted(question: &str) -> String {
    let question = plain(question);
    let question = cut(question.trim(), LONGEST).replace('\n', "\n> ");
    format!("\n\nYou asked:\n\n> {question}\n\n")
}
