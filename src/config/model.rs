//! The configuration as types: every key, its meaning, its default and its bounds, in one place.
//!
//! Invariant: the doc comments and attributes here *are* the JSON Schema and hence the checker ([`super::validate`]); nothing
//! about a key is said a second time elsewhere.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hooks::{Hook, HookName, hooks_schema};

/// Pattern of a profile's name.
pub const PROFILE_NAME: &str = "^[a-z0-9][a-z0-9-]{0,31}$";
/// Pattern of an environment variable's name.
pub const VARIABLE_NAME: &str = "^[A-Za-z_][A-Za-z0-9_]*$";
/// Pattern of a text with at least one visible character and no NUL.
pub const NOT_BLANK: &str = r"^[^\u0000]*[^\u0000\s][^\u0000]*$";
/// Pattern of a text without NUL, which the system cannot hand to a program.
pub const NO_NUL: &str = r"^[^\u0000]*$";

/// Configuration of swarm for one repository (`.swarm/config.json`, with `.swarm/config.local.json` over it).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(title = "swarm configuration")]
pub struct Config {
    /// Where an editor finds the JSON Schema of this file. swarm itself does not read it.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Who chooses the next idea: swarm (`autopilot`) or a person (`semi-auto`).
    pub mode: Mode,
    /// Branch that finished work lands on. `swarm init` writes the branch checked out at that time.
    #[schemars(regex(pattern = NOT_BLANK))]
    pub target: Option<String>,
    /// Agents: how many, how long, which program.
    pub agents: Agents,
    /// When an attempt is complete, and when it has gone on for too long.
    pub completion: Completion,
    /// Commands that must pass before work lands; each runs through `sh -c` in the tree that it checks, in this order.
    #[schemars(inner(regex(pattern = NOT_BLANK)))]
    pub quality_commands: Vec<String>,
    /// Minutes after which one quality command is ended and counts as failed.
    #[schemars(range(min = 1, max = 1440))]
    pub quality_timeout_minutes: u32,
    /// How finished work lands on the target branch.
    pub merge: Merge,
    /// Named points to roll back to.
    pub checkpoints: Checkpoints,
    /// Programs run at certain moments; a hook not named here is `.swarm/hooks/<hook>.sh`, if that exists.
    #[schemars(schema_with = "hooks_schema")]
    pub hooks: BTreeMap<HookName, Hook>,
    /// Limits on spending. When one is reached no further iteration starts; what runs is completed, unless `hardStop` is set.
    pub budget: Budget,
    /// How long what is over is kept.
    pub retention: Retention,
    /// How swarm ends.
    pub shutdown: Shutdown,
    /// What to do where a service's limit is reached.
    pub limits: Limits,
    /// Prices by model, for programs that tell no cost, or not before the end of a run: it is then estimated, and marked as that. A model is
    /// named by its whole id or by that without `-DATE` (`-20250929`, `-2025-09-29`) or `-latest`.
    pub pricing: BTreeMap<String, Pricing>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            schema: None,
            mode: Mode::default(),
            target: None,
            agents: Agents::default(),
            completion: Completion::default(),
            quality_commands: Vec::new(),
            quality_timeout_minutes: 30,
            merge: Merge::default(),
            checkpoints: Checkpoints::default(),
            hooks: BTreeMap::new(),
            budget: Budget::default(),
            retention: Retention::default(),
            shutdown: Shutdown::default(),
            limits: Limits::default(),
            pricing: BTreeMap::new(),
        }
    }
}

/// Who chooses the next idea.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A person assigns each idea.
    SemiAuto,
    /// swarm fills its slots from the ideas that are ready.
    #[default]
    Autopilot,
}

