//! Looks up the target, which people move without telling swarm: whether it still has all that has
//! landed, whether missing work has come back, and whether a failed check may pass now. Driven by
//! `watcher`.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::Instant;

use crate::daemon::actor::handle::Handle;
use crate::daemon::checks_probe;
use crate::daemon::effects::context::DriverContext;
use crate::daemon::effects::failure::ours;
use crate::daemon::effects::landed_work::{self, Missing};
use crate::domain::ids::Oid;
use crate::domain::observation::Observation;
use crate::domain::state::State;
use crate::git::GitError;

/// How often it is looked up while something waits for it: its check stands failed, or it lacks
/// landed work.
const OFTEN: Duration = Duration::from_secs(2);
/// How often it is looked up otherwise, once work has begun on it.
const SELDOM: Duration = Duration::from_secs(10);

/// After this time it is looked up again if something new was seen: then the state knows of it.
const AGAIN: Duration = Duration::from_millis(100);

/// When the target was looked up, and what was seen.
pub(super) struct TargetWatch {
    context: Arc<DriverContext>,
    handle: Handle,
    /// The last look; none since the daemon started.
    last: Option<Instant>,
    /// Whether it saw something new.
    seen_new: bool,
    /// Known and present commit when it was last compared: the present one contained the known one.
    compared: Option<(Oid, Oid)>,
    /// Where missing work was last looked for in vain.
    searched: Option<Oid>,
}

impl TargetWatch {
    pub(super) fn new(context: Arc<DriverContext>, handle: Handle) -> Self {
        Self {
            context,
            handle,
            last: None,
            seen_new: false,
            compared: None,
            searched: None,
        }
    }

    /// When to look next; `None` while nothing has begun on the target.
    pub(super) fn due(&self) -> Option<Instant> {
        let every = self.handle.read(|state| {
            if self.seen_new {
                return Some(AGAIN);
            }
            let waits = state.swarm.baseline.failed.is_some()
                || state.probe_alarms().is_some()
                || state.swarm.rewritten.is_some();
            let known = state.swarm.target.is_some();
            waits.then_some(OFTEN).or(known.then_some(SELDOM))
        })?;
        let last = self.last.map(|last| last + every);
        Some(last.unwrap_or_else(Instant::now))
    }

    /// Whether the state may lack what people did to the target before now.
    pub(super) fn is_behind(&self) -> bool {
        self.seen_new || self.last.is_none() && self.due().is_some()
    }

    /// Looks, and tells what has changed.
    pub(super) async fn look(&mut self) {
        self.look_for_accepted().await;
        self.seen_new = false;
        if let Some(now) = self.present().await {
            self.look_for_rewrite(&now).await;
            self.look_for_missing(&now).await;
            let seen = Observation::TargetAt { commit: now };
            self.handle.observe(seen).await;
        }
        self.last = Some(Instant::now());
    }

    async fn present(&self) -> Option<Oid> {
        let target = |state: &State| Some(state.settings.as_ref()?.target.clone());
        let target = self.handle.read(target)?;
        let found = self.ask(move |context| context.repo.branch_commit(&target));
        found.await.flatten().map(ours)
    }

    /// A person may have rewritten the target, with or without the work that has landed.
    async fn look_for_rewrite(&mut self, now: &Oid) {
        let seen = self.handle.read(|state| {
            let seen = state.swarm.target.as_ref()?;
            let is_branch = state.settings.as_ref()?.target == seen.branch;
            // A rollback moves it back itself.
            let asks = is_branch && seen.commit != *now && state.rollback.is_none();
            asks.then(|| (seen.clone(), landed_work::landed(state)))
        });
        let Some((seen, landed)) = seen else {
            return;
        };
        let pair = (seen.commit.clone(), now.clone());
        if self.compared.as_ref() == Some(&pair) {
            return;
        }
        let from = seen.commit.clone();
        let look = move |context: &DriverContext| {
            let known = (&*seen.branch, &seen.commit);
            landed_work::rewritten(&context.repo, known, || landed)
        };
        match self.ask(look).await {
            Some(Some(rewrite)) => {
                let seen = Observation::TargetRewritten { from, rewrite };
                self.seen_new = true;
                self.handle.observe(seen).await;
            }
            Some(None) => self.compared = Some(pair),
            None => {}
        }
    }

    /// A person may have brought back landed work that the rewritten target lacked.
    async fn look_for_missing(&mut self, now: &Oid) {
        if self.searched.as_ref() == Some(now) {
            return;
        }
        let (missing, to) = (self.handle.read(Missing::of), now.clone());
        let look =
            move |context: &DriverContext| landed_work::brought_back(&context.repo, missing, &to);
        match self.ask(look).await {
            Some(Some(seen)) => {
                self.seen_new = true;
                self.handle.observe(seen).await;
            }
            Some(None) => self.searched = Some(now.clone()),
            None => {}
        }
    }

    /// A person may have accepted that a check is blind: the command writes a file.
    async fn look_for_accepted(&self) {
        if self.handle.read(|state| state.probe_alarms().is_none()) {
            return;
        }
        let context = Arc::clone(&self.context);
        let accepted = spawn_blocking(move || checks_probe::accepted(&context.paths)).await;
        let commands = accepted.into_iter().flatten().map(|it| it.command);
        let commands = commands.collect();
        self.handle
            .observe(Observation::BlindAccepted { commands })
            .await;
    }

    /// What git answers; `None` if it cannot, which the log of the daemon says.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&DriverContext) -> Result<T, GitError> + Send + 'static,
    ) -> Option<T> {
        let context = Arc::clone(&self.context);
        match spawn_blocking(move || question(&context)).await {
            Ok(Ok(answer)) => return Some(answer),
            Ok(Err(error)) => tracing::warn!(%error, "the target cannot be looked up"),
            Err(error) => tracing::warn!(%error, "looking the target up crashed"),
        }
        None
    }
}
