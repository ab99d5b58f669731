//! Placeholders in the values of `worktree.env`, such as `{port}`.
//!
//! Invariant: pure. A placeholder is a name of ASCII letters, digits, `_` and `-` in braces; any
//! other brace stands for itself. Called by `cross_checks` and by the daemon.

/// The names of all placeholders.
pub(super) const NAMES: [&str; 3] = ["port", "slot", "db"];

/// What a worktree gives its placeholders; `None`: the placeholder has no value there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placeholders {
    /// `{port}`: first of its ports.
    pub port: Option<u16>,
    /// `{slot}`: its number.
    pub slot: Option<u16>,
    /// `{db}`: a name for a database.
    pub db: Option<String>,
}

impl Placeholders {
    /// The text with its placeholders replaced; `None` if one of them has no value.
    pub fn fill(&self, text: &str) -> Option<String> {
        let mut filled = String::with_capacity(text.len());
        for piece in pieces(text) {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Name(name) => filled.push_str(&self.value(name)?),
            }
        }
        Some(filled)
    }

    fn value(&self, name: &str) -> Option<String> {
        match name {
            "port" => self.port.map(|port| port.to_string()),
            "slot" => self.slot.map(|slot| slot.to_string()),
            "db" => self.db.clone(),
            _ => None,
        }
    }
}

/// The first placeholder that nobody knows.
pub(super) fn unknown(text: &str) -> Option<&str> {
    pieces(text).into_iter().find_map(|piece| match piece {
        Piece::Name(name) if !NAMES.contains(&name) => Some(name),
        Piece::Name(_) | Piece::Text(_) => None,
    })
}

enum Piece<'a> {
    Text(&'a str),
    Name(&'a str),
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let of_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, after) = rest.split_at(open + 1);
        let end = after.find(|c| !of_name(c)).unwrap_or(after.len());
        if end > 0 && after[end..].starts_with('}') {
            pieces.push(Piece::Text(&before[..open]));
            pieces.push(Piece::Name(&after[..end]));
            rest = &after[end + 1..];
        } else {
            pieces.push(Piece::Text(before));
            rest = after;
        }
    }
    pieces.push(Piece::Text(rest));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_slot() -> Placeholders {
        Placeholders {
            port: Some(20_060),
            slot: Some(3),
            db: Some("shop_3".into()),
        }
    }

    #[test]
    fn placeholders_are_replaced_and_other_braces_stay() {
        let filled = |text| of_slot().fill(text);
        let url = filled("postgres://localhost:{port}/{db}?slot={slot}");
        let expected = "postgres://localhost:20060/shop_3?slot=3";
        assert_eq!(url.as_deref(), Some(expected));
        for plain in [r#"{"port": 1}"#, "{}", "{", "a{b", "{ port }", ""] {
            assert_eq!(filled(plain).as_deref(), Some(plain));
            assert_eq!(unknown(plain), None);
        }
        assert_eq!(filled("{{port}}").as_deref(), Some("{20060}"));
    }

    #[test]
    fn a_text_whose_placeholder_has_no_value_is_left_out() {
        let without = Placeholders {
            port: None,
            ..of_slot()
        };
        assert_eq!(without.fill("{db}:{port}"), None);
        assert_eq!(without.fill("{db}").as_deref(), Some("shop_3"));
    }

    #[test]
    fn an_unknown_placeholder_is_found() {
        assert_eq!(unknown("{port}{prot}"), Some("prot"));
        assert_eq!(unknown("${HOME}/x"), Some("HOME"));
        assert!(NAMES.iter().all(|name| of_slot().value(name).is_some()));
    }
}
