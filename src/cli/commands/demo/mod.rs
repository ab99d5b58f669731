//! `swarm demo`: shows swarm at work, without any setup.
//!
//! A scripted agent works in a temporary repository, through the same code as real agents. `stage`
//! builds the repository, `killer` kills an agent on purpose, `story` tells what happens, `facts`
//! counts it, and `ending` leaves nothing behind. Ctrl+C is no failure: the exit code is 0.

mod ending;
mod facts;
mod killer;
mod stage;
mod story;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use clap::Args;

use super::start::page::announce as announce_page;
use super::start::{self, Before, Wish, run_daemon};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::host::{OnPage, PageChoice};
use crate::cli::live::progress::Style;
use crate::cli::output::Output;
use crate::cli::output::terminal::{Tone, stderr_size};
use crate::cli::repo::Repo;
use crate::cli::summary::Summary;
use crate::daemon::actor::handle::Handle;
use crate::daemon::{End, Paths, offline};
use crate::domain::event::Event;
use crate::domain::ids::IdeaId;
use crate::domain::settings::Mode;
use crate::domain::state::State;
use crate::web::DemoRun;
use ending::Interrupts;
use facts::{Facts, Moment, worth_a_look};
use killer::Killer;
use stage::Pace;
use story::{Telling, first_line, wrap};

/// Put in brackets before each line of `-v`.
const LABEL: &str = "demo";
/// The widest line, unless the terminal is narrower.
const WIDTH: usize = 80;
/// The most ideas that are listed.
const LISTED: usize = 10;

/// `demo`. Needs no key, network or configuration, and ends by itself.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm demo
  $ swarm demo --fast
  $ swarm demo --ideas 4 --agents 2 --keep")]
pub struct Demo {
    /// Number of ideas.
    #[arg(long, value_name = "N", default_value_t = 8,
        value_parser = clap::value_parser!(u16).range(1..=200))]
    pub ideas: u16,
    /// Number of agents at work at the same time.
    #[arg(long, value_name = "N", default_value_t = 3,
        value_parser = clap::value_parser!(u16).range(1..=16))]
    pub agents: u16,
    /// Let the agents work faster than a person can read.
    #[arg(long)]
    pub fast: bool,
    /// Print the page's link, but open no browser.
    #[arg(long)]
    pub no_open: bool,
    /// Keep the temporary repository so that you can look around in it.
    #[arg(long)]
    pub keep: bool,
}

/// A demo that has ended.
struct Played {
    end: End,
    /// Its log.
    events: Vec<Event>,
}

/// Runs the demo.
pub fn run(args: &Demo, context: &mut Context) -> Result<(), CliError> {
    let begun = Instant::now();
    let interrupts = Interrupts::catch()?;
    let folder = tempfile::Builder::new()
        .prefix("swarm-demo-")
        .tempdir()
        .map_err(|error| CliError::io("make a temporary folder", &error))?;
    // The worktrees lie beside it, in the temporary folder.
    let root = folder.path().join("bakery");
    let played = play(args, &root, interrupts, context);
    ending::end_runs(&Paths::new(&root).runs);
    let kept = if args.keep {
        drop(folder.keep());
        Some(root)
    } else {
        ending::remove_folder(folder)?;
        None
    };
    let Some(played) = played? else {
        context.output.note("stopped before any work began");
        return Ok(());
    };
    let mut facts = Facts::default();
    let moments = played.events.iter().filter_map(|event| facts.apply(event));
    let moments: Vec<Moment> = moments.collect();
    conclude(&played.end, &facts, begun, &mut context.output)?;
    look_further(kept.as_deref(), worth_a_look(&moments), &mut context.output);
    Ok(())
}

/// Builds the repository and runs a daemon in it; `None` if somebody ended the demo before.
fn play(
    args: &Demo,
    root: &Path,
    interrupts: Interrupts,
    context: &mut Context,
) -> Result<Option<Played>, CliError> {
    let pace = if args.fast {
        Pace::Fast
    } else {
        Pace::Readable
    };
    stage::build(root, args.agents, pace)?;
    let repo = Repo::find(root)?;
    let paths = repo.paths();
    stage::add_ideas(&paths, usize::from(args.ideas))?;
    if interrupts.asked() {
        return Ok(None);
    }
    let state = offline::read(&paths)?;
    let show = Show::of(context);
    if let Show::Story(style) = show {
        announce(args, &state, &repo, style, &mut context.output);
    }
    let (choice, on_page) = page(args, show, &repo, &context.output);
    let killer = Killer::new(repo.runs());
    let (kill, telling) = (killer.on_ready(), Arc::new(Mutex::new(None)));
    let (tell, runs, after) = (Arc::clone(&telling), repo.runs(), state.seq);
    let wish = Wish {
        mode: Some(Mode::Autopilot),
        until_idle: true,
        page: choice,
        on_page,
        style: show.progress(),
        label: Some(LABEL),
        also: Some(Box::new(move |handle: Handle| {
            if let Show::Story(style) = show {
                let begun = Telling::begin(handle.clone(), runs, after, style);
                *tell.lock().unwrap_or_else(PoisonError::into_inner) = begun;
            }
            kill(handle);
            interrupts.repeat();
        })),
        before: Before::default(),
    };
    let end = run_daemon(repo, wish, context);
    killer.finish();
    let telling = telling
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    if let Some(telling) = telling {
        telling.finish();
    }
    let events = offline::events(&paths, 0, usize::MAX)?;
    Ok(Some(Played {
        end: end?,
        events: events.into_iter().map(|one| one.event).collect(),
    }))
}

