//! An open repository: its directories, its committer, its branches.
//!
//! Invariant: a [`Repo`] always stands for the *main* repository and its work tree, even if it was
//! opened from a subdirectory, a linked worktree or an agent's worktree. `.swarm` lies at the root
//! of that work tree. A [`Repo`] holds no open files and may be cloned and used from several
//! threads. Directories are passed to git explicitly, never discovered.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use git2::{ErrorCode, Oid};

use super::error::{At, GitError};
use super::exec::command::{self, Git, Host};
use super::exec::config_guard::{Guard, Setting};
use super::exec::running::Running;
use super::objects::names::{branch_ref, shown};
use crate::domain::time::Timestamp;
use crate::plain_file;

/// Options of [`Repo::open_with`].
#[derive(Debug, Clone)]
pub struct Settings {
    /// Extra environment variables for every git command; they override inherited ones.
    pub environment: Vec<(OsString, OsString)>,
    /// How long to wait for a lock held by a live process.
    pub lock_wait: Duration,
    /// Settings that may run programs, as returned by an earlier [`Repo::programs`]. `None`: trust
    /// the current ones.
    pub trusted: Option<Vec<Setting>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            environment: Vec::new(),
            lock_wait: Duration::from_secs(5),
            trusted: None,
        }
    }
}

/// Author and committer of swarm's commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// `user.name`, or `swarm`.
    pub name: String,
    /// `user.email`, or `swarm@localhost`.
    pub email: String,
    /// Whether git's configuration sets both.
    pub configured: bool,
}

/// A cached identity, with the modification time of the repository's configuration file.
#[derive(Debug)]
struct CachedIdentity {
    at: Instant,
    changed: Option<SystemTime>,
    identity: Identity,
}

/// Maximum age of a cached identity.
const IDENTITY_AGE: Duration = Duration::from_secs(30);

/// An open repository. Cheap to clone; every method is synchronous and may block on the disk.
#[derive(Debug, Clone)]
pub struct Repo(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    common: PathBuf,
    host: Host,
    lock_wait: Duration,
    /// Held for a few milliseconds while a worktree is registered, renamed or taken from the pool.
    registry: Mutex<()>,
    /// Folder of the worktrees; `None` before it is chosen.
    worktrees: RwLock<Option<PathBuf>>,
    /// Cached because a lookup takes two git commands.
    identity: Mutex<Option<CachedIdentity>>,
}

impl Repo {
    /// Opens the repository that contains `dir`. [`GitError`] lists what is refused.
    pub fn open(dir: &Path) -> Result<Self, GitError> {
        Self::open_with(dir, Settings::default())
    }

    /// [`Repo::open`] with options.
    pub fn open_with(dir: &Path, settings: Settings) -> Result<Self, GitError> {
        let version = command::version(&settings.environment)?;
        let (root, common) = find(dir)?;
        refuse_links(&root)?;
        let own = common.join("swarm");
        plain_file::make_folder(&own).at("make", &own)?;
        let running = ensure_file(&own.join("running"), "")?;
        ensure_file(&own.join("libgit2.config"), DURABLE)?;
        let host = Host {
            environment: settings.environment,
            running,
            version,
            guard: Guard::new(&common, settings.trusted)?,
            commands: Running::default(),
        };
        let worktrees = RwLock::new(super::worktrees_folder::read(&common));
        let inner = Inner {
            root,
            common,
            host,
            lock_wait: settings.lock_wait,
            registry: Mutex::default(),
            worktrees,
            identity: Mutex::default(),
        };
        Ok(Self(Arc::new(inner)))
    }

    /// Root of the main work tree.
    pub fn root(&self) -> &Path {
        &self.0.root
    }

    /// Git directory shared by all worktrees.
    pub fn common_dir(&self) -> &Path {
        &self.0.common
    }

    /// Branch checked out in the main work tree; `None` if `HEAD` is detached.
    pub fn head_branch(&self) -> Result<Option<String>, GitError> {
        Ok(match read_head(&self.0.common)? {
            Head::Branch(branch) => Some(branch),
            Head::Detached(_) => None,
        })
    }

    /// Commit of a local branch; `None` if the branch does not exist.
    pub fn branch_commit(&self, branch: &str) -> Result<Option<Oid>, GitError> {
        self.read_ref(&branch_ref(branch)?)
    }

