//! Prints JSON in the layout that formatters leave alone: that of prettier without options.
//!
//! Invariant: the text parses to the same value. Every JSON file that swarm writes into a checkout
//! for people is printed here, so that a project's formatter changes none of them.

use serde_json::Value;
use unicode_width::UnicodeWidthStr as _;

/// Columns of a line.
const WIDTH: usize = 80;
/// The indentation of a line, relative to the one around it.
const STEP: &str = "  ";

/// The text of a file.
pub fn file(value: &Value) -> String {
    let mut text = String::new();
    print(&mut text, value, "", true);
    text.push('\n');
    text
}

/// The text of a member's value: `line` is what precedes it in its line, `indent` the white space
/// that the line begins with.
pub fn member(value: &Value, line: &str, indent: &str) -> String {
    let mut text = line.to_owned();
    print(&mut text, value, indent, false);
    text.split_off(line.len())
}

fn print(text: &mut String, value: &Value, indent: &str, is_last: bool) {
    let inner = format!("{indent}{STEP}");
    match value {
        Value::Object(members) if !members.is_empty() => {
            text.push('{');
            let mut left = members.len();
            for (name, member) in members {
                left -= 1;
                let name = Value::from(name.as_str()).to_string();
                text.extend(["\n", &inner, &name, ": "]);
                print(text, member, &inner, left == 0);
                text.push_str(if left > 0 { "," } else { "" });
            }
            text.extend(["\n", indent, "}"]);
        }
        Value::Array(items) if !items.is_empty() => {
            let room = WIDTH.saturating_sub(column(text) + usize::from(!is_last));
            if let Some(line) = on_one_line(value).filter(|line| line.width() <= room) {
                text.push_str(&line);
                return;
            }
            text.push('[');
            if items.len() > 1 && items.iter().all(Value::is_number) {
                fill(text, items, &inner);
            } else {
                let mut left = items.len();
                for item in items {
                    left -= 1;
                    text.extend(["\n", &inner]);
                    print(text, item, &inner, left == 0);
                    text.push_str(if left > 0 { "," } else { "" });
                }
            }
            text.extend(["\n", indent, "]"]);
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => text.push_str(&value.to_string()),
    }
}

/// As many numbers on each line as it has room for.
fn fill(text: &mut String, items: &[Value], indent: &str) {
    let mut left = items.len();
    for item in items {
        left -= 1;
        let word = format!("{item}{}", if left > 0 { "," } else { "" });
        let is_first = left + 1 == items.len();
        if is_first || column(text) + 1 + word.len() > WIDTH {
            text.extend(["\n", indent, &word]);
        } else {
            text.extend([" ", &word]);
        }
    }
}

/// `None` if it has to take several lines, however short it is.
fn on_one_line(value: &Value) -> Option<String> {
    match value {
        Value::Array(items) => {
            let is_table = |item: &Value| item.as_array().is_some_and(|row| row.len() > 1);
            if items.len() > 1 && items.iter().all(is_table) {
                return None;
            }
            let items: Option<Vec<String>> = items.iter().map(on_one_line).collect();
            Some(format!("[{}]", items?.join(", ")))
        }
        Value::Object(members) if !members.is_empty() => None,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            Some(value.to_string())
        }
    }
}

fn column(text: &str) -> usize {
    text.rsplit('\n').next().unwrap_or_default().width()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_stay_on_a_line_that_has_room_for_them_and_objects_do_not() {
        let long = "a".repeat(40);
        let value = json!({
            "few": [1, "a", null, [2]],
            "rows": [[1, 2], [3, 4]],
            "objects": [{"x": 1}, {}],
            "many": vec![111_111_111; 8],
            "texts": [long, long],
            "wide": ["日本".repeat(8), "語".repeat(15)],
            "empty": [[], {}],
            "nested": {"in": {"it": []}},
        });
        let expected = r#"{
  "few": [1, "a", null, [2]],
  "rows": [
    [1, 2],
    [3, 4]
  ],
  "objects": [
    {
      "x": 1
    },
    {}
  ],
  "many": [
    111111111, 111111111, 111111111, 111111111, 111111111, 111111111, 111111111,
    111111111
  ],
  "texts": [
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
  ],
  "wide": [
    "日本日本日本日本日本日本日本日本",
    "語語語語語語語語語語語語語語語"
  ],
  "empty": [[], {}],
  "nested": {
    "in": {
      "it": []
    }
  }
}
"#;
        assert_eq!(file(&value), expected);
    }

    #[test]
    fn a_member_counts_what_precedes_it_and_the_comma_after_it() {
        let value = json!(["aaaa"]);
        let line = |room: usize| format!("  {}: ", "k".repeat(WIDTH - 5 - room));
        assert_eq!(member(&value, &line(8), "  "), "[\"aaaa\"]");
        assert_eq!(member(&value, &line(7), "  "), "[\n    \"aaaa\"\n  ]");
    }
}
