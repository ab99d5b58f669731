//! Parses a file dropped into `.swarm/inbox/`: an idea with optional front matter.
//!
//! Invariant: pure. The front matter is a subset of YAML (strings, numbers, `[a, b]`, lists of
//! `- a`). Anything else is refused with its line number, never guessed.

use super::front_matter::{Unreadable, Value, block_items, inline_value, without_comment};
use crate::config::{is_profile_name, nearest, visible};
use crate::domain::decide::MAX_TEXT_BYTES;

/// Largest inbox file, in bytes.
pub const MAX_INBOX_BYTES: usize = 64 * 1024;
const MAX_AFTER: usize = 200;
const MAX_TAGS: usize = 32;
const MAX_TAG_CHARS: usize = 64;

/// An idea as its file describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InboxIdea {
    /// The task.
    pub text: String,
    /// Ids of the ideas that must be done first.
    pub after: Vec<String>,
    /// Free labels.
    pub tags: Vec<String>,
    /// From -1000000 to 1000000; `None` if the file sets none.
    pub priority: Option<i64>,
    /// Name of a profile; `None` if the file sets none.
    pub profile: Option<String>,
    /// Whether a person must approve its work; `None` if the file does not say.
    pub review: Option<bool>,
}

/// Why a file is not a valid idea.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct InboxError {
    /// Line number, from 1.
    pub line: usize,
    #[allow(missing_docs)]
    pub why: InboxProblem,
}

/// What is wrong with an inbox file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum InboxProblem {
    /// The file, or the idea's text in it, is too large.
    #[error(
        "the {what} is larger than {max} bytes; shorten it, or move the details to a file in the \
         repository"
    )]
    TooLarge { what: &'static str, max: usize },
    /// The file has no text after the front matter.
    #[error("the idea has no text; write what should be done")]
    Empty,
    /// The text contains a NUL.
    #[error("found a NUL character; remove it")]
    Nul,
    /// The front matter has no end.
    #[error("the front matter starts here, but has no closing `---`; add one")]
    NotClosed,
    /// The key is not defined.
    #[error("unknown key `{key}`; {}known: after, tags, priority, profile, review",
        nearest.map(|n| format!("did you mean `{n}`? ")).unwrap_or_default())]
    UnknownKey {
        key: String,
        /// The known key with the most similar spelling.
        nearest: Option<&'static str>,
    },
    /// The key occurs twice.
    #[error("duplicate key `{0}`; remove one of the two")]
    Doubled(&'static str),
    /// The line is outside the supported subset of YAML.
    #[error(
        "cannot parse this line; write `key: value`, `key: [a, b]`, or `key:` followed by \
            lines `- a`"
    )]
    Form,
    /// The value is not allowed.
    #[error("`{key}: {found}` is not allowed; {allowed}")]
    BadValue {
        key: &'static str,
        found: String,
        allowed: &'static str,
    },
}

use InboxProblem as Bad;

/// Parses the text of an inbox file.
///
/// # Errors
/// The first problem, with its line number.
pub fn parse(text: &str) -> Result<InboxIdea, InboxError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.len() > MAX_INBOX_BYTES {
        let (what, max) = ("file", MAX_INBOX_BYTES);
        return Err(at(1, Bad::TooLarge { what, max }));
    }
    if let Some(nul) = text.find('\0') {
        return Err(at(text[..nul].matches('\n').count() + 1, Bad::Nul));
    }
    let lines: Vec<&str> = text
        .split('\n')
        .map(|line| line.trim_end_matches('\r'))
        .collect();
    let (mut idea, body) = match lines.first().map(|line| line.trim_end()) {
        Some("---") => front_matter(&lines)?,
        _ => (InboxIdea::default(), 0),
    };
    idea.text = body_text(&lines[body..]).map_err(|why| at(body + 1, why))?;
    Ok(idea)
}

fn at(line: usize, why: Bad) -> InboxError {
    InboxError { line, why }
}

