//! Decides what follows when a model provider or an agent's program is at fault: a limit, an
//! overload, a login, a program that cannot begin, an output that is cut off. Conversations are in
//! [`conversation`].
//!
//! Invariant: such an iteration counts neither as an iteration nor as a failure. Nothing starts on
//! that account or profile until the wait is over or a person resumes it; then one run tries it
//! first. Waits grow, and failures that are nobody else's fault are limited in number.

use super::conversation;
use super::provider_wait;
use crate::domain::decide::decision::{Plan, shorten};
use crate::domain::event::{
    AccountFreed, AccountHeld, AccountTried, Event, ProfileFreed, ProfileHeld, ProfileTried,
};
use crate::domain::ids::{AgentId, ProfileName, RunId};
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::settings::Settings;
use crate::domain::state::provider::{Excuse, Hold, HoldKind};
use crate::domain::state::{Attempt, State};
use crate::domain::time::Timestamp;
use crate::domain::verdict::{Cause, Verdict};

/// First wait for an overloaded provider; it doubles.
const OVERLOADED_MS: i64 = 5_000;
const OVERLOADED_MAX_MS: i64 = 600_000;
/// First wait for a limit without a known reset time; it doubles.
const LIMIT_MS: i64 = 60_000;
const LIMIT_MAX_MS: i64 = 1_800_000;
/// Waits for a program that cannot begin, and for credit; the last one repeats.
const BEGIN_MS: [i64; 4] = [2_000, 10_000, 60_000, 300_000];
/// Waits after a refused login; the last one repeats.
const LOGIN_MS: [i64; 4] = [60_000, 300_000, 900_000, 3_600_000];
/// Added to an announced reset time, since clocks differ.
const AFTER_RESET_MS: i64 = 2_000;
/// Latest reset time that is believed.
const FARTHEST_RESET_MS: i64 = 60 * 86_400_000;
/// Most iterations in a row that may be cut off or silent.
const CUTS: u32 = 5;
/// First wait of an agent after one of those; it doubles.
pub(super) const CUT_MS: i64 = 1_000;
const CUT_MAX_MS: i64 = 60_000;
/// Most characters of a program's message that a hold repeats.
const SHOWN: usize = 300;

/// What runs of this profile must wait for, in words.
pub(crate) fn held(
    state: &State,
    settings: &Settings,
    profile: &ProfileName,
    now: Timestamp,
) -> Option<String> {
    let account = settings.account_of(profile);
    let in_force = |hold: Option<&Hold>| hold.is_some_and(|hold| state.is_in_force(hold, now));
    if in_force(state.profiles.get(profile)) {
        return Some(format!("the profile {profile}"));
    }
    in_force(state.accounts.get(account)).then(|| format!("the account {account}"))
}

/// Whether runs of this profile must wait.
pub(crate) fn is_held(
    state: &State,
    settings: &Settings,
    profile: &ProfileName,
    now: Timestamp,
) -> bool {
    held(state, settings, profile, now).is_some()
}

/// A run starts; if its account or profile was waiting, this run tries it.
pub(crate) fn begins(plan: &mut Plan<'_>, profile: &ProfileName, run: &RunId, settings: &Settings) {
    let account = settings.account_of(profile);
    if plan.state.accounts.contains_key(account) {
        plan.emit(AccountTried {
            account: account.to_owned(),
            run: run.clone(),
        });
    }
    if plan.state.profiles.contains_key(profile) {
        plan.emit(ProfileTried {
            profile: profile.clone(),
            run: run.clone(),
        });
    }
}

/// Whether a run that tries an account or a profile starts in this plan.
pub(crate) fn tries(plan: &Plan<'_>) -> bool {
    let mut events = plan.events.iter();
    events.any(|event| matches!(event, Event::AccountTried(_) | Event::ProfileTried(_)))
}

