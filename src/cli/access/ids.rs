//! Ids as people type them: the id itself, its number, or a beginning that only one id has.
//!
//! Invariant: what is an id itself is never taken for another's number or beginning. What fits
//! nothing is passed on as it is, so that the command refuses it in its own words.

use std::fmt::Display;
use std::str::FromStr;

use serde_json::Value;

use super::Access;
use crate::cli::error::CliError;
use crate::cli::json::{number, text};
use crate::domain::ids::{AgentId, BadId, CheckpointName, IdeaId};

/// Most candidates that a refusal lists.
const SHOWN: usize = 10;

/// An id as typed. Only [`Access`] makes an id of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typed<T>(T);

impl<T: FromStr<Err = BadId>> FromStr for Typed<T> {
    type Err = BadId;
    fn from_str(text: &str) -> Result<Self, BadId> {
        text.parse().map(Self)
    }
}

impl<T> From<T> for Typed<T> {
    fn from(id: T) -> Self {
        Self(id)
    }
}

/// An id that exists, and its number.
struct Known {
    id: String,
    number: Option<u64>,
}

impl Known {
    /// An idea or agent: its number ends its id.
    fn by_id(view: &Value) -> Self {
        let id = text(view, "id").to_owned();
        let number = stem_and_number(&id).and_then(|(_, number)| number);
        Self { id, number }
    }

    fn checkpoint(view: &Value) -> Self {
        Self {
            id: text(view, "name").to_owned(),
            number: Some(number(view, "number")).filter(|number| *number > 0),
        }
    }

    fn has_number_of(&self, typed: &str) -> bool {
        match stem_and_number(typed) {
            Some(("", Some(number))) => self.number == Some(number),
            Some((_, Some(_))) => stem_and_number(typed) == stem_and_number(&self.id),
            Some((_, None)) | None => false,
        }
    }
}

/// Splits `ed-002` into `ed` and 2, and `3` into an empty stem and 3.
fn stem_and_number(id: &str) -> Option<(&str, Option<u64>)> {
    let (stem, digits) = id.rsplit_once('-').unwrap_or(("", id));
    digits
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| (stem, digits.parse().ok()))
}

/// The one id that was meant; `None` if nothing fits.
fn find<'a>(typed: &str, known: &'a [Known], several: &str) -> Result<Option<&'a str>, CliError> {
    let exactly = |one: &Known| one.id == typed;
    let by_number = |one: &Known| one.has_number_of(typed);
    let by_beginning = |one: &Known| one.id.starts_with(typed);
    let ways: [&dyn Fn(&Known) -> bool; 3] = [&exactly, &by_number, &by_beginning];
    for fits in ways {
        let found: Vec<&str> = known
            .iter()
            .filter(|one| fits(one))
            .map(|one| one.id.as_str())
            .collect();
        match found.as_slice() {
            [] => {}
            [one] => return Ok(Some(one)),
            many => return Err(ambiguous(typed, many, several)),
        }
    }
    Ok(None)
}

fn ambiguous(typed: &str, found: &[&str], several: &str) -> CliError {
    let mut list = found[..found.len().min(SHOWN)].join(", ");
    if let Some(more @ 1..) = found.len().checked_sub(SHOWN) {
        list = format!("{list} and {more} more");
    }
    CliError::refused(format!("`{typed}` fits several {several}: {list}"))
        .code("AMBIGUOUS_ID")
        .hint("type the whole id")
}

fn resolve<T: Clone + Display + FromStr<Err = BadId>>(
    typed: &Typed<T>,
    known: &[Known],
    several: &str,
) -> Result<T, CliError> {
    let Typed(typed) = typed;
    let found = find(&typed.to_string(), known, several)?;
    match found.map(str::parse) {
        Some(Ok(id)) => Ok(id),
        // No id, so nothing that this command could name.
        Some(Err(_)) | None => Ok(typed.clone()),
    }
}

fn known(views: &Value, of: fn(&Value) -> Known) -> Vec<Known> {
    views.as_array().into_iter().flatten().map(of).collect()
}

