//! Opens and runs one daemon, from the lock to the clean shutdown. Called by `swarm start`.
//!
//! Order of a start: repository, configuration, lock, log, and only then anything that acts. Order
//! of an end: the actor has written that it stopped, the views are exact, kept worktrees are given
//! back, the lock goes with the process.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, spawn_blocking};

use super::port_block::PortBlock;
use super::reload::{Reloader, hook_settings};
use super::shutdown::{self, Notes, cut_off};
use super::signals::{self, Request};
use super::watcher::Watcher;
use super::{check_environment, heap, logging, restored_worktrees};
use crate::agents::checkout_variables::for_worktrees;
use crate::config::Config;
use crate::crash;
use crate::daemon::actor::clock;
use crate::daemon::actor::handle::{Handle, Message, Published};
use crate::daemon::actor::journal_thread::JournalThread;
use crate::daemon::actor::snapshots::Snapshots;
use crate::daemon::actor::{Actor, Ended, FirstInputs};
use crate::daemon::checkpoints;
use crate::daemon::clean;
use crate::daemon::effects::context::DriverContext;
use crate::daemon::effects::dispatch::Dispatcher;
use crate::daemon::error::DaemonError;
use crate::daemon::files::config_loader::{Loader, unasked};
use crate::daemon::files::paths::Paths;
use crate::daemon::files::store::{self, Store};
use crate::daemon::files::{exports, settings, trusted_config};
use crate::daemon::memory::finder::Finder;
use crate::daemon::preflight;
use crate::daemon::provenance::recorder;
use crate::daemon::repair::numbers;
use crate::daemon::runs::run;
use crate::domain::decide::transfer::refuse_moved;
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::observation::{Host, Observation};
use crate::domain::operation::Command;
use crate::domain::settings::{Mode, Settings};
use crate::domain::state::{Counters, IdeaStatus, State};
use crate::git::{KeepIgnored, Places, Repo, SettledFolder};
use crate::process::{self, Alive};
use crate::view::Rest;

/// Messages that may wait for the actor; senders beyond that wait themselves.
const INBOX: usize = 1_024;
/// How long a git command that a killed daemon left running is waited for.
const ORPHANS: Duration = Duration::from_secs(5);
/// How long after the time for a graceful end tidying up may go on, in milliseconds; and how long
/// it may take at least, and without such a time.
const TIDY_MS: i64 = 800;
const TIDY_AT_LEAST: Duration = Duration::from_millis(100);
const TIDY_AT_MOST: Duration = Duration::from_secs(1);
/// How long after a second Ctrl+C a git command that is under way may take.
const AT_ONCE: Duration = Duration::from_millis(400);

/// How to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The repository's main work tree.
    pub root: PathBuf,
    /// Another mode than the configuration's.
    pub mode: Option<Mode>,
    /// End when nothing is active, ready or merging.
    pub until_idle: bool,
}

/// How a daemon ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// On request; with the last state.
    Stopped(Box<State>),
    /// Nothing was left to do by itself; with the state at that moment.
    AtRest(Rest, Box<State>),
    /// By a second Ctrl+C, without cleaning up.
    Interrupted,
}

/// A daemon that holds the lock and has read the log, but has not acted yet.
pub struct Daemon {
    options: Options,
    loader: Loader,
    context: Arc<DriverContext>,
    handle: Handle,
    inbox: mpsc::Receiver<Message>,
    seq: watch::Sender<u64>,
    store: Store,
    first: FirstInputs,
    notes: Arc<Notes>,
    signals: mpsc::UnboundedReceiver<Request>,
    /// What tells the runners that a daemon lives.
    alive: Alive,
}

