//! Reloads the configuration of a running daemon, and reads files and git for the API.
//!
//! Invariant: an invalid configuration leaves the previous one in force.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

use crate::config::Config;
use crate::daemon::actor::handle::{CommandError, Handle};
use crate::daemon::checkpoints::list::{self, Preview};
use crate::daemon::effects::context::DriverContext;
use crate::daemon::error::DaemonError;
use crate::daemon::files::config_loader::Loader;
use crate::daemon::files::settings;
use crate::daemon::hooks::{self, HookView};
use crate::daemon::preflight;
use crate::daemon::review::Wanted;
use crate::domain::effect::Effect;
use crate::domain::hook::{HookName, HookSettings};
use crate::domain::ids::CheckpointName;
use crate::domain::observation::Observation;
use crate::domain::operation::Command;
use crate::domain::state::State;
use crate::domain::warning::WarningKind;
use crate::git::{GitError, Repo};
use crate::view::{MergeDiff, TargetNow};

/// How long a preview waits for landings, and is repeated because something landed meanwhile. A
/// landing takes longer only if the disk is full or git hangs.
const PATIENCE: Duration = Duration::from_secs(3);

/// swarm's own hooks, and whether leftovers have to pass the repository's commit hooks.
pub(in crate::daemon) fn hook_settings(
    repo: &Repo,
    config: &Config,
    state: &State,
) -> Result<(BTreeMap<HookName, HookSettings>, bool), GitError> {
    let commit_hooks = preflight::leftovers_pass_hooks(config, repo)?;
    Ok((hooks::settings(repo, config, state)?, commit_hooks))
}

/// Reloads the configuration, and answers questions about files and git.
#[derive(Clone)]
pub struct Reloader {
    pub(crate) loader: Loader,
    pub(crate) context: Arc<DriverContext>,
    pub(crate) handle: Handle,
}

impl Reloader {
    /// All checkpoints, oldest first, without the state in them.
    ///
    /// # Errors
    /// The reader stopped.
    pub async fn checkpoints(&self) -> Result<Vec<Value>, DaemonError> {
        let (context, state) = (Arc::clone(&self.context), self.handle.read(State::clone));
        let read = spawn_blocking(move || list::list(&context.repo, &state)).await;
        read.map_err(|error| DaemonError::io("read the checkpoints")(io::Error::other(error)))
    }

    /// What a rollback to this checkpoint would change.
    ///
    /// # Errors
    /// There is no such checkpoint; git cannot be asked.
    pub async fn preview(&self, name: CheckpointName) -> Result<Preview, DaemonError> {
        let end = Instant::now() + PATIENCE;
        loop {
            // Over or not, the preview is made; below it is seen whether a landing was under way.
            let _ = timeout_at(end, self.handle.landing_over()).await;
            let state = self.handle.read(State::clone);
            let target = state.swarm.target.clone();
            let (context, name) = (Arc::clone(&self.context), name.clone());
            let seen =
                spawn_blocking(move || list::preview(&context.repo, &context.paths, &state, &name));
            let preview = seen.await.map_err(|error| {
                DaemonError::io("inspect the checkpoint")(io::Error::other(error))
            })?;
            let landed =
                |now: &State| now.is_pending(Effect::is_landing) || now.swarm.target != target;
            if Instant::now() >= end || !self.handle.read(landed) {
                return preview;
            }
        }
    }

    /// The hooks, in the order of an idea's way.
    ///
    /// # Errors
    /// Git cannot be asked.
    pub async fn hook_views(&self) -> Result<Vec<HookView>, DaemonError> {
        let (context, state) = (Arc::clone(&self.context), self.handle.read(State::clone));
        let seen =
            spawn_blocking(move || hooks::list(&context.repo, &context.config(), &state)).await;
        let seen =
            seen.map_err(|error| DaemonError::io("look at the hooks")(io::Error::other(error)))?;
        Ok(seen?)
    }

