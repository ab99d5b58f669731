//! A project with a submodule, from the setup to the landing.

use std::fs;

use serde_json::json;

use crate::harness::Sandbox;

/// The file protocol is off by default in submodules.
const UPDATE: &str = "git -c protocol.file.allow=always submodule update -q --init";
/// Passes only with the commit of `lib` that the tree records.
const CHECK: &str = "cmp lib/file wanted.txt";

/// The repository has the submodules of these names; `library` is where they come from.
pub fn project(names: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    let library = sandbox.path("library");
    fs::create_dir(&library).unwrap();
    sandbox.git_in(&library, &["init", "-q", "-b", "main"]);
    change_library(&sandbox, "one\n");
    for name in names {
        let from = library.to_str().unwrap();
        let allow = ["-c", "protocol.file.allow=always"];
        let add = ["submodule", "add", "-q", from, name];
        sandbox.git(&[&allow[..], &add].concat());
    }
    sandbox.write("wanted.txt", "one\n");
    sandbox.commit("Add submodules");
    sandbox.set_up();
    sandbox
}

fn change_library(sandbox: &Sandbox, text: &str) {
    let library = sandbox.path("library");
    fs::write(library.join("file"), text).unwrap();
    sandbox.git_in(&library, &["add", "-A"]);
    sandbox.git_in(&library, &["commit", "-q", "-m", "Change"]);
}

#[test]
fn a_submodule_that_a_person_moves_stays_moved_and_work_inside_it_is_kept() {
    let sandbox = project(&["lib"]);
    sandbox.configure(&json!({
        "worktree": {"setup": [UPDATE]},
        "qualityCommands": [CHECK],
        "checks": {"baseline": "require"},
    }));
    let first = sandbox.idea(&format!("{CHECK} || exit 1; write a.txt x; say COMPLETE"));
    let second = sandbox.idea_with(
        &format!("{CHECK} || exit 1; write lib/new x; write b.txt x; say COMPLETE"),
        &["--after", &first],
    );
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&second), "done");
    let kept = sandbox.worktrees().join(format!(".kept-ed-002-{second}"));
    assert_eq!(
        fs::read_to_string(kept.join("lib/new")).unwrap().trim(),
        "x"
    );
    change_library(&sandbox, "two\n");
    let lib = sandbox.repo().join("lib");
    sandbox.git_in(&lib, &["pull", "-q"]);
    sandbox.write("wanted.txt", "two\n");
    sandbox.commit("Move the submodule");
    let moved = sandbox.git(&["rev-parse", "main:lib"]);
    let third = sandbox.idea(&format!("{CHECK} || exit 1; write c.txt x; say COMPLETE"));
    let before = sandbox.logged("iterationStarted").len();
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&third), "done");
    assert_eq!(sandbox.logged("iterationStarted").len(), before + 1);
    assert_eq!(sandbox.git(&["rev-parse", "main:lib"]), moved);
    sandbox.assert_sound();
}
