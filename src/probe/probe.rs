//! Runs each command in each way that its verdict needs, and writes the report.
//!
//! Invariant: commands run one after the other. The first run of a command is in the worktree
//! itself, as swarm always runs it; all others are in namespaces and change nothing.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::classes::{Class, class_of};
use super::evidence::{leads, named_paths};
use super::garbage::Manner;
use super::judge::{Facts, judge};
use super::namespace::{Spec, View};
use super::programs::{looks_at_changes, works_elsewhere};
use super::report::{CommandReport, Notice, Report};
use super::timed::{self, MISSING, ProbeError, Ran};
use super::verdict::{Ended, RunKind, Runs};

/// Least time limit of a run in a namespace; also for a test of namespaces.
const SHORT: Duration = Duration::from_secs(60);
/// Time limit of a run in a namespace, as a multiple of the normal run.
const TIMES: u32 = 3;
/// Larger files are not replaced.
const MAX_FILE: u64 = 1024 * 1024;
/// Bytes in which a binary file has a zero.
const BEGIN: usize = 8_000;

/// A tree and how its commands run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Site {
    /// This program.
    pub exe: PathBuf,
    /// The person's checkout, canonical.
    pub checkout: PathBuf,
    /// The git directory that the checkout and the worktree share, canonical.
    pub git_dir: PathBuf,
    /// The verification worktree, set up and clean, canonical.
    pub worktree: PathBuf,
    /// Paths of the regular files that are tracked in the tree.
    pub tracked: Vec<String>,
    /// The complete environment of a command. It may hold secrets and is not written down.
    #[serde(skip)]
    pub env: BTreeMap<String, String>,
    /// Time limit of a normal run.
    pub limit: Duration,
    /// Commands that a person accepted as blind.
    pub accepted: Vec<String>,
}

/// What the probe does now.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// The command.
    pub command: &'a str,
    /// How it runs, for people.
    pub how: &'static str,
}

/// Probes the commands until all is known or `stop` is set. Blocks.
///
/// # Errors
/// [`ProbeError`]
pub fn run(
    site: &Site,
    commands: &[String],
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Step<'_>),
) -> Result<Report, ProbeError> {
    let (classes, source) = classify(site);
    let mut report = Report {
        classes,
        source_files: source.len(),
        commands: vec![],
        alarms: vec![],
        notes: vec![],
    };
    if source.is_empty() {
        report.notes.push(no_source(&report.classes));
        return Ok(report);
    }
    let mut runner = Runner {
        site,
        source,
        home: home(site),
        folder: tempfile::tempdir()?,
        stop,
    };
    fs::create_dir(runner.folder.path().join("scratch"))?;
    if let Some(why) = runner.refusal()? {
        report.notes.push(refused(&why));
        return Ok(report);
    }
    for command in commands {
        report.commands.push(runner.probe(command, tell)?);
    }
    let facts = Facts {
        checkout: &site.checkout,
        source_files: report.source_files,
        leads: &leads(&site.checkout, &site.worktree, &site.env),
    };
    let judged = judge(&report.commands, &facts);
    report.alarms = judged.alarms;
    report.notes.extend(judged.notes);
    Ok(report)
}

/// Runs the command in a folder; an inner error is the end of its output.
///
/// # Errors
/// [`ProbeError`]
pub fn passes(
    command: &str,
    env: &BTreeMap<String, String>,
    folder: &Path,
    limit: Duration,
    stop: &AtomicBool,
) -> Result<Result<(), String>, ProbeError> {
    let files = tempfile::tempdir()?;
    let mut process = shell(command, env, folder);
    let ran = timed::run(&mut process, &files.path().join("output"), limit, stop)?;
    Ok(match ran.ended {
        Ended::Green => Ok(()),
        Ended::NoVerdict(why) => Err(why),
        Ended::Red => Err(ran
            .output
            .trim_end()
            .lines()
            .last()
            .unwrap_or_default()
            .into()),
    })
}

