//! Commands that take several ids: each is done in turn.
//!
//! Invariant: one refusal does not keep the others from being done, and the exit code and the
//! message say which were refused.

use std::fmt::Display;

use serde_json::Value;

use crate::cli::confirm::{confirm, tell};
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};

/// What one of several became: the answer, and words for a person.
pub(super) struct Done {
    pub(super) answer: Value,
    pub(super) words: String,
}

/// Does `work` with each id. With one id it is as if the command took only one; `all` says that
/// the person named none, so there may be any number.
pub(super) fn each<T: Clone + Display + PartialEq>(
    context: &mut Context,
    ids: Vec<Result<T, CliError>>,
    all: bool,
    mut work: impl FnMut(&Context, &T) -> Result<Done, CliError>,
) -> Result<(), CliError> {
    let mut left = without_repeats(ids).into_iter();
    if left.len() == 1 && !all {
        let id = left.next().unwrap_or_else(|| Err(nothing()))?;
        let Done { answer, words } = work(context, &id)?;
        return confirm(context, &answer, &words);
    }
    let total = left.len();
    let mut refused = Vec::new();
    let mut results = Vec::new();
    let mut cut_short = None;
    for id in left.by_ref() {
        // What was typed may stand for no id; then the refusal below says so.
        let name = id.as_ref().map(ToString::to_string).ok();
        match id.and_then(|id| work(context, &id)) {
            Ok(Done { mut answer, words }) => {
                answer["id"] = name.into();
                if !context.output.json {
                    tell(&mut context.output, &answer, &words);
                }
                results.push(answer);
            }
            Err(error) if error.kind == Kind::Refused => {
                let mut result = error.to_json();
                result["id"] = name.into();
                results.push(result);
                refused.push(error);
            }
            Err(error) => {
                cut_short = Some(error);
                break;
            }
        }
    }
    if context.output.json {
        context.output.document(&results)?;
    }
    match cut_short {
        Some(error) => Err(error.details(format!("done before that: {}", results.len()))),
        None if refused.is_empty() => Ok(()),
        None => Err(those_refused(refused, total)),
    }
}

fn nothing() -> CliError {
    CliError::new(Kind::Usage, "no id was given")
}

fn without_repeats<T: Clone + PartialEq>(
    ids: Vec<Result<T, CliError>>,
) -> Vec<Result<T, CliError>> {
    let mut once: Vec<Result<T, CliError>> = Vec::new();
    for id in ids {
        if !once.contains(&id) {
            once.push(id);
        }
    }
    once
}

fn those_refused(refused: Vec<CliError>, total: usize) -> CliError {
    let lines: Vec<&str> = refused.iter().map(|error| error.message.as_str()).collect();
    let message = format!("{} of {total} were refused", refused.len());
    let mut error = CliError::refused(message)
        .details(lines.join("\n"))
        .code("SOME_REFUSED");
    for hint in refused.into_iter().flat_map(|error| error.hints) {
        if !error.hints.contains(&hint) {
            error = error.hint(hint);
        }
    }
    error
}
