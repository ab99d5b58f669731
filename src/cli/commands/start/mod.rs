//! `swarm start`: runs the daemon, here or in the background.

mod detach;
mod lifeline;
mod on_screen;
pub(super) mod page;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::cli::commands::config::load;
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::host::{self, OnPage, PageChoice, StartOptions};
use crate::cli::live::progress::{Progress, Shown, Style};
use crate::cli::output::final_flush::FinalFlush;
use crate::cli::output::terminal::safe;
use crate::cli::repo::Repo;
use crate::cli::summary::{Earlier, Summary};
use crate::daemon::End;
use crate::daemon::actor::handle::Handle;
use crate::daemon::checks_probe;
use crate::daemon::preflight::{self, KeptFromWorktrees, Preflight, UncountedProfile};
use crate::daemon::unasked;
use crate::domain::settings::Mode;
use crate::domain::state::State;
use crate::git;
use crate::view::describe;

/// How long the last messages may take on a stopped terminal or a pipe that nobody reads.
const LAST_WORDS: Duration = Duration::from_millis(400);

/// `start`.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[command(
    after_help = "On a terminal it shows a full-screen view: what needs you, agents, merge queue, \
backlog and log. `?` there shows its keys. With -v, -q, --json, --plain or without a terminal it \
prints lines.

One Ctrl+C, SIGTERM or closing the terminal stops the daemon gracefully: it \
starts no new ideas, gives running iterations up \
to shutdown.graceSeconds to finish, and says what it waits for. A second Ctrl+C stops it at once. \
SIGUSR1 reloads the configuration.

Examples:
  $ swarm start
  $ swarm start --detach
  $ swarm start --plain
  $ swarm start --until-idle --mode autopilot"
)]
pub struct Start {
    /// Run in the background; print the pid once the daemon answers.
    #[arg(long, short)]
    pub detach: bool,
    /// Who starts ideas; overrides the configuration.
    #[arg(long, value_name = "MODE")]
    pub mode: Option<ModeChoice>,
    /// Stop when nothing is active, ready or merging; the exit code says how it went.
    #[arg(long)]
    pub until_idle: bool,
    /// The port of the web page on 127.0.0.1. Default: the last one, 7420, or any that is free.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Run without the web page.
    #[arg(long, conflicts_with = "port")]
    pub no_web: bool,
    /// Print the page's link, but open no browser. Without a desktop, none is opened.
    #[arg(long, conflicts_with = "no_web")]
    pub no_open: bool,
    /// Print a line for each thing that happens, on a terminal too.
    #[arg(long, conflicts_with = "detach")]
    pub plain: bool,
    /// Set on the background process that `--detach` starts.
    #[arg(long, hide = true, conflicts_with = "detach")]
    pub detached: bool,
    /// Set on the daemon below a full-screen view, which talks to it through standard input.
    #[arg(long, hide = true, conflicts_with_all = ["detach", "detached"])]
    pub below_view: bool,
}

/// Who starts ideas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeChoice {
    /// You start each idea with `swarm idea assign`.
    SemiAuto,
    /// swarm starts ready ideas whenever a slot is free.
    Autopilot,
}

impl From<ModeChoice> for Mode {
    fn from(choice: ModeChoice) -> Self {
        match choice {
            ModeChoice::SemiAuto => Self::SemiAuto,
            ModeChoice::Autopilot => Self::Autopilot,
        }
    }
}

/// Runs the daemon.
pub fn run(args: &Start, context: &mut Context) -> Result<(), CliError> {
    let repo = context.repo()?;
    if on_screen::is_wanted(args, context) {
        return on_screen::run(args, &repo, context);
    }
    if args.below_view {
        lifeline::hold().map_err(|error| CliError::io("talk to the view", &error))?;
    }
    if !args.detached {
        warn(&repo, context);
    }
    if args.detach {
        return detach::run(args, &repo, context);
    }
    if args.detached {
        detach::become_background(context)?;
    }
    let style = if args.below_view {
        Style::Messages
    } else {
        style(args.detached, context)
    };
    let before = Before::default();
    let wish = Wish {
        mode: args.mode.map(Mode::from),
        until_idle: args.until_idle,
        page: match (args.no_web, args.port) {
            (true, _) => PageChoice::Without,
            (false, Some(port)) => PageChoice::Port(port),
            (false, None) => PageChoice::AnyPort,
        },
        style,
        on_page: says_page(args, context).then(|| page::announce(!args.no_open, repo.private())),
        label: None,
        also: None,
        before: Arc::clone(&before),
    };
    let end = run_daemon(repo, wish, context);
    // Everything is on disk by now; only messages are left.
    context.last_words = FinalFlush::within(LAST_WORDS, exit_code(&end));
    conclude(&end?, &before, args.detached, context)
}

