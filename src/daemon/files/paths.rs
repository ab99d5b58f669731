//! The paths of all files of a repository: the only place that spells out names below `.swarm/`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::domain::ids::RunId;
use crate::git::worktrees_folder;
use crate::journal::SecondNames;

/// The paths of one repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// The repository's main work tree.
    pub root: PathBuf,
    /// `.swarm/`
    pub swarm: PathBuf,
    /// `.swarm/state/`
    pub state: PathBuf,
    /// `<git common directory>/swarm/`, which no tool of the work tree reaches; `.swarm/state/`
    /// where there is no git directory. Its mode is 0700, and it is no symbolic link.
    pub private: PathBuf,
    /// `<git common directory>/swarm/runs/`
    pub runs: PathBuf,
    /// The folder of the worktrees, outside of the checkout. Before it is chosen, a path at which
    /// there is none.
    pub worktrees: PathBuf,
    /// `.swarm/checkpoints/`
    pub checkpoints: PathBuf,
    /// `.swarm/inbox/`
    pub inbox: PathBuf,
    /// `.swarm/logs/`
    pub logs: PathBuf,
}

impl Paths {
    /// The paths below the main work tree `root`.
    pub fn new(root: &Path) -> Self {
        let swarm = root.join(".swarm");
        let state = swarm.join("state");
        let git = git_common_dir(root);
        let chosen = git
            .as_deref()
            .and_then(|git| worktrees_folder(&fs::canonicalize(git).ok()?));
        let private = git.map_or_else(|| state.clone(), |git| git.join("swarm"));
        Self {
            worktrees: chosen.unwrap_or_else(|| private.join("worktrees")),
            root: root.to_owned(),
            state,
            runs: private.join("runs"),
            private,
            checkpoints: swarm.join("checkpoints"),
            inbox: swarm.join("inbox"),
            logs: swarm.join("logs"),
            swarm,
        }
    }

    /// Where the files of the event log have second names; `None` where there is no git directory.
    pub fn second_names(&self) -> Option<SecondNames> {
        let names = || SecondNames::new(&self.state, &self.private.join("log"));
        (self.private != self.state).then(names)
    }

    /// The worktree of this name.
    pub fn worktree(&self, name: &str) -> PathBuf {
        self.worktrees.join(name)
    }

    /// The name of the worktree at a path; `None` if none lies there.
    pub fn worktree_name<'a>(&self, path: &'a Path) -> Option<&'a str> {
        path.strip_prefix(&self.worktrees).ok()?.to_str()
    }

    /// `<git common directory>/swarm/lease`, which a live daemon holds.
    pub fn lease(&self) -> PathBuf {
        self.private.join("lease")
    }

    /// `.swarm/hooks/`
    pub fn hooks(&self) -> PathBuf {
        self.swarm.join("hooks")
    }

    /// `.swarm/ideas.jsonl`
    pub fn ideas(&self) -> PathBuf {
        self.swarm.join("ideas.jsonl")
    }

    /// `.swarm/state/memory/summary-<seq>.md`, which says what this compaction dropped.
    pub fn summary(&self, seq: u64) -> PathBuf {
        self.state.join(format!("memory/summary-{seq}.md"))
    }

    /// `.swarm/provenance/`
    pub fn provenance(&self) -> PathBuf {
        self.swarm.join("provenance")
    }

    /// `.swarm/provenance/snapshots/`
    pub fn records(&self) -> PathBuf {
        self.provenance().join("snapshots")
    }

    /// `.swarm/provenance/snapshots/<run>.json`, the provenance record of an iteration.
    pub fn record(&self, run: &RunId) -> PathBuf {
        self.records().join(format!("{run}.json"))
    }

    /// `.swarm/provenance/replays/`
    pub fn replay_verdicts(&self) -> PathBuf {
        self.provenance().join("replays")
    }

    /// `.swarm/provenance/replays/<run>.json`, the last verdict of a record's replays.
    pub fn replay_verdict(&self, of: &RunId) -> PathBuf {
        self.replay_verdicts().join(format!("{of}.json"))
    }

    /// `.swarm/state/export/`, which an export fills and removes.
    pub fn export_scratch(&self) -> PathBuf {
        self.state.join("export")
    }

    /// `.swarm/state/imports/`, with the files of imported agents
    pub fn imports(&self) -> PathBuf {
        self.state.join("imports")
    }

    /// `.swarm/learnings.md`
    pub fn learnings(&self) -> PathBuf {
        self.swarm.join("learnings.md")
    }
}

/// The git directory that all worktrees of a repository share.
fn git_common_dir(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    let git = if git.is_dir() {
        git
    } else {
        let text = fs::read_to_string(&git).ok()?;
        root.join(text.strip_prefix("gitdir:")?.trim())
    };
    let common = fs::read_to_string(git.join("commondir"));
    let common = common.map_or_else(|_| git.clone(), |common| git.join(common.trim()));
    common.is_dir().then_some(common)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn private_files_lie_in_the_git_directory_wherever_that_is() {
        let dir = tempfile::tempdir().unwrap();
        let private = || Paths::new(dir.path()).private;
        assert_eq!(private(), dir.path().join(".swarm/state"));
        assert!(Paths::new(dir.path()).second_names().is_none());
        fs::create_dir_all(dir.path().join("main/worktrees/one")).unwrap();
        fs::write(dir.path().join(".git"), "gitdir: main\n").unwrap();
        assert_eq!(private(), dir.path().join("main/swarm"));
        fs::write(dir.path().join(".git"), "gitdir: main/worktrees/one\n").unwrap();
        fs::write(dir.path().join("main/worktrees/one/commondir"), "../..\n").unwrap();
        let common = fs::canonicalize(dir.path().join("main")).unwrap();
        assert_eq!(
            fs::canonicalize(private().parent().unwrap()).unwrap(),
            common
        );
        fs::remove_file(dir.path().join(".git")).unwrap();
        fs::create_dir(dir.path().join(".git")).unwrap();
        assert_eq!(private(), dir.path().join(".git/swarm"));
    }
}
