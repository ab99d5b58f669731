//! Twenty layouts in which people have their repositories. In each one: landings, a conflict, a
//! `kill -9`, a checkpoint and a rollback. The person's checkout, index, stash, configuration and
//! hooks stay as they were, byte for byte, but for what landed.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::harness::{Fingerprint, Sandbox, git_format};

const LINES: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";

/// What is a person's in a checkout.
#[derive(Debug, PartialEq)]
struct Persons {
    config: String,
    stash: String,
    unstaged: String,
    staged: String,
    files: [String; 3],
}

/// A repository before swarm knows it.
fn repository() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("lines.txt", LINES);
    for name in ["mine.txt", "staged.txt", "src/lib.txt"] {
        sandbox.write(name, "as committed\n");
    }
    sandbox.commit("Base");
    sandbox
}

/// Uncommitted work of each kind, a stash and a hook.
fn work_by_hand(sandbox: &Sandbox, checkout: &Path) {
    let write = |name: &str, text: &str| fs::write(checkout.join(name), text).unwrap();
    write("mine.txt", "stashed\n");
    sandbox.git_in(checkout, &["stash", "push", "-q", "-m", "for later"]);
    write("mine.txt", "mine\n");
    write("staged.txt", "staged\n");
    sandbox.git_in(checkout, &["add", "staged.txt"]);
    write("untracked.txt", "untracked\n");
    let hook = hooks(sandbox, checkout).join("post-merge");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(&hook, Permissions::from_mode(0o755)).unwrap();
    sandbox.git_in(checkout, &["config", "person.note", "kept"]);
}

fn hooks(sandbox: &Sandbox, checkout: &Path) -> PathBuf {
    let words = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
    PathBuf::from(sandbox.git_in(checkout, &words)).join("hooks")
}

fn persons(sandbox: &Sandbox, checkout: &Path) -> Persons {
    let git = |words: &[&str]| sandbox.git_in(checkout, words);
    let read = |name: &str| fs::read_to_string(checkout.join(name)).unwrap();
    Persons {
        config: git(&["config", "--local", "--list"]),
        stash: git(&["stash", "list", "-p"]),
        unstaged: git(&["diff"]),
        staged: git(&["diff", "--cached"]),
        files: ["mine.txt", "staged.txt", "untracked.txt"].map(read),
    }
}

