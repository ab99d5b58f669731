//! Lets an idea go on from the exported state of an agent. Called by the API and by `swarm agent
//! import`, with and without a daemon.
//!
//! `file` reads and checks, `parts` what is packed with it in a `staging` folder, `commits` and
//! `conversation` say what becomes of those, `keep` keeps all, `brief` is for the prompts.
//! Invariant: a refused file changes nothing. What an event names is on disk before it; killed in
//! between, the same import starts over, and `clean` removes what nobody reads.

pub(super) mod brief;
mod commits;
pub(super) mod conversation;
mod file;
pub(super) mod keep;
mod parts;
mod staging;
#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test fails by panicking
mod tests;

use self::commits::Fate;
use super::actor::clock::Clock;
use super::actor::handle::{Accepted, CommandError, Handle};
use super::error::DaemonError;
use super::files::config_loader::Loader;
use super::files::hash::sha256;
use super::files::paths::Paths;
use super::offline;
use crate::config::Config;
use crate::domain::decide::transfer::agent::has_own_work;
use crate::domain::decide::{self, Decided};
use crate::domain::event::Event;
use crate::domain::ids::{IdeaId, ProfileName};
use crate::domain::operation::{Command, ImportAgent};
use crate::domain::request::{Author, OperationId, Request};
use crate::domain::state::transfer::agent::ImportedAgent;
use crate::domain::state::{IdeaStatus, State};
use crate::git::Repo;
use crate::view::agent_state::AgentState;
use crate::view::agent_state::import::{ImportResult, ProfileSource};

pub(super) use commits::{WORK, target};
pub use file::{AgentFile, MAX_BYTES, read};

/// How to import.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// The idea; `None` adds one.
    pub idea: Option<IdeaId>,
    /// Profile of its next attempts.
    pub profile: Option<ProfileName>,
    /// Changes nothing: only says what would happen.
    pub check: bool,
}

/// Who imports, and as which operation.
#[derive(Debug, Clone)]
pub struct Sender {
    /// Who asks.
    pub by: Author,
    /// Identifies the request; `None` if it is not repeated.
    pub operation: Option<OperationId>,
}

