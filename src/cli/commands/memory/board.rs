//! `swarm memory board`, `get`, `history`, `search` and `shown`.

use clap::Args;
use serde_json::Value;

use super::{author, label};
use crate::cli::access::ids::Typed;
use crate::cli::args::at::At;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::json::{list, number, text, texts};
use crate::cli::output::table::Rows;
use crate::cli::output::terminal::{Tone, safe};
use crate::cli::output::{Output, pager, write_page};
use crate::cli::render::{fields, section, when};
use crate::daemon::memory::finder::{DEFAULT_HITS, Query};
use crate::domain::ids::AgentId;
use crate::domain::memory::FactKey;
use crate::domain::time::Timestamp;
use crate::view::memory::SHOWN_HISTORY;

/// Earlier values that `history` lists.
const WHOLE_HISTORY: usize = 1_000_000;

/// `memory board`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm memory board
  $ swarm memory board --all --json")]
pub struct Board {
    /// List retracted facts too.
    #[arg(long)]
    pub all: bool,
    /// The point to show.
    #[command(flatten)]
    pub at: At,
}

/// `memory get`.
#[derive(Debug, Args)]
#[command(after_help = "\
A TIME means after the last event that is not later than it.

Examples:
  $ swarm memory get api.port
  $ swarm memory get api.port --at 120
  $ swarm memory get api.port --at 2h --json")]
pub struct Get {
    /// The fact.
    #[arg(value_name = "KEY")]
    pub key: FactKey,
    /// The point to show.
    #[command(flatten)]
    pub at: At,
}

/// `memory history`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm memory history api.port")]
pub struct History {
    /// The fact.
    #[arg(value_name = "KEY")]
    pub key: FactKey,
    /// The point to show.
    #[command(flatten)]
    pub at: At,
}

/// `memory search`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm memory search \"which port does the API use\"
  $ swarm memory search redis --all -n 20")]
pub struct Search {
    /// The words.
    #[arg(value_name = "QUERY", required = true, num_args = 1..)]
    pub words: Vec<String>,
    /// Find retracted facts and learnings too, claims that did not last, and learnings that only
    /// the event log has.
    #[arg(long)]
    pub all: bool,
    /// Print at most this many.
    #[arg(short = 'n', long = "limit", value_name = "N", default_value_t = DEFAULT_HITS)]
    pub limit: usize,
    /// The point to show.
    #[command(flatten)]
    pub at: At,
}

/// `memory shown`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm memory shown ed-002")]
pub struct Shown {
    /// The agent.
    #[arg(value_name = "AGENT")]
    pub agent: Typed<AgentId>,
    /// The point to show.
    #[command(flatten)]
    pub at: At,
}

/// Lists the facts.
pub(super) fn board(args: &Board, context: &mut Context) -> Result<(), CliError> {
    context.look_back(&args.at)?;
    let all = context.with_access(|access| access.board(args.all))?;
    if context.output.json {
        return context.output.document(&all);
    }
    let all = all.as_array().map_or(&[][..], Vec::as_slice);
    if all.is_empty() {
        context.output.note("there are no facts yet");
        let next = "write one: swarm memory put api.port \"The API listens on 8080\"";
        context.output.next_step(next);
        return Ok(());
    }
    let page = board_page(&context.output, all, context.now());
    pager::show(&mut context.output, &page)
}

fn board_page(output: &Output, all: &[Value], now: Timestamp) -> Vec<String> {
    let headings = ["KEY", "VERSION", "VALUE", "STATUS", "CONFIDENCE", "WRITTEN"];
    let mut rows = Rows::new(output, &headings, &[2]).leave_out(&[5, 4, 1]);
    for fact in all {
        rows.row(&[
            (Tone::Plain, text(fact, "key")),
            (Tone::Plain, &number(fact, "version").to_string()),
            (Tone::Plain, text(fact, "value")),
            (tone(fact), &status(fact)),
            (Tone::Dim, &percent(fact)),
            (Tone::Dim, &when(fact, "at", now)),
        ]);
    }
    let mut page = rows.lines();
    for fact in all
        .iter()
        .filter(|fact| text(fact, "status") == "contradicted")
    {
        page.push(safe(&format!("! {}: {}", text(fact, "key"), sides(fact))));
    }
    page
}

