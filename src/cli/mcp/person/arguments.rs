//! Reads the arguments of a call of these tools.
//!
//! Invariant: an argument that the schema does not have is an error that names those it has.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::tools::{MAX_LINES, PersonTool};
use crate::cli::mcp::arguments::{bad, parse};
use crate::domain::ids::{CheckpointName, ProfileName};
use crate::domain::state::IdeaStatus;

/// A call with its arguments.
#[derive(Debug, PartialEq)]
pub(in crate::cli::mcp) enum Call {
    Status,
    NeedsYou,
    Report(Report),
    ListIdeas(ListIdeas),
    ShowIdea(OneIdea),
    ShowLogs(ShowLogs),
    AddIdea(AddIdea),
    EditIdea(EditIdea),
    AssignIdea(AssignIdea),
    RetryIdea(OneIdea),
    Say(Say),
    Pause(Pause),
    Resume,
    CreateCheckpoint(CreateCheckpoint),
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cli::mcp) struct Report {
    pub(super) since: Option<String>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cli::mcp) struct ListIdeas {
    pub(super) status: Option<IdeaStatus>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cli::mcp) struct OneIdea {
    pub(super) id: String,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cli::mcp) struct ShowLogs {
    pub(super) id: String,
    pub(super) lines: Option<u64>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cli::mcp) struct AddIdea {
    pub(super) content: String,
    #[serde(default)]
    pub(super) after: Vec<String>,
    #[serde(default)]
    pub(super) tags: Vec<String>,
    #[serde(default)]
    pub(super) priority: i64,
    pub(super) profile: Option<ProfileName>,
    #[serde(default)]
    pub(super) review: bool,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cli::mcp) struct EditIdea {
    pub(super) id: String,
    pub(super) content: Option<String>,
    pub(super) after: Option<Vec<String>>,
    pub(super) tags: Option<Vec<String>>,
    pub(super) priority: Option<i64>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cli::mcp) struct AssignIdea {
    pub(super) id: String,
    pub(super) profile: Option<ProfileName>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cli::mcp) struct Say {
    pub(super) id: String,
    pub(super) text: String,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cli::mcp) struct Pause {
    pub(super) reason: Option<String>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cli::mcp) struct CreateCheckpoint {
    pub(super) name: CheckpointName,
}

impl Call {
    /// The call of `tool` with these arguments, or what is wrong with them.
    pub(in crate::cli::mcp) fn parse(
        tool: PersonTool,
        arguments: Map<String, Value>,
    ) -> Result<Self, String> {
        let name = tool.name();
        let without = |call: Self| parse(name, arguments.clone()).map(|Nothing {}| call);
        match tool {
            PersonTool::Status => without(Self::Status),
            PersonTool::NeedsYou => without(Self::NeedsYou),
            PersonTool::Resume => without(Self::Resume),
            PersonTool::Report => parse(name, arguments).map(Self::Report),
            PersonTool::IdeaList => parse(name, arguments).map(Self::ListIdeas),
            PersonTool::IdeaShow => parse(name, arguments).map(Self::ShowIdea),
            PersonTool::AgentLogs => parse(name, arguments).and_then(ShowLogs::checked),
            PersonTool::IdeaAdd => parse(name, arguments).map(Self::AddIdea),
            PersonTool::IdeaEdit => parse(name, arguments).and_then(EditIdea::checked),
            PersonTool::IdeaAssign => parse(name, arguments).map(Self::AssignIdea),
            PersonTool::IdeaRetry => parse(name, arguments).map(Self::RetryIdea),
            PersonTool::AgentSay => parse(name, arguments).map(Self::Say),
            PersonTool::Pause => parse(name, arguments).map(Self::Pause),
            PersonTool::CheckpointCreate => parse(name, arguments).map(Self::CreateCheckpoint),
        }
    }
}

impl ShowLogs {
    fn checked(self) -> Result<Call, String> {
        match self.lines {
            Some(lines) if !(1..=MAX_LINES).contains(&lines) => Err(bad(
                PersonTool::AgentLogs.name(),
                format!("`lines` is {lines}; 1 to {MAX_LINES} are allowed"),
            )),
            _ => Ok(Call::ShowLogs(self)),
        }
    }
}

impl EditIdea {
    fn checked(self) -> Result<Call, String> {
        let nothing = self.content.is_none()
            && self.after.is_none()
            && self.tags.is_none()
            && self.priority.is_none();
        if nothing {
            let why = "name at least one of `content`, `after`, `tags` and `priority`";
            return Err(bad(PersonTool::IdeaEdit.name(), why));
        }
        Ok(Call::EditIdea(self))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use strum::VariantArray as _;

    use super::*;
    use crate::cli::mcp::arguments::testkit::check_schema;

    fn read(tool: PersonTool, arguments: &Value) -> Result<Call, String> {
        Call::parse(tool, arguments.as_object().unwrap().clone())
    }

    #[test]
    fn what_the_schemas_allow_can_be_read_and_nothing_else() {
        for tool in PersonTool::VARIANTS {
            check_schema(&tool.describe(), false, &|arguments| {
                Call::parse(*tool, arguments).map(drop)
            });
        }
    }

    #[test]
    fn values_out_of_range_and_edits_of_nothing_are_errors() {
        for lines in [0, MAX_LINES + 1] {
            let arguments = json!({"id": "ed-001", "lines": lines});
            let error = read(PersonTool::AgentLogs, &arguments).unwrap_err();
            assert!(error.contains("1 to 1000"), "{error}");
        }
        let error = read(PersonTool::IdeaEdit, &json!({"id": "idea-001"})).unwrap_err();
        assert!(error.contains("at least one of `content`"), "{error}");
        let error = read(PersonTool::IdeaList, &json!({"status": "lost"})).unwrap_err();
        assert!(error.contains("`pending`"), "{error}");
        let error = read(PersonTool::CheckpointCreate, &json!({"name": "No Name"})).unwrap_err();
        assert!(error.contains("No Name"), "{error}");
    }

    #[test]
    fn an_empty_list_is_a_change_and_a_missing_one_is_none() {
        let edit = json!({"id": "3", "after": []});
        let Ok(Call::EditIdea(edit)) = read(PersonTool::IdeaEdit, &edit) else {
            panic!("{edit}");
        };
        assert_eq!((edit.after, edit.tags), (Some(vec![]), None));
    }
}
