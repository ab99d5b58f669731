//! The configuration as types: meaning, default and range of every key.
//!
//! Invariant: doc comments and attributes here become the JSON Schema, which the validator
//! ([`super::validate`]) enforces. A doc comment states the unit, and a default only if the schema
//! cannot express it: schema and reference page show range and default of their own.

mod worktree;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hooks::{Hook, HookName, hooks_schema};
use super::notify::Notify;
pub use worktree::{KeepIgnored, Worktree};

/// Pattern of a profile name.
pub const PROFILE_NAME: &str = "^[a-z0-9][a-z0-9-]{0,31}$";
/// Pattern of an environment variable name.
pub const VARIABLE_NAME: &str = "^[A-Za-z_][A-Za-z0-9_]*$";
/// Pattern of a string with at least one visible character and no NUL.
pub const NOT_BLANK: &str = r"^[^\u0000]*[^\u0000\s][^\u0000]*$";
/// Pattern of a string without NUL, which the system cannot pass to a program.
pub const NO_NUL: &str = r"^[^\u0000]*$";

/// Configuration of swarm for one repository: `.swarm/config.json`, overridden by
/// `.swarm/config.local.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(title = "swarm configuration")]
pub struct Config {
    /// Location of this file's JSON Schema, for editors. swarm does not read it.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Who chooses the next idea: swarm (`autopilot`) or a person (`semi-auto`).
    pub mode: Mode,
    /// Branch that finished work lands on. `swarm init` sets it to the branch that is checked out.
    /// Default: the branch that is checked out when the daemon starts.
    #[schemars(regex(pattern = NOT_BLANK))]
    pub target: Option<String>,
    /// How many agents run, for how long, and which programs they are.
    pub agents: Agents,
    /// When an attempt is complete, and when it has run for too long.
    pub completion: Completion,
    /// Commands that must pass before work lands. They run in this order through `sh -c`, in the
    /// tree they check.
    #[schemars(inner(regex(pattern = NOT_BLANK)))]
    pub quality_commands: Vec<String>,
    /// Time limit of one quality command, in minutes. A command that exceeds it is stopped and
    /// counts as failed.
    #[schemars(range(min = 1, max = 1440))]
    pub quality_timeout_minutes: u32,
    /// What swarm puts into the worktrees of agents, and into the one that checks merges.
    pub worktree: Worktree,
    /// What swarm checks before work begins, and how many checks run at once.
    pub checks: Checks,
    /// How finished work lands on the target branch.
    pub merge: Merge,
    /// When swarm creates checkpoints to roll back to, and how many it keeps.
    pub checkpoints: Checkpoints,
    /// Programs that swarm runs at certain moments. A hook that is not named here is
    /// `.swarm/hooks/<hook>.sh`, if that file exists.
    #[schemars(schema_with = "hooks_schema")]
    pub hooks: BTreeMap<HookName, Hook>,
    /// Whom swarm tells what needs a person.
    pub notify: Notify,
    /// What agents are shown of what others found out.
    pub memory: Memory,
    /// Provenance records: what each iteration was given, and what it did.
    pub provenance: Provenance,
    /// Spending limits. When one is reached, no new iteration starts; running iterations finish
    /// unless `hardStop` is true.
    pub budget: Budget,
    /// How long swarm keeps data of finished work.
    pub retention: Retention,
    /// How swarm shuts down.
    pub shutdown: Shutdown,
    /// What swarm does when a model provider's usage limit is reached.
    pub limits: Limits,
    /// Prices by model, for agents that report no cost, or report it only at the end of a run.
    /// swarm then estimates the cost and marks it as an estimate. A key is the full id of a model,
    /// or the id without `-DATE` (`-20250929`, `-2025-09-29`) or `-latest`.
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
            worktree: Worktree::default(),
            checks: Checks::default(),
            merge: Merge::default(),
            checkpoints: Checkpoints::default(),
            hooks: BTreeMap::new(),
            notify: Notify::default(),
            memory: Memory::default(),
            provenance: Provenance::default(),
            budget: Budget::default(),
            retention: Retention::default(),
            shutdown: Shutdown::default(),
            limits: Limits::default(),
            pricing: BTreeMap::new(),
        }
    }
}

/// What agents are shown of what others found out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Memory {
    /// Longest section about it in a prompt, in bytes; 0 for none.
    #[schemars(range(min = 0, max = 65536))]
    pub prompt_bytes: u32,
    /// Share of the attempts whose prompts show nothing of it, from 0 to 1, so that you can measure
    /// what it is worth.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub holdout: f64,
    /// How many learnings that support no fact swarm keeps in its state. At twice as many it drops
    /// the oldest ones from there; the event log keeps them.
    #[schemars(range(min = 16, max = 1_000_000))]
    pub window: u32,
    /// A model makes facts of learnings.
    pub synthesis: Synthesis,
}

