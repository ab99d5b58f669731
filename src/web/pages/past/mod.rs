//! The pages of what happened.

pub mod changes;
pub mod cost;
pub mod events;
pub mod report;
pub mod timeline;

use crate::web::pages::asked::Query;

/// Instead of what needs the log, while it is read for the first time.
pub(super) const READING: &str = "The event log is being read. Load this page again in a moment.";

/// A query with another value; another choice begins at the first page.
fn pick(query: &Query, name: &str, value: &str) -> String {
    let text = query.text();
    let others = form_urlencoded::parse(text.as_bytes())
        .filter(|(its, value)| its != name && its != "page" && !value.is_empty());
    let mut text = form_urlencoded::Serializer::new(String::new());
    text.extend_pairs(others);
    text.append_pair(name, value);
    text.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_choice_keeps_the_others_and_begins_at_the_first_page() {
        let query = Query::of("by=agent&last=7h&page=3&kind=");
        assert_eq!(pick(&query, "last", "all"), "by=agent&last=all");
        assert_eq!(pick(&query, "page", "4"), "by=agent&last=7h&page=4");
    }
}
