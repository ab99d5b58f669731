//! The model: what each request must come to, without events.

use std::collections::{BTreeMap, BTreeSet};

use super::sentences::Sentences;
use crate::domain::memory::{Fact, FactKey, KEPT_VALUES, MemoryCommand, Retracted};

/// Who asks. Each agent works on its own idea.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Who {
    Agent(u64),
    Person,
    Synthesis,
}

/// A fact, as the model and the state are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    version: u64,
    /// All values by the versions that brought them, the current one last.
    values: Vec<(u64, String)>,
    supporters: u64,
    rivals: Vec<(Option<String>, u64)>,
    pinned: bool,
    retracted: bool,
}

#[derive(Debug, Clone, Default)]
struct Entry {
    version: u64,
    value: Option<(u64, String)>,
    /// What was before, oldest first; `None` for a claim that lost.
    past: Vec<Option<(u64, String)>>,
    /// Whether a compaction dropped some of it.
    is_cut: bool,
    supporters: BTreeSet<Who>,
    /// Who wrote its values, the replaced ones too.
    writers: BTreeSet<Who>,
    rivals: Vec<(Option<String>, BTreeSet<Who>)>,
    pinned: bool,
    retracted_by: Option<Who>,
}

/// All facts and learnings.
#[derive(Debug, Clone, Default)]
pub(super) struct Board {
    facts: BTreeMap<String, Entry>,
    pub(super) sentences: Sentences,
}

pub(super) type Outcome = Result<(), &'static str>;

pub(super) fn same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

impl Entry {
    fn value(&self) -> &str {
        &self.value.as_ref().unwrap().1
    }

    fn is_only_of(&self, who: Who) -> bool {
        if who == Who::Synthesis {
            return self.supporters == BTreeSet::from([who]);
        }
        // What the synthesis says, a person said: it cites nobody else.
        let voice = |who: &Who| match who {
            Who::Synthesis => Who::Person,
            Who::Agent(_) | Who::Person => *who,
        };
        let voices: BTreeSet<Who> = self.supporters.iter().map(voice).collect();
        voices == BTreeSet::from([who])
    }

    /// Whether nobody else ever had a say in it.
    fn is_uncontested(&self, who: Who) -> bool {
        let own = self.writers == BTreeSet::from([who]) && !self.is_cut;
        own && self.rivals.is_empty() && !self.pinned
    }

    /// Whether a person's retraction holds against them.
    fn stays_retracted(&self, who: Who) -> bool {
        self.retracted_by == Some(Who::Person) && who != Who::Person
    }

    fn write(&mut self, who: Who, value: &str) {
        let mut supporters = if self.value.as_ref().is_some_and(|(_, old)| same(old, value)) {
            std::mem::take(&mut self.supporters)
        } else {
            let rival = self
                .rivals
                .iter()
                .find(|(it, _)| is_value(it.as_ref(), value));
            rival.map_or_else(BTreeSet::new, |(_, supporters)| supporters.clone())
        };
        supporters.insert(who);
        self.writers.insert(who);
        if !self.stays_retracted(who) {
            self.retracted_by = None;
        }
        self.version += 1;
        let old = self.value.replace((self.version, value.to_owned()));
        self.past.extend(old.map(Some));
        self.supporters = supporters;
        for (rival, _) in std::mem::take(&mut self.rivals) {
            if !is_value(rival.as_ref(), value) {
                self.lose(rival.as_ref());
            }
        }
    }

    fn lose(&mut self, rival: Option<&String>) {
        self.past.extend(rival.map(|_| None));
    }

    /// What is older than the newest earlier values goes.
    fn compact(&mut self) {
        let mut values = 0;
        let mut kept = Vec::new();
        while values < KEPT_VALUES
            && let Some(newest) = self.past.pop()
        {
            values += usize::from(newest.is_some());
            kept.insert(0, newest);
        }
        self.is_cut |= !self.past.is_empty();
        self.past = kept;
    }

    /// Whether it says something new.
    fn contradict(&mut self, who: Who, value: Option<&str>) -> bool {
        let known = self.rivals.iter_mut().find(|(it, _)| match value {
            Some(value) => is_value(it.as_ref(), value),
            None => it.is_none(),
        });
        if let Some((_, supporters)) = known {
            supporters.insert(who)
        } else {
            self.version += 1;
            let value = value.map(str::to_owned);
            self.rivals.push((value, BTreeSet::from([who])));
            true
        }
    }

    fn retract(&mut self, who: Who) {
        if self.retracted_by.is_none() || who == Who::Person {
            self.retracted_by = Some(who);
        }
    }
}

fn is_value(rival: Option<&String>, value: &str) -> bool {
    rival.is_some_and(|rival| same(rival, value))
}

impl Board {
    pub(super) fn version(&self, key: &str) -> u64 {
        self.facts.get(key).map_or(0, |entry| entry.version)
    }

    pub(super) fn fact(&self, key: &str) -> Option<Seen> {
        let entry = self.facts.get(key)?;
        let count = |supporters: &BTreeSet<Who>| supporters.len() as u64;
        Some(Seen {
            version: entry.version,
            values: entry
                .past
                .iter()
                .chain([&entry.value])
                .flatten()
                .cloned()
                .collect(),
            supporters: count(&entry.supporters),
            rivals: entry
                .rivals
                .iter()
                .map(|(it, by)| (it.clone(), count(by)))
                .collect(),
            pinned: entry.pinned,
            retracted: entry.retracted_by.is_some(),
        })
    }

