//! Where Codex keeps a conversation: `YYYY/MM/DD/rollout-<time>-<id>.jsonl` below its sessions.
//!
//! Invariant: the folders come from the time in the file's own name. The worktree plays no part:
//! `resume` takes the present one.

use std::io;
use std::path::{Path, PathBuf};

use super::records;
use crate::agents::conversation::{self, PlaceError, Placement};
use crate::domain::session::SessionId;

/// Form of the time in a name; `0` stands for a digit.
const TIME: &str = "0000-00-00T00-00-00";

/// The file of this conversation.
pub(super) fn find(records: &Path, session: &SessionId) -> io::Result<Option<PathBuf>> {
    let found = records::find(records, &format!("-{session}.jsonl"))?;
    match found {
        Some(file) if conversation::is_there(&file)? => Ok(Some(file)),
        Some(_) | None => Ok(None),
    }
}

/// Puts it where `exec resume` finds it.
pub(super) fn place(records: &Path, it: &mut Placement<'_>) -> Result<PathBuf, PlaceError> {
    let bad = || PlaceError::BadName(it.name.to_owned());
    let time = time_in(it.name, it.session).ok_or_else(bad)?;
    let name = format!("rollout-{time}-{}.jsonl", it.session_there());
    // The id is all that `resume` looks at: a second file of it would be a second conversation.
    if let Some(there) = find(records, it.session_there())?
        && there.file_name().is_none_or(|there| there != name.as_str())
    {
        return Err(PlaceError::Taken(there));
    }
    let folders = [&time[..4], &time[5..7], &time[8..10]];
    conversation::place(records, &folders, &name, it)
}

/// The time in the name of a conversation's file; `None` if it is not such a name.
pub(super) fn time_in<'a>(name: &'a str, session: &SessionId) -> Option<&'a str> {
    let rest = name.strip_prefix("rollout-")?;
    let time = rest.strip_suffix(&format!("-{session}.jsonl"))?;
    let fits = |(byte, form): (u8, u8)| match form {
        b'0' => byte.is_ascii_digit(),
        form => byte == form,
    };
    let is_time = time.len() == TIME.len() && time.bytes().zip(TIME.bytes()).all(fits);
    is_time.then_some(time)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use super::*;

    const ID: &str = "019ad1f2-6f0c-7a13-8f0e-6a3d3c1a9b11";

    #[test]
    fn a_conversation_is_found_and_placed_under_its_day() {
        let dir = tempfile::tempdir().unwrap();
        let session: SessionId = ID.parse().unwrap();
        assert_eq!(find(dir.path(), &session).unwrap(), None);
        let name = format!("rollout-2026-11-25T22-33-42-{ID}.jsonl");
        let put = |name: &str, content: &str| {
            place(
                dir.path(),
                &mut Placement {
                    session: &session,
                    new_session: None,
                    worktree: Path::new("/b/new"),
                    name,
                    content: &mut content.as_bytes(),
                },
            )
        };
        for bad in [
            format!("rollout-2026-11-25T22-33-42-{ID}.json"),
            format!("rollout-2026/11/25T22-33-42-{ID}.jsonl"),
            format!("rollout-../../../25T22-33-42-{ID}.jsonl"),
            format!("rollout-{ID}.jsonl"),
            "rollout-2026-11-25T22-33-42-other.jsonl".to_owned(),
        ] {
            let refused = put(&bad, "{}\n").unwrap_err();
            assert!(matches!(refused, PlaceError::BadName(_)), "{bad}");
        }
        let placed = put(&name, "{}\n").unwrap();
        assert_eq!(placed, dir.path().join("2026/11/25").join(&name));
        assert_eq!(put(&name, "{}\n").unwrap(), placed);
        let later = format!("rollout-2026-11-26T22-33-42-{ID}.jsonl");
        assert!(matches!(put(&later, "{}\n"), Err(PlaceError::Taken(_))));
        assert_eq!(find(dir.path(), &session).unwrap(), Some(placed));
    }
}