/// Agents: how many, how long, which program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Agents {
    /// How many agents work at the same time.
    #[schemars(range(min = 1, max = 64))]
    pub max_parallel: u32,
    /// Minutes that one attempt may take in all; then its idea is `timeout` and its worktree is kept.
    #[schemars(range(min = 1, max = 10080))]
    pub timeout_minutes: u32,
    /// Name of the profile used where an idea names none.
    #[schemars(regex(pattern = PROFILE_NAME))]
    pub profile: String,
    /// Consecutive failures after which autopilot pauses.
    #[schemars(range(min = 1, max = 1000))]
    pub failures_to_pause: u32,
    /// How often an idea is tried again after its agent crashed; then a person is asked.
    #[schemars(range(min = 0, max = 100))]
    pub crash_retries: u32,
    /// Minutes without any output after which an agent is ended and goes on anew. Adapter `command`: not looked at, since such programs
    /// may be silent until they are through.
    #[schemars(range(min = 1, max = 10080))]
    pub idle_minutes: u32,
    /// Minutes for which a claim on an idea holds without a sign of life from its agent.
    #[schemars(range(min = 1, max = 10080))]
    pub lease_minutes: u32,
    /// Names of environment variables handed on to agents, in addition to the usual ones (`PATH`, `HOME`, ...).
    #[schemars(inner(regex(pattern = VARIABLE_NAME)))]
    pub pass_env: Vec<String>,
    /// MiB of output that one run may write; beyond that it is ended.
    #[serde(rename = "maxOutputMiB")]
    #[schemars(range(min = 1, max = 1_048_576))]
    pub max_output_mib: u32,
    /// The programs that can work on ideas, by name.
    #[schemars(extend("propertyNames" = { "pattern": PROFILE_NAME }))]
    pub profiles: BTreeMap<String, Profile>,
}

impl Default for Agents {
    fn default() -> Self {
        Self {
            max_parallel: 3,
            timeout_minutes: 30,
            profile: "ed".to_owned(),
            failures_to_pause: 3,
            crash_retries: 3,
            idle_minutes: 10,
            lease_minutes: 60,
            pass_env: Vec::new(),
            max_output_mib: 1024,
            profiles: BTreeMap::new(),
        }
    }
}

/// One way to run an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Profile {
    /// How swarm talks to the program.
    pub adapter: Adapter,
    /// Model that the program is asked to use; absent: the program's own choice.
    #[serde(default)]
    #[schemars(regex(pattern = NOT_BLANK))]
    pub model: Option<String>,
    /// Account whose usage limits this profile shares: profiles of one account wait together. Absent: the adapter's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = NOT_BLANK))]
    pub account: Option<String>,
    /// The program and its first arguments. Adapter `command`: it reads the prompt on standard input. Adapter `acp`: it speaks the Agent
    /// Client Protocol there. Others: instead of the program of that name that `PATH` has.
    #[serde(default)]
    #[schemars(inner(regex(pattern = NO_NUL)))]
    pub command: Vec<String>,
    /// Further arguments, after those that the adapter gives.
    #[serde(default)]
    #[schemars(inner(regex(pattern = NO_NUL)))]
    pub args: Vec<String>,
    /// Environment variables for this program. Values are hidden wherever swarm shows its configuration.
    #[serde(default)]
    #[schemars(extend(
        "propertyNames" = { "pattern": VARIABLE_NAME },
        "additionalProperties" = { "type": "string", "pattern": NO_NUL },
    ))]
    pub env: BTreeMap<String, String>,
}

/// How swarm talks to an agent's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Adapter {
    /// Any program: prompt on standard input, plain text on standard output.
    Command,
    /// The scripted agent of `swarm demo`.
    Demo,
    /// Claude Code and its structured stream.
    Claude,
    /// Codex and its structured stream.
    Codex,
    /// Gemini CLI and its structured stream.
    Gemini,
    /// opencode and its structured stream.
    Opencode,
    /// An agent that speaks the Agent Client Protocol.
    Acp,
}

impl Adapter {
    /// Those for one program each, which swarm knows by its own stream; the preferred one first.
    pub const PROGRAMS: [Self; 4] = [Self::Claude, Self::Codex, Self::Opencode, Self::Gemini];

    /// Its name in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Demo => "demo",
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Acp => "acp",
        }
    }
}

