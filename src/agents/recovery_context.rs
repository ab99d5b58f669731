//! The recovery context: tells an attempt after a crash about the one before, from evidence
//! (events, exit records, git).
//!
//! Invariant: the prompt section and `recovery.json` are two renderings of one [`RecoveryContext`].
//! Unknown facts are omitted, never made up.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::test_status::TestStatus;
use super::text::{head, one_line};
use crate::domain::time::Timestamp;

/// Heading of the section in the prompt.
pub const HEADING: &str = "## Recovery Context";

/// What the new agent should do with the earlier work.
pub const INSTRUCTION: &str = "An earlier attempt at this idea ended before it was finished. First \
    look at this worktree (`git status`, `git diff`, `git log`). Keep what is good and continue \
    from there instead of starting over.";

/// The same for a new conversation within an attempt.
pub const NEW_CONVERSATION: &str = "An earlier conversation about this idea ended before the idea \
    was finished. First look at this worktree (`git status`, `git diff`, `git log`). Keep what is \
    good and continue from there instead of starting over.";

/// The content of `recovery.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecoveryContext {
    /// Attempts at this idea before this one.
    pub previous_attempts: u32,
    /// What happened, oldest first. The last attempt begins at the last `start`.
    pub audit_log: Vec<AuditEntry>,
    /// Whether the kept worktree has uncommitted changes.
    pub worktree_has_changes: bool,
    /// What to do now, in a few sentences.
    pub instruction: String,
}

/// One event of an earlier attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct AuditEntry {
    pub timestamp: Timestamp,
    pub event: AuditEvent,
    #[serde(default)]
    pub details: AuditDetails,
}

/// Kind of an [`AuditEntry`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AuditEvent {
    /// An attempt began.
    Start,
    /// An iteration began.
    Iteration,
    /// The agent sent a signal.
    Signal,
    /// The attempt ended without being finished.
    Crash,
}

/// Details of an [`AuditEntry`]. An absent key means that the fact is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AuditDetails {
    /// Files that differ from the attempt's base, relative to the worktree.
    pub files_modified: Vec<String>,
    /// Test counts of the last quality check, if it ran and printed a known summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_status: Option<TestStatus>,
    /// The attempt's last commit, in the format of [`last_commit`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_commit: Option<String>,
    /// Why the attempt ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Number of the iteration, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
}

/// Formats a commit for the recovery context: `<oid> "subject"`.
pub fn last_commit(oid: &str, subject: &str) -> String {
    format!("{oid} \"{}\"", head(&one_line(subject), MAX_LINE - 80))
}

/// Limit on the file names in the prompt; `recovery.json` has all of them.
const MAX_FILES: usize = 30;
/// Limit in bytes on a file name, a commit or an error in the prompt.
const MAX_LINE: usize = 300;

impl RecoveryContext {
    /// A context with the standard instruction.
    pub fn new(
        previous_attempts: u32,
        audit_log: Vec<AuditEntry>,
        worktree_has_changes: bool,
    ) -> Self {
        Self {
            previous_attempts,
            audit_log,
            worktree_has_changes,
            instruction: INSTRUCTION.to_owned(),
        }
    }

    /// The prompt section, from its heading to the instruction.
    pub fn to_markdown(&self) -> String {
        let changes = if self.worktree_has_changes {
            "Yes"
        } else {
            "No"
        };
        let mut text = format!(
            "{HEADING}\n\n**Previous attempts:** {}\n**Worktree has uncommitted changes:** \
            {changes}\n\n### Last Attempt Log\n\n",
            self.previous_attempts
        );
        for line in self.last_attempt_lines() {
            let _ = writeln!(text, "- {line}"); // a String takes everything
        }
        let _ = writeln!(text, "\n{}", self.instruction);
        text
    }

    fn last_attempt_lines(&self) -> Vec<String> {
        let last = self.last_attempt();
        let started = last
            .first()
            .map(|entry| format!("Started: {}", entry.timestamp));
        let tests = newest(last, |details| details.test_status);
        let commit = newest(last, |details| details.last_commit.as_deref());
        let error = newest(last, |details| details.error.as_deref());
        let lines = [
            started,
            Some(format!("Files modified: {}", files(last))),
            tests.map(|tests| format!("Tests: {}/{} passing", tests.passed, tests.total())),
            Some(format!(
                "Last commit: {}",
                commit.map_or_else(|| "none".to_owned(), shown)
            )),
            Some(ended(last)),
            error.map(|error| format!("Error: {}", shown(error))),
        ];
        lines.into_iter().flatten().collect()
    }

    /// The entries from the last `start` on; all entries if there is none.
    fn last_attempt(&self) -> &[AuditEntry] {
        let start = self
            .audit_log
            .iter()
            .rposition(|entry| entry.event == AuditEvent::Start);
        &self.audit_log[start.unwrap_or(0)..]
    }
}

