//! Who writes into the memory, and what they may write.

use std::collections::BTreeSet;

use super::grounds::{self, Cited, Said};
use crate::domain::ids::{Oid, ProfileName};
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::memory::{
    Claim, Evidence, MemoryRefusal, Reference, Sources, without_invisible,
};
use crate::domain::request::Author;
use crate::domain::secrets;
use crate::domain::signal::neutral;
use crate::domain::state::{Attempt, State};

/// Most writes of one run.
const WRITES_A_RUN: u32 = 100;
/// Longest quote in a piece of evidence, in bytes.
const QUOTE_BYTES: usize = 300;
/// Most paths of a piece of evidence, and longest path in bytes.
const PATHS: usize = 16;
const PATH_BYTES: usize = 300;
/// Most events that a piece of evidence refers to.
const REFS: usize = 16;
/// Longest reason, in bytes.
const WHY_BYTES: usize = 500;

/// Somebody who may write.
pub(super) struct Writer<'a> {
    pub(super) state: &'a State,
    pub(super) author: &'a Author,
    /// The attempt, if an agent writes.
    pub(super) attempt: Option<&'a Attempt>,
}

impl<'a> Writer<'a> {
    /// Refuses an agent whose run has ended or has written too much.
    pub(super) fn admit(state: &'a State, author: &'a Author) -> Result<Self, MemoryRefusal> {
        let attempt = match author {
            Author::Agent { id, run, .. } => {
                let attempt = state.agents.get(id);
                let speaks = |attempt: &&Attempt| {
                    let phase = attempt.phase;
                    let works = matches!(phase, AttemptPhase::Working | AttemptPhase::Stopping);
                    works && attempt.run.as_ref() == Some(run)
                };
                let attempt = attempt.filter(speaks).ok_or(MemoryRefusal::RunOver)?;
                require_room(attempt.memory.writes)?;
                Some(attempt)
            }
            Author::Synthesis { run } => {
                if state.synthesis_run() != Some(run) {
                    return Err(MemoryRefusal::RunOver);
                }
                require_room(state.synthesis.writes_of(run))?;
                None
            }
            Author::Person | Author::Mcp { .. } | Author::Hook { .. } | Author::Check { .. } => {
                None
            }
        };
        Ok(Self {
            state,
            author,
            attempt,
        })
    }

    /// Whether a person speaks, or a program of theirs.
    pub(super) fn is_person(&self) -> bool {
        self.author.is_person()
    }

    /// Whether all evidence comes from this writer's side: its idea, or people.
    pub(super) fn supports_alone(&self, sources: &Sources) -> bool {
        sources.is_only_of(self.author)
    }