impl Access {
    /// The ideas that were meant, each by itself.
    pub fn idea_ids(
        &mut self,
        typed: &[Typed<IdeaId>],
    ) -> Result<Vec<Result<IdeaId, CliError>>, CliError> {
        // `idea-003` needs no look at the others.
        let whole = |Typed(id): &Typed<IdeaId>| match stem_and_number(id.as_str()) {
            Some((_, Some(number))) => IdeaId::numbered(number) == *id,
            Some((_, None)) | None => false,
        };
        if typed.iter().all(whole) {
            return Ok(typed.iter().map(|Typed(id)| Ok(id.clone())).collect());
        }
        let known = known(&self.ideas(None)?, Known::by_id);
        let each = typed.iter();
        Ok(each.map(|one| resolve(one, &known, "ideas")).collect())
    }

    /// The idea that was meant.
    pub fn idea_id(&mut self, typed: &Typed<IdeaId>) -> Result<IdeaId, CliError> {
        self.idea_ids(std::slice::from_ref(typed))?
            .pop()
            .unwrap_or_else(|| Ok(typed.0.clone()))
    }

    /// The agents that were meant, each by itself.
    pub fn agent_ids(
        &mut self,
        typed: &[Typed<AgentId>],
    ) -> Result<Vec<Result<AgentId, CliError>>, CliError> {
        let known = known(&self.agents()?, Known::by_id);
        let each = typed.iter();
        Ok(each.map(|one| resolve(one, &known, "agents")).collect())
    }

    /// The agent that was meant.
    pub fn agent_id(&mut self, typed: &Typed<AgentId>) -> Result<AgentId, CliError> {
        self.agent_ids(std::slice::from_ref(typed))?
            .pop()
            .unwrap_or_else(|| Ok(typed.0.clone()))
    }

    /// The checkpoint that was meant.
    pub fn checkpoint_name(
        &mut self,
        typed: &Typed<CheckpointName>,
    ) -> Result<CheckpointName, CliError> {
        let known = known(&self.checkpoints()?, Known::checkpoint);
        resolve(typed, &known, "checkpoints")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn meant(typed: &str, known: &[Known]) -> Result<String, String> {
        let found = find(typed, known, "agents").map_err(|error| error.message)?;
        Ok(found.unwrap_or("nothing").to_owned())
    }

    #[test]
    fn an_id_is_meant_by_itself_its_number_or_a_beginning_of_its_own() {
        let ids = ["ed-001", "ed-002", "ed-x-003", "finn-012", "ed-120", "3d"];
        let known = ids.map(|id| Known::by_id(&json!({ "id": id })));
        let cases = [
            ("ed-002", "ed-002"),
            ("2", "ed-002"),
            ("002", "ed-002"),
            ("ed-2", "ed-002"),
            ("ed-02", "ed-002"),
            ("3", "ed-x-003"),
            ("ed-3", "nothing"),
            ("ed-x", "ed-x-003"),
            ("12", "finn-012"),
            ("ed-12", "ed-120"),
            ("f", "finn-012"),
            ("finn-2", "nothing"),
            ("3d", "3d"),
            ("9", "nothing"),
            ("99999999999999999999", "nothing"),
        ];
        for (typed, expected) in cases {
            assert_eq!(meant(typed, &known), Ok(expected.to_owned()), "{typed}");
        }
        let refused = meant("ed-0", &known).unwrap_err();
        assert_eq!(refused, "`ed-0` fits several agents: ed-001, ed-002");
    }

    #[test]
    fn a_checkpoint_whose_name_is_a_number_is_meant_by_it() {
        let at =
            |name: &str, number: u64| Known::checkpoint(&json!({"name": name, "number": number}));
        let known = [at("release", 1), at("1", 2), at("release-2", 3)];
        for (typed, expected) in [("1", "1"), ("2", "1"), ("3", "release-2")] {
            assert_eq!(meant(typed, &known), Ok(expected.to_owned()), "{typed}");
        }
        assert_eq!(meant("release", &known), Ok("release".to_owned()));
        assert!(meant("rel", &known).is_err());
        // Its name ends in a number that is not its own.
        assert_eq!(meant("release-3", &known), Ok("nothing".to_owned()));
    }
}
