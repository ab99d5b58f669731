//! Probes whether the quality commands see the tree that they check: by hand while no daemon runs
//! (`swarm checks`), and as a run of the daemon, which `runs` prepares here.
//!
//! Invariant: a probe by hand holds the lock of the state, so no daemon uses the verification
//! worktree meanwhile, and it is refused if an unfinished merge or check of the target relies on
//! what that worktree holds. The last report of either is in one file.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::actor::clock;
use super::effects::context::DriverContext;
use super::effects::merge::prepare_baseline;
use super::error::DaemonError;
use super::files::config_loader::Loader;
use super::files::hash::sha256;
use super::files::paths::Paths;
use super::files::store::Store;
use super::files::trusted_config;
use super::lifecycle::port_block::PortBlock;
use super::runs::launch::target_check;
use crate::config::{self, Config};
use crate::domain::decide::transfer::refuse_moved;
use crate::domain::effect::{Effect, PrepareBaseline, TargetTree};
use crate::domain::event::{Findings, ProbeAlarm};
use crate::domain::ids::{Oid, RunId};
use crate::domain::outcome::Failure;
use crate::domain::state::State;
use crate::domain::state::setup::VERIFY_TREE;
use crate::domain::time::Timestamp;
use crate::git::{self, GitError};
use crate::probe::{self, ProbeError, Report, Site, Step, Task};
use crate::process::RunSpec;

/// Most alarms, and most notes, that an event has.
const MOST: usize = 8;
/// Most characters of each of their texts.
const MOST_CHARS: usize = 1_000;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum NoReport {
    /// The state, the configuration or git.
    #[error(transparent)]
    Daemon(#[from] DaemonError),
    /// There is no quality command.
    #[error("there are no quality commands to probe")]
    NoChecks,
    /// An unfinished merge or check uses the verification worktree.
    #[error("an unfinished merge or check uses the worktree in which checks are probed")]
    Busy,
    /// The worktree could not be prepared.
    #[error("the worktree for the checks cannot be prepared: {0}")]
    NotPrepared(String),
    /// A setup command failed.
    #[error("the setup command `{command}` failed: {how}")]
    Setup {
        /// The command.
        command: String,
        /// The end of its output.
        how: String,
    },
    /// The runs.
    #[error(transparent)]
    Probe(#[from] ProbeError),
}

/// A report and what it is about.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Probed {
    /// When it was finished.
    pub at: Timestamp,
    /// The commit of the target that was checked out.
    pub commit: Oid,
    /// The quality commands at that time.
    pub quality_commands: Vec<String>,
    /// The setup commands at that time.
    pub setup: Vec<String>,
    /// What was found out.
    pub report: Report,
}

/// A command that a person accepted as blind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Accepted {
    /// The command.
    pub command: String,
    /// Why.
    pub why: String,
    /// When.
    pub at: Timestamp,
}

/// Checks the target out, sets it up and probes every quality command. Blocks, and keeps the
/// report.
///
/// # Errors
/// [`NoReport`]; a daemon is running.
pub fn run(
    paths: &Paths,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Step<'_>),
) -> Result<Probed, NoReport> {
    let config = Loader::new(paths).load()?;
    if config.quality_commands.is_empty() {
        return Err(NoReport::NoChecks);
    }
    // Keeps the lock to the end.
    let store = Store::open(paths)?;
    refuse_moved(&store.state).map_err(DaemonError::from)?;
    if uses_verify_tree(&store.state) {
        return Err(NoReport::Busy);
    }
    let repo = trusted_config::open(paths)?;
    let exe = std::env::current_exe().map_err(ProbeError::from)?;
    let ports = PortBlock::lease(store.state.swarm.host.port_block);
    let context = DriverContext::new(paths.clone(), repo, exe, config).with_ports(ports);
    let (commit, tracked) = prepare(&context, &store.state, stop, tell)?;
    let config = context.config();
    let spec = check(&context, "true")?;
    let site = site(&context, spec, tracked)?;
    let report = probe::run(&site, &config.quality_commands, stop, tell)?;
    let probed = Probed::now(&config, commit, report);
    write(&report_file(paths), &probed).map_err(ProbeError::from)?;
    Ok(probed)
}

