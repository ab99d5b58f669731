//! Watches `.swarm/` for changes of the configuration, hooks and inbox. Called by `watcher`. A
//! change of rules or prompts is only logged: each iteration reads them again.
//!
//! Invariant: a lost notification loses nothing, because every start reads the inbox and the
//! configuration.

use std::path::Path;

use notify::event::{EventKind, ModifyKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;

use crate::daemon::files::paths::Paths;

/// What changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Changed {
    /// `config.json` or `config.local.json`.
    Config,
    /// Something in `inbox/`.
    Inbox,
    /// A hook's file in `hooks/`.
    Hooks,
    /// A rule or a profile's prompt.
    Rules,
}

/// Watches until the returned watcher is dropped.
pub(crate) fn watch(
    paths: &Paths,
    changed: mpsc::UnboundedSender<Changed>,
) -> notify::Result<RecommendedWatcher> {
    let swarm = paths.swarm.clone();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        let Ok(event) = event else { return };
        let means = event
            .paths
            .iter()
            .filter_map(|path| meaning(&swarm, path))
            .min();
        if let Some(what) = means.filter(|_| is_change(event.kind))
            && changed.send(what).is_err()
        {
            tracing::debug!("the daemon is shutting down; a file change is ignored");
        }
    })?;
    watcher.watch(&paths.swarm, RecursiveMode::NonRecursive)?;
    for (folder, mode) in [
        ("inbox", RecursiveMode::NonRecursive),
        ("rules", RecursiveMode::NonRecursive),
        ("agents", RecursiveMode::Recursive),
    ] {
        let folder = paths.swarm.join(folder);
        if folder.is_dir() {
            watcher.watch(&folder, mode)?;
        }
    }
    watch_hooks(&mut watcher, paths)?;
    Ok(watcher)
}

/// Watches the hooks' folder, which may be created or replaced later. Watching it twice is
/// harmless.
pub(crate) fn watch_hooks(watcher: &mut RecommendedWatcher, paths: &Paths) -> notify::Result<()> {
    let folder = paths.hooks();
    if folder.is_dir() {
        watcher.watch(&folder, RecursiveMode::NonRecursive)?;
    }
    Ok(())
}

fn is_change(kind: EventKind) -> bool {
    !matches!(
        kind,
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) | EventKind::Other
    ) || is_closed_after_writing(kind)
}

fn is_closed_after_writing(kind: EventKind) -> bool {
    use notify::event::{AccessKind, AccessMode};
    kind == EventKind::Access(AccessKind::Close(AccessMode::Write))
}

fn meaning(swarm: &Path, path: &Path) -> Option<Changed> {
    let within = path.strip_prefix(swarm).ok()?;
    let first = within.components().next()?.as_os_str().to_str()?;
    match first {
        "config.json" | "config.local.json" => Some(Changed::Config),
        "inbox" if !within.starts_with("inbox/accepted") => Some(Changed::Inbox),
        "hooks" => Some(Changed::Hooks),
        "rules" | "agents" => Some(Changed::Rules),
        _ => None,
    }
}