/// The model answered, so the wait for its account is over. An answer to any run shows that the
/// login is accepted and the bill paid.
pub(crate) fn answered(plan: &mut Plan<'_>, run: &RunId) {
    let state = plan.state;
    let settings = state.settings.as_deref();
    let profile = state.profile_of_run(run);
    let own = settings
        .zip(profile)
        .map(|(all, profile)| all.account_of(profile));
    for (account, hold) in &state.accounts {
        let pays = matches!(hold.kind, HoldKind::Login | HoldKind::Credit);
        if is_tried_by(hold, run) || (pays && own == Some(account)) {
            plan.emit(AccountFreed {
                account: account.clone(),
            });
        }
    }
    provider_wait::is_over(plan, run);
    began(plan, run);
}

/// The program began its work, so the wait for its profile is over.
pub(super) fn began(plan: &mut Plan<'_>, run: &RunId) {
    for (profile, hold) in &plan.state.profiles {
        let freed = Event::ProfileFreed(ProfileFreed {
            profile: profile.clone(),
        });
        if is_tried_by(hold, run) && !plan.events.contains(&freed) {
            plan.emit(freed);
        }
    }
}

fn is_tried_by(hold: &Hold, run: &RunId) -> bool {
    hold.tried_by.as_ref() == Some(run)
}

/// Lifts holds, at a person's request or a new start.
pub(crate) fn free(plan: &mut Plan<'_>, which: impl Fn(&Hold) -> bool) {
    for (account, hold) in &plan.state.accounts {
        if which(hold) {
            plan.emit(AccountFreed {
                account: account.clone(),
            });
        }
    }
    for (profile, hold) in &plan.state.profiles {
        if which(hold) {
            plan.emit(ProfileFreed {
                profile: profile.clone(),
            });
        }
    }
}

/// Profile of an attempt's run.
pub(crate) fn profile<'a>(
    state: &'a State,
    settings: &'a Settings,
    attempt: &'a Attempt,
) -> &'a ProfileName {
    let run = attempt.run.as_ref();
    let running = run.and_then(|run| state.profile_of_run(run));
    running.unwrap_or_else(|| settings.profile_of(attempt))
}

/// Verdict on an iteration that ended by itself or in silence.
pub(crate) enum Judged {
    /// The provider did its part; the rest is judged elsewhere.
    Served,
    /// The iteration does not count.
    Excused,
    /// It failed for this reason.
    Failed(String),
}

/// Judges an iteration by what its program reported about its end.
pub(crate) fn judge(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    attempt: &Attempt,
    end: &RunEnd,
) -> Judged {
    if let Some(settings) = plan.state.settings.as_deref()
        && end.never_began(attempt.head.as_ref())
    {
        cannot_begin(plan, settings, settings.profile_of(attempt), end);
        plan.excuse(agent, Excuse::Profile, None);
        return Judged::Excused;
    }
    // Some programs wait for their provider in silence.
    let silent = end.how == RunEndKind::Idle;
    let waited = silent && end.verdict.as_ref().is_some_and(Verdict::is_of_provider);
    if silent && !waited {
        return cut(plan, agent, attempt, Excuse::Idle);
    }
    let ended = waited || matches!(end.how, RunEndKind::Exited { .. });
    let (true, Some(verdict), Some(settings)) =
        (ended, &end.verdict, plan.state.settings.as_deref())
    else {
        return Judged::Served;
    };
    let (cause, message) = match verdict {
        Verdict::Complete => return Judged::Served,
        Verdict::Cut => return cut(plan, agent, attempt, Excuse::Cut),
        Verdict::Failed { cause, message } => (cause, message),
    };
    match cause {
        Cause::Limit { .. } | Cause::Overloaded | Cause::Login | Cause::Credit | Cause::Profile => {
            hold_if_at_fault(plan, settings, settings.profile_of(attempt), cause, message);
        }
        Cause::Session => {
            let profile = profile(plan.state, settings, attempt);
            // A run without a resumed conversation cannot fail because of it.
            let Some(session) = attempt.session_of(profile) else {
                return by_itself(agent, message);
            };
            conversation::cannot_resume(plan, agent, session, message);
            return Judged::Excused;
        }
        Cause::Exhausted => return conversation::exhausted(plan, agent, attempt, end),
        Cause::Other => return by_itself(agent, message),
    }
    let excuse = match cause {
        Cause::Profile => Excuse::Profile,
        Cause::Limit { .. }
        | Cause::Overloaded
        | Cause::Login
        | Cause::Credit
        | Cause::Session
        | Cause::Exhausted
        | Cause::Other => Excuse::Account,
    };
    plan.excuse(agent, excuse, None);
    Judged::Excused
}

