//! `swarm memory log`: the events about the memory.

use std::collections::VecDeque;

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::Value;

use crate::cli::access::ids::Typed;
use crate::cli::clock;
use crate::cli::commands::events::event_line;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::event_json;
use crate::cli::event_log::read_point;
use crate::cli::json::{number, time};
use crate::domain::ids::AgentId;
use crate::view::describe::Point;
use crate::view::memory::{LogFilter, MEMORY_KINDS};

/// `memory log`. Without `-f` it works with and without a daemon.
#[derive(Debug, Args)]
#[command(after_help = "\
Lines and `--json` are those of `swarm events`. A TIME means after the last event that is not \
later than it.

Examples:
  $ swarm memory log
  $ swarm memory log -n 20 --agent ed-002
  $ swarm memory log --kind factDisputed --since 1d
  $ swarm memory log -f --json")]
pub struct Log {
    /// Keep printing new events until the daemon stops.
    #[arg(short, long)]
    pub follow: bool,
    /// Print at most this many events, the newest. With `-f`, new ones follow.
    #[arg(short = 'n', long = "lines", value_name = "N")]
    pub lines: Option<usize>,
    /// Print only events of this agent.
    #[arg(long, value_name = "ID")]
    pub agent: Option<Typed<AgentId>>,
    /// Print only events of this kind.
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(MEMORY_KINDS))]
    pub kind: Option<String>,
    /// Print only events after this sequence number, time or age (`10m`, `2h`, `1d`).
    #[arg(long, value_name = "SEQ|TIME|AGE")]
    pub since: Option<String>,
    /// Print only events up to this sequence number, time or age.
    #[arg(long, value_name = "SEQ|TIME|AGE", conflicts_with = "follow")]
    pub until: Option<String>,
}

/// Shows the events.
pub(super) fn run(args: &Log, context: &mut Context) -> Result<(), CliError> {
    let point = |text: &String| read_point(text, &context.zone, clock::now());
    let agent = args.agent.as_ref();
    let agent = agent.map(|id| context.with_access(|access| access.agent_id(id)));
    let filter = LogFilter {
        since: args.since.as_ref().map(point).transpose()?,
        until: args.until.as_ref().map(point).transpose()?,
        agent: agent.transpose()?,
        kind: args.kind.clone(),
    };
    if args.follow {
        return follow(args, &filter, context);
    }
    let found = print(&filter, args.lines, context)?;
    if let (false, Some(agent)) = (found, &filter.agent) {
        context.with_access(|access| access.agent(agent))?;
    }
    Ok(())
}

/// Prints the events page by page, or only the newest ones; whether there were any.
fn print(filter: &LogFilter, most: Option<usize>, context: &mut Context) -> Result<bool, CliError> {
    let mut filter = filter.clone();
    let mut newest: VecDeque<Value> = VecDeque::new();
    let mut found = false;
    loop {
        let page = context.with_access(|access| access.memory_log(&filter))?;
        let Some(last) = page.last() else {
            break;
        };
        found = true;
        filter.since = Some(Point::Seq(number(last, "seq")));
        for event in page {
            let Some(most) = most else {
                event_json::show(&mut context.output, &event, &context.zone)?;
                continue;
            };
            newest.push_back(event);
            if newest.len() > most {
                newest.pop_front();
            }
        }
    }
    for event in newest {
        event_json::show(&mut context.output, &event, &context.zone)?;
    }
    Ok(found)
}

fn follow(args: &Log, filter: &LogFilter, context: &mut Context) -> Result<(), CliError> {
    let daemon = context.daemon()?;
    let last = number(&daemon.fetch("healthz")?, "lastSeq");
    let until = Some(Point::Seq(last));
    let before = LogFilter {
        until,
        ..filter.clone()
    };
    print(&before, args.lines, context)?;
    context.output.flush()?;
    daemon.follow(&format!("events?since={last}&follow=true"), |line| {
        let Some(document) = event_line(line)? else {
            return Ok(());
        };
        let (event, at) = (event_json::event(&document), time(&document, "ts"));
        let seq = number(&document, "seq");
        let wanted = event
            .zip(at)
            .is_some_and(|(event, at)| filter.wants(seq, at, &event));
        if wanted {
            event_json::show(&mut context.output, &document, &context.zone)?;
            context.output.flush()?;
        }
        Ok(())
    })?;
    context.output.note("the daemon has stopped");
    Ok(())
}
