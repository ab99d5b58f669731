//! What the work on an idea changes: its files and their lines, to read and to comment on.
//!
//! Invariant: a page has at most [`ROWS`] lines of a diff; the rest is a link away.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use maud::{Markup, html};

use super::diff_rows::rows;
use super::look::Look;
use crate::daemon::review::Wanted;
use crate::domain::ids::IdeaId;
use crate::view::patch::{self, FilePatch, Row};
use crate::view::{ChangedFile, MergeDiff};
use crate::web::document::Drawing;
use crate::web::pages::asked::Asked;
use crate::web::parts::{commit, icon, many, tinted};

/// Lines on one page.
const ROWS: usize = 400;
/// Files in the list.
const FILES: usize = 200;
/// A longer part of the patch is folded until somebody asks for it.
const LARGE: usize = 1 << 20;

/// What is known of the changes.
#[derive(Debug, Clone)]
pub enum Changes {
    /// No commit is known yet.
    None,
    /// They cannot be shown, and why.
    Unknown(String),
    /// These.
    Known(Box<MergeDiff>),
}

impl Changes {
    /// Has git compare: what landing would change now or, in the past, the commits of then.
    pub async fn load(asked: &Asked<'_>, id: &IdeaId) -> Option<Self> {
        let is_past = asked.moment.is_past();
        let wanted = asked.read(|state| {
            let merge = (!is_past).then(|| Wanted::of(state, id).ok()).flatten();
            merge.or_else(|| Wanted::commits(state, id))
        });
        let Some(wanted) = wanted else {
            return Some(Self::None);
        };
        Some(match asked.site.api.control.merge_diff(wanted).await {
            Ok(diff) => Self::Known(Box::new(diff)),
            Err(why) if is_past => {
                Self::Unknown(format!("the commits of then are no longer kept ({why})"))
            }
            Err(why) => Self::Unknown(why),
        })
    }

    /// Number of changed files.
    pub fn count(&self) -> Option<usize> {
        match self {
            Self::Known(diff) => Some(diff.files.len()),
            Self::None | Self::Unknown(_) => None,
        }
    }

    /// The changes; with `may_comment`, the script lets one comment on lines.
    pub fn draw(
        &self,
        drawing: &Drawing<'_>,
        id: &IdeaId,
        look: &Look,
        may_comment: bool,
    ) -> Markup {
        match self {
            Self::None => html! { p .sub.sec2 { "Nothing is committed yet." } },
            Self::Unknown(why) => html! {
                p .note.sec2 role="status" { (icon("warn")) " The changes cannot be shown: " (why) }
            },
            Self::Known(diff) => {
                let patches = matched(&diff.files, patch::files(&diff.diff));
                let may_comment = may_comment && !drawing.moment.is_past();
                Sheet {
                    drawing,
                    id,
                    look,
                    diff,
                    patches,
                    may_comment,
                }
                .draw()
            }
        }
    }
}

/// The parts of a patch that belong to each file: two if its type changed, otherwise one.
fn matched<'p>(files: &[ChangedFile], parts: Vec<FilePatch<'p>>) -> Vec<Option<FilePatch<'p>>> {
    let mut parts = parts.into_iter();
    let each = files.iter().map(|file| {
        let mut first = parts.next()?;
        if file.status == "typeChanged"
            && let Some(second) = parts.next()
        {
            first.hunks.extend(second.hunks);
            first.is_binary |= second.is_binary;
            first.bytes += second.bytes;
        }
        Some(first)
    });
    each.collect()
}

struct Sheet<'s> {
    drawing: &'s Drawing<'s>,
    id: &'s IdeaId,
    look: &'s Look,
    diff: &'s MergeDiff,
    patches: Vec<Option<FilePatch<'s>>>,
    may_comment: bool,
}

