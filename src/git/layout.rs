//! What in a repository's layout keeps swarm from working, and the way out of each.
//!
//! Invariant: nothing is changed but a throw-away worktree, registered and removed as an agent's
//! is; a start after a kill removes it with the other spare ones. Git is asked in it as an agent
//! asks: without directories named. Called by `init`, `start` and `doctor`.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::GitError;
use super::objects::names::{path_of, quoted, shown};
use super::repo::Repo;
use crate::git::store::objects::read_oid;

/// Something in the layout that a person should change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub kind: LayoutKind,
    /// Whether no agent may start before it is changed.
    pub blocks: bool,
    /// What is wrong, and what follows from it.
    pub what: String,
    /// The command that changes it.
    pub way_out: String,
}

/// Kinds of [`Finding`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayoutKind {
    /// Git in an agent's worktree works on another folder.
    NotIsolated,
    /// A branch has the name that the branches of agents begin with.
    BranchName,
    /// The sparse checkout leaves `.swarm` out.
    SparseConfig,
    /// A tag has the name that the tags of checkpoints begin with.
    TagName,
    /// Files have other line ends in the repository than `.gitattributes` wants.
    LineEnds,
    /// Files use a filter that is not configured here.
    Filter,
}

/// Most paths on one command line.
const AT_ONCE: usize = 400;
/// Where the throw-away worktree is made.
const PROBE: &str = ".new-layout";

impl Repo {
    /// All findings, blocking ones first.
    pub fn probe_layout(&self) -> Result<Vec<Finding>, GitError> {
        let mut found = self.layout_blockers()?;
        found.extend(self.layout_notes()?);
        Ok(found)
    }

    /// Findings that keep agents from starting. Registers a worktree only where a setting could
    /// redirect it, so it needs the folder of the worktrees then.
    pub fn layout_blockers(&self) -> Result<Vec<Finding>, GitError> {
        let locked = self.filter()?.filter(|found| found.blocks);
        let found = [self.isolation()?, self.branch_name()?, locked];
        Ok(found.into_iter().flatten().collect())
    }

    /// Findings with which agents can work. Only reads.
    pub fn layout_notes(&self) -> Result<Vec<Finding>, GitError> {
        let filter = self.filter()?.filter(|found| !found.blocks);
        let found = [
            self.sparse_config()?,
            self.tag_name()?,
            self.line_ends()?,
            filter,
        ];
        Ok(found.into_iter().flatten().collect())
    }

    /// Adds `.swarm` to a sparse checkout that leaves it out while its files are there, as after an
    /// edit of the patterns: git would remove them when it updates the checkout.
    pub(crate) fn keep_config(&self) -> Result<(), GitError> {
        let is_sparse = self.common_dir().join("info/sparse-checkout").exists();
        if !is_sparse || !self.root().join(".swarm").is_dir() || self.sparse_config()?.is_none() {
            return Ok(());
        }
        let tracked = self.git().args(["ls-files", "-z"]).paths([".swarm"]).ok()?;
        if !tracked.stdout.is_empty() && self.include_config()? {
            tracing::warn!("the sparse checkout left out .swarm, so it was added");
        }
        Ok(())
    }

    /// Adds `.swarm` to a sparse checkout that leaves it out. Returns whether it did.
    pub fn include_config(&self) -> Result<bool, GitError> {
        if self.sparse_config()?.is_none() {
            return Ok(false);
        }
        let git = self.git().long().args(["sparse-checkout", "add"]);
        git.arg(self.sparse_pattern()?).ok()?;
        Ok(true)
    }

    /// Where a filter that encrypts is not set up, what agents write would land in clear text, and
    /// what they change in an encrypted file would destroy it.
    fn filter(&self) -> Result<Option<Finding>, GitError> {
        let used = self.used_filters()?.into_iter();
        let unset = { used }.find(|filter| filter.commands.is_empty());
        Ok(unset.map(|filter| {
            let name = filter.name;
            let encrypts = name.contains("crypt");
            let follows = if encrypts {
                "agents would see encrypted files, and what they write would land in clear text"
            } else {
                "agents see those files as they are in the repository, and theirs land as they are"
            };
            Finding {
                kind: LayoutKind::Filter,
                blocks: encrypts,
                what: format!("files use the filter `{name}`, which is not set up here: {follows}"),
                way_out: match name.as_str() {
                    "lfs" => "git lfs install --local".into(),
                    _ if name.starts_with("git-crypt") => "git-crypt unlock".into(),
                    _ => format!("git config filter.{name}.clean COMMAND"),
                },
            }
        }))
    }

