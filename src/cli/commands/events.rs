//! `swarm events`: prints the event log.

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::Value;

use crate::cli::context::Context;
use crate::cli::describe::KINDS;
use crate::cli::error::CliError;
use crate::cli::event_json;
use crate::cli::json;

/// The most events requested at once.
const PAGE: usize = 1_000;

/// `events`. Without `-f` it works with and without a daemon.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm events
  $ swarm events --since 120 --kind ideaLanded
  $ swarm events -f --json")]
pub struct Events {
    /// Keep printing new events until the daemon stops.
    #[arg(short, long)]
    pub follow: bool,
    /// Print only events after this sequence number.
    #[arg(long, value_name = "SEQ", default_value_t)]
    pub since: u64,
    /// Print only events of this kind.
    #[arg(long, value_name = "KIND", hide_possible_values = true,
        value_parser = PossibleValuesParser::new(KINDS))]
    pub kind: Option<String>,
}

/// Shows the events.
pub fn run(args: &Events, context: &mut Context) -> Result<(), CliError> {
    if args.follow {
        return follow(args, context);
    }
    let mut after = args.since;
    loop {
        let page = context.with_access(|access| access.events(after, PAGE))?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        let last = json::number(last, "seq");
        if last <= after {
            return Err(CliError::refused(format!(
                "the daemon returned no events after event {after}"
            ))
            .hint("see what is wrong: swarm doctor"));
        }
        after = last;
        for event in page
            .iter()
            .filter(|event| fits(event, args.kind.as_deref()))
        {
            event_json::show(&mut context.output, event, &context.zone)?;
        }
    }
}

fn fits(event: &Value, kind: Option<&str>) -> bool {
    kind.is_none_or(|kind| json::text(event, "kind") == kind)
}

fn follow(args: &Events, context: &mut Context) -> Result<(), CliError> {
    let only = args
        .kind
        .as_ref()
        .map_or_else(String::new, |kind| format!("&kind={kind}"));
    let path = format!("events?since={}&follow=true{only}", args.since);
    let daemon = context.daemon()?;
    let (output, zone) = (&mut context.output, &context.zone);
    daemon.follow(&path, |line| {
        if let Some(event) = event_line(line)? {
            event_json::show(output, &event, zone)?;
            output.flush()?;
        }
        Ok(())
    })?;
    context.output.note("the daemon has stopped");
    Ok(())
}

/// Parses a followed line; `None` for an empty line, which only keeps the connection alive.
pub(super) fn event_line(line: &str) -> Result<Option<Value>, CliError> {
    if line.trim().is_empty() {
        return Ok(None);
    }
    let event = serde_json::from_str(line).map_err(|error| {
        CliError::refused(format!(
            "the daemon sent an event that is not JSON: {error}"
        ))
    })?;
    Ok(Some(event))
}
