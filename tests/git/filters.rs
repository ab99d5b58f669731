//! Worktrees of repositories whose files need more than git: filters that look for something in the
//! git directory, their programs, and the remote of a partial clone.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use swarm::git::{CONTROL, GitError, KeepIgnored, LandOutcome, Oid, Repo, Sealed, TreeAt, VERIFY};

use crate::commit_leftovers::want as seal;
use crate::fixture::{
    Fixture, branch, commit_in, environment, git, name, places, read, settings, try_git, write,
};
use crate::landing::land;
use crate::merging::{built, merge};
use crate::required_tools::are_missing;

/// What `fixture.repo` would be if it was opened now, as a daemon that starts does.
fn opened(fixture: &Fixture) -> Repo {
    let repo = Repo::open_with(&fixture.root(), settings(fixture.dir.path())).unwrap();
    repo.settle_folder(&places(fixture.dir.path())).unwrap();
    repo
}

/// Opens the repository again, after what a test did to it.
fn reopen(mut fixture: Fixture) -> Fixture {
    fixture.repo = opened(&fixture);
    fixture
}

/// Runs a program in the repository; panics if it fails.
fn run(fixture: &Fixture, program: &str, args: &[&str]) {
    let mut command = Command::new(program);
    command.args(args).envs(environment(fixture.dir.path()));
    let output = command.current_dir(fixture.root()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}: {said}");
}

fn blob(dir: &Path, name: &str) -> Vec<u8> {
    let output = try_git(dir, &["cat-file", "blob", name]);
    assert!(output.status.success(), "{name}");
    output.stdout
}

/// A repository with git-crypt and a secret.
fn with_git_crypt() -> Fixture {
    let fixture = Fixture::new();
    run(&fixture, "git-crypt", &["init"]);
    fixture.commit(&[
        (".gitattributes", "*.key filter=git-crypt diff=git-crypt\n"),
        ("a.key", "secret\n"),
    ]);
    assert!(blob(&fixture.root(), "main:a.key").starts_with(b"\0GITCRYPT"));
    reopen(fixture)
}

/// Every kind of worktree has this file with this content, and git finds nothing changed in it.
fn every_worktree_has(fixture: &Fixture, file: &str, content: &str) {
    let (repo, main) = (&fixture.repo, fixture.oid("main"));
    let mut paths = vec![fixture.prepare(1).path];
    for name in [VERIFY, CONTROL] {
        let tree = repo.verify_tree(name, main, &KeepIgnored::All).unwrap();
        paths.push(tree.path);
    }
    let files = TreeAt {
        commit: main,
        tree: main,
    };
    paths.push(repo.make_replay_tree(files).unwrap());
    for path in &paths {
        assert_eq!(read(path, file), content, "{}", path.display());
        assert_eq!(git(path, &["status", "--porcelain"]), "");
    }
    repo.discard_replay_tree().unwrap();
}

/// Work with a changed file, committed by its agent and by swarm, lands; gives the objects.
fn lands(fixture: &Fixture, file: &str, content: &str) -> (Vec<u8>, Vec<u8>) {
    let repo = &fixture.repo;
    let path = repo.worktree_path(&name(1));
    commit_in(&path, &[(file, content)]);
    write(&path, &format!("left.{file}"), content);
    let Sealed::Done { head, .. } = repo.seal(&seal(fixture, 1)).unwrap() else {
        panic!("not sealed");
    };
    assert!(repo.inspect(&name(1), fixture.oid("main"), None).is_ok());
    let commit = built(&repo.build_merge(&merge(head)).unwrap());
    let tree = repo.verify_tree(VERIFY, commit, &KeepIgnored::All).unwrap();
    assert_eq!(read(&tree.path, file), content);
    let landed = repo.land(&land(fixture, commit)).unwrap();
    assert_eq!(landed, LandOutcome::Landed);
    assert_eq!(read(&fixture.root(), file), content);
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
    let object = |name: &str| blob(&fixture.root(), &format!("main:{name}"));
    (object(file), object(&format!("left.{file}")))
}

#[test]
fn every_worktree_of_a_repository_with_git_crypt_is_unlocked_and_nothing_lands_in_clear() {
    if are_missing(&["git-crypt"]) {
        return;
    }
    let fixture = with_git_crypt();
    every_worktree_has(&fixture, "a.key", "secret\n");
    let (changed, left) = lands(&fixture, "a.key", "new secret\n");
    for object in [changed, left] {
        assert!(object.starts_with(b"\0GITCRYPT"), "a secret is in clear");
    }
    fixture.check();
}