    fn isolation(&self) -> Result<Option<Finding>, GitError> {
        let Some(value) = self.setting("core.worktree")? else {
            return Ok(None);
        };
        let head = read_oid(&self.git().args(["rev-parse", "HEAD"]).ok()?)?;
        self.discard_directory(PROBE)?;
        let probe = self.added(PROBE, head)?;
        let asked = self.git_found_in(&probe.git_dir, &probe.path);
        let asked = asked.args(["rev-parse", "--show-toplevel"]).run();
        self.discard_directory(PROBE)?;
        let asked = asked?;
        let top = path_of(asked.line());
        // The worktree is gone by now; its folder is not.
        let top = top
            .parent()
            .and_then(|dir| fs::canonicalize(dir).ok())
            .zip(top.file_name());
        let is_own = top.is_some_and(|(dir, name)| dir.join(name) == probe.path);
        if asked.code == 0 && is_own {
            return Ok(None);
        }
        let value = quoted(Path::new(&value));
        let config = self.common_dir().join("config");
        let config = quoted(&config);
        Ok(Some(Finding {
            kind: LayoutKind::NotIsolated,
            blocks: true,
            what: "git in an agent's worktree would work on your checkout and could destroy \
                uncommitted work, because `core.worktree` in the shared git configuration \
                applies to all worktrees (`extensions.worktreeConfig` is on)"
                .into(),
            way_out: format!(
                "git config --worktree core.worktree {value} && git config --file {config} \
                --unset-all core.worktree"
            ),
        }))
    }

    fn branch_name(&self) -> Result<Option<Finding>, GitError> {
        let taken = self.target_exists("agent")?;
        Ok(taken.then(|| Finding {
            kind: LayoutKind::BranchName,
            blocks: true,
            what: "git cannot create the branches of agents (`agent/...`), because there is a \
                branch `agent`"
                .into(),
            way_out: "git branch -m agent agent-old".into(),
        }))
    }

    fn tag_name(&self) -> Result<Option<Finding>, GitError> {
        let taken = self.read_ref("refs/tags/swarm")?.is_some();
        Ok(taken.then(|| Finding {
            kind: LayoutKind::TagName,
            blocks: false,
            what: "git cannot create the tags of checkpoints (`swarm/checkpoint/...`), because \
                there is a tag `swarm`"
                .into(),
            way_out: "git tag swarm-old swarm && git tag -d swarm".into(),
        }))
    }

    /// Files with CRLF in the repository that git would commit with LF: they look changed right
    /// after a checkout. Files that git only takes for text by their content stay as they are.
    fn line_ends(&self) -> Result<Option<Finding>, GitError> {
        let words = ["ls-files", "-z", "--", ":(glob)**/.gitattributes"];
        let attributes = self.git().args(words).ok()?;
        let info = self.common_dir().join("info/attributes");
        if attributes.stdout.is_empty() && !info.exists() {
            return Ok(None);
        }
        let words = ["grep", "--cached", "-z", "-l", "-I", "-G", "-e", "\r$"];
        let with_crlf = self.git().args(words).run()?;
        let paths: Vec<PathBuf> = with_crlf.pieces().map(path_of).collect();
        let mut wrong = Vec::new();
        for some in paths.chunks(AT_ONCE) {
            let words = ["check-attr", "--cached", "-z", "text", "eol"];
            let asked = self.git().args(words).paths(some).ok()?;
            let fields: Vec<&[u8]> = asked.stdout.split(|byte| *byte == 0).collect();
            let files = fields.chunks_exact(6).filter(|file| {
                let (text, eol) = (file[2], file[5]);
                text == b"set" || text == b"unspecified" && matches!(eol, b"lf" | b"crlf")
            });
            wrong.extend(files.map(|file| shown(&path_of(file[0]))));
        }
        let Some(first) = wrong.first() else {
            return Ok(None);
        };
        let more = match wrong.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Ok(Some(Finding {
            kind: LayoutKind::LineEnds,
            blocks: false,
            what: format!(
                "{first}{more} have CRLF line ends in the repository although .gitattributes wants \
                them normalized, so git shows them as changed right after a checkout"
            ),
            way_out: "git add --renormalize . && git commit -m 'Normalize line ends'".into(),
        }))
    }

    /// Git removes files outside of a sparse checkout when it updates the checkout.
    fn sparse_config(&self) -> Result<Option<Finding>, GitError> {
        if !self.is_on("core.sparseCheckout")? {
            return Ok(None);
        }
        let pattern = self.sparse_pattern()?;
        let listed = self.git().args(["sparse-checkout", "list"]).ok()?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let names = |line: &str| matches!(line.trim_matches('/'), ".swarm" | "*" | ".swarm/*");
        if listed.lines().any(names) {
            return Ok(None);
        }
        Ok(Some(Finding {
            kind: LayoutKind::SparseConfig,
            blocks: false,
            what: "the sparse checkout leaves out `.swarm`, so git removes the configuration from \
                your checkout when work lands"
                .into(),
            way_out: format!("git sparse-checkout add {pattern}"),
        }))
    }

    /// A folder in cone mode, otherwise a pattern.
    fn sparse_pattern(&self) -> Result<&'static str, GitError> {
        let is_cone = self.is_on("core.sparseCheckoutCone")?;
        Ok(if is_cone { ".swarm" } else { "/.swarm/" })
    }

    fn is_on(&self, key: &str) -> Result<bool, GitError> {
        let asked = self
            .git()
            .args(["config", "--type=bool", "--get", key])
            .run()?;
        Ok(asked.line() == b"true")
    }
}
