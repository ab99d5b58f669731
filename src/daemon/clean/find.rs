//! Finds what may be removed. Called by `clean` and its schedule.
//!
//! Invariant: only reads; what cannot be read is kept.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::report::{Kind, Removed, Rescue, count};
use super::trash::{PREFIX, bytes, names_with};
use super::{ORPHANS, Plan, Scope, Site};
use crate::daemon::agent_import::keep;
use crate::daemon::error::DaemonError;
use crate::domain::ids::RunId;
use crate::domain::retention::{COPY_DAYS, Need, Needs, Verdict, is_old};
use crate::domain::time::Timestamp;
use crate::process::{self, RunAge};

/// Begins the names of run directories whose preparation was cut off (see `process`).
const UNFINISHED_RUN: &str = ".new-";
/// Begin the names of copies in `state/`.
const COPIES: [&str; 2] = ["torn-", "doctor-"];
/// Exists while a repair is unfinished, which needs its copies.
const REPAIR: &str = "repair.json";
/// The length of an RFC 3339 time with milliseconds.
const TIME: usize = 24;

/// Decides what to remove.
pub(super) fn plan(site: &Site<'_>, dry_run: bool) -> Result<Plan, DaemonError> {
    let needs = Needs::of(site.state);
    let mut plan = Plan::default();
    plan.report.dry_run = dry_run;
    leftovers(site, &mut plan).map_err(DaemonError::io("look for leftovers in .swarm"))?;
    runs(site, &needs, &mut plan).map_err(DaemonError::io("list .git/swarm/runs"))?;
    let imports =
        imports(site, &needs, &mut plan).map_err(DaemonError::io("list .swarm/state/imports"))?;
    let stays = |sha256: &str| imports.contains(sha256) || needs.import(sha256);
    plan.import_refs = keep::references_but(site.repo, stays)?;
    if site.scope == Scope::Runs {
        return Ok(plan);
    }
    copies(site, &mut plan).map_err(DaemonError::io("list .swarm/state"))?;
    repositories(site, &needs, &mut plan)?;
    pool(site, &mut plan)?;
    let rescued = site.repo.rescued()?;
    plan.report.kept.rescue = Rescue {
        count: rescued.len() as u64,
        oldest: rescued.iter().filter_map(|one| one.at).min(),
    };
    Ok(plan)
}

fn leftovers(site: &Site<'_>, plan: &mut Plan) -> io::Result<()> {
    for folder in [&site.paths.runs, &site.paths.state, &site.paths.imports()] {
        for name in names_with(folder, PREFIX)? {
            let path = folder.join(name);
            let why = "left by an interrupted clean";
            plan.report.goes(removed(site, Kind::Leftover, &path, why));
            plan.leftovers.push(path);
        }
    }
    Ok(())
}

fn runs(site: &Site<'_>, needs: &Needs, plan: &mut Plan) -> io::Result<()> {
    for name in names_with(&site.paths.runs, "")? {
        if name.starts_with(PREFIX) {
            continue;
        }
        let path = site.paths.runs.join(&name);
        match judge(site, needs, &name) {
            Ok(why) => {
                plan.report.goes(removed(site, Kind::Run, &path, &why));
                plan.runs.push(name);
            }
            Err(why) => count(&mut plan.report.kept.runs, why),
        }
    }
    Ok(())
}

