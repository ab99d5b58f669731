//! Pins the settings of a repository that can run programs to what they were at opening.
//!
//! Invariant: while the repository is open, git runs no filter, textconv or merge program and
//! follows no include that `.git/config` or a `config.worktree` did not name at opening. LFS and
//! git-crypt need their filters, so pinned ones stay; a *new* one fails the call with
//! [`GitError::ConfigChanged`]. The standard commands of Git LFS may appear at any time. In a
//! repository that needs a remote (a partial clone, Git LFS), the same holds for what says where
//! the remote is and how it is reached. Not watched: the configuration of submodules, which only
//! `git add` enters, to ask for their state. `exec::command` checks before every call.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use super::command::{MINIMUM, alone, joined};
use crate::git::GitError;
use crate::git::objects::names::printable;

/// Key and value. The key is in lower case except for its middle part.
pub type Setting = (String, String);

const HARMLESS: &[(&str, &str)] = &[
    // Set by `git sparse-checkout`. The `config.worktree` files that it enables are watched too.
    ("extensions.worktreeconfig", "true"),
    ("filter.lfs.clean", "git-lfs clean -- %f"),
    ("filter.lfs.smudge", "git-lfs smudge -- %f"),
    ("filter.lfs.process", "git-lfs filter-process"),
    ("filter.lfs.required", "true"),
];

/// Formats of the repository, which git itself writes down when a person changes them. Without them
/// git cannot read the repository.
const FORMATS: &[&str] = &[
    "extensions.objectformat",
    "extensions.refstorage",
    "extensions.relativeworktrees",
    "extensions.preciousobjects",
    "extensions.noop",
];

const WATCHED: &[&str] = &[
    "core.worktree",
    "core.attributesfile",
    "core.gitproxy",
    "core.alternaterefscommand",
    "core.bare",
];

#[derive(Debug)]
pub(crate) struct Guard {
    common: PathBuf,
    pinned: BTreeSet<Setting>,
    environment: Vec<(OsString, OsString)>,
    /// What each file said, as long as the file is the same.
    known: Mutex<BTreeMap<PathBuf, Known>>,
    /// Keys of the filters that were there at opening.
    filters: Vec<String>,
    /// Whether the pinned settings are those of a partial clone.
    partial: bool,
    /// Whether git or a filter may have to fetch something.
    needs_remote: bool,
}

/// What a file said when it was read.
#[derive(Debug)]
struct Known {
    state: FileState,
    settings: BTreeSet<Setting>,
}

/// Device, inode, size, time of the last change of the content and of the inode. Programs cannot
/// set the last one.
pub(crate) type FileState = (u64, u64, u64, (i64, i64), (i64, i64));

/// A file that was changed this recently may be changed again without another time.
const RECENT: Duration = Duration::from_millis(100);

impl Guard {
    /// Pins `trusted`, or the current settings if it is `None`. Files of Git LFS may have to be
    /// fetched if the repository `uses_lfs`.
    pub(crate) fn new(
        common: &Path,
        uses_lfs: bool,
        trusted: Option<Vec<Setting>>,
        environment: &[(OsString, OsString)],
    ) -> Result<Self, GitError> {
        let mut guard = Self {
            common: common.to_owned(),
            pinned: BTreeSet::new(),
            environment: environment.to_owned(),
            known: Mutex::default(),
            filters: Vec::new(),
            partial: false,
            needs_remote: false,
        };
        let now = guard.settings(common)?;
        let keys = now.iter().map(|(key, _)| key);
        guard.filters = keys.filter(|key| is_clean_filter(key)).cloned().collect();
        let now = trusted.map_or(now, |trusted| trusted.into_iter().collect());
        guard.partial = now
            .iter()
            .any(|(key, value)| promisor(key, value).is_some());
        guard.needs_remote = guard.partial || uses_lfs;
        guard.pinned = in_force(now, guard.needs_remote);
        Ok(guard)
    }

    /// Whether objects may be missing that a remote has promised.
    pub(crate) fn is_partial(&self) -> bool {
        self.partial
    }

    /// Whether git, or a filter that it starts, may have to fetch something.
    pub(crate) fn needs_remote(&self) -> bool {
        self.needs_remote
    }

