//! What a whole archive has: the log, the state, checkpoints, records, commits, and what unfinished
//! attempts need to go on.
//!
//! Invariant: the order is fixed. Of a run's folder only known files are packed: its environment
//! has secrets.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use super::Gathered;
use super::scratch::Scratch;
use crate::archive::names::{
    self, BUNDLE, CHECKPOINTS, CONVERSATIONS, EVENTS, PROVENANCE, RESTORED, RUNS,
};
use crate::archive::{Content, GitPart, ObjectFormat, Source};
use crate::daemon::checkpoints::file;
use crate::daemon::effects::failure::oid;
use crate::daemon::error::DaemonError;
use crate::daemon::files::paths::Paths;
use crate::daemon::transfer;
use crate::domain::ids::{CheckpointName, RunId};
use crate::domain::state::State;
use crate::domain::state::checkpoint::unfinished;
use crate::git::{Oid, Repo, branch_ref};
use crate::journal::{Part, Position, Snapshot, cut_at, snapshot_bytes};

/// Files of a run that are packed. `env.json` is not one of them.
const OF_RUNS: [&str; 12] = [
    "agent.json",
    "conversation.md",
    "exit.json",
    "inputs.json",
    "memory.json",
    "prompt.md",
    "reads.json",
    "recovery.json",
    "spec.json",
    "started.json",
    "stderr.log",
    "stdout.log",
];

/// References that are packed besides the target, by the beginning of their full name.
const REFS: [&str; 3] = ["refs/heads/agent/", "refs/swarm/", "refs/tags/swarm/"];
/// References that came from another archive.
const IMPORTED: &str = "refs/swarm/import/";

/// Gathers all of it.
pub(super) fn gather(
    paths: &Paths,
    state: &State,
    checkpoint: Option<&CheckpointName>,
    scratch: &Scratch,
) -> Result<Gathered, DaemonError> {
    let (parts, end) = log(paths, state)?;
    let mut sources = vec![snapshot(state, end)?];
    sources.extend(parts.into_iter().map(|part| Source {
        path: format!("{EVENTS}{}", part.name),
        content: Content::Open {
            file: part.file,
            size: part.size,
        },
    }));
    sources.extend(restored(paths)?);
    sources.extend(checkpoints(&Repo::open(&paths.root)?, state));
    let mut records = Vec::new();
    below(&paths.provenance(), PROVENANCE, &mut records)?;
    sources.extend(records);
    let git = commits(paths, state, checkpoint, scratch, &mut sources)?;
    sources.extend(conversations_of(paths, state)?);
    sources.extend(runs(paths, state)?);
    Ok(Gathered {
        sources,
        end,
        git: Some(git),
        redactions: Vec::new(),
    })
}

/// The native conversations that unfinished work would resume, as far as they can be found.
fn conversations_of(paths: &Paths, state: &State) -> Result<Vec<Source>, DaemonError> {
    let mut found = Vec::new();
    for (agent, file) in transfer::conversations_of(paths, state) {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let inside = format!("{CONVERSATIONS}{agent}/{name}");
        if names::is_allowed(&inside) {
            found.extend(plain(&file, inside)?);
        }
    }
    Ok(found)
}

/// The files of the log, cut after the state's last event.
fn log(paths: &Paths, state: &State) -> Result<(Vec<Part>, Position), DaemonError> {
    let missing = || {
        let why = format!("the log has no event {}", state.seq);
        DaemonError::io("read the event log")(io::Error::new(io::ErrorKind::NotFound, why))
    };
    let cut = cut_at(&paths.state, state.seq)?;
    cut.filter(|(parts, _)| !parts.is_empty())
        .ok_or_else(missing)
}

/// The state as a snapshot that was taken right after its last event.
pub(super) fn snapshot(state: &State, end: Position) -> Result<Source, DaemonError> {
    let snapshot = Snapshot {
        snapshot_at: state.swarm.last_event_at,
        swarm_version: env!("CARGO_PKG_VERSION").to_owned(),
        position: end,
        config_hash: state.config_hash.clone(),
        state,
    };
    let bytes = snapshot_bytes(&snapshot).map_err(DaemonError::io("write the state"))?;
    Ok(Source {
        path: names::SNAPSHOT.to_owned(),
        content: Content::Bytes(bytes),
    })
}

/// The states that repairs put into the log.
fn restored(paths: &Paths) -> Result<Vec<Source>, DaemonError> {
    let mut found = Vec::new();
    for name in sorted_names(&paths.state)? {
        let digest = name
            .strip_prefix("restored-")
            .and_then(|rest| rest.strip_suffix(".json"));
        if let Some(digest) = digest.filter(|digest| names::is_sha256(digest)) {
            let path = format!("{RESTORED}{digest}.json");
            found.extend(plain(&paths.state.join(&name), path)?);
        }
    }
    Ok(found)
}

fn checkpoints(repo: &Repo, state: &State) -> Vec<Source> {
    let each = state.checkpoints.keys().filter_map(|name| {
        Some(Source {
            path: format!("{CHECKPOINTS}{name}.json"),
            content: Content::Bytes(file::bytes(repo, name).ok()?),
        })
    });
    each.collect()
}

