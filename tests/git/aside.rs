//! Whatever a person has not committed, a rollback with its changes put aside loses no byte of it and touches nothing that is not in the way.
//!
//! Random trees at both ends, random edits in between, there and back, killed on the way in half of the rounds. `SWARM_ASIDE_ROUNDS` says how
//! many (60), `SWARM_ASIDE_SEED` which ones first.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

use swarm::git::{Aside, Land, LandOutcome, Oid, Repo, Snapshot};

use crate::fixture::{Fixture, TIME, git, identity, try_git, write};
use crate::kill::child;

/// Names that get in each other's way, and some that git ignores.
const NAMES: &[&str] = &[
    "a",
    "b",
    "c",
    "dir",
    "dir/x",
    "dir/y",
    "dir/sub",
    "dir/sub/z",
    "e.log",
    "ignored/q",
    "link",
    "with space\tand tab",
];

const POINTS: &[&str] = &[
    "git.aside.kept",
    "git.aside.files",
    "git.aside.moved",
    "git.land.noted",
    "git.land.followed",
    "git.land.before-ref",
    "git.land.after-ref",
];

/// Where what is in the way of leaving this commit is kept.
pub fn reference(from: Oid) -> String {
    format!("refs/swarm/rescue/stash-{from}")
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        // The finaliser of splitmix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit as u64).unwrap()
    }

    fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    fn name(&mut self) -> &'static str {
        NAMES[self.below(NAMES.len())]
    }
}

/// Mode and object, as git has them.
type Entry = (String, Oid);
type Entries = BTreeMap<String, Entry>;

/// Everything of a person's that can be lost or touched.
#[derive(Debug, PartialEq, Eq, Clone)]
struct Checkout {
    files: Entries,
    index: Entries,
    /// Staged, and not on disk because the checkout is sparse.
    hidden: BTreeSet<String>,
    nested: Option<BTreeMap<String, Vec<u8>>>,
}

fn blob(bytes: &[u8]) -> Oid {
    Oid::hash_object(git2::ObjectType::Blob, bytes).unwrap()
}

fn files(root: &Path) -> Entries {
    let (mut found, mut open) = (Entries::new(), vec![root.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path
                .strip_prefix(root)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            if [".git", ".swarm", "nested"].contains(&name.as_str()) {
                continue;
            }
            let about = fs::symlink_metadata(&path).unwrap();
            if about.is_dir() {
                open.push(path);
            } else if about.is_symlink() {
                let to = fs::read_link(&path).unwrap().into_os_string();
                found.insert(name, ("120000".into(), blob(to.as_encoded_bytes())));
            } else {
                let runs = about.permissions().mode() & 0o100 != 0;
                let mode = if runs { "100755" } else { "100644" };
                found.insert(name, (mode.into(), blob(&fs::read(&path).unwrap())));
            }
        }
    }
    found
}