/// Why an import has failed.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file is refused, or a file or git cannot be read or written.
    #[error(transparent)]
    Daemon(#[from] DaemonError),
    /// The daemon has refused the command, or cannot write.
    #[error(transparent)]
    Command(#[from] CommandError),
}

/// A file that was checked and compared with what is here. Nothing has changed.
struct Import {
    state: AgentState,
    repo: Repo,
    request: Request,
    fate: Fate,
    conversation: conversation::Fate,
    profile: ProfileName,
    profile_from: ProfileSource,
    imported: ImportedAgent,
    wanted: Wanted,
}

/// Imports a file without a daemon.
///
/// # Errors
/// The file is refused; the lock is held; the idea cannot go on from it; a file cannot be written.
pub fn offline(
    paths: &Paths,
    file: &mut AgentFile,
    wanted: Wanted,
    sender: Sender,
) -> Result<ImportResult, DaemonError> {
    let (import, foreseen) = ready(paths, file, wanted, sender)?;
    if import.wanted.check {
        return Ok(foreseen);
    }
    let keep = || import.keep(paths, file);
    let accepted = offline::execute_after(paths, &import.request, keep)?;
    Ok(foreseen.done(&accepted))
}

/// Says what an import would do, whoever works. Needs no lock.
///
/// # Errors
/// The file is refused; the idea cannot go on from it.
pub fn check(
    paths: &Paths,
    file: &mut AgentFile,
    wanted: Wanted,
    sender: Sender,
) -> Result<ImportResult, DaemonError> {
    Ok(ready(paths, file, wanted, sender)?.1)
}

/// Keeps what a packed file has besides its state, before the daemon imports that.
///
/// # Errors
/// The file is refused; the idea cannot go on from it; a file cannot be written.
pub fn keep_for_daemon(
    paths: &Paths,
    file: &mut AgentFile,
    wanted: Wanted,
    sender: Sender,
) -> Result<(), DaemonError> {
    let (import, _) = ready(paths, file, wanted, sender)?;
    import.keep(paths, file)
}

fn ready(
    paths: &Paths,
    file: &mut AgentFile,
    wanted: Wanted,
    sender: Sender,
) -> Result<(Import, ImportResult), DaemonError> {
    let config = Loader::new(paths).load()?;
    let mut state = offline::read(paths)?;
    let seq = state.seq;
    let (now, _) = Clock::after(state.swarm.last_event_at).now();
    offline::load_settings(paths, &mut state, now)?;
    let import = Import::prepare(paths, &config, &state, file, wanted, sender)?;
    let foreseen = import.foresee(&state)?;
    Ok((import, ImportResult { seq, ..foreseen }))
}

/// Imports a file through the daemon.
///
/// # Errors
/// The file is refused; the idea cannot go on from it; a file or the log cannot be written.
pub async fn through(
    handle: &Handle,
    paths: &Paths,
    bytes: Vec<u8>,
    wanted: Wanted,
    sender: Sender,
) -> Result<ImportResult, ImportError> {
    let state = handle.read(State::clone);
    let of = paths.clone();
    let mut file = AgentFile::of_state(bytes);
    let prepared = tokio::task::spawn_blocking(move || {
        let config = Loader::new(&of).load()?;
        let import = Import::prepare(&of, &config, &state, &mut file, wanted, sender)?;
        let foreseen = import.foresee(&state)?;
        if !import.wanted.check && !foreseen.done_before {
            import.keep(&of, &file)?;
        }
        Ok::<_, DaemonError>((import.request, foreseen))
    });
    let (request, foreseen) = prepared.await.map_err(crashed)??;
    if foreseen.check {
        return Ok(foreseen);
    }
    Ok(foreseen.done(&handle.request(request).await?))
}

fn crashed(error: tokio::task::JoinError) -> DaemonError {
    DaemonError::io("check the file")(std::io::Error::other(error))
}

impl Import {
    fn prepare(
        paths: &Paths,
        config: &Config,
        now: &State,
        file: &mut AgentFile,
        wanted: Wanted,
        sender: Sender,
    ) -> Result<Self, DaemonError> {
        let state = file::check(&file.bytes)?;
        let repo = Repo::open(&paths.root)?;
        let commits = match &mut file.parts {
            Some(parts) => parts.check(&repo, &state)?,
            None => None,
        };
        let fate = commits::fate((&repo, commits.as_ref()), config, &state.contexts.worktree)?;
        let (profile, profile_from) = profile(config, now, &state, &wanted)?;
        let sha256 = sha256(&file.bytes);
        let conversation = conversation(paths, config, (file, &sha256), (&state, &profile));
        let conversation = conversation.map_err(DaemonError::io("read the conversation"))?;
        let imported = ImportedAgent {
            agent: state.identity.id.clone(),
            swarm_id: state.source.swarm_id.clone(),
            file: keep::name(&sha256),
            sha256,
            work: fate.taken().cloned(),
            conversation: conversation.carried.clone(),
        };
        let named = matches!(profile_from, ProfileSource::Asked | ProfileSource::File);
        let command = Command::ImportAgent(Box::new(ImportAgent {
            idea: wanted.idea.clone(),
            text: state.identity.idea_text.clone(),
            profile: named.then(|| profile.clone()),
            imported: imported.clone(),
        }));
        let request = Request {
            by: sender.by,
            operation: sender.operation,
            command,
        };
        Ok(Self {
            state,
            repo,
            request,
            fate,
            conversation,
            profile,
            profile_from,
            imported,
            wanted,
        })
    }

    /// What will happen, by the same rules that decide on it.
    fn foresee(&self, state: &State) -> Result<ImportResult, DaemonError> {
        let (now, _) = Clock::after(state.swarm.last_event_at).now();
        let decided = decide::request(state, &self.request, now)?;
        let idea = self.wanted.idea.as_ref().and_then(|id| state.ideas.get(id));
        let own_work = idea.is_some_and(has_own_work);
        let commits = self.fate.told(own_work);
        let mut result = ImportResult {
            check: self.wanted.check,
            idea_id: self.wanted.idea.clone(),
            added: self.wanted.idea.is_none(),
            agent_id: self.state.identity.id.clone(),
            swarm_id: self.state.source.swarm_id.clone(),
            sha256: self.imported.sha256.clone(),
            profile: self.profile.clone(),
            profile_from: self.profile_from,
            messages: self.state.message_log.len() as u64,
            repairs: self.state.repairs.clone(),
            commits,
            conversation: self.conversation.told(own_work),
            starts: idea.is_none_or(|idea| idea.status == IdeaStatus::Pending),
            done_before: false,
            seq: state.seq,
        };
        match decided {
            Decided::Events(events) => {
                let added = events.iter().find_map(Event::added_idea);
                result.idea_id = added.cloned().or(result.idea_id);
            }
            Decided::DoneBefore(operation) => {
                result.done_before = true;
                let answer = operation.answer.as_deref();
                let id = answer.and_then(|id| id.parse().ok());
                result.idea_id = id.or(result.idea_id);
            }
        }
        Ok(result)
    }

    /// The file with its conversation and its commits, on disk.
    fn keep(&self, paths: &Paths, file: &AgentFile) -> Result<(), DaemonError> {
        let sha256 = self.imported.sha256.as_str();
        let file = (sha256, file.bytes.as_slice(), file.parts.as_ref());
        keep::all(paths, &self.repo, file, self.fate.taken())
    }
}

impl ImportResult {
    /// The result once the events are on disk.
    fn done(mut self, accepted: &Accepted) -> Self {
        self.idea_id = accepted.added_idea().or(self.idea_id);
        self.done_before = accepted.before.is_some();
        self.seq = accepted.seq;
        self
    }
}

/// What becomes of the conversation that came with the file, or with the same file before.
fn conversation(
    paths: &Paths,
    config: &Config,
    (file, sha256): (&AgentFile, &str),
    (state, profile): (&AgentState, &ProfileName),
) -> std::io::Result<conversation::Fate> {
    let unpacked = file.parts.as_ref().and_then(parts::Parts::conversation);
    let kept = match &state.conversation {
        Some(about) if unpacked.is_none() && conversation::is_kept(paths, sha256, about)? => {
            Some(keep::conversation(paths, sha256))
        }
        Some(_) | None => None,
    };
    conversation::fate(config, profile, state, unpacked.or(kept.as_deref()))
}

/// The profile that was asked for, else the one of the file if it is configured here, else the
/// idea's own, else the default.
fn profile(
    config: &Config,
    now: &State,
    state: &AgentState,
    wanted: &Wanted,
) -> Result<(ProfileName, ProfileSource), DaemonError> {
    if let Some(profile) = &wanted.profile {
        return Ok((profile.clone(), ProfileSource::Asked));
    }
    let name = &state.identity.name;
    if config.agents.profiles.contains_key(name.as_str()) {
        return Ok((name.clone(), ProfileSource::File));
    }
    let idea = wanted.idea.as_ref().and_then(|id| now.ideas.get(id));
    if let Some(own) = idea.and_then(|idea| idea.profile.clone()) {
        return Ok((own, ProfileSource::Idea));
    }
    let default = config.agents.profile.parse();
    let default = default.map_err(|error| {
        DaemonError::io("use the default profile")(std::io::Error::other(error))
    })?;
    Ok((default, ProfileSource::Default))
}
