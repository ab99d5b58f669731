//! What the synthesis may write: what its evidence says, and no more.

use insta::assert_snapshot;

use super::{
    PERSON, at_work, author, by, citing, confirm, dispute, key, learn, refused, retract, shown,
    synthesis, write,
};
use crate::domain::memory::{
    Claim, ConfirmFact, MemoryCommand, PutNote, Reference, Retracted, WriteFact, confidence,
    landed_ideas,
};
use crate::domain::testkit::{Scenario, agent, idea};

/// Two agents that have said something each, and a person.
fn heard() -> Scenario {
    let mut s = at_work(2);
    let (one, two) = (author(&s, 1), author(&s, 2));
    by(
        &mut s,
        &one,
        learn("the api answers on port 8080, see src/api.rs"),
    );
    by(
        &mut s,
        &two,
        learn("set DB_URL before `cargo test --locked`"),
    );
    by(&mut s, &PERSON, learn("builds take 1.5 minutes"));
    s
}

fn trust(s: &Scenario, key_text: &str) -> f64 {
    let fact = s.state.facts.get(&key(key_text)).unwrap();
    confidence(&s.state, &fact.evidence, false, false)
}

#[test]
fn what_the_evidence_says_is_accepted() {
    let mut s = heard();
    let it = synthesis(&mut s);
    for (key, value, evidence) in [
        ("api.port", "The API listens on 8080", &["learning-001"][..]),
        ("api.code", "Its code is in `src/api.rs`", &["learning-001"]),
        ("tests.db", "Tests need DB_URL", &["learning-002"]),
        (
            "tests.run",
            "Run `cargo test --locked` with DB_URL set",
            &["learning-002"],
        ),
        ("build.time", "A build takes 1.5 min", &["learning-003"]),
        (
            "all",
            "8080, DB_URL, 1.5",
            &["learning-001", "learning-002", "learning-003"],
        ),
    ] {
        by(&mut s, &it, citing(write(key, Some(0), value), evidence));
    }
    by(
        &mut s,
        &it,
        citing(confirm("api.port", 1), &["learning-001"]),
    );
    let other = Some("not on 8080 alone");
    by(
        &mut s,
        &it,
        citing(dispute("api.port", 1, other), &["learning-001"]),
    );
    by(
        &mut s,
        &it,
        citing(dispute("tests.db", 1, None), &["learning-002"]),
    );
    by(
        &mut s,
        &it,
        citing(learn("[api.src] src/api.rs"), &["learning-001"]),
    );
    assert_snapshot!(shown(&s, "api.port"), @r"
    v2 contradicted: The API listens on 8080 by the synthesis (1)
    c1: not on 8080 alone (1)
    ");
}

#[test]
fn more_than_the_evidence_says_is_refused() {
    let mut s = heard();
    let it = synthesis(&mut s);
    let first = &["learning-001"][..];
    for (value, evidence, why) in [
        ("The API listens on 9090", first, "9090"),
        ("The API listens on 80", first, "80"),
        ("The API listens on 8080 or 8081", first, "8081"),
        ("See src/db.rs", first, "src/db.rs"),
        ("Set `API_KEY`", first, "API_KEY"),
        ("Run `rm -rf build`", first, "rm -rf build, -rf"),
        ("Tests need DB_URL", first, "DB_URL"),
        ("Call apiPort", first, "apiPort"),
        ("Builds take 5 minutes", &["learning-003"], "5"),
        ("Port 80\u{200b}81", first, "8081"),
        ("Port \u{202e}8080", first, "an invisible character"),
        ("Port \u{ff19}\u{ff10}", first, "\u{ff19}\u{ff10}"),
        ("1, 2, 3 and 4", first, "1, 2, 3"),
    ] {
        let why_not = refused(&mut s, &it, citing(write("new", Some(0), value), evidence));
        let expected = format!("EVIDENCE_LACKS: {why} is in none of the evidence");
        assert_eq!(why_not, expected, "{value}");
    }
}

#[test]
fn each_write_names_evidence_of_others_that_is_in_force() {
    let mut s = heard();
    let it = synthesis(&mut s);
    by(&mut s, &PERSON, write("old", None, "it is 7070"));
    let missing = "EVIDENCE_LACKS: name the learnings or events that say so";
    for command in [
        learn("tests are slow"),
        write("new", Some(0), "tests are slow"),
        confirm("old", 1),
        dispute("old", 1, Some("x")),
        dispute("old", 1, None),
    ] {
        assert_eq!(refused(&mut s, &it, command), missing);
    }
    let cited = citing(learn("ports are 8080"), &["learning-001"]);
    by(&mut s, &it, cited);
    let seq_of_own = s.state.seq.to_string();
    by(
        &mut s,
        &PERSON,
        retract(Retracted::Learning("learning-003".into())),
    );
    for reference in [
        "learning-004",
        &seq_of_own,
        "learning-003",
        "learning-099",
        "1",
        "99999",
    ] {
        let command = citing(write("new", Some(0), "ports are 8080"), &[reference]);
        let why = refused(&mut s, &it, command);
        assert!(why.starts_with("EVIDENCE_UNKNOWN: "), "{reference}: {why}");
    }
}

#[test]
fn an_event_is_evidence_by_what_it_says() {
    let mut s = heard();
    let it = synthesis(&mut s);
    by(&mut s, &PERSON, write("old", None, "it is 7070"));
    let wrote = s.state.seq.to_string();
    by(&mut s, &PERSON, dispute("old", 1, Some("it is 6060")));
    let disputed = s.state.seq.to_string();
    let settles = |value: &str, evidence: &str| citing(write("old", Some(2), value), &[evidence]);
    let why = refused(&mut s, &it, settles("6060", &wrote));
    assert_eq!(why, "EVIDENCE_LACKS: 6060 is in none of the evidence");
    by(&mut s, &it, settles("6060", &disputed));
}

#[test]
fn reasons_paths_and_new_keys_make_up_nothing_either() {
    let mut s = heard();
    let it = synthesis(&mut s);
    let claim = |why: Option<&str>, path: Option<&str>| Claim {
        evidence: vec![Reference::from("learning-001")],
        paths: path.into_iter().map(str::to_owned).collect(),
        why: why.map(str::to_owned),
    };
    let written = |key_text: &str, claim| {
        MemoryCommand::WriteFact(WriteFact {
            key: key(key_text),
            value: "The API listens on 8080".into(),
            expected: Some(0),
            claim,
        })
    };
    for (command, lacks) in [
        (written("a", claim(Some("so says 9090"), None)), "9090"),
        (written("a", claim(None, Some("src/db.rs"))), "src/db.rs"),
        (written("a", claim(None, Some("x` y"))), "x` y"),
        (written("port-9090", claim(None, None)), "9090"),
    ] {
        let why = refused(&mut s, &it, command);
        assert_eq!(
            why,
            format!("EVIDENCE_LACKS: {lacks} is in none of the evidence")
        );
    }
    let why = "learning-001 says so of api.port";
    by(
        &mut s,
        &it,
        written("api.port", claim(Some(why), Some("src/api.rs"))),
    );
    let confirmed = MemoryCommand::ConfirmFact(ConfirmFact {
        key: key("api.port"),
        version: 1,
        claim: claim(Some("and 9090"), None),
    });
    let why = refused(&mut s, &it, confirmed);
    assert!(why.starts_with("EVIDENCE_LACKS: 9090 "), "{why}");
    let note = MemoryCommand::PutNote(PutNote {
        key: "plan.md".parse().unwrap(),
        title: None,
        content: Some("9090".into()),
        expected: None,
        keep: false,
    });
    let why = refused(&mut s, &it, note);
    assert!(why.starts_with("NOT_FOR_AGENTS: "), "{why}");
}

/// What it cites counts, and it does not.
#[test]
fn it_raises_no_confidence_by_itself() {
    let mut s = heard();
    let it = synthesis(&mut s);
    by(
        &mut s,
        &it,
        citing(write("a", Some(0), "8080"), &["learning-001"]),
    );
    let one_live = trust(&s, "a");
    assert!((one_live - 0.25).abs() < 1e-9, "{one_live}");
    by(&mut s, &it, citing(confirm("a", 1), &["learning-001"]));
    let two = author(&s, 2);
    by(&mut s, &two, learn("[b] 8080"));
    let before = trust(&s, "b");
    by(&mut s, &it, citing(confirm("b", 1), &["learning-001"]));
    assert!((trust(&s, "a") - one_live).abs() < 1e-9);
    // The idea of the first agent now supports it too.
    assert!((trust(&s, "b") - (1.0 - 0.75 * 0.75)).abs() < 1e-9);
    assert!((before - 0.25).abs() < 1e-9);
    s.all_goes_well();
    let fact = s.state.facts.get(&key("a")).unwrap();
    assert_eq!(landed_ideas(&s.state, &fact.evidence), [&idea(1)]);
    assert!((trust(&s, "a") - 0.5).abs() < 1e-9);
}

#[test]
fn who_takes_back_an_agents_words_takes_back_what_the_synthesis_made_of_them() {
    let mut s = heard();
    let it = synthesis(&mut s);
    let (first, both) = (&["learning-001"][..], &["learning-001", "learning-002"][..]);
    by(&mut s, &it, citing(write("a", Some(0), "on 8080"), first));
    by(&mut s, &it, citing(write("b", Some(0), "both"), both));
    by(&mut s, &it, citing(write("c", Some(0), "own"), first));
    by(&mut s, &it, retract(Retracted::Fact(key("c"))));
    by(&mut s, &PERSON, retract(Retracted::Agent(agent(1))));
    let retracted = |key_text: &str| {
        s.state
            .facts
            .get(&key(key_text))
            .unwrap()
            .retracted
            .is_some()
    };
    assert_eq!(
        [retracted("a"), retracted("b"), retracted("c")],
        [true, false, true]
    );
}

#[test]
fn its_facts_are_about_the_files_of_their_evidence() {
    let mut s = heard();
    let it = synthesis(&mut s);
    let mut said = learn("the api has a test");
    if let MemoryCommand::Learn(learn) = &mut said {
        learn.claim.paths = vec!["tests/api.rs".into()];
    }
    by(&mut s, &PERSON, said);
    by(
        &mut s,
        &it,
        citing(write("a", Some(0), "it is tested"), &["learning-004"]),
    );
    let fact = s.state.facts.get(&key("a")).unwrap();
    assert_eq!(fact.evidence.kept[0].paths, ["tests/api.rs"]);
}
