//! All commands in all situations: carried out, without effect, or refused with a reason and a way
//! out. Never a panic.

use std::fmt::Write as _;

use insta::assert_snapshot;

use crate::domain::effect::ConflictLevel;
use crate::domain::event::{Event, PhaseChanged};
use crate::domain::lifecycle::{
    AttemptInput, AttemptPhase, MergeInput, MergePhase, SwarmInput, SwarmPhase, attempt, merge,
    step, swarm,
};
use crate::domain::observation::{Observation, RunEndKind};
use crate::domain::operation::{Command, IdeaEdit, TargetChoice};
use crate::domain::settings::{Mode, Settings};
use crate::domain::signal::Signal;
use crate::domain::state::IdeaStatus;
use crate::domain::testkit::outcomes::{conflicted, target_rewritten};
use crate::domain::testkit::scenario::exit;
use crate::domain::testkit::{Scenario, agent, checkpoint_name, idea, new_idea};

/// A way to get somewhere.
pub(super) type Way = fn(&mut Scenario);

/// The merge of its work has a conflict of this level.
pub(super) fn conflict(s: &mut Scenario, level: ConflictLevel) {
    s.well_until("buildMerge");
    s.answer("buildMerge", conflicted(level, &["a.rs"]));
}

fn silent(s: &mut Scenario) {
    let run = s.attempt(1).run.clone().unwrap();
    let (effect, _) = s.state.run_effect(&run).unwrap();
    let end = crate::domain::observation::RunEnd {
        stdout_bytes: 1,
        duration_ms: 1,
        ..crate::domain::observation::RunEnd::new(exit(0))
    };
    s.run_over(effect, end);
}

/// Where the first idea can stand, and its attempt, and its merge.
pub(super) const SITUATIONS: &[(&str, Way)] = &[
    ("pending", |s| {
        s.command(Command::SetMode {
            mode: Mode::SemiAuto,
        })
        .add("one");
    }),
    ("pending, after a crash", |s| {
        s.add("one").well_until("iteration");
        s.iteration(&agent(1), RunEndKind::Lost);
    }),
    ("preparing", |s| {
        s.add("one");
    }),
    ("working", |s| {
        s.add("one").well_until("iteration");
    }),
    ("gating, sealed now", |s| {
        s.add("one").well_until("seal");
    }),
    ("gating", |s| {
        s.add("one").well_until("gate");
    }),
    ("stopping", |s| {
        s.add("one").well_until("iteration");
        s.command(Command::StopAgent { id: agent(1) });
    }),
    ("waits for a person", |s| {
        s.add("one").well_until("iteration");
        s.says(&agent(1), Signal::NeedsHuman(None))
            .iteration(&agent(1), exit(0));
    }),
    ("backoff", |s| {
        s.add("one").well_until("iteration");
        silent(s);
        silent(s);
    }),
    ("catches up", |s| {
        s.add("one").well_until("verify").check(exit(1));
    }),
    ("queued, held", |s| {
        s.load(|settings| settings.auto_merge = false)
            .add("one")
            .all_goes_well();
    }),
    ("queued, approved", |s| {
        s.load(|settings| settings.auto_merge = false)
            .add("one")
            .all_goes_well();
        s.command(Command::ApproveMerge {
            id: idea(1),
            commit: None,
        });
    }),
    ("returned by review", |s| {
        s.load(|settings| settings.auto_merge = false)
            .add("one")
            .all_goes_well();
        s.command(Command::RejectMerge {
            id: idea(1),
            why: "rename it".into(),
        });
    }),
    ("queued, waits", |s| {
        s.add("one")
            .well_until("buildMerge")
            .fails("buildMerge", "no branch");
    }),
    ("building", |s| {
        s.add("one").well_until("buildMerge");
    }),
    ("conflict, laid out now", |s| {
        s.add("one");
        conflict(s, ConflictLevel::Medium);
    }),
    ("resolver works", |s| {
        s.add("one");
        conflict(s, ConflictLevel::Medium);
        s.well_until("iteration");
    }),
    ("resolved, concluded now", |s| {
        s.add("one");
        conflict(s, ConflictLevel::Medium);
        s.well_until("finishResolution");
    }),
    ("conflict for a person", |s| {
        s.add("one");
        conflict(s, ConflictLevel::Complex);
        s.all_goes_well();
    }),
    ("target rewritten", |s| {
        s.add("one").all_goes_well();
        s.add("two").well_until("buildMerge");
        s.answer("buildMerge", target_rewritten(9, &[1]));
    }),
    ("verifying", |s| {
        s.add("one").well_until("verify");
    }),
    ("landing", |s| {
        s.add("one").well_until("land");
    }),
    ("done", |s| {
        s.add("one").all_goes_well();
    }),
    ("blocked", |s| {
        s.add("one").well_until("iteration");
        s.says(&agent(1), Signal::Blocked(None))
            .iteration(&agent(1), exit(0));
    }),
    ("failed", |s| {
        s.add("one")
            .well_until("iteration")
            .iteration(&agent(1), exit(1));
    }),
    ("timeout", |s| {
        s.add("one")
            .well_until("iteration")
            .iteration(&agent(1), RunEndKind::TimedOut);
    }),
    ("cancelled", |s| {
        s.command(Command::SetMode {
            mode: Mode::SemiAuto,
        })
        .add("one");
        s.command(Command::CancelIdea { id: idea(1) });
    }),
];