/// What a page shows of a file.
enum Shown {
    /// Its lines from one place to another.
    Lines(usize, usize),
    /// A sentence in their place.
    Words(&'static str),
    /// A link to a page of its own, and why.
    Link(String),
}

impl Sheet<'_> {
    fn draw(&self) -> Markup {
        let shown = self.shown();
        let diff = self.diff;
        html! {
            (self.bar())
            @if !diff.conflicts.is_empty() {
                p .note.sec2 { (icon("fork")) " In conflict with the target: "
                    (diff.conflicts.join(", "))
                    ". Shown is what the branch changed since it left." }
            }
            @if diff.truncated {
                p .note.sec2 { (icon("warn")) " The changes are too long; their end is not shown." }
            }
            @if diff.files.is_empty() {
                p .sub.sec2 { "It changes no file." }
            } @else {
                @if self.may_comment {
                    p #comment-hint .sub.sec2 hidden {
                        "Click the number of a line to comment on it, or type it beside the \
                        file's name; comments go back with the work."
                    }
                }
                section .sec.diffgrid aria-label="Changes" data-comments[self.may_comment] {
                    (self.list(&shown))
                    div { @for (index, file) in diff.files.iter().enumerate() {
                        @if let Some(shown) = shown.get(index).and_then(Option::as_ref) {
                            (self.file(index, file, shown))
                        }
                    } }
                }
            }
        }
    }

    fn bar(&self) -> Markup {
        let to = |is_split| {
            let look = Look {
                is_split,
                ..self.look.clone()
            };
            self.drawing.link(&look.address(self.id))
        };
        let current = |is_split| (self.look.is_split == is_split).then_some("true");
        html! {
            div .row.wrap.sec2 {
                span .dim { "Against " (commit(&self.diff.base)) }
                span .grow {}
                nav .seg aria-label="View" {
                    a href=(to(false)) aria-current=[current(false)] { "Unified" }
                    a href=(to(true)) aria-current=[current(true)] { "Split" }
                }
            }
        }
    }

    /// What this page shows of each file; `None`: not at all.
    fn shown(&self) -> Vec<Option<Shown>> {
        let mut left = ROWS;
        let files = self.diff.files.iter().zip(&self.patches);
        let each = files.map(|(file, patch)| {
            let is_chosen = self.look.file.as_ref().map(|chosen| *chosen == file.path);
            if is_chosen == Some(false) {
                return None;
            }
            let Some(patch) = patch else {
                return Some(Shown::Words("Not in the part of the changes that is kept."));
            };
            let rows: usize = patch.hunks.iter().map(|hunk| hunk.rows.len()).sum();
            if patch.is_binary {
                return Some(Shown::Words("A binary file."));
            }
            if rows == 0 {
                return Some(Shown::Words("No line changed."));
            }
            if patch.bytes > LARGE && is_chosen.is_none() {
                return Some(Shown::Link(format!("{} MB", patch.bytes.div_ceil(1 << 20))));
            }
            if left == 0 {
                return Some(Shown::Link(many(rows, "line")));
            }
            let from = if is_chosen.is_some() {
                self.look.from
            } else {
                0
            };
            let to = rows.min(from.saturating_add(left));
            left -= to.saturating_sub(from);
            Some(Shown::Lines(from, to))
        });
        each.collect()
    }

    fn to_file(&self, file: &ChangedFile, from: usize) -> String {
        let look = Look {
            file: Some(file.path.clone()),
            from,
            ..self.look.clone()
        };
        self.drawing.link(&look.address(self.id))
    }

    fn list(&self, shown: &[Option<Shown>]) -> Markup {
        let more = self.diff.files.len().saturating_sub(FILES);
        html! {
            div {
                ul .files { @for (index, file) in self.diff.files.iter().take(FILES).enumerate() {
                    @let is_here = matches!(shown.get(index), Some(Some(Shown::Lines(..))));
                    @let here = format!("#file-{index}");
                    @let to = if is_here { here } else { self.to_file(file, 0) };
                    li { a href=(to) {
                        span .cut title=(file.path) { bdi { (file.path) } }
                        (counts(file))
                    } }
                } }
                @if more > 0 { p .dim { "and " (many(more, "more file")) } }
                @if self.look.file.is_some() {
                    p { a href=(self.drawing.link(&Look {
                        file: None, from: 0, ..self.look.clone()
                    }.address(self.id))) { "All files" } }
                }
            }
        }
    }

    fn file(&self, index: usize, file: &ChangedFile, shown: &Shown) -> Markup {
        let patch = self.patches.get(index).and_then(Option::as_ref);
        html! {
            article #{ "file-" (index) } .card.clip.dfile data-path=(file.path) {
                header {
                    (tinted("open", "idle"))
                    h2 .any { @if let Some(from) = &file.from { code { (from) } " → " }
                        code { (file.path) } }
                    @if let Some((word, tone)) = kind(file) {
                        span class={ "tag " (tone) } { (word) }
                    }
                    span .grow {}
                    (counts(file))
                    @if let Some(patch) = patch {
                        label .row data-seen=(key(file, patch)) hidden {
                            input type="checkbox"; "Seen"
                        }
                    }
                }
                @match (shown, patch) {
                    (Shown::Lines(from, to), Some(patch)) => (self.lines(file, patch, *from, *to)),
                    (Shown::Words(words), _) => p .fold { (words) },
                    (Shown::Link(why), _) => p .fold {
                        "Folded, " (why) ". " a href=(self.to_file(file, 0)) { "Show it" }
                    },
                    (Shown::Lines(..), None) => "",
                }
            }
        }
    }

    fn lines(&self, file: &ChangedFile, patch: &FilePatch<'_>, from: usize, to: usize) -> Markup {
        let all: usize = patch.hunks.iter().map(|hunk| hunk.rows.len()).sum();
        let starts = patch.hunks.iter().scan(0, |next, hunk| {
            let start = *next;
            *next += hunk.rows.len();
            Some((start, hunk))
        });
        html! {
            @if from > 0 {
                p .fold { a href=(self.to_file(file, from.saturating_sub(ROWS))) {
                    "Show the lines before"
                } }
            }
            table .diff.split[self.look.is_split] {
                @if self.look.is_split {
                    colgroup { col width="40"; col; col width="40"; col; }
                } @else { colgroup { col width="40"; col width="40"; col width="18"; col; } }
                @for (start, hunk) in starts {
                    @let part = part(&hunk.rows, start, from, to);
                    @if !part.is_empty() {
                        tbody {
                            tr .hunk { td colspan="4" { (hunk_header(file, hunk.header)) } }
                            (rows(part, self.look.is_split))
                        }
                    }
                }
            }
            @if to < all {
                p .fold {
                    a href=(self.to_file(file, to)) { "Show the next lines" }
                    " (" (many(all - to, "more line")) ")"
                }
            }
        }
    }
}

