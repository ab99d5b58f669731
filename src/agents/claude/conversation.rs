//! Where Claude Code keeps a conversation: `projects/<worktree>/<id>.jsonl` below its settings.
//!
//! Invariant: a folder's name depends on the worktree's path alone, as Claude Code 2.1 makes it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::agents::conversation::{self, PlaceError, Placement};
use crate::agents::stream::records;
use crate::domain::session::SessionId;

/// Longest name of a folder before its hash, in characters.
const LONGEST: usize = 200;

/// The file of this conversation: that of the worktree, else that of any other folder, as a
/// worktree may have been moved.
pub(super) fn find(
    records: &Path,
    session: &SessionId,
    worktree: &Path,
) -> io::Result<Option<PathBuf>> {
    let name = name_of(session);
    let usual = records.join(folder_of(worktree)).join(&name);
    if conversation::is_there(&usual)? {
        return Ok(Some(usual));
    }
    for folder in records::last_first(records)? {
        let file = folder.join(&name);
        if conversation::is_there(&file)? {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// Puts it where `--resume` finds it in this worktree.
pub(super) fn place(records: &Path, it: &mut Placement<'_>) -> Result<PathBuf, PlaceError> {
    if it.name != name_of(it.session) {
        return Err(PlaceError::BadName(it.name.to_owned()));
    }
    let folder = folder_of(it.worktree);
    let name = name_of(it.session_there());
    conversation::place(records, &[&folder], &name, it)
}

/// Name of a conversation's file.
pub(super) fn name_of(session: &SessionId) -> String {
    format!("{session}.jsonl")
}

/// Name of the folder of a worktree's conversations.
fn folder_of(worktree: &Path) -> String {
    // The program sees its directory without links.
    let path = fs::canonicalize(worktree).unwrap_or_else(|_| worktree.to_owned());
    slug(&path.to_string_lossy())
}

/// Each UTF-16 unit but letters and digits of ASCII becomes `-`; a name that is too long is cut and
/// gets a hash of the path.
fn slug(path: &str) -> String {
    let plain = |unit: u16| {
        let letter = char::from_u32(u32::from(unit)).filter(char::is_ascii_alphanumeric);
        letter.unwrap_or('-')
    };
    let mut slug: String = path.encode_utf16().map(plain).collect();
    if slug.len() > LONGEST {
        slug.truncate(LONGEST);
        slug.push('-');
        slug.push_str(&base_36(hash(path).unsigned_abs()));
    }
    slug
}

/// 31 times the hash of what came before, plus the next UTF-16 unit.
fn hash(path: &str) -> i32 {
    path.encode_utf16().fold(0, |hash: i32, unit| {
        hash.wrapping_mul(31).wrapping_add(i32::from(unit))
    })
}

fn base_36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(number % 36, 36));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use super::*;

    #[test]
    fn a_folder_is_named_as_claude_names_it() {
        let worktree = "/home/me/my repo/.swarm/worktrees/ed-001";
        assert_eq!(slug(worktree), "-home-me-my-repo--swarm-worktrees-ed-001");
        assert_eq!(slug("/ä/😀_x"), "------x");
        let long = format!("/{}", "a".repeat(200));
        assert_eq!(slug(&long), format!("-{}-b6ymvl", "a".repeat(199)));
    }

    #[test]
    fn a_conversation_is_found_and_placed_for_another_worktree() {
        let dir = tempfile::tempdir().unwrap();
        let records = dir.path().join("projects");
        let session: SessionId = "093c7360-d3a1-49db-a92e-09320e901527".parse().unwrap();
        let (old, new) = (Path::new("/a/old"), Path::new("/b/new"));
        assert_eq!(find(&records, &session, old).unwrap(), None);
        let mut placement = Placement {
            session: &session,
            new_session: None,
            worktree: new,
            name: "093c7360-d3a1-49db-a92e-09320e901527.jsonl",
            content: &mut "{\"type\":\"user\"}\n".as_bytes(),
        };
        let placed = place(&records, &mut placement).unwrap();
        assert_eq!(placed.parent().unwrap(), records.join("-b-new"));
        // Also found by who knows only where it was.
        for worktree in [new, old] {
            let found = find(&records, &session, worktree).unwrap();
            assert_eq!(found.as_ref(), Some(&placed));
        }
        placement.name = "../x.jsonl";
        let refused = place(&records, &mut placement).unwrap_err();
        assert!(matches!(refused, PlaceError::BadName(_)), "{refused}");
    }

    #[test]
    fn a_copy_under_another_id_is_a_conversation_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (OLD.parse().unwrap(), NEW.parse().unwrap());
        let content = format!("{{\"sessionId\":\"{OLD}\"}}\n{{\"text\":\"{OLD}, {OLD}\"}}");
        let placed = place(
            dir.path(),
            &mut Placement {
                session: &old,
                new_session: Some(&new),
                worktree: Path::new("/b/new"),
                name: &format!("{OLD}.jsonl"),
                content: &mut content.as_bytes(),
            },
        );
        let placed = placed.unwrap();
        assert_eq!(placed, dir.path().join(format!("-b-new/{NEW}.jsonl")));
        let expected = format!("{}\n", content.replace(OLD, NEW));
        assert_eq!(fs::read_to_string(placed).unwrap(), expected);
    }

    const OLD: &str = "093c7360-d3a1-49db-a92e-09320e901527";
    const NEW: &str = "5d0f6b0e-3c61-4f0e-9d3b-1f2e3d4c5b6a";
}
