//! The same promises hold in each format that git has for objects and references.

use crate::git_format;

#[test]
fn all_tests_of_this_room_pass_in_the_other_formats_of_git() {
    git_format::run_again(&["--skip", "formats::"]);
}