    /// Whether a local branch of this name exists.
    pub fn target_exists(&self, branch: &str) -> Result<bool, GitError> {
        Ok(self.branch_commit(branch)?.is_some())
    }

    /// Whether `ancestor` is `commit` or one of its ancestors. False if either commit is missing.
    pub fn contains(&self, commit: Oid, ancestor: Oid) -> Result<bool, GitError> {
        let library = self.library()?;
        if commit == ancestor || library.find_commit(ancestor).is_err() {
            return Ok(commit == ancestor);
        }
        library
            .graph_descendant_of(commit, ancestor)
            .map_err(GitError::library(format!(
                "compare {commit} with {ancestor}"
            )))
    }

    /// Commits in `tip` but not in `base`, newest first, with their subjects.
    pub fn commits_between(&self, base: Oid, tip: Oid) -> Result<Vec<(Oid, String)>, GitError> {
        let library = self.library()?;
        let read = || -> Result<Vec<(Oid, String)>, git2::Error> {
            let mut walk = library.revwalk()?;
            walk.set_sorting(git2::Sort::TOPOLOGICAL)?;
            walk.push(tip)?;
            walk.hide(base)?;
            walk.map(|oid| oid.and_then(|oid| Ok((oid, subject_of(&library.find_commit(oid)?)))))
                .collect()
        };
        read().map_err(GitError::library(format!("list the commits {base}..{tip}")))
    }

    /// Identity from git's configuration (system, global, repository, includes). Cached for up to
    /// 30 s, or until the repository's configuration file changes.
    pub fn identity(&self) -> Result<Identity, GitError> {
        let mut known = self
            .0
            .identity
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let config = fs::metadata(self.0.common.join("config"));
        let changed = config.and_then(|file| file.modified()).ok();
        let fresh =
            |asked: &&CachedIdentity| asked.at.elapsed() < IDENTITY_AGE && asked.changed == changed;
        if let Some(asked) = known.as_ref().filter(fresh) {
            return Ok(asked.identity.clone());
        }
        let (name, email) = (self.setting("user.name")?, self.setting("user.email")?);
        let identity = Identity {
            configured: name.is_some() && email.is_some(),
            name: name.unwrap_or_else(|| "swarm".into()),
            email: email.unwrap_or_else(|| "swarm@localhost".into()),
        };
        *known = Some(CachedIdentity {
            at: Instant::now(),
            changed,
            identity: identity.clone(),
        });
        Ok(identity)
    }

    /// Settings that may run programs; keep them for the next [`Settings::trusted`].
    pub fn programs(&self) -> Vec<Setting> {
        self.0.host.guard.pinned()
    }

    /// Current settings that can run programs and are not in [`Repo::programs`].
    pub fn new_programs(&self) -> Result<Vec<Setting>, GitError> {
        self.0.host.guard.unpinned(&self.0.common)
    }

    /// Version of the installed git: major, minor.
    pub fn git_version(&self) -> (u32, u32) {
        self.0.host.version
    }

    /// Waits for git commands that a killed daemon left running. Called by a starting daemon before
    /// its first git command. Returns false if one is still running after `patience`.
    pub fn wait_for_orphans(&self, patience: Duration) -> Result<bool, GitError> {
        self.0.host.wait_for_orphans(patience)
    }

    /// Stops git for good when the daemon shuts down: no new commands; running ones get `patience`
    /// to finish, then are killed. Blocks; returns false if one is still running.
    pub fn end_commands(&self, patience: Duration) -> bool {
        self.0.host.commands.end(patience)
    }