/// The rows of a hunk that begins at row `start` of its file, as far as they are between two
/// places of the file.
fn part<'r, 'p>(rows: &'r [Row<'p>], start: usize, from: usize, to: usize) -> &'r [Row<'p>] {
    let first = from.saturating_sub(start).min(rows.len());
    let last = to.saturating_sub(start).min(rows.len());
    rows.get(first..last).unwrap_or_default()
}

fn hunk_header<'h>(file: &ChangedFile, header: &'h str) -> &'h str {
    match file.status {
        "added" => "new file",
        "deleted" => "deleted file",
        _ => header,
    }
}

/// The word for what happened to a file, unless its lines just changed.
fn kind(file: &ChangedFile) -> Option<(&'static str, &'static str)> {
    match file.status {
        "added" => Some(("new", "ok")),
        "deleted" => Some(("deleted", "bad")),
        "renamed" => Some(("renamed", "")),
        "typeChanged" => Some(("other type", "wait")),
        _ => None,
    }
}

fn counts(file: &ChangedFile) -> Markup {
    let count = |count: Option<u64>| count.filter(|count| *count > 0);
    html! {
        span .num {
            @if let Some(count) = count(file.insertions) { span .plus { "+" (count) } }
            @if let Some(count) = count(file.deletions) { " " span .minus { "−" (count) } }
            @if file.insertions.is_none() { span .dim { "binary" } }
        }
    }
}

/// What the browser remembers a file by that somebody has seen: another content is not seen.
fn key(file: &ChangedFile, patch: &FilePatch<'_>) -> String {
    let mut hasher = DefaultHasher::new();
    file.path.hash(&mut hasher);
    for row in patch.hunks.iter().flat_map(|hunk| &hunk.rows) {
        row.old.map(|line| line.text).hash(&mut hasher);
        row.new.map(|line| line.text).hash(&mut hasher);
    }
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, status: &'static str) -> ChangedFile {
        ChangedFile {
            path: path.into(),
            from: None,
            status,
            insertions: Some(1),
            deletions: None,
        }
    }

    #[test]
    fn a_file_of_another_type_has_two_parts_of_the_patch() {
        let part = |bytes| FilePatch {
            bytes,
            ..FilePatch::default()
        };
        let files = [
            file("a", "typeChanged"),
            file("b", "modified"),
            file("c", "added"),
        ];
        let matched = matched(&files, vec![part(1), part(2), part(4)]);
        let bytes: Vec<_> = matched
            .iter()
            .map(|it| it.as_ref().map(|it| it.bytes))
            .collect();
        assert_eq!(bytes, [Some(3), Some(4), None]);
    }

    #[test]
    fn parts_of_hunks_join_to_the_whole_file() {
        let row = Row {
            old: None,
            new: None,
            is_same: true,
        };
        let hunks = [vec![row; 3], vec![row; 5], vec![row; 2]];
        for step in 1..11 {
            let mut found = 0;
            for from in (0..10).step_by(step) {
                let mut start = 0;
                for hunk in &hunks {
                    found += part(hunk, start, from, from + step).len();
                    start += hunk.len();
                }
            }
            assert_eq!(found, 10, "in steps of {step}");
        }
    }
}
