//! Compares an archive with what is here, and says what an import leaves behind.
//!
//! Invariant: changes nothing. Whatever is left behind has a warning of a closed list of types.

use std::collections::{BTreeMap, BTreeSet};

use super::ImportOptions;
use super::staged::StagedSwarm;
use super::works::{self, Work};
use crate::config::Config;
use crate::daemon::error::DaemonError;
use crate::daemon::files::config_loader::Loader;
use crate::daemon::files::paths::Paths;
use crate::daemon::files::settings;
use crate::domain::decide::transfer::{self, Import};
use crate::domain::event::Event;
use crate::domain::ids::{CheckpointName, IdeaId, ProfileName};
use crate::domain::request::Author;
use crate::domain::settings::Settings;
use crate::domain::state::transfer::{ImportIssue, ImportedWork};
use crate::git::Repo;
use crate::view::restore::{
    Restore, RestoreResult, RestoreWarning, Restored, RestoredConfig, Skipped,
};

mod agents;
mod repository;

/// What an import restores and what it leaves behind.
pub(super) struct Findings {
    pub(super) warnings: Vec<RestoreWarning>,
    pub(super) works: BTreeMap<IdeaId, ImportedWork>,
    pub(super) unusable: BTreeSet<CheckpointName>,
    pub(super) unknown_profiles: BTreeSet<ProfileName>,
    config: RestoredConfig,
}

/// What is here.
struct Here<'a> {
    paths: &'a Paths,
    repo: &'a Repo,
    config: Config,
    settings: Settings,
}

impl Findings {
    /// Compares the archive with the configuration, the programs and the repository.
    pub(super) fn of(
        paths: &Paths,
        repo: &Repo,
        staged: &StagedSwarm,
        options: &ImportOptions,
    ) -> Result<Self, DaemonError> {
        let config = Loader::new(paths).load()?;
        let head = repo.head_branch()?.unwrap_or_default();
        let settings = settings::settings(&config, &head)
            .map_err(|bad| DaemonError::AgentUnusable(bad.to_string()))?;
        let here = Here {
            paths,
            repo,
            config,
            settings,
        };
        let mut this = Self {
            warnings: Vec::new(),
            works: BTreeMap::new(),
            unusable: BTreeSet::new(),
            unknown_profiles: BTreeSet::new(),
            config: RestoredConfig::default(),
        };
        let works = works::of(staged)?;
        this.compare_profiles(&here, staged, &works);
        this.compare_works(&here, staged, &works, options);
        this.compare_repository(&here, staged)?;
        this.compare_config(&here, staged);
        this.compare_hooks(staged);
        Ok(this)
    }

    fn warn(&mut self, issue: ImportIssue, what: &str, message: String, instead: String) {
        self.warn_with(issue, what, message, instead, Vec::new());
    }

    fn warn_with(
        &mut self,
        issue: ImportIssue,
        what: &str,
        message: String,
        instead: String,
        commands: Vec<String>,
    ) {
        self.warnings.push(RestoreWarning {
            issue,
            what: what.to_owned(),
            message,
            instead,
            commands,
        });
    }

    /// Names each setting that decisions use and that differs.
    fn compare_config(&mut self, here: &Here<'_>, staged: &StagedSwarm) {
        let state = &staged.state;
        if state.config_hash.is_empty() || state.config_hash == here.config.hash() {
            self.config.same = true;
            return;
        }
        let fields = |settings: &Settings| serde_json::to_value(settings).unwrap_or_default();
        let before = state.settings.as_deref().map(fields).unwrap_or_default();
        let now = fields(&here.settings);
        let names = |value: &serde_json::Value| -> BTreeSet<String> {
            let keys = value.as_object().into_iter().flat_map(|it| it.keys());
            keys.cloned().collect()
        };
        let all: BTreeSet<String> = names(&before).union(&names(&now)).cloned().collect();
        // The hooks of a machine are found when its daemon starts.
        let differs = all
            .into_iter()
            .filter(|key| key != "hooks" && before[key] != now[key]);
        self.config.differs = differs.collect();
        let what = match self.config.differs.as_slice() {
            [] => "settings that decisions do not use".to_owned(),
            some => some.join(", "),
        };
        self.warn_with(
            ImportIssue::ConfigDiffers,
            "config",
            format!("the configuration here differs from the archive's: {what}"),
            "the configuration here counts".to_owned(),
            vec!["swarm config show".to_owned()],
        );
    }

    /// Approvals are of what a person saw on the other machine.
    fn compare_hooks(&mut self, staged: &StagedSwarm) {
        for hook in staged.state.hooks_approved.keys() {
            self.warn_with(
                ImportIssue::HookNotApproved,
                &hook.to_string(),
                format!("the approval of hook {hook} on the other machine does not count here"),
                "it does not run until you approve it, if landed work changed it".to_owned(),
                vec![format!("swarm hooks approve {hook}")],
            );
        }
    }

    /// The result for people and programs.
    pub(super) fn result(&self, staged: &StagedSwarm) -> Restore {
        let mut skipped = Skipped::default();
        for warning in &self.warnings {
            skipped.add(warning.issue, &warning.what);
        }
        let partial = self.warnings.iter().any(|it| it.issue.is_partial());
        let restored = self.restored(staged);
        let counted = |count: usize, one: &str, many: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {many}"),
        };
        let ideas = counted(restored.ideas, "idea", "ideas");
        let with_work = counted(restored.unfinished, "continues", "continue");
        let behind = counted(skipped.count(), "thing is", "things are");
        let summary = if partial {
            format!("{ideas}, of which {with_work} from unfinished work; {behind} left behind")
        } else {
            format!("{ideas}, of which {with_work} from unfinished work")
        };
        Restore {
            result: if partial {
                RestoreResult::Partial
            } else {
                RestoreResult::Full
            },
            summary,
            source: staged.source(),
            config: self.config.clone(),
            restored,
            skipped,
            warnings: self.warnings.clone(),
        }
    }

    fn restored(&self, staged: &StagedSwarm) -> Restored {
        let state = &staged.state;
        let conversations = self.works.values().filter(|work| work.conversation);
        Restored {
            events: state.seq,
            ideas: state.ideas.len(),
            unfinished: self.works.len(),
            conversations: conversations.count(),
            checkpoints: state.checkpoints.len() - self.unusable.len(),
            learnings: state.learnings.iter().count(),
            facts: state.facts.iter().count(),
        }
    }

    /// The events of the import.
    pub(super) fn events(&self, staged: &StagedSwarm, by: &Author) -> Vec<Event> {
        let mut issues = BTreeMap::new();
        for warning in &self.warnings {
            *issues.entry(warning.issue).or_default() += 1;
        }
        let import = Import {
            manifest_sha256: staged.sha256.clone(),
            swarm_id: staged.manifest.swarm_id.clone(),
            purpose: staged.purpose,
            issues,
            works: self.works.clone(),
            unusable: self.unusable.iter().cloned().collect(),
            unknown_profiles: self.unknown_profiles.iter().cloned().collect(),
            by: by.clone(),
        };
        transfer::imported(&staged.state, &import, staged.state.swarm.last_event_at)
    }
}

/// A work that can be restored, for a look at its agent.
fn has_work(work: &Work) -> bool {
    work.saved.is_some()
}