/// The files of unfinished attempts' runs, and of those whose provenance record is owed.
fn runs(paths: &Paths, state: &State) -> Result<Vec<Source>, DaemonError> {
    let mut found = Vec::new();
    let unfinished = unfinished(state);
    for run in sorted_names(&paths.runs)? {
        let Ok(id) = run.parse::<RunId>() else {
            continue;
        };
        let mut agents = unfinished.iter().map(|work| &work.agent);
        if !agents.any(|agent| is_of(&run, agent.as_str())) && !state.records.need(&id) {
            continue;
        }
        let folder = paths.runs.join(&run);
        if !fs::symlink_metadata(&folder).is_ok_and(|there| there.is_dir()) {
            continue;
        }
        for name in OF_RUNS {
            found.extend(plain(&folder.join(name), format!("{RUNS}{run}/{name}"))?);
        }
    }
    Ok(found)
}

/// Whether a run is one of this agent: `r0042-ed-001-i2` is one of `ed-001`.
fn is_of(run: &str, agent: &str) -> bool {
    let what = run.split_once('-').map(|(_, what)| what);
    let rest = what.and_then(|what| what.strip_prefix(agent));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// All plain files below a folder, under names that an archive may have.
fn below(folder: &Path, prefix: &str, found: &mut Vec<Source>) -> Result<(), DaemonError> {
    for name in sorted_names(folder)? {
        let path = folder.join(&name);
        let inside = format!("{prefix}{name}");
        let is_dir = fs::symlink_metadata(&path).is_ok_and(|there| there.is_dir());
        if is_dir && names::is_plain_part(&name) {
            below(&path, &format!("{inside}/"), found)?;
        } else if names::is_allowed(&inside) {
            found.extend(plain(&path, inside)?);
        }
    }
    Ok(())
}

/// A file as it is now; `None` if there is none, or something that is no file.
fn plain(path: &Path, inside: String) -> Result<Option<Source>, DaemonError> {
    let there = match fs::symlink_metadata(path) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(DaemonError::io(format!("read {}", path.display()))(error)),
    };
    Ok(there.is_file().then(|| Source {
        path: inside,
        content: Content::File {
            path: path.to_owned(),
            size: there.len(),
        },
    }))
}

fn sorted_names(folder: &Path) -> Result<Vec<String>, DaemonError> {
    let reading = || DaemonError::io(format!("list {}", folder.display()));
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(reading()(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(reading())?.file_name();
        names.extend(name.into_string().ok());
    }
    names.sort();
    Ok(names)
}

/// Makes the bundle: the target at the commit that the state knows, and swarm's own references.
fn commits(
    paths: &Paths,
    state: &State,
    checkpoint: Option<&CheckpointName>,
    scratch: &Scratch,
    sources: &mut Vec<Source>,
) -> Result<GitPart, DaemonError> {
    let repo = Repo::open(&paths.root)?;
    let (target, commit) = target(&repo, state, checkpoint)?;
    let mut refs = BTreeMap::from([(branch_ref(&target)?, commit)]);
    for prefix in REFS {
        let listed = repo.list_refs(prefix)?.into_iter();
        refs.extend(listed.filter(|(name, _)| !name.starts_with(IMPORTED)));
    }
    let bundle = scratch.path("work.bundle");
    repo.write_bundle(&refs, None, &scratch.dir().join("git"), &bundle)?;
    sources.extend(plain(&bundle, BUNDLE.to_owned())?);
    Ok(GitPart {
        object_format: if repo.is_sha256()? {
            ObjectFormat::Sha256
        } else {
            ObjectFormat::Sha1
        },
        roots: repo.root_commits(commit)?,
        target,
        refs: refs
            .into_iter()
            .map(|(name, oid)| (name, oid.to_string()))
            .collect(),
    })
}

/// The target branch and its commit: the checkpoint's, else the one that the state saw last, else
/// the present one.
fn target(
    repo: &Repo,
    state: &State,
    checkpoint: Option<&CheckpointName>,
) -> Result<(String, Oid), DaemonError> {
    let settings = state.settings.as_ref().map(|settings| &settings.target);
    let seen = state.swarm.target.as_ref();
    let branch = match settings.or(seen.map(|seen| &seen.branch)) {
        Some(branch) => branch.clone(),
        None => repo.head_branch()?.ok_or(DaemonError::NoTarget)?,
    };
    let kept = checkpoint.and_then(|name| state.checkpoints.get(name));
    let kept = kept.map(|checkpoint| &checkpoint.commit);
    let seen = seen.filter(|seen| seen.branch == branch);
    if let Some(known) = kept.or(seen.map(|seen| &seen.commit)) {
        let commit = oid(known)?;
        if repo.has_commit(commit)? {
            return Ok((branch, commit));
        }
    }
    let now = repo.branch_commit(&branch)?;
    let now = now.ok_or_else(|| DaemonError::TargetMissing(branch.clone()))?;
    Ok((branch, now))
}
