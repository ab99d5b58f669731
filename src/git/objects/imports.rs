//! Commits that come from a bundle of another clone.
//!
//! Invariant: no reference of a person or of swarm moves or goes: imported ones get names of their
//! own below [`IMPORTS`]. A bundle is read into a quarantine first, so that a bad one leaves
//! nothing in the repository. Every call can be repeated after a kill.

use std::fs;
use std::path::Path;

use git2::{ErrorCode, Oid, Repository};

use super::landings::merge_base;
use crate::git::error::{At, GitError};
use crate::git::repo::Repo;

/// Prefix of imported references; an import's own prefix follows.
pub const IMPORTS: &str = "refs/swarm/import/";

/// Prefix of the references to what a bundle needs, in a quarantine.
const NEEDED: &str = "refs/swarm/needed/";

/// A repository that has a bundle's commits beside those of the main one.
pub struct Quarantine(Repository);

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
        let library = Repository::init_bare(dir)
            .map_err(GitError::library(format!("make {}", dir.display())))?;
        let alternates = dir.join("objects").join("info");
        fs::create_dir_all(&alternates).at("make", &alternates)?;
        let file = alternates.join("alternates");
        let objects = self.common_dir().join("objects");
        let line = [objects.as_os_str().as_encoded_bytes(), b"\n"].concat();
        fs::write(&file, line).at("write", &file)?;
        // Git takes a bundle only where what it needs is reachable.
        for oid in needs {
            library
                .reference(&format!("{NEEDED}{oid}"), *oid, true, "")
                .map_err(GitError::library("prepare to read a bundle"))?;
        }
        self.fetch(dir, bundle, "+refs/*:refs/*")?;
        Ok(Quarantine(library))
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
        self.0.find_reference(name).ok()?.target()
    }

    /// All references of the bundle.
    pub fn references(&self) -> Result<Vec<(String, Oid)>, GitError> {
        let read = || -> Result<Vec<(String, Oid)>, git2::Error> {
            let mut found = Vec::new();
            for reference in self.0.references()? {
                let reference = reference?;
                let name = String::from_utf8_lossy(reference.name_bytes()).into_owned();
                found.extend(reference.target().map(|oid| (name, oid)));
            }
            found.sort();
            Ok(found)
        };
        read().map_err(GitError::library("list the references of the bundle"))
    }

    /// Whether the commit is there.
    pub fn has_commit(&self, oid: Oid) -> bool {
        self.0.find_commit(oid).is_ok()
    }

    /// Best common ancestor; `None` if the histories are unrelated.
    pub fn merge_base(&self, one: Oid, other: Oid) -> Result<Option<Oid>, GitError> {
        merge_base(&self.0, one, other)
    }

    /// Whether `commit` is `ancestor` or descends from it.
    pub fn contains(&self, commit: Oid, ancestor: Oid) -> Result<bool, GitError> {
        if commit == ancestor {
            return Ok(true);
        }
        match self.0.graph_descendant_of(commit, ancestor) {
            Err(error) if error.code() == ErrorCode::NotFound => Ok(false),
            found => found.map_err(GitError::library("compare two commits")),
        }
    }
}
