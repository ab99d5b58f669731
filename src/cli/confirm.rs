//! The question before a change, and the confirmation after it.
//!
//! Invariant: without a terminal nobody can answer, so nothing is done without a yes in the
//! arguments.

use super::context::Context;
use super::error::CliError;
use super::json;
use super::output::terminal;

/// Tells that a change is on disk: as JSON the answer, else a message.
pub fn confirm(
    context: &mut Context,
    answer: &serde_json::Value,
    words: &str,
) -> Result<(), CliError> {
    if context.output.json {
        return context.output.document(answer);
    }
    context.output.note(words);
    let note = json::text(answer, "note");
    if !note.is_empty() {
        context.output.note(note);
    }
    Ok(())
}

/// Asks for a yes. Without a terminal nobody can answer, so `--yes` must have been given.
pub fn agree(context: &mut Context, yes: bool, question: &str) -> Result<(), CliError> {
    if yes {
        return Ok(());
    }
    if !terminal::can_ask() {
        return Err(
            CliError::refused("this needs a yes, and there is no terminal to ask at")
                .hint("look at what was shown, then say yes beforehand: --yes"),
        );
    }
    context.output.flush()?;
    // The question is asked even with --quiet: it must be answered.
    eprint!("{question} [y/N] ");
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .map_err(|error| CliError::io("read the answer", &error))?;
    if matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    Err(CliError::refused("not done, for the answer was no"))
}