/// Why a run's directory may go, or the reason why it stays.
fn judge(site: &Site<'_>, needs: &Needs, name: &str) -> Result<String, &'static str> {
    if name.starts_with(UNFINISHED_RUN) {
        return half_prepared(site);
    }
    let run: RunId = name.parse().map_err(|_| word(Need::Unknown))?;
    let since = match needs.run(&run) {
        Verdict::Needed(need) => return Err(word(need)),
        Verdict::Over(since) => since,
    };
    let young = |at| !is_old(at, site.now, site.runs_days);
    // The state's time first, because it needs no disk access.
    if since.is_some_and(young) {
        return Err("young");
    }
    match process::run_age(&site.paths.runs, name) {
        Err(error) => {
            tracing::debug!(%error, run = name, "a run's records cannot be read; it is kept");
            Err("unreadable")
        }
        Ok(RunAge::Running) => Err(word(Need::InUse)),
        Ok(RunAge::Over(at)) if young(at) => Err("young"),
        Ok(RunAge::Over(at)) => Ok(over_since(since.map_or(at, |since| since.max(at)))),
    }
}

/// A run directory whose preparation was cut off; a driver may be about to prepare it again.
fn half_prepared(site: &Site<'_>) -> Result<String, &'static str> {
    if site.scope == Scope::Everything && site.state.outbox.is_empty() {
        return Ok("its preparation was interrupted, and nothing needs it".into());
    }
    Err(word(Need::InUse))
}

/// Files of imported agents. Beside a daemon, an import may have written one whose event is not in
/// the log yet.
///
/// Returns those whose commits are needed, too.
fn imports(site: &Site<'_>, needs: &Needs, plan: &mut Plan) -> io::Result<BTreeSet<String>> {
    let folder = site.paths.imports();
    let mut kept = BTreeSet::new();
    for name in names_with(&folder, "")? {
        if name.starts_with(PREFIX) {
            continue;
        }
        let path = folder.join(&name);
        let modified = match modified(&path) {
            // An import that was under way has given it its name.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            modified => modified?,
        };
        let sha256 = keep::sha256_in(&name);
        if sha256.is_some_and(|sha256| needs.import(sha256)) {
            count(&mut plan.report.kept.imports, word(Need::Unfinished));
            kept.extend(sha256.map(ToOwned::to_owned));
        } else if site.scope != Scope::Everything && !is_old(modified, site.now, 1) {
            count(&mut plan.report.kept.imports, "young");
            kept.extend(sha256.map(ToOwned::to_owned));
        } else {
            let why = "no unfinished idea goes on from it";
            plan.report.goes(removed(site, Kind::Import, &path, why));
            plan.imports.push(name);
        }
    }
    Ok(kept)
}

fn copies(site: &Site<'_>, plan: &mut Plan) -> io::Result<()> {
    let repairing = site.paths.state.join(REPAIR).exists();
    for prefix in COPIES {
        for name in names_with(&site.paths.state, prefix)? {
            let path = site.paths.state.join(&name);
            let made = match time_in(&name[prefix.len()..]) {
                Some(made) => made,
                None => modified(&path)?,
            };
            if repairing {
                count(&mut plan.report.kept.copies, "repairing");
            } else if is_old(made, site.now, COPY_DAYS) {
                let why = format!("a copy from {made}, more than {COPY_DAYS} days old");
                plan.report.goes(removed(site, Kind::Copy, &path, &why));
                plan.copies.push(name);
            } else {
                count(&mut plan.report.kept.copies, "young");
            }
        }
    }
    Ok(())
}

fn repositories(site: &Site<'_>, needs: &Needs, plan: &mut Plan) -> Result<(), DaemonError> {
    for (attempt, folder) in site.repo.kept_repositories()? {
        let since = match needs.attempt(&attempt) {
            Verdict::Needed(need) => {
                count(&mut plan.report.kept.repositories, word(need));
                continue;
            }
            Verdict::Over(Some(since)) => since,
            Verdict::Over(None) => modified(&folder.path).map_err(DaemonError::io(
                "inspect the kept repositories beside the worktrees",
            ))?,
        };
        if !is_old(since, site.now, site.runs_days) {
            count(&mut plan.report.kept.repositories, "young");
            continue;
        }
        let gone = removed(site, Kind::Repositories, &folder.path, &over_since(since));
        plan.report.goes(gone);
        plan.repositories.push(attempt);
    }
    Ok(())
}

/// Worktrees that no agent uses. A driver may be moving them, or may continue a move that was cut
/// off.
fn pool(site: &Site<'_>, plan: &mut Plan) -> Result<(), DaemonError> {
    let spare = site.repo.disposable_worktrees()?;
    if spare.is_empty() {
        return Ok(());
    }
    let why_not = if site.scope != Scope::Everything {
        Some("daemonRuns")
    } else if !site.state.outbox.is_empty() {
        Some("unfinished")
    } else if !site.repo.wait_for_orphans(ORPHANS)? {
        Some("gitRuns")
    } else {
        None
    };
    for one in spare {
        if let Some(why) = why_not {
            count(&mut plan.report.kept.worktrees, why);
        } else {
            let gone = removed(site, Kind::Worktree, &one.path, "no agent uses it");
            plan.report.goes(gone);
        }
    }
    plan.pool = why_not.is_none();
    Ok(())
}

fn removed(site: &Site<'_>, kind: Kind, path: &Path, reason: &str) -> Removed {
    let within = path.strip_prefix(&site.paths.root).unwrap_or(path);
    Removed {
        kind,
        path: within.display().to_string(),
        bytes: bytes(path),
        reason: reason.to_owned(),
    }
}

fn over_since(at: Timestamp) -> String {
    format!("ended at {at}, and its idea is finished")
}

fn word(need: Need) -> &'static str {
    match need {
        Need::InUse => "inUse",
        Need::Unfinished => "unfinished",
        Need::Unknown => "unknown",
    }
}

/// Parses the time at the beginning of a name, with hyphens for colons.
fn time_in(text: &str) -> Option<Timestamp> {
    let mut time = text.get(..TIME)?.to_owned();
    for colon in [13, 16] {
        time.get(colon..=colon).filter(|mark| *mark == "-")?;
        time.replace_range(colon..=colon, ":");
    }
    time.parse().ok()
}

fn modified(path: &Path) -> io::Result<Timestamp> {
    let modified = fs::symlink_metadata(path)?.modified()?;
    let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
    let millis = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    Ok(Timestamp::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_copy_is_parsed_from_its_name() {
        let at: Timestamp = "2026-01-31T23:59:59.123Z".parse().unwrap();
        assert_eq!(time_in("2026-01-31T23-59-59.123Z"), Some(at));
        assert_eq!(time_in("2026-01-31T23-59-59.123Z-2"), Some(at));
        for other in [
            "",
            "x",
            "2026-01-31T23:59:59.123Z",
            "2026-13-31T23-59-59.123Z",
            "ää".repeat(13).as_str(),
        ] {
            assert_eq!(time_in(other), None, "{other}");
        }
    }
}
