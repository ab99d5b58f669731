//! What a hook is told: variables, and the same as one JSON object on its standard input.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::domain::hook::HookName;

/// What one call is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// `SWARM_*` and their values.
    pub variables: BTreeMap<String, String>,
    /// The standard input: one line of JSON.
    pub stdin: Vec<u8>,
}

/// The call of `hook` about the event `seq`. `facts` are the variables of the hook without their `SWARM_`.
pub fn invocation(
    hook: HookName,
    seq: u64,
    repository: &str,
    facts: &BTreeMap<String, String>,
) -> Invocation {
    // A variable cannot hold what ends its text.
    let value = |value: &String| value.replace('\0', "");
    let mut variables: BTreeMap<String, String> = facts
        .iter()
        .map(|(name, text)| (format!("SWARM_{name}"), value(text)))
        .collect();
    variables.insert("SWARM_HOOK".into(), hook.to_string());
    variables.insert("SWARM_EVENT_SEQ".into(), seq.to_string());
    variables.insert("SWARM_REPO".into(), repository.into());
    let data: Map<String, Value> = facts
        .iter()
        .map(|(name, text)| (key(name), value(text).into()))
        .collect();
    let told = json!({ "hook": hook.as_str(), "eventSeq": seq, "data": data });
    let mut stdin = told.to_string().into_bytes();
    stdin.push(b'\n');
    Invocation { variables, stdin }
}

/// `IDEA_ID` is `ideaId` in JSON.
fn key(name: &str) -> String {
    let mut key = String::new();
    for (place, word) in name.split('_').enumerate() {
        let lower = word.to_lowercase();
        let mut letters = lower.chars();
        match letters.next() {
            Some(first) if place > 0 => {
                key.extend(first.to_uppercase());
                key.push_str(letters.as_str());
            }
            _ => key.push_str(&lower),
        }
    }
    key
}

/// What a hook could be told, to try it.
pub fn sample(hook: HookName) -> BTreeMap<String, String> {
    const COMMIT: &str = "1111111111111111111111111111111111111111";
    let idea = ("IDEA_ID", "idea-001");
    let agent = ("AGENT", "ed-001");
    let branch = ("BRANCH", "agent/ed-001/idea-001");
    let target = ("TARGET", "main");
    let commit = ("COMMIT_HASH", COMMIT);
    let pairs: Vec<(&str, &str)> = match hook {
        HookName::PreStart => {
            let worktree = ("WORKTREE", ".swarm/worktrees/ed-001-idea-001");
            vec![idea, agent, worktree, branch]
        }
        HookName::PostComplete => {
            vec![idea, agent, ("STATUS", "done"), ("DURATION", "754"), branch]
        }
        HookName::PreMerge => vec![idea, branch, target, commit],
        HookName::PostMerge => vec![idea, commit, target],
        HookName::OnConflict => {
            vec![idea, ("FILES", "src/a.rs\nsrc/b.rs"), ("LEVEL", "MEDIUM")]
        }
        HookName::OnLearning => {
            let content = ("CONTENT", "The tests need a running database.");
            vec![
                ("LEARNING_ID", "learning-001"),
                ("SCOPE", "global"),
                content,
            ]
        }
        HookName::OnPause => {
            let running = ("RUNNING_IDEAS", "idea-001,idea-002");
            vec![("REASON", "paused by hand"), running]
        }
        HookName::OnError => {
            let message = ("MESSAGE", "the agent exited with code 1");
            vec![("ERROR_TYPE", "failed"), message, idea]
        }
    };
    let owned = pairs.into_iter();
    owned
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_and_standard_input_say_the_same() {
        let facts = sample(HookName::OnConflict);
        let told = invocation(HookName::OnConflict, 42, "/repository", &facts);
        let variables: Vec<_> = told
            .variables
            .iter()
            .map(|(n, v)| (n.as_str(), v.as_str()))
            .collect();
        assert_eq!(
            variables,
            [
                ("SWARM_EVENT_SEQ", "42"),
                ("SWARM_FILES", "src/a.rs\nsrc/b.rs"),
                ("SWARM_HOOK", "on-conflict"),
                ("SWARM_IDEA_ID", "idea-001"),
                ("SWARM_LEVEL", "MEDIUM"),
                ("SWARM_REPO", "/repository"),
            ]
        );
        let stdin: Value = serde_json::from_slice(&told.stdin).unwrap();
        assert_eq!(
            stdin,
            json!({"hook": "on-conflict", "eventSeq": 42,
                "data": {"ideaId": "idea-001", "files": "src/a.rs\nsrc/b.rs", "level": "MEDIUM"}})
        );
    }

    #[test]
    fn what_an_agent_wrote_cannot_spoil_a_call() {
        let facts = BTreeMap::from([("CONTENT".to_owned(), "a\0b\"\n".to_owned())]);
        let told = invocation(HookName::OnLearning, 1, "r", &facts);
        assert_eq!(told.variables["SWARM_CONTENT"], "ab\"\n");
        let stdin: Value = serde_json::from_slice(&told.stdin).unwrap();
        assert_eq!(stdin["data"]["content"], "ab\"\n");
    }
}
