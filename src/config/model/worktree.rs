//! The part of the configuration about worktrees.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NO_NUL, NOT_BLANK, VARIABLE_NAME};

/// What swarm puts into the worktrees of agents, and into the one that checks merges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Worktree {
    /// Commands that set up a worktree, such as `npm ci`. They run in this order through `sh -c`:
    /// in an agent's worktree before its first iteration, and in the merge worktree before the
    /// quality commands. `qualityTimeoutMinutes` limits each of them.
    #[schemars(inner(regex(pattern = NOT_BLANK)))]
    pub setup: Vec<String>,
    /// Files that the setup depends on, such as `package-lock.json`, as paths from the root. `*`
    /// and `?` match within one folder, `**/` matches any folders. The setup runs again in a
    /// worktree when one of them changes there. Ignored files do not count.
    #[schemars(inner(regex(pattern = NOT_BLANK)))]
    pub setup_inputs: Vec<String>,
    /// Ignored files of your checkout that swarm copies into each worktree, such as `.env`. swarm
    /// never commits them.
    #[schemars(inner(regex(pattern = NOT_BLANK)))]
    pub copy: Vec<String>,
    /// Environment variables of setup commands, agents, quality commands and `pre-start` hooks, the
    /// same for a worktree as long as it exists. In a value, `{port}` is the first of 20 ports that
    /// only this worktree has, `{slot}` its number, and `{db}` a name for a database of its own. A
    /// profile's `env` overrides them. swarm hides the values wherever it shows its configuration.
    #[schemars(extend(
        "propertyNames" = { "pattern": VARIABLE_NAME },
        "additionalProperties" = { "type": "string", "pattern": NO_NUL },
    ))]
    pub env: BTreeMap<String, String>,
    /// Which ignored files (dependencies, build results) stay for the next idea in a worktree:
    /// `true` for all, `false` for none, or patterns as in `.gitignore` for those that match.
    /// Only the target branch's `.gitignore` files count. Merges are checked in a worktree of their
    /// own, under the same setting.
    pub keep_ignored: KeepIgnored,
    /// Folders in the git directory that filters look for there, such as `lfs`, as plain names.
    /// Each worktree's own git directory gets a link to them before its files are checked out.
    /// `git-crypt` needs no entry.
    #[schemars(inner(regex(pattern = NOT_BLANK)))]
    pub git_dir_links: Vec<String>,
    /// How many worktrees more than `agents.maxParallel` there may be. Unused ones stay for the
    /// next idea; at that number, finished work that waits for a review or its merge lends its own.
    #[schemars(range(max = 1000))]
    pub keep_idle: u32,
    /// Folder in which swarm makes its own folder for the worktrees, absolute or relative to your
    /// checkout, but outside of it; it belongs into `config.local.json`. It counts until the first
    /// worktree is made. Default: `$XDG_STATE_HOME/swarm` or `~/.local/state/swarm` if that is on
    /// the file system of your checkout, else beside the checkout.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = NOT_BLANK))]
    pub root: Option<String>,
}

impl Default for Worktree {
    fn default() -> Self {
        Self {
            setup: vec![],
            setup_inputs: vec![],
            copy: vec![],
            keep_ignored: KeepIgnored::default(),
            git_dir_links: vec![],
            keep_idle: 2,
            env: BTreeMap::new(),
            root: None,
        }
    }
}

/// Which ignored files stay for the next idea in a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum KeepIgnored {
    /// All or none.
    All(bool),
    /// Those that match one of the patterns.
    Matching(#[schemars(inner(regex(pattern = NOT_BLANK)))] Vec<String>),
}

impl Default for KeepIgnored {
    fn default() -> Self {
        Self::All(true)
    }
}
