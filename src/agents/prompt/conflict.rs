//! The section for a resolver: which files are in conflict, and what each side did.

use super::{CONFLICT_HEADING, ConflictBrief, add, budget, cut, name};
use crate::agents::text::one_line;

/// The section.
pub(super) fn section(brief: &ConflictBrief) -> String {
    let mut files = String::new();
    for file in &brief.files {
        add(&mut files, format_args!("- `{}`\n", one_line(file)));
    }
    let side = |description: &str| cut(one_line(description).as_str(), budget::CONFLICT_SIDE);
    let saved = brief.saved.as_ref().map_or_else(String::new, |commit| {
        format!(
            "\nThe target has moved since this conflict was first worked on, so the merge was \
            started again. What had been resolved until then is in commit `{commit}` (git show \
            {commit}:FILE). Files that the target has not changed since are already restored \
            here; use the rest where it still fits.\n"
        )
    });
    format!(
        "{CONFLICT_HEADING}\n\nThe work on this idea is being merged into `{}`, but git could not \
        combine it with what has landed there meanwhile. This worktree holds the half-merged \
        state. These files have conflict markers (`<<<<<<<`, `=======`, `>>>>>>>`):\n\n{}\n- What \
        has landed meanwhile: {}\n- What was done for this idea: {}\n\nEdit each of these files so \
        that it does what both sides intended and no marker is left. Change nothing else, and do \
        not abort the merge. You need not commit: swarm takes the files as you leave \
        them.\n{saved}",
        name(&brief.target_branch),
        cut(&files, budget::CONFLICT_FILES),
        side(&brief.ours),
        side(&brief.theirs),
    )
}
