//! `swarm report`: what landed, failed, waits and was spent since some time.
//!
//! Invariant: `.swarm/state/report.json` records when the last report was shown, so that
//! `--since last` can start there.

use std::io::Write as _;
use std::path::Path;

use clap::Args;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::cli::args::at::At;
use crate::cli::clock;
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::json::{list, text, texts, time};
use crate::cli::output::Output;
use crate::cli::output::terminal::{Tone, safe, title};
use crate::cli::output::write_page;
use crate::cli::render;
use crate::cli::render::usage;
use crate::cli::repo::Repo;
use crate::domain::state::IdeaStatus;
use crate::domain::time::Timestamp;

/// The file in the state folder that records when the last report was made.
const REMEMBERED: &str = "report.json";
/// The longest title of an idea within a line.
const MAX_TITLE: usize = 80;

/// `report`. Works with and without a daemon.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm report
  $ swarm report --since last
  $ swarm report --at 2h
  $ swarm report --since 12h
  $ swarm report --since \"2026-01-31 22:00\" --markdown > report.md
  $ swarm report --json")]
pub struct Report {
    /// Report only what happened since a time, within a span (`12h`, `2d`), or since the last
    /// report (`last`). Default: everything.
    #[arg(long, value_name = "TIME|last")]
    pub since: Option<String>,
    /// Print Markdown.
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// The point to show.
    #[command(flatten)]
    pub at: At,
}

/// Shows the report, and records when.
pub fn run(args: &Report, context: &mut Context) -> Result<(), CliError> {
    context.look_back(&args.at)?;
    let repo = context.repo()?;
    let since = start_of(args.since.as_deref(), &repo, &context.zone, context.now())?;
    // Taken first: whatever happens meanwhile belongs to the next report.
    let at = context.now();
    let report = context.with_access(|access| access.report(since))?;
    if context.output.json {
        context.output.document(&report)?;
    } else if args.markdown {
        let page = markdown(&report, &Times::In(context.zone.clone()));
        write_page(&mut context.output, &page)?;
    } else {
        if since.is_none() && args.since.is_some() {
            context
                .output
                .note("there was no earlier report; this one covers everything");
        }
        let page = page(&report, &context.output, &Times::Before(at));
        write_page(&mut context.output, &page)?;
    }
    if context.past.is_some() {
        return Ok(());
    }
    let file = repo.state().join(REMEMBERED);
    remember(&file, at).map_err(|error| {
        CliError::refused(format!(
            "{} cannot be written, so `--since last` will not start at this report: {error}",
            file.display()
        ))
    })
}

/// How the report writes times.
enum Times {
    /// Relative to now: `12 min ago`.
    Before(Timestamp),
    /// As local times: a Markdown report may be read later.
    In(TimeZone),
}

impl Times {
    fn now(&self) -> Timestamp {
        match self {
            Self::Before(now) => *now,
            Self::In(_) => clock::now(),
        }
    }

    fn show(&self, at: Timestamp) -> String {
        match self {
            Self::Before(now) => clock::ago(at, *now),
            Self::In(zone) => clock::local(at, zone),
        }
    }
}

/// The start of the period that somebody asks for; `None` means everything, or that there was no
/// last report.
pub(in crate::cli) fn start_of(
    since: Option<&str>,
    repo: &Repo,
    zone: &TimeZone,
    now: Timestamp,
) -> Result<Option<Timestamp>, CliError> {
    match since {
        None => Ok(None),
        Some("last") => remembered(&repo.state().join(REMEMBERED)),
        Some(text) => read(text, zone, now).map(Some),
    }
}

fn read(text: &str, zone: &TimeZone, now: Timestamp) -> Result<Timestamp, CliError> {
    if let Some(millis) = clock::read_span(text) {
        return Ok(now.plus_millis(-millis));
    }
    clock::read(text, zone).ok_or_else(|| {
        CliError::new(Kind::Usage, format!("`{text}` is not a time"))
            .hint("use a time (2026-01-31T22:00), a span (12h, 2d), or `last`")
    })
}