/// The page, and how it is announced; without a terminal nobody is there to see it.
fn page(args: &Demo, show: Show, repo: &Repo, output: &Output) -> (PageChoice, Option<OnPage>) {
    let is_shown = match show {
        Show::Story(_) | Show::Events(_) => output.can_draw && !output.json,
        Show::Nothing => false,
    };
    if is_shown {
        let on_page = announce_page(!args.no_open, repo.private());
        let run = DemoRun { is_kept: args.keep };
        (PageChoice::Demo(run), Some(on_page))
    } else {
        (PageChoice::Without, None)
    }
}

/// What is shown while it runs.
#[derive(Clone, Copy)]
enum Show {
    Story(story::Style),
    /// The same as `swarm start`: every event.
    Events(Style),
    Nothing,
}

impl Show {
    fn of(context: &Context) -> Self {
        match start::style(false, context) {
            Style::Silent | Style::Messages => Self::Nothing,
            events @ (Style::Json | Style::Lines { all: true }) => Self::Events(events),
            Style::Lines { all: false } => {
                let width = usize::from(stderr_size().columns);
                Self::Story(story::Style {
                    colors: context.output.message_colors,
                    width: width.min(WIDTH),
                })
            }
        }
    }

    fn progress(self) -> Style {
        match self {
            Self::Events(style) => style,
            Self::Story(_) | Self::Nothing => Style::Silent,
        }
    }
}

fn announce(args: &Demo, state: &State, repo: &Repo, style: story::Style, output: &mut Output) {
    let several = |count: u16, one: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    };
    let (ideas, agents) = (several(args.ideas, "idea"), several(args.agents, "agent"));
    let mut note = |text: &str| {
        for line in wrap(text, style.width) {
            output.note(line);
        }
    };
    note(&format!(
        "swarm demo: {ideas}, up to {agents} at the same time. The agents are scripts: no model, \
        no key, no network. Everything else is real."
    ));
    note(&format!("repository: {}", repo.root().display()));
    note("Each agent works in its own git worktree. What passes ./check.sh lands on main.");
    output.note("");
    for (id, idea) in state.ideas.iter().take(LISTED) {
        output.note(format!("  {id}  {}", first_line(&idea.text)));
    }
    if let Some(more) = state
        .ideas
        .len()
        .checked_sub(LISTED)
        .filter(|more| *more > 0)
    {
        output.note(format!("  and {more} more"));
    }
    output.note("");
}

/// Says what happened in all, counted from the log.
fn conclude(end: &End, facts: &Facts, begun: Instant, output: &mut Output) -> Result<(), CliError> {
    let recap = facts.recap();
    let End::AtRest(rest, state) = end else {
        output.note(format!("stopped: {recap}"));
        return Ok(());
    };
    let summary = Summary::of(state);
    let verdict = summary.verdict(*rest);
    if output.json || verdict.is_err() {
        summary.show(output)?;
        return verdict;
    }
    if !output.quiet {
        output.line("")?;
    }
    let recap = format!("{recap}, in {} s", begun.elapsed().as_secs());
    let width = output.width.map_or(WIDTH, usize::from);
    for line in wrap(&recap, width) {
        let line = output.paint(Tone::Good, &line).into_owned();
        output.line(line)?;
    }
    Ok(())
}

/// The commands to type next.
fn look_further(kept: Option<&Path>, idea: Option<&IdeaId>, output: &mut Output) {
    let (heading, commands) = match kept {
        None => (
            "To go on:",
            vec![
                "swarm demo --keep   keeps the repository to look around in".to_owned(),
                "swarm init          begins in a repository of your own".to_owned(),
                "swarm help          lists every command".to_owned(),
            ],
        ),
        Some(folder) => {
            let look = idea.map(|idea| format!("swarm idea show {idea}"));
            let last = "git log --graph --oneline".to_owned();
            let mut commands = vec![
                format!("cd {}", shell_word(&folder.to_string_lossy())),
                "swarm log".to_owned(),
            ];
            commands.extend(look.into_iter().chain([last]));
            ("The repository is kept. To look around in it:", commands)
        }
    };
    output.note(format!("\n{heading}"));
    for command in commands {
        output.note(format!("  {command}"));
    }
}

/// A word for a POSIX shell.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@:,".contains(c);
    if text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_one_word_for_a_shell() {
        assert_eq!(shell_word("/tmp/swarm-demo-1"), "/tmp/swarm-demo-1");
        assert_eq!(shell_word("/a b/it's"), r"'/a b/it'\''s'");
    }
}