fn body_text(lines: &[&str]) -> Result<String, Bad> {
    let text = lines.join("\n");
    let text = text.trim_matches('\n').trim_end();
    if text.trim().is_empty() {
        return Err(Bad::Empty);
    }
    let json = serde_json::Value::from(text).to_string().len() - 2;
    if json > MAX_TEXT_BYTES {
        let (what, max) = ("text", MAX_TEXT_BYTES);
        return Err(Bad::TooLarge { what, max });
    }
    Ok(text.to_owned())
}

/// Parses the front matter; also returns the index of the first line after it.
fn front_matter(lines: &[&str]) -> Result<(InboxIdea, usize), InboxError> {
    let end = lines
        .iter()
        .skip(1)
        .position(|line| line.trim_end() == "---");
    let end = end.ok_or_else(|| at(1, Bad::NotClosed))? + 1;
    let mut idea = InboxIdea::default();
    let mut seen = Vec::new();
    let mut index = 1;
    while index < end {
        let line = index + 1;
        let content = without_comment(lines[index]);
        index += 1;
        if content.trim().is_empty() {
            continue;
        }
        let (key, value) = key_and_value(content, &mut seen).map_err(|why| at(line, why))?;
        let items = if value.is_empty() {
            let block = block_items(&lines[index..end])
                .map_err(|(ahead, Unreadable)| at(line + 1 + ahead, Bad::Form))?;
            index += block.1;
            Value::List(block.0)
        } else {
            inline_value(value).map_err(|Unreadable| at(line, Bad::Form))?
        };
        set(&mut idea, key, items).map_err(|why| at(line, why))?;
    }
    Ok((idea, end + 1))
}

const KEYS: [&str; 5] = ["after", "tags", "priority", "profile", "review"];

fn key_and_value<'a>(
    content: &'a str,
    seen: &mut Vec<&'static str>,
) -> Result<(&'static str, &'a str), Bad> {
    let (key, value) = content.split_once(':').ok_or(Bad::Form)?;
    if key.starts_with([' ', '\t', '-']) || !(value.is_empty() || value.starts_with([' ', '\t'])) {
        return Err(Bad::Form);
    }
    let key = key.trim_end();
    let known = KEYS
        .into_iter()
        .find(|known| *known == key)
        .ok_or_else(|| Bad::UnknownKey {
            key: visible(&key.chars().take(40).collect::<String>()),
            nearest: nearest(key, KEYS),
        })?;
    if seen.contains(&known) {
        return Err(Bad::Doubled(known));
    }
    seen.push(known);
    Ok((known, value.trim()))
}

fn set(idea: &mut InboxIdea, key: &'static str, value: Value) -> Result<(), Bad> {
    match key {
        "after" => {
            idea.after = list(
                key,
                value,
                MAX_AFTER,
                is_id,
                "use at most 200 ids such as idea-001",
            )?;
        }
        "tags" => {
            idea.tags = list(
                key,
                value,
                MAX_TAGS,
                is_tag,
                "use at most 32 tags of 1 to 64 characters, such as [docs, quick-win]",
            )?;
        }
        "priority" => {
            let allowed = "use a whole number from -1000000 to 1000000";
            let number = |text: &str| {
                text.parse()
                    .ok()
                    .filter(|n| (-1_000_000..=1_000_000).contains(n))
            };
            let text = one(key, value, allowed)?;
            idea.priority = Some(number(&text).ok_or_else(|| bad(key, &text, allowed))?);
        }
        "review" => {
            let allowed = "use true or false";
            let text = one(key, value, allowed)?;
            let parsed = text.parse().map_err(|_| bad(key, &text, allowed))?;
            idea.review = Some(parsed);
        }
        _ => {
            let allowed = "use the name of a configured profile";
            let name = one(key, value, allowed)?;
            if !is_profile_name(&name) {
                return Err(bad(key, &name, allowed));
            }
            idea.profile = Some(name);
        }
    }
    Ok(())
}

fn bad(key: &'static str, found: &str, allowed: &'static str) -> Bad {
    let found = visible(&found.chars().take(80).collect::<String>());
    Bad::BadValue {
        key,
        found,
        allowed,
    }
}

