//! Commands as JSON: what a client sends to `POST /commands`.
//!
//! Invariant: what [`write()`] makes of a command is what [`read()`] reads. Commands about the
//! memory lie beside the others, so that `do` alone names a command.

use serde::{Deserialize as _, Serialize};
use serde_json::{Error, Value};
use utoipa::ToSchema;

use crate::domain::memory::MemoryCommand;
use crate::domain::operation::Command;
use crate::view::schema::tags;

/// A command, named by `do`.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[allow(dead_code)] // only its schema is used
pub(super) enum SentCommand {
    Swarm(Command),
    Memory(MemoryCommand),
}

/// Reads a command. The error says that there is no such command, or which field of it is missing,
/// unknown or wrong.
pub(super) fn read(json: Value) -> Result<Command, String> {
    let Some(name) = json["do"].as_str() else {
        return Err("`do` must name the command".to_owned());
    };
    let (own, of_memory) = (tags::<Command>("do"), tags::<MemoryCommand>("do"));
    let read = if of_memory.contains(&name) {
        MemoryCommand::deserialize(json).map(Command::Memory)
    } else if own.contains(&name) {
        Command::deserialize(json)
    } else {
        let all = [own, of_memory].concat().join(", ");
        let name: String = name.chars().take(60).collect();
        let name = name.escape_debug();
        return Err(format!(
            "there is no command `{name}`; the commands are: {all}"
        ));
    };
    read.map_err(|error| error.to_string())
}

/// Writes a command.
///
/// # Errors
/// It is not a client's to send.
pub(crate) fn write(command: &Command) -> Result<Value, Error> {
    if let Command::Memory(command) = command {
        return serde_json::to_value(command);
    }
    serde_json::to_value(command)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for json in [
            json!({"do": "addIdea", "content": "one", "after": [], "tags": [], "priority": 0,
                "profile": null, "inbox": null}),
            json!({"do": "holdIdea", "id": "idea-001"}),
            json!({"do": "resume"}),
            json!({"do": "learn", "content": "a", "key": null, "profile": null, "sameAs": null,
                "claim": {"evidence": [3, "l-1"], "paths": [], "why": null}}),
            json!({"do": "pinFact", "key": "a.b", "on": true}),
        ] {
            let command = read(json.clone()).unwrap();
            assert_eq!(write(&command).unwrap(), json);
        }
    }

    #[test]
    fn a_field_that_no_command_has_is_refused() {
        for json in [
            json!({"do": "holdIdea", "id": "idea-001", "idee": 1}),
            json!({"do": "addIdea", "content": "one", "tag": "x"}),
            json!({"do": "writeFact", "key": "a", "value": "b", "version": 2}),
            json!({"do": "editIdea", "id": "idea-001", "edit": {"text": "x"}}),
        ] {
            let error = read(json).unwrap_err();
            assert!(error.contains("unknown field"), "{error}");
        }
    }

    #[test]
    fn what_the_daemon_sends_itself_is_no_command_of_a_client() {
        let error = read(json!({"do": "loadSettings"})).unwrap_err();
        assert!(
            error.starts_with("there is no command `loadSettings`"),
            "{error}"
        );
        assert!(error.ends_with("synthesize"), "{error}");
    }
}
