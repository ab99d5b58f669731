//! Gathers the parts of an agent's prompt from the state, the rules on disk, git and earlier runs.
//! Called by `launch`.
//!
//! Invariant: only reads.

mod recovery;
mod stale_reads;

use std::io;
use std::path::Path;

use super::launch_record;
use crate::agents::prompt::{self, ConflictBrief, GateFeedback, PromptInput};
use crate::agents::recovery_context::RecoveryContext;
use crate::daemon::actor::handle::Handle;
use crate::daemon::agent_import::{brief, conversation};
use crate::daemon::effects::context::DriverContext;
use crate::daemon::memory::recall::{self, HITS, Occasion, Recalled, is_held_out};
use crate::daemon::memory::selection::Query;
use crate::daemon::provenance::inputs::GivenRules;
use crate::domain::ids::{AgentId, Oid, RunId};
use crate::domain::memory::Learning;
use crate::domain::state::prompt_cause::PromptCause;
use crate::domain::state::{Attempt, Feedback, Idea, State, Task};
use crate::git::{self, TreeAt};
use crate::process;

/// The recovery context's file in the run's directory.
pub(crate) const RECOVERY: &str = "recovery.json";
/// Bytes of a failed command's output that the next prompt includes.
const TAIL_BYTES: usize = 12 * 1024;

/// The prompt of an iteration.
pub(crate) struct PromptInputs {
    /// The whole prompt.
    pub(crate) prompt: String,
    /// Only what is new, for a resumed conversation; `None` if the conversation was about another
    /// idea, so everything is new.
    pub(crate) next: Option<String>,
    /// The part about the work so far, after a crash or a conversation that could not go on.
    pub(crate) recovery: Option<RecoveryContext>,
    /// What the prompts show of the memory.
    pub(crate) recalled: Recalled,
    /// Whether they show nothing of it on purpose.
    pub(crate) held: bool,
    /// Files that the agent read in this conversation and others changed since, as `next` says.
    pub(crate) changed: Vec<String>,
    /// The files and rules that went into the prompt.
    pub(crate) given: GivenRules,
}

/// Gathers the prompt for the current iteration of an attempt. `now` is the worktree as it finds
/// it, if that is known.
pub(crate) fn gather(
    context: &DriverContext,
    handle: &Handle,
    (agent, attempt): (&AgentId, &Attempt),
    now: Option<&TreeAt>,
) -> io::Result<PromptInputs> {
    let (mut input, idea) = handle
        .read(|state| from_state(state, agent, attempt))
        .ok_or_else(|| io::Error::other(format!("there is no idea {}", attempt.idea)))?;
    let profile = context
        .paths
        .swarm
        .join("agents")
        .join(attempt.profile.as_str());
    input.shared_rules = shared_rules(&context.paths.swarm.join("rules"))?;
    input.profile_prompt = optional(&profile.join("prompt.md"))?;
    input.profile_rules = optional(&profile.join("rules.md"))?;
    input.told_before = conversation_before(context, attempt);
    input.changed_files = stale_reads::find(context, attempt, now);
    input.brief = brief::of_attempt(&context.paths, attempt);
    let feedback = attempt.feedback.as_ref();
    input.feedback = feedback.map(|feedback| gate_feedback(context, feedback));
    input.recovery = recovery::find(context, handle, attempt, &idea)?;
    let held = is_held_out(agent, context.config().memory.holdout);
    let recalled = if held {
        Recalled::default()
    } else {
        recalled(context, handle, attempt, &input)
    };
    input.memory.clone_from(&recalled.whole.section);
    input.memory_next.clone_from(&recalled.next.section);
    let recorded = recorded_prompt(context, attempt);
    let same_idea = input.taken_over.is_none() || attempt.iteration > 1;
    Ok(PromptInputs {
        prompt: recorded.unwrap_or_else(|| prompt::build(&input)),
        given: GivenRules::of(&input, &attempt.profile),
        next: same_idea.then(|| prompt::build_next(&input)),
        recovery: input.recovery,
        recalled,
        held,
        changed: input.changed_files,
    })
}

