//! The files in which programs keep their conversations: finds one, and puts a copy where the
//! program finds it under another home and for another worktree. Called by the adapters.
//!
//! Invariant: only plain files are written, mode 0600, durable, and never over another file. A name
//! exists only once its content is whole: a copy that was killed is made again by the same call.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;

use crate::domain::session::SessionId;
use crate::{crash, plain_file, remove};

/// Longest conversation that is placed, in bytes.
const MOST: u64 = 1024 * 1024 * 1024;
/// Longest line of one, in bytes.
const LONGEST_LINE: usize = 64 * 1024 * 1024;
/// How much is copied at once, in bytes.
const PIECE: usize = 64 * 1024;

/// A conversation to place.
pub struct Placement<'a> {
    /// Its id in the content.
    pub session: &'a SessionId,
    /// The id that the copy gets instead, so that it is a conversation of its own. Both are UUIDs.
    pub new_session: Option<&'a SessionId>,
    /// The worktree in which it goes on.
    pub worktree: &'a Path,
    /// Name of the file that it was copied from, without folders.
    pub name: &'a str,
    /// Content of that file.
    pub content: &'a mut dyn Read,
}

impl Placement<'_> {
    /// The id of the copy.
    pub(super) fn session_there(&self) -> &SessionId {
        self.new_session.unwrap_or(self.session)
    }
}

/// Why a conversation cannot be placed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum PlaceError {
    /// The adapter knows no file that its program would read.
    #[error("swarm cannot move conversations of this program")]
    NotPortable,
    /// The file's name is not one that the program gives.
    #[error("`{0}` is not a name that the program gives to a conversation")]
    BadName(String),
    /// The program has another conversation of this id.
    #[error("`{}` is there already, with other content; nothing was changed", .0.display())]
    Taken(PathBuf),
    /// The system refused.
    #[error("cannot write the conversation: {0}")]
    Io(#[from] io::Error),
}

/// Copies a conversation to `records/folders.../name`. The folders are made if they are missing.
///
/// # Errors
/// [`Taken`](PlaceError::Taken) if other content is there, and [`Io`](PlaceError::Io) also if one
/// of the folders is a link.
pub(super) fn place(
    records: &Path,
    folders: &[&str],
    name: &str,
    conversation: &mut Placement<'_>,
) -> Result<PathBuf, PlaceError> {
    let mut folder = records.to_owned();
    let mut builder = fs::DirBuilder::new();
    builder.mode(0o700).recursive(true).create(records)?;
    for part in folders {
        sync(&folder)?;
        folder.push(part);
        plain_file::make_folder(&folder)?;
    }
    let path = folder.join(name);
    let draft = folder.join(format!(".{name}.part"));
    remove::file_if_there(&draft)?;
    copy(conversation, &draft)?;
    crash::point("agents.conversation-copied");
    // A link never replaces a name, unlike a rename.
    let linked = fs::hard_link(&draft, &path);
    let placed = match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if has_same_content(&draft, &path)? {
                Ok(path)
            } else {
                Err(PlaceError::Taken(path))
            }
        }
        linked => linked.map(|()| path).map_err(PlaceError::from),
    };
    remove::file_if_there(&draft)?;
    sync(&folder)?;
    placed
}

/// Copies whole lines. A last line that a kill tore is left out, else no program could append to
/// the file.
fn copy(conversation: &mut Placement<'_>, draft: &Path) -> io::Result<()> {
    let new = conversation.new_session.map(SessionId::as_str);
    let ids = new.map(|new| (conversation.session.as_str(), new));
    let mut options = File::options();
    let mut out = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(draft)?;
    let mut content = (&mut *conversation.content).take(MOST + 1);
    let (mut line, mut piece, mut size) = (Vec::new(), vec![0; PIECE], 0_u64);
    loop {
        let read = content.read(&mut piece)?;
        if read == 0 {
            break;
        }
        size += read as u64;
        line.extend_from_slice(&piece[..read]);
        if let Some(end) = piece[..read].iter().rposition(|byte| *byte == b'\n') {
            let whole = line.len() - read + end + 1;
            out.write_all(&with_id(&line[..whole], ids))?;
            line.drain(..whole);
        }
        if size > MOST || line.len() > LONGEST_LINE {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "the conversation is too long",
            ));
        }
    }
    if serde_json::from_slice::<IgnoredAny>(&line).is_ok() {
        line.push(b'\n');
        out.write_all(&with_id(&line, ids))?;
    }
    out.sync_all()
}

