//! `swarm log`: what happened, for people.

use std::collections::VecDeque;

use clap::Args;

use crate::cli::access::ids::Typed;
use crate::cli::clock;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::event_log::{self, Entry, Filter, Selection, Storyteller, read_point};
use crate::cli::output::pager;
use crate::domain::ids::IdeaId;

/// How many entries are shown when nothing narrows them down.
const RECENT: usize = 50;

/// `log`. Works with and without a daemon.
#[derive(Debug, Args)]
#[command(after_help = "\
It shows what became of ideas, what needs you, and when the daemon started and stopped. \
Every single step is in: swarm events

Examples:
  $ swarm log
  $ swarm log --since 10m
  $ swarm log --idea idea-003
  $ swarm log -n 200 --json")]
pub struct Log {
    /// Show at most this many entries, the newest. Default: 50, or all with `--since` or `--idea`.
    #[arg(short = 'n', long = "lines", value_name = "N")]
    pub lines: Option<usize>,
    /// Show only what happened since then: an age (`10m`, `2h`, `1d`), a time, or an event number.
    #[arg(long, value_name = "AGE|TIME|SEQ")]
    pub since: Option<String>,
    /// Show only what happened to this idea.
    #[arg(long, value_name = "ID")]
    pub idea: Option<Typed<IdeaId>>,
}

/// Shows the log.
pub fn run(args: &Log, context: &mut Context) -> Result<(), CliError> {
    let now = clock::now();
    let since = args.since.as_deref();
    let since = since.map(|text| read_point(text, &context.zone, now));
    let idea = args.idea.as_ref();
    let idea = idea.map(|id| context.with_access(|access| access.idea_id(id)));
    let filter = Filter {
        since: since.transpose()?,
        idea: idea.transpose()?,
        ..Filter::default()
    };
    let narrow = filter.since.is_some() || filter.idea.is_some();
    let most = args
        .lines
        .unwrap_or(if narrow { usize::MAX } else { RECENT });
    let (entries, found) = collect(context, filter, most)?;
    if context.output.json {
        return context.output.document(&entries);
    }
    if found == 0 {
        let nothing = if narrow {
            "nothing happened in that range"
        } else {
            "nothing has happened yet"
        };
        context.output.note(nothing);
        return Ok(());
    }
    let page = event_log::lines(&context.output, entries.as_slice(), now);
    pager::show(&mut context.output, &page)?;
    if args.lines.is_none() && found > entries.len() {
        let older = found - entries.len();
        context
            .output
            .note(format!("{older} older entries are not shown"));
        context.output.next_step(format!("swarm log -n {found}"));
    }
    Ok(())
}

/// The newest entries, oldest first, and how many there are in all.
fn collect(
    context: &mut Context,
    filter: Filter,
    most: usize,
) -> Result<(Vec<Entry>, usize), CliError> {
    let mut selection = Selection::new(filter);
    let mut teller = Storyteller::default();
    let mut entries = VecDeque::new();
    let mut found = 0;
    // From the start: an agent's events do not name its idea, and a crash shows in what preceded.
    event_log::read(context, 0, |_, document| {
        let selected = selection.next(&document);
        if let Some(entry) = selected.and_then(|one| teller.tell(&document, &one)) {
            found += 1;
            entries.push_back(entry);
            if entries.len() > most {
                entries.pop_front();
            }
        }
        teller.follow(&document);
        Ok(true)
    })?;
    if found == 0 {
        event_log::check_known(context, selection.filter())?;
    }
    Ok((entries.into(), found))
}
