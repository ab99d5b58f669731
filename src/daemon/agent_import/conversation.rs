//! The conversation of an imported agent: whether the next attempt goes on with it, and the copy
//! that its program gets.
//!
//! Invariant: each import has an id of its own for it, so that two ideas go on with two copies. The
//! kept file is never changed. The program's records get the copy only if they lack that id: a copy
//! that a kill cut off is made again at the next launch.

use std::io;
use std::path::Path;

use super::keep;
use crate::agents::adapter::Adapter;
use crate::agents::conversation::{PlaceError, Placement};
use crate::agents::{self, AdapterKind};
use crate::config::Config;
use crate::daemon::files::hash::sha256_of;
use crate::daemon::files::paths::Paths;
use crate::daemon::runs::launch_record;
use crate::daemon::transfer::Destination;
use crate::domain::ids::{ProfileName, RunId};
use crate::domain::session::SessionId;
use crate::domain::state::Attempt;
use crate::domain::state::transfer::agent::{ImportedAgent, ImportedConversation};
use crate::domain::usage::Counted;
use crate::plain_file;
use crate::view::agent_state::import::{Conversation, ConversationFate, WhyBrief};
use crate::view::agent_state::{AgentState, ConversationFile};
use crate::view::{self, RunPurpose};

/// What becomes of the conversation.
pub(super) struct Fate {
    /// The next attempt goes on with it.
    pub(super) carried: Option<ImportedConversation>,
    /// Why it does not.
    why: Option<WhyBrief>,
}

impl Fate {
    /// For the result. The work that the idea has of its own comes first, with its conversation.
    pub(super) fn told(&self, own_work: bool) -> Conversation {
        let why = self.why.or(own_work.then_some(WhyBrief::OwnWork));
        Conversation {
            fate: match why {
                Some(_) => ConversationFate::Brief,
                None => ConversationFate::Carried,
            },
            why,
        }
    }
}

/// Looks whether the next attempt, under this profile, can go on with the conversation in `file`.
pub(super) fn fate(
    config: &Config,
    profile: &ProfileName,
    state: &AgentState,
    file: Option<&Path>,
) -> io::Result<Fate> {
    let brief = |why| {
        Ok(Fate {
            carried: None,
            why: Some(why),
        })
    };
    let about = match &state.conversation {
        Some(about) => about,
        None if state.model.adapter.as_deref().is_some_and(keeps_no_file) => {
            return brief(WhyBrief::NotPortable);
        }
        None => return brief(WhyBrief::NotInFile),
    };
    let Some(adapter) = adapter_named(&about.kind).filter(|it| can_move(*it, about)) else {
        return brief(WhyBrief::NotPortable);
    };
    let Some(file) = file else {
        return brief(WhyBrief::NotInFile);
    };
    let profile = config.agents.profiles.get(profile.as_str());
    if profile.is_none_or(|profile| profile.adapter != adapter) {
        return brief(WhyBrief::AdapterDiffers);
    }
    if !config.completion.resume {
        return brief(WhyBrief::NotResumed);
    }
    let session = uuid::Uuid::new_v4().to_string().parse();
    let counted = agents::adapter(adapter).usage_in(file)?;
    Ok(Fate {
        carried: Some(ImportedConversation {
            adapter: about.kind.clone(),
            session: session.map_err(io::Error::other)?,
            counted: counted
                .map_or_else(Counted::default, |usage| usage.counted(Counted::default())),
            taken: false,
        }),
        why: None,
    })
}

fn adapter_named(name: &str) -> Option<AdapterKind> {
    serde_json::from_value(name.into()).ok()
}

/// Whether swarm finds no file of this adapter's conversations.
fn keeps_no_file(name: &str) -> bool {
    match adapter_named(name) {
        Some(AdapterKind::Claude | AdapterKind::Codex) => false,
        Some(
            AdapterKind::Command
            | AdapterKind::Demo
            | AdapterKind::Gemini
            | AdapterKind::Opencode
            | AdapterKind::Acp,
        )
        | None => true,
    }
}

