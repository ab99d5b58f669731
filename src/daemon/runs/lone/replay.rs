//! Specifies the process of a replay: today's program with the recorded prompt, in a worktree of
//! its own. Called by `launch`.
//!
//! Invariant: [`make_tree`] is called only for a run that was never started, so no live process
//! loses its files. Whoever speaks from the run may only read.

use std::io;

use crate::agents::adapter::Conversation;
use crate::agents::environment::WorkVariables;
use crate::crash;
use crate::daemon::effects::context::DriverContext;
use crate::daemon::provenance::replay::start;
use crate::daemon::runs::agent_process::{self, Program};
use crate::daemon::runs::launch_record::{PROMPT, STARTED_AS};
use crate::daemon::runs::prepared::{Prepared, other};
use crate::domain::ids::{ProfileName, RunId};
use crate::domain::outcome::Failure;
use crate::domain::state::records::REPLAY_OWNER;
use crate::git::REPLAY;

/// A record, by its run and the SHA-256 of its file.
pub(in crate::daemon::runs) type Recorded<'a> = (&'a RunId, &'a str);

/// Makes the worktree with the files that the recorded iteration found.
pub(in crate::daemon::runs) fn make_tree(
    context: &DriverContext,
    (of, sha256): Recorded<'_>,
) -> Result<(), Failure> {
    let start = start(&context.paths, of, sha256)?;
    context.repo.make_replay_tree(start.files)?;
    crash::point("replay.tree-made");
    Ok(())
}

/// The process of the run, and the files in its directory.
pub(in crate::daemon::runs) fn prepare(
    context: &DriverContext,
    run: &RunId,
    profile: &ProfileName,
    (of, sha256): Recorded<'_>,
) -> Result<Prepared, Failure> {
    let config = context.config();
    let profile = agent_process::profile(context, profile)?;
    let start = start(&context.paths, of, sha256)?;
    let work = WorkVariables {
        prompt_file: context.paths.runs.join(run.as_str()).join(PROMPT),
        idea_id: start.said.idea,
        agent: start.said.agent,
        attempt: start.said.attempt,
        iteration: start.said.iteration,
        run_id: run.to_string(),
        worktree: context.paths.worktree(REPLAY),
        repository: context.paths.root.clone(),
        own_program: context.exe.clone(),
        ..WorkVariables::default()
    };
    let program = Program {
        profile: &profile,
        work: &work,
        talk: Conversation::New(agent_process::fresh_session()?),
        agent: REPLAY_OWNER,
        told: &[],
    };
    let (mut spec, launched) = program.specify(context, run, &config)?;
    // It is on no branch.
    spec.env.retain(|name, _| name != "SWARM_BRANCH");
    let started = serde_json::to_vec_pretty(&launched.started).map_err(io::Error::from);
    let started = started.map_err(other)?;
    let mut files = vec![(PROMPT, start.prompt.into_bytes()), (STARTED_AS, started)];
    files.extend(launched.files);
    Ok((spec, files))
}
