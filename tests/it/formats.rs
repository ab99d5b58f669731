//! The whole program works in each format that git has for objects and references.

use crate::harness::git_format;

#[test]
fn landings_conflicts_checkpoints_and_rollbacks_work_in_the_other_formats_of_git() {
    git_format::run_again(&[
        "merging::",
        "conflicts::",
        "checkpoints::",
        "checkpoint_references::",
        "moves::",
        "commits_of_swarm::",
        "lent_worktrees::",
    ]);
}