/// Whether it has a name that its program gives, with an id that can be replaced.
fn can_move(adapter: AdapterKind, about: &ConversationFile) -> bool {
    let adapter = agents::adapter(adapter);
    is_replaceable(&about.session) && adapter.names_conversation(&about.file, &about.session)
}

/// Only a UUID surely stands for nothing else in a conversation.
fn is_replaceable(session: &SessionId) -> bool {
    let id = uuid::Uuid::parse_str(session.as_str());
    id.is_ok_and(|id| id.hyphenated().to_string() == session.as_str())
}

/// Whether the kept file is the conversation that the state names.
pub(super) fn is_kept(paths: &Paths, sha256: &str, about: &ConversationFile) -> io::Result<bool> {
    match plain_file::open(&keep::conversation(paths, sha256)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        file => Ok(sha256_of(file?)? == about.sha256),
    }
}

/// The imported conversation that an attempt goes on with; `None` if it has another one.
pub(in crate::daemon) fn of_attempt(attempt: &Attempt) -> Option<&ImportedConversation> {
    let imported = attempt.imported.as_deref()?.conversation.as_ref()?;
    let session = attempt.session.as_deref()?;
    (session.id == imported.session).then_some(imported)
}

/// Whether an iteration of the attempt may have read its prompt: one that was not excused and said
/// something. A program may be killed before it reads anything.
pub(in crate::daemon) fn was_told(paths: &Paths, attempt: &Attempt) -> bool {
    let counted = attempt.iteration.saturating_sub(attempt.excused.iterations);
    counted > 1 && has_spoken(paths, attempt)
}

/// Whether an iteration of the attempt has written any output. What cannot be read has.
pub(super) fn has_spoken(paths: &Paths, attempt: &Attempt) -> bool {
    let is_iteration = |run: &&RunId| matches!(view::run(run).purpose, RunPurpose::Iteration(_));
    let current = attempt.run.as_ref();
    let earlier = attempt.runs.iter().filter(|run| current != Some(*run));
    earlier
        .filter(is_iteration)
        .any(|run| launch_record::has_output(&paths.runs, run))
}

/// Gives the program a copy of the imported conversation, unless it has one. If that fails, the
/// attempt starts a new conversation, as after any conversation that cannot be resumed.
pub(in crate::daemon) fn place(paths: &Paths, attempt: &Attempt, to: &Destination<'_>) {
    let (Some(imported), Some(_)) = (attempt.imported.as_deref(), of_attempt(attempt)) else {
        return;
    };
    if let Err(error) = copy(paths, imported, to) {
        let session = to.session.as_str();
        tracing::warn!(%error, session, "an imported conversation cannot be resumed");
    }
}

fn copy(paths: &Paths, imported: &ImportedAgent, to: &Destination<'_>) -> Result<(), PlaceError> {
    let adapter: &dyn Adapter = agents::adapter(to.adapter);
    let there = adapter.conversation_file(to.records, to.session, to.worktree)?;
    if there.is_some() {
        return Ok(());
    }
    let state = super::brief::read(paths, imported)?;
    let about = state.conversation.ok_or_else(gone)?;
    if !is_kept(paths, &imported.sha256, &about)? {
        return Err(gone().into());
    }
    let mut content = plain_file::open(&keep::conversation(paths, &imported.sha256))?;
    let mut placement = Placement {
        session: &about.session,
        new_session: Some(to.session),
        worktree: to.worktree,
        name: &about.file,
        content: &mut content,
    };
    adapter.place_conversation(to.records, &mut placement)?;
    crate::crash::point("import.agent-placed");
    Ok(())
}

fn gone() -> io::Error {
    let what = "it is no longer the conversation that was imported";
    io::Error::new(io::ErrorKind::InvalidData, what)
}