fn raw(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut open) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(place) = open.pop() {
        for entry in fs::read_dir(place).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap();
                found.insert(name.to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// Lines of `mode .. oid ..\tpath`, NUL between them.
fn entries(root: &Path, words: &[&str], oid_at: usize) -> Entries {
    let output = try_git(root, words);
    assert!(output.status.success(), "{words:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_terminator('\0')
        .map(|line| {
            let (about, path) = line.split_once('\t').unwrap();
            let about: Vec<&str> = about.split(' ').collect();
            let oid = Oid::from_str(about[oid_at]).unwrap();
            (path.to_owned(), (about[0].to_owned(), oid))
        })
        .collect()
}

fn tree(root: &Path, commit: &str) -> Entries {
    entries(root, &["ls-tree", "-r", "-z", commit], 2)
}

fn hidden(root: &Path) -> BTreeSet<String> {
    let text = String::from_utf8(try_git(root, &["ls-files", "-t", "-z"]).stdout).unwrap();
    let lines = text.split_terminator('\0');
    let names = lines.filter_map(|line| line.strip_prefix("S "));
    names.map(str::to_owned).collect()
}

fn look(root: &Path) -> Checkout {
    let nested = root.join("nested");
    Checkout {
        files: files(root),
        index: entries(root, &["ls-files", "-s", "-z"], 1),
        hidden: hidden(root),
        nested: nested.is_dir().then(|| raw(&nested)),
    }
}

/// Makes room at a path: what is above it is a directory, and nothing is there.
fn clear(root: &Path, name: &str) {
    let mut at = root.to_owned();
    let parts: Vec<&str> = name.split('/').collect();
    for (number, part) in parts.iter().enumerate() {
        at.push(part);
        match fs::symlink_metadata(&at) {
            Err(_) => {}
            Ok(about) if about.is_dir() && number + 1 < parts.len() => {}
            Ok(about) if about.is_dir() => fs::remove_dir_all(&at).unwrap(),
            Ok(_) => fs::remove_file(&at).unwrap(),
        }
    }
}

fn put(dice: &mut Dice, root: &Path, name: &str) {
    clear(root, name);
    let text = format!("{}\n", dice.below(4)).repeat(1 + dice.below(3));
    write(root, name, &text);
    let path = root.join(name);
    match dice.below(6) {
        0 => fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap(),
        1 => {
            fs::remove_file(&path).unwrap();
            symlink(text.trim_end(), &path).unwrap();
        }
        _ => {}
    }
}

/// A commit with some of the names in it.
fn commit(dice: &mut Dice, root: &Path) -> Oid {
    for name in NAMES {
        match dice.below(5) {
            0 | 1 => put(dice, root, name),
            2 => clear(root, name),
            _ => {}
        }
    }
    git(root, &["add", "-A", "-f", "."]);
    git(root, &["commit", "-q", "--allow-empty", "-m", "state"]);
    Oid::from_str(&git(root, &["rev-parse", "HEAD"])).unwrap()
}

/// One edit of a person. What git refuses is no edit.
fn edit(dice: &mut Dice, root: &Path) {
    let name = dice.name();
    let path = root.join(name);
    match dice.below(9) {
        0..=2 => put(dice, root, name),
        3 => clear(root, name),
        4 => drop(try_git(root, &["add", "-f", "--sparse", "--", name])),
        5 => drop(try_git(root, &["rm", "-q", "-r", "--cached", "--", name])),
        6 => {
            let other = dice.name();
            drop(try_git(root, &["mv", "-k", "--", name, other]));
        }
        7 => drop(try_git(root, &["update-index", "--chmod=+x", "--", name])),
        _ => {
            // Staged, and the file is something else again, or as it was committed.
            put(dice, root, name);
            drop(try_git(root, &["add", "-f", "--", name]));
            if dice.one_in(2) {
                drop(try_git(root, &["restore", "--source=HEAD", "--", name]));
            } else if path.symlink_metadata().is_ok() {
                put(dice, root, name);
            }
        }
    }
}

/// What the driver of the effect does; whether the branch moved, and if not why.
pub fn go(repo: &Repo, from: Oid, to: Oid) -> Result<(), String> {
    if repo.branch_commit("main").unwrap() == Some(from) {
        let blocked = repo.in_the_way_of("main", from, to).unwrap();
        if let Some(other) = blocked.iter().find(|one| one.files.is_empty()) {
            return Err(other.reason.clone());
        }
        let aside = Aside {
            branch: "main".into(),
            from,
            to,
            keep: Snapshot {
                name: String::new(),
                reference: reference(from),
                message: "In the way\n".into(),
                identity: identity(),
                time: TIME,
            },
        };
        repo.put_aside(&aside).map_err(|error| error.to_string())?;
    }
    let land = Land {
        branch: "main".into(),
        expected: from,
        commit: to,
    };
    match repo.move_target(&land).unwrap() {
        LandOutcome::Landed | LandOutcome::AlreadyLanded => Ok(()),
        other => Err(format!("after all was put aside: {other:?}")),
    }
}

/// Paths on which the two commits differ.
fn differing(one: &Entries, other: &Entries) -> BTreeSet<String> {
    let names = one.keys().chain(other.keys());
    names
        .filter(|name| one.get(*name) != other.get(*name))
        .cloned()
        .collect()
}

/// The trees of all commits that were kept, newest first.
fn kept(root: &Path, from: Oid) -> Vec<Entries> {
    if !try_git(root, &["rev-parse", "-q", "--verify", &reference(from)])
        .status
        .success()
    {
        return Vec::new();
    }
    let all = git(
        root,
        &["rev-list", &reference(from), "--not", &from.to_string()],
    );
    all.lines().map(|commit| tree(root, commit)).collect()
}

fn assert_kept(root: &Path, before: &Checkout, from: Oid, to: Oid) {
    let after = look(root);
    let (old, new) = (tree(root, &from.to_string()), tree(root, &to.to_string()));
    let kept = kept(root, from);
    let has = |name: &String, entry: &Entry| {
        old.get(name) == Some(entry) || kept.iter().any(|tree| tree.get(name) == Some(entry))
    };
    for (name, entry) in &before.files {
        // What is staged where the patterns say that there is to be no file, git takes off the disk; it stays staged.
        let hidden = after.hidden.contains(name) && after.index.get(name) == Some(entry);
        let there = hidden || after.files.get(name) == Some(entry) || has(name, entry);
        assert!(there, "the file {name} is lost: {entry:?}");
    }
    for (name, entry) in &before.index {
        // What was staged may also be what the file has.
        let there = after.index.get(name) == Some(entry)
            || has(name, entry)
            || before.files.get(name) == Some(entry);
        assert!(there, "what was staged of {name} is lost: {entry:?}");
    }
    let touched = differing(&old, &new);
    let under = |one: &str, other: &str| {
        one == other
            || one
                .strip_prefix(other)
                .is_some_and(|rest| rest.starts_with('/'))
    };
    let on_the_way = |name: &str| {
        touched
            .iter()
            .any(|other| under(name, other) || under(other, name))
    };
    let names: BTreeSet<&String> = before.files.keys().chain(before.index.keys()).collect();
    // Also what is below a file, on disk or staged, that stands where a directory belongs.
    let obstacles: Vec<&String> = names
        .iter()
        .copied()
        .filter(|file| on_the_way(file))
        .collect();
    let near = |name: &str| on_the_way(name) || obstacles.iter().any(|file| under(name, file));
    for name in names.into_iter().filter(|name| !near(name)) {
        // Where the patterns say something else than the disk, git brings a file back, or takes one off that is staged, with whatever it does.
        let back = before.hidden.contains(name) && after.files.get(name) == before.index.get(name);
        let off = after.hidden.contains(name) && after.index.get(name) == before.files.get(name);
        assert!(
            back || off || after.files.get(name) == before.files.get(name),
            "the file {name}: {:?} instead of {:?}",
            after.files.get(name),
            before.files.get(name)
        );
        assert_eq!(
            after.index.get(name),
            before.index.get(name),
            "staged of {name}"
        );
    }
    for name in &touched {
        let is = after.index.get(name).map(|(_, oid)| oid);
        assert_eq!(is, new.get(name).map(|(_, oid)| oid), "{name} is not there");
    }
    assert_eq!(after.nested, before.nested, "the nested repository");
    assert_eq!(git(root, &["rev-parse", "main"]), to.to_string());
}

/// How a round ended.
#[derive(Debug, Default)]
struct Counts {
    moved: usize,
    kills: usize,
    with_something_kept: usize,
    refused: BTreeMap<String, usize>,
}

fn nest(root: &Path) {
    let nested = root.join("nested");
    fs::create_dir(&nested).unwrap();
    git(&nested, &["init", "-q", "-b", "main"]);
    write(&nested, "file", "one\n");
    git(&nested, &["add", "."]);
    git(&nested, &["commit", "-q", "-m", "nested"]);
    git(root, &["add", "nested"]);
    git(root, &["commit", "-q", "-m", "nested"]);
    write(&nested, "file", "two\n");
    write(&nested, "loose", "three\n");
}

fn round(seed: u64, counts: &mut Counts) {
    let mut dice = Dice(seed);
    let fixture = Fixture::new();
    let root = fixture.root();
    if dice.one_in(4) {
        nest(&root);
    }
    let mut ends = [commit(&mut dice, &root), commit(&mut dice, &root)];
    if dice.one_in(4) {
        git(
            &root,
            &["sparse-checkout", "set", "--no-cone", "/*", "!/dir/"],
        );
    }
    for _ in 0..3 {
        ends.reverse();
        let [from, to] = ends;
        for _ in 0..dice.below(7) {
            edit(&mut dice, &root);
        }
        let before = look(&root);
        if dice.one_in(2) {
            let point = POINTS[dice.below(POINTS.len())];
            let status = child(&fixture, &format!("aside {from} {to}"), point);
            counts.kills += usize::from(status.signal() == Some(9));
        }
        match go(&fixture.repo, from, to) {
            Ok(()) => {
                assert_kept(&root, &before, from, to);
                counts.moved += 1;
                counts.with_something_kept += usize::from(!kept(&root, from).is_empty());
                assert!(!root.join(".git/swarm-aside").exists(), "left aside");
            }
            Err(why) => {
                println!("seed {seed}: {why}");
                *counts.refused.entry(why).or_default() += 1;
                assert_eq!(
                    look(&root),
                    before,
                    "it was refused and has changed something"
                );
                return;
            }
        }
        fixture.check();
    }
}

#[test]
fn no_byte_of_a_persons_work_is_lost() {
    let variable = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let rounds = variable("SWARM_ASIDE_ROUNDS").unwrap_or(60);
    let nanos = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap()
        .as_nanos();
    let first = variable("SWARM_ASIDE_SEED")
        .or_else(|| variable("SWARM_IT_SEED"))
        .unwrap_or(u64::try_from(nanos % 1_000_000_007).unwrap());
    let mut counts = Counts::default();
    for seed in first..first + rounds {
        let run = std::panic::AssertUnwindSafe(|| round(seed, &mut counts));
        if let Err(failed) = std::panic::catch_unwind(run) {
            eprintln!("SWARM_ASIDE_SEED={seed} SWARM_ASIDE_ROUNDS=1");
            std::panic::resume_unwind(failed);
        }
    }
    println!("{rounds} rounds from seed {first}: {counts:#?}");
    let refused: usize = counts.refused.values().sum();
    assert!(counts.moved > 0 && refused < counts.moved, "{counts:?}");
}

#[test]
fn an_empty_directory_where_a_file_was_is_put_aside_too() {
    let fixture = Fixture::new();
    let root = fixture.root();
    let to = fixture.oid("main");
    write(&root, "later", "later\n");
    git(&root, &["add", "later"]);
    git(&root, &["commit", "-qm", "later"]);
    let from = fixture.oid("main");
    fs::remove_file(root.join("later")).unwrap();
    fs::create_dir(root.join("later")).unwrap();
    let blocked = fixture.repo.in_the_way_of("main", from, to).unwrap();
    assert_eq!(blocked[0].files, ["later"]);
    go(&fixture.repo, from, to).unwrap();
    assert_eq!(fixture.oid("main"), to);
    assert!(!root.join("later").exists());
    assert_eq!(git(&root, &["status", "--porcelain"]), "");
}
