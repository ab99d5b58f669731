//! Digest of what checks get from the environment of the daemon: whether a verdict about the target
//! holds for this daemon, too.
//!
//! Invariant: keyed, because a short value can be guessed from a plain digest. It has nothing that
//! differs from terminal to terminal without a check noticing. Called at a start.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use crate::agents::environment::{Environment, Sources, WorkVariables};
use crate::config::Config;
use crate::daemon::files::hash::sha256;
use crate::domain::observation::CheckEnvironment;

/// Variables that differ from terminal to terminal.
const OF_TERMINAL: [&str; 2] = ["TERM", "TMPDIR"];
/// `XDG_` variables that name a folder of settings; the others describe the session.
const XDG_FOLDERS: [&str; 4] = [
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
];

/// The environment of checks under this configuration, with the key of the last daemon here.
pub(super) fn of_checks(
    inherited: &Environment,
    config: &Config,
    before: Option<&CheckEnvironment>,
) -> CheckEnvironment {
    let key = match before {
        Some(before) => before.key.clone(),
        None => uuid::Uuid::new_v4().simple().to_string(),
    };
    let digest = digest(inherited, config, &key);
    CheckEnvironment { key, digest }
}

fn digest(inherited: &Environment, config: &Config, key: &str) -> String {
    let sources = Sources {
        inherited: inherited.clone(),
        pass: config.agents.pass_env.clone(),
        identity: None,
        profile: BTreeMap::new(),
    };
    let work = WorkVariables {
        of_worktree: config.worktree.env.clone(),
        ..WorkVariables::default()
    };
    let mut text = Vec::new();
    for (name, value) in sources.environment(&work) {
        if counts(&name) {
            let value = if name == "PATH" {
                folders(&value)
            } else {
                value.as_bytes().to_vec()
            };
            for part in [name.as_bytes(), &value] {
                text.extend(part.len().to_le_bytes());
                text.extend(part);
            }
        }
    }
    let inner = sha256(&[key.as_bytes(), &text].concat());
    sha256(format!("{key}{inner}").as_bytes())
}

fn counts(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return true;
    };
    let of_session = name.starts_with("XDG_") && !XDG_FOLDERS.contains(&name);
    !of_session && !OF_TERMINAL.contains(&name) && !name.starts_with("SWARM_")
}

/// The folders of a search path that exist, each once, in order. Links are followed: version
/// managers put a link of its own into the path of each terminal.
fn folders(path: &OsStr) -> Vec<u8> {
    let mut found = Vec::new();
    for folder in std::env::split_paths(path) {
        if let Ok(folder) = folder.canonicalize()
            && !found.contains(&folder)
        {
            found.push(folder);
        }
    }
    let folders = found.iter().map(|folder| folder.as_os_str().as_bytes());
    folders.collect::<Vec<&[u8]>>().join(&b':')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn digest_of(variables: &[(&str, &str)], config: &Config) -> String {
        let all = variables.iter();
        let all = all.map(|(name, value)| (name.into(), value.into()));
        digest(&all.collect(), config, "key")
    }

    #[test]
    fn what_checks_do_not_notice_leaves_the_digest_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (bin, link) = (folder.path().join("bin"), folder.path().join("link"));
        std::fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(&bin, &link).unwrap();
        let (bin, link) = (bin.display(), link.display());
        let config = Config::default();
        let plain = [("PATH", format!("{bin}:/usr/bin")), ("HOME", "/h".into())];
        let same = [
            (
                "PATH",
                format!("{link}:{bin}/:/no/such/folder:/usr/bin:{bin}"),
            ),
            ("HOME", "/h".into()),
            ("TERM", "xterm".into()),
            ("XDG_SESSION_ID", "7".into()),
            ("SECRET", "not passed".into()),
        ];
        let of = |all: &[(&str, String)]| {
            let all: Vec<_> = all.iter().map(|(name, value)| (*name, &**value)).collect();
            digest_of(&all, &config)
        };
        assert_eq!(of(&plain), of(&same));
    }

    #[test]
    fn what_checks_get_changes_the_digest_and_so_does_the_key() {
        let config = Config::default();
        let mut passing = Config::default();
        passing.agents.pass_env = vec!["DB".into()];
        let mut of_worktree = Config::default();
        of_worktree.worktree.env = [("PORT".to_owned(), "{port}".to_owned())].into();
        let base = [("PATH", "/usr/bin"), ("HOME", "/h"), ("DB", "a")];
        let other = [("PATH", "/usr/bin"), ("HOME", "/h"), ("DB", "b")];
        let all = [
            digest_of(&base, &config),
            digest_of(&[("PATH", "/usr/bin"), ("HOME", "/root")], &config),
            digest_of(&[("PATH", "/"), ("HOME", "/h")], &config),
            digest_of(&base, &passing),
            digest_of(&other, &passing),
            digest_of(&base, &of_worktree),
        ];
        let different: std::collections::BTreeSet<&String> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        assert_eq!(digest_of(&base, &config), digest_of(&other, &config));
        let first = of_checks(&Environment::new(), &config, None);
        let again = of_checks(&Environment::new(), &config, Some(&first));
        assert_eq!(first, again);
        let elsewhere = of_checks(&Environment::new(), &config, None);
        assert!(first.key != elsewhere.key && first.digest != elsewhere.digest);
    }
}
