//! Specifies the process of a synthesis: an agent's program in an empty folder, with the board and
//! the new learnings in its prompt. Called by `launch`.
//!
//! Invariant: the folder is in the run's directory and goes with it. git stops there, so nothing
//! that the program does reaches the repository by accident.

use std::io;
use std::path::Path;

use crate::agents::adapter::Conversation;
use crate::agents::environment::WorkVariables;
use crate::agents::prompt::synthesis::{self, KnownFact, NewGroup, SynthesisInput};
use crate::daemon::actor::handle::Handle;
use crate::daemon::effects::context::DriverContext;
use crate::daemon::memory::news::news;
use crate::daemon::runs::agent_process::{self, Program};
use crate::daemon::runs::launch_record::{PROMPT, STARTED_AS};
use crate::daemon::runs::prepared::{Prepared, other};
use crate::domain::ids::{ProfileName, RunId};
use crate::domain::memory::{Fact, FactKey};
use crate::domain::outcome::Failure;
use crate::domain::state::State;
use crate::process::RunDir;
use crate::view::memory::{HitView, NewsView};

/// The folder in the run's directory.
const FOLDER: &str = "work";
/// What the run is called where an agent's name belongs.
const NAME: &str = "synthesis";
/// Keeps git from finding the repository above the folder.
const CEILING: &str = "GIT_CEILING_DIRECTORIES";

/// The process of the run, and the files in its directory.
pub(in crate::daemon::runs) fn prepare(
    context: &DriverContext,
    handle: &Handle,
    run: &RunId,
    profile: &ProfileName,
    up_to: u64,
) -> Result<Prepared, Failure> {
    let config = context.config();
    let profile = agent_process::profile(context, profile)?;
    let folder = context.paths.runs.join(run.as_str());
    let work = WorkVariables {
        prompt_file: folder.join(PROMPT),
        agent: NAME.to_owned(),
        run_id: run.to_string(),
        worktree: folder.join(FOLDER),
        repository: context.paths.root.clone(),
        own_program: context.exe.clone(),
        ..WorkVariables::default()
    };
    let program = Program {
        profile: &profile,
        work: &work,
        talk: Conversation::New(agent_process::fresh_session()?),
        agent: NAME,
        told: &[],
    };
    let (mut spec, launched) = program.specify(context, run, &config)?;
    // Variables without a meaning here are absent rather than empty.
    spec.env
        .retain(|name, value| !(name.starts_with("SWARM_") && (value.is_empty() || value == "0")));
    spec.env.insert(CEILING.to_owned(), text(&folder));
    let state = handle.read(State::clone);
    let prompt = synthesis::build(&input(&state, &news(&state, Some(up_to))));
    let started = serde_json::to_vec_pretty(&launched.started).map_err(other)?;
    let mut files = vec![(PROMPT, prompt.into_bytes()), (STARTED_AS, started)];
    files.extend(launched.files);
    Ok((spec, files))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Makes the empty folder, once the run has a directory.
pub(in crate::daemon::runs) fn make_folder(dir: &RunDir) -> io::Result<()> {
    match std::fs::create_dir(dir.path().join(FOLDER)) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// The board, with the facts first that are like what is new.
fn input(state: &State, news: &NewsView) -> SynthesisInput {
    let groups = news.groups.iter().map(|group| NewGroup {
        learnings: group.learnings.iter().map(named).collect(),
        facts: group.facts.iter().map(|it| it.reference.clone()).collect(),
    });
    let groups: Vec<NewGroup> = groups.collect();
    let is_near = |key: &FactKey| {
        let mut facts = groups.iter().flat_map(|group| &group.facts);
        facts.any(|near| near == key.as_str())
    };
    let standing = state.facts.iter();
    let standing = standing.filter(|(_, fact)| fact.retracted.is_none());
    let (mut facts, far): (Vec<_>, Vec<_>) = standing.partition(|(key, _)| is_near(key));
    facts.extend(far);
    SynthesisInput {
        facts: facts.into_iter().map(known).collect(),
        groups,
    }
}

fn named(hit: &HitView) -> (String, String) {
    (hit.reference.clone(), hit.text.clone())
}

fn known((key, fact): (&FactKey, &Fact)) -> KnownFact {
    let rivals = fact.rivals.iter();
    let value = |rival: &Option<String>| {
        let value = rival.as_deref();
        value
            .unwrap_or("somebody who says that it is wrong")
            .to_owned()
    };
    KnownFact {
        key: key.to_string(),
        version: fact.version,
        value: fact.value.clone(),
        rivals: rivals.map(|rival| value(&rival.value)).collect(),
        pinned: fact.pinned,
    }
}
