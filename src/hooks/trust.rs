//! Decides whether a hook may run: its file must be executable, inside the repository, and such
//! that no other user can write or replace it. A script that the system cannot execute is refused
//! too, so that people know before a night.
//!
//! Invariant: checks every directory from the file up to the repository's root, and those of every
//! link on the way to the file.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use nix::unistd::{AccessFlags, access, getegid, geteuid};

use crate::plain_file::{self, ScriptFault};

/// Permission bit: others may write.
const OTHERS: u32 = 0o002;
/// Permission bit: the group may write.
const GROUP: u32 = 0o020;

/// Why a hook may not run.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum Refused {
    /// The file does not exist.
    #[error("{} does not exist", .0.display())]
    Missing(PathBuf),
    /// A system call failed.
    #[error("cannot inspect {}: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    /// A directory, a pipe or the like.
    #[error("{} is not a regular file", .0.display())]
    NoFile(PathBuf),
    /// The file, or the target of a link, is outside the repository.
    #[error("{} is outside the repository: it resolves to {}", path.display(), to.display())]
    Outside {
        /// The path as configured.
        path: PathBuf,
        to: PathBuf,
    },
    /// Another user could change the file or directory.
    #[error("other users can write to {}; run `chmod go-w {}`", .0.display(), .0.display())]
    Writable(PathBuf),
    /// Another user owns the file or directory.
    #[error("{} belongs to another user (uid {owner})", path.display())]
    Foreign { path: PathBuf, owner: u32 },
    /// The file is not executable.
    #[error("{} is not executable; run `chmod +x {}`", .0.display(), .0.display())]
    NotExecutable(PathBuf),
    /// The system cannot execute the script: its line ends or its interpreter.
    #[error("{0}")]
    Script(ScriptFault),
}

/// Limit on the links followed to one file, as in the kernel.
const LINKS: usize = 40;

/// The resolved path of a program and every link on the way. Whoever replaces one of them redirects
/// the hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// The file itself; absolute.
    pub file: PathBuf,
    /// The links in the order they are followed; absolute.
    links: Vec<PathBuf>,
    root: PathBuf,
}

impl Way {
    /// The links and the file, relative to the repository's root, as far as they are inside it.
    pub fn within(&self) -> impl Iterator<Item = &Path> {
        let all = self.links.iter().chain([&self.file]);
        all.filter_map(|at| at.strip_prefix(&self.root).ok())
    }
}

/// Checks that a hook's program may run, and returns the way to it.
///
/// # Errors
/// The reason for people why it may not.
pub fn inspect_program(root: &Path, program: &str) -> Result<Way, Refused> {
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
    match plain_file::script_fault(path, program) {
        Some(fault) => Err(Refused::Script(fault)),
        None => Ok(way),
    }
}

/// The paths that matter when the program is missing, relative to the root: the configured one, and
/// the one its links lead to.
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

/// Follows the links one by one.
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

/// Resolves a path step by step, as the kernel does.
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

    /// Resolves one component. A failure changes nothing.
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

/// Checks `from` and its parents up to the root; outside the root, `from` alone.
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

/// Refuses a path that another user owns or can write. Write access for the user's own group is
/// fine: many systems give each user a private group.
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
    fn a_plain_executable_file_may_run() {
        let root = repository();
        let way = inspect_program(root.path(), HOOK).unwrap();
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
        let way = inspect_program(root.path(), "./first.sh").unwrap();
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
        let round = inspect_program(root.path(), "round.sh").unwrap_err();
        assert!(matches!(round, Refused::Unreadable { .. }), "{round}");
    }

    #[test]
    fn a_link_that_others_can_replace_is_refused() {
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
            inspect_program(root.path(), program).unwrap();
        }
        for at in [folder.as_path(), open.path()] {
            mode(at, 0o1777);
        }
        for program in all {
            let refused = inspect_program(root.path(), program).unwrap_err();
            assert!(
                matches!(refused, Refused::Writable(_)),
                "{program}: {refused}"
            );
        }
    }

    #[test]
    fn a_file_or_folder_that_others_can_write_is_refused() {
        for at in ["scripts/deep/hook.sh", "scripts/deep", "scripts"] {
            for bits in [0o777, 0o757] {
                let root = repository();
                mode(&root.path().join(at), bits);
                let refused = inspect_program(root.path(), HOOK).unwrap_err();
                assert_eq!(refused, Refused::Writable(at.into()));
                assert!(refused.to_string().contains(&format!("chmod go-w {at}")));
            }
        }
        let root = repository();
        mode(root.path(), 0o707);
        assert!(matches!(
            inspect_program(root.path(), HOOK),
            Err(Refused::Writable(_))
        ));
    }

    #[test]
    fn a_file_of_a_foreign_group_or_user_is_refused() {
        let root = repository();
        let file = root.path().join(HOOK);
        mode(&file, 0o775);
        inspect_program(root.path(), HOOK).unwrap();
        if !geteuid().is_root() {
            return;
        }
        nix::unistd::chown(&file, None, Some(4_242.into())).unwrap();
        assert!(matches!(
            inspect_program(root.path(), HOOK),
            Err(Refused::Writable(_))
        ));
        nix::unistd::chown(&file, Some(4_242.into()), None).unwrap();
        let refused = inspect_program(root.path(), HOOK).unwrap_err();
        assert!(
            refused.to_string().contains("another user (uid 4242)"),
            "{refused}"
        );
    }

    #[test]
    fn anything_but_an_executable_file_is_refused() {
        let root = repository();
        mode(&root.path().join(HOOK), 0o644);
        let refused = inspect_program(root.path(), HOOK).unwrap_err();
        assert_eq!(refused, Refused::NotExecutable(HOOK.into()));
        let folder = inspect_program(root.path(), "scripts/deep").unwrap_err();
        assert_eq!(folder, Refused::NoFile("scripts/deep".into()));
        let none = inspect_program(root.path(), "none.sh").unwrap_err();
        assert_eq!(none.to_string(), "none.sh does not exist");
        let below = inspect_program(root.path(), "scripts/deep/hook.sh/below").unwrap_err();
        assert!(matches!(below, Refused::Unreadable { .. }), "{below}");
    }

    #[test]
    fn a_script_that_the_system_cannot_execute_is_refused() {
        let root = repository();
        for (text, expected) in [
            (
                "#!/bin/sh\r\nexit 0\r\n",
                "sed -i 's/\\r$//' scripts/deep/hook.sh",
            ),
            ("#!/nowhere/sh\n", "/nowhere/sh"),
        ] {
            fs::write(root.path().join(HOOK), text).unwrap();
            let refused = inspect_program(root.path(), HOOK).unwrap_err();
            assert!(refused.to_string().contains(expected), "{refused}");
        }
    }

    #[test]
    fn a_file_outside_the_repository_is_refused() {
        let (root, other) = (repository(), repository());
        let there = other.path().join(HOOK);
        symlink(&there, root.path().join("link.sh")).unwrap();
        symlink(other.path().join("scripts"), root.path().join("folder")).unwrap();
        let absolute = there.to_str().unwrap();
        for program in ["link.sh", "folder/deep/hook.sh", absolute, "/bin/sh"] {
            let refused = inspect_program(root.path(), program).unwrap_err();
            assert!(
                matches!(refused, Refused::Outside { .. }),
                "{program}: {refused}"
            );
        }
        symlink("nowhere", root.path().join("dangling.sh")).unwrap();
        let refused = inspect_program(root.path(), "dangling.sh").unwrap_err();
        assert_eq!(refused, Refused::Missing("dangling.sh".into()));
    }
}
