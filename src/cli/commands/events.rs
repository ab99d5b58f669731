//! `swarm events`: prints the event log.

use std::collections::VecDeque;

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::Value;

use crate::cli::access::ids::Typed;
use crate::cli::clock;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::event_json;
use crate::cli::event_log::{self, Filter, Selection, read_point};
use crate::domain::ids::{AgentId, IdeaId};
use crate::view::describe::{self, Interest, KINDS};

/// `events`. Without `-f` it works with and without a daemon.
#[derive(Debug, Args)]
#[command(after_help = "\
Text leaves out how swarm keeps its own books: marks, effects requested and finished, hook calls \
owed, phases of attempts and merges. `--all` shows them too, and so does `--kind` for its kind. \
`--json` is for programs and always has every event.

A TIME means after the last event that is not later than it.

Examples:
  $ swarm events
  $ swarm events -n 20 --idea idea-003
  $ swarm events --since 10m --agent ed-002 --all
  $ swarm events --since 120 --until 200 --kind ideaLanded
  $ swarm events -f --json")]
pub struct Events {
    /// Keep printing new events until the daemon stops.
    #[arg(short, long)]
    pub follow: bool,
    /// Print only events after this sequence number, time or age (`10m`, `2h`, `1d`).
    #[arg(long, value_name = "SEQ|TIME|AGE", default_value = "0")]
    pub since: String,
    /// Print only events up to this sequence number, time or age.
    #[arg(long, value_name = "SEQ|TIME|AGE", conflicts_with = "follow")]
    pub until: Option<String>,
    /// Print at most this many events, the newest. With `-f`, new ones follow.
    #[arg(short = 'n', long = "lines", value_name = "N")]
    pub lines: Option<usize>,
    /// Print only events of this kind.
    #[arg(long, value_name = "KIND", hide_possible_values = true,
        value_parser = PossibleValuesParser::new(KINDS))]
    pub kind: Option<String>,
    /// Print only events about this idea.
    #[arg(long, value_name = "ID")]
    pub idea: Option<Typed<IdeaId>>,
    /// Print only events about this agent.
    #[arg(long, value_name = "ID")]
    pub agent: Option<Typed<AgentId>>,
    /// Print swarm's own bookkeeping too.
    #[arg(long)]
    pub all: bool,
}

/// What is printed of the events in the log's order.
struct Printer {
    selection: Selection,
    all: bool,
    /// The newest events, where only so many are asked for.
    newest: Option<(usize, VecDeque<Value>)>,
    found: bool,
}

/// Shows the events.
pub fn run(args: &Events, context: &mut Context) -> Result<(), CliError> {
    let mut printer = Printer::new(args, context)?;
    if args.follow {
        return follow(&mut printer, context);
    }
    let after = printer.selection.filter().read_after();
    event_log::read(context, after, |context, event| {
        printer.take(event, context)?;
        Ok(!printer.selection.is_over())
    })?;
    printer.print_newest(context)?;
    if !printer.found {
        event_log::check_known(context, printer.selection.filter())?;
    }
    Ok(())
}

impl Printer {
    fn new(args: &Events, context: &Context) -> Result<Self, CliError> {
        let now = clock::now();
        let point = |text: &str| read_point(text, &context.zone, now);
        let idea = args.idea.as_ref();
        let idea = idea.map(|id| context.with_access(|access| access.idea_id(id)));
        let agent = args.agent.as_ref();
        let agent = agent.map(|id| context.with_access(|access| access.agent_id(id)));
        let selection = Selection::new(Filter {
            since: Some(point(&args.since)?),
            until: args.until.as_deref().map(point).transpose()?,
            idea: idea.transpose()?,
            agent: agent.transpose()?,
            kind: args.kind.clone(),
        });
        Ok(Self {
            selection,
            all: args.all || args.kind.is_some() || context.output.json,
            newest: args.lines.map(|most| (most, VecDeque::new())),
            found: false,
        })
    }

    /// Prints the event, or keeps it, if it is asked for.
    fn take(&mut self, document: Value, context: &mut Context) -> Result<(), CliError> {
        let Some(selected) = self.selection.next(&document) else {
            return Ok(());
        };
        self.found = true;
        // A newer daemon's event is shown: nobody has said that it is plumbing.
        let plumbing = selected
            .event
            .is_some_and(|event| describe::interest(&event) == Interest::Plumbing);
        if plumbing && !self.all {
            return Ok(());
        }
        let Some((most, newest)) = &mut self.newest else {
            return event_json::show(&mut context.output, &document, &context.zone);
        };
        newest.push_back(document);
        if newest.len() > *most {
            newest.pop_front();
        }
        Ok(())
    }

    /// Prints the newest events; later ones are printed as they come.
    fn print_newest(&mut self, context: &mut Context) -> Result<(), CliError> {
        let (_, newest) = self.newest.take().unwrap_or_default();
        for document in newest {
            event_json::show(&mut context.output, &document, &context.zone)?;
        }
        Ok(())
    }
}

fn follow(printer: &mut Printer, context: &mut Context) -> Result<(), CliError> {
    let daemon = context.daemon()?;
    let mut after = printer.selection.filter().read_after();
    if printer.newest.is_some() {
        after = event_log::read(context, after, |context, event| {
            printer.take(event, context)?;
            Ok(true)
        })?;
        printer.print_newest(context)?;
        context.output.flush()?;
    }
    let path = format!("events?since={after}&follow=true");
    daemon.follow(&path, |line| {
        if let Some(event) = event_line(line)? {
            printer.take(event, context)?;
            context.output.flush()?;
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