/// The last known value of a detail.
fn newest<'a, T>(
    entries: &'a [AuditEntry],
    detail: impl FnMut(&'a AuditDetails) -> Option<T>,
) -> Option<T> {
    entries
        .iter()
        .rev()
        .map(|entry| &entry.details)
        .find_map(detail)
}

fn files(entries: &[AuditEntry]) -> String {
    let known = newest(entries, |details| {
        (!details.files_modified.is_empty()).then_some(&details.files_modified)
    });
    let Some(files) = known else {
        return "none".to_owned();
    };
    let mut list: Vec<String> = files
        .iter()
        .take(MAX_FILES)
        .map(|file| shown(file))
        .collect();
    if files.len() > MAX_FILES {
        list.push(format!("and {} more", files.len() - MAX_FILES));
    }
    list.join(", ")
}

fn shown(text: &str) -> String {
    head(&one_line(text), MAX_LINE).to_owned()
}

fn ended(entries: &[AuditEntry]) -> String {
    let went_on = |entry: &AuditEntry| entry.event != AuditEvent::Crash;
    let iteration = newest(entries, |details| details.iteration);
    match iteration {
        Some(iteration) if entries.iter().all(went_on) => {
            format!("Its conversation ended in iteration {iteration}")
        }
        Some(iteration) => format!("Crashed during iteration {iteration}"),
        None => "Crashed before its first iteration".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use super::*;

    fn entry(millis: i64, event: AuditEvent, details: AuditDetails) -> AuditEntry {
        AuditEntry {
            timestamp: Timestamp::from_millis(millis),
            event,
            details,
        }
    }

    fn example() -> RecoveryContext {
        let crash = AuditDetails {
            files_modified: vec!["src/a.rs".into(), "b.txt".into()],
            test_status: Some(TestStatus {
                passed: 4,
                failed: 2,
            }),
            last_commit: Some(last_commit("abc1234", "Add \u{1b}[31ma\nthing")),
            error: Some("the agent was killed by signal 9".into()),
            iteration: Some(3),
        };
        let of_iteration = |iteration| AuditDetails {
            iteration: Some(iteration),
            ..AuditDetails::default()
        };
        RecoveryContext::new(
            2,
            vec![
                entry(0, AuditEvent::Start, AuditDetails::default()),
                entry(500, AuditEvent::Crash, of_iteration(9)),
                entry(1000, AuditEvent::Start, AuditDetails::default()),
                entry(2000, AuditEvent::Iteration, of_iteration(3)),
                entry(3000, AuditEvent::Crash, crash),
            ],
            true,
        )
    }

    #[test]
    fn the_section_states_the_known_facts() {
        let expected = format!(
            "## Recovery Context\n\n\
             **Previous attempts:** 2\n\
             **Worktree has uncommitted changes:** Yes\n\n\
             ### Last Attempt Log\n\n\
             - Started: 1970-01-01T00:00:01.000Z\n\
             - Files modified: src/a.rs, b.txt\n\
             - Tests: 4/6 passing\n\
             - Last commit: abc1234 \"Add a thing\"\n\
             - Crashed during iteration 3\n\
             - Error: the agent was killed by signal 9\n\n\
             {INSTRUCTION}\n"
        );
        assert_eq!(example().to_markdown(), expected);
    }

    #[test]
    fn unknown_facts_are_omitted() {
        let text = RecoveryContext::new(1, Vec::new(), false).to_markdown();
        assert!(text.contains("**Worktree has uncommitted changes:** No\n"));
        assert!(text.contains(
            "- Files modified: none\n- Last commit: none\n- Crashed before its first iteration\n"
        ));
        assert!(!text.contains("Tests:") && !text.contains("Started:"));
    }

    #[test]
    fn a_long_file_list_is_cut_and_counted() {
        let mut context = example();
        context.audit_log[4].details.files_modified = (0..100).map(|n| format!("f{n}")).collect();
        assert!(context.to_markdown().contains("f29, and 70 more\n"));
    }

    #[test]
    fn json_has_the_documented_keys_and_survives_a_round_trip() {
        let json = serde_json::to_value(example()).unwrap();
        assert_eq!(json["previousAttempts"], 2);
        assert_eq!(json["worktreeHasChanges"], true);
        assert_eq!(json["instruction"], INSTRUCTION);
        let crash = &json["auditLog"][4];
        assert_eq!(crash["timestamp"], "1970-01-01T00:00:03.000Z");
        assert_eq!(crash["event"], "crash");
        assert_eq!(
            crash["details"]["testStatus"],
            serde_json::json!({"passed": 4, "failed": 2})
        );
        assert_eq!(crash["details"]["lastCommit"], "abc1234 \"Add a thing\"");
        assert_eq!(
            json["auditLog"][0]["details"],
            serde_json::json!({"filesModified": []})
        );
        let back: RecoveryContext = serde_json::from_value(json).unwrap();
        assert_eq!(back, example());
    }
}
