//! What the programs of the made-up agents say of themselves: how a run went, in which
//! conversation, and what it used. It also watches the log for what must never happen to an
//! account.

use std::collections::{BTreeMap, BTreeSet};

use super::choices::Choices;
use crate::domain::effect::Purpose;
use crate::domain::event::{
    AccountFreed, AccountHeld, AccountTried, Event, IterationStarted, ProfileFreed, ProfileHeld,
    ProfileTried,
};
use crate::domain::ids::RunId;
use crate::domain::observation::{Observation, RunEnd, RunEndKind};
use crate::domain::session::{Session, SessionId};
use crate::domain::state::{Attempt, State};
use crate::domain::usage::{MicroUsd, Scope, Spent, Tokens, Usage};
use crate::domain::verdict::{Cause, Verdict};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    /// Conversations so far.
    sessions: u64,
    /// What each of them used.
    counted: BTreeMap<SessionId, u64>,
    /// Which of them a run is in: once it is said, it stays.
    named: BTreeMap<RunId, SessionId>,
    /// Those that cannot be taken up.
    broken: BTreeSet<SessionId>,
    /// What all that have ended used.
    served: u64,
    /// The most that was seen of runs on the way.
    seen: BTreeMap<RunId, u64>,
    /// Who tried last whether an account works again.
    trying: BTreeMap<String, RunId>,
}

impl Programs {
    /// A run ends: half of the programs have words for it.
    pub(crate) fn words(
        &mut self,
        state: &State,
        purpose: &Purpose,
        run: &RunId,
        end: &mut RunEnd,
        choices: &mut Choices,
    ) {
        // Few digests, so that many runs in a row have the same one.
        let digest = ["a", "b"][choices.pick(2)].to_owned();
        let Purpose::Iteration { agent, profile, .. } = purpose else {
            end.fingerprint = choices.chance(80).then_some(digest);
            end.in_use = choices.chance(30) && end.how != RunEndKind::Exited { code: 0 };
            return;
        };
        end.tree = choices.chance(80).then_some(digest);
        // Else what it used would be nobody's.
        let waited_for = state.agents.contains_key(agent);
        assert!(waited_for, "{agent} is gone before its run has ended");
        if !choices.chance(50) {
            return;
        }
        let known = state.agents[agent].session_of(profile);
        end.verdict = Some(match end.how {
            RunEndKind::Exited { .. } => self.some_verdict(state, known, choices),
            _ => Verdict::Cut,
        });
        if choices.chance(30) {
            return;
        }
        let new = u64::try_from(choices.pick(1_000)).unwrap();
        self.served += new;
        let session = self.session_of(run, known, choices);
        let counted = self.counted.entry(session.clone()).or_default();
        *counted += new;
        // A program counts in one way only.
        let of_session = session.as_str().ends_with(['1', '3', '5', '7', '9']);
        end.usage = Some(Usage {
            tokens: Some(tokens(if of_session { *counted } else { new })),
            tokens_of: scope(of_session),
            cost: choices.chance(70).then_some(MicroUsd(new * 10)),
            cost_of: Scope::Run,
            model: choices.chance(50).then(|| "sonnet".into()),
            partial: end.verdict == Some(Verdict::Cut),
        });
        end.session = Some(session);
    }

    /// A conversation that could not be taken up cannot be the next time either.
    fn some_verdict(
        &mut self,
        state: &State,
        known: Option<&Session>,
        choices: &mut Choices,
    ) -> Verdict {
        let broken = known.is_some_and(|known| self.broken.contains(&known.id));
        let verdict = if broken || (known.is_some() && choices.chance(25)) {
            failed(Cause::Session)
        } else {
            some_verdict(state, choices)
        };
        if let (Some(known), true) = (known, verdict == failed(Cause::Session)) {
            self.broken.insert(known.id.clone());
        }
        verdict
    }

    /// The one that it goes on with, or a new one.
    fn session_of(
        &mut self,
        run: &RunId,
        known: Option<&Session>,
        choices: &mut Choices,
    ) -> SessionId {
        if let Some(named) = self.named.get(run) {
            return named.clone();
        }
        let session = match known {
            Some(known) if !choices.chance(10) => known.id.clone(),
            _ => {
                self.sessions += 1;
                format!("session-{}", self.sessions).parse().unwrap()
            }
        };
        self.named.insert(run.clone(), session.clone());
        session
    }

