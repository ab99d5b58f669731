//! The table of ideas.

use serde_json::Value;

use super::{status_words, tone_of_status, usage};
use crate::cli::json::{text, texts};
use crate::cli::output::Output;
use crate::cli::output::table::Rows;
use crate::cli::output::terminal::{Tone, title};

/// Ideas as a table; a column without any value is left out.
pub fn ideas(output: &Output, ideas: &[Value]) -> Vec<String> {
    const TITLE: usize = 4;
    // Review, tags, after, cost and priority.
    const LEFT_OUT: [usize; 5] = [7, 6, 5, 3, 2];
    let headings = [
        "ID", "STATUS", "PRIORITY", "COST", "TITLE", "AFTER", "TAGS", "REVIEW",
    ];
    let rows: Vec<[(Tone, String); 8]> = ideas.iter().map(|idea| idea_row(output, idea)).collect();
    let is_used = |column: &usize| rows.iter().any(|row| !row[*column].1.is_empty());
    let used: Vec<usize> = (0..headings.len()).filter(is_used).collect();
    let shown: Vec<&str> = used.iter().map(|column| headings[*column]).collect();
    let among_shown = |columns: &[usize]| -> Vec<usize> {
        let columns = columns.iter();
        let places = columns.filter_map(|column| used.iter().position(|other| other == column));
        places.collect()
    };
    let table = Rows::new(output, &shown, &among_shown(&[TITLE]));
    let mut table = table.leave_out(&among_shown(&LEFT_OUT));
    for row in &rows {
        let cells = used.iter().map(|column| &row[*column]);
        let cells: Vec<(Tone, &str)> = cells.map(|(tone, text)| (*tone, text.as_str())).collect();
        table.row(&cells);
    }
    table.lines()
}

fn idea_row(output: &Output, idea: &Value) -> [(Tone, String); 8] {
    let status = text(idea, "status");
    let priority = match idea.get("priority").and_then(Value::as_i64) {
        None | Some(0) => String::new(),
        Some(priority) => priority.to_string(),
    };
    // The table cuts a title to the terminal; more than the terminal is wide need not go there.
    let longest = output
        .width
        .map_or(usize::MAX, |width| usize::from(width) + 1);
    let cost = idea.get("used").map_or_else(String::new, usage::cost);
    [
        (Tone::Plain, text(idea, "id").to_owned()),
        (tone_of_status(status), status_words(idea)),
        (Tone::Plain, priority),
        (Tone::Dim, cost),
        (Tone::Plain, title(text(idea, "content"), longest)),
        (Tone::Dim, texts(idea, "after").join(", ")),
        (Tone::Dim, texts(idea, "tags").join(", ")),
        (Tone::Dim, review(idea).to_owned()),
    ]
}

/// Whether a person must approve its work.
pub(super) fn review(idea: &Value) -> &'static str {
    if idea["review"] == true { "yes" } else { "" }
}
