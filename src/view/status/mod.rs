//! The swarm at a glance: `swarm status`.

pub(super) mod baseline;
pub(super) mod no_daemon;
pub(super) mod warnings;

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::decide::transfer::refuse_moved;
use crate::domain::ids::{AgentId, IdeaId, Oid, RunId};
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::settings::Mode;
use crate::domain::state::{IdeaStatus, State};
use crate::domain::time::Timestamp;
use crate::view::agent::{AgentView, live_agent};
use crate::view::merge::{MergeView, merges};
use crate::view::needs_you::{NeedsYou, cut_off, needs_you};
use crate::view::usage::{AccountView, DayView, accounts};
use crate::view::{Rest, WarningView, rest, schema, unread_messages, usage};
use baseline::BaselineView;
use no_daemon::after_a_start;

/// The swarm at a glance.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Status)]
pub struct StatusView {
    /// The swarm's phase; `stopped` if no daemon is running.
    #[schema(schema_with = schema::words::<SwarmPhase>, required)]
    pub phase: SwarmPhase,
    /// Who starts ideas.
    #[schema(schema_with = schema::words::<Mode>, required)]
    pub mode: Mode,
    /// The daemon's process id.
    #[schema(required)]
    pub pid: Option<u32>,
    /// The address of the web page; always null in this version.
    #[schema(required)]
    pub web_url: Option<String>,
    /// The sequence number of the last event.
    pub last_seq: u64,
    /// The branch that work lands on.
    pub target: TargetView,
    /// The check of the untouched target that is running now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub baseline: Option<BaselineView>,
    /// The run of the synthesis that reads new learnings now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub synthesis: Option<RunId>,
    /// Slots for running agents.
    pub slots: SlotsView,
    /// The ports that the daemon hands out to agents and checks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub ports: Option<PortsView>,
    /// The number of ideas in each status; every status is present.
    #[schema(value_type = BTreeMap<String, u64>)]
    pub ideas: BTreeMap<&'static str, usize>,
    /// How many of the ideas are held.
    #[schema(value_type = u64)]
    pub ideas_held: usize,
    /// Agents that have not ended.
    pub agents: Vec<AgentView>,
    /// The merge queue.
    pub merge_queue: Vec<MergeView>,
    /// What needs a person, most urgent first.
    pub needs_you: Vec<NeedsYou>,
    /// Warnings that do not stop the work.
    pub warnings: Vec<WarningView>,
    /// Why the swarm is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub pause_reason: Option<String>,
    /// Accounts on hold.
    pub accounts: Vec<AccountView>,
    /// What was used on the last day (UTC) on which anything happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub used_today: Option<DayView>,
    /// Whether anything can still happen without a person.
    #[schema(schema_with = schema::words::<Rest>, required)]
    pub rest: Rest,
}

/// The branch that work lands on.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = Target)]
pub struct TargetView {
    /// The branch's name.
    #[schema(required)]
    pub branch: Option<String>,
    /// The commit at which it was last seen.
    #[schema(required, value_type = Option<String>)]
    pub commit: Option<Oid>,
}

/// Slots for running agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Slots)]
pub struct SlotsView {
    /// Slots in use.
    #[schema(value_type = u64)]
    pub used: usize,
    /// All slots.
    #[schema(value_type = u64)]
    pub max: usize,
}

/// The ports that a daemon hands out. Each worktree has 20 of them, from its `SWARM_PORT_BASE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Ports)]
pub struct PortsView {
    /// The first port. The daemon itself listens on it.
    pub first: u16,
    /// The last port.
    pub last: u16,
}

impl PortsView {
    /// Ports of a daemon.
    const COUNT: u16 = 1_440;

    fn from(first: u16) -> Self {
        Self {
            first,
            last: first + (Self::COUNT - 1),
        }
    }
}

/// What [`status`] needs from outside the state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outside {
    /// The daemon's process id; `None` if no daemon is running.
    pub pid: Option<u32>,
    /// Whether the state is an earlier one: then it says itself whether a daemon was running.
    pub is_past: bool,
    /// The address of the web page.
    pub web_url: Option<String>,
    /// The target branch's commit.
    pub target: TargetNow,
    /// Since when, and why, the event log cannot be written.
    pub stalled: Option<(Timestamp, String)>,
    /// Without a daemon: the agents that keep running, and their ideas.
    pub left_running: Vec<(AgentId, IdeaId)>,
    /// Without a daemon: the last one's process id, if it was killed.
    pub killed: Option<u32>,
}

/// The target branch's commit at this moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum TargetNow {
    /// Not looked up.
    #[default]
    Unknown,
    /// The branch is at this commit.
    At(Oid),
    /// There is no such branch.
    Gone,
}

