//! `swarm provenance replay`: repeats a recorded iteration and compares the result.

use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::{Records, parse};
use crate::cli::access::remote::Daemon;
use crate::cli::confirm;
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::json::text;
use crate::cli::output::terminal::safe;
use crate::cli::output::write_page;
use crate::domain::ids::{ProfileName, RunId};
use crate::domain::likeness::MatchStatus as Verdict;
use crate::view::provenance::MatchStatus;

/// How often it asks the daemon for the result.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// `provenance replay`.
#[derive(Debug, Args)]
#[command(after_help = "\
Today's program gets the recorded prompt in a worktree of its own, with the files that the \
iteration found. It takes a slot and counts towards the day's budget. It never lands, and the \
worktree is removed. The quality commands do not run.

The verdict is exact_match, semantic_match, partial_match or no_match. Exit codes: 0 compared; 5 \
worse than --expect; 1 the record is missing or damaged, or there was nothing to compare; 3 no \
daemon is running.

Examples:
  $ swarm provenance replay idea-003
  $ swarm provenance replay r0042 --profile ed --expect semantic --yes")]
pub struct Replay {
    /// The record: a run, an idea or a commit.
    #[arg(value_name = "ID")]
    pub id: String,
    /// The profile that runs; default: that of the recorded iteration.
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<ProfileName>,
    /// Exit with 5 if the verdict is worse.
    #[arg(long, value_name = "VERDICT")]
    pub expect: Option<Expected>,
    /// Do not ask for confirmation.
    #[arg(short, long)]
    pub yes: bool,
}

/// The least that is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Expected {
    /// The same files and the same words.
    Exact,
    /// The same meaning.
    Semantic,
    /// Some of it is the same.
    Partial,
}

/// Replays it and waits for the verdict.
pub(super) fn run(args: &Replay, context: &mut Context) -> Result<(), CliError> {
    let daemon = context.daemon()?;
    let records = Records::open(context)?;
    let line = records.find(&args.id)?;
    let record = parse(line, &records.content(line)?)?;
    let of = line.run.clone();
    if line.sha256.is_none() {
        let message = format!("the record of {of} cannot be replayed: it was never written");
        return Err(CliError::refused(message).hint("list the records: swarm provenance list"));
    }
    let profile = match &args.profile {
        Some(profile) => profile.clone(),
        None => recorded_profile(&of, &record.config.agent.name)?,
    };
    let question = format!(
        "This runs {profile} once with the prompt of {of}: it takes a slot and spends money. \
        Continue?"
    );
    confirm::agree(context, args.yes, &question)?;
    let path = format!("provenance/{of}/replay");
    let begun = daemon.post(&path, &json!({ "profile": profile }))?;
    let run = text(&begun, "run").to_owned();
    if !context.output.json {
        let words = format!("{} replays {of}", safe(&run));
        context.output.note(words);
    }
    let shown = wait(&daemon, &of, &run)?;
    report(args, context, &of, &shown)
}

fn recorded_profile(of: &RunId, name: &str) -> Result<ProfileName, CliError> {
    name.parse().map_err(|_| {
        CliError::refused(format!("the record of {of} names no profile"))
            .hint("name one: swarm provenance replay ID --profile PROFILE")
    })
}

/// What the daemon shows of the record's replays, once this run is judged.
fn wait(daemon: &Daemon, of: &RunId, run: &str) -> Result<Value, CliError> {
    loop {
        let shown = daemon.get(&format!("provenance/{of}/replay"))?;
        if shown["last"]["run"] == run {
            return Ok(shown);
        }
        if shown["underWay"]["run"] != run {
            let message = format!("{} was not judged", safe(run));
            return Err(CliError::refused(message)
                .code("REPLAY_LOST")
                .hint("see what happened: swarm log"));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn report(args: &Replay, context: &mut Context, of: &RunId, shown: &Value) -> Result<(), CliError> {
    let last = &shown["last"];
    let Ok(verdict) = serde_json::from_value::<Verdict>(last["matchStatus"].clone()) else {
        let why = safe(text(last, "why"));
        let run = safe(text(last, "run"));
        return Err(
            CliError::refused(format!("the replay has no verdict: {why}"))
                .code("REPLAY_FAILED")
                .hint(format!("see its output: .git/swarm/runs/{run}")),
        );
    };
    if context.output.json {
        context.output.document(shown)?;
    } else {
        write_page(&mut context.output, &page(verdict, last))?;
    }
    let is_worse = |expected| verdict < least(expected);
    if args.expect.is_some_and(is_worse) {
        let message = format!(
            "the replay of {of} is worse than expected: {}",
            MatchStatus::from(verdict).words()
        );
        return Err(CliError::new(Kind::EndedBadly, message).code("REPLAY_WORSE"));
    }
    Ok(())
}

const fn least(expected: Expected) -> Verdict {
    match expected {
        Expected::Exact => Verdict::ExactMatch,
        Expected::Semantic => Verdict::SemanticMatch,
        Expected::Partial => Verdict::PartialMatch,
    }
}

fn page(verdict: Verdict, last: &Value) -> Vec<String> {
    let measures = &last["measures"];
    let by = match text(last, "by") {
        "" => String::new(),
        by => format!(" (by {by})"),
    };
    let yes = |name: &str| match measures[name].as_bool() {
        Some(true) => "equal",
        Some(false) => "different",
        None => "not run",
    };
    let share = |name: &str| format!("{:.2}", measures[name].as_f64().unwrap_or_default());
    vec![
        format!("{}{}", MatchStatus::from(verdict).words(), safe(&by)),
        format!("  trees      {}", yes("trees")),
        format!("  responses  {}", yes("responses")),
        format!("  signals    {}", yes("signals")),
        format!("  gate       {}", yes("gate")),
        format!("  files      {}", share("files")),
        format!("  shape      {}", share("shape")),
        format!("  text       {}", share("text")),
    ]
}
