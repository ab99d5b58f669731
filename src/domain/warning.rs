//! What a warning is about. Its key in the log is the kind's prefix and the thing's name.
//!
//! Invariant: a kind keeps its prefix, which is in logs. A new kind gets a prefix that no other key
//! begins with. `decide` and the daemon raise warnings, `view` shows their kind.

use std::fmt::Display;

/// What a warning is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumIter, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum WarningKind {
    /// The disk is full.
    Disk,
    /// The repository cannot be used.
    Repository,
    /// Another program holds a lock of git.
    Lock,
    /// The budget of the day.
    DayBudget,
    /// The budget of an idea.
    Budget,
    /// A model without a price.
    UnpricedModel,
    /// A profile whose program does not report its model.
    UnnamedModel,
    /// An agent that makes no commit.
    Stuck,
    /// An agent's conversation that could not be resumed.
    Conversation,
    /// A quality command that nothing can pass.
    Check,
    /// A setup command that nothing can pass.
    Setup,
    /// Quality commands that use the same port, file or database.
    Collision,
    /// A port of a worktree that another program holds.
    Port,
    /// Files that could not be copied into a worktree.
    LocalFiles,
    /// A hook that failed.
    Hook,
    /// A file in the inbox that did not become an idea.
    Inbox,
    /// The configuration.
    Config,
    /// A checkpoint that could not be created.
    Checkpoint,
    /// A checkpoint that could not be deleted.
    CheckpointDeletion,
    /// A run that could not be stopped.
    Run,
    /// A worktree that could not be released.
    Worktree,
    /// A git repository that an agent created inside its worktree.
    NestedRepository,
    /// Changes that the resolution of a conflict dropped.
    DroppedChanges,
    /// The target branch.
    Target,
    /// Submodules of a checkout that did not follow the target.
    Submodules,
    /// A notice that the webhook did not get.
    Webhook,
    /// A synthesis that failed.
    Synthesis,
    /// Provenance records that cannot be written.
    Records,
    /// The folder of the worktrees, which is another than before or was gone.
    WorktreesFolder,
}

impl WarningKind {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Disk => "disk-full",
            Self::Repository => "repository",
            Self::Lock => "locked",
            Self::DayBudget => "budget-day",
            Self::Budget => "budget-",
            Self::UnpricedModel => "unpriced-",
            Self::UnnamedModel => "unnamed-model-",
            Self::Stuck => "stuck-",
            Self::Conversation => "session-",
            Self::Check => "quality-",
            Self::Setup => "setup-",
            Self::Collision => "collision",
            Self::Port => "port-",
            Self::LocalFiles => "worktree-copy",
            Self::Hook => "hook-",
            Self::Inbox => "inbox-",
            Self::Config => "config",
            Self::Checkpoint => "checkpoint",
            Self::CheckpointDeletion => "delete-",
            Self::Run => "stop-",
            Self::Worktree => "release-",
            Self::NestedRepository => "kept-aside-",
            Self::DroppedChanges => "left-out-",
            Self::Target => "target-moved",
            Self::Submodules => "submodules",
            Self::Webhook => "webhook",
            Self::Synthesis => "synthesis",
            Self::Records => "records",
            Self::WorktreesFolder => "folder-of-worktrees",
        }
    }

    /// Key of the only warning of this kind.
    pub const fn only(self) -> &'static str {
        self.prefix()
    }

    /// Key of the warning about one thing.
    pub fn about(self, thing: impl Display) -> String {
        format!("{}{thing}", self.prefix())
    }

    /// Name of the thing that a key of this kind is about; `None` for keys of other kinds.
    pub fn thing(self, key: &str) -> Option<&str> {
        key.strip_prefix(self.prefix())
    }

    /// The kind of a key; `None` if a newer version of swarm raised it.
    pub fn of(key: &str) -> Option<Self> {
        use strum::IntoEnumIterator;
        Self::iter().find(|kind| key.starts_with(kind.prefix()))
    }
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator;

    use super::WarningKind;

    #[test]
    fn each_kind_is_found_by_its_key() {
        for kind in WarningKind::iter() {
            assert_eq!(WarningKind::of(&kind.about("ed-001")), Some(kind));
        }
        assert_eq!(WarningKind::of("of-a-later-version"), None);
    }
}