    /// Fails if the configuration that git reads for `git_dir` has an unpinned setting that can run
    /// programs, or has lost a filter, without which secrets would be committed in clear.
    pub(crate) fn check(&self, git_dir: &Path) -> Result<(), GitError> {
        let now = self.settings(git_dir)?;
        let is_gone = |key: &&String| !now.iter().any(|(present, _)| present == *key);
        if let Some(key) = self.filters.iter().find(is_gone) {
            return Err(GitError::FilterGone { key: key.clone() });
        }
        match self.unpinned_of(now).into_iter().next() {
            Some((key, value)) => Err(GitError::ConfigChanged { key, value }),
            None => Ok(()),
        }
    }

    /// Unpinned settings that can run programs, from the configuration that git reads for
    /// `git_dir`.
    pub(crate) fn unpinned(&self, git_dir: &Path) -> Result<Vec<Setting>, GitError> {
        Ok(self.unpinned_of(self.settings(git_dir)?))
    }

    fn unpinned_of(&self, now: BTreeSet<Setting>) -> Vec<Setting> {
        let now = in_force(now, self.needs_remote);
        let is_new = |setting: &Setting| !self.pinned.contains(setting) && !is_harmless(setting);
        now.into_iter().filter(is_new).collect()
    }

    /// The pinned settings, to be stored and passed to the next opening.
    pub(crate) fn pinned(&self) -> Vec<Setting> {
        self.pinned.iter().cloned().collect()
    }

    fn settings(&self, git_dir: &Path) -> Result<BTreeSet<Setting>, GitError> {
        let mut found = BTreeSet::new();
        for file in files(&self.common, git_dir) {
            found.extend(self.settings_in(&file)?);
        }
        Ok(found)
    }

    /// Settings of a file that can run programs. Asks git only where the file has changed, as this
    /// comes before each git command.
    fn settings_in(&self, file: &Path) -> Result<BTreeSet<Setting>, GitError> {
        let state = state_of(file);
        if let Some(state) = state
            && let Some(known) = self.list().get(file)
            && known.state == state
        {
            return Ok(known.settings.clone());
        }
        let settings = self.read(file)?;
        // What a file includes may change without it.
        let includes = settings.iter().any(|(key, _)| key.starts_with("include"));
        if let Some(state) = state.filter(|_| !includes && !is_recent(file)) {
            let settings = settings.clone();
            let known = Known { state, settings };
            self.list().insert(file.to_owned(), known);
        }
        Ok(settings)
    }

    fn read(&self, file: &Path) -> Result<BTreeSet<Setting>, GitError> {
        let mut command = alone(&self.environment);
        command.arg(joined("--git-dir=", &self.common));
        command.args(["config", "--null", "--includes", "--list", "--file"]);
        let asked = command.arg(file).current_dir("/").stdin(Stdio::null());
        let answer = asked.output().map_err(|source| GitError::GitMissing {
            minimum: MINIMUM,
            source,
        })?;
        if !answer.status.success() {
            let why = String::from_utf8_lossy(&answer.stderr);
            return Err(GitError::ConfigBroken {
                path: file.to_owned(),
                why: printable(why.trim().trim_start_matches("fatal: ").as_bytes()),
            });
        }
        let settings = answer.stdout.split(|byte| *byte == 0);
        let settings = settings.filter(|setting| !setting.is_empty()).map(parse);
        Ok(settings.filter(|(key, _)| can_run_programs(key)).collect())
    }

