//! Events about what agents share and use, one of every kind, for whoever needs an example.

use crate::domain::event::{
    AccountFreed, AccountHeld, AccountTried, BudgetReached, Event, IterationExcused, ProfileFreed,
    ProfileHeld, ProfileTried, ProviderAwaited, RunEnded, SessionBegan, SessionDropped, UsageSeen,
};
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::settings::DayLimits;
use crate::domain::state::provider::{Excuse, Hold, HoldKind};
use crate::domain::time::Timestamp;
use crate::domain::usage::{Bill, MicroUsd, Scope, Tokens, Usage};
use crate::domain::verdict::{Cause, Verdict};

const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);

fn id<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().unwrap()
}

fn tokens() -> Tokens {
    Tokens {
        input: 1_200,
        cached: 800,
        cache_written: 10,
        output: 100,
    }
}

fn bill() -> Bill {
    Bill {
        tokens: Some(tokens()),
        cost: Some(MicroUsd(5_340)),
        estimated: true,
        partial: true,
    }
}

/// Ends of runs whose programs had words for them.
fn ends() -> Vec<Event> {
    let failed = |cause| Verdict::Failed {
        cause,
        message: "try again later".into(),
    };
    let verdicts = [
        Verdict::Complete,
        Verdict::Cut,
        failed(Cause::Limit { until: Some(NOW) }),
        failed(Cause::Limit { until: None }),
        failed(Cause::Overloaded),
        failed(Cause::Login),
        failed(Cause::Credit),
        failed(Cause::Profile),
        failed(Cause::Session),
        failed(Cause::Exhausted),
        failed(Cause::Other),
    ];
    let ended = |end| {
        Event::RunEnded(RunEnded {
            run: id("r1-ed-001-i2"),
            end,
        })
    };
    let mut ends: Vec<Event> = verdicts
        .into_iter()
        .map(|verdict| RunEnd {
            verdict: Some(verdict),
            usage: Some(Usage {
                tokens: Some(tokens()),
                tokens_of: Scope::Session,
                cost: Some(MicroUsd(5_340)),
                cost_of: Scope::Run,
                model: Some("sonnet".into()),
                partial: true,
            }),
            session: Some(id("093c7360-d3a1-49db-a92e-09320e901527")),
            bill: Some(bill()),
            ..RunEnd::new(RunEndKind::Exited { code: 1 })
        })
        .map(ended)
        .collect();
    ends.push(ended(RunEnd::new(RunEndKind::Idle)));
    ends
}

/// One event of every kind.
pub(crate) fn of_every_kind() -> Vec<Event> {
    let agent = || id("ed-001");
    let run = || id("r1-ed-001-i2");
    vec![
        Event::IterationExcused(IterationExcused {
            agent: agent(),
            excuse: Excuse::Account,
            phase: AttemptPhase::Backoff,
            not_before: None,
        }),
        Event::SessionBegan(SessionBegan {
            agent: agent(),
            run: run(),
            profile: id("ed"),
            session: id("093c7360-d3a1-49db-a92e-09320e901527"),
        }),
        Event::SessionDropped(SessionDropped {
            agent: agent(),
            why: "no such conversation".into(),
        }),
        Event::ProviderAwaited(ProviderAwaited {
            agent: agent(),
            run: run(),
            why: Some("rate_limit (429)".into()),
        }),
        Event::ProviderAwaited(ProviderAwaited {
            agent: agent(),
            run: run(),
            why: None,
        }),
        Event::UsageSeen(UsageSeen {
            agent: agent(),
            run: run(),
            bill: bill(),
        }),
        Event::AccountHeld(AccountHeld {
            account: "claude".into(),
            hold: Hold {
                kind: HoldKind::Limit,
                until: Some(NOW),
                since: NOW,
                times: 1,
                message: "resets 3am".into(),
                tried_by: None,
            },
        }),
        Event::AccountTried(AccountTried {
            account: "claude".into(),
            run: run(),
        }),
        Event::AccountFreed(AccountFreed {
            account: "claude".into(),
        }),
        Event::ProfileHeld(ProfileHeld {
            profile: id("ed"),
            hold: Hold {
                kind: HoldKind::Profile,
                until: Some(NOW),
                since: NOW,
                times: 1,
                message: "claude is not on PATH".into(),
                tried_by: None,
            },
        }),
        Event::ProfileTried(ProfileTried {
            profile: id("ed"),
            run: run(),
        }),
        Event::ProfileFreed(ProfileFreed { profile: id("ed") }),
        Event::BudgetReached(BudgetReached {
            day: "2026-01-31".into(),
            limits: DayLimits::default(),
        }),
    ]
}

/// Those, and all their forms.
pub(crate) fn all() -> Vec<Event> {
    let excuses = [
        Excuse::Profile,
        Excuse::Cut,
        Excuse::Idle,
        Excuse::Session,
        Excuse::Exhausted,
    ];
    let do_not_count = excuses.map(|excuse| {
        Event::IterationExcused(IterationExcused {
            agent: id("ed-001"),
            excuse,
            phase: AttemptPhase::Backoff,
            not_before: None,
        })
    });
    let at_boundary = [None, Some(NOW)].map(|not_before| {
        Event::IterationExcused(IterationExcused {
            agent: id("ed-001"),
            excuse: Excuse::Account,
            phase: AttemptPhase::Backoff,
            not_before,
        })
    });
    let kinds = [
        (HoldKind::Overloaded, Some(NOW)),
        (HoldKind::Credit, Some(NOW)),
        (HoldKind::Login, None),
    ];
    let held = kinds.map(|(kind, until)| {
        Event::AccountHeld(AccountHeld {
            account: "codex".into(),
            hold: Hold {
                kind,
                until,
                since: NOW,
                times: 3,
                message: "not now".into(),
                tried_by: Some(id("r1-ed-001-i2")),
            },
        })
    });
    let mut all = of_every_kind();
    all.extend(do_not_count);
    all.extend(at_boundary);
    let limits = [(Some(MicroUsd(3_000_000)), None), (None, Some(9))];
    all.extend(limits.map(|(usd, tokens)| {
        Event::BudgetReached(BudgetReached {
            day: "2026-01-31".into(),
            limits: DayLimits { usd, tokens },
        })
    }));
    all.extend(held);
    all.extend(ends());
    all
}
