//! Sets one value in one of the configuration files, for `swarm config set`.
//!
//! Invariant: a file is written only if the whole configuration is valid with the change, and then
//! it is replaced in one step, so that a reader sees the old text or the new one.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::errors::{ConfigError, Origin};
use super::json_edit;
use super::layers::{Layered, Sources, UserFile, layer};
use super::read::{for_people, sources, user_file, with_problems};

/// A configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// `.swarm/config.json`.
    Shared,
    /// `.swarm/config.local.json`.
    Local,
    /// The person's own file for all repositories.
    User,
}

/// A valid change that nobody has written yet.
#[derive(Debug)]
pub struct Change {
    /// The configuration with the change.
    pub layered: Layered,
    /// The file for people.
    pub file: String,
    path: PathBuf,
    text: String,
}

/// Why a value cannot be set.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// The change would make the configuration invalid.
    #[error(transparent)]
    Invalid(ConfigError),
    /// The configuration is invalid without the change too.
    #[error(transparent)]
    InvalidBefore(ConfigError),
    /// The environment names no place for the person's own file.
    #[error("there is no directory for your own configuration: HOME is not set")]
    NoPlace,
    /// The file belongs to a repository, and there is none.
    #[error("there is no repository here")]
    NoRepository,
}

/// Prepares a change of `key` in a file. Outside a repository (`None`) only the person's own file
/// can change.
///
/// # Errors
/// The whole configuration, with the change, is invalid.
pub fn set(
    swarm_dir: Option<&Path>,
    environment: BTreeMap<String, String>,
    place: Place,
    key: &str,
    value: &Value,
) -> Result<Change, SetError> {
    let user = user_file(&environment);
    let user_name = user.as_ref().map(|path| for_people(path, &environment));
    let (mut sources, problems) = sources(swarm_dir, environment);
    let known = layer(&sources).map(|layered| layered.config.redacted());
    let was_valid = known.is_ok() && problems.is_empty();
    let path = path_of(&known.unwrap_or_default(), key);
    let (file, target) = match place {
        Place::Shared | Place::Local => {
            let folder = swarm_dir.ok_or(SetError::NoRepository)?;
            let origin = match place {
                Place::Local => Origin::Local,
                Place::Shared | Place::User => Origin::Shared,
            };
            (origin.to_string(), folder.join(origin.to_string()))
        }
        Place::User => (
            user_name.ok_or(SetError::NoPlace)?,
            user.ok_or(SetError::NoPlace)?,
        ),
    };
    let text = edited(&mut sources, place, &file, &path, value);
    let layered = with_problems(layer(&sources), problems);
    let refuse = if was_valid {
        SetError::Invalid
    } else {
        SetError::InvalidBefore
    };
    let layered = layered.map_err(refuse)?;
    Ok(Change {
        layered,
        file,
        path: target.canonicalize().unwrap_or(target),
        text,
    })
}

/// Changes one of the sources, and returns its new text. Text that is no JSON object stays as it
/// is: it is refused with its own problem.
fn edited(
    sources: &mut Sources,
    place: Place,
    file: &str,
    path: &[String],
    value: &Value,
) -> String {
    let change = |old: Option<&str>| {
        let old = old.unwrap_or("{}\n");
        let json = serde_json::from_str(old.trim_start_matches('\u{feff}'));
        match json {
            Ok(Value::Object(_)) => json_edit::set(old, path, value),
            _ => old.to_owned(),
        }
    };
    match place {
        Place::Shared => {
            let text = change(sources.shared.as_deref());
            sources.shared.insert(text).clone()
        }
        Place::Local => {
            let text = change(sources.local.as_deref());
            sources.local.insert(text).clone()
        }
        Place::User => {
            let text = change(sources.user.as_ref().map(|file| &*file.text));
            let name = file.to_owned();
            sources.user.insert(UserFile { name, text }).text.clone()
        }
    }
}

impl Change {
    /// Writes the file.
    ///
    /// # Errors
    /// It cannot be written; then it is as it was before.
    pub fn write(&self) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut new = tempfile::Builder::new()
            .prefix(".config-")
            .suffix(".tmp")
            .tempfile_in(folder)?;
        new.write_all(self.text.as_bytes())?;
        if let Ok(old) = fs::metadata(&self.path) {
            new.as_file().set_permissions(old.permissions())?;
        }
        new.as_file().sync_all()?;
        new.persist(&self.path).map_err(|error| error.error)?;
        File::open(folder)?.sync_all()
    }
}

