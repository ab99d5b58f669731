//! Which landings changed a file, and which of those changes nobody has approved: an agent's text
//! reaches the target unseen.
//!
//! Invariant: reads only. Follows the first-parent history of `HEAD`; the trailer marks a landing.
//! Contents are identified by git object ids, even if the object does not exist here. Used to
//! decide whether a hook may run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::names::{path_of, printable};
use crate::git::error::GitError;
use crate::git::repo::Repo;
use crate::git::store::objects::read_oid;
use crate::git::store::oid::Oid;

/// First byte of a commit line in the log format below.
const COMMIT: u8 = 1;

/// A change of a file on the target's first-parent history.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    commit: Oid,
    /// The idea, if the commit is a landing.
    idea: Option<String>,
    /// `None`: the file did not exist.
    before: Option<Oid>,
    /// `None`: the file was deleted.
    after: Option<Oid>,
}

/// Changes to a file by landings that nobody has approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnapprovedChange {
    /// Ideas of these landings, newest first.
    pub ideas: Vec<String>,
    /// Newest of these landings.
    pub commit: Oid,
    /// Content before the oldest of them; `None`: the file did not exist.
    pub before: Option<Oid>,
    /// Content after the newest of them; `None`: the file was deleted.
    pub after: Option<Oid>,
}

/// Changes per file, newest first.
#[derive(Debug, Default)]
pub struct Changes(BTreeMap<PathBuf, Vec<Change>>);

impl Changes {
    /// Unapproved changes to this file since the newest commit in `approved`.
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
    /// Object id of this content as a file.
    pub fn content_id(&self, content: &[u8]) -> Result<Oid, GitError> {
        let git = self.git().args(["hash-object", "-t", "blob", "--stdin"]);
        read_oid(&git.input(content).ok()?)
    }

    /// All changes of these files and folders on the first-parent history of `HEAD`.
    pub fn changes_of<P: AsRef<Path>>(&self, paths: &[P]) -> Result<Changes, GitError> {
        // There is no commit yet.
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

    /// Unified diff of two contents; empty if they are equal.
    pub fn patch(path: &str, before: &[u8], now: &[u8]) -> String {
        let [before, now] = [before, now].map(String::from_utf8_lossy);
        let lines = similar::TextDiff::from_lines(before.as_ref(), now.as_ref());
        let (old, new) = (format!("a/{path}"), format!("b/{path}"));
        let mut unified = lines.unified_diff();
        unified.header(&old, &new).to_string()
    }
}

/// Format: `\x01<commit> <idea>`, then for each file `:<mode> <mode> <before> <after> <letter>` and
/// its path. Each piece ends with NUL; git puts a line break before the first colon.
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
