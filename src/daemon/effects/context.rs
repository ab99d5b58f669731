//! What the drivers need to do their work, the same for all of them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::failure::ours;
use crate::agents::Profile;
use crate::agents::checkout_variables::for_worktrees;
use crate::agents::environment::Environment;
use crate::config::{Config, MergeSign};
use crate::daemon::actor::handle::Handle;
use crate::daemon::files::paths::Paths;
use crate::daemon::files::settings;
use crate::daemon::lifecycle::port_block::PortBlock;
use crate::daemon::memory::finder::Finder;
use crate::daemon::memory::freshness::{self, Aged};

use crate::domain::ids::ProfileName;
use crate::git::Repo;
use crate::view::TargetNow;

/// The drivers' tools.
pub struct DriverContext {
    /// Where everything lies.
    pub paths: Paths,
    /// The repository.
    pub repo: Repo,
    /// This very program, for runners and the demo agent.
    pub exe: PathBuf,
    /// The daemon's environment; children get what the allow-list lets through.
    pub inherited: Environment,
    /// The ports that this daemon hands out.
    ports: Option<PortBlock>,
    /// Whether runs may be launched; not any more when the daemon has ended.
    pub(crate) launching: RwLock<bool>,
    config: RwLock<Arc<Config>>,
    /// Searches the memory; prompts and requests share its index.
    pub finder: Arc<Finder>,
    /// One at a time takes away what is over.
    pub(crate) cleaning: Mutex<()>,
    /// One at a time deletes what was taken away.
    pub(crate) emptying: Mutex<()>,
}

impl DriverContext {
    /// With the configuration as it is now.
    pub fn new(paths: Paths, repo: Repo, exe: PathBuf, config: Config) -> Self {
        configure(&repo, &config);
        Self {
            paths,
            repo,
            exe,
            inherited: std::env::vars_os().collect(),
            ports: None,
            launching: RwLock::new(true),
            config: RwLock::new(Arc::new(config)),
            finder: Arc::default(),
            cleaning: Mutex::default(),
            emptying: Mutex::default(),
        }
    }

    /// The environment that agents and checks inherit: without what points into the checkout.
    pub(crate) fn for_worktrees(&self) -> Environment {
        let pass = &self.config().agents.pass_env;
        for_worktrees(&self.inherited, pass, &self.paths.root).environment
    }

    /// With these ports for its agents and checks.
    #[must_use]
    pub(crate) fn with_ports(self, ports: Option<PortBlock>) -> Self {
        Self { ports, ..self }
    }

    /// The ports that this daemon hands out; `None` if it leases no block.
    pub(crate) fn ports(&self) -> Option<&PortBlock> {
        self.ports.as_ref()
    }

    /// The configuration as it was last read.
    pub fn config(&self) -> Arc<Config> {
        let config = self.config.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&config)
    }

    /// The configuration was read again.
    pub fn set_config(&self, config: Config) {
        configure(&self.repo, &config);
        let mut current = self.config.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(config);
    }

    /// Files of each fact's evidence that have changed on the target since.
    pub(crate) fn aged_facts(&self, handle: &Handle) -> Aged {
        let seen = handle.read(|state| {
            let target = state.swarm.target.as_ref()?;
            Some((freshness::seen_files(state), target.commit.clone()))
        });
        seen.map_or_else(Aged::default, |(seen, target)| {
            freshness::aged(&self.repo, &seen, &target)
        })
    }

    /// Where a branch is at this moment.
    pub(crate) fn target_now(&self, branch: &str) -> TargetNow {
        target_in(&self.repo, branch)
    }

    /// A profile of today's configuration.
    pub fn profile(&self, name: &ProfileName) -> Option<Profile> {
        settings::profile(&self.config(), name)
    }
}

/// Passes on what git must know of the configuration.
fn configure(repo: &Repo, config: &Config) {
    repo.never_sign(config.merge.sign == MergeSign::Never);
    repo.link_git_dirs(&config.worktree.git_dir_links);
}

/// Where a branch of this repository is.
pub(crate) fn target_in(repo: &Repo, branch: &str) -> TargetNow {
    match repo.branch_commit(branch) {
        Ok(Some(commit)) => TargetNow::At(ours(commit)),
        Ok(None) => TargetNow::Gone,
        Err(error) => {
            tracing::warn!(%error, branch, "the target branch cannot be read");
            TargetNow::Unknown
        }
    }
}
