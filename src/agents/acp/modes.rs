//! Chooses the session mode in which an agent works without asking.
//!
//! Invariant: only a mode that the agent offers is chosen. `bridge` switches to it before the first
//! prompt of a run.

use serde_json::{Value, json};

use crate::agents::stream::json::{Object, object, objects, text};

/// Modes in which agents ask nobody, the freest first: those of Claude Code, Gemini and Qwen, Codex
/// and Goose, then those that ask only before some commands, which swarm allows.
const FREE: [&str; 8] = [
    "bypassPermissions",
    "yolo",
    "full-access",
    "auto",
    "acceptEdits",
    "autoEdit",
    "auto-edit",
    "auto_edit",
];

/// A request that switches the mode of a session.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Switch {
    pub(super) mode: &'static str,
    pub(super) method: &'static str,
    pub(super) params: Value,
}

/// The switch to the freest mode that the agent's answer to `session/new` offers; `None` if the
/// session has that mode already, or the agent offers none of them.
pub(super) fn switch(session: &str, offered: &Object) -> Option<Switch> {
    if let Some(modes) = object(offered, "modes") {
        let ids = objects(modes, "availableModes").filter_map(|mode| text(mode, "id"));
        let mode = freest(ids, text(modes, "currentModeId"))?;
        return Some(Switch {
            mode,
            method: "session/set_mode",
            params: json!({"sessionId": session, "modeId": mode}),
        });
    }
    let option = objects(offered, "configOptions")
        .find(|option| text(option, "category") == Some("mode"))?;
    let id = text(option, "id")?;
    // Options are in a list, or in groups of such lists.
    let groups = objects(option, "options").flat_map(|group| objects(group, "options"));
    let values = objects(option, "options").chain(groups);
    let values = values.filter_map(|option| text(option, "value"));
    let mode = freest(values, text(option, "currentValue"))?;
    Some(Switch {
        mode,
        method: "session/set_config_option",
        params: json!({"sessionId": session, "configId": id, "value": mode}),
    })
}

fn freest<'a>(
    offered: impl Iterator<Item = &'a str>,
    current: Option<&str>,
) -> Option<&'static str> {
    let offered: Vec<&str> = offered.collect();
    let freest = FREE.into_iter().find(|mode| offered.contains(mode))?;
    (current != Some(freest)).then_some(freest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(offered: &Value) -> Option<&'static str> {
        switch("s-1", offered.as_object()?).map(|switch| switch.mode)
    }

    fn modes(current: &str, ids: &[&str]) -> Value {
        let modes: Vec<Value> = ids.iter().map(|id| json!({"id": id, "name": id})).collect();
        json!({"modes": {"currentModeId": current, "availableModes": modes}})
    }

    #[test]
    fn the_freest_mode_that_is_offered_is_chosen() {
        for (current, ids, expected) in [
            (
                "default",
                &["default", "acceptEdits", "plan", "bypassPermissions"][..],
                Some("bypassPermissions"),
            ),
            ("default", &["default", "autoEdit", "yolo"], Some("yolo")),
            (
                "default",
                &["default", "acceptEdits", "plan"],
                Some("acceptEdits"),
            ),
            (
                "auto",
                &["read-only", "auto", "full-access"],
                Some("full-access"),
            ),
            ("yolo", &["default", "yolo"], None),
            ("build", &["build", "plan"], None),
        ] {
            assert_eq!(chosen(&modes(current, ids)), expected, "{ids:?}");
        }
        assert_eq!(chosen(&json!({"sessionId": "s-1"})), None);
    }

    #[test]
    fn a_mode_among_the_options_of_a_session_is_found_in_groups_too() {
        let list = json!([{"value": "default"}, {"value": "yolo"}]);
        let groups = json!([{"group": "a", "options": list}]);
        for options in [list, groups] {
            let option = json!({"id": "mode", "category": "mode", "type": "select",
                "currentValue": "default", "options": options});
            let offered = json!({"configOptions": [option]});
            let switch = switch("s-1", offered.as_object().unwrap()).unwrap();
            assert_eq!(switch.method, "session/set_config_option");
            let params = json!({"sessionId": "s-1", "configId": "mode", "value": "yolo"});
            assert_eq!(switch.params, params);
        }
    }
}