/// After an import that preserves prompts: the whole recorded prompt of the first iteration.
fn recorded_prompt(context: &DriverContext, attempt: &Attempt) -> Option<String> {
    let run = attempt.kept.as_ref()?.prompt.as_ref()?;
    if attempt.iteration != 1 {
        return None;
    }
    match launch_record::whole_prompt(&context.paths.runs.join(run.as_str())) {
        Ok(prompt) => Some(prompt),
        Err(error) => {
            tracing::warn!(%run, %error, "the recorded prompt is gone; a new one is built");
            None
        }
    }
}

/// Selects what the prompts show of the memory.
fn recalled(
    context: &DriverContext,
    handle: &Handle,
    attempt: &Attempt,
    input: &PromptInput,
) -> Recalled {
    let budget = context.config().memory.prompt_bytes as usize;
    let is_empty = |state: &State| state.learnings.is_empty() && state.facts.is_empty();
    if budget == 0 || handle.read(is_empty) {
        return Recalled::default();
    }
    let changed_paths = changed_paths(context, attempt);
    let tags = |state: &State| state.ideas.get(&attempt.idea).map(|idea| idea.tags.clone());
    let tags = handle.read(tags).unwrap_or_default();
    let feedback = input.feedback.as_ref();
    let query = Query {
        idea: &input.idea_text,
        tags: &tags,
        failed_gate: feedback.map_or("", |feedback| &feedback.output_tail),
        changed_paths: &changed_paths,
    };
    let read = |each: &mut dyn FnMut(&State)| handle.read(|state| each(state));
    let hits = context.finder.hits(&read, &query.text(), HITS);
    let aged = context.aged_facts(handle);
    handle.read(|state| {
        let occasion = Occasion {
            query: &query,
            hits: &hits,
            aged: &aged,
            budget,
            now: state.swarm.last_event_at,
        };
        recall::recall(state, attempt, occasion)
    })
}

/// Files that the attempt's branch changes. If they cannot be read, the prompt is about the others.
fn changed_paths(context: &DriverContext, attempt: &Attempt) -> Vec<String> {
    let (Some(base), Some(head)) = (&attempt.base, &attempt.head) else {
        return Vec::new();
    };
    if base == head {
        return Vec::new();
    }
    let oid = |oid: &Oid| git::Oid::from_str(oid.as_str()).map_err(io::Error::other);
    let paths = oid(base).and_then(|base| {
        let paths = context.repo.changed_paths(base, oid(head)?);
        paths.map_err(io::Error::other)
    });
    match paths {
        Ok(paths) => paths
            .iter()
            .map(|path| path.display().to_string())
            .collect(),
        Err(error) => {
            tracing::warn!(%error, branch = attempt.branch, "its changed files cannot be listed");
            Vec::new()
        }
    }
}

fn from_state(state: &State, agent: &AgentId, attempt: &Attempt) -> Option<(PromptInput, Idea)> {
    let idea = state.ideas.get(&attempt.idea)?;
    let settings = state.settings.as_deref();
    let own = |learning: &&Learning| {
        let is_local = !learning.global && learning.profile.as_ref() == Some(&attempt.profile);
        is_local && learning.retracted.is_none()
    };
    let own = state.learnings.iter().filter(own);
    let input = PromptInput {
        cause: attempt.prompt_cause(),
        idea_id: attempt.idea.to_string(),
        // An edit counts from the next attempt on.
        idea_text: attempt.text.as_ref().unwrap_or(&idea.text).to_string(),
        taken_over: taken_over(attempt),
        learnings_own: own.map(|learning| learning.content.clone()).collect(),
        messages: messages(attempt),
        review: attempt
            .review
            .as_deref()
            .map(|comment| comment.text.clone()),
        conflict: conflict(attempt, settings.map_or("", |settings| &settings.target)),
        quality_commands: settings
            .map_or_else(Vec::new, |settings| settings.quality_commands.clone()),
        branch: attempt.branch.clone(),
        attempt: attempt.number,
        iteration: attempt.iteration,
        ..PromptInput::default()
    };
    debug_assert!(state.agents.contains_key(agent));
    Some((input, idea.clone()))
}

