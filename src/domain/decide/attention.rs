//! Tells people what needs them, once for each thing, and that a night ended; hands notices to the
//! webhook one at a time.
//!
//! Invariant: what people were told is in the state, so a restart repeats nothing. Nothing is
//! recorded while nobody is to be told. Called last by `advance`, when nothing else can continue,
//! so that what needs a person only for a moment is not announced.

use super::advance::may_merge;
use super::decision::{Plan, shorten};
use crate::domain::attention::rest::{Rest, ideas_left, work_left};
use crate::domain::attention::{NoticeKind, is_undecided, needs};
use crate::domain::effect::{self, Effect};
use crate::domain::event::{
    NeedArose, NeedSettled, NightBegan, NightEnded, NoticeDelivered, NoticeFailed,
};
use crate::domain::outcome::{Failure, NotifyOutcome};
use crate::domain::settings::Settings;
use crate::domain::state::attention::{Night, Notice};
use crate::domain::state::{IdeaStatus, State};
use crate::domain::time::Timestamp;
use crate::domain::warning::WarningKind;

/// Time until a failed delivery is repeated; it doubles.
const WAIT_MS: i64 = 5_000;
const WAIT_MAX_MS: i64 = 900_000;
/// Age at which a notice that could not be delivered is given up.
const GIVE_UP_MS: i64 = 3_600_000;
/// Key of the warning about a notice that was given up.
const WARNING: &str = WarningKind::Webhook.only();

/// Announces new needs, and forgets those that are over.
pub(super) fn tell(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    if !settings.tells_people() || !may_merge(state) {
        return;
    }
    let told = &state.attention.told;
    let needs = needs(state);
    let found: Vec<_> = needs.iter().map(|need| (need.key(), need)).collect();
    for key in told {
        let stands = found.iter().any(|(found, _)| found == key);
        if !stands && !is_undecided(state, key) {
            plan.emit(NeedSettled { key: key.clone() });
        }
    }
    for (key, need) in found {
        if !told.contains(&key) {
            plan.emit(NeedArose {
                key,
                kind: need.kind(),
                idea: need.idea().cloned(),
                message: shorten(&need.message()),
                commands: need.commands(),
                webhook: settings.tells_webhook(need.kind()),
            });
        }
    }
}

/// Records that work began, and that it came to rest.
pub(super) fn watch_night(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    if !settings.tells_people() || !may_merge(state) {
        return;
    }
    match &state.attention.night {
        // A hook that tells of the end of a night must not begin another one.
        None if ideas_left(state) == Rest::Busy && is_working(state) => plan.emit(NightBegan {}),
        Some(night) if work_left(state) != Rest::Busy => end_night(plan, night, settings),
        None | Some(_) => {}
    }
}

/// Whether an agent has begun an iteration, or a merge is in progress.
fn is_working(state: &State) -> bool {
    let mut attempts = state.agents.values();
    attempts.any(|attempt| attempt.phase.is_live() && attempt.iteration > 0)
        || state.queue.iter().any(|entry| entry.phase.is_busy())
}

fn end_night(plan: &mut Plan<'_>, night: &Night, settings: &Settings) {
    let state = plan.state;
    let is_bad = |id: &&_| {
        let idea = state.ideas.get(*id);
        idea.is_some_and(|idea| idea.status.is_bad())
    };
    let failed = night.bad.iter().filter(is_bad).count();
    let waiting = [IdeaStatus::Pending, IdeaStatus::Active, IdeaStatus::Merging];
    let waiting = waiting.map(|status| state.ideas.count(status)).iter().sum();
    let landed = night.landed.len();
    let cost = night.spent.describe_cost();
    let why = state.swarm.pause_reason.as_deref();
    let why = why.map_or_else(String::new, |why| format!("; paused: {why}"));
    let mut commands = vec!["swarm report --since last".to_owned()];
    if waiting > 0 || failed > 0 {
        commands.push("swarm status".to_owned());
    }
    plan.emit(NightEnded {
        landed,
        failed,
        waiting,
        spent: night.spent,
        message: shorten(&format!(
            "nothing can continue by itself: {landed} landed, {failed} failed, {waiting} waiting, \
            {cost}{why}"
        )),
        commands,
        webhook: settings.tells_webhook(NoticeKind::Ended),
    });
}

/// Sends the oldest notice to the webhook, unless one is being sent.
pub(super) fn deliver(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    if !may_merge(state) || state.is_pending(Effect::is_notice) {
        return;
    }
    let Some(notice) = state.attention.outgoing.first() else {
        return;
    };
    if settings.webhook.is_none() {
        plan.emit(NoticeFailed {
            about: notice.seq,
            why: "notify.webhook is no longer configured".to_owned(),
            again_at: None,
        });
    } else if notice.not_before.is_none_or(|time| time <= plan.now) {
        plan.request(effect::Notify { about: notice.seq });
    }
}

/// When the oldest notice is sent again.
pub(super) fn deadline(state: &State) -> Option<Timestamp> {
    let notice = state.attention.outgoing.first()?;
    notice
        .not_before
        .filter(|_| !state.is_pending(Effect::is_notice))
}

/// Handles the result of a delivery.
pub(super) fn notified(
    plan: &mut Plan<'_>,
    effect: &effect::Notify,
    outcome: Result<NotifyOutcome, Failure>,
) {
    let mut outgoing = plan.state.attention.outgoing.iter();
    let Some(notice) = outgoing.find(|notice| notice.seq == effect.about) else {
        return;
    };
    match outcome {
        Ok(NotifyOutcome::Delivered) => {
            plan.emit(NoticeDelivered { about: notice.seq });
            plan.clear_warning(WARNING);
        }
        Ok(NotifyOutcome::Later {
            why,
            after_ms,
            jitter,
        }) => retry(plan, notice, &why, after_ms, jitter),
        Ok(NotifyOutcome::Refused { why }) => give_up(plan, notice, &why),
        Err(failure) => retry(plan, notice, &failure.message, None, 0),
    }
}

/// Plans the next delivery after growing waits, or as late as the receiver asked for.
fn retry(
    plan: &mut Plan<'_>,
    notice: &Notice,
    why: &str,
    after_ms: Option<i64>,
    jitter_per_mille: u16,
) {
    let wait = (WAIT_MS << notice.tries.min(16)).min(WAIT_MAX_MS);
    // Up to a quarter longer, so that many repositories do not call at the same moment.
    let wait = wait + wait / 4 * i64::from(jitter_per_mille.min(1_000)) / 1_000;
    let wait = wait.max(after_ms.unwrap_or(0).min(GIVE_UP_MS));
    let again_at = plan.now.plus_millis(wait);
    if again_at.since(notice.at) > GIVE_UP_MS {
        return give_up(plan, notice, why);
    }
    plan.emit(NoticeFailed {
        about: notice.seq,
        why: shorten(why),
        again_at: Some(again_at),
    });
}

/// The warning comes first: a torn log must not drop the notice without it.
fn give_up(plan: &mut Plan<'_>, notice: &Notice, why: &str) {
    let of = notice.idea.as_ref();
    let of = of.map_or_else(String::new, |idea| format!(" about {idea}"));
    let message = format!(
        "the webhook did not get a message{of} (event {}, kind {}): {why}. It is not sent again; \
        check notify.webhook",
        notice.seq,
        notice.kind.as_str()
    );
    plan.warn_with(WARNING, &message, vec!["swarm config show".to_owned()]);
    plan.emit(NoticeFailed {
        about: notice.seq,
        why: shorten(why),
        again_at: None,
    });
}
