//! An open repository: its directories, its committer, its branches.
//!
//! Invariant: a [`Repo`] always stands for the *main* repository and its work tree, even if it was
//! opened from a subdirectory, a linked worktree or an agent's worktree. `.swarm` lies at the root
//! of that work tree. A [`Repo`] holds a few idle git processes and may be cloned and used from
//! several threads. Directories are passed to git explicitly, never discovered.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use super::error::{At, GitError};
use super::exec::child::{Call, Output, finish, not_started};
use super::exec::command::{self, Git, Host};
use super::exec::config_guard::{Guard, Setting};
use super::exec::running::Running;
use super::objects::names::{branch_ref, path_of, shown};
use super::person::{CachedIdentity, Signing};
use super::store::oid::Oid;
use super::store::reader::Readers;
use crate::plain_file;

/// Limit for a question about a repository that is not open yet.
const PATIENCE: Duration = Duration::from_secs(120);

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

/// An open repository. Cheap to clone; every method is synchronous and may block on the disk.
#[derive(Debug, Clone)]
pub struct Repo(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) root: PathBuf,
    pub(crate) common: PathBuf,
    host: Host,
    lock_wait: Duration,
    /// Held for a few milliseconds while a worktree is registered, renamed or taken from the pool.
    registry: Mutex<()>,
    /// Folder of the worktrees; `None` before it is chosen.
    worktrees: RwLock<Option<PathBuf>>,
    /// Cached because a lookup takes two git commands.
    pub(crate) identity: Mutex<Option<CachedIdentity>>,
    /// How the person's git signs; read once, so that an agent cannot change it meanwhile.
    pub(crate) signing: OnceLock<Signing>,
    /// `merge.sign: "never"`.
    pub(crate) never_signs: AtomicBool,
    /// Processes that read objects.
    pub(crate) readers: Readers,
    /// `worktree.gitDirLinks`.
    pub(crate) git_dir_links: RwLock<Vec<String>>,
}

impl Repo {
    /// Opens the repository that contains `dir`. [`GitError`] lists what is refused.
    pub fn open(dir: &Path) -> Result<Self, GitError> {
        Self::open_with(dir, Settings::default())
    }