impl Probed {
    fn now(config: &Config, commit: Oid, report: Report) -> Self {
        Self {
            at: clock::wall(),
            commit,
            quality_commands: config.quality_commands.clone(),
            setup: config.worktree.setup.clone(),
            report,
        }
    }
}

/// The merge worktree, as a check of it would run.
fn site(context: &DriverContext, check: RunSpec, tracked: Vec<String>) -> Result<Site, ProbeError> {
    let accepted = accepted(&context.paths);
    Ok(Site {
        exe: context.exe.clone(),
        checkout: canonical(&context.paths.root)?,
        git_dir: canonical(context.repo.common_dir())?,
        worktree: canonical(&check.cwd)?,
        tracked,
        env: check.env,
        limit: limit(context),
        accepted: accepted.into_iter().map(|it| it.command).collect(),
    })
}

/// The task of a probe that the daemon runs in the merge worktree, which is ready. `check` says how
/// a check of it runs.
///
/// # Errors
/// git or a path cannot be read.
pub(in crate::daemon) fn task(context: &DriverContext, check: &RunSpec) -> Result<Task, NoReport> {
    let tracked = context.repo.tracked_files(git::VERIFY);
    let tracked = tracked.map_err(DaemonError::from)?;
    Ok(Task {
        site: site(context, check.clone(), tracked)?,
        commands: context.config().quality_commands.clone(),
    })
}

/// Keeps the report of a probe that the daemon ran, for people; returns what decisions need of it.
pub(in crate::daemon) fn keep(
    paths: &Paths,
    config: &Config,
    commit: &Oid,
    report: Report,
) -> Findings {
    let mut probed = Probed::now(config, commit.clone(), report);
    if let Err(error) = write(&report_file(paths), &probed) {
        tracing::warn!(%error, "the report about the quality commands could not be kept");
    }
    forget_accepted(paths, &mut probed);
    findings(&probed.report)
}

/// What decisions need of a report. That a command is blind with a person's consent is no news.
fn findings(report: &Report) -> Findings {
    let is_accepted = |name: &String| {
        let mut commands = report.commands.iter();
        commands.any(|it| it.accepted && it.command == *name)
    };
    let notes = report.notes.iter();
    let notes = notes.filter(|note| !note.command.as_ref().is_some_and(is_accepted));
    let alarms = report.alarms.iter().take(MOST);
    Findings {
        source_files: report.source_files,
        alarms: alarms
            .map(|alarm| ProbeAlarm {
                command: alarm.command.as_deref().map(short),
                message: short(&alarm.message),
                remedies: alarm.remedies.iter().map(|it| short(it)).collect(),
            })
            .collect(),
        notes: notes.take(MOST).map(|note| short(&note.message)).collect(),
    }
}

/// Events are small.
fn short(text: &str) -> String {
    text.chars().take(MOST_CHARS).collect()
}

/// Digest of what a probe of the tree in this worktree depends on, besides the environment: the
/// commands, the setup, the tracked manifests, and the rules of this version. `None` if the checks
/// are not probed. Blocks.
///
/// # Errors
/// git cannot list the files.
pub(in crate::daemon) fn digest(
    context: &DriverContext,
    worktree: &str,
) -> Result<Option<String>, GitError> {
    let config = context.config();
    if config.checks.canary == config::Canary::Off || config.quality_commands.is_empty() {
        return Ok(None);
    }
    let root = context.paths.worktree(worktree);
    let mut parts = vec![env!("CARGO_PKG_VERSION").to_owned()];
    parts.extend(config.quality_commands.iter().cloned());
    parts.push(String::new());
    parts.extend(config.worktree.setup.iter().cloned());
    for path in context.repo.tracked_files(worktree)? {
        if probe::class_of(&path, false) == probe::Class::Manifest {
            // One that cannot be read, such as a link that leads nowhere, counts by its name.
            let bytes = fs::read(root.join(&path)).unwrap_or_default();
            parts.extend([path, sha256(&bytes)]);
        }
    }
    let text = serde_json::to_vec(&parts).unwrap_or_default();
    Ok(Some(sha256(&text)))
}

/// The last report, if it is about the present commands; without alarms that were accepted since.
///
/// # Errors
/// The configuration is invalid.
pub fn last(paths: &Paths) -> Result<Option<Probed>, DaemonError> {
    let config = Loader::new(paths).load()?;
    let found: Option<Probed> = read(&report_file(paths));
    Ok(found
        .map(|mut probed| {
            forget_accepted(paths, &mut probed);
            probed
        })
        .filter(|probed| {
            probed.quality_commands == config.quality_commands
                && probed.setup == config.worktree.setup
        }))
}

