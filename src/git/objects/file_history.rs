//! Which landings have changed a file, and what of that a person has not approved: what an agent
//! wrote came in through the target, where nobody may have looked at it.
//!
//! Invariant: reads only. The first-parent history of `HEAD` counts; a landing is what says so in
//! its trailer. Contents are named by git's object ids, also those that are no objects here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Oid};

use super::names::{path_of, printable};
use crate::git::error::GitError;
use crate::git::repo::Repo;

/// Begins the line of a commit in what git writes.
const COMMIT: u8 = 1;

/// One change of a file on the target's own line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    commit: Oid,
    /// The idea that it landed, if it did.
    idea: Option<String>,
    /// None: it was not there.
    before: Option<Oid>,
    /// None: it is gone.
    after: Option<Oid>,
}

/// What landings brought that nobody has approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnapprovedChange {
    /// The ideas, the last one first.
    pub ideas: Vec<String>,
    /// The last landing that did.
    pub commit: Oid,
    /// The file before the first of them; none: it was not there.
    pub before: Option<Oid>,
    /// The file after the last of them; none: it is gone.
    pub after: Option<Oid>,
}

/// The changes of some files, the latest first.
#[derive(Debug, Default)]
pub struct Changes(BTreeMap<PathBuf, Vec<Change>>);

impl Changes {
    /// What landings brought into this file, since the last one in `approved`.
    pub fn brought(&self, path: &Path, approved: impl Fn(Oid) -> bool) -> Option<UnapprovedChange> {
        let changes = self.0.get(path).map_or(&[][..], Vec::as_slice);
        let since = changes.iter().take_while(|change| !approved(change.commit));
        let landings: Vec<(&Change, &String)> = since
            .filter_map(|change| Some((change, change.idea.as_ref()?)))
            .collect();
        let (last, first) = (landings.first()?.0, landings.last()?.0);
        Some(UnapprovedChange {
            ideas: landings.iter().map(|(_, idea)| (*idea).clone()).collect(),
            commit: last.commit,
            before: first.before,
            after: changes.first().and_then(|change| change.after),
        })
    }
}

impl Repo {
    /// The name of this content.
    pub fn content_id(content: &[u8]) -> Result<Oid, GitError> {
        Oid::hash_object(ObjectType::Blob, content)
            .map_err(GitError::library("name the content of a file"))
    }

    /// All changes of these files, and of the files below these folders, on the line of `HEAD`.
    pub fn changes_of<P: AsRef<Path>>(&self, paths: &[P]) -> Result<Changes, GitError> {
        // Nothing is committed yet.
        if self.resolve_commit("HEAD")?.is_none() {
            return Ok(Changes::default());
        }
        let output = self
            .git()
            .args(["log", "--first-parent", "--diff-merges=first-parent", "-z"])
            .args([
                "--raw",
                "--no-abbrev",
                "--no-renames",
                "--no-show-signature",
            ])
            .arg("--format=%x01%H %(trailers:key=Swarm-Idea,valueonly,separator=%x20)")
            .arg("HEAD")
            .paths(paths.iter().map(AsRef::as_ref))
            .ok()?;
        read(&output.stdout).ok_or_else(|| GitError::Unreadable {
            command: "git log --raw",
            found: printable(&output.stdout).chars().take(200).collect(),
        })
    }

    /// What changed between two contents of a file, as people know it; empty: nothing.
    pub fn patch(path: &str, before: &[u8], now: &[u8]) -> Result<String, GitError> {
        let name = Some(Path::new(path));
        let made = git2::Patch::from_buffers(before, name, now, name, None)
            .and_then(|mut patch| patch.to_buf());
        let text = made.map_err(GitError::library(format!("compare {path}")))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// A content; none: it is no longer in the repository.
    pub fn content(&self, id: Oid) -> Result<Option<Vec<u8>>, GitError> {
        let library = self.library()?;
        match library.find_blob(id) {
            Ok(blob) => Ok(Some(blob.content().to_vec())),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(GitError::library(format!("read {id:.10}"))(error)),
        }
    }
}

/// `\x01<commit> <idea>`, then for each file `:<mode> <mode> <before> <after> <letter>` and its
/// path, each ended by a NUL; git puts a line break before the first colon.
fn read(output: &[u8]) -> Option<Changes> {
    let mut changes = Changes::default();
    let mut now: Option<(Oid, Option<String>)> = None;
    let mut pieces = output.split(|byte| *byte == 0);
    while let Some(piece) = pieces.next() {
        let piece = piece.strip_prefix(b"\n").unwrap_or(piece);
        match piece.first() {
            None => {}
            Some(&COMMIT) => {
                let line = std::str::from_utf8(&piece[1..]).ok()?;
                let (commit, idea) = line.split_once(' ')?;
                let idea = Some(idea.trim()).filter(|idea| !idea.is_empty());
                now = Some((Oid::from_str(commit).ok()?, idea.map(str::to_owned)));
            }
            Some(b':') => {
                let (commit, idea) = now.clone()?;
                let words: Vec<&str> = std::str::from_utf8(piece).ok()?.split(' ').collect();
                let [_, _, before, after, _] = words[..] else {
                    return None;
                };
                let there = |id: &str| Oid::from_str(id).ok().filter(|id| !id.is_zero());
                let change = Change {
                    commit,
                    idea,
                    before: there(before),
                    after: there(after),
                };
                let path = path_of(pieces.next()?);
                changes.0.entry(path).or_default().push(change);
            }
            Some(_) => return None,
        }
    }
    Some(changes)
}
