//! What only the launch of an iteration knows, in a file of the run's directory, for the record
//! that is made when the iteration is over.
//!
//! Invariant: written with the prompt, before the program starts; a launch that is prepared again
//! writes it again. It never holds the value of a variable that may be secret.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::build::oid;
use crate::agents::prompt::{self, PromptInput};
use crate::config::Config;
use crate::daemon::files::hash::sha256;
use crate::daemon::runs::launch_record;
use crate::domain::ids::ProfileName;
use crate::domain::secrets::is_secret_name;
use crate::git::TreeAt;
use crate::view::provenance::record::{Environment, FileDigest, TreeState};

/// The file in the run's directory.
pub(crate) const INPUTS: &str = "inputs.json";
/// Most bytes read of it.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Variables whose values are kept, besides `LC_*` and `SWARM_*`.
const SHOWN_VARIABLES: [&str; 5] = ["LANG", "TZ", "PATH", "SHELL", "TERM"];

/// The content of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunInputs {
    /// The profile.
    pub(crate) profile: String,
    /// The files and rules in the prompt.
    #[serde(flatten)]
    pub(crate) given: GivenRules,
    /// SHA-256 of the effective configuration.
    pub(crate) config_hash: String,
    /// The environment of the program.
    pub(crate) environment: Environment,
    /// The worktree before the iteration, if it could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<TreeState>,
}

/// The files and rules that went into a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GivenRules {
    /// The files whose content went into the prompt: the shared rules, and the profile's prompt and
    /// rules, in that order.
    pub(crate) context_files: Vec<FileDigest>,
    /// SHA-256 of [`prompt::instructions`].
    pub(crate) system_prompt_hash: String,
}

impl GivenRules {
    /// Those of a prompt with this input.
    pub(crate) fn of(input: &PromptInput, profile: &ProfileName) -> Self {
        let shared = input.shared_rules.iter();
        let shared = shared.map(|(name, content)| (format!(".swarm/rules/{name}"), content));
        let own = [
            ("prompt.md", &input.profile_prompt),
            ("rules.md", &input.profile_rules),
        ];
        let own = own.map(|(name, content)| (format!(".swarm/agents/{profile}/{name}"), content));
        let files = shared.chain(own).filter(|(_, content)| !content.is_empty());
        Self {
            context_files: files.map(|(path, content)| digest(path, content)).collect(),
            system_prompt_hash: sha256(prompt::instructions(input).as_bytes()),
        }
    }
}

fn digest(path: String, content: &str) -> FileDigest {
    FileDigest {
        path,
        sha256: sha256(content.as_bytes()),
        size: content.len() as u64,
    }
}

impl RunInputs {
    /// Those of an iteration whose program gets this environment. `before` is the worktree as the
    /// iteration finds it.
    pub(crate) fn new(
        given: GivenRules,
        profile: &str,
        config: &Config,
        env: &BTreeMap<String, String>,
        before: Option<TreeState>,
    ) -> Self {
        Self {
            profile: profile.to_owned(),
            given,
            config_hash: config.hash(),
            environment: environment(env),
            before,
        }
    }

    /// Those of the run in this directory.
    ///
    /// # Errors
    /// The file cannot be read, or is not as it was written.
    pub(super) fn read(dir: &Path) -> io::Result<Self> {
        let text = launch_record::text(&dir.join(INPUTS), MAX_BYTES)?;
        Ok(serde_json::from_str(&text)?)
    }
}

impl From<TreeAt> for TreeState {
    fn from(files: TreeAt) -> Self {
        Self {
            commit: Some(files.commit.to_string()),
            tree: Some(files.tree.to_string()),
        }
    }
}

impl RunInputs {
    /// The files before the iteration, if they could be read.
    pub(super) fn files_before(&self) -> Option<TreeAt> {
        files_of(self.before.as_ref()?)
    }
}

/// The files of a worktree that a record names, if it names commit and tree.
pub(super) fn files_of(state: &TreeState) -> Option<TreeAt> {
    Some(TreeAt {
        commit: oid(state.commit.as_deref()?)?,
        tree: oid(state.tree.as_deref()?)?,
    })
}

/// The names of all variables, and the values of those that can be no secret.
fn environment(env: &BTreeMap<String, String>) -> Environment {
    let shown = env.iter().filter(|(name, _)| is_shown(name));
    Environment {
        names: env.keys().cloned().collect(),
        values: shown
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    }
}

fn is_shown(name: &str) -> bool {
    let is_known =
        SHOWN_VARIABLES.contains(&name) || name.starts_with("LC_") || name.starts_with("SWARM_");
    is_known && !is_secret_name(name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_only_of_variables_that_can_be_no_secret() {
        let all = [
            "AWS_SECRET_ACCESS_KEY",
            "HOME",
            "LANG",
            "LC_ALL",
            "LC_TOKEN",
            "PATH",
            "SWARM_AGENT",
            "SWARM_API_KEY",
            "SWARM_my_password",
            "XPATH",
        ];
        let env = all.map(|name| (name.to_owned(), format!("of {name}")));
        let kept = environment(&BTreeMap::from(env));
        assert_eq!(kept.names, all);
        let values: Vec<&str> = kept.values.keys().map(String::as_str).collect();
        assert_eq!(values, ["LANG", "LC_ALL", "PATH", "SWARM_AGENT"]);
    }

    #[test]
    fn the_hash_of_the_instructions_depends_on_the_rules_and_not_on_the_idea() {
        let profile: ProfileName = "ed".parse().unwrap();
        let input = PromptInput {
            idea_text: "Add a flag".to_owned(),
            profile_rules: "Be brief.".to_owned(),
            branch: "agent/ed-001".to_owned(),
            attempt: 1,
            iteration: 1,
            ..PromptInput::default()
        };
        let other = PromptInput {
            idea_text: "Remove a flag".to_owned(),
            branch: "agent/ed-002".to_owned(),
            attempt: 2,
            iteration: 3,
            ..input.clone()
        };
        let given = GivenRules::of(&input, &profile);
        assert_eq!(given, GivenRules::of(&other, &profile));
        assert_eq!(given.context_files.len(), 1);
        assert_eq!(given.context_files[0].path, ".swarm/agents/ed/rules.md");
        let changed = PromptInput {
            profile_rules: "Be thorough.".to_owned(),
            ..input
        };
        let changed = GivenRules::of(&changed, &profile);
        assert_ne!(given.system_prompt_hash, changed.system_prompt_hash);
    }
}
