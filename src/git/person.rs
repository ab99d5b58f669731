//! What the person's git says of commits: whose name they carry, how they are signed, which hooks
//! they run.
//!
//! Invariant: the whole configuration counts (system, global, repository, includes), without
//! swarm's own overrides. Signing is read once, before the first agent starts, so that an agent's
//! change of `.git/config` has no effect.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::PoisonError;
use std::time::{Duration, Instant, SystemTime};

use super::error::GitError;
use super::repo::Repo;
use super::store::format::Person;
use crate::domain::time::Timestamp;

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
pub(crate) struct CachedIdentity {
    at: Instant,
    changed: Option<SystemTime>,
    identity: Identity,
}

/// Maximum age of a cached identity.
const IDENTITY_AGE: Duration = Duration::from_secs(30);

/// How the person's git signs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signing {
    /// `commit.gpgSign`.
    pub commits: bool,
    /// `tag.gpgSign`.
    pub tags: bool,
    /// Settings that name the format and the key, as `key=value`.
    pub(crate) settings: Vec<String>,
}

impl Repo {
    /// Identity from `GIT_COMMITTER_NAME` and `GIT_COMMITTER_EMAIL`, or from git's configuration
    /// (system, global, repository, includes). Cached for up to 30 s, or until the repository's
    /// configuration file changes. [`GitError::NoIdentity`] if there is none and
    /// `user.useConfigOnly` forbids to make one up.
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
        let name = self.own_setting("GIT_COMMITTER_NAME", "user.name")?;
        let email = self.own_setting("GIT_COMMITTER_EMAIL", "user.email")?;
        let missing = name.is_none() || email.is_none();
        if missing
            && self
                .setting("user.useConfigOnly")?
                .is_some_and(|on| is_true(&on))
        {
            return Err(GitError::NoIdentity {
                path: self.0.root.clone(),
            });
        }
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

    /// How the person's git signs, from its whole configuration at the first call.
    pub fn signing(&self) -> Result<&Signing, GitError> {
        if let Some(known) = self.0.signing.get() {
            return Ok(known);
        }
        let found = self.read_signing()?;
        Ok(self.0.signing.get_or_init(|| found))
    }

    /// Hooks of the repository that can reject a commit, by name.
    pub fn commit_hooks(&self) -> Result<Vec<&'static str>, GitError> {
        let folder = self.hooks_folder()?;
        let runs = |name: &&str| {
            let file = fs::metadata(folder.join(name));
            file.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
        };
        let all = ["pre-commit", "commit-msg"];
        Ok(all.into_iter().filter(runs).collect())
    }

    fn hooks_folder(&self) -> Result<PathBuf, GitError> {
        let set = self.persons_settings(r"^core\.hookspath$")?.pop();
        Ok(match set {
            None => self.0.common.join("hooks"),
            Some((_, path)) => match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
                (Some(path), Some(home)) => PathBuf::from(home).join(path),
                _ => self.0.root.join(path),
            },
        })
    }

    /// The folder of the hooks, relative to the checkout, if git ignores it there: then a worktree
    /// has no hooks until something makes them.
    pub fn ignored_hooks(&self) -> Result<Option<PathBuf>, GitError> {
        let folder = self.hooks_folder()?;
        let Ok(folder) = folder.strip_prefix(&self.0.root) else {
            return Ok(None);
        };
        let hook = folder.join("pre-commit");
        let output = self.git().args(["check-ignore", "-q", "--"]).arg(hook);
        let output = output.run()?;
        match output.code {
            0 => Ok(Some(folder.to_owned())),
            1 => Ok(None),
            _ => Err(output.failure()),
        }
    }

    /// Settings whose key (in lower case) matches the expression, without our own overrides: keys
    /// and values in the order in which git reads them, the last of a key counts.
    pub(crate) fn persons_settings(&self, keys: &str) -> Result<Vec<(String, String)>, GitError> {
        let output = self
            .git()
            .args(["config", "--null", "--show-scope", "--get-regexp", keys])
            .run()?;
        match output.code {
            0 => Ok(without_overrides(&String::from_utf8_lossy(&output.stdout))),
            1 => Ok(Vec::new()),
            _ => Err(output.failure()),
        }
    }

    /// A variable of the person's environment, or else the setting.
    fn own_setting(&self, variable: &str, key: &str) -> Result<Option<String>, GitError> {
        match std::env::var(variable) {
            Ok(value) if !value.is_empty() => Ok(Some(value)),
            _ => self.setting(key),
        }
    }

    pub(super) fn setting(&self, key: &str) -> Result<Option<String>, GitError> {
        let output = self.git().args(["config", "--get", key]).run()?;
        match output.code {
            0 => Ok(Some(String::from_utf8_lossy(output.line()).into_owned())
                .filter(|text| !text.is_empty())),
            1 => Ok(None),
            _ => Err(output.failure()),
        }
    }

    fn read_signing(&self) -> Result<Signing, GitError> {
        let keys = r"^(commit\.gpgsign|tag\.gpgsign|user\.signingkey|gpg\.format)$";
        let mut found = Signing::default();
        for (key, value) in self.persons_settings(keys)? {
            match key.as_str() {
                "commit.gpgsign" => found.commits = is_true(&value),
                "tag.gpgsign" => found.tags = is_true(&value),
                _ => found.settings.push(format!("{key}={value}")),
            }
        }
        Ok(found)
    }
}

impl Identity {
    /// The person at a time, as in a commit.
    pub(crate) fn at(&self, time: Timestamp) -> Person {
        Person::new(&self.name, &self.email, time.millis().div_euclid(1_000))
    }
}

/// Reads `scope NUL key LF value NUL`. A key without a value gets an empty one.
fn without_overrides(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut parts = text.split('\0');
    while let (Some(scope), Some(setting)) = (parts.next(), parts.next()) {
        if scope != "command" {
            let (key, value) = setting.split_once('\n').unwrap_or((setting, ""));
            found.push((key.to_owned(), value.to_owned()));
        }
    }
    found
}

/// Whether git takes the value of a setting for true.
pub(crate) fn is_true(value: &str) -> bool {
    ["", "true", "yes", "on", "1"].contains(&value.to_ascii_lowercase().as_str())
}
