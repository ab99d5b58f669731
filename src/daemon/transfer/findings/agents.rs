//! Compares the agents of an archive with the profiles here: their programs, conversations,
//! prompts and commits.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Findings, Here, has_work};
use crate::agents::adapter::StartedAs;
use crate::archive::names;
use crate::config::Adapter;
use crate::daemon::preflight::{self, Preflight};
use crate::daemon::runs::launch_record::{self, STARTED_AS};
use crate::daemon::transfer::ImportOptions;
use crate::daemon::transfer::conversations::{self, Destination, STARTED_AS_MAX};
use crate::daemon::transfer::staged::StagedSwarm;
use crate::daemon::transfer::works::Work;
use crate::domain::ids::{AgentId, ProfileName, RunId};
use crate::domain::session::SessionId;
use crate::domain::state::transfer::{ImportIssue, ImportedWork};
use crate::domain::state::{IdeaStatus, State};

/// Below the staging folder: where conversations are placed to see whether they can be.
const PROBE: &str = ".probe";
/// How much of a prompt's part must be the same.
const COMPARED: usize = 4 * 1024;

impl Findings {
    /// Profiles that unfinished work and open ideas ask for.
    pub(super) fn compare_profiles(
        &mut self,
        here: &Here<'_>,
        staged: &StagedSwarm,
        works: &[Work],
    ) {
        let default = &here.settings.default_profile;
        let known = &here.settings.profiles;
        let mut wanted = BTreeSet::from([default.clone()]);
        for work in works {
            let Some(profile) = &work.profile else {
                continue;
            };
            if known.contains(profile) {
                wanted.insert(profile.clone());
            } else {
                let agent = &work.unfinished.agent;
                self.profile_missing(agent.as_str(), profile, default);
            }
        }
        for profile in asked_for(&staged.state) {
            if known.contains(&profile) {
                wanted.insert(profile);
            } else {
                self.profile_missing(profile.as_str(), &profile, default);
                self.unknown_profiles.insert(profile);
            }
        }
        self.compare_programs(here, &wanted);
    }

    fn profile_missing(&mut self, what: &str, profile: &ProfileName, default: &ProfileName) {
        self.warn(
            ImportIssue::ProfileNotFound,
            what,
            format!("the agent profile `{profile}` is not in the configuration here"),
            format!("goes on under `{default}`"),
        );
    }

    fn compare_programs(&mut self, here: &Here<'_>, wanted: &BTreeSet<ProfileName>) {
        let profiles: Vec<_> = wanted
            .iter()
            .filter_map(|name| preflight::profile(&here.config, name.as_str()))
            .collect();
        let inherited = std::env::vars_os().collect();
        let preflight = Preflight {
            root: &here.paths.root,
            inherited: &inherited,
            pass: &here.config.agents.pass_env,
            target: None,
        };
        for seen in preflight.inspect_all(&profiles) {
            if seen.program.is_some() || seen.faults.is_empty() {
                continue;
            }
            let faults: Vec<String> = seen.faults.iter().map(ToString::to_string).collect();
            self.warn_with(
                ImportIssue::ProgramMissing,
                &seen.profile,
                format!(
                    "the agent profile `{}` cannot run here: {}",
                    seen.profile,
                    faults.join("; ")
                ),
                "its ideas wait; swarm does not start while they are pending".to_owned(),
                vec!["swarm doctor".to_owned()],
            );
        }
    }

    /// The commits and the conversation of each unfinished work.
    pub(super) fn compare_works(
        &mut self,
        here: &Here<'_>,
        staged: &StagedSwarm,
        works: &[Work],
        options: &ImportOptions,
    ) {
        let mut compared = BTreeSet::new();
        for work in works {
            self.compare_commits(work);
            if !has_work(work) {
                continue;
            }
            let conversation = self.can_resume(here, staged, work);
            if let Some(profile) = &work.profile
                && let Some(told) = last_prompt(staged, work)
                && compared.insert(profile.clone())
            {
                self.compare_prompts(here, &told, profile);
            }
            let prompt = if options.preserve_prompts {
                self.first_prompt(staged, work)
            } else {
                None
            };
            let saved = work.saved.clone();
            let restored = saved.map(|saved| ImportedWork {
                saved,
                conversation,
                prompt,
            });
            let idea = work.unfinished.idea.clone();
            self.works.extend(restored.map(|restored| (idea, restored)));
        }
    }

    fn compare_commits(&mut self, work: &Work) {
        let (agent, idea) = (&work.unfinished.agent, &work.unfinished.idea);
        if !has_work(work) {
            self.warn(
                ImportIssue::CommitMissing,
                agent.as_str(),
                format!("the archive has no commits of the work of {agent} on {idea}"),
                format!("{idea} starts again from the target"),
            );
        } else if work.lacks_files {
            self.warn(
                ImportIssue::CommitMissing,
                agent.as_str(),
                format!("the archive lacks the uncommitted files of {agent} on {idea}"),
                format!("{idea} continues from the last commit of its branch"),
            );
        }
    }

