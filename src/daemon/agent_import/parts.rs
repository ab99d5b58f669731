//! What a file of an agent has besides its state: the conversation of its program, and commits.
//!
//! Invariant: both are checked apart from the repository and from what is kept. The commits are
//! those that the state names, and the conversation has the digest that the state says.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::commits::WORK;
use super::file::{AGAIN_PACKED, refused};
use super::staging::Staging;
use crate::archive::{ArchiveError, Limits, UnpackedAgent, UnpackedConversation, unpack_agent};
use crate::daemon::error::DaemonError;
use crate::daemon::files::paths::Paths;
use crate::git::{BundleHead, Oid, Quarantine, Repo};
use crate::view::agent_state::AgentState;

/// The parts, unpacked. Dropped, they are gone.
#[derive(Debug)]
pub(super) struct Parts {
    conversation: Option<UnpackedConversation>,
    bundle: Option<PathBuf>,
    /// Whether the repository has what the bundle builds upon; `false` until [`Parts::check`].
    fits: bool,
    staging: Staging,
}

impl Parts {
    /// Unpacks a file; returns the bytes of its state, and the rest.
    pub(super) fn unpack(paths: &Paths, input: impl Read) -> Result<(Vec<u8>, Self), DaemonError> {
        let staging = Staging::create(paths).map_err(DaemonError::io("make a folder in .swarm"))?;
        let unpacked = unpack_agent(input, &staging.path("files"), Limits::default());
        let UnpackedAgent {
            state,
            conversation,
            bundle,
        } = unpacked.map_err(of_archive)?;
        let parts = Self {
            conversation,
            bundle,
            fits: false,
            staging,
        };
        Ok((state, parts))
    }

    /// The conversation's file, if there is one.
    pub(super) fn conversation(&self) -> Option<&Path> {
        self.conversation.as_ref().map(|it| it.path.as_path())
    }

    /// The bundle with the commits, if there is one that can be read here.
    pub(super) fn fitting_bundle(&self) -> Option<&Path> {
        self.bundle.as_deref().filter(|_| self.fits)
    }

    /// Checks that the parts are the state's own; returns the commits beside the repository's, if
    /// there are some that fit it.
    ///
    /// # Errors
    /// [`DaemonError::AgentFileRefused`]; git cannot be called.
    pub(super) fn check(
        &mut self,
        repo: &Repo,
        state: &AgentState,
    ) -> Result<Option<Quarantine>, DaemonError> {
        if let Some(found) = &self.conversation {
            let named = state.conversation.as_ref();
            let named = named.filter(|named| named.file == found.name);
            let Some(named) = named else {
                let why = "it has a conversation that `conversation.file` does not name";
                return Err(refused(why, AGAIN_PACKED));
            };
            if named.sha256 != found.sha256 {
                let why = "its conversation is damaged: it has another SHA-256 than \
                    `conversation.sha256`";
                return Err(refused(why, AGAIN_PACKED));
            }
        }
        let commits = match &self.bundle {
            Some(bundle) => self.commits(repo, bundle, state)?,
            None => None,
        };
        self.fits = commits.is_some();
        Ok(commits)
    }

    fn commits(
        &self,
        repo: &Repo,
        bundle: &Path,
        state: &AgentState,
    ) -> Result<Option<Quarantine>, DaemonError> {
        let damaged =
            |why: String| refused(format!("its commits are damaged: {why}"), AGAIN_PACKED);
        let head = BundleHead::read(bundle).map_err(|error| damaged(error.to_string()))?;
        let tip = state.contexts.worktree.tip.as_deref();
        let tip = tip.and_then(|tip| Oid::from_str(tip).ok());
        if tip.map(|tip| vec![(WORK.to_owned(), tip)]).as_ref() != Some(&head.refs) {
            let why = "its commits are not those that `contexts.worktree.tip` names";
            return Err(refused(why, AGAIN_PACKED));
        }
        // Without what they build upon, they are of no use here.
        for oid in &head.needs {
            if !repo.has_commit(*oid)? {
                return Ok(None);
            }
        }
        let dir = self.staging.path("commits");
        let quarantine = repo.quarantine_upon(&head.needs, bundle, &dir);
        quarantine
            .map(Some)
            .map_err(|error| damaged(error.to_string()))
    }
}

fn of_archive(error: ArchiveError) -> DaemonError {
    match error {
        ArchiveError::WholeSwarm => refused(
            "it is the archive of a whole swarm",
            "import it in a clone without a swarm: swarm snapshot import FILE",
        ),
        ArchiveError::Io { .. } | ArchiveError::Unreadable(_) => error.into(),
        ArchiveError::Unwritable(_)
        | ArchiveError::Exists { .. }
        | ArchiveError::Busy { .. }
        | ArchiveError::Changed { .. }
        | ArchiveError::NotAnArchive { .. }
        | ArchiveError::Newer { .. }
        | ArchiveError::Manifest { .. }
        | ArchiveError::Name { .. }
        | ArchiveError::Duplicate { .. }
        | ArchiveError::NotAFile { .. }
        | ArchiveError::Header { .. }
        | ArchiveError::Order { .. }
        | ArchiveError::Misplaced { .. }
        | ArchiveError::Missing { .. }
        | ArchiveError::Size { .. }
        | ArchiveError::Digest { .. }
        | ArchiveError::TooManyFiles { .. }
        | ArchiveError::TooLarge { .. }
        | ArchiveError::Truncated
        | ArchiveError::Damaged { .. }
        | ArchiveError::Trailing => refused(error.to_string(), AGAIN_PACKED),
    }
}
