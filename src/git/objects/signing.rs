//! Signs commits and tags as the person's git would.
//!
//! Invariant: where git's configuration asks for signatures, swarm writes no unsigned commit for a
//! branch: a signature that cannot be made is [`GitError::CannotSign`]. The settings are read once,
//! before the first agent starts, so that an agent's change of `.git/config` has no effect;
//! programs are pinned by `exec::config_guard`. A signature has a time, so a signed commit has
//! another id each time it is made: callers take the id from the outcome and never expect one.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use super::names::check_ref;
use crate::domain::time::Timestamp;
use crate::git::error::{At, GitError};
use crate::git::exec::child::Output;
use crate::git::exec::command::Git;
use crate::git::person::{Identity, Signing};
use crate::git::repo::Repo;
use crate::git::store::format::{NewCommit, Person};
use crate::git::store::objects::read_oid;
use crate::git::store::oid::Oid;

const COMMITS: &str = "commit.gpgSign";
const TAGS: &str = "tag.gpgSign";

impl Repo {
    /// Turns signatures off (`merge.sign: "never"`), or on where git's configuration wants them.
    pub fn never_sign(&self, never: bool) {
        self.0.never_signs.store(never, Ordering::Relaxed);
    }

    /// Whether swarm's commits on branches are signed.
    pub fn signs_commits(&self) -> Result<bool, GitError> {
        Ok(self.signing()?.commits && !self.0.never_signs.load(Ordering::Relaxed))
    }

    /// Whether the tags of checkpoints are signed.
    pub fn signs_tags(&self) -> Result<bool, GitError> {
        Ok(self.signing()?.tags && !self.0.never_signs.load(Ordering::Relaxed))
    }

    /// Signs a commit that nothing names, if commits are signed. It stays behind until git tidies
    /// up.
    pub fn try_signing(&self) -> Result<(), GitError> {
        if !self.signs_commits()? {
            return Ok(());
        }
        let head = self.git().args(["rev-parse", "HEAD^{tree}"]).ok()?;
        let signature = self.identity()?.at(Timestamp::from_millis(0));
        let new = NewCommit {
            tree: read_oid(&head)?,
            parents: &[],
            message: "swarm tries the signature\n",
            author: &signature,
            committer: &signature,
        };
        self.write_signed(&new).map(drop)
    }

    /// Writes a commit for a branch, signed where the configuration wants it.
    pub(crate) fn write_branch_commit(&self, new: &NewCommit<'_>) -> Result<Oid, GitError> {
        if self.signs_commits()? {
            return self.write_signed(new);
        }
        self.write_commit(new)
    }

    fn write_signed(&self, new: &NewCommit<'_>) -> Result<Oid, GitError> {
        let git = self.signing()?.apply(self.git());
        let git = as_person(
            as_person(git, "AUTHOR", new.author),
            "COMMITTER",
            new.committer,
        )
        .args(["commit-tree", "-S"])
        .arg(new.tree.to_string());
        let parents = new.parents.iter();
        let git = parents.fold(git, |git, parent| git.arg("-p").arg(parent.to_string()));
        signed(COMMITS, &git.args(["-m", new.message]).run()?)
    }

    /// Writes the object of a signed tag in a git directory of its own, because `git tag` makes a
    /// reference as well. The objects go to the repository's own store.
    pub(crate) fn write_signed_tag(
        &self,
        name: &str,
        target: Oid,
        message: &str,
        identity: &Identity,
        time: Timestamp,
    ) -> Result<Oid, GitError> {
        check_ref(&format!("refs/tags/{name}"))?;
        let aside = self.tag_directory()?;
        let here = || {
            let git = self.git_at(&aside, self.root());
            git.env("GIT_OBJECT_DIRECTORY", self.common_dir().join("objects"))
        };
        let git = self.signing()?.apply(here());
        let signature = identity.at(time);
        let git = as_person(git, "COMMITTER", &signature)
            .args([
                "tag",
                "--sign",
                "--force",
                "--cleanup=verbatim",
                "-m",
                message,
            ])
            .arg(name)
            .arg(target.to_string());
        let output = git.run()?;
        if output.code != 0 {
            return Err(cannot_sign(TAGS, &output));
        }
        let reference = format!("refs/tags/{name}");
        let tag = read_oid(&here().args(["rev-parse", "--verify", &reference]).ok()?)?;
        here().args(["update-ref", "-d", &reference]).ok()?;
        Ok(tag)
    }

    fn tag_directory(&self) -> Result<PathBuf, GitError> {
        let aside = self.common_dir().join("swarm").join("signed-tags");
        for folder in ["refs", "objects"] {
            let folder = aside.join(folder);
            fs::create_dir_all(&folder).at("make", &folder)?;
        }
        for (name, text) in [
            ("HEAD", "ref: refs/heads/none\n"),
            ("config", self.bare_config()?),
        ] {
            let file = aside.join(name);
            fs::write(&file, text).at("write", &file)?;
        }
        Ok(aside)
    }
}

impl Signing {
    fn apply<'a>(&self, git: Git<'a>) -> Git<'a> {
        let settings = self.settings.iter();
        settings.fold(git, |git, setting| git.config(setting))
    }
}

fn as_person<'a>(git: Git<'a>, role: &str, person: &Person) -> Git<'a> {
    let name = OsStr::from_bytes(&person.name);
    let email = OsStr::from_bytes(&person.email);
    let date = format!("@{} {}", person.seconds, person.zone);
    git.env(&format!("GIT_{role}_NAME"), name)
        .env(&format!("GIT_{role}_EMAIL"), email)
        .env(&format!("GIT_{role}_DATE"), date)
}

fn signed(key: &'static str, output: &Output) -> Result<Oid, GitError> {
    if output.code == 0 {
        return read_oid(output);
    }
    Err(cannot_sign(key, output))
}

fn cannot_sign(key: &'static str, output: &Output) -> GitError {
    let GitError::Failed { stderr: why, .. } = output.failure() else {
        return output.failure();
    };
    GitError::CannotSign { key, why }
}