    /// What landing an idea would change.
    ///
    /// # Errors
    /// Git cannot be asked.
    pub async fn merge_diff(&self, wanted: Wanted) -> Result<MergeDiff, DaemonError> {
        let context = Arc::clone(&self.context);
        let seen = spawn_blocking(move || wanted.diff(&context.repo)).await;
        let seen =
            seen.map_err(|error| DaemonError::io("look at the work")(io::Error::other(error)))?;
        Ok(seen?)
    }

    /// Where a branch is at this moment.
    pub async fn target(&self, branch: String) -> TargetNow {
        let context = Arc::clone(&self.context);
        let seen = spawn_blocking(move || context.target_now(&branch)).await;
        seen.unwrap_or_else(|error| {
            tracing::warn!(%error, "looking at the target branch stopped");
            TargetNow::Unknown
        })
    }

    /// The last event's sequence number.
    ///
    /// # Errors
    /// The configuration is wrong, and the one before stays in force; or the log cannot be written.
    pub async fn reload(&self) -> Result<u64, ReloadError> {
        let key = WarningKind::Config.only().to_owned();
        let files = self.loader.clone();
        let read = spawn_blocking(move || files.load_ready()).await;
        let stopped = |error| DaemonError::io("read the configuration")(io::Error::other(error));
        let config = match read.map_err(stopped).flatten() {
            Ok(config) => config,
            Err(error) => {
                let message = format!(
                    "the configuration is invalid, so the previous one stays in force: {}",
                    listed(&error.to_string())
                );
                self.handle
                    .observe(Observation::Trouble { key, message })
                    .await;
                return Err(error.into());
            }
        };
        self.handle.observe(Observation::TroubleOver { key }).await;
        let target = self.handle.read(|state| {
            let settings = state.settings.as_ref();
            settings.map_or_else(String::new, |settings| settings.target.clone())
        });
        let mut settings = settings::settings(&config, &target)
            .map_err(|bad| DaemonError::AgentUnusable(bad.to_string()))?;
        let hash = config.hash();
        (settings.hooks, settings.commit_hooks) = self.hooks(&config).await?;
        self.context.set_config(config);
        self.warn_of_webhook().await;
        let settings = Box::new(settings);
        let loaded = self
            .handle
            .command(Command::LoadSettings { hash, settings });
        Ok(loaded.await?.seq)
    }
}

impl Reloader {
    /// Keeps a warning for as long as the webhook cannot be used from this environment.
    pub(crate) async fn warn_of_webhook(&self) {
        let key = WarningKind::Webhook.about("-environment");
        let problem = preflight::webhook_problem(&self.context.config(), &self.context.inherited);
        let observation = match problem {
            Some(problem) => Observation::Trouble {
                key,
                message: format!("{problem}; {}", preflight::WEBHOOK_ADVICE),
            },
            None => Observation::TroubleOver { key },
        };
        self.handle.observe(observation).await;
    }

    async fn hooks(
        &self,
        config: &Config,
    ) -> Result<(BTreeMap<HookName, HookSettings>, bool), DaemonError> {
        let (context, config) = (Arc::clone(&self.context), config.clone());
        let state = self.handle.read(State::clone);
        let found = spawn_blocking(move || hook_settings(&context.repo, &config, &state)).await;
        let found =
            found.map_err(|error| DaemonError::io("look at the hooks")(io::Error::other(error)))?;
        Ok(found?)
    }
}

/// Joins the lines of a list into one line.
fn listed(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines.join("; ").replace(":; ", ": ")
}

/// Why the configuration could not be read again.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// It is wrong.
    #[error(transparent)]
    Wrong(#[from] DaemonError),
    /// The actor does not take it.
    #[error(transparent)]
    Refused(#[from] CommandError),
}

/// Reloads the configuration and logs the result.
pub(crate) async fn reload(reloader: &Reloader) {
    match reloader.reload().await {
        Ok(seq) => tracing::info!(seq, "configuration reloaded"),
        Err(error) => tracing::warn!(%error, "configuration not reloaded"),
    }
}