/// Whether a person is there to read the page's link: at the terminal, or at the view above this
/// daemon.
fn says_page(args: &Start, context: &Context) -> bool {
    let output = &context.output;
    args.below_view || (output.can_draw && !args.detached && !output.json && !output.quiet)
}

/// Warns about quality commands that cannot run or cannot be trusted, budgets that cannot hold and
/// a webhook that cannot be used. The daemon itself reports everything else that is wrong with the
/// configuration.
fn warn(repo: &Repo, context: &mut Context) {
    let Ok(layered) = load(repo) else {
        return;
    };
    let environment = std::env::vars_os().collect();
    let preflight = Preflight {
        root: repo.root(),
        inherited: &environment,
        pass: &layered.config.agents.pass_env,
        target: None,
    };
    if let Some(KeptFromWorktrees { what, advice }) = preflight.kept_from_worktrees() {
        context.output.note(format!("warning: {what}"));
        context.output.next_step(advice);
    }
    for unusable in preflight.unusable_commands(&layered.config.quality_commands) {
        context.output.note(format!("warning: {unusable}"));
        context.output.next_step(unusable.advice);
    }
    let layout = git::Repo::open(repo.root()).and_then(|git| git.layout_notes());
    for finding in layout.unwrap_or_default() {
        let what = safe(&finding.what);
        context.output.note(format!("warning: {what}"));
        let way_out = format!("change it: {}", safe(&finding.way_out));
        context.output.next_step(way_out);
    }
    for uncounted in preflight::uncounted(&layered.config, unasked(&layered.config)) {
        let UncountedProfile { what, advice } = uncounted;
        context.output.note(format!("warning: {what}"));
        context.output.next_step(advice);
    }
    if let Ok(Some(probed)) = checks_probe::last(&repo.paths()) {
        for alarm in &probed.report.alarms {
            let message = safe(&alarm.message);
            context.output.note(format!("warning: {message}"));
            context
                .output
                .next_step("see all of it: swarm checks probe");
        }
    }
    if let Some(problem) = preflight::webhook_problem(&layered.config, &environment) {
        context.output.note(format!("warning: {problem}"));
        context.output.next_step(preflight::WEBHOOK_ADVICE);
    }
}

/// The exit code for how the daemon ended.
fn exit_code(end: &Result<End, CliError>) -> u8 {
    let of = |error: &CliError| error.kind.exit_code();
    match end {
        Ok(End::Stopped(_)) => 0,
        Ok(End::Interrupted) => Kind::Interrupted.exit_code(),
        Ok(End::AtRest(rest, state)) => {
            let verdict = Summary::of(state).verdict(*rest);
            verdict.err().as_ref().map_or(0, of)
        }
        Err(error) => of(error),
    }
}

/// How to run a daemon in this process, and what to show meanwhile.
pub(super) struct Wish {
    pub(super) mode: Option<Mode>,
    pub(super) until_idle: bool,
    pub(super) page: PageChoice,
    pub(super) on_page: Option<OnPage>,
    pub(super) style: Style,
    pub(super) label: Option<&'static str>,
    /// Also called when the daemon is ready; it returns at once.
    pub(super) also: Option<Box<dyn FnOnce(Handle) + Send>>,
    /// Filled when the daemon is ready, so that the summary can leave out earlier work.
    pub(super) before: Before,
}

/// What had happened before this run.
pub(super) type Before = Arc<Mutex<Earlier>>;