/// When an attempt is complete, and when it has gone on for too long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Completion {
    /// Iterations after which an attempt ends; its idea is `timeout` and its worktree is kept.
    #[schemars(range(min = 1, max = 10000))]
    pub max_iterations: u32,
    /// Iterations in a row with no new commit after which a warning is shown.
    #[schemars(range(min = 1, max = 10000))]
    pub stuck_threshold: u32,
    /// Commit what the agent left uncommitted when it says that it is done.
    pub auto_commit: bool,
    /// Take up the agent's conversation in its next iteration, also after a crash or a stop; otherwise each begins anew.
    pub resume: bool,
}

impl Default for Completion {
    fn default() -> Self {
        Self {
            max_iterations: 50,
            stuck_threshold: 5,
            auto_commit: true,
            resume: true,
        }
    }
}

/// How finished work lands on the target branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Merge {
    /// Land complete work by itself; otherwise it waits for `swarm merge retry IDEA`.
    pub auto_merge: bool,
    /// Run the quality commands on the merged tree before the target moves.
    pub verify: bool,
    /// How often a resolver agent may try to settle one conflict; then a person is asked.
    #[schemars(range(min = 0, max = 100))]
    pub conflict_retries: u32,
    /// Remove an idea's worktree and branch once its landing is proven.
    pub cleanup_on_success: bool,
    /// Name of the profile that resolves conflicts; absent: the profile that did the work.
    #[schemars(regex(pattern = PROFILE_NAME))]
    pub resolver: Option<String>,
}

impl Default for Merge {
    fn default() -> Self {
        Self {
            auto_merge: true,
            verify: true,
            conflict_retries: 3,
            cleanup_on_success: true,
            resolver: None,
        }
    }
}

/// Named points to roll back to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Checkpoints {
    /// A checkpoint after every so many ideas done; 0: none.
    #[schemars(range(min = 0, max = 10000))]
    pub periodic: u32,
    /// A checkpoint each time autopilot begins.
    pub before_autopilot: bool,
    /// So many checkpoints that nobody asked for are kept, the newest; those that a person made stay until a person deletes them.
    #[schemars(range(min = 1, max = 10000))]
    pub keep: u32,
}

impl Default for Checkpoints {
    fn default() -> Self {
        Self {
            periodic: 5,
            before_autopilot: true,
            keep: 50,
        }
    }
}

/// Limits on spending.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Budget {
    /// US dollars that one idea may cost; null: no limit.
    #[schemars(range(min = 0.01))]
    pub usd_per_idea: Option<f64>,
    /// US dollars that one day (UTC) may cost; null: no limit.
    #[schemars(range(min = 0.01))]
    pub usd_per_day: Option<f64>,
    /// Tokens of all kinds that one idea may use; null: no limit.
    #[schemars(range(min = 1))]
    pub tokens_per_idea: Option<u64>,
    /// Tokens of all kinds that one day (UTC) may use; null: no limit.
    #[schemars(range(min = 1))]
    pub tokens_per_day: Option<u64>,
    /// Stop also in the middle of an iteration; otherwise what runs is completed. Of dollars only what is known on the way counts: `pricing`.
    pub hard_stop: bool,
}

/// What to do where a service's limit is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Limits {
    /// Go on by itself when the limit is reset; otherwise a person says so (`swarm resume`).
    pub auto_resume: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { auto_resume: true }
    }
}

/// A model's prices, in US dollars for a million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pricing {
    /// For what it reads.
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub input: f64,
    /// For what it writes.
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub output: f64,
    /// For what it reads from its cache; absent: as `input`.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub cached: Option<f64>,
    /// For what it reads and puts into its cache; absent: as `input`.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub cache_written: Option<f64>,
}

/// How long what is over is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Retention {
    /// Days after which the output of an attempt at a finished idea is deleted (`.swarm/runs/`), by the daemon once a day and by `swarm clean`; 0: at once.
    #[schemars(range(min = 0, max = 36500))]
    pub runs_days: u32,
}

impl Default for Retention {
    fn default() -> Self {
        Self { runs_days: 30 }
    }
}

/// How swarm ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Shutdown {
    /// Seconds that agents get to reach a safe boundary before they are ended.
    #[schemars(range(min = 0, max = 3600))]
    pub grace_seconds: u32,
}

impl Default for Shutdown {
    fn default() -> Self {
        Self { grace_seconds: 5 }
    }
}
