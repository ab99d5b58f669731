//! Finds the repository that a command works on.
//!
//! Invariant: the root is canonical and contains a `.swarm` directory. Neither `.swarm` nor a
//! folder in it or in the git directory that swarm writes to is a symbolic link. The root is never
//! one of our own worktrees, nor a person's: a checked-out `.swarm` there is not the state.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::CliError;
use crate::daemon::Paths;
use crate::git;

/// The folder that contains everything swarm writes.
pub const FOLDER: &str = ".swarm";

/// The folders below `.swarm` that swarm writes to.
const WRITTEN: [&str; 7] = [
    "state",
    "state/memory",
    "checkpoints",
    "provenance",
    "logs",
    "inbox",
    "inbox/accepted",
];

/// A repository in which `swarm init` has been run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repo {
    root: PathBuf,
    paths: Paths,
    linked: bool,
}

impl Repo {
    /// Finds the repository of `start`: the nearest folder upwards that contains `.swarm`, or is
    /// a linked worktree of one.
    pub fn find(start: &Path) -> Result<Self, CliError> {
        let start = fs::canonicalize(start)
            .map_err(|error| CliError::io(format!("open {}", start.display()), &error))?;
        let Some(mut root) = holder(&start) else {
            return Err(not_set_up(&start));
        };
        let linked = main_worktree(&root).is_some();
        while let Some(main) = owner_of_folder(&root).or_else(|| main_worktree(&root)) {
            root = main;
        }
        check_folder(&root)?;
        let paths = Paths::new(&root);
        refuse_links(&paths)?;
        let linked = linked && !start.starts_with(&paths.worktrees);
        Ok(Self {
            root,
            paths,
            linked,
        })
    }

    /// Whether the search began in a linked worktree of a person, which shares this swarm.
    pub fn is_shared(&self) -> bool {
        self.linked
    }

    /// Its paths, for work without a daemon.
    pub fn paths(&self) -> Paths {
        self.paths.clone()
    }

    /// The repository's root, canonical.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `.swarm`.
    pub fn folder(&self) -> PathBuf {
        self.root.join(FOLDER)
    }

    /// `.swarm/state`.
    pub fn state(&self) -> PathBuf {
        self.folder().join("state")
    }

    /// `.swarm/logs`.
    pub fn logs(&self) -> PathBuf {
        self.folder().join("logs")
    }

    /// `<git common directory>/swarm`.
    pub fn private(&self) -> PathBuf {
        self.paths.private.clone()
    }

    /// `<git common directory>/swarm/runs`.
    pub fn runs(&self) -> PathBuf {
        self.paths.runs.clone()
    }
}

fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Why no command works in `start`.
fn not_set_up(start: &Path) -> CliError {
    let shown = start.display();
    if start.ancestors().any(|folder| folder.join(".git").exists()) {
        let message = format!("there is no {FOLDER} in {shown} or any folder above it");
        let kept = start
            .ancestors()
            .find(|folder| folder.join(".git").exists());
        let kept = kept.and_then(|root| Paths::new(root).second_names());
        if kept.is_some_and(|names| names.is_any()) {
            return CliError::refused(format!(
                "{message}, but the ideas and the history of the swarm that was here are kept in \
                the git directory"
            ))
            .hint("go on with it: swarm init --restore");
        }
        return CliError::refused(message).hint("set this repository up: swarm init");
    }
    CliError::refused(format!("{shown} is not in a git repository"))
        .hint("change to your repository, or name it: swarm -C DIR ...")
        .hint("or create one here: git init && swarm init")
}

fn holder(start: &Path) -> Option<PathBuf> {
    let holds = |folder: &&Path| exists(&folder.join(FOLDER)) || main_worktree(folder).is_some();
    start.ancestors().find(holds).map(Path::to_path_buf)
}

/// `R` for a folder inside `R/.swarm`.
fn owner_of_folder(root: &Path) -> Option<PathBuf> {
    let inside = root.ancestors().find(|path| path.ends_with(FOLDER))?;
    let owner = inside.parent()?;
    exists(&inside.join("config.json")).then(|| owner.to_path_buf())
}

/// The main worktree of a linked worktree, swarm's or a person's, if the main one has a `.swarm`:
/// a repository has one swarm. The file `.git` of a linked worktree names it.
fn main_worktree(root: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(root.join(".git")).ok()?;
    let git_dir = root.join(text.strip_prefix("gitdir:")?.trim());
    let worktrees = git_dir
        .parent()
        .filter(|path| path.ends_with("worktrees"))?;
    let common = worktrees.parent()?;
    let main = if common.ends_with(".git") {
        fs::canonicalize(common.parent()?).ok()?
    } else {
        // A git directory elsewhere, as after `git init --separate-git-dir`.
        git::main_root(root)?
    };
    (main != root && exists(&main.join(FOLDER))).then_some(main)
}

