//! Whether a hook's file may be run: it is an executable file of the repository that nobody else can write, or put another in the place of.
//!
//! Invariant: every folder from the file up to the repository's root is looked at, along the way that links lead.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access, getegid, geteuid};

/// Others may write it.
const OTHERS: u32 = 0o002;
/// Its group may.
const GROUP: u32 = 0o020;

/// Why a hook is not run.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Refused {
    /// There is no such file.
    #[error("{} is not there", .0.display())]
    Missing(PathBuf),
    /// It cannot be looked at.
    #[error("{} cannot be looked at: {why}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// A directory, a pipe or the like.
    #[error("{} is no file", .0.display())]
    NoFile(PathBuf),
    /// It lies elsewhere, or a link leads elsewhere.
    #[error("{} leads out of the repository, to {}", path.display(), to.display())]
    Outside {
        /// As it is named.
        path: PathBuf,
        /// Where that is.
        to: PathBuf,
    },
    /// Somebody else could change it.
    #[error("{} can be written by others: chmod go-w {}", .0.display(), .0.display())]
    Writable(PathBuf),
    /// Somebody else's.
    #[error("{} belongs to another user (uid {owner})", path.display())]
    Foreign {
        /// Which.
        path: PathBuf,
        /// Whose.
        owner: u32,
    },
    /// It is not executable.
    #[error("{} is not executable: chmod +x {}", .0.display(), .0.display())]
    NotExecutable(PathBuf),
}

/// Whether the program of a hook may be run; where it really lies.
///
/// # Errors
/// Why not, for people.
pub fn look(root: &Path, program: &str) -> Result<PathBuf, Refused> {
    let named = root.join(program);
    let unreadable = |path: &Path, error: &io::Error| Refused::Unreadable {
        path: path.to_owned(),
        why: error.to_string(),
    };
    let path = fs::canonicalize(&named).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Refused::Missing(PathBuf::from(program)),
        _ => unreadable(&named, &error),
    })?;
    let root = fs::canonicalize(root).map_err(|error| unreadable(root, &error))?;
    let Ok(within) = path.strip_prefix(&root) else {
        return Err(Refused::Outside {
            path: PathBuf::from(program),
            to: path,
        });
    };
    for at in within.ancestors() {
        let at = root.join(at);
        let meta = fs::symlink_metadata(&at).map_err(|error| unreadable(&at, &error))?;
        let told = at.strip_prefix(&root).unwrap_or(&at);
        let told = if told.as_os_str().is_empty() {
            &at
        } else {
            told
        };
        judge(told, &meta)?;
    }
    if !path.is_file() {
        return Err(Refused::NoFile(PathBuf::from(program)));
    }
    if access(&path, AccessFlags::X_OK).is_err() {
        return Err(Refused::NotExecutable(PathBuf::from(program)));
    }
    Ok(path)
}

/// The user's own group may write where each user has one, as many systems have it.
fn judge(path: &Path, meta: &Metadata) -> Result<(), Refused> {
    let owner = meta.uid();
    if owner != geteuid().as_raw() && owner != 0 {
        return Err(Refused::Foreign {
            path: path.to_owned(),
            owner,
        });
    }
    let by_group = meta.mode() & GROUP != 0 && meta.gid() != getegid().as_raw();
    if meta.mode() & OTHERS != 0 || by_group {
        return Err(Refused::Writable(path.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn repository() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("scripts/deep");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("hook.sh"), "#!/bin/sh\n").unwrap();
        mode(&folder.join("hook.sh"), 0o755);
        mode(&folder, 0o755);
        mode(&root.path().join("scripts"), 0o755);
        root
    }

    const HOOK: &str = "scripts/deep/hook.sh";

    #[test]
    fn a_plain_executable_file_is_run() {
        let root = repository();
        let path = look(root.path(), HOOK).unwrap();
        assert_eq!(path, fs::canonicalize(root.path()).unwrap().join(HOOK));
        symlink("deep/hook.sh", root.path().join("scripts/link.sh")).unwrap();
        assert_eq!(look(root.path(), "scripts/link.sh").unwrap(), path);
    }

    #[test]
    fn what_others_can_write_is_not() {
        for at in ["scripts/deep/hook.sh", "scripts/deep", "scripts"] {
            for bits in [0o777, 0o757] {
                let root = repository();
                mode(&root.path().join(at), bits);
                let refused = look(root.path(), HOOK).unwrap_err();
                assert_eq!(refused, Refused::Writable(at.into()));
                assert!(refused.to_string().contains(&format!("chmod go-w {at}")));
            }
        }
        let root = repository();
        mode(root.path(), 0o707);
        assert!(matches!(look(root.path(), HOOK), Err(Refused::Writable(_))));
    }

    #[test]
    fn what_a_foreign_group_can_write_is_not() {
        let root = repository();
        let file = root.path().join(HOOK);
        mode(&file, 0o775);
        look(root.path(), HOOK).unwrap();
        if !geteuid().is_root() {
            return;
        }
        nix::unistd::chown(&file, None, Some(4_242.into())).unwrap();
        assert!(matches!(look(root.path(), HOOK), Err(Refused::Writable(_))));
        nix::unistd::chown(&file, Some(4_242.into()), None).unwrap();
        let refused = look(root.path(), HOOK).unwrap_err();
        assert!(
            refused.to_string().contains("another user (uid 4242)"),
            "{refused}"
        );
    }

    #[test]
    fn what_is_no_executable_file_is_not() {
        let root = repository();
        mode(&root.path().join(HOOK), 0o644);
        let refused = look(root.path(), HOOK).unwrap_err();
        assert_eq!(refused, Refused::NotExecutable(HOOK.into()));
        let folder = look(root.path(), "scripts/deep").unwrap_err();
        assert_eq!(folder, Refused::NoFile("scripts/deep".into()));
        let none = look(root.path(), "none.sh").unwrap_err();
        assert_eq!(none.to_string(), "none.sh is not there");
        let below = look(root.path(), "scripts/deep/hook.sh/below").unwrap_err();
        assert!(matches!(below, Refused::Unreadable { .. }), "{below}");
    }

    #[test]
    fn what_lies_elsewhere_is_not() {
        let (root, other) = (repository(), repository());
        let there = other.path().join(HOOK);
        symlink(&there, root.path().join("link.sh")).unwrap();
        symlink(other.path().join("scripts"), root.path().join("folder")).unwrap();
        let absolute = there.to_str().unwrap();
        for program in ["link.sh", "folder/deep/hook.sh", absolute, "/bin/sh"] {
            let refused = look(root.path(), program).unwrap_err();
            assert!(
                matches!(refused, Refused::Outside { .. }),
                "{program}: {refused}"
            );
        }
        symlink("nowhere", root.path().join("dangling.sh")).unwrap();
        let refused = look(root.path(), "dangling.sh").unwrap_err();
        assert_eq!(refused, Refused::Missing("dangling.sh".into()));
    }
}
