//! Where a branch's own work begins after a rollback took back what it began on or merged.

use swarm::git::{Oid, OwnWork};

use crate::fixture::{Fixture, commit_in, git, write};

const LANDED: &str = "Merge idea-001: One\n\nSwarm-Idea: idea-001\nSwarm-Op: 1\n";

/// A repository whose target is taken back to where it began.
struct Line {
    fixture: Fixture,
    begin: Oid,
}

impl Line {
    fn new() -> Self {
        let fixture = Fixture::new();
        let begin = fixture.oid("main");
        Self { fixture, begin }
    }

    /// A branch from here, checked out, with this file.
    fn branch(&self, name: &str, file: &str) -> Oid {
        self.fixture.git(&["checkout", "-q", "-b", name]);
        self.commit(file)
    }

    fn commit(&self, file: &str) -> Oid {
        write(&self.fixture.root(), file, file);
        commit_in(&self.fixture.root(), &[])
    }

    /// Merges it into what is checked out, as a landing or as a person does.
    fn merge(&self, name: &str, message: &str) -> Oid {
        let merge = ["merge", "-q", "--no-ff", "-m", message, name];
        self.fixture.git(&merge);
        self.fixture.oid("HEAD")
    }

    fn switch(&self, name: &str) {
        self.fixture.git(&["checkout", "-q", name]);
    }

    /// Another idea lands on the target.
    fn another_lands(&self) -> Oid {
        self.switch("main");
        self.branch("another", "another.txt");
        self.switch("main");
        self.merge("another", LANDED)
    }

    /// Where the work of `mine` begins when `main` goes back to the beginning.
    fn begins(&self, base: Oid) -> Oid {
        let want = OwnWork {
            source: self.fixture.oid("mine"),
            base,
            target: self.begin,
            taken_back: vec![
                self.fixture.oid("main"),
                Oid::from_str(&"1".repeat(40)).unwrap(),
            ],
        };
        self.fixture.repo.own_work_begins(&want).unwrap()
    }
}

#[test]
fn work_begins_after_what_of_the_target_was_merged_into_it() {
    let line = Line::new();
    line.branch("mine", "own.txt");
    let landed = line.another_lands();
    line.switch("mine");
    line.merge("main", "Settle a conflict");
    assert_eq!(line.begins(line.begin), landed);
    line.commit("more.txt");
    assert_eq!(line.begins(line.begin), landed);
}

#[test]
fn work_begins_at_its_base_where_that_was_taken_back() {
    let line = Line::new();
    let landed = line.another_lands();
    line.branch("mine", "own.txt");
    assert_eq!(line.begins(landed), landed);
}

#[test]
fn a_branch_that_is_all_of_a_landing_has_no_work() {
    let line = Line::new();
    let landed = line.another_lands();
    line.fixture.git(&["branch", "mine"]);
    assert_eq!(line.begins(line.begin), landed);
}

#[test]
fn own_work_that_landed_stays_own() {
    let line = Line::new();
    line.branch("mine", "own.txt");
    line.switch("main");
    line.merge("mine", LANDED);
    assert_eq!(line.begins(line.begin), line.begin);
    line.switch("mine");
    line.commit("more.txt");
    assert_eq!(line.begins(line.begin), line.begin);
}

#[test]
fn own_work_that_a_person_took_into_the_target_stays_own() {
    // Fast-forwarded, and merged back into the branch.
    for how in [
        &["merge", "-q", "mine"][..],
        &["merge", "-q", "--no-ff", "--no-edit", "mine"],
    ] {
        let line = Line::new();
        line.branch("mine", "own.txt");
        line.switch("main");
        line.fixture.git(how);
        line.switch("mine");
        line.fixture.git(&["merge", "-q", "--no-edit", "main"]);
        line.commit("more.txt");
        assert_eq!(line.begins(line.begin), line.begin, "{how:?}");
    }
}

/// A person merges the target into a branch of theirs, and fast-forwards the target to that.
#[test]
fn what_was_merged_is_found_on_every_line_of_the_target() {
    let line = Line::new();
    line.branch("mine", "own.txt");
    let landed = line.another_lands();
    line.switch("mine");
    line.merge("main", "Settle a conflict");
    line.fixture
        .git(&["checkout", "-q", "-b", "persons", &line.begin.to_string()]);
    line.commit("person.txt");
    line.merge("main", "Merge main");
    line.switch("main");
    git(
        &line.fixture.root(),
        &["merge", "-q", "--ff-only", "persons"],
    );
    assert_eq!(line.begins(line.begin), landed);
}

/// An agent that takes the target's new commits in has made none of them.
#[test]
fn only_who_made_the_targets_commit_is_said_to_have_moved_it() {
    let fixture = Fixture::new();
    let tree = fixture.prepare(1).path;
    fixture.commit(&[("person.txt", "1\n")]);
    git(&tree, &["merge", "-q", "--ff-only", "main"]);
    assert_eq!(fixture.repo.off_target("main").unwrap(), None);
    commit_in(&tree, &[("agent.txt", "1\n")]);
    fixture.commit(&[("person.txt", "2\n")]);
    git(&tree, &["rebase", "-q", "main"]);
    assert_eq!(fixture.repo.off_target("main").unwrap(), None);
    git(&tree, &["update-ref", "refs/heads/main", "HEAD"]);
    let stray = fixture.repo.off_target("main").unwrap().unwrap();
    assert_eq!(stray.commit, fixture.oid("main"));
}