/// `contradicted`, and what else matters of a fact.
fn status(fact: &Value) -> String {
    let mut words = vec![text(fact, "status")];
    if fact["pinned"] == true {
        words.push("pinned");
    }
    if !list(fact, "aged").is_empty() {
        words.push("aged");
    }
    words.join(", ")
}

fn tone(fact: &Value) -> Tone {
    match text(fact, "status") {
        "contradicted" => Tone::Warn,
        "retracted" => Tone::Dim,
        _ => Tone::Good,
    }
}

fn percent(view: &Value) -> String {
    let confidence = view["confidence"].as_f64().unwrap_or_default();
    format!("{:.0} %", confidence * 100.0)
}

/// The value and the claims against it, each with its author.
fn sides(fact: &Value) -> String {
    let mut sides = vec![format!("\"{}\" ({})", text(fact, "value"), author(fact))];
    for claim in list(fact, "claims") {
        let value = match text(claim, "value") {
            "" => "it is wrong".to_owned(),
            value => format!("\"{value}\""),
        };
        sides.push(format!("{value} ({})", author(claim)));
    }
    sides.join(" | ")
}

/// Shows one fact.
pub(super) fn get(args: &Get, context: &mut Context) -> Result<(), CliError> {
    context.look_back(&args.at)?;
    let fact = context.with_access(|access| access.fact(&args.key, SHOWN_HISTORY))?;
    if context.output.json {
        return context.output.document(&fact);
    }
    let page = fact_page(&context.output, &fact, context.now());
    write_page(&mut context.output, &page)
}

fn fact_page(output: &Output, fact: &Value, now: Timestamp) -> Vec<String> {
    let head = format!(
        "{}  version {}  {}",
        output.paint(Tone::Strong, &safe(text(fact, "key"))),
        number(fact, "version"),
        output.paint(tone(fact), &safe(&status(fact)))
    );
    let written = format!("{} by {}", when(fact, "at", now), author(fact));
    let retracted = fact.get("retracted").map(|it| {
        let why = safe(text(it, "why"));
        let why = if why.is_empty() {
            why
        } else {
            format!(": {why}")
        };
        format!("{} by {}{why}", when(it, "at", now), author(it))
    });
    let mut page = vec![head, safe(text(fact, "value")), String::new()];
    page.extend(fields(
        output,
        &[
            ("confidence", percent(fact)),
            ("written", written),
            ("why", safe(text(fact, "why"))),
            ("changed since", safe(&texts(fact, "aged").join(", "))),
            ("retracted", retracted.unwrap_or_default()),
        ],
    ));
    let claims = list(fact, "claims").iter();
    let claims: Vec<String> = claims.map(|claim| claim_line(claim, now)).collect();
    section(output, &mut page, "Claims against it", claims);
    if text(fact, "status") == "contradicted" {
        let key = safe(text(fact, "key"));
        page.push(format!("  -> settle it: swarm memory resolve {key} VALUE"));
    }
    let evidence = list(fact, "evidence").iter();
    let evidence: Vec<String> = evidence.map(|it| evidence_line(it, now)).collect();
    let count = number(fact, "evidenceCount");
    section(output, &mut page, &format!("Evidence ({count})"), evidence);
    let history = list(fact, "history").iter();
    let history: Vec<String> = history.map(|old| old_line(old, now)).collect();
    section(output, &mut page, "Before", history);
    page
}

fn claim_line(claim: &Value, now: Timestamp) -> String {
    let value = match text(claim, "value") {
        "" => "it is wrong".to_owned(),
        value => safe(value),
    };
    let by = author(claim);
    format!(
        "  {}  {value}  ({by}, {})",
        safe(text(claim, "id")),
        when(claim, "at", now)
    )
}

