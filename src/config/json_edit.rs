//! Changes one value in a JSON text and leaves everything else as it is: order, spaces, line
//! breaks.
//!
//! Invariant: the text is valid JSON whose root is an object; so is the result. Called by `set`,
//! which has parsed the text before.

use serde_json::Value;

use super::json_layout;

/// The indentation of a new line, relative to the one around it.
const STEP: &str = "  ";

/// A member of an object, as byte offsets.
struct Member {
    name: String,
    start: usize,
    value: usize,
    end: usize,
}

/// An object, as byte offsets of its braces.
struct Object {
    open: usize,
    close: usize,
    members: Vec<Member>,
}

/// The text with the value at `path` (names of members, outermost first), which is added where it
/// is missing.
pub(super) fn set(text: &str, path: &[String], value: &Value) -> String {
    let mut object = Scanner { text, at: 0 }.object();
    for (depth, name) in path.iter().enumerate() {
        let rest = &path[depth + 1..];
        let Some(member) = object.members.iter().rfind(|member| member.name == *name) else {
            return insert(text, &object, name, &nested(rest, value));
        };
        if rest.is_empty() || !text[member.value..].starts_with('{') {
            let indent = indent_of(text, member.start);
            let line = line_before(text, member.value);
            let new = json_layout::member(&nested(rest, value), line, indent);
            return replaced(text, member.value, member.end, &new);
        }
        let at = member.value;
        object = Scanner { text, at }.object();
    }
    text.to_owned()
}

fn nested(path: &[String], value: &Value) -> Value {
    let wrap = |inner, name: &String| Value::Object([(name.clone(), inner)].into_iter().collect());
    path.iter().rfold(value.clone(), wrap)
}

fn insert(text: &str, object: &Object, name: &str, value: &Value) -> String {
    let key = Value::from(name);
    let Some(last) = object.members.last() else {
        let outer = indent_of(text, object.open);
        let indent = format!("{outer}{STEP}");
        let line = format!("{indent}{key}: ");
        let value = json_layout::member(value, &line, &indent);
        let new = format!("{{\n{line}{value}\n{outer}}}");
        return replaced(text, object.open, object.close + 1, &new);
    };
    let indent = indent_of(text, last.start);
    let begins_a_line = text[..last.start]
        .trim_end_matches([' ', '\t'])
        .ends_with('\n');
    let space = if begins_a_line {
        format!("\n{indent}")
    } else {
        " ".to_owned()
    };
    let line = format!("{space}{key}: ");
    let value = json_layout::member(value, line.trim_start_matches('\n'), indent);
    let new = format!(",{line}{value}");
    replaced(text, last.end, last.end, &new)
}

fn replaced(text: &str, from: usize, to: usize, new: &str) -> String {
    format!("{}{new}{}", &text[..from], &text[to..])
}

/// What precedes an offset in its line.
fn line_before(text: &str, at: usize) -> &str {
    let begin = text[..at].rfind('\n').map_or(0, |end| end + 1);
    &text[begin..at]
}

/// The white space that begins the line of an offset.
fn indent_of(text: &str, at: usize) -> &str {
    let line = line_before(text, at);
    let end = line.find(|c: char| c != ' ' && c != '\t');
    &line[..end.unwrap_or(line.len())]
}

/// Reads valid JSON, which nobody needs to check again.
struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips white space, and what separates members and items.
    fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| b" \t\r\n,:".contains(&byte)) {
            self.at += 1;
        }
    }

    /// The object at or after this place.
    fn object(&mut self) -> Object {
        while self.peek().is_some_and(|byte| byte != b'{') {
            self.at += 1;
        }
        let open = self.at;
        let mut members = Vec::new();
        self.at += 1;
        self.skip_space();
        while self.peek() == Some(b'"') {
            let start = self.at;
            self.skip_string();
            let name = serde_json::from_str(&self.text[start..self.at]).unwrap_or_default();
            self.skip_space();
            let value = self.at;
            self.skip_value();
            let end = self.at;
            members.push(Member {
                name,
                start,
                value,
                end,
            });
            self.skip_space();
        }
        Object {
            open,
            close: self.at,
            members,
        }
    }

    fn skip_string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                return;
            }
        }
    }

    fn skip_value(&mut self) {
        match self.peek() {
            Some(b'"') => self.skip_string(),
            Some(b'{' | b'[') => self.skip_nested(),
            _ => {
                while self
                    .peek()
                    .is_some_and(|byte| !b" \t\r\n,]}".contains(&byte))
                {
                    self.at += 1;
                }
            }
        }
    }

    fn skip_nested(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.skip_string();
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn changed(text: &str, key: &str, value: &Value) -> String {
        let path: Vec<String> = key.split('.').map(str::to_owned).collect();
        set(text, &path, value)
    }

    #[test]
    fn only_the_value_changes() {
        let text = "\u{feff}{\n    \"b\" : [1,\n 2],  \"a\": {\"x\":\"}\\\"{\"}\n}\n";
        assert_eq!(
            changed(text, "b", &json!(true)),
            "\u{feff}{\n    \"b\" : true,  \"a\": {\"x\":\"}\\\"{\"}\n}\n"
        );
        assert_eq!(
            changed(text, "a.x", &json!([1, "z"])),
            "\u{feff}{\n    \"b\" : [1,\n 2],  \"a\": {\"x\":[1, \"z\"]}\n}\n"
        );
    }

    #[test]
    fn a_new_member_is_written_like_the_one_before() {
        for (text, key, expected) in [
            ("{}", "a", "{\n  \"a\": 1\n}"),
            ("{ }\n", "a.b", "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n"),
            ("{\"z\":0}", "a", "{\"z\":0, \"a\": 1}"),
            (
                "{\n\t\"z\": {\n\t\t\"y\": 0\n\t}\n}",
                "z.a",
                "{\n\t\"z\": {\n\t\t\"y\": 0,\n\t\t\"a\": 1\n\t}\n}",
            ),
            ("{\"z\": 0}", "z.a", "{\"z\": {\n  \"a\": 1\n}}"),
        ] {
            assert_eq!(changed(text, key, &json!(1)), expected);
        }
    }

    fn any_object() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-c\"\\\\{}\\[\\], ]{0,6}".prop_map(Value::from),
        ];
        let any = leaf.prop_recursive(4, 30, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-c]", inner, 0..4).prop_map(|map| json!(map)),
            ]
        });
        prop::collection::btree_map("[a-c]", any, 0..4).prop_map(|map| json!(map))
    }

    fn expected(mut object: Value, path: &[String], value: &Value) -> Value {
        let mut at = &mut object;
        for name in path {
            if !at.is_object() {
                *at = json!({});
            }
            at = &mut at[name];
        }
        *at = value.clone();
        object
    }

    proptest! {
        #[test]
        fn the_result_has_the_value_and_everything_else(
            object in any_object(),
            path in prop::collection::vec("[a-d]", 1..4),
            value in any_object(),
            is_pretty in any::<bool>(),
        ) {
            let text = if is_pretty { format!("{object:#}") } else { object.to_string() };
            let new = set(&text, &path, &value);
            let new: Value = serde_json::from_str(&new).unwrap();
            prop_assert_eq!(new, expected(object, &path, &value));
        }
    }
}