/// The style of progress that suits the options and the terminal.
pub(super) fn style(detached: bool, context: &Context) -> Style {
    let output = &context.output;
    if detached || (output.quiet && !output.json) {
        Style::Silent
    } else if output.json {
        Style::Json
    } else {
        Style::Lines {
            all: output.verbose > 0,
        }
    }
}

/// Runs a daemon until it ends, and shows its progress.
pub(super) fn run_daemon(repo: Repo, wish: Wish, context: &mut Context) -> Result<End, CliError> {
    context.output.flush()?;
    let mut progress = progress(&wish, context);
    let found: Arc<Mutex<Vec<String>>> = Arc::default();
    let find = Arc::clone(&found);
    let shown: Arc<Mutex<Option<Shown>>> = Arc::default();
    let keep = Arc::clone(&shown);
    let options = StartOptions {
        page: wish.page,
        on_page: wish.on_page,
        repo,
        mode: wish.mode,
        until_idle: wish.until_idle,
        on_open: Box::new(move |state| {
            *find.lock().unwrap_or_else(PoisonError::into_inner) = describe::from_before(state);
        }),
        on_ready: Box::new(move |handle: Handle, end_asked| {
            progress.from_before =
                std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
            *wish.before.lock().unwrap_or_else(PoisonError::into_inner) = handle.read(Earlier::of);
            if let Some(also) = wish.also {
                also(handle.clone());
            }
            // If the display's thread cannot start, the daemon works without it.
            let begun = progress.begin(handle, end_asked).ok();
            *keep.lock().unwrap_or_else(PoisonError::into_inner) = begun;
        }),
    };
    let end = host::run_daemon(options);
    if let Some(shown) = shown.lock().unwrap_or_else(PoisonError::into_inner).take() {
        shown.finish();
    }
    end
}

fn progress(wish: &Wish, context: &Context) -> Progress {
    let lines: Box<dyn std::io::Write + Send> = match wish.style {
        Style::Json => Box::new(std::io::stdout()),
        Style::Lines { .. } | Style::Messages | Style::Silent => Box::new(std::io::stderr()),
    };
    Progress {
        style: wish.style,
        colors: context.output.message_colors,
        zone: context.zone.clone(),
        label: wish.label,
        lines,
        from_before: vec![],
    }
}

/// Reports how the daemon ended.
pub(super) fn conclude(
    end: &End,
    before: &Before,
    silent: bool,
    context: &mut Context,
) -> Result<(), CliError> {
    match end {
        End::Stopped(state) => {
            let output = &mut context.output;
            if !silent && !output.quiet && !output.json {
                summary(state, before).show(output)?;
                output.flush()?;
            }
            output.note("the daemon has stopped");
            Ok(())
        }
        End::Interrupted => Err(CliError::new(
            Kind::Interrupted,
            "interrupted: the daemon stopped at once; its agents keep running",
        )
        .hint("the next start adopts them: swarm start")),
        End::AtRest(rest, state) => {
            let summary = summary(state, before);
            let verdict = summary.verdict(*rest);
            if silent {
                return verdict;
            }
            summary.show(&mut context.output)?;
            if summary.says_what_to_do() {
                return verdict.map_err(CliError::shown);
            }
            verdict
        }
    }
}

/// What this run did.
fn summary(state: &State, before: &Before) -> Summary {
    let mut summary = Summary::of(state);
    summary.without(&before.lock().unwrap_or_else(PoisonError::into_inner));
    summary
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::testkit;
    use crate::view::Rest;

    #[test]
    fn the_end_of_a_daemon_decides_the_exit_code() {
        let rest = |rest| Ok(End::AtRest(rest, Box::default()));
        let failed = End::AtRest(Rest::NeedsPerson, Box::new(testkit::state()));
        let cases = [
            (Ok(End::Stopped(Box::default())), 0),
            (Ok(End::Interrupted), 130),
            (rest(Rest::Idle), 0),
            (rest(Rest::NeedsPerson), 6),
            (Ok(failed), 5),
            (Err(CliError::new(Kind::Disk, "x")), 74),
            (Err(CliError::new(Kind::AgentUnusable, "x")), 4),
        ];
        for (end, code) in cases {
            assert_eq!(exit_code(&end), code, "{end:?}");
        }
    }
}