/// When the last report was made; `None` if there was none.
fn remembered(file: &Path) -> Result<Option<Timestamp>, CliError> {
    let unreadable = |why: &dyn std::fmt::Display| {
        CliError::refused(format!("{} cannot be read: {why}", file.display()))
            .hint("give a time instead: swarm report --since 12h")
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

/// Replaces the file as a whole, without a sync: losing it would cost nothing.
fn remember(file: &Path, at: Timestamp) -> std::io::Result<()> {
    let Some(folder) = file.parent().filter(|folder| folder.is_dir()) else {
        return Ok(()); // no daemon has run here yet
    };
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    write!(new, "{}", json!({ "at": at }))?;
    new.persist(file)?;
    Ok(())
}

/// An idea as a line, without unknown parts. `Needs you` has the reason of an idea that needs the
/// person.
fn idea(idea: &Value, report: &Value, times: &Times) -> String {
    let mut title = title(text(idea, "content"), MAX_TITLE);
    let why = text(idea, "reason");
    let mut needs = list(report, "needsYou").iter();
    let is_below = needs.any(|need| text(need, "ideaId") == text(idea, "id"));
    if !why.is_empty() && !is_below {
        title = format!("{title}: {}", safe(why));
    }
    let used = usage::describe_usage(&idea["used"]);
    if !used.is_empty() {
        title = format!("{title} ({used})");
    }
    let at = time(idea, "at").map_or_else(String::new, |at| times.show(at));
    let commit = text(idea, "commit").get(..10).unwrap_or_default();
    let (id, status) = (text(idea, "id"), text(idea, "status"));
    let known = [at.as_str(), id, status, commit, &title];
    let known: Vec<&str> = known.into_iter().filter(|it| !it.is_empty()).collect();
    known.join("  ")
}

/// The sections, most important first.
fn parts(report: &Value, times: &Times) -> Vec<(&'static str, Tone, Vec<String>)> {
    let ideas = |key| {
        let all = list(report, key).iter();
        all.map(|one| idea(one, report, times)).collect()
    };
    let accounts = usage::accounts(report, times.now());
    let slept = list(report, "slept").iter().map(|one| {
        let until = time(one, "until").map_or_else(String::new, |at| times.show(at));
        let seconds = one["seconds"].as_i64().unwrap_or_default();
        format!(
            "{until}  for {}",
            clock::span(seconds.saturating_mul(1_000))
        )
    });
    let outages = list(report, "outages").iter().map(|one| {
        let since = time(one, "since").map_or_else(String::new, |at| times.show(at));
        format!("{since}  {}", safe(text(one, "message")))
    });
    vec![
        ("Landed", Tone::Good, ideas("landed")),
        ("Had nothing to land", Tone::Warn, ideas("nothingToLand")),
        ("Did not land", Tone::Bad, ideas("failed")),
        ("Unfinished", Tone::Plain, ideas("waiting")),
        ("Accounts on hold", Tone::Warn, accounts),
        ("The machine slept", Tone::Plain, slept.collect()),
        ("Failed outside the work", Tone::Warn, outages.collect()),
    ]
}

/// Agents that are stuck, and other warnings, with the commands to type.
fn warnings(report: &Value, times: &Times) -> [(&'static str, Vec<Value>); 2] {
    let stuck = list(report, "stuck").iter().map(|one| {
        let since = time(one, "since").map_or_else(String::new, |at| times.show(at));
        let message = format!("{since}  {}", text(one, "message"));
        json!({ "message": message, "commands": one["commands"] })
    });
    let others = list(report, "warnings").to_vec();
    [("Stuck", stuck.collect()), ("Warnings", others)]
}

/// The period and the number of ideas in each outcome.
fn head(report: &Value, times: &Times) -> String {
    let period = match (time(report, "since"), times) {
        (None, _) => "So far".to_owned(),
        (Some(since), Times::Before(now)) => {
            format!("In the last {}", clock::span(now.since(since)))
        }
        (Some(since), Times::In(_)) => format!("Since {}", times.show(since)),
    };
    let counted = |key, what| format!("{} {what}", list(report, key).len());
    let mut counts = vec![counted("landed", "landed")];
    for status in IdeaStatus::ALL.map(IdeaStatus::as_str) {
        let bad = list(report, "failed").iter();
        match bad.filter(|idea| text(idea, "status") == status).count() {
            0 => {}
            count => counts.push(format!("{count} {status}")),
        }
    }
    counts.push(counted("waiting", "unfinished"));
    format!("{period}: {}", counts.join(", "))
}

fn spent(report: &Value) -> String {
    match usage::describe_usage(&report["used"]) {
        used if used.is_empty() => "no usage reported yet".to_owned(),
        used => used,
    }
}

fn page(report: &Value, output: &Output, times: &Times) -> Vec<String> {
    let head = head(report, times);
    let mut page = vec![output.paint(Tone::Strong, &head).into_owned()];
    for (heading, tone, lines) in parts(report, times) {
        let lines = lines
            .iter()
            .map(|line| format!("  {}", output.paint(tone, line)));
        render::section(output, &mut page, heading, lines.collect());
    }
    for (heading, warnings) in warnings(report, times) {
        let lines = render::warnings(output, &warnings);
        render::section(output, &mut page, heading, lines);
    }
    let needs = render::needs_you(output, list(report, "needsYou"));
    render::section(output, &mut page, "Needs you", needs);
    let spent = vec![format!("  {}", spent(report))];
    render::section(output, &mut page, "Spent", spent);
    page
}

fn markdown(report: &Value, times: &Times) -> Vec<String> {
    let mut page = vec![format!("# {}", head(report, times))];
    let mut section = |heading: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            page.extend([String::new(), format!("## {heading}"), String::new()]);
            page.extend(lines);
        }
    };
    for (heading, _, lines) in parts(report, times) {
        let lines = lines.iter().map(|line| format!("- {}", escaped(line)));
        section(heading, lines.collect());
    }
    for (heading, warnings) in warnings(report, times) {
        section(heading, warnings.iter().map(notice).collect());
    }
    let needs = list(report, "needsYou").iter().map(notice);
    section("Needs you", needs.collect());
    section("Spent", vec![escaped(&spent(report))]);
    page
}

/// A warning or what needs the person, as Markdown, with the commands to type.
fn notice(notice: &Value) -> String {
    let message = escaped(&safe(text(notice, "message")));
    let commands = texts(notice, "commands").into_iter().map(|command| {
        let command = safe(command);
        // A backtick inside would end the code.
        if command.contains('`') {
            escaped(&command)
        } else {
            format!("`{command}`")
        }
    });
    let commands: Vec<String> = commands.collect();
    if commands.is_empty() {
        return format!("- {message}");
    }
    format!("- {message}: {}", commands.join(" or "))
}

/// Escapes Markdown in text that agents and people wrote.
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
