//! Twenty pairs with the verdict that a person gave them, and the measures' own properties.

use proptest::prelude::*;

use super::MatchStatus::{ExactMatch, NoMatch, PartialMatch, SemanticMatch};
use super::*;

const ADD: &str = "-pub fn add(a: u32, b: u32) -> u32 {\n-    a + b\n\
    +pub fn add(a: u32, b: u32) -> Option<u32> {\n+    a.checked_add(b)\n";
/// The same with other names.
const ADD_RENAMED: &str = "-pub fn add(a: u32, b: u32) -> u32 {\n-    a + b\n\
    +pub fn add(left: u32, right: u32) -> Option<u32> {\n+    left.checked_add(right)\n";
/// Another way to do it.
const ADD_OTHERWISE: &str = "-    a + b\n+    let sum = u64::from(a) + u64::from(b);\n\
    +    if sum > u64::from(u32::MAX) {\n+        return None;\n+    }\n\
    +    u32::try_from(sum).ok()\n";
const GREET: &str = "+def greet(name):\n+    \"\"\"Says hello.\"\"\"\n\
    +    print(\"Hello, \" + name)\n+\n+\n+greet(\"world\")\n";
/// The same with other literals, and other empty lines.
const GREET_OTHER_WORDS: &str = "+def greet(name):\n+    \"\"\"Greets a person.\"\"\"\n\
    +    print(\"Good morning, \" + name)\n+\n+greet('you')\n";
const LONG: &str = "The parser accepted a number without digits after the point. I added a check \
    in `number` that refuses it, with the place of the point in the message, and three tests: an \
    empty fraction, an empty exponent, and a lone point. All tests pass.";
/// With one word changed.
const LONG_NEARLY: &str = "The parser accepted a number without digits after the point. I added a \
    check in `number` that refuses it, with the place of the point in the message, and three \
    tests: an empty fraction, an empty exponent, and a lone point. All tests passed.";
const LONG_HALF: &str = "The parser accepted a number without digits after the point. I added a \
    check in `number` that refuses it. The command line now shows the file's name as well, and I \
    wrote a page of the manual about both.";
const OTHER: &str = "Nothing to do here: the cache is already cleared on every start.";

fn changed<'a>(tree: &'a str, changes: &[(&'a str, &'a str)]) -> Outcome<'a> {
    let changes = changes.iter().map(|(path, lines)| Change {
        path,
        operation: Operation::Modified,
        lines,
    });
    Outcome {
        tree,
        response: LONG,
        signal: Some("COMPLETE"),
        changes: changes.collect(),
        gate: vec![ran("cargo test", 0)],
    }
}

fn ran(command: &str, code: i32) -> GateResult<'_> {
    GateResult {
        command,
        code: Some(code),
        failed: Some(u64::from(code != 0)),
    }
}

/// An iteration that changed no file.
fn said(response: &str) -> Outcome<'_> {
    Outcome {
        tree: "t",
        response,
        signal: Some("COMPLETE"),
        ..Outcome::default()
    }
}