fn shell(command: &str, env: &BTreeMap<String, String>, folder: &Path) -> Command {
    let mut process = Command::new("/bin/sh");
    process
        .args(["-c", command])
        .env_clear()
        .envs(env)
        .current_dir(folder);
    process
}

fn no_source(classes: &BTreeMap<Class, usize>) -> Notice {
    let settings = match classes.get(&Class::Config) {
        Some(1) => " (1 file looks like settings)".to_owned(),
        Some(count) => format!(" ({count} files look like settings)"),
        None => String::new(),
    };
    Notice {
        command: None,
        message: format!("not checked: this tree has no source files{settings}"),
        remedies: vec![],
    }
}

fn refused(why: &str) -> Notice {
    Notice {
        command: None,
        message: format!(
            "not checked: this system does not let swarm hide files from a command ({why}), so \
            whether your checks see the tree or need your checkout is unknown"
        ),
        remedies: vec!["allow user namespaces, then try again: swarm checks probe".into()],
    }
}

/// The home folder, if nothing is mounted in it: an overlay would show the folders beneath.
fn home(site: &Site) -> Option<PathBuf> {
    let home = fs::canonicalize(site.env.get("HOME")?).ok()?;
    let is_own = |path: &Path| home.starts_with(path);
    if home == Path::new("/") || is_own(&site.checkout) || is_own(&site.worktree) {
        return None;
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let points = mounts.lines().filter_map(|line| line.split(' ').nth(4));
    let inside = |point: &str| Path::new(point).starts_with(&home) && Path::new(point) != home;
    (!{ points }.any(inside)).then_some(home)
}

/// Counts the tracked files of each class, and lists the source files that garbage can replace.
fn classify(site: &Site) -> (BTreeMap<Class, usize>, Vec<String>) {
    let mut classes = BTreeMap::new();
    let mut source = Vec::new();
    // Our own files are not the project's.
    let project = site
        .tracked
        .iter()
        .filter(|path| !path.starts_with(".swarm/"));
    for path in project {
        let begin = begin_of(&site.worktree.join(path));
        let runs_itself = begin.as_ref().is_ok_and(|begin| begin.starts_with(b"#!"));
        let class = class_of(path, runs_itself);
        *classes.entry(class).or_default() += 1;
        let is_text = begin.is_ok_and(|begin| !begin.is_empty() && !begin.contains(&0));
        if class == Class::Source && is_text {
            source.push(path.clone());
        }
    }
    (classes, source)
}

/// The first bytes of a regular file of no more than [`MAX_FILE`].
fn begin_of(path: &Path) -> io::Result<Vec<u8>> {
    let found = fs::symlink_metadata(path)?;
    if !found.is_file() || found.len() > MAX_FILE {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut begin = Vec::new();
    let file = fs::File::open(path)?;
    file.take(BEGIN as u64).read_to_end(&mut begin)?;
    Ok(begin)
}

struct Runner<'a> {
    site: &'a Site,
    source: Vec<String>,
    home: Option<PathBuf>,
    folder: tempfile::TempDir,
    stop: &'a AtomicBool,
}

impl Runner<'_> {
    /// Why namespaces cannot be used; first without, if need be, an overlay of the home folder.
    fn refusal(&mut self) -> Result<Option<String>, ProbeError> {
        loop {
            let refusal = match self
                .in_namespace("true", View::CheckoutHidden, SHORT)?
                .ended
            {
                Ended::Green => return Ok(None),
                Ended::NoVerdict(why) => why,
                Ended::Red => "a namespace cannot run `true`".to_owned(),
            };
            if self.home.take().is_none() {
                return Ok(Some(refusal));
            }
        }
    }

    fn probe(
        &self,
        command: &str,
        tell: &mut dyn FnMut(Step<'_>),
    ) -> Result<CommandReport, ProbeError> {
        let site = self.site;
        let mut runs = Runs::default();
        let mut normal = Duration::ZERO;
        let mut paths = Vec::new();
        while let Some(kind) = runs.next() {
            let how = describe(kind);
            tell(Step { command, how });
            let mut ran = self.run(command, kind, normal)?;
            match kind {
                RunKind::Normal => normal = ran.took,
                RunKind::Swapped => {
                    // The garbage is named where it was met; an earlier run names what is missing.
                    paths.splice(
                        0..0,
                        named_paths(&ran.output, &site.checkout, &site.worktree),
                    );
                    paths.dedup();
                }
                RunKind::Hidden => {
                    paths = named_paths(&ran.output, &site.checkout, &site.worktree);
                    // It was not missing before, so it is hidden.
                    if ran.ended == Ended::NoVerdict(MISSING.into()) {
                        ran.ended = Ended::Red;
                    }
                }
                RunKind::Polite | RunKind::Hard => {
                    if ran.ended == Ended::Red && looks_at_changes(command) {
                        let why = "it looks at uncommitted changes, and garbage is one";
                        ran.ended = Ended::NoVerdict(why.into());
                    }
                    if ran.ended == Ended::Green && works_elsewhere(command) {
                        let why = "a server of its program may work outside what is replaced";
                        ran.ended = Ended::NoVerdict(why.into());
                    }
                }
                RunKind::Control => {}
            }
            runs.note(kind, ran.ended);
        }
        Ok(CommandReport {
            command: command.to_owned(),
            sight: runs.sight(),
            checkout: runs.dependence(),
            millis: u64::try_from(normal.as_millis()).unwrap_or(u64::MAX),
            why: runs.unknown_because(),
            paths,
            accepted: site.accepted.iter().any(|accepted| accepted == command),
        })
    }

    fn run(&self, command: &str, kind: RunKind, normal: Duration) -> Result<Ran, ProbeError> {
        let garbage = |manner| View::Garbage {
            files: self.source.clone(),
            manner,
        };
        let view = match kind {
            RunKind::Normal => return self.in_place(command),
            RunKind::Hidden => View::CheckoutHidden,
            RunKind::Control => View::Everything,
            RunKind::Swapped => View::CheckoutSwapped {
                files: self.source_of_checkout(),
            },
            RunKind::Polite => garbage(Manner::Polite),
            RunKind::Hard => garbage(Manner::Hard),
        };
        self.in_namespace(command, view, SHORT.max(normal * TIMES))
    }

    /// The tree's source files that the checkout has too.
    fn source_of_checkout(&self) -> Vec<String> {
        let has = |path: &&String| begin_of(&self.site.checkout.join(path)).is_ok();
        self.source.iter().filter(has).cloned().collect()
    }

    fn in_place(&self, command: &str) -> Result<Ran, ProbeError> {
        let mut process = shell(command, &self.site.env, &self.site.worktree);
        let output = self.folder.path().join("output");
        timed::run(&mut process, &output, self.site.limit, self.stop)
    }

    fn in_namespace(&self, command: &str, view: View, limit: Duration) -> Result<Ran, ProbeError> {
        let file = |name: &str| self.folder.path().join(name);
        let spec = Spec {
            view,
            checkout: self.site.checkout.clone(),
            git_dir: self.site.git_dir.clone(),
            worktree: self.site.worktree.clone(),
            home: self.home.clone(),
            scratch: file("scratch"),
            error: file("error"),
            command: command.to_owned(),
        };
        let mut process = spec.process(&self.site.exe, &file("spec.json"))?;
        process.env_clear().envs(&self.site.env);
        let mut ran = timed::run(&mut process, &file("output"), limit, self.stop)?;
        let error = fs::read_to_string(file("error")).unwrap_or_default();
        if !error.is_empty() {
            ran.ended = Ended::NoVerdict(error);
        }
        Ok(ran)
    }
}

fn describe(kind: RunKind) -> &'static str {
    match kind {
        RunKind::Normal => "as it is",
        RunKind::Hidden => "with your checkout hidden",
        RunKind::Control => "with nothing hidden",
        RunKind::Swapped => "with garbage in your checkout's place",
        RunKind::Polite => "with garbage in its source files",
        RunKind::Hard => "with garbage that nothing can read",
    }
}
