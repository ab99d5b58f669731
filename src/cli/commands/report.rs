//! `swarm report`: what happened meanwhile.
//!
//! Invariant: a report that was shown is remembered (`.swarm/state/report.json`), so that the next one can say what is new since then.

use std::io::Write as _;
use std::path::Path;

use clap::Args;
use serde_json::{Value, json};

use super::write_page;
use crate::cli::clock;
use crate::cli::context::Context;
use crate::cli::doc::{list, text, time};
use crate::cli::error::{CliError, Kind};
use crate::cli::output::Output;
use crate::cli::render;
use crate::cli::terminal::{Tone, safe, title};
use crate::cli::used;
use crate::domain::time::Timestamp;

/// Remembers when the last report was made, in the state's folder.
const REMEMBERED: &str = "report.json";
/// The longest title of an idea within a line.
const MAX_TITLE: usize = 80;

/// `report`. Works with and without a daemon.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm report
  $ swarm report --since last
  $ swarm report --since 12h
  $ swarm report --since \"2026-01-31 22:00\" --markdown > report.md
  $ swarm report --json")]
pub struct Report {
    /// Only what happened since a time, since so long ago (`12h`), or since the last report (`last`); left out: all.
    #[arg(long, value_name = "TIME|last")]
    pub since: Option<String>,
    /// As Markdown.
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
}

/// Shows it, and remembers when.
pub fn run(args: &Report, context: &mut Context<'_>) -> Result<(), CliError> {
    let file = context.repo()?.state().join(REMEMBERED);
    let since = match args.since.as_deref() {
        None => None,
        Some("last") => remembered(&file)?,
        Some(text) => Some(read(text, context)?),
    };
    let report = context.with_access(|access| access.report(since))?;
    if context.output.json {
        context.output.document(&report)?;
    } else if args.markdown {
        let page = markdown(&report, context);
        write_page(&mut context.output, &page)?;
    } else {
        let page = page(&report, context);
        write_page(&mut context.output, &page)?;
    }
    remember(&file).map_err(|error| {
        CliError::refused(format!(
            "{} could not be written, so that `--since last` will not know of this report: {error}",
            file.display()
        ))
    })
}

fn read(text: &str, context: &Context<'_>) -> Result<Timestamp, CliError> {
    if let Ok(ago) = text.parse::<jiff::SignedDuration>()
        && let Ok(millis) = i64::try_from(ago.as_millis())
    {
        return Ok(clock::now().plus_millis(-millis.abs()));
    }
    clock::read(text, &context.zone).ok_or_else(|| {
        CliError::new(Kind::Usage, format!("`{text}` is no time"))
            .hint("give one like 2026-01-31T22:00, a span like 12h, or `last`")
    })
}

/// When the last report was made; none: none was.
fn remembered(file: &Path) -> Result<Option<Timestamp>, CliError> {
    let unreadable = |why: &dyn std::fmt::Display| {
        CliError::refused(format!("{} cannot be read: {why}", file.display()))
            .hint("name a time: swarm report --since 12h")
    };
    match std::fs::read(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(&error)),
        Ok(text) => {
            let value: Value = serde_json::from_slice(&text).map_err(|why| unreadable(&why))?;
            Ok(time(&value, "at"))
        }
    }
}

/// Replaced as a whole; a report more or less is no loss, so nothing is synced.
fn remember(file: &Path) -> std::io::Result<()> {
    let Some(folder) = file.parent().filter(|folder| folder.is_dir()) else {
        return Ok(()); // nothing has run here yet
    };
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    write!(new, "{}", json!({ "at": clock::now() }))?;
    new.persist(file)?;
    Ok(())
}

/// Its parts, in the order in which somebody wants to know.
fn parts(report: &Value, context: &Context<'_>) -> Vec<(&'static str, Tone, Vec<String>)> {
    let idea = |idea: &Value| {
        let why = match text(idea, "why") {
            "" => String::new(),
            why => format!(": {}", safe(why)),
        };
        let commit = text(idea, "commit").get(..10).unwrap_or_default();
        let used = match used::words(&idea["used"]) {
            used if used.is_empty() => String::new(),
            used => format!(" ({used})"),
        };
        let status = text(idea, "status");
        let at = time(idea, "at").map_or_else(String::new, |at| clock::local(at, &context.zone));
        let title = title(text(idea, "content"), MAX_TITLE);
        let line = format!(
            "{at}  {}  {status}  {commit}  {title}{why}{used}",
            text(idea, "id")
        );
        line.replace("    ", "  ")
    };
    let ideas = |key| list(report, key).iter().map(idea).collect();
    let stuck = |one: &Value| {
        let since =
            time(one, "since").map_or_else(String::new, |at| clock::local(at, &context.zone));
        format!("{since}  {}", safe(text(one, "message")))
    };
    let needs = |need: &Value| {
        let commands = crate::cli::doc::texts(need, "commands").join("; or ");
        format!("{} -> {}", safe(text(need, "message")), safe(&commands))
    };
    vec![
        ("Landed", Tone::Good, ideas("landed")),
        ("Failed", Tone::Bad, ideas("failed")),
        ("Waiting", Tone::Plain, ideas("waiting")),
        (
            "Stuck",
            Tone::Warn,
            list(report, "stuck").iter().map(stuck).collect(),
        ),
        (
            "Accounts",
            Tone::Warn,
            used::accounts(report, &context.zone),
        ),
        (
            "Needs you",
            Tone::Warn,
            list(report, "needsYou").iter().map(needs).collect(),
        ),
    ]
}

fn head(report: &Value, context: &Context<'_>) -> String {
    let local = |key| time(report, key).map(|at| clock::local(at, &context.zone));
    let since = local("since").unwrap_or_else(|| "the beginning".to_owned());
    let counted = |key, what| format!("{} {what}", list(report, key).len());
    format!(
        "Since {since}: {}, {}, {}",
        counted("landed", "landed"),
        counted("failed", "failed"),
        counted("waiting", "waiting")
    )
}

fn spent(report: &Value) -> String {
    match used::words(&report["spent"]) {
        used if used.is_empty() => "nothing known".to_owned(),
        used => used,
    }
}

fn page(report: &Value, context: &Context<'_>) -> Vec<String> {
    let output: &Output = &context.output;
    let mut page = vec![
        output
            .paint(Tone::Strong, &head(report, context))
            .into_owned(),
    ];
    for (heading, tone, lines) in parts(report, context) {
        if heading == "Needs you" {
            // With its commands on lines of their own.
            let lines = render::needs_you(output, list(report, "needsYou"));
            render::section(output, &mut page, heading, lines);
            continue;
        }
        let lines = lines
            .iter()
            .map(|line| format!("  {}", output.paint(tone, line)));
        render::section(output, &mut page, heading, lines.collect());
    }
    render::section(
        output,
        &mut page,
        "Spent",
        vec![format!("  {}", spent(report))],
    );
    page
}

fn markdown(report: &Value, context: &Context<'_>) -> Vec<String> {
    let mut page = vec![format!("# {}", head(report, context))];
    for (heading, _, lines) in parts(report, context) {
        if lines.is_empty() {
            continue;
        }
        page.extend([String::new(), format!("## {heading}"), String::new()]);
        page.extend(lines.iter().map(|line| format!("- {}", escaped(line))));
    }
    page.extend([
        String::new(),
        "## Spent".to_owned(),
        String::new(),
        spent(report),
    ]);
    page
}

/// What agents and people wrote is text, not markup.
fn escaped(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    for c in line.chars() {
        if matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '!'
        ) {
            text.push('\\');
        }
        text.push(c);
    }
    text
}
