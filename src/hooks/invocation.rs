//! Builds the input of a hook: environment variables, and the same data as JSON on standard input.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::domain::hook::HookName;

/// The input of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// `SWARM_*` variables by full name.
    pub variables: BTreeMap<String, String>,
    /// Standard input: one line of JSON.
    pub stdin: Vec<u8>,
}

/// Builds the call of `hook` for event `seq`. `facts` holds the variables without the prefix
/// `SWARM_`.
pub fn invocation(
    hook: HookName,
    seq: u64,
    repository: &str,
    facts: &BTreeMap<String, String>,
) -> Invocation {
    // An environment variable cannot contain a NUL.
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

/// Converts `IDEA_ID` to `ideaId`.
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

/// Example data for `swarm hooks run`.
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
        HookName::OnNeedsYou => {
            let message = ("MESSAGE", "idea-001 failed: the agent exited with code 1");
            let commands = "swarm idea retry idea-001\nswarm idea cancel idea-001";
            vec![("KIND", "failed"), idea, message, ("COMMANDS", commands)]
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
    fn variables_and_standard_input_carry_the_same_data() {
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
    fn text_from_an_agent_is_escaped_and_stripped_of_nul() {
        let facts = BTreeMap::from([("CONTENT".to_owned(), "a\0b\"\n".to_owned())]);
        let told = invocation(HookName::OnLearning, 1, "r", &facts);
        assert_eq!(told.variables["SWARM_CONTENT"], "ab\"\n");
        let stdin: Value = serde_json::from_slice(&told.stdin).unwrap();
        assert_eq!(stdin["data"]["content"], "ab\"\n");
    }
}