#[test]
fn the_files_of_git_lfs_are_in_every_worktree_and_land_as_pointers() {
    if are_missing(&["git-lfs"]) {
        return;
    }
    let fixture = Fixture::new();
    run(&fixture, "git-lfs", &["install", "--local", "--skip-repo"]);
    fixture.commit(&[
        (
            ".gitattributes",
            "*.bin filter=lfs diff=lfs merge=lfs -text\n",
        ),
        ("a.bin", "large\n"),
    ]);
    let pointer: &[u8] = b"version https://git-lfs";
    assert!(blob(&fixture.root(), "main:a.bin").starts_with(pointer));
    let fixture = reopen(fixture);
    every_worktree_has(&fixture, "a.bin", "large\n");
    let (changed, left) = lands(&fixture, "a.bin", "larger\n");
    for object in [changed, left] {
        assert!(object.starts_with(pointer), "it is no pointer");
    }
    fixture.check();
}

#[test]
fn files_of_git_lfs_that_are_not_here_yet_are_fetched_or_left_out_as_the_person_wants() {
    if are_missing(&["git-lfs"]) {
        return;
    }
    let up = Fixture::new();
    run(&up, "git-lfs", &["install", "--local", "--skip-repo"]);
    up.commit(&[
        (
            ".gitattributes",
            "*.bin filter=lfs diff=lfs merge=lfs -text\n",
        ),
        ("a.bin", "large\n"),
    ]);
    // A clone without the filter has only pointers.
    let dir = tempfile::tempdir().unwrap();
    let from = format!("file://{}", up.root().display());
    git(dir.path(), &["clone", "-q", &from, "repo"]);
    let root = dir.path().join("repo");
    let mut fixture = Fixture {
        repo: Repo::open_with(&root, settings(dir.path())).unwrap(),
        dir,
    };
    run(&fixture, "git-lfs", &["install", "--local", "--skip-repo"]);
    let mut settings = settings(fixture.dir.path());
    let skip = ("GIT_LFS_SKIP_SMUDGE".into(), "1".into());
    settings.environment.push(skip);
    fixture.repo = Repo::open_with(&root, settings).unwrap();
    let places = places(fixture.dir.path());
    fixture.repo.settle_folder(&places).unwrap();
    let path = fixture.prepare(1).path;
    assert!(read(&path, "a.bin").starts_with("version https://git-lfs"));
    assert_eq!(git(&path, &["status", "--porcelain"]), "");
    let fixture = reopen(fixture);
    assert_eq!(read(&fixture.prepare(2).path, "a.bin"), "large\n");
}

