//! Checks names from outside and escapes names for people.
//!
//! Invariant: nothing becomes a directory, branch or reference before it is checked here, and names
//! from git or the file system are shown without control characters. Internally, paths stay bytes.

use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::git::GitError;

const LONGEST_NAME: usize = 160;

/// Full reference name of a branch, if `name` is a valid branch name.
pub fn branch_ref(name: &str) -> Result<String, GitError> {
    let full = format!("refs/heads/{name}");
    let why = if name.starts_with('-') {
        "it starts with a dash"
    } else if name == "HEAD" {
        "git reserves the name HEAD"
    } else if !is_valid(&full) {
        "git does not allow it (see `git check-ref-format`)"
    } else {
        return Ok(full);
    };
    Err(bad("branch", name, why))
}

/// Checks a full reference name, such as `refs/swarm/rescue/x`.
pub fn check_ref(name: &str) -> Result<(), GitError> {
    let fine = name.starts_with("refs/") && is_valid(name);
    fine.then_some(()).ok_or_else(|| {
        bad(
            "reference",
            name,
            "git does not allow it (see `git check-ref-format`)",
        )
    })
}

/// Whether git allows a full reference name; the rules are those of `git check-ref-format`.
fn is_valid(name: &str) -> bool {
    let forbidden = |byte: u8| byte <= b' ' || byte == 0x7f || b"~^:?*[\\".contains(&byte);
    let component = |part: &str| {
        !part.is_empty() && !part.starts_with('.') && !part.to_ascii_lowercase().ends_with(".lock")
    };
    name.contains('/')
        && name.split('/').all(component)
        && !name.ends_with('.')
        && !name.contains("..")
        && !name.contains("@{")
        && !name.bytes().any(forbidden)
}

/// Checks the name of a worktree's directory. Names starting with a dot are swarm's own.
pub fn check_worktree(name: &str) -> Result<(), GitError> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let fine = name.len() <= LONGEST_NAME
        && !name.starts_with('-')
        && !name.is_empty()
        && name.bytes().all(plain);
    let why =
        "a name has up to 160 characters from a-z, 0-9 and dash, and does not start with a dash";
    fine.then_some(()).ok_or_else(|| bad("worktree", name, why))
}

fn bad(what: &'static str, name: &str, why: &'static str) -> GitError {
    let name = printable(name.as_bytes());
    GitError::BadName { what, name, why }
}

/// A path for people: UTF-8 as it is; other bytes and control characters as `\xHH`.
pub fn shown(path: &Path) -> String {
    printable(path.as_os_str().as_bytes())
}

/// Bytes for people: UTF-8 as it is; other bytes and control characters as `\xHH`.
pub fn printable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            if letter.is_control() {
                let mut buffer = [0; 4];
                escape(&mut text, letter.encode_utf8(&mut buffer).as_bytes());
            } else {
                text.push(letter);
            }
        }
        escape(&mut text, chunk.invalid());
    }
    text
}

/// A path quoted for a shell command.
pub(crate) fn quoted(path: &Path) -> String {
    let text = shown(path);
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+@%=:,".contains(letter);
    if text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn escape(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "\\x{byte:02x}");
    }
}

/// A path from git's output.
pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_that_git_or_the_file_system_would_misread_are_refused() {
        for name in [
            "", "-x", "a..b", "a b", "a~1", "x.lock", "HEAD", "a\nb", "@{-1}", "a/",
        ] {
            assert!(branch_ref(name).is_err(), "{name:?}");
        }
        assert_eq!(
            branch_ref("agent/ed-001/idea-003").unwrap(),
            "refs/heads/agent/ed-001/idea-003"
        );
        for name in ["", ".pool-1", "-x", "a/b", "..", "A", "a b"] {
            assert!(check_worktree(name).is_err(), "{name:?}");
        }
        assert!(check_worktree("ed-001-idea-003").is_ok());
        assert!(check_ref("refs/swarm/../x").is_err() && check_ref("HEAD").is_err());
    }

    #[test]
    fn odd_bytes_are_shown_and_never_sent_to_the_terminal() {
        assert_eq!(
            printable(b"a\x1b[31m\xffb\xc3\xa9\n"),
            "a\\x1b[31m\\xffb\u{e9}\\x0a"
        );
    }
}