fn evidence_line(evidence: &Value, now: Timestamp) -> String {
    let landed = if evidence["landed"] == true {
        ", landed"
    } else {
        ""
    };
    let mut line = format!(
        "  event {}  {}{landed}, {}",
        number(evidence, "seq"),
        author(evidence),
        when(evidence, "at", now)
    );
    let paths = texts(evidence, "paths").join(", ");
    if !paths.is_empty() {
        line = format!("{line}  {}", safe(&paths));
    }
    let refs: Vec<String> = list(evidence, "refs")
        .iter()
        .map(Value::to_string)
        .collect();
    if !refs.is_empty() {
        line = format!("{line}  from event {}", refs.join(", "));
    }
    let quote = text(evidence, "quote");
    if !quote.is_empty() {
        line = format!("{line}  \"{}\"", safe(quote));
    }
    line
}

fn old_line(old: &Value, now: Timestamp) -> String {
    let claim = if old["claim"] == true {
        ", a claim that lost"
    } else {
        ""
    };
    format!(
        "  v{}  {}  ({}, {}{claim})",
        number(old, "version"),
        safe(text(old, "value")),
        author(old),
        when(old, "at", now)
    )
}

/// Lists the values that a fact has had.
pub(super) fn history(args: &History, context: &mut Context) -> Result<(), CliError> {
    context.look_back(&args.at)?;
    let fact = context.with_access(|access| access.fact(&args.key, WHOLE_HISTORY))?;
    if context.output.json {
        return context.output.document(&fact);
    }
    let now = context.now();
    let mut rows = Rows::new(
        &context.output,
        &["VERSION", "VALUE", "WRITTEN", "BY", "NOTE"],
        &[1],
    )
    .leave_out(&[3, 2]);
    let mut row = |one: &Value, note: &str| {
        rows.row(&[
            (Tone::Plain, &number(one, "version").to_string()),
            (Tone::Plain, text(one, "value")),
            (Tone::Dim, &when(one, "at", now)),
            (Tone::Dim, &author(one)),
            (Tone::Dim, note),
        ]);
    };
    row(&fact, &status(&fact));
    for old in list(&fact, "history") {
        row(
            old,
            if old["claim"] == true {
                "claim that lost"
            } else {
                ""
            },
        );
    }
    let page = rows.lines();
    pager::show(&mut context.output, &page)?;
    let listed = list(&fact, "history").len() as u64;
    let older = number(&fact, "historyCount").saturating_sub(listed);
    if older > 0 {
        let note = format!("only the event log has the {older} before these: swarm memory log");
        context.output.note(note);
    }
    Ok(())
}

/// Searches facts and learnings.
pub(super) fn search(args: &Search, context: &mut Context) -> Result<(), CliError> {
    context.look_back(&args.at)?;
    let words = args.words.join(" ");
    let query = Query {
        text: &words,
        limit: args.limit,
        all: args.all,
    };
    let found = context.with_access(|access| access.search(&query))?;
    if context.output.json {
        return context.output.document(&found);
    }
    let hits = list(&found, "hits");
    if hits.is_empty() {
        context.output.note("nothing was found");
        return Ok(());
    }
    let page: Vec<String> = hits
        .iter()
        .map(|hit| hit_line(&context.output, hit))
        .collect();
    write_page(&mut context.output, &page)?;
    let left_out = number(&found, "leftOut");
    if left_out > 0 {
        context.output.note(format!("{left_out} more fit"));
        let more = format!("see them: swarm memory search -n {} ...", args.limit + 20);
        context.output.next_step(more);
    }
    Ok(())
}

fn hit_line(output: &Output, hit: &Value) -> String {
    let label = label(hit);
    let status = match text(hit, "status") {
        "active" => String::new(),
        other => format!("  ({})", safe(other)),
    };
    let dropped = if hit["compacted"] == true {
        "  (only in the event log)"
    } else {
        ""
    };
    let label = output.paint(Tone::Strong, &label);
    format!("[{label}] {}{status}{dropped}", safe(text(hit, "text")))
}