    /// The state's fact in the form of the model.
    pub(super) fn seen(fact: &Fact) -> Seen {
        let old = fact.history.iter().filter(|old| !old.rival);
        let mut values: Vec<_> = old.map(|old| (old.version, old.value.clone())).collect();
        values.push((fact.value_version, fact.value.clone()));
        let rivals = fact.rivals.iter();
        Seen {
            version: fact.version,
            values,
            supporters: fact.evidence.count,
            rivals: rivals
                .map(|it| (it.value.clone(), it.evidence.count))
                .collect(),
            pinned: fact.pinned,
            retracted: fact.retracted.is_some(),
        }
    }

    fn known(&mut self, key: &FactKey) -> Result<&mut Entry, &'static str> {
        self.facts.get_mut(key.as_str()).ok_or("FACT_UNKNOWN")
    }

    fn at(&mut self, key: &FactKey, version: u64) -> Result<&mut Entry, &'static str> {
        let entry = self.known(key)?;
        if entry.version == version {
            Ok(entry)
        } else {
            Err("FACT_CONFLICT")
        }
    }

    pub(super) fn take(&mut self, who: Who, command: &MemoryCommand) -> Outcome {
        self.carry_out(who, command)?;
        if self.sentences.is_full() {
            self.compact();
        }
        Ok(())
    }

    fn compact(&mut self) {
        self.sentences.compact();
        self.facts.values_mut().for_each(Entry::compact);
    }

    fn carry_out(&mut self, who: Who, command: &MemoryCommand) -> Outcome {
        match command {
            MemoryCommand::Learn(learn) => {
                let claim = FactKey::split_claim(&learn.content);
                if let Some((key, value)) = &claim {
                    self.claim(who, key, value);
                }
                let has_key = claim.is_some();
                let said = claim.map_or(learn.content.as_str(), |(_, value)| value);
                self.sentences.say(who, said, has_key);
                Ok(())
            }
            MemoryCommand::Compact => {
                if who != Who::Person {
                    return Err("NOT_FOR_AGENTS");
                }
                self.compact();
                Ok(())
            }
            MemoryCommand::WriteFact(it) => self.write(who, &it.key, it.expected, &it.value),
            MemoryCommand::ConfirmFact(it) => {
                self.at(&it.key, it.version)?.supporters.insert(who);
                Ok(())
            }
            MemoryCommand::DisputeFact(it) => {
                let entry = self.at(&it.key, it.version)?;
                let value = it.value.as_deref();
                if value.is_some_and(|value| same(entry.value(), value)) {
                    return Err("SAYS_THE_SAME");
                }
                entry.contradict(who, value);
                Ok(())
            }
            MemoryCommand::Pin { key, on } => {
                if who != Who::Person {
                    return Err("NOT_FOR_AGENTS");
                }
                self.known(key)?.pinned = *on;
                Ok(())
            }
            MemoryCommand::Retract { what, .. } => self.retract(who, what),
            MemoryCommand::PutNote(_) | MemoryCommand::Synthesize { .. } => Ok(()),
        }
    }

    fn claim(&mut self, who: Who, key: &FactKey, value: &str) {
        let entry = self.facts.entry(key.as_str().to_owned()).or_default();
        let may_write = !entry.pinned || who == Who::Person;
        let restores = entry.retracted_by.is_some() && !entry.stays_retracted(who);
        if entry.version == 0 || restores && may_write {
            entry.write(who, value);
        } else if same(entry.value(), value) {
            entry.supporters.insert(who);
        } else if may_write && entry.rivals.is_empty() && entry.is_only_of(who) {
            entry.write(who, value);
        } else {
            entry.contradict(who, Some(value));
        }
    }

    fn write(&mut self, who: Who, key: &FactKey, expected: Option<u64>, value: &str) -> Outcome {
        let version = self.version(key.as_str());
        match expected {
            Some(expected) if expected != version => return Err("FACT_CONFLICT"),
            None if who != Who::Person => return Err("VERSION_MISSING"),
            Some(_) | None => {}
        }
        let entry = self.facts.entry(key.as_str().to_owned()).or_default();
        if entry.version == 0 {
            entry.write(who, value);
            return Ok(());
        }
        if entry.pinned && who != Who::Person {
            return Err("FACT_PINNED");
        }
        let says_same = if who == Who::Person {
            entry.value() == value
        } else {
            same(entry.value(), value)
        };
        let is_settled = entry.rivals.is_empty() && entry.retracted_by.is_none();
        if says_same && (is_settled || entry.stays_retracted(who)) {
            entry.supporters.insert(who);
        } else {
            entry.write(who, value);
        }
        Ok(())
    }

    fn retract(&mut self, who: Who, what: &Retracted) -> Outcome {
        match what {
            Retracted::Learning(id) => self.sentences.retract(who, id),
            Retracted::Fact(key) => {
                let entry = self.known(key)?;
                let own = entry.is_only_of(who) && entry.is_uncontested(who);
                if who != Who::Person && !own {
                    return Err("NOT_YOURS");
                }
                entry.retract(who);
                Ok(())
            }
            Retracted::Agent(agent) => {
                let number = (1..=3).find(|it| *agent == crate::domain::testkit::agent(*it));
                let whose = Who::Agent(number.unwrap());
                if who != Who::Person && who != whose {
                    return Err("NOT_YOURS");
                }
                self.sentences.retract_all_of(who, whose);
                for entry in self.facts.values_mut() {
                    let may = who == Who::Person || entry.is_uncontested(who);
                    if entry.is_only_of(whose) && !entry.pinned && may {
                        entry.retract(who);
                    }
                    let gone = |(_, by): &mut (_, BTreeSet<Who>)| *by == BTreeSet::from([whose]);
                    let gone: Vec<_> = entry.rivals.extract_if(.., gone).collect();
                    for (rival, _) in gone {
                        entry.lose(rival.as_ref());
                    }
                }
                Ok(())
            }
        }
    }
}