fn with<'a>(mut it: Outcome<'a>, change: impl FnOnce(&mut Outcome<'a>)) -> Outcome<'a> {
    change(&mut it);
    it
}

type Pair = (
    &'static str,
    Outcome<'static>,
    Outcome<'static>,
    MatchStatus,
    Option<By>,
);

fn pairs_with_changes() -> Vec<Pair> {
    let add = || changed("t1", &[("src/add.rs", ADD)]);
    let other = |changes: &[(&'static str, &'static str)]| changed("t2", changes);
    let structural = (SemanticMatch, Some(By::Structural));
    let partial = (PartialMatch, None);
    let none = (NoMatch, None);
    let failed = |it| {
        with(it, |it: &mut Outcome| {
            it.gate = vec![ran("cargo test", 101)];
        })
    };
    let all = [
        ("the same again", add(), add(), (ExactMatch, None)),
        (
            "the same files, said in other words",
            add(),
            with(add(), |it| it.response = OTHER),
            (SemanticMatch, Some(By::Trees)),
        ),
        (
            "the same files, another signal",
            add(),
            with(add(), |it| (it.response, it.signal) = (OTHER, None)),
            (SemanticMatch, Some(By::Trees)),
        ),
        (
            "other names",
            add(),
            other(&[("src/add.rs", ADD_RENAMED)]),
            structural,
        ),
        (
            "other literals",
            changed("t1", &[("greet.py", GREET)]),
            other(&[("greet.py", GREET_OTHER_WORDS)]),
            structural,
        ),
        (
            "other names in two files",
            changed("t1", &[("src/add.rs", ADD), ("greet.py", GREET)]),
            other(&[("src/add.rs", ADD_RENAMED), ("greet.py", GREET)]),
            structural,
        ),
        (
            "other names, but the tests fail",
            add(),
            failed(other(&[("src/add.rs", ADD_RENAMED)])),
            partial,
        ),
        (
            "other names, but blocked",
            add(),
            with(other(&[("src/add.rs", ADD_RENAMED)]), |it| {
                it.signal = Some("BLOCKED");
            }),
            partial,
        ),
        (
            "another way in the same file",
            add(),
            other(&[("src/add.rs", ADD_OTHERWISE)]),
            partial,
        ),
        (
            "the same change in another file",
            add(),
            other(&[("src/sum.rs", ADD)]),
            partial,
        ),
        (
            "the same change in another file, which fails",
            add(),
            failed(other(&[("src/sum.rs", ADD)])),
            none,
        ),
        (
            "one of two files",
            add(),
            failed(other(&[("src/add.rs", ADD), ("src/sum.rs", GREET)])),
            partial,
        ),
        (
            "one of three files",
            add(),
            failed(other(&[
                ("src/add.rs", ADD),
                ("a.py", GREET),
                ("b.py", GREET),
            ])),
            none,
        ),
        (
            "the same file, but deleted",
            add(),
            failed(with(other(&[("src/add.rs", ADD)]), |it| {
                it.changes[0].operation = Operation::Deleted;
            })),
            none,
        ),
        (
            "nothing where there was a change, without checks",
            with(add(), |it| it.gate.clear()),
            said(LONG),
            none,
        ),
    ];
    let all = all.into_iter();
    all.map(|(what, one, other, (status, by))| (what, one, other, status, by))
        .collect()
}

fn pairs_without_changes() -> Vec<Pair> {
    let by_text = Some(By::Text);
    let blocked = |it| with(it, |it: &mut Outcome| it.signal = Some("BLOCKED"));
    vec![
        ("the same words", said(LONG), said(LONG), ExactMatch, None),
        (
            "one other word",
            said(LONG),
            said(LONG_NEARLY),
            SemanticMatch,
            by_text,
        ),
        (
            "one other word, but blocked",
            said(LONG),
            blocked(said(LONG_NEARLY)),
            PartialMatch,
            None,
        ),
        (
            "half of it",
            said(LONG),
            said(LONG_HALF),
            PartialMatch,
            None,
        ),
        ("something else", said(LONG), said(OTHER), NoMatch, None),
    ]
}

#[test]
fn twenty_pairs_are_judged_as_a_person_judged_them() {
    let mut pairs = pairs_with_changes();
    pairs.extend(pairs_without_changes());
    assert_eq!(pairs.len(), 20);
    for (what, one, other, match_status, by) in pairs {
        let expected = Verdict { match_status, by };
        for (one, other) in [(&one, &other), (&other, &one)] {
            let measured = likeness(one, other);
            assert_eq!(measured.verdict(), expected, "{what}: {measured:?}");
        }
    }
}

#[test]
fn nothing_to_compare_is_alike() {
    let measured = likeness(&Outcome::default(), &Outcome::default());
    assert_eq!(
        (measured.files, measured.shape, measured.text),
        (1.0, 1.0, 1.0)
    );
    assert!(measured.gate && !measured.passed);
    let measured = likeness(&said(""), &said("x"));
    assert!(measured.text.abs() < f64::EPSILON);
}

proptest! {
    #[test]
    fn measures_are_symmetric_and_between_0_and_1(
        one in "[-+a-f0-9(){}\"' \n]{0,200}",
        other in "[-+a-f0-9(){}\"' \n]{0,200}",
    ) {
        let outcome = |text| {
            let mut it = changed("t", &[("x", text)]);
            it.response = text;
            it
        };
        let there = likeness(&outcome(&one), &outcome(&other));
        let back = likeness(&outcome(&other), &outcome(&one));
        prop_assert_eq!(there, back);
        for measure in [there.files, there.shape, there.text] {
            prop_assert!((0.0..=1.0).contains(&measure));
        }
        let same = likeness(&outcome(&one), &outcome(&one));
        prop_assert_eq!(same.verdict().match_status, ExactMatch);
        prop_assert!(same.shape >= 1.0 && same.text >= 1.0);
    }
}