/// What can be asked about an idea, its agent and its merge.
pub(super) fn about_an_idea() -> Vec<(&'static str, Command)> {
    let (id, of) = (idea(1), agent(1));
    let edit = IdeaEdit {
        priority: Some(7),
        ..IdeaEdit::default()
    };
    vec![
        (
            "edit",
            Command::EditIdea {
                id: id.clone(),
                edit,
            },
        ),
        ("retry", Command::RetryIdea { id: id.clone() }),
        ("cancel", Command::CancelIdea { id: id.clone() }),
        (
            "assign",
            Command::AssignIdea {
                id: id.clone(),
                profile: None,
            },
        ),
        ("hold", Command::HoldIdea { id: id.clone() }),
        ("unhold", Command::UnholdIdea { id: id.clone() }),
        ("stop", Command::StopAgent { id: of.clone() }),
        (
            "say",
            Command::SayToAgent {
                id: of,
                text: "hello".into(),
            },
        ),
        ("m-retry", Command::RetryMerge { id: id.clone() }),
        (
            "approve",
            Command::ApproveMerge {
                id: id.clone(),
                commit: None,
            },
        ),
        (
            "reject",
            Command::RejectMerge {
                id: id.clone(),
                why: "add a test".into(),
            },
        ),
        ("retext", {
            let edit = IdeaEdit {
                text: Some("another text".into()),
                ..IdeaEdit::default()
            };
            let id = id.clone();
            Command::EditIdea { id, edit }
        }),
        ("m-resolve", Command::ResolveMerge { id }),
    ]
}

/// What can be asked about the swarm.
pub(super) fn about_the_swarm(settings: &Settings) -> Vec<(&'static str, Command)> {
    let settings = Settings {
        max_parallel: 1,
        ..settings.clone()
    };
    vec![
        ("add", Command::AddIdea(new_idea("another"))),
        ("pause", Command::Pause { reason: None }),
        ("resume", Command::Resume),
        (
            "settle",
            Command::SettleTarget {
                choice: TargetChoice::Ignore,
            },
        ),
        (
            "load",
            Command::LoadSettings {
                hash: "new".into(),
                settings: Box::new(settings),
            },
        ),
        (
            "mode",
            Command::SetMode {
                mode: Mode::SemiAuto,
            },
        ),
        ("stop", Command::Shutdown { keep_agents: false }),
        ("keep", Command::Shutdown { keep_agents: true }),
        ("now", Command::ShutdownNow),
        (
            "make",
            Command::CreateCheckpoint {
                tag: false,
                name: checkpoint_name("another"),
            },
        ),
        (
            "delete",
            Command::DeleteCheckpoint {
                name: checkpoint_name("first"),
            },
        ),
        ("back", roll_back()),
    ]
}