/// Holds the account or profile of a run without an idea if that is at fault; returns whether so.
pub(crate) fn holds_if_at_fault(
    plan: &mut Plan<'_>,
    settings: &Settings,
    profile: &ProfileName,
    end: &RunEnd,
) -> bool {
    if end.never_began(None) {
        cannot_begin(plan, settings, profile, end);
        return true;
    }
    match &end.verdict {
        Some(Verdict::Failed { cause, message }) => {
            hold_if_at_fault(plan, settings, profile, cause, message)
        }
        Some(Verdict::Complete | Verdict::Cut) | None => false,
    }
}

/// Holds the profile or its account if that is at fault; returns whether it is.
pub(super) fn hold_if_at_fault(
    plan: &mut Plan<'_>,
    settings: &Settings,
    profile: &ProfileName,
    cause: &Cause,
    message: &str,
) -> bool {
    match cause {
        Cause::Limit { until } => limit(plan, settings, profile, *until, message),
        Cause::Overloaded => overloaded(plan, settings, profile, message),
        Cause::Login => in_steps(plan, settings, profile, HoldKind::Login, message),
        Cause::Credit => in_steps(plan, settings, profile, HoldKind::Credit, message),
        Cause::Profile => in_steps(plan, settings, profile, HoldKind::Profile, message),
        Cause::Session | Cause::Exhausted | Cause::Other => return false,
    }
    true
}

fn by_itself(agent: &AgentId, message: &str) -> Judged {
    let why = shorten(message);
    Judged::Failed(format!(
        "the agent failed: {why}; its output: swarm agent logs {agent}"
    ))
}

/// Cut off or silent: the agent continues after growing waits, a limited number of times.
fn cut(plan: &mut Plan<'_>, agent: &AgentId, attempt: &Attempt, why: Excuse) -> Judged {
    let how = match why {
        Excuse::Idle => "wrote nothing for agents.idleMinutes",
        Excuse::Account | Excuse::Profile | Excuse::Cut | Excuse::Session | Excuse::Exhausted => {
            "ended before it was finished"
        }
    };
    let times = attempt.excused.cut + 1;
    if times >= CUTS {
        return Judged::Failed(format!(
            "the agent {how}, {times} times in a row; its output: swarm agent logs {agent}"
        ));
    }
    let wait = doubled(CUT_MS, attempt.excused.cut, CUT_MAX_MS);
    plan.excuse(agent, why, Some(plan.now.plus_millis(wait)));
    Judged::Excused
}

fn doubled(first: i64, times: u32, most: i64) -> i64 {
    (first << times.min(20)).min(most)
}

/// Varies a wait by up to a fifth, always the same for the same account and number, so that not all
/// retry at once.
fn jittered(wait: i64, account: &str, times: u32) -> i64 {
    let seed = account.bytes().fold(
        u64::from(times).wrapping_mul(0x9E37_79B9_7F4A_7C15),
        |seed, byte| (seed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3),
    );
    let part = i64::try_from(seed >> 32).unwrap_or_default() % 401 - 200;
    wait + wait / 1_000 * part
}

