//! `swarm report`: what happened meanwhile.
//!
//! Invariant: a report that was shown is remembered (`.swarm/state/report.json`), so that the next
//! one can say what is new since then.

use std::io::Write as _;
use std::path::Path;

use clap::Args;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::cli::clock;
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::json::{list, text, texts, time};
use crate::cli::output::Output;
use crate::cli::output::terminal::{Tone, safe, title};
use crate::cli::output::write_page;
use crate::cli::render;
use crate::cli::render::usage;
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
    /// Only what happened since a time, since so long ago (`12h`, `2d`), or since the last report
    /// (`last`); left out: all.
    #[arg(long, value_name = "TIME|last")]
    pub since: Option<String>,
    /// As Markdown.
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
}

/// Shows it, and remembers when.
pub fn run(args: &Report, context: &mut Context) -> Result<(), CliError> {
    let file = context.repo()?.state().join(REMEMBERED);
    let since = match args.since.as_deref() {
        None => None,
        Some("last") => remembered(&file)?,
        Some(text) => Some(read(text, context)?),
    };
    // What happens while it is made is the next one's, rather than nobody's.
    let at = clock::now();
    let report = context.with_access(|access| access.report(since))?;
    if context.output.json {
        context.output.document(&report)?;
    } else if args.markdown {
        let page = markdown(&report, &context.zone);
        write_page(&mut context.output, &page)?;
    } else {
        let page = page(&report, &context.output, &context.zone);
        write_page(&mut context.output, &page)?;
    }
    remember(&file, at).map_err(|error| {
        CliError::refused(format!(
            "{} could not be written, so that `--since last` will not know of this report: {error}",
            file.display()
        ))
    })
}

fn read(text: &str, context: &Context) -> Result<Timestamp, CliError> {
    if let Some(millis) = clock::read_span(text) {
        return Ok(clock::now().plus_millis(-millis));
    }
    clock::read(text, &context.zone).ok_or_else(|| {
        CliError::new(Kind::Usage, format!("`{text}` is no time"))
            .hint("give one like 2026-01-31T22:00, a span like 12h or 2d, or `last`")
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
fn remember(file: &Path, at: Timestamp) -> std::io::Result<()> {
    let Some(folder) = file.parent().filter(|folder| folder.is_dir()) else {
        return Ok(()); // nothing has run here yet
    };
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    write!(new, "{}", json!({ "at": at }))?;
    new.persist(file)?;
    Ok(())
}

/// An idea as a line: what is not known of it is left out.
fn idea(idea: &Value, zone: &TimeZone) -> String {
    let mut title = title(text(idea, "content"), MAX_TITLE);
    let why = text(idea, "why");
    if !why.is_empty() {
        title = format!("{title}: {}", safe(why));
    }
    let used = usage::describe_usage(&idea["used"]);
    if !used.is_empty() {
        title = format!("{title} ({used})");
    }
    let at = time(idea, "at").map_or_else(String::new, |at| clock::local(at, zone));
    let commit = text(idea, "commit").get(..10).unwrap_or_default();
    let (id, status) = (text(idea, "id"), text(idea, "status"));
    let known = [at.as_str(), id, status, commit, &title];
    let known: Vec<&str> = known.into_iter().filter(|it| !it.is_empty()).collect();
    known.join("  ")
}

/// Its parts, in the order in which somebody wants to know.
fn parts(report: &Value, zone: &TimeZone) -> Vec<(&'static str, Tone, Vec<String>)> {
    let ideas = |key| {
        let all = list(report, key).iter();
        all.map(|one| idea(one, zone)).collect()
    };
    let stuck = |one: &Value| {
        let since = time(one, "since").map_or_else(String::new, |at| clock::local(at, zone));
        format!("{since}  {}", safe(text(one, "message")))
    };
    vec![
        ("Landed", Tone::Good, ideas("landed")),
        ("Had nothing to land", Tone::Warn, ideas("nothingToLand")),
        ("Failed", Tone::Bad, ideas("failed")),
        ("Waiting", Tone::Plain, ideas("waiting")),
        (
            "Stuck",
            Tone::Warn,
            list(report, "stuck").iter().map(stuck).collect(),
        ),
        (
            "Warnings",
            Tone::Warn,
            texts(report, "warnings").into_iter().map(safe).collect(),
        ),
        ("Accounts", Tone::Warn, usage::accounts(report, zone)),
    ]
}

fn head(report: &Value, zone: &TimeZone) -> String {
    let since = time(report, "since").map(|at| clock::local(at, zone));
    let since = since.unwrap_or_else(|| "the beginning".to_owned());
    let counted = |key, what| format!("{} {what}", list(report, key).len());
    format!(
        "Since {since}: {}, {}, {}",
        counted("landed", "landed"),
        counted("failed", "failed"),
        counted("waiting", "waiting")
    )
}

fn spent(report: &Value) -> String {
    match usage::describe_usage(&report["spent"]) {
        used if used.is_empty() => "nothing known".to_owned(),
        used => used,
    }
}

fn page(report: &Value, output: &Output, zone: &TimeZone) -> Vec<String> {
    let head = head(report, zone);
    let mut page = vec![output.paint(Tone::Strong, &head).into_owned()];
    for (heading, tone, lines) in parts(report, zone) {
        let lines = lines
            .iter()
            .map(|line| format!("  {}", output.paint(tone, line)));
        render::section(output, &mut page, heading, lines.collect());
    }
    let needs = render::needs_you(output, list(report, "needsYou"));
    render::section(output, &mut page, "Needs you", needs);
    let spent = vec![format!("  {}", spent(report))];
    render::section(output, &mut page, "Spent", spent);
    page
}

fn markdown(report: &Value, zone: &TimeZone) -> Vec<String> {
    let mut page = vec![format!("# {}", head(report, zone))];
    let mut section = |heading: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            page.extend([String::new(), format!("## {heading}"), String::new()]);
            page.extend(lines);
        }
    };
    for (heading, _, lines) in parts(report, zone) {
        let lines = lines.iter().map(|line| format!("- {}", escaped(line)));
        section(heading, lines.collect());
    }
    let needs = list(report, "needsYou").iter().map(need);
    section("Needs you", needs.collect());
    section("Spent", vec![escaped(&spent(report))]);
    page
}

/// What a person is needed for, as Markdown, with what they can type.
fn need(need: &Value) -> String {
    let message = escaped(&safe(text(need, "message")));
    let commands = texts(need, "commands").into_iter().map(|command| {
        let command = safe(command);
        // A mark within would end it.
        if command.contains('`') {
            escaped(&command)
        } else {
            format!("`{command}`")
        }
    });
    let commands: Vec<String> = commands.collect();
    format!("- {message}: {}", commands.join(" or "))
}

/// What agents and people wrote is text, not markup.
fn escaped(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    for c in line.chars() {
        if matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '!' | '&' | '~' | '@'
        ) {
            text.push('\\');
        }
        text.push(c);
    }
    text
}
