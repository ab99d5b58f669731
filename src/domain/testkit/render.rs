//! Events as short lines, for snapshots in the tests.

use serde_json::Value;

use crate::domain::effect::{self, Effect, Purpose, TargetTree};
use crate::domain::event::{
    AttemptMoved, EffectFinished, EffectRequested, Event, MergeMoved, RunEnded,
};

/// One line for each event.
pub(crate) fn lines<'a>(events: impl IntoIterator<Item = &'a Event>) -> String {
    // Each call that is owed is seen in what becomes of it.
    let told = |event: &&Event| !matches!(event, Event::HookOwed(_));
    let lines: Vec<String> = events.into_iter().filter(told).map(line).collect();
    lines.join("\n")
}

fn line(event: &Event) -> String {
    match event {
        Event::EffectRequested(EffectRequested { id, effect }) => {
            format!("ask #{} {}", id.0, asked(effect))
        }
        Event::EffectFinished(EffectFinished { id, error: None }) => format!("end #{}", id.0),
        Event::EffectFinished(EffectFinished {
            id,
            error: Some(error),
        }) => format!("end #{}: {error}", id.0),
        Event::AttemptMoved(AttemptMoved {
            agent,
            phase,
            not_before,
        }) => {
            let until = not_before.map_or_else(String::new, |time| format!(" until {time}"));
            format!("{agent} -> {phase:?}{until}")
        }
        Event::MergeMoved(MergeMoved {
            id,
            phase,
            not_before,
            waits,
        }) => {
            let until = not_before.map_or_else(String::new, |time| format!(" until {time}"));
            let why = waits.as_ref().map_or_else(String::new, |waits| {
                format!(": {} {:?}", waits.reason, waits.files)
            });
            format!("merge {id} -> {phase:?}{until}{why}")
        }
        Event::DaemonStarted(started) => format!("daemonStarted {{version: {}}}", started.version),
        Event::RunEnded(RunEnded { run, end }) => format!("run {run} {:?}", end.how),
        event => {
            let mut event_as_value = serde_json::to_value(event).unwrap();
            event_as_value.sort_all_objects();
            format!("{} {}", event.kind(), plain(&event_as_value["data"]))
        }
    }
}

fn asked(effect: &Effect) -> String {
    match effect {
        Effect::PrepareWorktree(effect::PrepareWorktree { agent, from, .. }) => match from {
            Some(from) => format!("prepareWorktree {agent} from {}", from.worktree),
            None => format!("prepareWorktree {agent}"),
        },
        Effect::Run(effect::Run { run, purpose, .. }) => match purpose {
            Purpose::Iteration { profile, .. }
            | Purpose::Synthesis { profile, .. }
            | Purpose::Replay { profile, .. } => format!("run {run} as {profile}"),
            Purpose::Gate { command, .. }
            | Purpose::Verify { command, .. }
            | Purpose::Baseline { command, .. }
            | Purpose::Setup { command, .. } => {
                format!("run {run}: {command}")
            }
            Purpose::CommitHooks { .. } | Purpose::Canary { .. } | Purpose::Hook { .. } => {
                format!("run {run}")
            }
        },
        Effect::StopRun(effect::StopRun { run, now }) => {
            format!("stopRun {run}{}", if *now { " now" } else { "" })
        }
        Effect::Seal(effect::Seal { agent, .. }) => format!("seal {agent}"),
        Effect::SaveWork(effect::SaveWork { agent, .. }) => format!("saveWork {agent}"),
        Effect::BuildMerge(effect::BuildMerge {
            idea,
            source,
            rebase,
            ..
        }) => {
            let how = if *rebase { " rebased" } else { "" };
            format!("buildMerge {idea} {source:.4}{how}")
        }
        Effect::MakeCheckpoint(effect::MakeCheckpoint { name, .. }) => {
            format!("makeCheckpoint {name}")
        }
        Effect::DeleteCheckpoint(effect::DeleteCheckpoint { name, .. }) => {
            format!("deleteCheckpoint {name}")
        }
        Effect::CheckRollback(effect::CheckRollback { name, .. }) => {
            format!("checkRollback {name}")
        }
        Effect::MoveTarget(effect::MoveTarget {
            target,
            expected,
            commit,
            ..
        }) => format!("moveTarget {target} {expected:.4} -> {commit:.4}"),
        Effect::PrepareVerify(effect::PrepareVerify { idea, commit }) => {
            format!("prepareVerify {idea} {commit:.4}")
        }
        Effect::PrepareBaseline(effect::PrepareBaseline { target, tree }) => match tree {
            TargetTree::Verify => format!("prepareBaseline {target}"),
            TargetTree::Control => format!("prepareBaseline {target} as a control"),
        },
        Effect::Land(effect::Land {
            idea,
            expected,
            commit,
            ..
        }) => format!("land {idea} {expected:.4} -> {commit:.4}"),
        Effect::StartResolution(effect::StartResolution { idea, target, .. }) => {
            format!("startResolution {idea} {target:.4}")
        }
        Effect::FinishResolution(effect::FinishResolution { idea, .. }) => {
            format!("finishResolution {idea}")
        }
        Effect::LendWorktree(effect::LendWorktree { worktree, .. }) => {
            format!("lendWorktree {worktree}")
        }
        Effect::ReleaseWorktree(effect::ReleaseWorktree { worktree, .. }) => {
            format!("releaseWorktree {worktree}")
        }
        Effect::ArchiveInbox(effect::ArchiveInbox { name, .. }) => format!("archiveInbox {name}"),
        Effect::Notify(effect::Notify { about }) => format!("notify {about}"),
        Effect::JudgeReplay(effect::JudgeReplay { run, .. }) => format!("judgeReplay {run}"),
    }
}

/// JSON without quotes, nulls and most of each object id.
fn plain(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            // A signal that says nothing more has only its name.
            if let (1, Some((key, Value::Null))) = (fields.len(), fields.iter().next()) {
                return key.clone();
            }
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            let fields: Vec<String> = fields
                .map(|(key, value)| format!("{key}: {}", plain(value)))
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            format!("[{}]", items.join(", "))
        }
        Value::String(text) if text.len() == 40 && text.ends_with("00000000") => {
            text[..4].to_owned()
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
