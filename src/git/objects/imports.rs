//! Commits that come from a bundle of another clone.
//!
//! Invariant: no reference of a person or of swarm moves or goes: imported ones get names of their
//! own below [`IMPORTS`]. A bundle is read into a quarantine first, so that a bad one leaves
//! nothing in the repository. Every call can be repeated after a kill.

use std::fs;
use std::path::{Path, PathBuf};

use super::refs::list;
use crate::git::error::{At, GitError};
use crate::git::exec::command::Git;
use crate::git::repo::Repo;
use crate::git::store::objects::read_oid;
use crate::git::store::oid::Oid;
use crate::git::store::walk::{is_ancestor, merge_base};

/// Prefix of imported references; an import's own prefix follows.
pub const IMPORTS: &str = "refs/swarm/import/";

/// Prefix of the references to what a bundle needs, in a quarantine.
const NEEDED: &str = "refs/swarm/needed/";

/// A repository that has a bundle's commits beside those of the main one.
pub struct Quarantine {
    repo: Repo,
    dir: PathBuf,
}

impl Repo {
    /// Whether one of these commits is here and an ancestor of the branch.
    pub fn has_root(&self, branch: &str, roots: &[Oid]) -> Result<bool, GitError> {
        let Some(tip) = self.branch_commit(branch)? else {
            return Ok(false);
        };
        for root in roots {
            if self.contains(tip, *root).unwrap_or(false) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads a bundle into a new repository at `dir` that borrows the main one's objects. Git
    /// checks every object.
    pub fn quarantine(&self, bundle: &Path, dir: &Path) -> Result<Quarantine, GitError> {
        self.quarantine_upon(&[], bundle, dir)
    }

    /// The same for a bundle that needs these commits, which the repository has.
    pub fn quarantine_upon(
        &self,
        needs: &[Oid],
        bundle: &Path,
        dir: &Path,
    ) -> Result<Quarantine, GitError> {
        let format = if self.is_sha256()? {
            "--object-format=sha256"
        } else {
            "--object-format=sha1"
        };
        fs::create_dir_all(dir).at("make", dir)?;
        let init = ["init", "--quiet", "--bare", "--template=", format];
        self.git_found_in(dir, dir).args(init).ok()?;
        let alternates = dir.join("objects").join("info");
        fs::create_dir_all(&alternates).at("make", &alternates)?;
        let file = alternates.join("alternates");
        let objects = self.common_dir().join("objects");
        let line = [objects.as_os_str().as_encoded_bytes(), b"\n"].concat();
        fs::write(&file, line).at("write", &file)?;
        // Git takes a bundle only where what it needs is reachable.
        for oid in needs {
            let git = self.git_at(dir, dir).arg("update-ref");
            git.args([format!("{NEEDED}{oid}"), oid.to_string()]).ok()?;
        }
        self.fetch(dir, bundle, "+refs/*:refs/*")?;
        Ok(Quarantine {
            repo: self.clone(),
            dir: dir.to_owned(),
        })
    }

    /// Puts all commits of a bundle into the repository, under `refs/swarm/import/<name>/`.
    /// Returns the references by their names in the bundle.
    pub fn import_bundle(&self, bundle: &Path, name: &str) -> Result<Vec<(String, Oid)>, GitError> {
        let prefix = format!("{IMPORTS}{name}/");
        self.fetch(self.common_dir(), bundle, &format!("+refs/*:{prefix}*"))?;
        let mut found = self.list_refs(&prefix)?;
        for (reference, _) in &mut found {
            *reference = reference.replacen(&prefix, "refs/", 1);
        }
        Ok(found)
    }

    /// What a reference must be created as, or why it cannot be.
    pub fn is_free_or(&self, reference: &str, oid: Oid) -> Result<bool, GitError> {
        let found = self.read_ref(reference)?;
        Ok(found.is_none_or(|found| found == oid))
    }

    fn fetch(&self, git_dir: &Path, bundle: &Path, refs: &str) -> Result<(), GitError> {
        let work_tree = if git_dir == self.common_dir() {
            self.root()
        } else {
            git_dir
        };
        let git = self
            .git_at(git_dir, work_tree)
            .config("protocol.file.allow=always")
            .config("transfer.fsckObjects=true")
            .config("fetch.fsckObjects=true")
            .config("core.fsync=all")
            .long()
            .args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"])
            .args(["--no-auto-maintenance", "--no-recurse-submodules", "--"]);
        git.arg(bundle).arg(refs).ok().map(drop)
    }
}

impl Quarantine {
    /// The object that a reference of the bundle names.
    pub fn reference(&self, name: &str) -> Option<Oid> {
        let words = ["rev-parse", "--verify", "--quiet", "--end-of-options"];
        let asked = self.git().args(words).arg(name).ok().ok()?;
        read_oid(&asked).ok()
    }

    /// All references of the bundle.
    pub fn references(&self) -> Result<Vec<(String, Oid)>, GitError> {
        list(self.git(), "")
    }

    /// Whether the commit is there.
    pub fn has_commit(&self, oid: Oid) -> bool {
        let asked = self.git().args(["cat-file", "-e"]);
        asked.arg(format!("{oid}^{{commit}}")).ok().is_ok()
    }

    /// Best common ancestor; `None` if the histories are unrelated.
    pub fn merge_base(&self, one: Oid, other: Oid) -> Result<Option<Oid>, GitError> {
        merge_base(self.git(), one, other)
    }

    /// Whether `commit` is `ancestor` or descends from it.
    pub fn contains(&self, commit: Oid, ancestor: Oid) -> Result<bool, GitError> {
        if !self.has_commit(commit) || !self.has_commit(ancestor) {
            return Ok(commit == ancestor);
        }
        is_ancestor(self.git(), ancestor, commit)
    }

    fn git(&self) -> Git<'_> {
        self.repo.git_at(&self.dir, &self.dir)
    }
}