fn one(key: &'static str, value: Value, allowed: &'static str) -> Result<String, Bad> {
    match value {
        Value::One(text) => Ok(text),
        Value::List(items) => Err(bad(key, &format!("[{}]", items.join(", ")), allowed)),
    }
}

fn list(
    key: &'static str,
    value: Value,
    max: usize,
    good: fn(&str) -> bool,
    allowed: &'static str,
) -> Result<Vec<String>, Bad> {
    let items = match value {
        Value::One(item) => vec![item],
        Value::List(items) => items,
    };
    match items.iter().find(|item| !good(item)) {
        Some(item) => Err(bad(key, item, allowed)),
        None if items.len() > max => Err(bad(key, &format!("({} items)", items.len()), allowed)),
        None => Ok(items),
    }
}

fn is_id(text: &str) -> bool {
    let ok = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.len() <= 64 && !text.starts_with('-') && text.bytes().all(ok)
}

/// Refuses a comma in a tag, because `tags: a, b` was meant as a list.
fn is_tag(text: &str) -> bool {
    let length = text.chars().count();
    !text.trim().is_empty()
        && length <= MAX_TAG_CHARS
        && !text.contains(|c: char| c.is_control() || c == ',')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_file_without_front_matter_is_all_text() {
        let idea = parse("\n\nMake it fast.\r\n\r\n--- not a setting\n").unwrap();
        assert_eq!(idea.text, "Make it fast.\n\n--- not a setting");
        assert_eq!(
            idea,
            InboxIdea {
                text: idea.text.clone(),
                ..InboxIdea::default()
            }
        );
    }

    #[test]
    fn front_matter_is_parsed_in_every_form() {
        let expected = InboxIdea {
            text: "  Do it.\n---\nreally".to_owned(),
            after: vec!["idea-001".to_owned(), "idea-002".to_owned()],
            tags: vec!["docs".to_owned(), "quick win".to_owned()],
            priority: Some(-5),
            profile: Some("finn".to_owned()),
            review: Some(true),
        };
        for text in [
            "---\nafter: [idea-001, idea-002]\ntags: [docs, \"quick win\",]\npriority: \
            -5\nprofile: finn\nreview: true\n---\n  Do it.\n---\nreally\n",
            "\u{feff}---  \r\n# first\r\nafter:\r\n  - idea-001 # one\r\n\r\n- \
            'idea-002'\r\ntags:\r\n  - docs\r\n  - quick win\r\npriority: '-5' # low\r\nprofile: \
            \"finn\"\r\nreview: 'true'\r\n--- \r\n\r\n  Do it.\r\n---\r\nreally",
        ] {
            assert_eq!(parse(text), Ok(expected.clone()));
        }
        let idea = parse("---\ntags: a#b\nafter: idea-009\n---\nx").unwrap();
        assert_eq!((&*idea.tags[0], &*idea.after[0]), ("a#b", "idea-009"));
        assert_eq!(
            parse("---\nafter:\ntags: []\n---\nx").unwrap().after,
            [""; 0]
        );
        assert_eq!(parse("---\n---\nx").unwrap().text, "x");
    }

    /// A file, and how the refusal begins.
    const INVALID: &[(&str, &str)] = &[
        ("", "line 1: the idea has no text"),
        (" \n\t\n", "line 1: the idea has no text"),
        ("---\npriority: 1\n---\n \n", "line 4: the idea has no text"),
        ("---\npriority: 1\n", "line 1: the front matter starts here"),
        ("a\nb\0", "line 2: found a NUL"),
        (
            "---\nprority: 1\n---\nx",
            "line 2: unknown key `prority`; did you mean `priority`?",
        ),
        ("---\ntitle: x\n---\nx", "line 2: unknown key `title`; "),
        (
            "---\ntags: [a]\n\ntags: [b]\n---\nx",
            "line 4: duplicate key `tags`",
        ),
        ("---\njust text\n---\nx", "line 2: cannot parse this line"),
        ("---\n- a\n---\nx", "line 2: cannot parse this line"),
        ("---\npriority:1\n---\nx", "line 2: cannot parse this line"),
        (
            "---\n  priority: 1\n---\nx",
            "line 2: cannot parse this line",
        ),
        (
            "---\ntags: [a, [b]]\n---\nx",
            "line 2: cannot parse this line",
        ),
        (
            "---\ntags: [a\n  b]\n---\nx",
            "line 2: cannot parse this line",
        ),
        (
            "---\ntags: [a,,b]\n---\nx",
            "line 2: cannot parse this line",
        ),
        (
            "---\ntags: {a: b}\n---\nx",
            "line 2: cannot parse this line",
        ),
        (
            "---\ntags: |\n  a\n---\nx",
            "line 2: cannot parse this line",
        ),
        (
            "---\ntags: \"a\\n\"\n---\nx",
            "line 2: cannot parse this line",
        ),
        (
            "---\ntags:\n  - a\n  - b: c\n---\nx",
            "line 4: cannot parse this line",
        ),
        ("---\ntags:\n  -a\n---\nx", "line 3: cannot parse this line"),
        (
            "---\ntags: a, b\n---\nx",
            "line 2: `tags: a, b` is not allowed; use at most 32 tags",
        ),
        (
            "---\nafter: [Idea 1]\n---\nx",
            "line 2: `after: Idea 1` is not allowed",
        ),
        (
            "---\nafter: [../x]\n---\nx",
            "line 2: `after: ../x` is not allowed",
        ),
        (
            "---\npriority: high\n---\nx",
            "line 2: `priority: high` is not allowed; use a whole number",
        ),
        ("---\npriority: 1e3\n---\nx", "line 2: `priority: 1e3`"),
        (
            "---\npriority: 99999999999999999999\n---\nx",
            "line 2: `priority: 99999",
        ),
        ("---\npriority: [1]\n---\nx", "line 2: `priority: [1]`"),
        ("---\npriority:\n---\nx", "line 2: `priority: []`"),
        (
            "---\nprofile: a/b\n---\nx",
            "line 2: `profile: a/b` is not allowed",
        ),
    ];

    #[test]
    fn invalid_front_matter_is_refused_with_its_line_number() {
        for (text, told) in INVALID {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.starts_with(told), "{text:?}: {error}");
        }
    }

    #[test]
    fn sizes_are_bounded() {
        let told = |text: &str| parse(text).unwrap_err().to_string();
        assert!(told(&"x".repeat(MAX_INBOX_BYTES + 1)).contains("the file is larger than 65536"));
        assert!(told(&"x".repeat(MAX_TEXT_BYTES + 1)).contains("the text is larger than 49152"));
        assert!(told(&"\"".repeat(MAX_TEXT_BYTES / 2 + 1)).contains("the text is larger"));
        assert!(parse(&"x".repeat(MAX_TEXT_BYTES)).is_ok());
        let tags = vec!["a"; 33].join(", ");
        assert!(told(&format!("---\ntags: [{tags}]\n---\nx")).contains("(33 items)"));
        let hostile = told("---\n\u{1b}[2J: 1\n---\nx");
        assert!(!hostile.contains('\u{1b}'), "{hostile:?}");
    }

    proptest! {
        #[test]
        fn any_text_yields_an_idea_or_an_error_with_a_line_number(text in "(---\n)?([a-z:\\[\\], \
            \"'#-]{0,12}\n){0,6}(---\n)?.{0,20}") {
            match parse(&text) {
                Ok(idea) => prop_assert!(!idea.text.trim().is_empty()),
                Err(error) => prop_assert!(error.line >= 1
                    && error.line <= text.split('\n').count() + 1),
            }
        }

        #[test]
        fn simple_front_matter_survives_a_round_trip(
            tags in prop::collection::vec("[a-z][a-z0-9-]{0,9}", 0..5),
            priority in -1000_i64..1000,
            text in "[a-z][a-z \n]{0,40}[a-z]",
        ) {
            let file = format!("---\ntags: [{}]\npriority: {priority}\n---\n{text}\n",
                tags.join(", "));
            let idea = parse(&file).unwrap();
            prop_assert_eq!((idea.tags, idea.priority, idea.text), (tags, Some(priority), text));
        }
    }
}