/// Shows what an agent was shown.
pub(super) fn shown(args: &Shown, context: &mut Context) -> Result<(), CliError> {
    context.look_back(&args.at)?;
    let shown = context.with_access(|access| {
        let id = access.agent_id(&args.agent)?;
        access.shown(&id)
    })?;
    if context.output.json {
        return context.output.document(&shown);
    }
    let id = safe(text(&shown, "agentId"));
    if shown["held"] == true {
        let words = format!("the prompts of {id} show nothing of the memory, to measure its worth");
        context.output.note(words);
    }
    let items = list(&shown, "items");
    if items.is_empty() {
        context
            .output
            .note(format!("{id} was shown nothing of the memory"));
        return Ok(());
    }
    let headings = ["REF", "VERSION", "NOW", "TEXT"];
    let mut rows = Rows::new(&context.output, &headings, &[3]);
    for item in items {
        let now = match number(item, "currentVersion") {
            0 => "gone".to_owned(),
            version => version.to_string(),
        };
        rows.row(&[
            (Tone::Plain, text(item, "ref")),
            (Tone::Plain, &number(item, "version").to_string()),
            (Tone::Plain, &now),
            (Tone::Plain, text(item, "text")),
        ]);
    }
    let page = rows.lines();
    write_page(&mut context.output, &page)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn facts() -> Vec<Value> {
        let fact = |key: &str, status: &str| {
            json!({"key": key, "version": 3, "status": status, "pinned": true,
                "value": "The API listens on port 8080, but for the tests, which use 9090",
                "at": "2026-01-01T00:00:00.000Z", "by": {"kind": "person"}, "confidence": 0.75,
                "claims": [{"id": "c1", "value": null, "at": "2026-01-01T00:00:00.000Z",
                    "by": {"kind": "agent", "id": "ed-001", "ideaId": "idea-004",
                        "run": "r0001-ed-001-i1"}}]})
        };
        vec![fact("api.port", "contradicted"), fact("db.url", "active")]
    }

    #[test]
    fn the_board_fits_60_columns_and_names_both_sides() {
        let mut output = Output::for_pages(false);
        let now = "2026-01-01T00:12:00.000Z".parse().unwrap();
        let page = board_page(&output, &facts(), now);
        assert_eq!(page.len(), 4);
        assert!(
            page[1].contains("contradicted, pinned  75 %        12 min ago"),
            "{page:?}"
        );
        assert!(
            page[3].ends_with("| it is wrong (ed-001 (idea-004))"),
            "{page:?}"
        );
        output.width = Some(60);
        let page = board_page(&output, &facts(), now);
        for line in &page[..3] {
            assert!(line.chars().count() <= 60, "{line}");
        }
        assert!(page[1].starts_with("api.port  "), "{page:?}");
    }

    #[test]
    fn a_fact_shows_its_evidence_claims_and_history() {
        let output = Output::for_pages(false);
        let mut fact = facts().remove(0);
        let at = "2026-01-01T00:00:00.000Z";
        fact["aged"] = json!(["src/api.rs"]);
        fact["evidenceCount"] = json!(17);
        fact["evidence"] = json!([{"seq": 12, "at": at, "landed": true, "paths": ["src/api.rs"],
            "quote": "it \u{1b}said", "by": {"kind": "agent", "id": "ed-002",
            "ideaId": "idea-001", "run": "r0002-ed-002-i1"}}]);
        fact["history"] = json!([{"version": 2, "value": "7070", "at": at, "claim": true,
            "by": {"kind": "hook", "run": "hook-1"}}]);
        let now = "2026-01-01T00:12:00.000Z".parse().unwrap();
        let page = fact_page(&output, &fact, now).join("\n");
        for words in [
            "api.port  version 3  contradicted, pinned, aged",
            "changed since  src/api.rs",
            "  c1  it is wrong  (ed-001 (idea-004), 12 min ago)",
            "  -> settle it: swarm memory resolve api.port VALUE",
            "Evidence (17)",
            "  event 12  ed-002 (idea-001), landed, 12 min ago  src/api.rs  \"it ␛said\"",
            "  v2  7070  (a hook, 12 min ago, a claim that lost)",
        ] {
            assert!(page.contains(words), "{words} is missing:\n{page}");
        }
    }
}