/// Provenance records: what each iteration was given, and what it did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Provenance {
    /// Whether swarm keeps a record of each iteration, and its files in git.
    pub keep: bool,
    /// Days after which a record is deleted.
    #[schemars(range(min = 1, max = 36_500))]
    pub days: u32,
    /// Days to keep a record whose last replay does not match it; at least `days`.
    #[schemars(range(min = 1, max = 36_500))]
    pub failed_replay_days: u32,
}

impl Default for Provenance {
    fn default() -> Self {
        Self {
            keep: true,
            days: 90,
            failed_replay_days: 180,
        }
    }
}

/// When a model makes facts of learnings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Synthesis {
    /// The profile that does it, by itself on autopilot. Without one, only
    /// `swarm memory synthesize` starts it.
    pub profile: Option<String>,
    /// New learnings after which it starts.
    #[schemars(range(min = 1, max = 10_000))]
    pub every: u32,
}

impl Default for Synthesis {
    fn default() -> Self {
        Self {
            profile: None,
            every: 50,
        }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            prompt_bytes: 6144,
            holdout: 0.0,
            window: 4096,
            synthesis: Synthesis::default(),
        }
    }
}

/// Who chooses the next idea.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A person assigns each idea.
    SemiAuto,
    /// swarm assigns ready ideas to free slots.
    #[default]
    Autopilot,
}

/// How many agents run, for how long, and which programs they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Agents {
    /// How many agents work at the same time.
    #[schemars(range(min = 1, max = 64))]
    pub max_parallel: u32,
    /// Time limit of one attempt, in minutes. When it is reached, the idea's status becomes
    /// `timeout` and its worktree is kept.
    #[schemars(range(min = 1, max = 10080))]
    pub timeout_minutes: u32,
    /// Profile of ideas that name none.
    #[schemars(regex(pattern = PROFILE_NAME))]
    pub profile: String,
    /// Number of attempts in a row that fail, time out or are blocked after which autopilot
    /// pauses. Three agents in a row that report BLOCKED with the same reason also pause it.
    #[schemars(range(min = 1, max = 1000))]
    pub failures_to_pause: u32,
    /// How often swarm retries an idea after its agent crashed, and how often in a row it repeats
    /// a check or a setup command whose runner was killed. After that, it asks a person.
    #[schemars(range(min = 0, max = 100))]
    pub crash_retries: u32,
    /// Minutes without output after which swarm stops an agent and starts it again. Adapter
    /// `command` ignores it, because such programs may be silent until they finish.
    #[schemars(range(min = 1, max = 10080))]
    pub idle_minutes: u32,
    /// Minutes that an agent may wait for its model provider, as its program reports it. After
    /// that, swarm ends the run, and its account waits. 0 turns this off.
    #[schemars(range(min = 0, max = 10080))]
    pub provider_wait_minutes: u32,
    /// Minutes that a claim on an idea stays valid without a sign of life from its agent.
    #[schemars(range(min = 1, max = 10080))]
    pub lease_minutes: u32,
    /// Names of environment variables that agents inherit, in addition to the usual ones (`PATH`,
    /// `HOME`, ...).
    #[schemars(inner(regex(pattern = VARIABLE_NAME)))]
    pub pass_env: Vec<String>,
    /// Whether agents may add ideas to the backlog, with `swarm idea add`. Ideas of agents cost
    /// money like yours.
    pub may_add_ideas: bool,
    /// Whether agents get the shared memory as tools of the Model Context Protocol. swarm passes
    /// the server to each program that can take one, and changes no file of yours.
    pub mcp: bool,
    /// Whether an agent may change a file that others changed since it read it. `tell`: yes; its
    /// prompt names such files. `block`: not before it has read the file again. Claude Code only:
    /// agents of other programs are told.
    pub read_guard: ReadGuard,
    /// Output limit of one run, in MiB. A run that exceeds it is stopped.
    #[serde(rename = "maxOutputMiB")]
    #[schemars(range(min = 1, max = 1_048_576))]
    pub max_output_mib: u32,
    /// Profiles by name: the programs that can work on ideas. A name has 1 to 32 characters from
    /// `a-z`, `0-9` and `-`, and does not start with `-`.
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
            provider_wait_minutes: 5,
            lease_minutes: 60,
            pass_env: Vec::new(),
            may_add_ideas: false,
            mcp: true,
            read_guard: ReadGuard::default(),
            max_output_mib: 1024,
            profiles: BTreeMap::new(),
        }
    }
}

/// Whether an agent may change a file that others changed since it read it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadGuard {
    /// Yes; its prompt names such files.
    #[default]
    Tell,
    /// Not before it has read the file again. Claude Code only.
    Block,
}

