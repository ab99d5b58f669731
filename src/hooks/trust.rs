//! Whether a hook's file may be run: it is an executable file of the repository that nobody else can write, or put another in the place of.
//!
//! Invariant: every folder from the file up to the repository's root is looked at, and so is each that a link on the way to it lies in.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

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

/// So many links lead to a file at most, as in the kernel.
const LINKS: usize = 40;

/// The way to a program: where it really lies, and the links that lead there. Replaced, each of them leads elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// Where it lies; absolute.
    pub file: PathBuf,
    /// The links, in the order in which they are followed; absolute.
    links: Vec<PathBuf>,
    root: PathBuf,
}

impl Way {
    /// All of it that lies in the repository, relative to its root.
    pub fn within(&self) -> impl Iterator<Item = &Path> {
        let all = self.links.iter().chain([&self.file]);
        all.filter_map(|at| at.strip_prefix(&self.root).ok())
    }
}

/// Whether the program of a hook may be run; the way to it.
///
/// # Errors
/// Why not, for people.
pub fn look(root: &Path, program: &str) -> Result<Way, Refused> {
    let root = &fs::canonicalize(root).map_err(|error| unreadable(root, &error))?;
    let way = follow(root, program)?;
    let path = &way.file;
    if !path.starts_with(root) {
        return Err(Refused::Outside {
            path: PathBuf::from(program),
            to: path.clone(),
        });
    }
    for link in &way.links {
        judge_folders(root, link.parent().unwrap_or(root))?;
    }
    judge_folders(root, path)?;
    if !path.is_file() {
        return Err(Refused::NoFile(PathBuf::from(program)));
    }
    if access(path, AccessFlags::X_OK).is_err() {
        return Err(Refused::NotExecutable(PathBuf::from(program)));
    }
    Ok(way)
}

/// The names that matter when the program is not there, relative to the root: as it is told, and where links lead.
pub fn names(root: &Path, program: &str) -> Vec<PathBuf> {
    let Ok(root) = fs::canonicalize(root) else {
        return vec![PathBuf::from(program)];
    };
    let mut steps = Steps::new(&root, program);
    while matches!(steps.next(), Ok(Step::On)) {}
    let end = steps.file.join(&steps.rest);
    let within = end.strip_prefix(&root).map(Path::to_owned);
    let mut names = vec![PathBuf::from(program)];
    names.extend(within.ok().filter(|at| *at != names[0]));
    names
}

fn unreadable(path: &Path, error: &io::Error) -> Refused {
    Refused::Unreadable {
        path: path.to_owned(),
        why: error.to_string(),
    }
}

/// Follows the links, one by one.
fn follow(root: &Path, program: &str) -> Result<Way, Refused> {
    let named = root.join(program);
    let mut steps = Steps::new(root, program);
    loop {
        match steps.next() {
            Ok(Step::On) => {}
            Ok(Step::There) => break,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Refused::Missing(PathBuf::from(program)));
            }
            Err(error) => return Err(unreadable(&named, &error)),
        }
    }
    Ok(Way {
        file: steps.file,
        links: steps.links,
        root: root.to_owned(),
    })
}

enum Step {
    On,
    There,
}

/// A walk along a path, as the kernel does it.
struct Steps {
    file: PathBuf,
    rest: PathBuf,
    links: Vec<PathBuf>,
}

impl Steps {
    fn new(root: &Path, program: &str) -> Self {
        Self {
            file: root.to_owned(),
            rest: PathBuf::from(program),
            links: Vec::new(),
        }
    }

    /// One name further. What fails leaves it where it is.
    fn next(&mut self) -> io::Result<Step> {
        let mut parts = self.rest.components();
        let Some(part) = parts.next() else {
            return Ok(Step::There);
        };
        let after = parts.as_path().to_owned();
        match part {
            Component::Normal(name) => return self.enter(self.file.join(name), &after),
            Component::ParentDir => {
                self.file.pop();
            }
            Component::RootDir => self.file = PathBuf::from("/"),
            Component::CurDir | Component::Prefix(_) => {}
        }
        self.rest = after;
        Ok(Step::On)
    }

    fn enter(&mut self, at: PathBuf, after: &Path) -> io::Result<Step> {
        if !fs::symlink_metadata(&at)?.is_symlink() {
            self.file = at;
            after.clone_into(&mut self.rest);
            return Ok(Step::On);
        }
        if self.links.len() == LINKS {
            return Err(nix::errno::Errno::ELOOP.into());
        }
        self.rest = fs::read_link(&at)?.join(after);
        self.links.push(at);
        Ok(Step::On)
    }
}

/// The folders from here up to the root; elsewhere, only the one.
fn judge_folders(root: &Path, from: &Path) -> Result<(), Refused> {
    for at in from.ancestors() {
        let meta = fs::symlink_metadata(at).map_err(|error| unreadable(at, &error))?;
        let told = at.strip_prefix(root).unwrap_or(at);
        let told = if told.as_os_str().is_empty() {
            at
        } else {
            told
        };
        judge(told, &meta)?;
        if at == root || !at.starts_with(root) {
            break;
        }
    }
    Ok(())
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
        let way = look(root.path(), HOOK).unwrap();
        assert_eq!(way.file, fs::canonicalize(root.path()).unwrap().join(HOOK));
        assert!(way.within().eq([Path::new(HOOK)]));
    }

    #[test]
    fn links_are_followed_one_by_one() {
        let root = repository();
        let at = |name: &str| root.path().join(name);
        symlink("deep", at("scripts/shallow")).unwrap();
        symlink("./shallow/../shallow/hook.sh", at("scripts/link.sh")).unwrap();
        symlink(at("scripts/link.sh"), at("first.sh")).unwrap();
        let way = look(root.path(), "./first.sh").unwrap();
        assert_eq!(way.file, fs::canonicalize(at(HOOK)).unwrap());
        let names: Vec<&Path> = way.within().collect();
        let links = [
            "first.sh",
            "scripts/link.sh",
            "scripts/shallow",
            "scripts/shallow",
            HOOK,
        ];
        assert_eq!(names, links.map(Path::new));
        symlink("round.sh", at("round.sh")).unwrap();
        let round = look(root.path(), "round.sh").unwrap_err();
        assert!(matches!(round, Refused::Unreadable { .. }), "{round}");
    }

    #[test]
    fn a_link_that_others_can_replace_is_not_followed() {
        let (root, open) = (repository(), tempfile::tempdir().unwrap());
        let folder = root.path().join("open");
        fs::create_dir(&folder).unwrap();
        symlink("../scripts/deep/hook.sh", folder.join("hook.sh")).unwrap();
        symlink("open/hook.sh", root.path().join("first.sh")).unwrap();
        symlink(root.path().join(HOOK), open.path().join("hook.sh")).unwrap();
        symlink(open.path().join("hook.sh"), root.path().join("round.sh")).unwrap();
        for at in [folder.as_path(), open.path()] {
            mode(at, 0o755);
        }
        let all = ["open/hook.sh", "first.sh", "round.sh"];
        for program in all {
            look(root.path(), program).unwrap();
        }
        for at in [folder.as_path(), open.path()] {
            mode(at, 0o1777);
        }
        for program in all {
            let refused = look(root.path(), program).unwrap_err();
            assert!(
                matches!(refused, Refused::Writable(_)),
                "{program}: {refused}"
            );
        }
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