/// Lands, resolves, is killed, goes back and lands again in this layout.
fn lives_in(make: fn(&Sandbox) -> PathBuf) {
    let sandbox = repository();
    let checkout = make(&sandbox);
    let init = ["init", "--yes", "--agent", "command", "--target", "main"];
    sandbox.swarm(&init).ok();
    sandbox.configure(&serde_json::json!({"agents": {"maxParallel": 3}}));
    work_by_hand(&sandbox, &checkout);
    let before = persons(&sandbox, &checkout);
    let hooks = hooks(&sandbox, &checkout);
    let hooks_before = Fingerprint::of(&hooks);
    sandbox.swarm(&["checkpoint", "create", "base"]).ok();
    let base = sandbox.head("main");

    let change =
        |from: &str, to: &str| format!("sed 's/^{from}$/{to}/' lines.txt >new && mv new lines.txt");
    let ideas = [
        "write landed.txt x; commit; hold first; say COMPLETE".to_owned(),
        format!("{}; commit; hold lines; say COMPLETE", change("two", "TWO")),
        format!(
            "{}; commit; hold lines; say COMPLETE",
            change("three", "THREE")
        ),
    ];
    let ideas = ideas.map(|doing| sandbox.idea(&doing));
    let daemon = sandbox.spawn_daemon(&[]);
    sandbox.wait_held("first");
    daemon.kill();
    sandbox.release("first");
    sandbox.release("lines");
    assert_eq!(sandbox.run_until_idle(), 0);
    for id in &ideas {
        assert_eq!(sandbox.idea_status(id), "done");
    }
    let text = fs::read_to_string(checkout.join("lines.txt")).unwrap();
    assert_eq!(text, "one\nTWO\nTHREE\nfour\nfive\nsix\n");
    assert!(checkout.join("landed.txt").exists());
    assert_eq!(persons(&sandbox, &checkout), before, "after the landings");

    sandbox
        .swarm(&["rollback", "base", "--yes", "--resume"])
        .ok();
    assert_eq!(sandbox.head("main"), base);
    assert!(!checkout.join("landed.txt").exists());
    assert_eq!(persons(&sandbox, &checkout), before, "after the rollback");
    let again = sandbox.idea("write again.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0, "{:?}", sandbox.warnings());
    assert_eq!(sandbox.idea_status(&again), "done");
    assert!(checkout.join("again.txt").exists());
    assert_eq!(
        persons(&sandbox, &checkout),
        before,
        "after another landing"
    );
    hooks_before.assert_same(&Fingerprint::of(&hooks), "the hooks");
    // A sparse index names trees that git writes only with a commit.
    let as_person = ["-c", "user.name=Ann", "-c", "user.email=ann@localhost"];
    let commit = ["commit", "-q", "--no-verify", "-m", "By hand"];
    sandbox.git_in(&checkout, &[&as_person[..], &commit].concat());
    sandbox.assert_sound();
}

/// Declares a test for each layout, from what makes it of a usual repository.
macro_rules! layouts {
    ($($name:ident: $make:expr;)*) => { $(
        #[test]
        fn $name() {
            lives_in($make);
        }
    )* };
}

/// With these settings.
fn set(sandbox: &Sandbox, settings: &[[&str; 2]]) -> PathBuf {
    for [key, value] in settings {
        sandbox.git(&["config", key, value]);
    }
    sandbox.repo()
}

/// The git directory becomes that of a clone made with these options.
fn cloned(sandbox: &Sandbox, options: &[&str]) -> PathBuf {
    let (repo, origin, clone) = (
        sandbox.repo(),
        sandbox.path("origin"),
        sandbox.path("clone"),
    );
    let words = ["clone", "-q", "--bare"];
    let paths = [repo.to_str().unwrap(), origin.to_str().unwrap()];
    sandbox.git(&[&words[..], &paths].concat());
    sandbox.git_in(&origin, &["config", "uploadpack.allowFilter", "true"]);
    sandbox.git_in(
        &origin,
        &["config", "uploadpack.allowAnySHA1InWant", "true"],
    );
    let url = format!("file://{}", origin.display());
    let words = [&["clone", "-q", "--no-checkout"], options].concat();
    let paths = [&url, clone.to_str().unwrap()];
    sandbox.git(&[&words[..], &paths].concat());
    let exclude = fs::read(repo.join(".git/info/exclude")).unwrap();
    fs::remove_dir_all(repo.join(".git")).unwrap();
    fs::rename(clone.join(".git"), repo.join(".git")).unwrap();
    fs::create_dir_all(repo.join(".git/info")).unwrap();
    fs::write(repo.join(".git/info/exclude"), exclude).unwrap();
    sandbox.git(&["reset", "-q"]);
    repo
}

/// Created again with these options of `git init`.
fn recreated(sandbox: &Sandbox, options: &[&str]) -> PathBuf {
    if !git_format::are_known() {
        return sandbox.repo();
    }
    fs::remove_dir_all(sandbox.repo().join(".git")).unwrap();
    sandbox.git(&[&["init", "-q", "-b", "main"], options].concat());
    sandbox.commit("Base");
    sandbox.repo()
}

layouts! {
    a_usual_repository: Sandbox::repo;
    packed_references_and_objects: |sandbox| {
        sandbox.git(&["gc", "-q"]);
        sandbox.repo()
    };
    references_in_tables: |sandbox| recreated(sandbox, &["--ref-format=reftable"]);
    sha256_and_references_in_tables: |sandbox| {
        recreated(sandbox, &["--object-format=sha256", "--ref-format=reftable"])
    };
    a_git_directory_elsewhere: |sandbox| {
        let apart = sandbox.path("apart");
        sandbox.git(&["init", "-q", "--separate-git-dir", apart.to_str().unwrap()]);
        sandbox.repo()
    };
    a_git_directory_behind_a_link: |sandbox| {
        let (inside, apart) = (sandbox.repo().join(".git"), sandbox.path("apart"));
        fs::rename(&inside, &apart).unwrap();
        symlink(&apart, &inside).unwrap();
        sandbox.repo()
    };
    settings_of_a_single_worktree: |sandbox| {
        set(sandbox, &[["extensions.worktreeConfig", "true"]])
    };
    a_linked_worktree_with_the_target: |sandbox| {
        sandbox.git(&["checkout", "-q", "--detach"]);
        let linked = sandbox.path("linked");
        sandbox.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "main"]);
        linked
    };
    a_split_index: |sandbox| {
        set(sandbox, &[["core.splitIndex", "true"]]);
        sandbox.git(&["update-index", "--split-index"]);
        sandbox.repo()
    };
    an_index_of_version_4: |sandbox| {
        set(sandbox, &[["index.version", "4"]]);
        sandbox.git(&["update-index", "--index-version", "4"]);
        sandbox.repo()
    };
    settings_for_many_files: |sandbox| {
        set(sandbox, &[["feature.manyFiles", "true"], ["index.skipHash", "true"]]);
        sandbox.git(&["update-index", "--force-write-index"]);
        sandbox.repo()
    };
    a_sparse_checkout: |sandbox| {
        sandbox.git(&["sparse-checkout", "set", "--cone", "docs", ".swarm"]);
        sandbox.repo()
    };
    a_sparse_index: |sandbox| {
        sandbox.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "docs", ".swarm"]);
        sandbox.repo()
    };
    a_shallow_clone: |sandbox| cloned(sandbox, &["--depth", "1"]);
    a_partial_clone: |sandbox| cloned(sandbox, &["--filter=blob:none"]);
    a_clone_that_borrows_objects: |sandbox| {
        let repo = cloned(sandbox, &[]);
        let borrowed = sandbox.path("origin/objects");
        let line = format!("{}\n", borrowed.display());
        fs::write(repo.join(".git/objects/info/alternates"), line).unwrap();
        sandbox.git(&["repack", "-a", "-d", "-l", "-q"]);
        repo
    };
    line_ends_converted: |sandbox| {
        set(sandbox, &[["core.autocrlf", "input"], ["core.safecrlf", "false"]])
    };
    no_logs_of_references: |sandbox| set(sandbox, &[["core.logAllRefUpdates", "false"]]);
    a_cache_of_untracked_files: |sandbox| {
        set(sandbox, &[["core.untrackedCache", "true"], ["core.fileMode", "false"]]);
        sandbox.git(&["update-index", "--untracked-cache"]);
        sandbox.repo()
    };
    a_submodule: |sandbox| {
        let lib = sandbox.path("lib");
        fs::create_dir(&lib).unwrap();
        sandbox.git_in(&lib, &["init", "-q", "-b", "main"]);
        sandbox.git_in(&lib, &["-c", "user.name=a", "-c", "user.email=b", "commit", "-q",
            "--allow-empty", "-m", "Library"]);
        sandbox.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q",
            lib.to_str().unwrap(), "vendor/lib"]);
        sandbox.commit("Use the library");
        sandbox.repo()
    };
    settings_that_people_have: |sandbox| {
        set(sandbox, &[
            ["merge.conflictStyle", "zdiff3"],
            ["diff.noprefix", "true"],
            ["status.showUntrackedFiles", "no"],
            ["core.quotePath", "true"],
            ["rebase.autoStash", "true"],
            ["fetch.prune", "true"],
            ["push.default", "nothing"],
            ["i18n.commitEncoding", "ISO-8859-1"],
            ["color.ui", "always"],
        ])
    };
}
