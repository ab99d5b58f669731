//! What the probe of the layout finds, and that each way out leads out.

use std::path::Path;
use std::process::Command;

use swarm::git::{Finding, GitError, LayoutKind, Repo};

use crate::fixture::{Fixture, environment, git, places, read, settings, write};

fn only(fixture: &Fixture) -> Finding {
    let mut found = fixture.repo.probe_layout().unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// Does what the finding says, as a person would.
fn take_way_out(fixture: &Fixture, finding: &Finding) {
    let mut command = Command::new("sh");
    command
        .args(["-c", &finding.way_out])
        .current_dir(fixture.root());
    let done = command
        .envs(environment(fixture.dir.path()))
        .output()
        .unwrap();
    assert!(done.status.success(), "{finding:?} {done:?}");
    assert_eq!(fixture.repo.probe_layout().unwrap(), []);
}

#[test]
fn an_ordinary_repository_has_no_findings_and_no_worktree_is_left() {
    let fixture = Fixture::new();
    assert_eq!(fixture.repo.probe_layout().unwrap(), []);
    // Git reads this one in the main checkout only.
    let root = fixture.root();
    fixture.git(&["config", "core.worktree", root.to_str().unwrap()]);
    let repo = Repo::open_with(&root, settings(fixture.dir.path())).unwrap();
    assert_eq!(repo.probe_layout().unwrap(), []);
    assert_eq!(fixture.worktrees(), ["repo"]);
}

#[test]
fn a_work_tree_that_all_worktrees_share_blocks_until_it_is_the_checkouts_own() {
    let mut fixture = Fixture::new();
    let root = fixture.root();
    fixture.git(&["config", "core.worktree", root.to_str().unwrap()]);
    fixture.git(&["config", "extensions.worktreeConfig", "true"]);
    fixture.repo = Repo::open_with(&root, settings(fixture.dir.path())).unwrap();
    write(&root, "README", "hours of work\n");
    let found = only(&fixture);
    assert_eq!((found.kind, found.blocks), (LayoutKind::NotIsolated, true));
    take_way_out(&fixture, &found);
    fixture.repo = Repo::open_with(&root, settings(fixture.dir.path())).unwrap();
    assert_eq!(fixture.repo.root(), root);
    let agents = fixture.prepare(1).path;
    git(&agents, &["reset", "-q", "--hard"]);
    let top = git(&agents, &["rev-parse", "--show-toplevel"]);
    assert_eq!(top, agents.to_str().unwrap());
    assert_eq!(read(&root, "README"), "hours of work\n");
}

#[test]
fn a_branch_in_the_way_of_agents_branches_blocks() {
    let fixture = Fixture::new();
    fixture.git(&["branch", "agent"]);
    let found = only(&fixture);
    assert_eq!((found.kind, found.blocks), (LayoutKind::BranchName, true));
    take_way_out(&fixture, &found);
}

#[test]
fn a_sparse_checkout_without_the_configuration_is_found_in_both_modes() {
    for mode in ["--cone", "--no-cone"] {
        let fixture = Fixture::new();
        fixture.git(&["sparse-checkout", "set", mode, "src"]);
        let found = only(&fixture);
        assert_eq!(
            (found.kind, found.blocks),
            (LayoutKind::SparseConfig, false)
        );
        take_way_out(&fixture, &found);
        fixture.git(&["sparse-checkout", "set", mode, "src"]);
        assert!(fixture.repo.include_config().unwrap());
        assert_eq!(fixture.repo.probe_layout().unwrap(), []);
        assert!(!fixture.repo.include_config().unwrap());
    }
}

#[test]
fn a_checkout_that_a_tool_declared_bare_is_told_from_a_bare_repository() {
    let fixture = Fixture::new();
    fixture.git(&["config", "core.bare", "true"]);
    let refused = Repo::open_with(&fixture.root(), settings(fixture.dir.path())).unwrap_err();
    assert!(matches!(refused, GitError::Unsupported { .. }), "{refused}");
    let said = refused.to_string();
    assert!(said.contains("git config core.bare false"), "{said}");
}

#[test]
fn a_tag_in_the_way_of_the_tags_of_checkpoints_is_found() {
    let fixture = Fixture::new();
    fixture.git(&["tag", "swarm"]);
    let found = only(&fixture);
    assert_eq!((found.kind, found.blocks), (LayoutKind::TagName, false));
    take_way_out(&fixture, &found);
}

#[test]
fn files_that_look_changed_right_after_a_checkout_are_found() {
    let fixture = Fixture::new();
    fixture.commit(&[("src/crlf.txt", "one\r\ntwo\r\n")]);
    let attributes = |text| {
        write(&fixture.root(), ".gitattributes", text);
        fixture.git(&["add", ".gitattributes"]);
        fixture.git(&["commit", "-q", "-m", "Set attributes"]);
    };
    // Git leaves such a file as it is.
    attributes("* text=auto\n");
    assert_eq!(fixture.repo.probe_layout().unwrap(), []);
    attributes("*.txt text eol=lf\n");
    let found = only(&fixture);
    assert_eq!((found.kind, found.blocks), (LayoutKind::LineEnds, false));
    assert!(found.what.contains("src/crlf.txt"), "{}", found.what);
    take_way_out(&fixture, &found);
}

#[test]
fn a_linked_worktree_of_a_separate_git_directory_finds_the_checkout() {
    let fixture = Fixture::new();
    let root = fixture.root();
    let apart = fixture.dir.path().join("apart");
    fixture.git(&["init", "-q", "--separate-git-dir", apart.to_str().unwrap()]);
    let open = |dir: &Path| Repo::open_with(dir, settings(fixture.dir.path()));
    let repo = open(&root).unwrap();
    repo.settle_folder(&places(fixture.dir.path())).unwrap();
    let linked = fixture.dir.path().join("linked");
    fixture.git(&[
        "worktree",
        "add",
        "-q",
        "-b",
        "linked",
        linked.to_str().unwrap(),
    ]);
    assert_eq!(open(&linked).unwrap().root(), root);
    // The record counts only while that checkout is there.
    std::fs::rename(&root, fixture.dir.path().join("elsewhere")).unwrap();
    assert!(open(&linked).is_err());
}

#[test]
fn locks_and_unfinished_operations_are_named_with_their_commands() {
    let fixture = Fixture::new();
    assert_eq!(fixture.repo.leftovers(Some("main")).unwrap(), []);
    let lock = fixture.root().join(".git/index.lock");
    let file = std::fs::File::create(&lock).unwrap();
    let past = std::time::SystemTime::now() - std::time::Duration::from_secs(10_000);
    file.set_modified(past).unwrap();
    drop(file);
    let found = fixture.repo.leftovers(Some("main")).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].what.contains("for 2 h"), "{found:?}");
    assert_eq!(found[0].way_out, format!("rm {}", lock.display()));
    std::fs::remove_file(&lock).unwrap();
    fixture.git(&["bisect", "start"]);
    let found = fixture.repo.leftovers(Some("main")).unwrap();
    assert!(found[0].way_out.ends_with("bisect reset"), "{found:?}");
}

#[test]
fn a_start_is_refused_where_secrets_would_land_in_clear() {
    let fixture = Fixture::new();
    fixture.commit(&[
        (".gitattributes", "*.key filter=git-crypt\n"),
        ("a.key", "secret\n"),
    ]);
    let found = fixture.repo.layout_blockers().unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].kind, found[0].blocks), (LayoutKind::Filter, true));
    assert_eq!(found[0].way_out, "git-crypt unlock");
    fixture.git(&["config", "filter.git-crypt.clean", "cat"]);
    let repo = Repo::open_with(&fixture.root(), settings(fixture.dir.path())).unwrap();
    assert_eq!(repo.layout_blockers().unwrap(), []);
    fixture.commit(&[(".gitattributes", "*.bin filter=lfs\n"), ("a.bin", "x\n")]);
    assert_eq!(repo.layout_blockers().unwrap(), []);
    let notes = repo.layout_notes().unwrap();
    assert!(
        notes.iter().any(|it| it.kind == LayoutKind::Filter),
        "{notes:?}"
    );
}