fn forget_accepted(paths: &Paths, probed: &mut Probed) {
    let accepted = accepted(paths);
    let is_open = |command: &String| !accepted.iter().any(|it| it.command == *command);
    let alarms = &mut probed.report.alarms;
    alarms.retain(|alarm| alarm.command.as_ref().is_none_or(is_open));
}

/// The commands that a person accepted as blind.
pub fn accepted(paths: &Paths) -> Vec<Accepted> {
    read(&accepted_file(paths)).unwrap_or_default()
}

/// Accepts that the command is blind; an earlier reason is replaced.
///
/// # Errors
/// The file cannot be written.
pub fn accept(paths: &Paths, command: &str, why: &str) -> Result<Accepted, DaemonError> {
    let new = Accepted {
        command: command.to_owned(),
        why: why.to_owned(),
        at: clock::wall(),
    };
    let mut all = accepted(paths);
    all.retain(|it| it.command != command);
    all.push(new.clone());
    write(&accepted_file(paths), &all).map_err(DaemonError::io("write accepted-blind.json"))?;
    Ok(new)
}

fn accepted_file(paths: &Paths) -> PathBuf {
    paths.private.join("accepted-blind.json")
}

fn report_file(paths: &Paths) -> PathBuf {
    paths.private.join("checks-probe.json")
}

/// A file that is missing or unreadable says nothing.
fn read<T: for<'de> Deserialize<'de>>(file: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

fn write(file: &Path, content: &impl Serialize) -> io::Result<()> {
    let folder = file.parent().unwrap_or(file);
    fs::create_dir_all(folder)?;
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(&serde_json::to_vec_pretty(content)?)?;
    new.as_file().sync_all()?;
    new.persist(file)?;
    File::open(folder)?.sync_all()
}

fn canonical(path: &Path) -> Result<PathBuf, ProbeError> {
    Ok(fs::canonicalize(path)?)
}

fn limit(context: &DriverContext) -> Duration {
    Duration::from_secs(u64::from(context.config().quality_timeout_minutes) * 60)
}

fn uses_verify_tree(state: &State) -> bool {
    state.queue.iter().any(|entry| entry.phase.is_busy())
        || state.swarm.baseline.checking.is_some()
        || state.is_pending(Effect::holds_queue)
        || state.is_pending(Effect::is_baseline)
}

fn not_prepared(failure: Failure) -> NoReport {
    NoReport::NotPrepared(failure.message)
}

/// How the command runs on the target.
fn check(context: &DriverContext, command: &str) -> Result<RunSpec, NoReport> {
    let run = RunId::numbered(0, "probe");
    target_check(context, &run, command, TargetTree::Verify).map_err(not_prepared)
}

/// Checks the target out and runs the setup, unless it has passed in this worktree. Returns the
/// commit and its files.
fn prepare(
    context: &DriverContext,
    state: &State,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Step<'_>),
) -> Result<(Oid, Vec<String>), NoReport> {
    let config = context.config();
    let head = context.repo.head_branch().map_err(DaemonError::from)?;
    let target = config.target.clone().or(head);
    let target = target.ok_or(DaemonError::NoTarget)?;
    let tree = TargetTree::Verify;
    let ready =
        prepare_baseline(context, &PrepareBaseline { target, tree }).map_err(not_prepared)?;
    let tracked = context.repo.tracked_files(git::VERIFY);
    let tracked = tracked.map_err(DaemonError::from)?;
    let is_set_up = ready.warm && state.setups.get(VERIFY_TREE) == ready.setup.key.as_ref();
    if !is_set_up {
        for command in &config.worktree.setup {
            let how = "to set the worktree up";
            tell(Step { command, how });
            set_up(context, command, stop)?;
        }
    }
    Ok((ready.commit, tracked))
}

fn set_up(context: &DriverContext, command: &str, stop: &AtomicBool) -> Result<(), NoReport> {
    let spec = check(context, command)?;
    let passed = probe::passes(command, &spec.env, &spec.cwd, limit(context), stop)?;
    passed.map_err(|how| NoReport::Setup {
        command: command.to_owned(),
        how,
    })
}
