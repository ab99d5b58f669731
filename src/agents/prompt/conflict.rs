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
    format!(
        "{CONFLICT_HEADING}\n\nThe work on this idea is being merged into `{}`, but git could not \
        combine it with what has landed there meanwhile. This worktree holds the half-merged \
        state. These files have conflict markers (`<<<<<<<`, `=======`, `>>>>>>>`):\n\n{}\n- What \
        has landed meanwhile: {}\n- What was done for this idea: {}\n\nEdit each of these files so \
        that it does what both sides intended and no marker is left. Change nothing else, and do \
        not abort the merge. You need not commit: swarm takes the files as you leave them.\n",
        name(&brief.target_branch),
        cut(&files, budget::CONFLICT_FILES),
        side(&brief.ours),
        side(&brief.theirs),
    )
}