/// The agent whose work is in the worktree, after a redirect.
fn taken_over(attempt: &Attempt) -> Option<String> {
    let kept = attempt.kept.as_deref()?;
    Some(kept.taken_from.as_ref()?.to_string())
}

/// What people said; an answer comes with its question, unless the prompt begins with that.
fn messages(attempt: &Attempt) -> Vec<String> {
    let mut messages = attempt.told.clone();
    if matches!(attempt.prompt_cause(), PromptCause::Answered { .. }) {
        return messages;
    }
    if let (Some(question), Some(answer)) = (&attempt.asked, messages.first_mut()) {
        *answer = format!("The question was: {question}\nThe answer: {answer}");
    }
    messages
}

fn conflict(attempt: &Attempt, target_branch: &str) -> Option<ConflictBrief> {
    let Task::Resolve {
        target,
        files,
        saved,
    } = &attempt.task
    else {
        return None;
    };
    Some(ConflictBrief {
        files: files.clone(),
        target_branch: target_branch.to_owned(),
        ours: format!(
            "the later changes on `{target_branch}`; see: git log --oneline HEAD..{target:.12}"
        ),
        theirs: format!(
            "the work on this idea, on `{}`; see: git log --oneline {target:.12}..HEAD",
            attempt.branch
        ),
        saved: saved.as_ref().map(|commit| format!("{commit:.12}")),
    })
}

/// The shared rules: all `.md` files, by name.
pub(crate) fn shared_rules(folder: &Path) -> io::Result<Vec<(String, String)>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        entries => entries?,
    };
    let mut rules = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.extension().is_some_and(|ending| ending == "md") && path.is_file() {
            rules.push((name, std::fs::read_to_string(&path)?));
        }
    }
    rules.sort();
    Ok(rules)
}

fn gate_feedback(context: &DriverContext, feedback: &Feedback) -> GateFeedback {
    let runs = &context.paths.runs;
    let output = feedback.run.as_ref().map(|run| output_tail(runs, run));
    let code = feedback.how.strip_prefix("exit code ");
    let command = if feedback.merged {
        format!(
            "{} (on your work merged with the target branch; the target is now merged into your \
            branch)",
            feedback.command
        )
    } else {
        feedback.command.clone()
    };
    GateFeedback {
        command,
        exit_code: code.and_then(|code| code.parse().ok()),
        output_tail: match (output, code) {
            (Some(output), Some(_)) => output,
            (Some(output), None) => format!("{}\n{output}", feedback.how),
            (None, _) => feedback.how.clone(),
        },
    }
}

/// The end of a command's standard output, then of its standard error; empty if the run's directory
/// was cleaned.
pub(crate) fn output_tail(runs: &Path, run: &RunId) -> String {
    let folder = runs.join(run.as_str());
    let tail = |name: &str| process::tail(&folder.join(name), TAIL_BYTES).unwrap_or_default();
    let (out, err) = (tail("stdout.log"), tail("stderr.log"));
    let between = if out.is_empty() || out.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{out}{between}{err}")
}

/// The prompt of the previous attempt, if this one may resume its conversation; empty if it can no
/// longer be read.
fn conversation_before(context: &DriverContext, attempt: &Attempt) -> Option<String> {
    let kept = attempt.kept.as_deref();
    let Some(kept) = kept.filter(|kept| kept.session.is_some()) else {
        // That of an imported agent was told other rules.
        let imported = conversation::of_attempt(attempt)
            .filter(|_| !conversation::was_told(&context.paths, attempt));
        return imported.map(|_| String::new());
    };
    // A program that said nothing may have been killed before it read its prompt.
    let run = kept.last_run.as_ref();
    let prompt = run
        .filter(|run| launch_record::has_output(&context.paths.runs, run))
        .and_then(|run| launch_record::whole_prompt(&context.paths.runs.join(run.as_str())).ok());
    Some(prompt.unwrap_or_default())
}

/// Reads a text file; empty if it does not exist.
fn optional(path: &Path) -> std::io::Result<String> {
    match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        other => other,
    }
}
