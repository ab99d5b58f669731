//! Shortens long answers: a client puts each into its model's conversation.
//!
//! Invariant: an answer that fits is what `--json` prints. In one that does not, long texts are cut
//! first, then lists lose items, and `more` says how many each has lost.

use serde_json::{Map, Value};

/// Most bytes of an answer.
pub(super) const MAX_BYTES: usize = 24 * 1024;
/// Most characters of a text in an answer that does not fit.
pub(super) const MAX_TEXT: usize = 600;

/// Which end of a list stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    First,
    Last,
}

/// Cuts a text to so many characters, and says how many bytes it has lost.
pub(super) fn cut(text: &str, most: usize) -> Option<String> {
    let (end, _) = text.char_indices().nth(most)?;
    let lost = text.len() - end;
    Some(format!("{}… ({lost} more bytes)", &text[..end]))
}

/// Shortens an answer to [`MAX_BYTES`], as far as its texts and these lists have it.
pub(super) fn shorten(answer: &mut Value, lists: &[(&'static str, Keep)]) {
    shorten_to(MAX_BYTES, answer, lists);
}

/// Shortens a part of an answer to so many bytes.
pub(super) fn shorten_to(most: usize, answer: &mut Value, lists: &[(&'static str, Keep)]) {
    if bytes(answer) <= most {
        return;
    }
    cut_texts(answer);
    let mut left = bytes(answer);
    let mut weights: Vec<Weight> = lists
        .iter()
        .filter_map(|(name, keep)| Weight::of(answer, name, *keep))
        .collect();
    while left > most {
        let heaviest = weights.iter_mut().max_by_key(|one| one.bytes);
        let Some(lost) = heaviest.and_then(Weight::lose_one) else {
            break;
        };
        left = left.saturating_sub(lost);
    }
    let mut more = Map::new();
    for weight in weights.iter().filter(|one| one.lost > 0) {
        weight.apply(answer);
        more.insert(weight.name.to_owned(), weight.lost.into());
    }
    if !more.is_empty() {
        answer["more"] = more.into();
    }
}

/// The size of an answer.
pub(super) fn bytes(value: &Value) -> usize {
    value.to_string().len()
}

fn cut_texts(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(shorter) = cut(text, MAX_TEXT) {
                *text = shorter;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(cut_texts),
        Value::Object(fields) => fields.values_mut().for_each(cut_texts),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// How much each item of a list takes.
struct Weight {
    name: &'static str,
    keep: Keep,
    /// Bytes of the items that are left, the next to be lost at the end.
    items: Vec<usize>,
    bytes: usize,
    lost: usize,
}

impl Weight {
    fn of(answer: &Value, name: &'static str, keep: Keep) -> Option<Self> {
        let list = answer.get(name)?.as_array()?;
        let mut items: Vec<usize> = list.iter().map(|item| bytes(item) + 1).collect();
        if keep == Keep::Last {
            items.reverse();
        }
        Some(Self {
            name,
            keep,
            bytes: items.iter().sum(),
            items,
            lost: 0,
        })
    }

    /// The bytes of the item that it loses.
    fn lose_one(&mut self) -> Option<usize> {
        let lost = self.items.pop()?;
        self.bytes -= lost;
        self.lost += 1;
        Some(lost)
    }

    fn apply(&self, answer: &mut Value) {
        let list = answer.get_mut(self.name).and_then(Value::as_array_mut);
        let Some(list) = list else {
            return;
        };
        match self.keep {
            Keep::First => list.truncate(self.items.len()),
            Keep::Last => drop(list.drain(..self.lost)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_that_fits_stays_as_it_is() {
        let long = "x".repeat(MAX_BYTES - 100);
        let mut answer = json!({"content": long, "list": [1, 2]});
        let before = answer.clone();
        shorten(&mut answer, &[("list", Keep::First)]);
        assert_eq!(answer, before);
    }

    #[test]
    fn the_longest_list_loses_items_from_the_end_that_does_not_stay() {
        let items = |count: usize| -> Vec<Value> {
            let item = |number| json!({"number": number, "text": "x".repeat(100)});
            (0..count).map(item).collect()
        };
        let mut answer = json!({"old": items(400), "new": items(300), "few": items(3)});
        let lists = [
            ("old", Keep::Last),
            ("new", Keep::First),
            ("few", Keep::First),
            ("none", Keep::First),
        ];
        shorten(&mut answer, &lists);
        let size = answer.to_string().len();
        assert!((MAX_BYTES - 300..MAX_BYTES + 100).contains(&size), "{size}");
        let count = |name: &str| answer[name].as_array().unwrap().len();
        assert_eq!(count("few"), 3);
        assert!(count("old").abs_diff(count("new")) <= 1, "{answer}");
        assert_eq!(answer["more"]["old"], 400 - count("old"));
        assert_eq!(answer["more"]["new"], 300 - count("new"));
        assert_eq!(answer["more"].get("few"), None);
        let last = answer["old"].as_array().unwrap().last().unwrap();
        assert_eq!(last["number"], 399);
        assert_eq!(answer["new"][0]["number"], 0);
    }

    #[test]
    fn long_texts_are_cut_before_a_list_loses_an_item() {
        let long = "é".repeat(MAX_BYTES);
        let mut answer = json!({"list": [{"content": long}, {"content": "short"}]});
        shorten(&mut answer, &[("list", Keep::First)]);
        assert_eq!(answer["list"].as_array().unwrap().len(), 2);
        let text = answer["list"][0]["content"].as_str().unwrap();
        let lost = 2 * (MAX_BYTES - MAX_TEXT);
        assert!(text.ends_with(&format!("é… ({lost} more bytes)")), "{text}");
        assert_eq!(answer["list"][1]["content"], "short");
        assert_eq!(answer.get("more"), None);
    }
}
