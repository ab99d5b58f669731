//! Asks before a change and confirms it afterwards.
//!
//! Invariant: without a terminal nobody can answer, so the change needs `--yes`.

use super::context::Context;
use super::error::CliError;
use super::json;
use super::output::{Output, terminal};

/// Confirms a change: the answer as JSON, otherwise a message.
pub fn confirm(
    context: &mut Context,
    answer: &serde_json::Value,
    words: &str,
) -> Result<(), CliError> {
    if context.output.json {
        return context.output.document(answer);
    }
    tell(&mut context.output, answer, words);
    Ok(())
}

/// Says what was done, with the note that the answer may have.
pub fn tell(output: &mut Output, answer: &serde_json::Value, words: &str) {
    output.note(words);
    let note = json::text(answer, "note");
    if !note.is_empty() {
        output.note(note);
    }
}

/// Asks for confirmation. Without a terminal nobody can answer, so `--yes` is required.
pub fn agree(context: &mut Context, yes: bool, question: &str) -> Result<(), CliError> {
    if yes {
        return Ok(());
    }
    if !terminal::can_ask() {
        return Err(CliError::refused(
            "this needs your confirmation, but there is no terminal to ask in",
        )
        .details("nothing was changed")
        .hint("to go ahead, run the command again with --yes"));
    }
    if says_yes(context, question)? {
        return Ok(());
    }
    Err(CliError::refused("cancelled: the answer was no"))
}

/// Asks on the terminal; whether the answer is yes.
pub fn says_yes(context: &mut Context, question: &str) -> Result<bool, CliError> {
    context.output.flush()?;
    // Ask even with --quiet: the question must be answered.
    eprint!("{question} [y/N] ");
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .map_err(|error| CliError::io("read the answer", &error))?;
    let answer = answer.trim().to_lowercase();
    Ok(matches!(answer.as_str(), "y" | "yes"))
}
