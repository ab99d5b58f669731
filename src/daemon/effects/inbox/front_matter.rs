//! Parses the subset of YAML that inbox front matter uses: strings, `[a, b]`, and lines `- a`.
//!
//! Invariant: anything else is [`Unreadable`], never guessed.

/// The line is outside the supported subset of YAML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unreadable;

/// The value of a key.
pub(crate) enum Value {
    One(String),
    List(Vec<String>),
}

/// Strips a comment: `#` at the start or after whitespace, outside quotes.
pub(crate) fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (index, c) in line.char_indices() {
        match quote {
            None if c == '#' && before.is_whitespace() => return &line[..index],
            None if (c == '"' || c == '\'')
                && (before.is_whitespace() || "[,".contains(before)) =>
            {
                quote = Some(c);
            }
            Some(open) if c == open => quote = None,
            _ => {}
        }
        before = c;
    }
    line
}

/// Parses a value on the line of its key: a string or `[a, b]`.
pub(crate) fn inline_value(value: &str) -> Result<Value, Unreadable> {
    let Some(inside) = value.strip_prefix('[') else {
        return scalar(value).map(Value::One);
    };
    let inside = inside.strip_suffix(']').ok_or(Unreadable)?.trim();
    let inside = inside.strip_suffix(',').unwrap_or(inside);
    if inside.is_empty() {
        return Ok(Value::List(Vec::new()));
    }
    let items: Result<Vec<String>, Unreadable> =
        inside.split(',').map(|item| scalar(item.trim())).collect();
    items.map(Value::List)
}

/// Parses the leading lines `- a`; returns the items and how many lines they take. An error carries
/// the index of its line.
pub(crate) fn block_items(lines: &[&str]) -> Result<(Vec<String>, usize), (usize, Unreadable)> {
    let mut items = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let content = without_comment(line).trim();
        match content.strip_prefix('-') {
            Some(item) if item.starts_with([' ', '\t']) => {
                items.push(scalar(item.trim()).map_err(|why| (index, why))?);
            }
            Some(_) => return Err((index, Unreadable)),
            None if content.is_empty() => {}
            None => return Ok((items, index)),
        }
    }
    Ok((items, lines.len()))
}

/// Parses one string: plain, or in quotes without escapes.
fn scalar(text: &str) -> Result<String, Unreadable> {
    for quote in ['"', '\''] {
        if let Some(rest) = text.strip_prefix(quote) {
            let inside = rest.strip_suffix(quote).ok_or(Unreadable)?;
            let plain = !inside.contains([quote, '\\']);
            return plain.then(|| inside.to_owned()).ok_or(Unreadable);
        }
    }
    let special = text.is_empty()
        || text.starts_with([
            '[', ']', '{', '}', '&', '*', '!', '|', '>', '%', '@', '`', ',', '?',
        ])
        || text.contains(": ")
        || text.ends_with(':')
        || text.starts_with("- ");
    if special {
        Err(Unreadable)
    } else {
        Ok(text.to_owned())
    }
}