fn hold(
    plan: &mut Plan<'_>,
    settings: &Settings,
    profile: &ProfileName,
    kind: HoldKind,
    until: impl Fn(&str, u32) -> Option<Timestamp>,
    message: &str,
) {
    let of_profile = kind == HoldKind::Profile;
    let account = settings.account_of(profile);
    let name = if of_profile {
        profile.as_str()
    } else {
        account
    };
    let known = if of_profile {
        plan.state.profiles.get(profile)
    } else {
        plan.state.accounts.get(account)
    };
    let before = known.filter(|known| known.kind == kind);
    let lasts = known.is_some_and(|known| known.lasts(plan.now));
    // Runs that were already running met the same problem: that does not count again.
    let again = u32::from(!lasts);
    let times = before.map_or(1, |before| before.times + again);
    let until = until(name, times);
    // A longer hold stays, whatever else happens meanwhile.
    if known.is_some_and(|known| lasts && !is_later(until, known.until)) {
        return;
    }
    let shown: String = message.chars().take(SHOWN).collect();
    let hold = Hold {
        kind,
        until,
        since: known.map_or(plan.now, |known| known.since),
        times,
        message: shown,
        tried_by: None,
    };
    if of_profile {
        let profile = profile.clone();
        return plan.emit(ProfileHeld { profile, hold });
    }
    let account = account.to_owned();
    plan.emit(AccountHeld { account, hold });
}

/// Whether `this` time is after `other`; `None` means when a person resumes, which is last.
fn is_later(this: Option<Timestamp>, other: Option<Timestamp>) -> bool {
    match (this, other) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(this), Some(other)) => this > other,
    }
}

fn limit(
    plan: &mut Plan<'_>,
    settings: &Settings,
    profile: &ProfileName,
    reset: Option<Timestamp>,
    message: &str,
) {
    let now = plan.now;
    // No limit lasts longer than that, so such a time is ignored.
    let reset = reset.filter(|reset| reset.since(now) <= FARTHEST_RESET_MS);
    let until = |account: &str, times: u32| {
        let wait = jittered(doubled(LIMIT_MS, times - 1, LIMIT_MAX_MS), account, times);
        let by_itself = now.plus_millis(wait);
        let at = match reset {
            // The reset time has passed but the limit has not: then it is unknown.
            Some(reset) if reset > now || times == 1 => reset.max(now).plus_millis(AFTER_RESET_MS),
            _ => by_itself,
        };
        settings.auto_resume.then_some(at)
    };
    hold(plan, settings, profile, HoldKind::Limit, until, message);
}

fn overloaded(plan: &mut Plan<'_>, settings: &Settings, profile: &ProfileName, message: &str) {
    let now = plan.now;
    let until = |account: &str, times: u32| {
        let wait = doubled(OVERLOADED_MS, times - 1, OVERLOADED_MAX_MS);
        Some(now.plus_millis(jittered(wait, account, times)))
    };
    hold(
        plan,
        settings,
        profile,
        HoldKind::Overloaded,
        until,
        message,
    );
}

/// Holds for what a person usually has to mend, but may be over by itself.
fn in_steps(
    plan: &mut Plan<'_>,
    settings: &Settings,
    profile: &ProfileName,
    kind: HoldKind,
    message: &str,
) {
    let now = plan.now;
    let steps = if kind == HoldKind::Login {
        LOGIN_MS
    } else {
        BEGIN_MS
    };
    let until = |_: &str, times: u32| {
        let step = usize::try_from(times)
            .unwrap_or(usize::MAX)
            .min(steps.len());
        Some(now.plus_millis(steps[step - 1]))
    };
    hold(plan, settings, profile, kind, until, message);
}

/// Holds a profile whose program never began, and says what is missing.
fn cannot_begin(plan: &mut Plan<'_>, settings: &Settings, profile: &ProfileName, end: &RunEnd) {
    let said = end.verdict.as_ref().and_then(Verdict::message);
    let said = said.or(end.last_words.as_deref());
    let message = match (&end.how, said) {
        (RunEndKind::NotStarted { message }, _) => message.clone(),
        (how, Some(said)) => format!("{said} ({how})"),
        (how, None) => format!("its command cannot be executed ({how})"),
    };
    in_steps(plan, settings, profile, HoldKind::Profile, &message);
}
