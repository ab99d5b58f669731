//! The paths of all files in a repository: the only place that spells out names below `.swarm/`.

use std::path::{Path, PathBuf};

use crate::domain::ids::RunId;

/// The paths of one repository.
#[derive(Debug, Clone)]
pub struct Paths {
    /// The repository's main work tree.
    pub root: PathBuf,
    /// `.swarm/`
    pub swarm: PathBuf,
    /// `.swarm/state/`
    pub state: PathBuf,
    /// `.swarm/runs/`
    pub runs: PathBuf,
    /// `.swarm/worktrees/`
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
        Self {
            root: root.to_owned(),
            state: swarm.join("state"),
            runs: swarm.join("runs"),
            worktrees: swarm.join("worktrees"),
            checkpoints: swarm.join("checkpoints"),
            inbox: swarm.join("inbox"),
            logs: swarm.join("logs"),
            swarm,
        }
    }

    /// The worktree of this name.
    pub fn worktree(&self, name: &str) -> PathBuf {
        self.worktrees.join(name)
    }

    /// `.swarm/state/lease`, which a live daemon holds.
    pub fn lease(&self) -> PathBuf {
        self.state.join("lease")
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
