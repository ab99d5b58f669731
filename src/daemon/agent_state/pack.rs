//! Packs an agent's state with what goes on elsewhere: the conversation of its program, and its
//! commits that the target lacks.
//!
//! Invariant: only reads, but for the folder of exports. The state says of the conversation what is
//! packed, even if its program goes on writing.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write};
use std::path::Path;

use crate::archive::agent_file::{CONVERSATION, STATE, can_be_packed};
use crate::archive::names::BUNDLE;
use crate::archive::{Content, Source, write_agent};
use crate::daemon::agent_import::WORK;
use crate::daemon::error::DaemonError;
use crate::daemon::export::scratch::Scratch;
use crate::daemon::files::config_loader::Loader;
use crate::daemon::files::hash::sha256_of;
use crate::daemon::files::paths::Paths;
use crate::domain::ids::AgentId;
use crate::git::{Oid, Repo};
use crate::plain_file;
use crate::view::agent_state::AgentState;

/// What goes into the file of an agent. Dropped, it removes what was made for it.
#[derive(Debug)]
pub struct Packed {
    /// The state.
    pub state: AgentState,
    /// Whether the conversation of its program goes in.
    pub has_conversation: bool,
    /// Whether commits go in.
    pub has_commits: bool,
    sources: Vec<Source>,
    // Held until all is written: the bundle lies in it.
    _scratch: Option<Scratch>,
}

impl Packed {
    /// Writes the file.
    ///
    /// # Errors
    /// The conversation changed meanwhile; `to` cannot be written.
    pub fn write(&self, to: impl Write) -> Result<(), DaemonError> {
        Ok(write_agent(&self.sources, to)?)
    }
}

/// Packs an agent, running or ended; `None` if there is no such agent. Needs no daemon; it blocks.
///
/// # Errors
/// The log is damaged; a file cannot be read; git failed; another export.
pub fn pack(paths: &Paths, id: &AgentId) -> Result<Option<Packed>, DaemonError> {
    let Some(gathered) = super::gather(paths, id)? else {
        return Ok(None);
    };
    let mut state = gathered.state;
    let mut sources = Vec::new();
    let conversation = gathered.conversation.as_deref();
    let conversation = conversation
        .map(|file| conversation_of(&mut state, file))
        .transpose();
    let conversation = conversation.map_err(DaemonError::io("read the conversation"))?;
    sources.extend(conversation.flatten());
    let has_conversation = !sources.is_empty();
    let (bundle, scratch) = commits_of(paths, &state)?.unzip();
    let has_commits = bundle.is_some();
    sources.extend(bundle);
    let document = Source {
        path: STATE.to_owned(),
        content: Content::Bytes(
            state
                .document()
                .map_err(DaemonError::io("write the state"))?,
        ),
    };
    sources.insert(0, document);
    Ok(Some(Packed {
        state,
        has_conversation,
        has_commits,
        sources,
        _scratch: scratch,
    }))
}

/// The conversation as it is now.
fn conversation_of(state: &mut AgentState, path: &Path) -> io::Result<Option<Source>> {
    let Some(about) = &mut state.conversation else {
        return Ok(None);
    };
    if !can_be_packed(&about.file) {
        return Ok(None);
    }
    let file = plain_file::open(path)?;
    let size = file.metadata()?.len();
    about.sha256 = sha256_of((&file).take(size))?;
    Ok(Some(Source {
        path: format!("{CONVERSATION}{}", about.file),
        content: Content::Open { file, size },
    }))
}

/// The agent's commits that the target lacks.
fn commits_of(paths: &Paths, state: &AgentState) -> Result<Option<(Source, Scratch)>, DaemonError> {
    let tip = state.contexts.worktree.tip.as_deref();
    let Some(tip) = tip.and_then(|tip| Oid::from_str(tip).ok()) else {
        return Ok(None);
    };
    let repo = Repo::open(&paths.root)?;
    let config = Loader::new(paths).load()?;
    let target = crate::daemon::agent_import::target(&repo, &config)?;
    let base = match target {
        Some(target) if repo.has_commit(tip)? => repo.merge_base(target, tip)?,
        Some(_) | None => None,
    };
    let Some(base) = base.filter(|base| *base != tip) else {
        return Ok(None);
    };
    let scratch = Scratch::create(paths)?;
    let bundle = scratch.path("work.bundle");
    let refs = BTreeMap::from([(WORK.to_owned(), tip)]);
    repo.write_bundle(&refs, Some(base), &scratch.dir().join("git"), &bundle)?;
    let size = std::fs::metadata(&bundle).map_err(DaemonError::io("read the commits"))?;
    let source = Source {
        path: BUNDLE.to_owned(),
        content: Content::File {
            path: bundle,
            size: size.len(),
        },
    };
    Ok(Some((source, scratch)))
}