    /// Whether the conversation of a work can be resumed here.
    fn can_resume(&mut self, here: &Here<'_>, staged: &StagedSwarm, work: &Work) -> bool {
        let agent = &work.unfinished.agent;
        let Some(session) = &work.session else {
            return false;
        };
        let Some(profile) = preflight::profile(&here.config, session.profile.as_str()) else {
            // Its profile has its own warning, if it is the agent's.
            if work.profile.as_ref() != Some(&session.profile) {
                self.profile_missing(
                    agent.as_str(),
                    &session.profile,
                    &here.settings.default_profile,
                );
            }
            return false;
        };
        let before = adapter_before(staged, work);
        if before.is_some_and(|before| before != profile.adapter) {
            let before = before.map_or("another", Adapter::name);
            self.warn(
                ImportIssue::AdapterDiffers,
                agent.as_str(),
                format!(
                    "the agent profile `{}` has the adapter `{}` here and had `{before}`",
                    profile.name,
                    profile.adapter.name()
                ),
                "it starts a new conversation, which tells it what was done".to_owned(),
            );
            return false;
        }
        match probe(staged, agent, profile.adapter, &session.id) {
            Ok(()) => true,
            Err(why) => {
                self.warn(
                    ImportIssue::ConversationNotPortable,
                    agent.as_str(),
                    format!("the conversation of {agent} cannot be resumed here: {why}"),
                    "it starts a new conversation, which tells it what was done".to_owned(),
                );
                false
            }
        }
    }

    /// Whether the prompts of a profile are what its agents were told.
    fn compare_prompts(&mut self, here: &Here<'_>, told: &str, profile: &ProfileName) {
        let swarm = &here.paths.swarm;
        let own = swarm.join("agents").join(profile.as_str());
        let mut parts: Vec<_> = ["prompt.md", "rules.md"].map(|name| own.join(name)).into();
        let shared = std::fs::read_dir(swarm.join("rules")).into_iter().flatten();
        let shared = shared.flatten().map(|entry| entry.path());
        parts.extend(shared.filter(|path| path.extension().is_some_and(|it| it == "md")));
        let is_told = |path: &PathBuf| {
            let today = std::fs::read_to_string(path).unwrap_or_default();
            let beginning: String = today.trim().chars().take(COMPARED).collect();
            told.contains(&beginning)
        };
        let changed: Vec<String> = parts
            .iter()
            .filter(|path| !is_told(path))
            .map(|path| {
                path.strip_prefix(&here.paths.root)
                    .unwrap_or(path)
                    .display()
                    .to_string()
            })
            .collect();
        if !changed.is_empty() {
            self.warn(
                ImportIssue::PromptDiffers,
                profile.as_str(),
                format!(
                    "agents of `{profile}` were told something else than what is here: {}",
                    changed.join(", ")
                ),
                "today's files count; --preserve-prompts keeps the recorded prompt".to_owned(),
            );
        }
    }

    /// The run whose prompt a restored attempt starts with.
    fn first_prompt(&mut self, staged: &StagedSwarm, work: &Work) -> Option<RunId> {
        let iterations = work
            .runs
            .iter()
            .filter(|run| whole_prompt(staged, run).is_some());
        let first = iterations.into_iter().next().cloned();
        if first.is_none() && work.unfinished.iterations > 0 {
            let agent = &work.unfinished.agent;
            self.warn(
                ImportIssue::PromptDiffers,
                agent.as_str(),
                format!("the recorded prompt of {agent} is not in the archive"),
                "it gets a new one".to_owned(),
            );
        }
        first
    }
}

/// Profiles that open ideas ask for.
fn asked_for(state: &State) -> BTreeSet<ProfileName> {
    let open = state.ideas.values();
    let open = open.filter(|idea| idea.status != IdeaStatus::Done);
    open.filter_map(|idea| idea.profile.clone()).collect()
}

/// The adapter under which the agent last ran, if it is known.
fn adapter_before(staged: &StagedSwarm, work: &Work) -> Option<Adapter> {
    let started = work.unfinished.last_run.as_ref().and_then(|run| {
        let path = folder_of(staged, run).join(STARTED_AS);
        let text = launch_record::text(&path, STARTED_AS_MAX).ok()?;
        serde_json::from_str::<StartedAs>(&text).ok()
    });
    started.map(|started| started.adapter)
}

/// The last prompt of a work that the archive has.
fn last_prompt(staged: &StagedSwarm, work: &Work) -> Option<String> {
    let mut newest_first = work.runs.iter().rev();
    newest_first.find_map(|run| whole_prompt(staged, run))
}

/// The prompt of a run, with what its conversation had before.
fn whole_prompt(staged: &StagedSwarm, run: &RunId) -> Option<String> {
    launch_record::whole_prompt(&folder_of(staged, run)).ok()
}

fn folder_of(staged: &StagedSwarm, run: &RunId) -> PathBuf {
    staged.dir.join(names::RUNS).join(run.as_str())
}

/// Places the conversation in a folder of no program; why that fails.
fn probe(
    staged: &StagedSwarm,
    agent: &AgentId,
    adapter: Adapter,
    session: &SessionId,
) -> Result<(), String> {
    let folder = staged.dir.join(names::CONVERSATIONS);
    let file = conversations::staged(&folder, agent, session);
    let file = file.ok_or_else(|| "it is not in the archive".to_owned())?;
    let to = Destination {
        adapter,
        records: &staged.dir.join(PROBE).join(agent.as_str()),
        worktree: Path::new("/"),
        session,
    };
    conversations::place(&file, &to)
        .map(drop)
        .map_err(|error| error.to_string())
}