    /// The profile that a local learning of this writer is for.
    pub(super) fn profile(&self) -> Option<&'a ProfileName> {
        self.attempt.map(|attempt| &attempt.profile)
    }

    /// The evidence that this write is, with the writer's words where they are worth keeping.
    pub(super) fn evidence(
        &self,
        said: Said<'_>,
        claim: &Claim,
        quote: Option<&str>,
    ) -> Result<Evidence, MemoryRefusal> {
        if let Some(quote) = quote {
            check_secrets("reason", quote)?;
        }
        let cited = match self.author {
            Author::Synthesis { .. } => grounds::require(self.state, said, claim)?,
            Author::Person
            | Author::Mcp { .. }
            | Author::Hook { .. }
            | Author::Agent { .. }
            | Author::Check { .. } => Cited::default(),
        };
        // A fact gets old with the files that its evidence is about.
        let mut paths = paths(&claim.paths)?;
        let more = cited.paths.into_iter();
        let more: BTreeSet<String> = more.filter(|path| !paths.contains(path)).collect();
        paths.extend(more.into_iter().take(PATHS - paths.len()));
        Ok(Evidence {
            author: self.author.clone(),
            quote: quote.map(|quote| beginning(&neutral(quote), QUOTE_BYTES)),
            paths,
            target: self.target(),
            refs: self.refs(&claim.evidence)?,
            cited: cited.authors,
            ..Evidence::default()
        })
    }

    /// The target's commit, as last seen.
    fn target(&self) -> Option<Oid> {
        let seen = self.state.swarm.target.as_ref();
        seen.map(|seen| seen.commit.clone())
    }

    fn refs(&self, references: &[Reference]) -> Result<Vec<u64>, MemoryRefusal> {
        at_most(references.len(), REFS, "list of evidence")?;
        let seqs = references.iter().map(|reference| self.seq_of(reference));
        seqs.collect()
    }

    fn seq_of(&self, reference: &Reference) -> Result<u64, MemoryRefusal> {
        let unknown = |what: String| MemoryRefusal::EvidenceUnknown(what);
        match reference {
            Reference::Event(seq) if (1..=self.state.seq).contains(seq) => Ok(*seq),
            Reference::Event(seq) => Err(unknown(format!("event {seq}"))),
            Reference::Learning(id) => {
                let known = self.state.learnings.get(id);
                if known.is_none() && self.state.compacted.has(id, &self.state.learnings) {
                    return Err(MemoryRefusal::LearningCompacted(id.clone()));
                }
                let first = known.and_then(|known| known.evidence.kept.first());
                let first = first.ok_or_else(|| unknown(format!("learning `{id}`")))?;
                Ok(first.seq)
            }
        }
    }
}

/// Refuses a run that has written so often already.
fn require_room(writes: u32) -> Result<(), MemoryRefusal> {
    if writes < WRITES_A_RUN {
        return Ok(());
    }
    Err(MemoryRefusal::Quota(format!(
        "this run has written {WRITES_A_RUN} times; no run may write more"
    )))
}

/// A text of one harmless line, not empty, not too long and without secrets.
pub(super) fn line(what: &'static str, text: &str, max: usize) -> Result<String, MemoryRefusal> {
    let visible = without_invisible(text);
    let words: Vec<&str> = visible.split_whitespace().collect();
    let line = neutral(&words.join(" "));
    if line.is_empty() {
        return Err(MemoryRefusal::Empty(what));
    }
    check_size(what, &line, max)?;
    check_secrets(what, &line)?;
    Ok(line)
}

/// Refuses a text that holds what looks like a secret, before anything of it is logged.
pub(super) fn check_secrets(what: &'static str, text: &str) -> Result<(), MemoryRefusal> {
    match secrets::suspect(text) {
        Some(rule) => Err(MemoryRefusal::SecretSuspected { what, rule }),
        None => Ok(()),
    }
}

/// The reason that the writer gives, as one harmless line.
pub(super) fn reason(why: Option<&str>) -> Result<Option<String>, MemoryRefusal> {
    let why = why.filter(|why| !why.trim().is_empty());
    why.map(|why| line("reason", why, WHY_BYTES)).transpose()
}

pub(super) fn check_size(what: &'static str, text: &str, max: usize) -> Result<(), MemoryRefusal> {
    let bytes = text.len();
    if bytes > max {
        return Err(MemoryRefusal::TooLarge { what, bytes, max });
    }
    Ok(())
}

fn at_most(count: usize, max: usize, what: &'static str) -> Result<(), MemoryRefusal> {
    if count > max {
        return Err(MemoryRefusal::Quota(format!(
            "the {what} has {count} entries; at most {max} are allowed"
        )));
    }
    Ok(())
}

fn paths(given: &[String]) -> Result<Vec<String>, MemoryRefusal> {
    at_most(given.len(), PATHS, "list of paths")?;
    let path = |path: &String| line("path", path, PATH_BYTES);
    let mut paths: Vec<String> = given.iter().map(path).collect::<Result<_, _>>()?;
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// The beginning of a text, cut at a character boundary.
fn beginning(text: &str, bytes: usize) -> String {
    let end = (0..=bytes.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at));
    text[..end.unwrap_or(0)].to_owned()
}
