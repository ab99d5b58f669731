//! What changed since an agent's prompt told it, said once, with the next answer.
//!
//! Invariant: a version that the agent read or wrote by a tool itself is no news.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::cli::access::with_access;
use crate::cli::json::{list, number, text};
use crate::cli::repo::Repo;
use crate::domain::ids::AgentId;

/// What one agent knows.
pub(super) struct News {
    agent: Option<AgentId>,
    /// The versions that it was told or saw after its prompt; 0 for a retraction.
    known: Mutex<BTreeMap<String, u64>>,
}

impl News {
    /// `None` for a client that no prompt told anything.
    pub(super) fn new(agent: Option<AgentId>) -> Self {
        Self {
            agent,
            known: Mutex::default(),
        }
    }

    /// What the agent does not know yet, after it got `answer`.
    pub(super) fn after(&self, repo: &Repo, answer: &Value) -> Option<String> {
        let agent = self.agent.as_ref()?;
        // The answer stands without its news.
        let shown = with_access(repo, |access| access.shown(agent)).ok()?;
        let mut known = self.known();
        note_seen(&mut known, answer);
        line(&mut known, list(&shown, "items"))
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The fact that an answer is about.
fn note_seen(known: &mut BTreeMap<String, u64>, answer: &Value) {
    let (key, version) = (text(answer, "key"), number(answer, "version"));
    if !key.is_empty() && version > 0 {
        known.insert(key.to_owned(), version);
    }
}

fn line(known: &mut BTreeMap<String, u64>, shown: &[Value]) -> Option<String> {
    let mut news = Vec::new();
    for item in shown {
        let reference = text(item, "ref");
        let now = number(item, "currentVersion");
        let last = known.get(reference).copied();
        if last.unwrap_or_else(|| number(item, "version")) == now {
            continue;
        }
        known.insert(reference.to_owned(), now);
        news.push(match now {
            0 => format!("{reference} retracted"),
            version => format!("{reference} v{version}"),
        });
    }
    (!news.is_empty()).then(|| format!("changed since you were told: {}", news.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn news_are_told_once_and_not_to_whom_made_them() {
        let item = |reference: &str, version: u64, now: u64| json!({"ref": reference, "version": version, "currentVersion": now});
        let mut known = BTreeMap::new();
        let shown = [item("api.port", 3, 3), item("learning-001", 1, 1)];
        assert_eq!(line(&mut known, &shown), None);
        let shown = [item("api.port", 3, 4), item("learning-001", 1, 0)];
        let told = line(&mut known, &shown).unwrap();
        assert_eq!(
            told,
            "changed since you were told: api.port v4, learning-001 retracted"
        );
        assert_eq!(line(&mut known, &shown), None);
        note_seen(&mut known, &json!({"key": "api.port", "version": 5}));
        let shown = [item("api.port", 3, 5), item("learning-001", 1, 0)];
        assert_eq!(line(&mut known, &shown), None);
        let shown = [item("api.port", 3, 6), item("learning-001", 1, 0)];
        assert!(line(&mut known, &shown).is_some());
    }
}