    /// [`Repo::open`] with options.
    pub fn open_with(dir: &Path, settings: Settings) -> Result<Self, GitError> {
        let version = command::version(&settings.environment)?;
        let (root, common) = find(dir, &settings.environment)?;
        refuse_links(&root)?;
        let own = common.join("swarm");
        plain_file::make_folder(&own).at("make", &own)?;
        let running = ensure_file(&own.join("running"), "")?;
        let uses_lfs = uses_lfs(&root, &common);
        let guard = Guard::new(&common, uses_lfs, settings.trusted, &settings.environment)?;
        let has_ssh = guard.needs_remote() && command::has_ssh(&settings.environment, &common);
        let host = Host {
            environment: settings.environment,
            running,
            version,
            guard,
            has_ssh,
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
            signing: OnceLock::new(),
            never_signs: AtomicBool::new(false),
            readers: Readers::default(),
            git_dir_links: RwLock::default(),
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
        Ok(match self.head_at(&self.0.common, &self.0.root)? {
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

    /// Whether the clone was partial when it was opened, so that git fetches missing objects when
    /// it needs them.
    pub fn is_partial(&self) -> bool {
        self.0.host.fetches_lazily()
    }

    /// Waits for git commands that a killed daemon left running. Called by a starting daemon before
    /// its first git command. Returns false if one is still running after `patience`.
    pub fn wait_for_orphans(&self, patience: Duration) -> Result<bool, GitError> {
        self.0.host.wait_for_orphans(patience)
    }

    /// Stops git for good when the daemon shuts down: no new commands; running ones get `patience`
    /// to finish, then are killed. Blocks; returns false if one is still running.
    pub fn end_commands(&self, patience: Duration) -> bool {
        self.0.readers.clear();
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

    /// A git command in a worktree that finds its repository by itself, as an agent's does.
    pub(crate) fn git_found_in(&self, git_dir: &Path, work_tree: &Path) -> Git<'_> {
        self.0.host.git_found_in(git_dir, work_tree)
    }

    /// Starts a process that reads objects.
    pub(crate) fn start_reader(&self) -> Result<Child, GitError> {
        self.0.host.start_reader(&self.0.common)
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
}

/// What `HEAD` points to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Head {
    Branch(String),
    Detached(Oid),
}

/// What git writes to the file `HEAD` where references are kept in another format.
const ELSEWHERE: &str = ".invalid";

impl Repo {
    /// Reads `HEAD` of a git directory. The branch may have no commit yet.
    pub(crate) fn head_at(&self, git_dir: &Path, work_tree: &Path) -> Result<Head, GitError> {
        match read_head(git_dir)? {
            Head::Branch(branch) if branch == ELSEWHERE => self.asked_head(git_dir, work_tree),
            head @ (Head::Branch(_) | Head::Detached(_)) => Ok(head),
        }
    }

    fn asked_head(&self, git_dir: &Path, work_tree: &Path) -> Result<Head, GitError> {
        let git = || self.git_at(git_dir, work_tree);
        let asked = git().args(["symbolic-ref", "--quiet", "HEAD"]).run()?;
        let name = String::from_utf8_lossy(asked.line()).into_owned();
        if let Some(branch) = name.strip_prefix("refs/heads/") {
            return Ok(Head::Branch(branch.to_owned()));
        }
        let asked = git()
            .args(["rev-parse", "--verify", "--quiet", "HEAD"])
            .run()?;
        let commit = Oid::from_hex(asked.line());
        commit.map(Head::Detached).ok_or_else(|| no_head(git_dir))
    }
}

/// Reads the file `HEAD` of a git directory.
fn read_head(git_dir: &Path) -> Result<Head, GitError> {
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
    let commit = Oid::from_hex(text.as_bytes());
    commit.map(Head::Detached).ok_or_else(|| no_head(git_dir))
}

fn no_head(git_dir: &Path) -> GitError {
    GitError::WorktreeBroken {
        path: git_dir.to_owned(),
        why: "HEAD points to neither a branch nor a commit".into(),
        next: "Run `git switch --detach <commit>` there".into(),
    }
}

fn ensure_file(path: &Path, content: &str) -> Result<PathBuf, GitError> {
    if fs::read(path).is_ok_and(|found| found == content.as_bytes()) {
        return Ok(path.to_owned());
    }
    fs::write(path, content).at("write", path)?;
    Ok(path.to_owned())
}

/// Whether files of the repository are in Git LFS, as far as that shows without a git command.
fn uses_lfs(root: &Path, common: &Path) -> bool {
    let attributes = super::exec::special_files::read(&root.join(".gitattributes"));
    let names_it = attributes.is_ok_and(|it| String::from_utf8_lossy(&it).contains("filter=lfs"));
    names_it || common.join("lfs").is_dir()
}

/// The main work tree of the repository that contains `dir`.
pub fn main_root(dir: &Path) -> Option<PathBuf> {
    let usual = usual_root(dir);
    usual.or_else(|| Some(find(dir, &[]).ok()?.0))
}

/// The folder above with a `.git` directory of its own, as nearly all checkouts have it. Each
/// command line looks for it, and a question to git takes 3 ms.
fn usual_root(dir: &Path) -> Option<PathBuf> {
    let dir = fs::canonicalize(dir).ok()?;
    let mut above = dir.ancestors();
    let root = above.find(|root| fs::symlink_metadata(root.join(".git")).is_ok())?;
    let own = root.join(".git");
    let is_usual = fs::symlink_metadata(&own).is_ok_and(|there| there.is_dir())
        && own.join("HEAD").is_file()
        && !own.join("commondir").exists();
    let config = fs::read(own.join("config")).ok().filter(|_| is_usual)?;
    let config = String::from_utf8_lossy(&config).to_lowercase();
    let is_plain = !["worktree", "bare = true", "include"]
        .iter()
        .any(|word| config.contains(word));
    is_plain.then(|| root.to_owned())
}

type Variables = [(OsString, OsString)];

/// What git says of the repository that a folder is in.
struct Place {
    is_bare: bool,
    git_dir: PathBuf,
    common: PathBuf,
    /// `None` in a git directory or a bare repository.
    top: Option<PathBuf>,
    /// Commit checked out.
    head: Option<Oid>,
}

/// Finds the main work tree and the shared git directory.
fn find(dir: &Path, environment: &Variables) -> Result<(PathBuf, PathBuf), GitError> {
    let mut place = place_of(dir, environment)?;
    let common = fs::canonicalize(&place.common).at("resolve", &place.common)?;
    let is_main = fs::canonicalize(&place.git_dir).is_ok_and(|own| own == common);
    if !is_main || place.top.is_none() {
        // Only the checkout itself knows where it is if its git directory lies elsewhere.
        let home = super::home::read(&common);
        let beside = common.parent().filter(|_| common.ends_with(".git"));
        let Some(beside) = home.as_deref().or(beside) else {
            return Err(without_usual_place(dir, &common, environment));
        };
        place = place_of(beside, environment)?;
    }
    let Some(root) = place.top.filter(|_| !place.is_bare) else {
        return Err(without_work_tree(common));
    };
    let root = fs::canonicalize(&root).at("resolve", &root)?;
    refuse_git_dir_elsewhere(dir, &root, &common)?;
    if place.head.is_none() {
        return Err(GitError::NoCommits { path: root });
    }
    Ok((root, common))
}

/// Git answers the questions in turn up to the first that has no answer here.
fn place_of(dir: &Path, environment: &Variables) -> Result<Place, GitError> {
    let words = [
        "rev-parse",
        "--is-bare-repository",
        "--path-format=absolute",
        "--git-dir",
        "--git-common-dir",
        "--show-toplevel",
        "HEAD",
    ];
    let output = ask(dir, environment, &words)?;
    let mut lines = output.stdout.trim_ascii_end().split(|byte| *byte == b'\n');
    let mut line = || lines.next().filter(|line| !line.is_empty());
    let (Some(is_bare), Some(git_dir), Some(common)) = (line(), line(), line()) else {
        return Err(refused(dir, &output.stderr));
    };
    Ok(Place {
        is_bare: is_bare == b"true",
        git_dir: path_of(git_dir),
        common: path_of(common),
        top: line().map(path_of),
        head: line().and_then(Oid::from_hex),
    })
}

fn without_usual_place(dir: &Path, common: &Path, environment: &Variables) -> GitError {
    let words = ["config", "--bool", "core.bare"];
    let asked = ask(common, environment, &words);
    if asked.is_ok_and(|asked| asked.line() == b"true") {
        return GitError::Bare {
            path: common.to_owned(),
        };
    }
    elsewhere(dir, common)
}

/// Asks git in a folder, before anything of the repository is known.
fn ask(dir: &Path, environment: &Variables, words: &[&str]) -> Result<Output, GitError> {
    let mut command = command::alone(environment);
    command
        .args(words)
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let call = Call {
        command: format!("git {}", words.join(" ")),
        place: dir.to_owned(),
    };
    let child = command.spawn();
    let child = child.map_err(|error| not_started(dir, error))?;
    finish(child, PATIENCE, call, &Running::default())
}

/// A bare repository has no index; a checkout that a tool declared to be bare still has its own.
fn without_work_tree(common: PathBuf) -> GitError {
    if common.file_name().is_none_or(|name| name != ".git") || !common.join("index").is_file() {
        return GitError::Bare { path: common };
    }
    let why = "its configuration says `core.bare = true`, although it has a checkout; a tool may \
        have set that. Run `git config core.bare false`";
    GitError::Unsupported {
        path: common.parent().unwrap_or(&common).to_owned(),
        why: why.into(),
    }
}

/// A git directory says nothing of checkouts elsewhere that lead to it; nothing may be written
/// beside it.
fn refuse_git_dir_elsewhere(dir: &Path, root: &Path, common: &Path) -> Result<(), GitError> {
    let own = root.join(".git");
    let is_own = |own: &Path| fs::canonicalize(own).is_ok_and(|own| own == common);
    if own.is_file() || is_own(&own) {
        return Ok(());
    }
    Err(elsewhere(dir, common))
}

fn elsewhere(dir: &Path, common: &Path) -> GitError {
    GitError::Unsupported {
        path: dir.to_owned(),
        why: format!(
            "its git directory {} lies outside of the checkout; change to the checkout",
            shown(common)
        ),
    }
}

fn refused(path: &Path, stderr: &str) -> GitError {
    let path = path.to_owned();
    if stderr.contains("not a git repository") {
        return GitError::NotARepository { path };
    }
    let why = if stderr.contains("dubious ownership") {
        "it belongs to another user (see `git config safe.directory`)".to_owned()
    } else {
        stderr.trim_start_matches("fatal: ").to_owned()
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
