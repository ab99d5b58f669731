//! Names, descriptions, input schemas and hints of the tools of a person's own agent.
//!
//! Invariant: together with the memory's tools they stay within 12 KiB, and no schema has a
//! `format`.

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Value, json};

use crate::cli::mcp::tools::{changes, flag, reads, text, texts, tool};
use crate::domain::state::IdeaStatus;

/// A tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::VariantArray, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(in crate::cli::mcp) enum PersonTool {
    Status,
    NeedsYou,
    Report,
    IdeaList,
    IdeaShow,
    AgentLogs,
    IdeaAdd,
    IdeaEdit,
    IdeaAssign,
    IdeaRetry,
    AgentSay,
    Pause,
    Resume,
    CheckpointCreate,
}

/// Lines of an agent's output in an answer whose call names no number.
pub(super) const DEFAULT_LINES: u64 = 100;
/// Most lines of an agent's output in one answer.
pub(super) const MAX_LINES: u64 = 1_000;

const IDEA: &str = "Like idea-003";
const AGENT: &str = "Like ed-002";

impl PersonTool {
    /// The name on the wire.
    pub(in crate::cli::mcp) fn name(self) -> &'static str {
        self.into()
    }

    /// The tool as a client lists it.
    pub(in crate::cli::mcp) fn describe(self) -> Tool {
        let (properties, required) = self.arguments();
        tool(self.name(), self.description(), &properties, required).with_annotations(self.hints())
    }

    /// Whether it changes nothing.
    pub(in crate::cli::mcp) const fn only_reads(self) -> bool {
        match self {
            Self::Status
            | Self::NeedsYou
            | Self::Report
            | Self::IdeaList
            | Self::IdeaShow
            | Self::AgentLogs => true,
            Self::IdeaAdd
            | Self::IdeaEdit
            | Self::IdeaAssign
            | Self::IdeaRetry
            | Self::AgentSay
            | Self::Pause
            | Self::Resume
            | Self::CheckpointCreate => false,
        }
    }

    /// Whether a second call with the same arguments changes nothing more.
    const fn is_idempotent(self) -> bool {
        match self {
            Self::IdeaAdd | Self::AgentSay => false,
            Self::Status
            | Self::NeedsYou
            | Self::Report
            | Self::IdeaList
            | Self::IdeaShow
            | Self::AgentLogs
            | Self::IdeaEdit
            | Self::IdeaAssign
            | Self::IdeaRetry
            | Self::Pause
            | Self::Resume
            | Self::CheckpointCreate => true,
        }
    }

    fn hints(self) -> ToolAnnotations {
        if self.only_reads() {
            reads()
        } else {
            changes().idempotent(self.is_idempotent())
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::Status => {
                "The swarm at a glance: phase, ideas by status, agents at work, merge queue, \
                 warnings, what needs the person."
            }
            Self::NeedsYou => {
                "What waits for the person, most urgent first, with the commands to type. They \
                 decide: show them, do not decide for them."
            }
            Self::Report => "What landed, failed, waits and was spent.",
            Self::IdeaList => {
                "List ideas: first those under way, then those that need somebody, waiting, over."
            }
            Self::IdeaShow => {
                "One idea: its text, status, attempts, runs, and what happened to it."
            }
            Self::AgentLogs => "The last lines of an agent's output.",
            Self::IdeaAdd => {
                "Add an idea to the backlog: work that an agent does on a branch of its own. Say \
                 what is wanted and how to check it."
            }
            Self::IdeaEdit => {
                "Change an idea that has not landed. A new text counts from the next attempt on; a \
                 list replaces the old one."
            }
            Self::IdeaAssign => "Start an idea now, even in semi-auto mode.",
            Self::IdeaRetry => "Give a failed, timed-out or blocked idea a fresh start.",
            Self::AgentSay => "Send an agent a message with its next prompt.",
            Self::Pause => "Start nothing new. Running iterations finish first.",
            Self::Resume => "End the pause.",
            Self::CheckpointCreate => {
                "Save the target branch, the ideas and all agents' work as a checkpoint, to which \
                 the person can roll back."
            }
        }
    }

    /// The properties of the arguments, and which are required.
    fn arguments(self) -> (Value, &'static [&'static str]) {
        match self {
            Self::Status | Self::NeedsYou | Self::Resume => (json!({}), &[]),
            Self::Report => {
                let since = "12h, 2d, a time, or `last`: the person's last report";
                (json!({ "since": text(since) }), &[])
            }
            Self::IdeaList => {
                let words = IdeaStatus::ALL.map(IdeaStatus::as_str);
                (json!({ "status": {"type": "string", "enum": words} }), &[])
            }
            Self::IdeaShow | Self::IdeaRetry => (json!({ "id": text(IDEA) }), &["id"]),
            Self::AgentLogs => (
                json!({
                    "id": text(AGENT),
                    "lines": {"type": "integer", "minimum": 1, "maximum": MAX_LINES},
                }),
                &["id"],
            ),
            Self::IdeaAdd => (
                with_idea_fields(json!({
                    "profile": text("Agent profile, if not the default one"),
                    "review": flag("Land it only after the person approves"),
                })),
                &["content"],
            ),
            Self::IdeaEdit => (with_idea_fields(json!({ "id": text(IDEA) })), &["id"]),
            Self::IdeaAssign => (
                json!({ "id": text(IDEA), "profile": text("Agent profile") }),
                &["id"],
            ),
            Self::AgentSay => (
                json!({ "id": text(AGENT), "text": text("The message") }),
                &["id", "text"],
            ),
            Self::Pause => (json!({ "reason": text("Shown in the status") }), &[]),
            Self::CheckpointCreate => (json!({ "name": text("Like before-release") }), &["name"]),
        }
    }
}

/// The fields that an idea is given and that may change later, and these besides.
fn with_idea_fields(mut properties: Value) -> Value {
    properties["content"] = text("The work to do; the first line is its title");
    properties["after"] = texts("Ideas that must be done first");
    properties["tags"] = texts("`critical` and `quick-win` raise it in the order");
    properties["priority"] = json!({
        "type": "integer",
        "description": "Higher starts earlier; 0 is usual",
    });
    properties
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::*;
    use crate::cli::mcp::tools::ToolName;
    use crate::cli::mcp::tools::tests::formats;

    /// Largest size of all tools outside a run as a client reads them, in bytes.
    const MAX_BYTES: usize = 12 * 1024;

    #[test]
    fn with_those_of_the_memory_they_are_small_and_without_formats() {
        let memory = ToolName::VARIANTS.iter().map(|tool| tool.describe());
        let own = PersonTool::VARIANTS.iter().map(|tool| tool.describe());
        let tools: Vec<Tool> = memory.chain(own).collect();
        let tools = serde_json::to_value(tools).unwrap();
        assert_eq!(tools.as_array().unwrap().len(), 23);
        let bytes = tools.to_string().len();
        println!("{bytes} bytes");
        assert!(bytes <= MAX_BYTES, "{bytes} bytes");
        assert_eq!(formats(&tools), 0);
    }

    #[test]
    fn nothing_that_loses_work_or_decides_a_landing_is_a_tool() {
        let names: Vec<&str> = PersonTool::VARIANTS.iter().map(|it| it.name()).collect();
        for word in [
            "rollback", "undo", "cancel", "stop", "redirect", "retract", "merge", "approve",
            "reject", "delete", "clean", "config", "hook",
        ] {
            assert!(names.iter().all(|name| !name.contains(word)), "{word}");
        }
    }
}
