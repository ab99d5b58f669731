//! Why an archive is refused, or not written.
//!
//! Invariant: a refused archive changed nothing but the staging folder, which is removed again.
//! Names in messages are escaped: an archive may come from anybody.

use std::io;
use std::path::{Path, PathBuf};

/// Why an archive cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// A system call on one of our own files failed.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What failed, as a verb phrase.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The archive cannot be read.
    #[error("the archive cannot be read: {0}")]
    Unreadable(io::Error),
    /// The archive cannot be written.
    #[error("the archive cannot be written: {0}")]
    Unwritable(io::Error),
    /// The file that it would be written to is there.
    #[error("{} is already there; an export replaces no file", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Another export writes it.
    #[error("another export is writing {}", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// A file changed while it was packed.
    #[error("`{}` changed while it was packed", shown(name))]
    Changed {
        /// The file.
        name: String,
    },
    /// It is something else.
    #[error("this is no archive of swarm: {why}")]
    NotAnArchive {
        /// What shows it.
        why: String,
    },
    /// A newer program wrote it.
    #[error(
        "the archive has format {found}, but this swarm reads formats up to {}",
        super::manifest::VERSION
    )]
    Newer {
        /// Its version.
        found: String,
    },
    /// Its list of files is wrong.
    #[error("the manifest of the archive is damaged: {why}")]
    Manifest {
        /// In which way.
        why: String,
    },
    /// A file has a name that no file of an archive has.
    #[error(
        "the archive has a file with a name that is not allowed: `{}`",
        shown(name)
    )]
    Name {
        /// The name.
        name: String,
    },
    /// Two files have the same name, or one has the name of another's folder.
    #[error("the archive has two files at `{}`", shown(name))]
    Duplicate {
        /// The name.
        name: String,
    },
    /// It is a link, a folder, a device or an extension of the format.
    #[error(
        "the archive has {kind} at `{}`; only plain files are allowed",
        shown(name)
    )]
    NotAFile {
        /// Its name.
        name: String,
        /// What it is.
        kind: &'static str,
    },
    /// A header has fields that swarm never writes.
    #[error("the header of `{}` is not as swarm writes it", shown(name))]
    Header {
        /// The file.
        name: String,
    },
    /// Another file stands where the list has this one.
    #[error(
        "the archive has `{}` where its list has `{}`",
        shown(found),
        shown(expected)
    )]
    Order {
        /// The file that is listed.
        expected: String,
        /// The file that is there.
        found: String,
    },
    /// A file of an agent stands where it must not.
    #[error("the archive has `{}` in the wrong place", shown(name))]
    Misplaced {
        /// The file.
        name: String,
    },
    /// It has a whole swarm where an agent's state is wanted.
    #[error("this is the archive of a whole swarm")]
    WholeSwarm,
    /// A file that is listed is not there.
    #[error("the archive ends before `{}`, which its list has", shown(name))]
    Missing {
        /// The file.
        name: String,
    },
    /// A file has another size.
    #[error(
        "`{}` has {found} bytes, but the list of the archive says {listed}",
        shown(name)
    )]
    Size {
        /// The file.
        name: String,
        /// Bytes by the list.
        listed: u64,
        /// Bytes by its header.
        found: u64,
    },
    /// A file has other content.
    #[error(
        "`{}` is damaged: its SHA-256 is not the one in the list of the archive",
        shown(name)
    )]
    Digest {
        /// The file.
        name: String,
    },
    /// Too many files.
    #[error("the archive lists {found} files; at most {limit} are allowed")]
    TooManyFiles {
        /// Files in the list.
        found: usize,
        /// Most files.
        limit: usize,
    },
    /// Too many bytes.
    #[error("the archive would unpack to more than {limit} bytes")]
    TooLarge {
        /// Most bytes.
        limit: u64,
    },
    /// The end is missing.
    #[error("the archive is not complete: it ends in the middle")]
    Truncated,
    /// The compressed bytes are damaged.
    #[error("the archive is damaged: {why}")]
    Damaged {
        /// In which way.
        why: String,
    },
    /// Something follows the end.
    #[error("the archive has more bytes after its end")]
    Trailing,
}

impl ArchiveError {
    /// What to do next: each a sentence, or `purpose: command`.
    pub fn suggestions(&self) -> Vec<String> {
        let suggestions: &[&str] = match self {
            Self::Io { .. } | Self::Unreadable(_) | Self::Unwritable(_) => {
                &["fix the cause, then try again"]
            }
            Self::Exists { .. } => &["choose another name, or move the file away"],
            Self::Busy { .. } => &["wait for it, or choose another name"],
            Self::Changed { .. } => &["try again"],
            Self::NotAnArchive { .. } => {
                &["make an archive: swarm snapshot export FILE.swarm.tar.zst"]
            }
            Self::WholeSwarm => {
                &["import it in a clone without a swarm: swarm snapshot import FILE"]
            }
            Self::Newer { .. } => &["use the newer swarm that wrote it"],
            Self::TooManyFiles { .. } | Self::TooLarge { .. } => {
                &["swarm writes no archive of this size: use it only if you know where it is from"]
            }
            Self::Truncated | Self::Missing { .. } => &[
                "copy the archive again, and compare its size with the one where it is from",
                "or make it again: swarm snapshot export FILE.swarm.tar.zst",
            ],
            Self::Manifest { .. }
            | Self::Name { .. }
            | Self::Duplicate { .. }
            | Self::NotAFile { .. }
            | Self::Header { .. }
            | Self::Order { .. }
            | Self::Misplaced { .. }
            | Self::Size { .. }
            | Self::Digest { .. }
            | Self::Damaged { .. }
            | Self::Trailing => &[
                "the archive is not as swarm wrote it: copy it again from where it was made",
                "or make it again: swarm snapshot export FILE.swarm.tar.zst",
            ],
        };
        suggestions.iter().map(ToString::to_string).collect()
    }

    /// Wraps the system's error of `doing` something to `path`, for `map_err`.
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            doing,
            path,
            source,
        }
    }
}

/// First characters of an untrusted name, with control characters escaped.
fn shown(name: &str) -> String {
    let mut short: String = name
        .chars()
        .take(100)
        .flat_map(char::escape_default)
        .collect();
    if name.chars().nth(100).is_some() {
        short.push_str("...");
    }
    short
}