    /// A program says something before its end.
    pub(crate) fn hear(&mut self, state: &State, run: RunId, choices: &mut Choices) -> Observation {
        match choices.pick(4) {
            0 => Observation::ModelAnswered { run },
            3 => Observation::ProviderAwaited {
                run,
                why: "rate_limit (429)".into(),
            },
            1 => {
                let of_run = |one: &&Attempt| one.run.as_ref() == Some(&run);
                let attempt = state.agents.values().find(of_run).unwrap();
                let profile = state.profile_of_run(&run);
                let known = profile.and_then(|profile| attempt.session_of(profile));
                let session = self.session_of(&run, known, choices);
                Observation::SessionSeen { run, session }
            }
            _ => {
                let number = u64::try_from(choices.pick(2_000)).unwrap();
                let most = self.seen.entry(run.clone()).or_default();
                *most = number.max(*most);
                let usage = Usage {
                    tokens: Some(tokens(number)),
                    cost: Some(MicroUsd(number * 10)),
                    ..Usage::default()
                };
                Observation::UsageSeen { run, usage }
            }
        }
    }

    /// An event is folded: of an account that must wait only one run begins, and that when its time
    /// has come.
    pub(crate) fn look(&mut self, state: &State, event: &Event) {
        match event {
            Event::ProfileTried(ProfileTried { profile, run }) => {
                let name = format!("profile {profile}");
                let before = self.trying.insert(name, run.clone());
                let mut running = state.agents.values().map(|attempt| &attempt.run);
                let runs = before.is_some() && running.any(|other| *other == before);
                assert!(!runs, "{before:?} and {run} try the profile {profile}");
            }
            Event::ProfileFreed(ProfileFreed { profile })
            | Event::ProfileHeld(ProfileHeld { profile, .. }) => {
                self.trying.remove(&format!("profile {profile}"));
            }
            Event::AccountTried(AccountTried { account, run }) => {
                let before = self.trying.insert(account.clone(), run.clone());
                let mut running = state.agents.values().map(|attempt| &attempt.run);
                let runs = before.is_some() && running.any(|other| *other == before);
                assert!(!runs, "{before:?} and {run} try {account}");
            }
            Event::AccountFreed(AccountFreed { account })
            | Event::AccountHeld(AccountHeld { account, .. }) => {
                self.trying.remove(account);
            }
            Event::IterationStarted(IterationStarted { agent, run, .. }) => {
                let settings = state.settings.as_ref().unwrap();
                let profile = settings.profile_of(&state.agents[agent]);
                let account = state.accounts.get(settings.account_of(profile));
                for hold in account.into_iter().chain(state.profiles.get(profile)) {
                    assert_eq!(hold.tried_by.as_ref(), Some(run), "{profile} is held");
                    assert!(!hold.lasts(state.swarm.last_event_at), "{profile} is held");
                }
            }
            _ => {}
        }
    }

    /// What was added up is what was used.
    pub(crate) fn agree(&self, state: &State) {
        let mut all = Spent::default();
        for used in state.used.values() {
            all.add_all(used);
        }
        let told = all.tokens.total();
        let most = self.served + self.seen.values().sum::<u64>();
        assert!(
            self.served <= told && told <= most,
            "{told} of {}..{most}",
            self.served
        );
    }
}

fn tokens(input: u64) -> Tokens {
    Tokens {
        input,
        ..Tokens::default()
    }
}

fn scope(of_session: bool) -> Scope {
    if of_session {
        Scope::Session
    } else {
        Scope::Run
    }
}

fn some_verdict(state: &State, choices: &mut Choices) -> Verdict {
    let now = state.swarm.last_event_at;
    let later = |choices: &mut Choices| i64::try_from(choices.pick(100_000)).unwrap() - 20_000;
    let cause = match choices.pick(19) {
        0..7 => return Verdict::Complete,
        7 | 8 => return Verdict::Cut,
        9 => Cause::Limit { until: None },
        10 => Cause::Limit {
            until: Some(now.plus_millis(later(choices))),
        },
        11 | 12 => Cause::Overloaded,
        13 => Cause::Login,
        14 => Cause::Session,
        15 => Cause::Credit,
        16 => Cause::Profile,
        17 => Cause::Exhausted,
        _ => Cause::Other,
    };
    failed(cause)
}

fn failed(cause: Cause) -> Verdict {
    let message = "not now".into();
    Verdict::Failed { cause, message }
}