/// A program that the fixture's git can start, in its folder.
fn program(fixture: &Fixture, name: &str, script: &str) -> String {
    let path = fixture.dir.path().join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A filter that exchanges letters, with a key in the git directory.
const WITH_KEY: &str = "[ -r \"$(git rev-parse --git-dir)/toy/key\" ] || \
    { echo no key >&2; exit 1; }\ntr a-z n-za-m";

/// A repository with a required filter of this program, and a file that goes through it.
fn with_filter(script: &str) -> Fixture {
    let fixture = Fixture::new();
    let filter = program(&fixture, "filter", script);
    for (key, value) in [
        ("filter.toy.clean", filter.as_str()),
        ("filter.toy.smudge", filter.as_str()),
        ("filter.toy.required", "true"),
    ] {
        fixture.git(&["config", key, value]);
    }
    fs::create_dir(fixture.root().join(".git/toy")).unwrap();
    write(&fixture.root(), ".git/toy/key", "k");
    fixture.commit(&[(".gitattributes", "*.toy filter=toy\n"), ("a.toy", "abc\n")]);
    reopen(fixture)
}

fn refused(fixture: &Fixture) -> GitError {
    fixture.repo.prepare_worktree(&fixture.want(1)).unwrap_err()
}

#[test]
fn a_filter_gets_the_folder_of_the_git_directory_that_is_named_for_it() {
    let fixture = with_filter(WITH_KEY);
    let error = refused(&fixture);
    assert!(error.is_of_content(), "{error}");
    assert!(error.to_string().contains("no key"), "{error}");
    let advice = error.content_advice();
    assert!(advice.contains("worktree.gitDirLinks"), "{advice}");
    assert_eq!(fixture.worktrees(), ["repo"], "nothing is left");

    fixture.repo.link_git_dirs(&["toy".into()]);
    every_worktree_has(&fixture, "a.toy", "abc\n");
    let (changed, left) = lands(&fixture, "a.toy", "abcd\n");
    assert_eq!((changed, left), (b"nopq\n".into(), b"nopq\n".into()));
    fixture.check();
}

#[test]
fn what_git_keeps_for_itself_is_not_linked_whoever_asks() {
    let fixture = Fixture::new();
    let names = ["HEAD", "objects", "index", "swarm", "../x"];
    fixture.repo.link_git_dirs(&names.map(str::to_owned));
    let path = fixture.prepare(1).path;
    let own = git(&path, &["rev-parse", "--absolute-git-dir"]);
    for entry in fs::read_dir(own).unwrap() {
        let entry = entry.unwrap();
        assert!(!entry.file_type().unwrap().is_symlink(), "{entry:?}");
    }
    fixture.check();
}

#[test]
fn a_link_in_a_used_worktree_is_set_right_for_the_next_idea() {
    let fixture = with_filter(WITH_KEY);
    fixture.repo.link_git_dirs(&["toy".into()]);
    let path = fixture.prepare(1).path;
    let own = git(&path, &["rev-parse", "--absolute-git-dir"]);
    let link = Path::new(&own).join("toy");
    fs::remove_file(&link).unwrap();
    fs::create_dir(&link).unwrap();
    write(&link, "key", "another one");
    fixture
        .repo
        .release_worktree(&swarm::git::Release {
            name: name(1),
            branch: branch(1),
            proof: swarm::git::Proof::Abandoned,
            identity: crate::fixture::identity(),
            time: crate::fixture::TIME,
            reuse: true,
        })
        .unwrap();
    let again = fixture.prepare(1).path;
    assert_eq!(read(&again, "a.toy"), "abc\n");
    let own = git(&again, &["rev-parse", "--absolute-git-dir"]);
    let key = fs::canonicalize(Path::new(&own).join("toy/key")).unwrap();
    assert_eq!(
        key,
        fs::canonicalize(fixture.root())
            .unwrap()
            .join(".git/toy/key")
    );
}

#[test]
fn a_filter_whose_program_is_away_is_of_content_and_works_again_when_it_is_back() {
    let fixture = with_filter("tr a-z n-za-m");
    let filter = fixture.dir.path().join("filter");
    let path = fixture.prepare(1).path;
    let away = fixture.dir.path().join("away");
    fs::rename(&filter, &away).unwrap();
    let error = fixture.repo.prepare_worktree(&fixture.want(2)).unwrap_err();
    assert!(error.is_of_content(), "{error}");
    // What an agent has done is not committed without its filter.
    write(&path, "b.toy", "abc\n");
    let error = fixture.repo.seal(&seal(&fixture, 1)).unwrap_err();
    assert!(error.is_of_content(), "{error}");
    fs::rename(&away, &filter).unwrap();
    fixture.prepare(2);
    fixture.repo.seal(&seal(&fixture, 1)).unwrap();
    assert_eq!(blob(&path, "HEAD:b.toy"), b"nop\n");
}

#[test]
fn a_git_lfs_that_is_not_installed_is_of_content() {
    let fixture = Fixture::new();
    fixture.commit(&[
        (".gitattributes", "*.bin filter=lfs\n"),
        ("a.bin", "large\n"),
    ]);
    // As Git LFS configures it, with another name for the program.
    fixture.git(&[
        "config",
        "filter.lfs.process",
        "no-such-git-lfs filter-process",
    ]);
    fixture.git(&["config", "filter.lfs.required", "true"]);
    let fixture = reopen(fixture);
    let error = refused(&fixture);
    assert!(error.is_of_content(), "{error}");
    assert!(error.to_string().contains("no-such-git-lfs"), "{error}");
}

/// A clone without blobs of a repository that has ten files; its commits have none of them.
fn partial_clone() -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let up = dir.path().join("up");
    fs::create_dir(&up).unwrap();
    git(&up, &["init", "-q", "-b", "main"]);
    git(&up, &["config", "uploadpack.allowFilter", "true"]);
    git(&up, &["config", "uploadpack.allowAnySHA1InWant", "true"]);
    for number in 0..10 {
        write(&up, &format!("{number}.txt"), &format!("{number}\n"));
    }
    git(&up, &["add", "."]);
    git(&up, &["commit", "-q", "-m", "first"]);
    let from = format!("file://{}", up.display());
    let words = [
        "clone",
        "-q",
        "--no-checkout",
        "--filter=blob:none",
        &from,
        "repo",
    ];
    git(dir.path(), &words);
    let root = dir.path().join("repo");
    git(&root, &["sparse-checkout", "set", "--no-cone", "/0.txt"]);
    git(&root, &["checkout", "-q", "main"]);
    let repo = Repo::open_with(&root, settings(dir.path())).unwrap();
    repo.settle_folder(&places(dir.path())).unwrap();
    Fixture { dir, repo }
}