/// The bytes with another id, if there are two: the old one and the new one.
fn with_id<'a>(bytes: &'a [u8], ids: Option<(&str, &str)>) -> Cow<'a, [u8]> {
    let Some((old, new)) = ids.filter(|(old, _)| !old.is_empty()) else {
        return Cow::Borrowed(bytes);
    };
    let mut changed = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    let next = |rest: &[u8]| rest.windows(old.len()).position(|it| it == old.as_bytes());
    while let Some(at) = next(rest) {
        changed.extend_from_slice(&rest[..at]);
        changed.extend_from_slice(new.as_bytes());
        rest = &rest[at + old.len()..];
    }
    changed.extend_from_slice(rest);
    Cow::Owned(changed)
}

fn has_same_content(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (plain_file::open(one)?, plain_file::open(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut left, mut right) = (vec![0; PIECE], vec![0; PIECE]);
    loop {
        let read = one.read(&mut left)?;
        if read == 0 {
            return Ok(true);
        }
        match other.read_exact(&mut right[..read]) {
            Ok(()) if left[..read] == right[..read] => {}
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error),
            Ok(()) | Err(_) => return Ok(false),
        }
    }
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Whether a regular file is there.
pub(super) fn is_there(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(false)
        }
        there => Ok(there?.is_file()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn put(records: &Path, content: &str) -> Result<PathBuf, PlaceError> {
        let session = "c".parse().unwrap();
        let mut conversation = Placement {
            session: &session,
            new_session: None,
            worktree: records,
            name: "c.jsonl",
            content: &mut content.as_bytes(),
        };
        place(records, &["a", "b"], "c.jsonl", &mut conversation)
    }

    #[test]
    fn a_copy_is_private_and_never_replaces_another_conversation() {
        let dir = tempfile::tempdir().unwrap();
        let records = dir.path().join("home/records");
        let path = put(&records, "{\"n\":1}\n").unwrap();
        assert_eq!(path, records.join("a/b/c.jsonl"));
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        // A call made again after a kill, with what the kill left.
        fs::write(records.join("a/b/.c.jsonl.part"), "half").unwrap();
        assert_eq!(put(&records, "{\"n\":1}\n").unwrap(), path);
        let names = fs::read_dir(records.join("a/b")).unwrap().count();
        assert_eq!(names, 1);
        for other in ["{\"n\":2}\n", "{\"n\":1}\n{\"n\":2}\n"] {
            let refused = put(&records, other).unwrap_err();
            assert!(matches!(refused, PlaceError::Taken(_)), "{refused}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"n\":1}\n");
    }

    #[test]
    fn a_torn_last_line_is_left_out_and_a_whole_one_gets_its_end() {
        for (content, expected) in [
            ("{\"n\":1}\n{\"n\":", "{\"n\":1}\n"),
            ("{\"n\":1}\n{\"n\":2}", "{\"n\":1}\n{\"n\":2}\n"),
            ("{\"n\"", ""),
            ("", ""),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let path = put(dir.path(), content).unwrap();
            assert_eq!(fs::read_to_string(path).unwrap(), expected, "{content}");
        }
        let dir = tempfile::tempdir().unwrap();
        let long = format!("{{\"n\":\"{}\"}}\n", "x".repeat(PIECE)).repeat(5);
        let path = put(dir.path(), &format!("{long}torn")).unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), long);
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = dir.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let records = dir.path().join("records");
        fs::create_dir(&records).unwrap();
        symlink(&elsewhere, records.join("a")).unwrap();
        assert!(matches!(put(&records, "{}\n"), Err(PlaceError::Io(_))));
        remove::file(&records.join("a")).unwrap();
        fs::create_dir_all(records.join("a/b")).unwrap();
        symlink(elsewhere.join("x"), records.join("a/b/c.jsonl")).unwrap();
        assert!(put(&records, "{}\n").is_err());
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }
}
