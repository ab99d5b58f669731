//! `swarm provenance list`: what the event log says of records.

use clap::Args;

use super::Records;
use crate::cli::access::ids::Typed;
use crate::cli::clock;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::event_log::read_point;
use crate::cli::output::table::Rows;
use crate::cli::output::terminal::Tone;
use crate::cli::output::{Output, write_page};
use crate::domain::ids::{AgentId, IdeaId};
use crate::view::provenance::{MatchStatus, RecordFilter, RecordView};

/// `provenance list`.
#[derive(Debug, Args)]
#[command(after_help = "\
The list comes from the event log alone, so it names records that have expired too.

Examples:
  $ swarm provenance list
  $ swarm provenance list --idea idea-003
  $ swarm provenance list --agent ed-002 --since 1d --json")]
pub struct List {
    /// List only records of this idea.
    #[arg(long, value_name = "ID")]
    pub idea: Option<Typed<IdeaId>>,
    /// List only records of this agent.
    #[arg(long, value_name = "ID")]
    pub agent: Option<Typed<AgentId>>,
    /// List only records whose last replay had this verdict.
    #[arg(long = "match", value_name = "VERDICT")]
    pub matches: Option<MatchStatus>,
    /// List only what was recorded after this sequence number, time or age (`10m`, `2h`, `1d`).
    #[arg(long, value_name = "SEQ|TIME|AGE")]
    pub since: Option<String>,
    /// List at most this many records, the newest.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: usize,
}

/// Lists them.
pub(super) fn run(args: &List, context: &mut Context) -> Result<(), CliError> {
    let point = |text: &String| read_point(text, &context.zone, clock::now());
    let idea = args.idea.as_ref();
    let idea = idea.map(|id| context.with_access(|access| access.idea_id(id)));
    let agent = args.agent.as_ref();
    let agent = agent.map(|id| context.with_access(|access| access.agent_id(id)));
    let filter = RecordFilter {
        idea: idea.transpose()?,
        agent: agent.transpose()?,
        matches: args.matches,
        since: args.since.as_ref().map(point).transpose()?,
    };
    let log = Records::open(context)?.log;
    let mut lines = log.wanted(&filter, args.limit.saturating_add(1));
    let is_cut = lines.len() > args.limit;
    lines.truncate(args.limit);
    if context.output.json {
        return context.output.document(&lines);
    }
    if lines.is_empty() {
        context.output.note("there are no such records");
        return Ok(());
    }
    let page = table(&context.output, &lines);
    write_page(&mut context.output, &page)?;
    if is_cut {
        let more = format!(
            "list more: swarm provenance list --limit {}",
            args.limit.saturating_mul(2)
        );
        context.output.next_step(more);
    }
    Ok(())
}

fn table(output: &Output, lines: &[RecordView]) -> Vec<String> {
    let now = clock::now();
    let headings = [
        "RUN", "IDEA", "AGENT", "RECORDED", "MODEL", "REPLAY", "RECORD",
    ];
    let mut rows = Rows::new(output, &headings, &[6]).leave_out(&[4, 3, 2, 5]);
    for line in lines {
        let (tone, record) = match (&line.sha256, &line.why) {
            (Some(digest), _) => (Tone::Dim, format!("{digest:.10}")),
            (None, Some(why)) => (Tone::Warn, format!("none: {why}")),
            (None, None) => (Tone::Warn, "none".to_owned()),
        };
        rows.row(&[
            (Tone::Plain, line.run.as_str()),
            (Tone::Plain, line.idea.as_str()),
            (Tone::Plain, line.agent.as_str()),
            (Tone::Dim, &clock::ago(line.recorded_at, now)),
            (Tone::Plain, line.model.as_deref().unwrap_or("")),
            (Tone::Plain, replay_words(line)),
            (tone, &record),
        ]);
    }
    rows.lines()
}

fn replay_words(line: &RecordView) -> &'static str {
    match line.match_status {
        MatchStatus::NotReplayed => "",
        replayed @ (MatchStatus::ExactMatch
        | MatchStatus::SemanticMatch
        | MatchStatus::PartialMatch
        | MatchStatus::NoMatch) => replayed.words(),
    }
}
