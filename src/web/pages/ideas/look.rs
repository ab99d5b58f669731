//! How the changes of an idea are shown: a part of the address.

use crate::domain::ids::IdeaId;
use crate::web::document::encoded;
use crate::web::pages::asked::Query;

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// Before and after side by side.
    pub is_split: bool,
    /// Only this file.
    pub file: Option<String>,
    /// Lines of it that come before.
    pub from: usize,
}

impl Look {
    /// From the query of an address.
    pub fn of(query: &Query) -> Self {
        let from = query.get("from").and_then(|from| from.parse().ok());
        Self {
            is_split: query.get("view") == Some("split"),
            file: query.get("file").map(str::to_owned),
            from: from.unwrap_or(0),
        }
    }

    /// The address of the changes of this idea.
    pub fn address(&self, id: &IdeaId) -> String {
        let split = if self.is_split { "&view=split" } else { "" };
        let file = self.file.as_ref();
        let file = file.map_or_else(String::new, |file| format!("&file={}", encoded(file)));
        let from = match self.from {
            0 => String::new(),
            from => format!("&from={from}"),
        };
        format!("ideas/{id}?tab=changes{split}{file}{from}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_and_its_look_are_the_same() {
        let look = Look {
            is_split: true,
            file: Some("a b&c/ü.txt".into()),
            from: 400,
        };
        let id = crate::view::testkit::id(3);
        let address = look.address(&id);
        let query = address.split_once('?').map_or("", |(_, query)| query);
        assert_eq!(Look::of(&Query::of(query)), look);
    }
}