fn check_folder(root: &Path) -> Result<(), CliError> {
    let folder = root.join(FOLDER);
    let kind = fs::symlink_metadata(&folder)
        .map_err(|error| CliError::io(format!("inspect {}", folder.display()), &error))?
        .file_type();
    if kind.is_dir() {
        return Ok(());
    }
    let what = if kind.is_symlink() {
        "a symbolic link"
    } else {
        "not a folder"
    };
    Err(CliError::refused(format!(
        "{} is {what}; swarm only uses a real folder, because a link could lead anywhere",
        folder.display()
    ))
    .hint(format!(
        "remove it, then set the repository up: rm {} && swarm init",
        folder.display()
    )))
}

/// Through a link, swarm would write and remove files that are not its own.
fn refuse_links(paths: &Paths) -> Result<(), CliError> {
    let is_link = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink());
    let written = WRITTEN.iter().map(|name| paths.swarm.join(name));
    let private = [
        paths.private.clone(),
        paths.runs.clone(),
        paths.private.join("log"),
    ];
    let Some(link) = written.chain(private).find(is_link) else {
        return Ok(());
    };
    Err(CliError::refused(format!(
        "{} is a symbolic link; swarm writes and removes files there, so it must be a real folder",
        link.display()
    ))
    .hint(format!(
        "remove the link; swarm creates the folder again: rm {}",
        link.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repo() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap().join("repo");
        fs::create_dir_all(root.join(".swarm")).unwrap();
        fs::write(root.join(".swarm/config.json"), "{}").unwrap();
        (dir, root)
    }

    fn mkdir(path: &Path) -> &Path {
        fs::create_dir_all(path).unwrap();
        path
    }

    #[test]
    fn the_root_is_found_from_a_subfolder() {
        let (_dir, root) = repo();
        let below = root.join("src/deep");
        assert_eq!(Repo::find(mkdir(&below)).unwrap().root(), root);
        let state = root.join(".swarm/state");
        assert_eq!(Repo::find(mkdir(&state)).unwrap().root(), root);
    }

    #[test]
    fn a_worktree_of_ours_belongs_to_the_main_repository() {
        let (_dir, root) = repo();
        let folder = tempfile::tempdir().unwrap();
        let worktree = fs::canonicalize(folder.path()).unwrap().join("w01");
        let deep = worktree.join("src");
        mkdir(&deep);
        let text = format!("gitdir: {}/.git/worktrees/w01\n", root.display());
        fs::write(worktree.join(".git"), text).unwrap();
        // Whether or not the person has committed `.swarm`.
        assert_eq!(Repo::find(&deep).unwrap().root(), root);
        mkdir(&worktree.join(".swarm"));
        fs::write(worktree.join(".swarm/config.json"), "{}").unwrap();
        assert_eq!(Repo::find(&deep).unwrap().root(), root);
        assert_eq!(Repo::find(&worktree.join(".swarm")).unwrap().root(), root);
    }

    #[test]
    fn another_worktree_of_the_repository_shares_its_swarm() {
        let (dir, root) = repo();
        mkdir(&root.join(".git/worktrees/other"));
        let other = fs::canonicalize(dir.path()).unwrap().join("other");
        mkdir(&other.join(".swarm"));
        let gitdir = root.join(".git/worktrees/other");
        fs::write(
            other.join(".git"),
            format!("gitdir: {}\n", gitdir.display()),
        )
        .unwrap();
        let found = Repo::find(&other).unwrap();
        assert!(found.root() == root && found.is_shared());
        assert!(!Repo::find(&root).unwrap().is_shared());
    }

    #[test]
    fn without_the_folder_the_hint_is_init() {
        let dir = tempfile::tempdir().unwrap();
        let outside = Repo::find(dir.path()).unwrap_err();
        assert!(outside.hints[0].contains("swarm -C"), "{outside:?}");
        fs::create_dir(dir.path().join(".git")).unwrap();
        let error = Repo::find(dir.path()).unwrap_err();
        assert_eq!(error.kind.exit_code(), 1);
        assert!(error.hints[0].contains("swarm init"), "{error:?}");
        assert!(Repo::find(&dir.path().join("nowhere")).is_err());
    }

    #[test]
    fn a_link_in_place_of_a_folder_that_swarm_writes_to_is_refused() {
        for name in WRITTEN {
            let (dir, root) = repo();
            let link = root.join(FOLDER).join(name);
            mkdir(link.parent().unwrap());
            std::os::unix::fs::symlink(dir.path(), &link).unwrap();
            let error = Repo::find(&root).unwrap_err();
            assert!(error.message.contains("symbolic link"), "{name}: {error}");
            assert!(error.hints[0].contains(name), "{name}: {error}");
        }
    }

    #[test]
    fn a_link_in_place_of_a_folder_in_the_git_directory_is_refused() {
        for name in ["swarm", "swarm/runs", "swarm/log"] {
            let (dir, root) = repo();
            let link = root.join(".git").join(name);
            mkdir(link.parent().unwrap());
            std::os::unix::fs::symlink(dir.path(), &link).unwrap();
            let error = Repo::find(&root).unwrap_err();
            assert!(error.message.contains("symbolic link"), "{name}: {error}");
        }
    }

    #[test]
    fn a_link_in_place_of_the_swarm_folder_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), dir.path().join(".swarm")).unwrap();
        let error = Repo::find(dir.path()).unwrap_err();
        assert!(error.message.contains("symbolic link"), "{error}");
    }
}