fn missing(fixture: &Fixture) -> usize {
    let words = ["rev-list", "--objects", "--missing=print", "main"];
    let list = fixture.git(&words);
    list.lines().filter(|line| line.starts_with('?')).count()
}

#[test]
fn a_partial_clone_gets_what_its_worktrees_need_from_its_remote() {
    let fixture = partial_clone();
    assert!(fixture.repo.is_partial());
    assert_eq!(missing(&fixture), 9);
    every_worktree_has(&fixture, "7.txt", "7\n");
    assert_eq!(missing(&fixture), 0);
    // One that the sparse checkout has.
    lands(&fixture, "0.txt", "zero\n");
}

#[test]
fn a_merge_in_a_partial_clone_gets_what_it_needs_from_its_remote() {
    let fixture = partial_clone();
    let root = fixture.root();
    // Somebody else changes a file that the clone has never seen, and so does an idea.
    let up = fixture.dir.path().join("up");
    let lines: Vec<String> = (0..20).map(|line| format!("{line}\n")).collect();
    let lines = lines.concat();
    commit_in(&up, &[("8.txt", &lines)]);
    git(&root, &["pull", "-q"]);
    let base = fixture.oid("main");
    git(&up, &["branch", "work"]);
    commit_in(&up, &[("8.txt", &lines.replace("2\n", "two\n"))]);
    git(&up, &["checkout", "-q", "work"]);
    commit_in(&up, &[("8.txt", &lines.replacen("19\n", "nineteen\n", 1))]);
    git(&root, &["pull", "-q", "origin", "main"]);
    git(&root, &["fetch", "-q", "origin", "work"]);
    let source = Oid::from_str(&fixture.git(&["rev-parse", "FETCH_HEAD"])).unwrap();
    assert!(base != fixture.oid("main") && missing(&fixture) > 0);
    let commit = built(&fixture.repo.build_merge(&merge(source)).unwrap());
    let merged = fixture.git(&["show", &format!("{commit}:8.txt")]);
    assert!(
        merged.contains("two") && merged.contains("nineteen"),
        "{merged}"
    );
}

#[test]
fn a_partial_clone_whose_remote_is_away_is_of_content_and_works_again_when_it_is_back() {
    let fixture = partial_clone();
    let (up, away) = (
        fixture.dir.path().join("up"),
        fixture.dir.path().join("away"),
    );
    fs::rename(&up, &away).unwrap();
    let error = refused(&fixture);
    assert!(error.is_of_content(), "{error}");
    assert!(error.content_advice().contains("partial"), "{error}");
    let main = fixture.oid("main");
    let error = fixture.repo.verify_tree(VERIFY, main, &KeepIgnored::All);
    assert!(error.unwrap_err().is_of_content());
    fs::rename(&away, &up).unwrap();
    assert_eq!(read(&fixture.prepare(1).path, "7.txt"), "7\n");
}

#[test]
fn a_whole_clone_fetches_nothing_even_if_an_agent_makes_it_look_partial() {
    let fixture = Fixture::new();
    assert!(!fixture.repo.is_partial());
    let trace = fixture.dir.path().join("sprung");
    let evil = program(&fixture, "evil", &format!("touch '{}'", trace.display()));
    let path = fixture.prepare(1).path;
    for (key, value) in [
        ("remote.x.url", format!("ext::{evil}")),
        ("remote.x.promisor", "true".into()),
        ("protocol.ext.allow", "always".into()),
    ] {
        git(&path, &["config", key, &value]);
    }
    let error = fixture.repo.prepare_worktree(&fixture.want(2)).unwrap_err();
    assert!(matches!(error, GitError::ConfigChanged { .. }), "{error}");
    assert!(!trace.exists());
}
