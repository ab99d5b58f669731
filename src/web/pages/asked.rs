//! What a browser asks of a page: the moment, the query, and whether it has the page already.

use std::sync::Arc;

use crate::domain::state::State;
use crate::web::Site;
use crate::web::document::{Drawing, Page};
use crate::web::moment::Moment;

/// A page that has everything it shows.
pub trait Ready: Send {
    /// Draws it. No input or output.
    fn page(&self, drawing: &Drawing<'_>) -> Page;
}

/// See the module.
pub struct Asked<'a> {
    /// The pages of this repository.
    pub site: &'a Arc<Site>,
    /// The moment to show.
    pub moment: &'a Moment,
    /// The query, without the moment.
    pub query: &'a Query,
    /// Whether this is for a live update: what no fragment shows need not be loaded, and what is
    /// costly to load should come from what was loaded before.
    pub is_update: bool,
}

impl Asked<'_> {
    /// Reads the state of the moment. `read` must be short: the actor waits for it.
    pub fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        self.moment.read(self.site, read)
    }
}

/// The query of an address: names with values, decoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// From its text; the moment (`at`) is left out.
    pub fn of(text: &str) -> Self {
        let pairs = form_urlencoded::parse(text.as_bytes()).into_owned();
        Self(pairs.filter(|(name, _)| name != "at").collect())
    }

    /// The first value of this name, unless it is empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(its, _)| its == name);
        let found = found.map(|(_, value)| value.as_str());
        found.filter(|value| !value.is_empty())
    }

    /// All values of this name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.0.iter().filter(move |(its, _)| its == name);
        named.map(|(_, value)| value.as_str())
    }

    /// The number of a page of a list, from 0.
    pub fn page(&self) -> usize {
        self.get("page")
            .and_then(|page| page.parse().ok())
            .unwrap_or(0)
    }

    /// As it stands in an address: `status=failed&page=2`; empty without any.
    pub fn text(&self) -> String {
        let mut text = form_urlencoded::Serializer::new(String::new());
        text.extend_pairs(&self.0);
        text.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_decoded_and_leaves_the_moment_out() {
        let query = Query::of("q=a%20b+c&at=17&tag=x&tag=y&empty=");
        assert_eq!(query.get("q"), Some("a b c"));
        assert_eq!(query.get("at"), None);
        assert_eq!(query.get("empty"), None);
        assert_eq!(query.all("tag").collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!(query.text(), "q=a+b+c&tag=x&tag=y&empty=");
    }
}