fn roll_back() -> Command {
    Command::RollBack {
        name: checkpoint_name("first"),
        pause: false,
        from: None,
    }
}

/// `yes`: something follows; `-`: accepted, nothing changes; otherwise the code of the refusal,
/// which says why and what to do.
fn answer(mut s: Scenario, command: &Command) -> String {
    s.quietly();
    match s.ask(command) {
        Ok(()) if s.then().is_empty() => "-".into(),
        Ok(()) => "yes".into(),
        Err(rejection) => {
            assert!(!rejection.to_string().is_empty());
            assert!(
                !rejection.suggestions().is_empty(),
                "no way out: {rejection}"
            );
            assert!(s.then().is_empty(), "a refusal changes something");
            match rejection.code() {
                "NOT_NOW" => "no".into(),
                "IDEA_UNKNOWN" | "AGENT_UNKNOWN" => "unknown".into(),
                "AGENT_ENDED" => "ended".into(),
                code => code.into(),
            }
        }
    }
}

pub(super) fn table(rows: &[(&str, Vec<String>)], columns: &[&str]) -> String {
    let mut text = format!("{:26}", "");
    for column in columns {
        write!(text, "{column:10}").unwrap();
    }
    for (row, cells) in rows {
        write!(text, "\n{row:26}").unwrap();
        for cell in cells {
            write!(text, "{cell:10}").unwrap();
        }
    }
    text.lines()
        .map(str::trim_end)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn all_commands_about_an_idea_in_all_situations() {
    let mut rows = Vec::new();
    for (name, way) in SITUATIONS {
        let cells = about_an_idea().into_iter().map(|(_, command)| {
            let mut s = Scenario::running();
            way(&mut s);
            answer(s, &command)
        });
        rows.push((*name, cells.collect()));
    }
    let columns: Vec<&str> = about_an_idea().iter().map(|(name, _)| *name).collect();
    assert_snapshot!(table(&rows, &columns), @r"
                              edit      retry     cancel    assign    hold      unhold    stop      say       m-retry   approve   reject    retext    m-resolve
    pending                   yes       -         yes       yes       yes       -         unknown   unknown   no        no        no        yes       no
    pending, after a crash    yes       yes       yes       yes       yes       -         ended     ended     no        no        no        yes       no
    preparing                 yes       no        yes       no        yes       -         yes       yes       no        no        no        yes       no
    working                   yes       no        yes       no        yes       -         yes       yes       no        no        no        yes       no
    gating, sealed now        yes       no        yes       no        yes       -         yes       yes       no        no        no        yes       no
    gating                    yes       no        yes       no        yes       -         yes       yes       no        no        no        yes       no
    stopping                  yes       no        yes       no        yes       -         -         yes       no        no        no        yes       no
    waits for a person        yes       yes       yes       no        yes       -         yes       yes       no        no        no        yes       no
    backoff                   yes       no        yes       no        yes       -         yes       yes       no        no        no        yes       no
    catches up                yes       no        yes       no        yes       -         yes       yes       no        no        no        yes       no
    queued, held              yes       yes       yes       no        yes       -         yes       no        no        yes       yes       yes       no
    queued, approved          no        no        no        no        yes       -         no        yes       -         -         yes       no        no
    returned by review        yes       no        yes       no        yes       -         yes       yes       no        no        no        yes       no
    queued, waits             no        no        yes       no        yes       -         no        yes       yes       no        no        no        no
    building                  no        no        no        no        yes       -         no        yes       -         no        no        no        no
    conflict, laid out now    no        no        yes       no        yes       -         no        yes       -         no        no        no        no
    resolver works            no        no        yes       no        yes       -         no        yes       -         no        no        no        no
    resolved, concluded now   no        no        yes       no        yes       -         no        yes       -         no        no        no        no
    conflict for a person     no        no        yes       no        yes       -         no        yes       yes       no        no        no        yes
    target rewritten          no        no        no        no        no        -         ended     ended     no        no        no        no        no
    verifying                 no        no        no        no        yes       -         no        yes       -         no        no        no        no
    landing                   no        no        no        no        yes       -         no        yes       -         no        no        no        no
    done                      no        no        no        no        no        -         ended     ended     no        no        no        no        no
    blocked                   yes       yes       yes       no        no        -         ended     ended     no        no        no        yes       no
    failed                    yes       yes       yes       no        no        -         ended     ended     no        no        no        yes       no
    timeout                   yes       yes       yes       no        no        -         ended     ended     no        no        no        yes       no
    cancelled                 yes       yes       -         no        no        -         unknown   unknown   no        no        no        yes       no
    ");
}

#[test]
fn the_situations_are_all_there() {
    use AttemptPhase::{
        Backoff, Gating, Preparing, ReadyToMerge, Stopping, WaitingForHuman, Working,
    };
    use MergePhase::{Building, Landing, Person, Queued, Resolver, Verifying};
    let mut statuses = Vec::new();
    let mut phases = Vec::new();
    let mut merges = Vec::new();
    for (_, way) in SITUATIONS {
        let mut s = Scenario::running();
        way(&mut s);
        statuses.push(s.idea(1).status);
        phases.extend(s.state.agents.values().map(|attempt| attempt.phase));
        merges.extend(s.state.queue.iter().map(|entry| entry.phase));
    }
    assert!(
        IdeaStatus::ALL
            .iter()
            .all(|status| statuses.contains(status))
    );
    // Queued, starting and what is over are never at rest in an attempt, nor landed in an entry.
    let all = [
        Preparing,
        Working,
        Gating,
        Stopping,
        WaitingForHuman,
        Backoff,
        ReadyToMerge,
    ];
    assert!(all.iter().all(|phase| phases.contains(phase)));
    let all = [Queued, Building, Resolver, Person, Verifying, Landing];
    assert!(all.iter().all(|phase| merges.contains(phase)));
}

/// Where the swarm can stand.
const PHASES: &[(&str, Way)] = &[
    ("recovering", |s| {
        s.add("one").well_until("iteration");
        let version = "1.0.0".into();
        s.when(Observation::DaemonStarted {
            version,
            counters: None,
            host: None,
        });
    }),
    ("running", |s| {
        s.add("one").well_until("iteration");
    }),
    ("pausing", |s| {
        s.add("one")
            .well_until("iteration")
            .command(Command::Pause { reason: None });
    }),
    ("paused", |s| {
        s.command(Command::Pause { reason: None });
    }),
    ("draining", |s| {
        s.add("one").well_until("iteration");
        s.command(Command::Shutdown { keep_agents: false });
    }),
    ("stopped, agents go on", |s| {
        s.add("one").well_until("iteration");
        s.command(Command::Shutdown { keep_agents: true });
    }),
    ("stopped", |s| {
        s.command(Command::Shutdown { keep_agents: false });
    }),
    ("rolling back: look", |s| {
        s.add("one").well_until("iteration");
        s.command(roll_back());
    }),
    ("rolling back: agents end", |s| {
        s.add("one").well_until("iteration");
        s.command(roll_back()).looked();
    }),
    ("rolling back: safety", |s| {
        s.command(roll_back()).looked();
    }),
    ("rolling back: target", |s| {
        s.command(roll_back()).well_until("moveTarget");
    }),
    ("rolled back, and torn", |s| {
        s.given([Event::PhaseChanged(PhaseChanged {
            phase: SwarmPhase::RollingBack,
            reason: None,
            deadline: None,
        })]);
    }),
    ("target rewritten", |s| {
        s.add("one").all_goes_well();
        s.add("two").well_until("buildMerge");
        s.answer("buildMerge", target_rewritten(9, &[1]));
    }),
];

#[test]
fn all_commands_about_the_swarm_in_all_its_phases() {
    let settings = Scenario::running().state.settings.unwrap();
    let commands = about_the_swarm(&settings);
    let mut rows = Vec::new();
    for (name, way) in PHASES {
        let cells = commands.iter().map(|(_, command)| {
            let mut s = Scenario::running();
            s.checkpoint("first");
            way(&mut s);
            answer(s, command)
        });
        rows.push((*name, cells.collect()));
    }
    let columns: Vec<&str> = commands.iter().map(|(name, _)| *name).collect();
    assert_snapshot!(table(&rows, &columns), @r"
                              add       pause     resume    settle    load      mode      stop      keep      now       make      delete    back
    recovering                yes       no        no        no        yes       yes       yes       yes       yes       yes       yes       yes
    running                   yes       yes       -         no        yes       yes       yes       yes       yes       yes       yes       yes
    pausing                   yes       -         yes       no        yes       yes       yes       yes       yes       yes       yes       yes
    paused                    yes       -         yes       no        yes       yes       yes       yes       yes       yes       yes       yes
    draining                  yes       no        no        no        yes       yes       -         yes       yes       yes       yes       no
    stopped, agents go on     yes       no        no        no        yes       yes       no        -         no        yes       yes       no
    stopped                   yes       no        no        no        yes       yes       no        -         no        yes       yes       no
    rolling back: look        yes       no        no        no        yes       yes       yes       yes       yes       no        no        no
    rolling back: agents end  yes       no        no        no        yes       yes       yes       yes       yes       no        no        no
    rolling back: safety      yes       no        no        no        yes       yes       yes       yes       yes       no        no        no
    rolling back: target      yes       no        no        no        yes       yes       yes       yes       yes       no        no        no
    rolled back, and torn     yes       no        no        no        yes       yes       yes       yes       yes       yes       yes       no
    target rewritten          yes       yes       -         yes       yes       yes       yes       yes       yes       yes       yes       yes
    ");
}

/// What may happen to the swarm while an idea stands where it stands.
const TURNS: &[Way] = &[
    |s| {
        s.command(Command::Pause { reason: None });
    },
    |s| {
        s.command(Command::Shutdown { keep_agents: false });
    },
    |s| {
        s.command(Command::Shutdown { keep_agents: true });
    },
    |s| {
        let version = "1.0.0".into();
        s.when(Observation::DaemonStarted {
            version,
            counters: None,
            host: None,
        });
    },
];

#[test]
fn commands_about_an_idea_in_every_phase_of_the_swarm() {
    for turn in TURNS {
        for (_, way) in SITUATIONS {
            for (_, command) in about_an_idea() {
                let mut s = Scenario::running();
                way(&mut s);
                turn(&mut s);
                answer(s, &command);
            }
        }
    }
}

/// Rows are phases, columns inputs.
macro_rules! transitions {
    ($machine:ty, $phases:expr, $inputs:expr) => {{
        let inputs: Vec<String> = $inputs.iter().map(|input| format!("{input:?}")).collect();
        let columns: Vec<&str> = inputs
            .iter()
            .map(|name| name.split(' ').next().unwrap())
            .collect();
        let mut text = String::new();
        for phase in $phases {
            let ways = $inputs.iter().zip(&columns).filter_map(|(input, name)| {
                let next = step::<$machine>(phase, input).ok()?;
                Some(format!("{name} -> {next:?}"))
            });
            let ways: Vec<String> = ways.collect();
            writeln!(text, "{phase:?}: {}", ways.join(", ")).unwrap();
        }
        text
    }};
}

#[test]
fn all_transitions_of_an_attempt() {
    use AttemptInput as I;
    use AttemptPhase as P;
    let phases = [
        P::Queued,
        P::Preparing,
        P::Starting,
        P::Working,
        P::Gating,
        P::Stopping,
        P::WaitingForHuman,
        P::Backoff,
        P::ReadyToMerge,
        P::Merged,
        P::Failed,
        P::Released,
    ];
    let inputs = [
        I::Prepared,
        I::Started,
        I::Hold,
        I::Continue,
        I::Prepare,
        I::SaidComplete,
        I::NeedsHuman,
        I::Answered,
        I::GatePassed,
        I::Returned,
        I::Stop,
        I::Landed,
        I::Fail,
        I::Release,
    ];
    assert_snapshot!(transitions!(attempt::Machine, phases, inputs), @r"
    Queued: 
    Preparing: Prepared -> Starting, Hold -> Preparing, Returned -> Backoff, Stop -> Stopping, Fail -> Failed, Release -> Released
    Starting: Started -> Working, Hold -> Backoff, Stop -> Stopping, Fail -> Failed, Release -> Released
    Working: Hold -> Backoff, SaidComplete -> Gating, NeedsHuman -> WaitingForHuman, GatePassed -> ReadyToMerge, Stop -> Stopping, Fail -> Failed, Release -> Released
    Gating: Hold -> Backoff, GatePassed -> ReadyToMerge, Stop -> Stopping, Fail -> Failed, Release -> Released
    Stopping: Stop -> Stopping, Fail -> Failed, Release -> Released
    WaitingForHuman: Continue -> Starting, Answered -> Backoff, Stop -> Released, Fail -> Failed, Release -> Released
    Backoff: Continue -> Starting, Prepare -> Preparing, GatePassed -> ReadyToMerge, Stop -> Released, Fail -> Failed, Release -> Released
    ReadyToMerge: Returned -> Backoff, Stop -> Released, Landed -> Merged, Fail -> Failed, Release -> Released
    Merged: 
    Failed: 
    Released:
    ");
}

#[test]
fn all_transitions_of_a_merge() {
    use MergeInput as I;
    use MergePhase as P;
    let phases = [
        P::Queued,
        P::Building,
        P::Resolver,
        P::Person,
        P::Verifying,
        P::Landing,
    ];
    let inputs = [
        I::Build,
        I::Built,
        I::ToResolver,
        I::ToPerson,
        I::Verified,
        I::Requeue,
    ];
    assert_snapshot!(transitions!(merge::Machine, phases, inputs), @r"
    Queued: Build -> Building, Requeue -> Queued
    Building: Built -> Verifying, ToResolver -> Resolver, ToPerson -> Person, Requeue -> Queued
    Resolver: ToPerson -> Person, Requeue -> Queued
    Person: ToPerson -> Person, Requeue -> Queued
    Verifying: Verified -> Landing, Requeue -> Queued
    Landing: Requeue -> Queued
    ");
}

#[test]
fn all_transitions_of_the_swarm() {
    use SwarmInput as I;
    use SwarmPhase as P;
    let phases = [
        P::Stopped,
        P::Recovering,
        P::Running,
        P::Pausing,
        P::Paused,
        P::RollingBack,
        P::Draining,
    ];
    let inputs = [
        I::Start,
        I::Recovered { paused: true },
        I::Recovered { paused: false },
        I::Pause,
        I::Resume,
        I::Quiet,
        I::RollBack,
        I::RolledBack { paused: true },
        I::RolledBack { paused: false },
        I::Shutdown,
        I::Leave,
    ];
    assert_snapshot!(transitions!(swarm::Machine, phases, inputs), @r"
    Stopped: Start -> Recovering, Leave -> Stopped
    Recovering: Start -> Recovering, Recovered -> Pausing, Recovered -> Running, RollBack -> RollingBack, Shutdown -> Draining, Leave -> Stopped
    Running: Start -> Recovering, Pause -> Pausing, Resume -> Running, RollBack -> RollingBack, Shutdown -> Draining, Leave -> Stopped
    Pausing: Start -> Recovering, Pause -> Pausing, Resume -> Running, Quiet -> Paused, RollBack -> RollingBack, Shutdown -> Draining, Leave -> Stopped
    Paused: Start -> Recovering, Pause -> Paused, Resume -> Running, RollBack -> RollingBack, Shutdown -> Draining, Leave -> Stopped
    RollingBack: Start -> Recovering, RolledBack -> Pausing, RolledBack -> Running, Shutdown -> Draining, Leave -> Stopped
    Draining: Start -> Recovering, Quiet -> Stopped, Shutdown -> Draining, Leave -> Stopped
    ");
}