/// The swarm at a glance.
pub fn status(state: &State, outside: Outside) -> StatusView {
    let Outside {
        pid,
        is_past,
        web_url,
        target: now,
        stalled,
        left_running,
        killed,
    } = outside;
    let runs = pid.is_some() || is_past;
    let phase = if runs {
        state.swarm.phase
    } else {
        SwarmPhase::Stopped
    };
    let settings = state.settings.as_deref();
    let target = state.swarm.target.as_ref();
    StatusView {
        phase,
        mode: state.mode(),
        pid,
        web_url,
        last_seq: state.seq,
        target: TargetView {
            branch: settings.map(|settings| settings.target.clone()),
            commit: match &now {
                TargetNow::At(commit) => Some(commit.clone()),
                TargetNow::Unknown | TargetNow::Gone => target.map(|target| target.commit.clone()),
            },
        },
        baseline: runs.then(|| baseline::running(state)).flatten(),
        synthesis: state.synthesis_run().filter(|_| runs).cloned(),
        slots: SlotsView {
            used: state.slots_used(),
            max: settings.map_or(0, |settings| settings.max_parallel as usize),
        },
        ports: ports(state).filter(|_| runs),
        ideas: count(state),
        ideas_held: state.ideas.open().filter(|(_, idea)| idea.held).count(),
        agents: live_agents(state),
        merge_queue: merges(state),
        needs_you: if runs {
            needs_you(state)
        } else {
            needs_after_a_start(state)
        },
        warnings: killed
            .map(was_killed)
            .into_iter()
            .chain(still_running(&left_running))
            .chain(warnings(state, &now, stalled))
            .collect(),
        pause_reason: state.swarm.pause_reason.clone(),
        accounts: accounts(state),
        used_today: usage::today(state),
        rest: rest(state),
    }
}

fn ports(state: &State) -> Option<PortsView> {
    state.swarm.host.port_block.map(PortsView::from)
}

fn needs_after_a_start(state: &State) -> Vec<NeedsYou> {
    let after_a_start = after_a_start(needs_you(state));
    cut_off(state).into_iter().chain(after_a_start).collect()
}

fn live_agents(state: &State) -> Vec<AgentView> {
    let agents = state.agents.iter();
    agents
        .map(|(id, attempt)| live_agent(state, id, attempt))
        .collect()
}

fn was_killed(pid: u32) -> WarningView {
    let message = format!(
        "the daemon (pid {pid}) was killed, so nothing continues; nothing is lost, and the next \
        start carries on"
    );
    WarningView::new("daemon", message).command("swarm start")
}

fn still_running(left: &[(AgentId, IdeaId)]) -> Option<WarningView> {
    let each: Vec<String> = left
        .iter()
        .map(|(agent, idea)| format!("{agent} on {idea}"))
        .collect();
    (!each.is_empty()).then(|| {
        let message = format!(
            "no daemon is running, but agents are still at work ({}); continue with them, or stop \
            them",
            each.join(", ")
        );
        WarningView::new("agents", message)
            .command("swarm start")
            .command("swarm start --detach && swarm stop")
    })
}

pub(in crate::view) fn warnings(
    state: &State,
    now: &TargetNow,
    stalled: Option<(Timestamp, String)>,
) -> Vec<WarningView> {
    let stalled = stalled.map(|(since, why)| {
        let message = format!(
            "the event log cannot be written since {since}: {why}. Nothing continues until it can; \
            swarm tries again every second"
        );
        WarningView::new("log", message)
    });
    let gone = (*now == TargetNow::Gone)
        .then(|| target_gone(state))
        .flatten();
    let known = warnings::raised(state, |_| true);
    let unread = unread_messages::warnings(state);
    let moved = moved_away(state);
    stalled
        .into_iter()
        .chain(moved)
        .chain(gone)
        .chain(known)
        .chain(unread)
        // Last, because one of them stands for as long as nothing is configured.
        .chain(baseline::warnings(state))
        .collect()
}

/// That nothing works here any more, because the swarm goes on elsewhere.
fn moved_away(state: &State) -> Option<WarningView> {
    let refused = refuse_moved(state).err()?;
    let message = format!("{refused}; if nothing works there, work here again");
    Some(WarningView::new("moved", message).command("swarm snapshot reclaim"))
}

fn target_gone(state: &State) -> Option<WarningView> {
    let branch = &state.settings.as_deref()?.target;
    let last = state
        .swarm
        .target
        .as_ref()
        .filter(|seen| seen.branch == *branch);
    let command = last.map_or_else(
        || format!("git branch {branch} COMMIT"),
        |seen| format!("git branch {branch} {}", seen.commit),
    );
    let message = format!("the target branch `{branch}` is gone, so nothing can land; restore it");
    Some(WarningView::new("target", message).command(command))
}

/// The number of ideas in each status.
pub fn count(state: &State) -> BTreeMap<&'static str, usize> {
    let each = IdeaStatus::ALL.iter();
    each.map(|status| (status.as_str(), state.ideas.count(*status)))
        .collect()
}