impl Daemon {
    /// Takes the lock and reads the configuration and the log.
    ///
    /// # Errors
    /// Everything that keeps a daemon from working; nothing has changed then but a torn tail of the
    /// log, which is put aside.
    pub fn open(options: Options) -> Result<Self, DaemonError> {
        let paths = Paths::new(&options.root);
        if !paths.swarm.is_dir() {
            return Err(DaemonError::NotSetUp { root: paths.root });
        }
        let repo = trusted_config::open(&paths)?;
        let loader = Loader::new(&paths);
        let config = loader.load_named()?;
        let unasked = unasked(&config);
        let mut doubts = loader.check_profiles(&config, &repo, unasked.iter().copied())?;
        let target = preflight::landing_target(&config, &repo)?;
        let mut settings = settings::settings(&config, &target)
            .map_err(|bad| DaemonError::AgentUnusable(bad.to_string()))?;
        let lock = store::lock(&paths)?;
        crash::point("daemon.locked");
        // Only now, because a refused start must leave no trace.
        logging::begin(&paths)?;
        let store = Store::under(lock, &paths)?;
        crash::point("daemon.log-read");
        refuse_foreign(&paths, &store.state)?;
        let asked_for = asked_for(&store.state);
        let asked_for = asked_for.difference(&unasked).copied();
        doubts.extend(loader.check_profiles(&config, &repo, asked_for)?);
        log_doubts(&doubts);
        trusted_config::keep(&paths, &repo)?;
        let alive =
            process::hold(&paths.lease()).map_err(DaemonError::io("hold .git/swarm/lease"))?;
        let folder = settle_leftovers(&paths, &repo, &config, &store.state)?;
        // Only now it is known where the worktrees lie.
        let paths = Paths::new(&options.root);
        (settings.hooks, settings.commit_hooks) = hook_settings(&repo, &config, &store.state)?;
        crash::point("daemon.checkouts-settled");
        let mode = options.mode.unwrap_or(settings.mode);
        let ports = lease_ports(&store.state);
        let host = host(&store.state, &config, &paths, &folder, ports.as_ref());
        let first = FirstInputs {
            started: started(&paths, &target, &store.state, host),
            troubles: restored_worktrees::warnings(folder.note),
            commands: first_commands(&config, settings, mode),
        };
        let exe =
            std::env::current_exe().map_err(DaemonError::io("find this program's own file"))?;
        let (handle, inbox, seq) = open_channels(&store.state);
        let context = Arc::new(DriverContext::new(paths, repo, exe, config).with_ports(ports));
        // Nothing before this point could be left half done by a signal.
        let signals = receive_signals();
        Ok(Self {
            options,
            loader,
            context,
            handle,
            inbox,
            seq,
            store,
            first,
            notes: Arc::default(),
            signals,
            alive,
        })
    }

    /// A handle on the actor: to send commands, read and follow.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Becomes true when a signal requests a shutdown.
    pub fn end_asked(&self) -> watch::Receiver<bool> {
        self.notes.requested()
    }

    /// The paths of the repository.
    pub fn paths(&self) -> &Paths {
        &self.context.paths
    }

    /// Searches the memory; prompts and requests share its index.
    pub fn finder(&self) -> Arc<Finder> {
        Arc::clone(&self.context.finder)
    }

    /// To read the configuration again.
    pub fn reloader(&self) -> Reloader {
        Reloader {
            loader: self.loader.clone(),
            context: Arc::clone(&self.context),
            handle: self.handle.clone(),
        }
    }

    /// Runs until a shutdown is requested or, with `until_idle`, nothing is left to do. Awaits
    /// `closing` after the last event, before releasing the lock.
    ///
    /// # Errors
    /// [`DaemonError::DiskFailed`]: agents that run go on under their runners.
    pub async fn run(self, closing: impl Future<Output = ()>) -> Result<End, DaemonError> {
        let (context, handle) = (Arc::clone(&self.context), self.handle.clone());
        let notes = Arc::clone(&self.notes);
        let until_idle = self.options.until_idle;
        let reloader = self.reloader();
        let watcher = Watcher::new(reloader.clone(), until_idle, Arc::clone(&notes));
        let dispatcher = Dispatcher::new(Arc::clone(&context), handle.clone());
        let seq = self.store.state.seq;
        let (journal, lock) = self.store.into_parts();
        let ledger = JournalThread::new(journal)
            .map_err(DaemonError::io("start the writer of the event log"))?;
        let actor = Actor::new(
            self.inbox,
            handle.clone(),
            self.seq,
            ledger,
            Box::new(dispatcher),
            Snapshots::new(&context.paths, seq),
            self.first,
        );
        let heeded = tokio::spawn(shutdown::handle_signals(
            self.signals,
            reloader,
            Arc::clone(&notes),
        ));
        let attendants = [
            tokio::spawn(exports::keep(context.paths.clone(), handle.clone())),
            tokio::spawn(heap::purge_when_idle(handle.clone())),
            tokio::spawn(watcher.watch()),
            tokio::spawn(clean::keep(Arc::clone(&context), handle.clone())),
            tokio::spawn(recorder::keep(Arc::clone(&context), handle.clone())),
        ];
        let held = (self.alive, lock);
        let ended = tokio::select! {
            ended = actor.run() => ended,
            () = notes.interrupted() => return Ok(interrupted(&context, held).await),
            // Its own end cannot be written down; agents go on under their runners, and the next
            // start adopts them.
            why = notes.given_up() => Ended::DiskFailed(why),
        };
        attendants.iter().for_each(JoinHandle::abort);
        crash::point("daemon.actor-ended");
        let is_over = tokio::select! {
            is_over = wind_up(&context, &handle, &ended, closing) => is_over,
            () = notes.interrupted() => return Ok(interrupted(&context, held).await),
        };
        heeded.abort();
        crash::point("daemon.closed");
        if is_over {
            drop(held);
        } else {
            // It goes with the process, and with it what may still be at work in it.
            std::mem::forget(held);
        }
        match ended {
            Ended::DiskFailed(why) => Err(DaemonError::DiskFailed(why)),
            Ended::Cleanly { .. } => Ok(clean_end(&notes, &handle)),
        }
    }
}