/// The names in a key such as `agents.profiles.ed.model`. A name that exists in `known` may contain
/// dots, as those of models do.
pub fn path_of(known: &Value, key: &str) -> Vec<String> {
    let mut path = Vec::new();
    let (mut at, mut rest) = (Some(known), Some(key));
    while let Some(key) = rest {
        let members = at.and_then(Value::as_object);
        let names = members.into_iter().flat_map(serde_json::Map::keys);
        let fits = |name: &&String| {
            let rest = key.strip_prefix(name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let name = match names.filter(fits).max_by_key(|name| name.len()) {
            Some(name) => name.as_str(),
            None => key.split('.').next().unwrap_or(key),
        };
        rest = key[name.len()..].strip_prefix('.');
        at = at.and_then(|at| at.get(name));
        path.push(name.to_owned());
    }
    path
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use serde_json::json;
    use tempfile::TempDir;

    use super::*;

    fn home(dir: &TempDir) -> BTreeMap<String, String> {
        let home = dir.path().to_str().unwrap().to_owned();
        BTreeMap::from([("HOME".to_owned(), home)])
    }

    #[test]
    fn names_with_dots_are_found_where_they_exist() {
        let known = json!({"pricing": {"gpt-4.1": {"input": 1}}, "a": {"b": 1}});
        for (key, path) in [
            (
                "pricing.gpt-4.1.input",
                &["pricing", "gpt-4.1", "input"][..],
            ),
            ("pricing.new.input", &["pricing", "new", "input"]),
            ("a.b.c", &["a", "b", "c"]),
            ("x", &["x"]),
            ("", &[""]),
        ] {
            assert_eq!(path_of(&known, key), path, "{key}");
        }
    }

    #[test]
    fn an_invalid_change_leaves_the_file_untouched() {
        let dir = TempDir::new().unwrap();
        let file = dir.path().join("config.json");
        let text = "{ \"mode\":\"autopilot\",\n  \"target\": \"main\" }\n";
        fs::write(&file, text).unwrap();
        let change = |key, value| {
            let folder = Some(dir.path());
            set(folder, BTreeMap::new(), Place::Shared, key, &value)
        };
        for (key, value, words) in [
            ("mode", json!("auto"), "config.json:1:3: mode"),
            ("moed", json!("autopilot"), "did you mean `mode`?"),
            ("agents.maxParallel.x", json!(1), "agents.maxParallel"),
        ] {
            let told = change(key, value).unwrap_err().to_string();
            assert!(told.contains(words), "{told}");
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        let change = change("mode", json!("semi-auto")).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        change.write().unwrap();
        let new = text.replace("autopilot", "semi-auto");
        assert_eq!(fs::read_to_string(&file).unwrap(), new);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    /// The keys of the change that another source overrides.
    fn overridden(dir: &TempDir, place: Place, key: &str, value: &Value) -> Vec<(String, String)> {
        let change = set(Some(dir.path()), home(dir), place, key, value).unwrap();
        let found = change.layered.overridden(key, value, &change.file);
        change.write().unwrap();
        found
    }

    #[test]
    fn only_what_another_source_overrides_has_no_effect() {
        let dir = TempDir::new().unwrap();
        let text = r#"{"agents": {"profiles": {"ed": {"adapter": "demo"}}}}"#;
        fs::write(dir.path().join("config.json"), text).unwrap();
        let shared = |key, value| overridden(&dir, Place::Shared, key, &value);
        let local = |key, value| overridden(&dir, Place::Local, key, &value);
        let own = |key, value| overridden(&dir, Place::User, key, &value);
        let by_local = |key: &str| (key.to_owned(), "config.local.json".to_owned());
        assert_eq!(
            shared(
                "agents.profiles.big",
                json!({"adapter": "claude", "args": ["x"]})
            ),
            []
        );
        assert_eq!(shared("notify.webhook", json!("https://a/")), []);
        let object = json!({"url": "https://b/", "headers": {"A": "b"}});
        assert_eq!(local("notify.webhook", object), []);
        let again = shared("notify.webhook", json!("https://c/"));
        let both = format!("{again:?}");
        assert_eq!(again.len(), 1, "{both}");
        assert!(
            both.contains("config.local.json") && !both.contains("config.json\""),
            "{both}"
        );
        assert_eq!(local("notify.webhook", json!("https://d/")), []);
        assert_eq!(shared("hooks.pre-merge", json!("a.sh")), []);
        assert_eq!(local("agents.maxParallel", json!(2)), []);
        let limits = json!({"maxParallel": 3, "timeoutMinutes": 9});
        assert_eq!(own("agents", limits), [by_local("agents.maxParallel")]);
        assert_eq!(own("budget.usdPerDay", json!(5)), []);
    }

    #[test]
    fn the_persons_file_is_made_and_a_link_to_it_stays() {
        let dir = TempDir::new().unwrap();
        let own = dir.path().join(".config/swarm/config.json");
        let value = json!("semi-auto");
        let set = || set(None, home(&dir), Place::User, "mode", &value);
        set().unwrap().write().unwrap();
        assert_eq!(
            fs::read_to_string(&own).unwrap(),
            "{\n  \"mode\": \"semi-auto\"\n}\n"
        );
        let target = dir.path().join("dotfile");
        fs::rename(&own, &target).unwrap();
        std::os::unix::fs::symlink(&target, &own).unwrap();
        set().unwrap().write().unwrap();
        assert!(own.is_symlink() && target.is_file());
    }
}
