//! `swarm open`: a link to the web page, which works once.

use clap::Args;
use serde_json::json;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::json::{number, text};
use crate::cli::output::terminal::safe;

/// `open`.
#[derive(Debug, Args)]
#[command(after_help = "\
The link opens one session of the browser, within a minute, and only on this machine. The page \
shows what needs you, agents, ideas and the merge train, at any moment of the past too.

Example:
  $ swarm open")]
pub struct Open {}

/// Prints the link.
pub fn run(Open {}: &Open, context: &mut Context) -> Result<(), CliError> {
    let daemon = context.daemon()?;
    let link = daemon.post("page/links", &json!({}))?;
    if context.output.json {
        return context.output.document(&link);
    }
    let seconds = number(&link, "seconds");
    context.output.line(safe(text(&link, "url")))?;
    let note = format!("open it in a browser on this machine within {seconds} s; it works once");
    context.output.note(note);
    Ok(())
}