/// One way to run an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Profile {
    /// How swarm talks to the program.
    pub adapter: Adapter,
    /// Model that swarm asks the program to use. Default: the program's own choice.
    #[serde(default)]
    #[schemars(regex(pattern = NOT_BLANK))]
    pub model: Option<String>,
    /// Account whose usage limits this profile shares. Profiles of one account wait together.
    /// Default: the adapter's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = NOT_BLANK))]
    pub account: Option<String>,
    /// The program and its first arguments. Adapter `command` sends it the prompt on standard
    /// input. Adapter `acp` speaks the Agent Client Protocol with it. Both require this key. The
    /// other adapters run it instead of the program of their name on `PATH`.
    #[serde(default)]
    #[schemars(inner(regex(pattern = NO_NUL)))]
    pub command: Vec<String>,
    /// Further arguments, after those of the adapter.
    #[serde(default)]
    #[schemars(inner(regex(pattern = NO_NUL)))]
    pub args: Vec<String>,
    /// Environment variables of this program. swarm hides the values wherever it shows its
    /// configuration.
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
    /// Any program that reads the prompt on standard input and prints plain text.
    Command,
    /// The scripted agent of `swarm demo`.
    Demo,
    /// Claude Code, through its structured stream.
    Claude,
    /// Codex, through its structured stream.
    Codex,
    /// Gemini CLI, through its structured stream.
    Gemini,
    /// opencode, through its structured stream.
    Opencode,
    /// Any program that speaks the Agent Client Protocol.
    Acp,
}

impl Adapter {
    /// Adapters for one specific program each, in order of preference.
    pub const PROGRAMS: [Self; 4] = [Self::Claude, Self::Codex, Self::Opencode, Self::Gemini];

    /// The adapter's name in the configuration.
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

/// When an attempt is complete, and when it has run for too long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Completion {
    /// Number of iterations after which an attempt ends. The idea's status becomes `timeout` and
    /// its worktree is kept.
    #[schemars(range(min = 1, max = 10000))]
    pub max_iterations: u32,
    /// Number of consecutive iterations that change nothing in the worktree after which swarm
    /// blocks the idea as stuck. After as many without a new commit it shows a warning. 0 turns
    /// both off.
    #[schemars(range(min = 0, max = 10000))]
    pub stuck_threshold: u32,
    /// Number of consecutive iterations in which the same quality command fails, with any output,
    /// after which swarm blocks the idea as stuck. Fewer failed tests than before start the count
    /// again. 0 turns this off.
    #[schemars(range(min = 0, max = 10000))]
    pub same_check_failures: u32,
    /// Whether swarm commits the changes that an agent left uncommitted when it reported
    /// completion.
    pub auto_commit: bool,
    /// Whether an iteration continues the agent's conversation, even after a crash or a stop. If
    /// false, each iteration starts a new conversation.
    pub resume: bool,
}

impl Default for Completion {
    fn default() -> Self {
        Self {
            max_iterations: 50,
            stuck_threshold: 5,
            same_check_failures: 8,
            auto_commit: true,
            resume: true,
        }
    }
}

/// What swarm checks before work begins, and how many checks run at once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Checks {
    /// Whether the untouched target branch must pass the quality commands before an idea begins.
    /// swarm checks it again when somebody else moves the branch or changes the commands, and
    /// before it blames finished work for a merge that fails.
    pub baseline: Baseline,
    /// What happens if the quality commands do not see the tree that they check. swarm finds out
    /// once after the target branch passes them, and again when the commands, the setup, the
    /// environment or the tracked manifests change.
    pub canary: Canary,
    /// How many quality commands may run at once in agents' worktrees. `"auto"` means 1 while the
    /// last green ones took less than 10 seconds (their median), or after two collided on a port or
    /// a database; else as many as the machine has cores for. Checks of merges and of the target
    /// branch never wait.
    pub max_parallel: MaxChecks,
}

/// How many quality commands may run at once in agents' worktrees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum MaxChecks {
    /// As many as fit on the machine.
    Auto(Auto),
    /// At most this many.
    Number(#[schemars(range(min = 1, max = 64))] u32),
}

impl Default for MaxChecks {
    fn default() -> Self {
        Self::Auto(Auto::Auto)
    }
}

/// The word for a number that swarm chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Auto {
    /// swarm chooses.
    Auto,
}

/// What happens if the untouched target branch does not pass the quality commands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Baseline {
    /// No idea begins until it passes.
    #[default]
    Require,
    /// swarm shows a warning, and ideas begin.
    Warn,
    /// swarm does not check it.
    Off,
}

/// What happens if the quality commands do not see the tree that they check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Canary {
    /// No idea begins, and nothing lands, until you mend or accept that.
    #[default]
    Require,
    /// swarm shows a warning.
    Warn,
    /// swarm does not find out.
    Off,
}