    /// A git command on the main repository and its work tree.
    pub(crate) fn git(&self) -> Git<'_> {
        self.git_at(&self.0.common, &self.0.root)
    }

    /// A git command on a worktree.
    pub(crate) fn git_at(&self, git_dir: &Path, work_tree: &Path) -> Git<'_> {
        self.0.host.git(git_dir, work_tree)
    }

    /// A libgit2 handle on the main repository that syncs what it writes.
    pub(crate) fn library(&self) -> Result<git2::Repository, GitError> {
        self.library_at(&self.0.common)
    }

    /// A libgit2 handle on a worktree's git directory that syncs what it writes.
    ///
    /// git2 has no safe call for libgit2's global switch, but a repository that reads
    /// `core.fsyncObjectFiles` syncs objects, references and their directories. The setting comes
    /// from a file of ours and applies to this handle only: git would warn about it in the person's
    /// configuration.
    pub(crate) fn library_at(&self, git_dir: &Path) -> Result<git2::Repository, GitError> {
        let open = || -> Result<git2::Repository, git2::Error> {
            let repository = git2::Repository::open(git_dir)?;
            let file = self.0.common.join("swarm").join("libgit2.config");
            repository
                .config()?
                .add_file(&file, git2::ConfigLevel::App, true)?;
            Ok(repository)
        };
        open().map_err(|error| refused(git_dir, &error))
    }

    pub(crate) fn lock_wait(&self) -> Duration {
        self.0.lock_wait
    }

    pub(crate) fn registry(&self) -> MutexGuard<'_, ()> {
        // The mutex guards no data, so a panic elsewhere cannot have left it inconsistent.
        self.0
            .registry
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Folder of the worktrees. Before it is chosen, a path at which there is none.
    pub fn worktrees_folder(&self) -> PathBuf {
        let chosen = self.0.worktrees.read();
        let chosen = chosen.unwrap_or_else(PoisonError::into_inner).clone();
        chosen.unwrap_or_else(|| self.0.common.join("swarm").join("worktrees"))
    }

    pub(crate) fn set_worktrees_folder(&self, folder: PathBuf) {
        let mut chosen = self
            .0
            .worktrees
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *chosen = Some(folder);
    }

    fn setting(&self, key: &str) -> Result<Option<String>, GitError> {
        let output = self.git().args(["config", "--get", key]).run()?;
        match output.code {
            0 => Ok(Some(String::from_utf8_lossy(output.line()).into_owned())
                .filter(|text| !text.is_empty())),
            1 => Ok(None),
            _ => Err(output.failure()),
        }
    }
}

/// Arguments of [`write_commit`].
pub(crate) struct NewCommit<'a> {
    pub(crate) tree: Oid,
    pub(crate) parents: &'a [Oid],
    pub(crate) message: &'a str,
    pub(crate) author: &'a git2::Signature<'a>,
    pub(crate) committer: &'a git2::Signature<'a>,
}

/// Writes a commit object and syncs it.
pub(crate) fn write_commit(
    library: &git2::Repository,
    new: &NewCommit<'_>,
) -> Result<Oid, GitError> {
    let write = || -> Result<Oid, git2::Error> {
        let tree = library.find_tree(new.tree)?;
        let parents: Vec<git2::Commit<'_>> = new
            .parents
            .iter()
            .map(|oid| library.find_commit(*oid))
            .collect::<Result<_, _>>()?;
        let parents: Vec<&git2::Commit<'_>> = parents.iter().collect();
        library.commit(
            None,
            new.author,
            new.committer,
            new.message,
            &tree,
            &parents,
        )
    };
    write().map_err(GitError::library("write a commit"))
}

impl Identity {
    pub(crate) fn signature(&self, time: Timestamp) -> Result<git2::Signature<'static>, GitError> {
        let seconds = git2::Time::new(time.millis().div_euclid(1_000), 0);
        git2::Signature::new(&self.name, &self.email, &seconds).map_err(GitError::library(format!(
            "sign as {} <{}>",
            self.name, self.email
        )))
    }
}

/// What `HEAD` points to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Head {
    Branch(String),
    Detached(Oid),
}

/// Reads `HEAD` of a git directory. The branch may have no commit yet.
pub(crate) fn read_head(git_dir: &Path) -> Result<Head, GitError> {
    let file = git_dir.join("HEAD");
    let bytes = match super::exec::special_files::read(&file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && git_dir.is_dir() => {
            Vec::new()
        }
        read => read.at("read", &file)?,
    };
    let text = String::from_utf8_lossy(bytes.trim_ascii_end());
    if let Some(branch) = text.strip_prefix("ref: refs/heads/") {
        return Ok(Head::Branch(branch.to_owned()));
    }
    Oid::from_str(&text)
        .map(Head::Detached)
        .map_err(|_| GitError::WorktreeBroken {
            path: git_dir.to_owned(),
            why: "HEAD points to neither a branch nor a commit".into(),
            next: "Run `git switch --detach <commit>` there".into(),
        })
}