fn clean_end(notes: &Notes, handle: &Handle) -> End {
    match notes.at_rest() {
        Some((rest, state)) => End::AtRest(rest, state),
        None => End::Stopped(Box::new(handle.read(State::clone))),
    }
}

fn started(paths: &Paths, target: &str, state: &State, host: Host) -> Observation {
    Observation::DaemonStarted {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        counters: numbers_taken(paths, target, state),
        host: Some(host),
    }
}

fn receive_signals() -> mpsc::UnboundedReceiver<Request> {
    signals::receive_signals().unwrap_or_else(|error| {
        tracing::error!(%error, "signals cannot be received; stop the daemon with: swarm stop");
        mpsc::unbounded_channel().1
    })
}

/// The counters, if this repository shows higher numbers than the log knows.
fn numbers_taken(paths: &Paths, target: &str, state: &State) -> Option<Counters> {
    if state.seq == 0 {
        numbers::of_earlier(paths, Some(target))
    } else {
        numbers::raised(paths, target, state.counters)
    }
}

/// Refuses a swarm that has moved away, and one that a newer version has worked on.
fn refuse_foreign(paths: &Paths, state: &State) -> Result<(), DaemonError> {
    refuse_moved(state)?;
    run::refuse_newer(&paths.runs, state).map_err(DaemonError::NewerRun)
}

/// The lock is ours: whatever git of an earlier daemon still runs is an orphan, and what it left
/// half done is ours to settle.
fn settle_leftovers(
    paths: &Paths,
    repo: &Repo,
    config: &Config,
    state: &State,
) -> Result<SettledFolder, DaemonError> {
    if !repo.wait_for_orphans(ORPHANS)? {
        tracing::warn!(
            "a git command of an earlier daemon is still running; swarm waits for what it locks"
        );
    }
    run::end_vanished(&paths.runs)
        .map_err(DaemonError::io("stop agents whose run directory is gone"))?;
    let places = Places::of_environment(config.worktree.root.as_deref());
    let mut folder = repo.settle_folder(&places)?;
    repo.settle_checkouts()?;
    repo.settle_worktrees()?;
    refuse_layout(repo)?;
    let restored = restored_worktrees::restore(repo, config, state)?;
    if folder.note.is_none() && !restored.is_empty() {
        folder.note = Some(restored.join("; "));
    }
    Ok(folder)
}

/// Refuses a layout in which agents cannot work, before anything is given to one.
fn refuse_layout(repo: &Repo) -> Result<(), DaemonError> {
    let blocking = repo.layout_blockers()?;
    if blocking.is_empty() {
        return Ok(());
    }
    Err(DaemonError::Layout(blocking))
}

/// Processor cores that this process may use.
fn cores() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    u32::try_from(cores).unwrap_or(u32::MAX)
}

/// What checks find on this machine.
fn host(
    state: &State,
    config: &Config,
    paths: &Paths,
    folder: &SettledFolder,
    ports: Option<&PortBlock>,
) -> Host {
    let before = state.swarm.host.environment.as_ref();
    let inherited = std::env::vars_os().collect();
    let inherited = for_worktrees(&inherited, &config.agents.pass_env, &paths.root).environment;
    Host {
        cores: cores(),
        port_block: ports.map(PortBlock::first),
        environment: Some(check_environment::of_checks(&inherited, config, before)),
        worktrees: Some(paths.worktrees.display().to_string()),
        worktrees_new: folder.is_new,
    }
}

fn log_doubts(doubts: &[String]) {
    for doubt in doubts {
        tracing::warn!("{doubt}");
    }
}

/// Leases ports for agents and checks: those of the last daemon here, if they are free, because a
/// setup may have written them into a worktree.
fn lease_ports(state: &State) -> Option<PortBlock> {
    let block = PortBlock::lease(state.swarm.host.port_block);
    if let Some(block) = &block {
        tracing::info!(first = block.first(), "leased a block of ports");
    } else {
        tracing::warn!("every block of ports is leased by another daemon");
    }
    block
}