/// How finished work lands on the target branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools)] // each is a setting of its own
pub struct Merge {
    /// Whether complete work lands without a person. If false, it waits for `swarm merge approve
    /// IDEA`.
    pub auto_merge: bool,
    /// Whether the quality commands must pass on the merged tree before the target branch moves.
    pub verify: bool,
    /// How often a resolver agent may try to resolve one conflict. After that, swarm asks a
    /// person.
    #[schemars(range(min = 0, max = 100))]
    pub conflict_retries: u32,
    /// Whether swarm removes an idea's worktree and branch once it has verified the landing.
    pub cleanup_on_success: bool,
    /// Profile that resolves conflicts. Default: the profile that did the work.
    #[schemars(regex(pattern = PROFILE_NAME))]
    pub resolver: Option<String>,
    /// Whether what an agent left uncommitted must pass the repository's `pre-commit` and
    /// `commit-msg` hooks before swarm commits it. What they reject goes back to the agent.
    pub commit_hooks: bool,
    /// Whether swarm signs what it commits on branches (merges, uncommitted work) and the tags of
    /// checkpoints.
    pub sign: MergeSign,
}

/// Whether swarm signs its own commits and tags.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MergeSign {
    /// Where `commit.gpgSign` and `tag.gpgSign` of git ask for it, with the key of git. If that
    /// fails, nothing lands.
    #[default]
    Auto,
    /// Never.
    Never,
}

impl Default for Merge {
    fn default() -> Self {
        Self {
            auto_merge: true,
            verify: true,
            conflict_retries: 3,
            cleanup_on_success: true,
            resolver: None,
            commit_hooks: true,
            sign: MergeSign::Auto,
        }
    }
}

/// When swarm creates checkpoints to roll back to, and how many it keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Checkpoints {
    /// Number of ideas done between two automatic checkpoints; 0 turns them off.
    #[schemars(range(min = 0, max = 10000))]
    pub periodic: u32,
    /// Whether swarm creates a checkpoint before autopilot begins: the first time, and again after
    /// semi-auto mode. A start or a resume alone is no such beginning.
    pub before_autopilot: bool,
    /// Whether each checkpoint is also a tag `swarm/checkpoint/NAME`, which `git push --tags`
    /// pushes and `git describe` may name.
    pub tag: bool,
    /// How many automatic checkpoints swarm keeps; it deletes the oldest first. Checkpoints that a
    /// person created stay until a person deletes them.
    #[schemars(range(min = 1, max = 10000))]
    pub keep: u32,
}

impl Default for Checkpoints {
    fn default() -> Self {
        Self {
            periodic: 5,
            before_autopilot: true,
            tag: false,
            keep: 50,
        }
    }
}

/// Spending limits.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Budget {
    /// US dollars that one idea may cost at most; null means no limit.
    #[schemars(range(min = 0.01))]
    pub usd_per_idea: Option<f64>,
    /// US dollars that all work of one day (UTC) may cost at most; null means no limit.
    #[schemars(range(min = 0.01))]
    pub usd_per_day: Option<f64>,
    /// Tokens of all kinds that one idea may use at most; null means no limit.
    #[schemars(range(min = 1))]
    pub tokens_per_idea: Option<u64>,
    /// Tokens of all kinds that all work of one day (UTC) may use at most; null means no limit.
    #[schemars(range(min = 1))]
    pub tokens_per_day: Option<u64>,
    /// Whether a limit stops agents in the middle of an iteration. If false, running iterations
    /// finish. A dollar limit counts only costs that are known during the run; see `pricing`.
    pub hard_stop: bool,
}

/// What swarm does when a model provider's usage limit is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Limits {
    /// Whether work resumes on its own when the limit resets. If false, it waits for `swarm
    /// resume`.
    pub auto_resume: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { auto_resume: true }
    }
}

/// Prices of one model, in US dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pricing {
    /// Price of input tokens.
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub input: f64,
    /// Price of output tokens.
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub output: f64,
    /// Price of input tokens read from the cache. If absent, `input` applies.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub cached: Option<f64>,
    /// Price of input tokens written to the cache. If absent, `input` applies.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub cache_written: Option<f64>,
}

/// How long swarm keeps data of finished work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Retention {
    /// Days that swarm keeps the output of attempts at a finished idea (`.git/swarm/runs/`). The
    /// daemon deletes older output once a day, `swarm clean` at once. 0 keeps none.
    #[schemars(range(min = 0, max = 36500))]
    pub runs_days: u32,
}

impl Default for Retention {
    fn default() -> Self {
        Self { runs_days: 30 }
    }
}

/// How swarm shuts down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Shutdown {
    /// Seconds that agents have to reach a safe point before swarm stops them.
    #[schemars(range(min = 0, max = 3600))]
    pub grace_seconds: u32,
}

impl Default for Shutdown {
    fn default() -> Self {
        Self { grace_seconds: 5 }
    }
}