pub(crate) fn subject_of(commit: &git2::Commit<'_>) -> String {
    let message = commit.message_bytes().trim_ascii_start();
    let first = message
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    super::objects::names::printable(first.trim_ascii_end())
}

const DURABLE: &str =
    "# Read by swarm's own library calls only.\n[core]\n\tfsyncObjectFiles = true\n";

fn ensure_file(path: &Path, content: &str) -> Result<PathBuf, GitError> {
    if fs::read(path).is_ok_and(|found| found == content.as_bytes()) {
        return Ok(path.to_owned());
    }
    fs::write(path, content).at("write", path)?;
    Ok(path.to_owned())
}

/// The main work tree of the repository that contains `dir`.
pub fn main_root(dir: &Path) -> Option<PathBuf> {
    find(dir).ok().map(|(root, _)| root)
}

/// The repository of a folder. One that is opened by its git directory takes the parent of that for
/// the checkout, also where `.git` is a file that leads elsewhere.
fn nearest(dir: &Path) -> Result<git2::Repository, git2::Error> {
    let nothing = git2::RepositoryOpenFlags::empty();
    git2::Repository::open_ext(dir, nothing, std::iter::empty::<&Path>())
}

/// Finds the main work tree and the shared git directory.
fn find(dir: &Path) -> Result<(PathBuf, PathBuf), GitError> {
    let nearest = nearest(dir).map_err(|error| refused(dir, &error))?;
    let common = nearest.commondir().to_owned();
    let main = if nearest.is_worktree() {
        git2::Repository::open(&common).map_err(|error| refused(&common, &error))?
    } else {
        nearest
    };
    let Some(root) = main.workdir().filter(|_| !main.is_bare()) else {
        return Err(GitError::Bare { path: common });
    };
    match main.head() {
        Err(error) if error.code() == ErrorCode::UnbornBranch => Err(GitError::NoCommits {
            path: root.to_owned(),
        }),
        Err(error) => Err(refused(root, &error)),
        Ok(_) => {
            let root = fs::canonicalize(root).at("resolve", root)?;
            let common = fs::canonicalize(&common).at("resolve", &common)?;
            refuse_git_dir_elsewhere(dir, &root, &common)?;
            Ok((root, common))
        }
    }
}

/// Opened by its git directory, the library takes the parent of that for the checkout. Nothing may
/// be written there.
fn refuse_git_dir_elsewhere(dir: &Path, root: &Path, common: &Path) -> Result<(), GitError> {
    let own = root.join(".git");
    let is_own = |own: &Path| fs::canonicalize(own).is_ok_and(|own| own == common);
    if own.is_file() || is_own(&own) {
        return Ok(());
    }
    Err(GitError::Unsupported {
        path: dir.to_owned(),
        why: format!(
            "its git directory {} lies outside of the checkout; change to the checkout",
            shown(common)
        ),
    })
}

fn refused(path: &Path, error: &git2::Error) -> GitError {
    let path = path.to_owned();
    let code = error.code();
    if code == ErrorCode::NotFound && error.class() == git2::ErrorClass::Repository {
        return GitError::NotARepository { path };
    }
    let why = if code == ErrorCode::Owner {
        "it belongs to another user (see `git config safe.directory`)".to_owned()
    } else {
        error.message().to_owned()
    };
    GitError::Unsupported { path, why }
}

fn refuse_links(root: &Path) -> Result<(), GitError> {
    let path = root.join(".swarm");
    if fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_symlink()) {
        return Err(GitError::SymbolicLink { path });
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Only a power cut would show a missing sync, so the test checks the setting.
    #[test]
    fn library_calls_sync_what_they_write() {
        let dir = tempfile::tempdir().unwrap();
        let repository = git2::Repository::init(dir.path()).unwrap();
        let tree = repository
            .find_tree(repository.treebuilder(None).unwrap().write().unwrap())
            .unwrap();
        let who = git2::Signature::now("a", "b").unwrap();
        repository
            .commit(Some("HEAD"), &who, &who, "first", &tree, &[])
            .unwrap();
        let repo = Repo::open(dir.path()).unwrap();
        let config = repo.library().unwrap().config().unwrap();
        assert!(config.get_bool("core.fsyncObjectFiles").unwrap());
        assert!(
            repository
                .config()
                .unwrap()
                .get_bool("core.fsyncObjectFiles")
                .is_err(),
            "the person's configuration must not change"
        );
    }
}
