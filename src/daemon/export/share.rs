//! What an archive to share has: the log and the state without secrets.
//!
//! Invariant: every text passes through the rules for secrets, and so does the state. The log gets
//! a new chain of checksums, so it can be shown and compared, but not imported: its swarm would
//! not be the one that the repository knows.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};

use serde_json::{Map, Value};

use super::scratch::Scratch;
use super::{Gathered, contents};
use crate::archive::names::{EVENTS, SNAPSHOT};
use crate::archive::{Content, Redaction, Source};
use crate::daemon::error::DaemonError;
use crate::daemon::files::config_loader::Loader;
use crate::daemon::files::paths::Paths;
use crate::domain::secrets::Secrets;
use crate::domain::state::State;
use crate::journal::{LIVE_FILE, copy_changed};

/// What stands before the data of an event, in its line.
const DATA: &str = ",\"data\":";

/// The rules, and what they found in one file.
struct Cleaner {
    secrets: Secrets,
    found: BTreeMap<&'static str, u64>,
}

/// Gathers all of it.
pub(super) fn gather(
    paths: &Paths,
    state: &State,
    scratch: &Scratch,
) -> Result<Gathered, DaemonError> {
    let secrets = secrets(paths)?;
    let log = scratch.path(LIVE_FILE);
    let mut cleaner = Cleaner::new(&secrets);
    let writing = || DaemonError::io("write the log without secrets");
    let mut out = BufWriter::new(File::create_new(&log).map_err(writing())?);
    let change = &mut |line: &str| cleaner.line(line);
    let end = copy_changed(&paths.state, state.seq, change, &mut out)?;
    out.flush().map_err(writing())?;
    let events = format!("{EVENTS}{LIVE_FILE}");
    let mut redactions = cleaner.report(&events);
    let mut cleaner = Cleaner::new(&secrets);
    let clean = cleaner.state(state)?;
    let mut all = cleaner.report(SNAPSHOT);
    all.append(&mut redactions);
    let log = Source {
        path: events,
        content: Content::File {
            path: log,
            size: end.offset,
        },
    };
    Ok(Gathered {
        sources: vec![contents::snapshot(&clean, end)?, log],
        end,
        git: None,
        redactions: all,
    })
}

/// The secrets of our environment and of the profiles'. Without the configuration, nobody knows
/// what must not be shared.
fn secrets(paths: &Paths) -> Result<Secrets, DaemonError> {
    let own: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let config = Loader::new(paths).load()?;
    let profiles = config.agents.profiles.values();
    let of_profiles = profiles.flat_map(|profile| &profile.env);
    let own = own.iter().map(|(name, value)| (name, value));
    let all = own.chain(of_profiles);
    let all = all.map(|(name, value)| (name.as_str(), value.as_str()));
    Ok(Secrets::among(all))
}

impl Cleaner {
    fn new(secrets: &Secrets) -> Self {
        Self {
            secrets: secrets.clone(),
            found: BTreeMap::new(),
        }
    }

    /// The line of an event without secrets, up to its checksum; `None` if it has none.
    fn line(&mut self, line: &str) -> Option<String> {
        let (head, data) = line.split_once(DATA)?;
        let mut data: Value = serde_json::from_str(data).ok()?;
        self.value(&mut data).then(|| format!("{head}{DATA}{data}"))
    }

    /// The state without secrets.
    fn state(&mut self, state: &State) -> Result<State, DaemonError> {
        let failed = |error: serde_json::Error| {
            DaemonError::io("take the secrets out of the state")(error.into())
        };
        let mut value = serde_json::to_value(state).map_err(failed)?;
        if !self.value(&mut value) {
            return Ok(state.clone());
        }
        serde_json::from_value(value).map_err(failed)
    }

    /// Takes secrets out of each text of a value; returns whether there was one.
    fn value(&mut self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(values) => {
                let each = values.iter_mut().map(|value| self.value(value));
                each.fold(false, |any, one| any | one)
            }
            Value::Object(fields) => {
                let each = fields.values_mut().map(|value| self.value(value));
                let is_changed = each.fold(false, |any, one| any | one);
                self.keys(fields) | is_changed
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// Takes secrets out of the keys of a map; returns whether there was one. A key may have to
    /// parse as a name, so the replacement uses only characters that names may have.
    fn keys(&mut self, fields: &mut Map<String, Value>) -> bool {
        let mut found = Vec::new();
        for key in fields.keys() {
            let mut clean = key.clone();
            if self.text(&mut clean) {
                found.push((key.clone(), clean));
            }
        }
        for (number, (key, clean)) in found.iter().enumerate() {
            let name = clean.replace("[redacted:", "redacted-").replace(']', "");
            if let Some(value) = fields.remove(key) {
                fields.insert(format!("{name}-{}", number + 1), value);
            }
        }
        !found.is_empty()
    }

    fn text(&mut self, text: &mut String) -> bool {
        let clean = self.secrets.redact(text);
        for rule in &clean.rules {
            *self.found.entry(rule).or_default() += 1;
        }
        let is_changed = !clean.rules.is_empty();
        if is_changed {
            *text = clean.text;
        }
        is_changed
    }

    /// What was found, for the manifest.
    fn report(self, path: &str) -> Vec<Redaction> {
        let found = self.found.into_iter();
        let each = found.map(|(rule, count)| Redaction {
            path: path.to_owned(),
            rule: rule.to_owned(),
            count,
        });
        each.collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_of_maps_lose_their_secrets_and_stay_names() {
        let mut cleaner = Cleaner {
            secrets: Secrets::among([("MY_TOKEN", "hunter2hunter2")]),
            found: BTreeMap::new(),
        };
        let mut value = json!({
            "api.hunter2hunter2": {"said": "hunter2hunter2"},
            "plain": {"hunter2hunter2": 1},
        });
        assert!(cleaner.value(&mut value));
        let expected = json!({
            "api.redacted-variable-1": {"said": "[redacted:variable]"},
            "plain": {"redacted-variable-1": 1},
        });
        assert_eq!(value, expected);
        assert_eq!(cleaner.found["variable"], 3);
        assert!(!cleaner.value(&mut value));
    }
}