fn first_commands(config: &Config, settings: Settings, mode: Mode) -> Vec<Command> {
    vec![
        Command::LoadSettings {
            hash: config.hash(),
            settings: Box::new(settings),
        },
        Command::SetMode { mode },
    ]
}

/// The ways to the actor and back, which begin at this state.
fn open_channels(state: &State) -> (Handle, mpsc::Receiver<Message>, watch::Sender<u64>) {
    let mut published = Published {
        state: state.clone(),
        ..Published::default()
    };
    // What the log says is of the daemon before this one. Who asks before the first event of this
    // one must not take it for that.
    published.state.swarm.phase = SwarmPhase::Recovering;
    let (seq, seen) = watch::channel(state.seq);
    let (sender, inbox) = mpsc::channel(INBOX);
    let handle = Handle {
        inbox: sender,
        published: Arc::new(RwLock::new(published)),
        seq: seen,
        tally: Arc::default(),
    };
    (handle, inbox, seq)
}

/// The profiles that pending ideas request.
fn asked_for(state: &State) -> BTreeSet<&str> {
    let pending = state.ideas.values();
    let pending = pending.filter(|idea| idea.status == IdeaStatus::Pending);
    pending
        .filter_map(|idea| Some(idea.profile.as_ref()?.as_str()))
        .collect()
}

/// At once: no tidying up. The next start finds everything in the log. What is at work in this
/// process ends with it, and so does the lock; a git command, which has nobody to look after it,
/// comes to its end within a moment or is ended.
async fn interrupted<T>(context: &Arc<DriverContext>, held: T) -> End {
    cut_off(context, None, AT_ONCE).await;
    std::mem::forget(held);
    End::Interrupted
}

/// After the actor: the views, what nobody needs any more, an end to all that would run on, the
/// socket. Whether nothing of it is at work still.
async fn wind_up(
    context: &Arc<DriverContext>,
    handle: &Handle,
    ended: &Ended,
    closing: impl Future<Output = ()>,
) -> bool {
    let state = handle.read(State::clone);
    let limit = match ended {
        Ended::Cleanly { by: Some(by) } => {
            let left = by.plus_millis(TIDY_MS).since(clock::wall());
            let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
            left.max(TIDY_AT_LEAST)
        }
        Ended::Cleanly { by: None } | Ended::DiskFailed(_) => TIDY_AT_MOST,
    };
    let until = Instant::now() + limit;
    let tidied = tokio::time::timeout(limit, finish(context, state.clone())).await;
    if tidied.is_err() {
        tracing::warn!("cleaning up takes too long; the next shutdown continues it");
    }
    crash::point("daemon.tidied");
    // What was asked to drain and has not would run on with nobody to look after it; agents that
    // were to be kept, or whose end cannot be written down, have their runners.
    let is_overdue = matches!(ended, Ended::Cleanly { .. }) && state.swarm.drain_deadline.is_some();
    let patience = if is_overdue {
        Duration::ZERO
    } else {
        until.saturating_duration_since(Instant::now())
    };
    let cut = cut_off(context, is_overdue.then_some(state), patience);
    let (cut, ()) = tokio::join!(cut, closing);
    tidied.is_ok() && cut
}

/// Exact views, and no worktree of ours and no reference of a checkpoint that is gone left that
/// nobody uses, but for worktrees that the next attempts build on.
async fn finish(context: &Arc<DriverContext>, state: State) {
    let context = Arc::clone(context);
    let tidied = spawn_blocking(move || {
        if let Err(error) = exports::write(&context.paths, &state) {
            tracing::warn!(%error, "ideas.jsonl and learnings.md cannot be written");
        }
        if state.is_pending(|_| true) {
            return;
        }
        // Without its ignored files, a worktree is not worth its room on the disk.
        let config = context.config();
        let tidied = match settings::keep_ignored(&config) {
            KeepIgnored::Nothing => context.repo.drain_pool(),
            KeepIgnored::All | KeepIgnored::Matching(_) => {
                let stays = |name: &str| settings::stays_idle(&config, name);
                context.repo.discard_leftovers(stays)
            }
        };
        if let Err(error) = tidied {
            tracing::warn!(%error, "unused worktrees could not be removed; the next start tries \
                again");
        }
        if let Err(error) = checkpoints::sweep(&context, &state) {
            tracing::warn!(%error, "references of deleted checkpoints could not be removed; the \
                next end of a daemon tries again");
        }
    });
    if let Err(error) = tidied.await {
        tracing::warn!(%error, "cleaning up crashed");
    }
}