    fn list(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Known>> {
        // Each entry is written in one step.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads `<key> LF <value>`; a key without a value has no line feed.
fn parse(setting: &[u8]) -> Setting {
    let setting = String::from_utf8_lossy(setting);
    let (key, value) = setting.split_once('\n').unwrap_or((&setting, ""));
    (key.to_owned(), value.to_owned())
}

pub(crate) fn state_of(file: &Path) -> Option<FileState> {
    let meta = fs::metadata(file).ok()?;
    let content = (meta.mtime(), meta.mtime_nsec());
    let inode = (meta.ctime(), meta.ctime_nsec());
    Some((meta.dev(), meta.ino(), meta.len(), content, inode))
}

/// Whether the file was changed a moment ago, or in the future of this clock.
fn is_recent(file: &Path) -> bool {
    let changed = fs::metadata(file).map(|meta| {
        let seconds = u64::try_from(meta.ctime()).unwrap_or_default();
        let nanos = u32::try_from(meta.ctime_nsec()).unwrap_or_default();
        SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos)
    });
    changed.map_or(true, |at| at.elapsed().map_or(true, |age| age < RECENT))
}

fn files(common: &Path, git_dir: &Path) -> BTreeSet<PathBuf> {
    let all = [
        common.join("config"),
        common.join("config.worktree"),
        git_dir.join("config.worktree"),
    ];
    all.into_iter().filter(|file| file.exists()).collect()
}

/// Without the settings about remotes that nothing is fetched from.
fn in_force(found: BTreeSet<Setting>, needs_remote: bool) -> BTreeSet<Setting> {
    let promisors = found.iter().filter_map(|(key, value)| promisor(key, value));
    let promisors: BTreeSet<String> = promisors.map(str::to_owned).collect();
    let counts = |key: &str| match leads_to_remote(key) {
        // People add remotes while agents work.
        Some(OfRemote::One(name)) => needs_remote && promisors.contains(name),
        Some(OfRemote::All) => needs_remote,
        None => true,
    };
    found.into_iter().filter(|(key, _)| counts(key)).collect()
}

/// The remote that has promised objects to a partial clone, if this setting names it.
fn promisor<'a>(key: &'a str, value: &'a str) -> Option<&'a str> {
    if key == "extensions.partialclone" {
        return Some(value);
    }
    let name = key.strip_prefix("remote.")?.strip_suffix(".promisor")?;
    let is_off = matches!(
        value.to_ascii_lowercase().as_str(),
        "false" | "no" | "off" | "0"
    );
    (!is_off).then_some(name)
}

/// Which remotes a setting is about.
enum OfRemote<'a> {
    One(&'a str),
    All,
}

/// Whether the setting says where remotes are or how they are reached.
fn leads_to_remote(key: &str) -> Option<OfRemote<'_>> {
    use OfRemote::{All, One};
    let (section, rest) = key.split_once('.')?;
    let (name, last) = rest.rsplit_once('.').unwrap_or(("", rest));
    match section {
        "remote" if matches!(last, "url" | "proxy" | "proxyauthmethod") => Some(One(name)),
        "core" if rest == "sshcommand" => Some(All),
        "credential" | "url" | "protocol" => Some(All),
        "http" => {
            let place = last.contains("proxy") || last.starts_with("ssl");
            let known = matches!(last, "cookiefile" | "curloptresolve" | "extraheader");
            (place || known).then_some(All)
        }
        "lfs" => matches!(last, "url" | "standalonetransferagent").then_some(All),
        _ => None,
    }
}

/// Whether git runs the setting's command on what is committed.
fn is_clean_filter(key: &str) -> bool {
    let last = key.rsplit('.').next().unwrap_or_default();
    key.starts_with("filter.") && ["clean", "process"].contains(&last)
}

fn can_run_programs(key: &str) -> bool {
    if leads_to_remote(key).is_some() {
        return true;
    }
    let (section, rest) = key.split_once('.').unwrap_or((key, ""));
    let last = rest.rsplit('.').next().unwrap_or_default();
    match section {
        "filter" | "include" | "includeif" | "extensions" => true,
        "merge" => last == "driver",
        "diff" => matches!(last, "command" | "textconv"),
        "gpg" => matches!(last, "program" | "defaultkeycommand"),
        // Programs that Git LFS starts.
        "lfs" => rest.starts_with("customtransfer.") || rest.starts_with("extension."),
        "remote" => matches!(last, "uploadpack" | "receivepack" | "vcs" | "promisor"),
        _ => WATCHED.contains(&key),
    }
}

fn is_harmless((key, value): &Setting) -> bool {
    FORMATS.contains(&key.as_str()) || HARMLESS.contains(&(key.as_str(), value.as_str()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn repository(config: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("objects")).unwrap();
        std::fs::create_dir(dir.path().join("refs")).unwrap();
        std::fs::write(dir.path().join("HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(dir.path().join("config"), config).unwrap();
        dir
    }

    fn change(dir: &tempfile::TempDir, config: &str) {
        std::fs::write(dir.path().join("config"), config).unwrap();
    }

    #[test]
    fn a_setting_from_before_opening_is_allowed_and_a_new_one_refused() {
        let crypt = "[filter \"git-crypt\"]\n\tclean = git-crypt clean\n";
        let dir = repository(crypt);
        let guard = Guard::new(dir.path(), false, None, &[]).unwrap();
        assert!(guard.check(dir.path()).is_ok());
        for evil in [
            "[filter \"x\"]\n\tsmudge = touch /tmp/x\n",
            "[filter \"git-crypt\"]\n\tclean = evil\n",
            "[merge \"x\"]\n\tdriver = evil\n",
            "[include]\n\tpath = elsewhere\n",
            "[includeIf \"gitdir:x\"]\n\tpath = elsewhere\n",
            "[core]\n\tworktree = /\n",
            "[gpg]\n\tprogram = evil\n",
            "[gpg \"ssh\"]\n\tdefaultKeyCommand = evil\n",
        ] {
            change(&dir, &format!("{crypt}{evil}"));
            let refused = guard.check(dir.path());
            assert!(
                matches!(refused, Err(GitError::ConfigChanged { .. })),
                "{evil}"
            );
        }
    }

    #[test]
    fn a_filter_that_goes_away_stops_every_call() {
        let dir = repository("[filter \"git-crypt\"]\n\tclean = git-crypt clean\n\tsmudge = x\n");
        let guard = Guard::new(dir.path(), false, None, &[]).unwrap();
        change(&dir, "[filter \"git-crypt\"]\n\tclean = git-crypt clean\n");
        assert!(guard.check(dir.path()).is_ok());
        change(&dir, "");
        let refused = guard.check(dir.path());
        assert!(
            matches!(refused, Err(GitError::FilterGone { .. })),
            "{refused:?}"
        );
    }

    #[test]
    fn harmless_settings_and_lfs_may_change() {
        let dir = repository("");
        let guard = Guard::new(dir.path(), false, None, &[]).unwrap();
        change(
            &dir,
            "[user]\n\tname = x\n[core]\n\thooksPath = .husky\n[filter \"lfs\"]\n\trequired = \
            true\n\tclean = git-lfs clean -- %f\n",
        );
        assert!(guard.check(dir.path()).is_ok());
    }

    #[test]
    fn a_partial_clone_pins_where_its_remote_is_and_how_it_is_reached() {
        let origin = "[remote \"origin\"]\n\turl = https://one\n\tpromisor = true\n";
        let dir = repository(origin);
        let guard = Guard::new(dir.path(), false, None, &[]).unwrap();
        assert!(guard.is_partial() && guard.needs_remote());
        let fork = "[remote \"fork\"]\n\turl = https://two\n[user]\n\tname = x\n";
        change(&dir, &format!("{origin}{fork}"));
        assert!(guard.check(dir.path()).is_ok(), "people add remotes");
        for evil in [
            "[remote \"origin\"]\n\turl = ext::evil\n",
            "[core]\n\tsshCommand = evil\n",
            "[credential]\n\thelper = evil\n",
            "[credential \"https://one\"]\n\thelper = evil\n",
            "[url \"ext::evil\"]\n\tinsteadOf = https://one\n",
            "[http]\n\tproxy = evil\n",
            "[http \"https://one\"]\n\tsslVerify = false\n",
            "[protocol \"ext\"]\n\tallow = always\n",
            "[remote \"fork\"]\n\turl = ext::evil\n\tpromisor = true\n",
        ] {
            change(&dir, &format!("{origin}{evil}"));
            assert!(guard.check(dir.path()).is_err(), "{evil}");
        }
    }

    #[test]
    fn a_repository_that_needs_no_remote_may_change_how_one_is_reached() {
        let dir = repository("[remote \"origin\"]\n\turl = https://one\n");
        let guard = Guard::new(dir.path(), false, None, &[]).unwrap();
        assert!(!guard.needs_remote());
        change(
            &dir,
            "[remote \"origin\"]\n\turl = https://two\n[core]\n\tsshCommand = mine\n\
            [credential]\n\thelper = mine\n",
        );
        assert!(guard.check(dir.path()).is_ok());
        change(&dir, "[lfs \"extension.x\"]\n\tclean = evil\n");
        assert!(guard.check(dir.path()).is_err(), "Git LFS would start it");
    }

    #[test]
    fn a_change_in_an_included_file_is_noticed() {
        let dir = repository("[include]\n\tpath = more\n");
        std::fs::write(dir.path().join("more"), "").unwrap();
        let guard = Guard::new(dir.path(), false, None, &[]).unwrap();
        std::fs::write(dir.path().join("more"), "[filter \"x\"]\n\tclean = evil\n").unwrap();
        assert!(guard.check(dir.path()).is_err());
    }
}
