//! What a rollback puts aside where git's commit does not have it byte for byte, and where it cannot be read at all.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use swarm::git::{Oid, Repo};

use crate::aside::go;
use crate::fixture::{Fixture, git, settings, write};

/// Two commits: what is given is in the first alone, `keep` in both. `main` is at the second.
fn back(fixture: &Fixture, files: &[(&str, &str)]) -> (Oid, Oid) {
    let root = fixture.root();
    write(&root, "keep", "kept\n");
    let to = fixture.commit(files);
    for (name, _) in files {
        git(&root, &["rm", "-q", "--", name]);
    }
    git(&root, &["commit", "-q", "-m", "without"]);
    (fixture.oid("HEAD"), to)
}

/// `go`, given up after a while: what reads from a pipe that nobody writes to would never end.
fn go_in_time(fixture: &Fixture, from: Oid, to: Oid) -> Result<(), String> {
    let (told, answer) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = told.send(go(&fixture.repo, from, to));
        });
        let answered = answer.recv_timeout(Duration::from_secs(30));
        for pipe in pipes(&fixture.root()) {
            // Whoever is stuck goes on: without this the test would never end.
            let _ = nix::fcntl::open(
                &pipe,
                nix::fcntl::OFlag::O_RDWR | nix::fcntl::OFlag::O_NONBLOCK,
                nix::sys::stat::Mode::empty(),
            );
        }
        answered.expect("it hangs")
    })
}

fn pipes(root: &Path) -> Vec<PathBuf> {
    use std::os::unix::fs::FileTypeExt as _;
    let (mut found, mut open) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                Ok(kind) if kind.is_fifo() => found.push(entry.path()),
                _ => {}
            }
        }
    }
    found
}

/// Every content that lies anywhere beside the index.
fn aside(root: &Path) -> Vec<String> {
    let (mut found, mut open) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(root.join(".git")).unwrap().flatten() {
        if entry
            .file_name()
            .to_string_lossy()
            .starts_with("swarm-aside")
        {
            open.push(entry.path());
        }
    }
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else if entry.file_type().unwrap().is_file() {
                found.push(fs::read_to_string(entry.path()).unwrap());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn what_a_filter_takes_out_is_kept_of_each_rollback() {
    let fixture = Fixture::new();
    let root = fixture.root();
    let (from, to) = back(&fixture, &[("settings", "at first\n")]);
    // What comes into a commit has no secrets in it: the file alone has them.
    git(
        &root,
        &["config", "filter.hide.clean", "sed s/secret.*/secret/"],
    );
    write(&root, ".git/info/attributes", "settings filter=hide\n");
    let repo = Repo::open_with(&root, settings(fixture.dir.path())).unwrap();
    for text in ["secret one\n", "secret two\n"] {
        write(&root, "settings", text);
        go(&repo, from, to).unwrap();
        assert_eq!(
            fs::read_to_string(root.join("settings")).unwrap(),
            "at first\n"
        );
        go(&repo, to, from).unwrap();
    }
    assert_eq!(aside(&root), ["secret one\n", "secret two\n"]);
}

#[test]
fn line_ends_that_a_checkout_makes_are_no_reason_to_keep_a_file_twice() {
    let fixture = Fixture::new();
    let root = fixture.root();
    let (from, to) = back(&fixture, &[("text", "at first\n")]);
    git(&root, &["config", "core.autocrlf", "true"]);
    write(&root, "text", "mine\r\n");
    go(&fixture.repo, from, to).unwrap();
    assert_eq!(aside(&root), Vec::<String>::new());
    assert!(!root.join(".git/swarm-aside").exists());
}

#[test]
fn a_pipe_among_what_is_put_aside_holds_up_nobody() {
    let fixture = Fixture::new();
    let root = fixture.root();
    let (from, to) = back(&fixture, &[("place", "a file\n")]);
    write(&root, "place/mine", "mine\n");
    nix::unistd::mkfifo(&root.join("place/pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    go_in_time(&fixture, from, to).unwrap();
    assert_eq!(fs::read_to_string(root.join("place")).unwrap(), "a file\n");
    let kept = crate::aside::reference(from);
    assert_eq!(git(&root, &["show", &format!("{kept}:place/mine")]), "mine");
}

#[test]
fn a_repository_below_what_is_in_the_way_stays_where_it_is() {
    let fixture = Fixture::new();
    let root = fixture.root();
    let (from, to) = back(&fixture, &[("place", "a file\n")]);
    write(&root, "place/mine", "mine\n");
    let nested = root.join("place/deep/nested");
    fs::create_dir_all(&nested).unwrap();
    git(&nested, &["init", "-q", "-b", "main"]);
    write(&nested, "file", "one\n");
    symlink("file", nested.join("link")).unwrap();
    let refused = go(&fixture.repo, from, to).unwrap_err();
    assert!(refused.contains("repository of its own"), "{refused}");
    assert_eq!(fs::read_to_string(nested.join("file")).unwrap(), "one\n");
    assert_eq!(
        fs::read_to_string(root.join("place/mine")).unwrap(),
        "mine\n"
    );
}
