//! Forms about facts: each is the command of the command line, on the version that it was drawn at.

use super::kit::{Answer, World};
use super::working;
use crate::domain::memory::{
    Claim, ConfirmFact, DisputeFact, FactKey, MemoryCommand, Retracted, WriteFact,
};
use crate::domain::operation::Command;
use crate::domain::testkit::Scenario;
use crate::domain::testkit::memories::{pin, remember, write};

/// `api.port` is at version 4, pinned and contradicted; `tests.db` at version 1.
fn remembering() -> Scenario {
    let mut story = working();
    let events = remember(&story.state).into_iter().map(|(_, event)| event);
    story.given(events);
    story
}

fn key() -> FactKey {
    "api.port".parse().unwrap()
}

fn why(why: &str) -> Claim {
    Claim {
        why: Some(why.into()),
        ..Claim::default()
    }
}

fn settle(value: &str, version: u64, claim: Claim) -> MemoryCommand {
    MemoryCommand::WriteFact(WriteFact {
        key: key(),
        value: value.into(),
        expected: Some(version),
        claim,
    })
}

fn pinned(world: &World) -> bool {
    world.read(|state| state.facts.get(&key()).unwrap().pinned)
}

fn value(world: &World) -> (u64, String) {
    world.read(|state| {
        let fact = state.facts.get(&key()).unwrap();
        (fact.version, fact.value.clone())
    })
}

#[tokio::test]
async fn actions_on_facts_are_the_commands_of_the_command_line() {
    let (key, other) = (key(), "tests.db".parse::<FactKey>().unwrap());
    let dispute = |version, value: Option<&str>, claim| {
        MemoryCommand::DisputeFact(DisputeFact {
            key: other.clone(),
            version,
            value: value.map(str::to_owned),
            claim,
        })
    };
    let cases = [
        (
            "do/fact-settle/api.port",
            "version=4&text=It+is+9090%0D%0A&why=it+moved",
            settle("It is 9090", 4, why("it moved")),
        ),
        (
            "do/fact-confirm/api.port",
            "version=5",
            MemoryCommand::ConfirmFact(ConfirmFact {
                key: key.clone(),
                version: 5,
                claim: Claim::default(),
            }),
        ),
        (
            "do/fact-unpin/api.port",
            "version=5",
            MemoryCommand::Pin {
                key: key.clone(),
                on: false,
            },
        ),
        (
            "do/fact-pin/api.port",
            "version=5",
            MemoryCommand::Pin {
                key: key.clone(),
                on: true,
            },
        ),
        (
            "do/fact-dispute/tests.db",
            "version=1&text=Tests+need+nothing&why=they+pass",
            dispute(1, Some("Tests need nothing"), why("they pass")),
        ),
        (
            "do/fact-dispute/tests.db",
            "version=2&text=&why=",
            dispute(2, None, Claim::default()),
        ),
        (
            "do/fact-retract/api.port",
            "version=5&why=it+is+gone",
            MemoryCommand::Retract {
                what: Retracted::Fact(key.clone()),
                why: Some("it is gone".into()),
            },
        ),
    ];
    let world = World::of(&remembering());
    for (path, form, expected) in cases {
        let done = world.post(path, form).await;
        assert_eq!(done.status, 303, "{path}: {}", done.says());
        let to = path.rsplit_once('/').unwrap().1;
        assert_eq!(done.to, Some(format!("memory/{to}")), "{path}");
        assert_eq!(
            world.commands(),
            [Command::Memory(expected)],
            "{path} {form}"
        );
    }
}

/// Every form about a fact, with a value where one is typed.
const FORMS: [(&str, &str); 6] = [
    ("fact-settle", "text=mine&why=reasons"),
    ("fact-confirm", ""),
    ("fact-dispute", "text=mine&why=reasons"),
    ("fact-pin", ""),
    ("fact-unpin", ""),
    ("fact-retract", "why=reasons"),
];

#[tokio::test]
async fn a_form_of_an_older_version_changes_nothing_and_a_fresh_one_comes() {
    for (verb, form) in FORMS {
        let world = World::of(&remembering());
        let other = write("api.port", Some(4), "It is 7070 <b>now</b>");
        world.elsewhere(Command::Memory(other)).await;
        let before = (value(&world), pinned(&world));
        let path = format!("do/{verb}/api.port");
        let refused = world.post(&path, &format!("version=4&{form}")).await;
        assert_eq!(refused.status, 409, "{verb}");
        assert_eq!((value(&world), pinned(&world)), before, "{verb}");
        assert!(refused.text.contains("data-fresh"), "{verb}");
        let says = refused.says();
        assert!(says.contains("`api.port` is at version 5, not 4"), "{says}");
        assert!(says.contains("It is 7070 &lt;b&gt;now"), "{says}");
        // What was typed stays, and the fresh form is for the value that it shows.
        let sheet = Answer::of_sheet(&refused);
        assert_eq!(sheet.hidden("version"), "5", "{verb}");
        if form.contains("text=") {
            assert!(
                sheet.text.contains("mine</textarea>"),
                "{verb}: {}",
                sheet.text
            );
        }
        if form.contains("why=") {
            assert!(
                sheet.text.contains("value=\"reasons\""),
                "{verb}: {}",
                sheet.text
            );
        }
        world.commands();
        let again = format!("op={}&version=5&{form}", sheet.hidden("op"));
        let done = world.send("POST", &path, Some(&again), &[]).await;
        assert_eq!(done.status, 303, "{verb}: {}", done.says());
        assert_eq!(world.commands().len(), 1, "{verb}");
    }
}

#[tokio::test]
async fn the_forms_of_the_page_act_once_and_on_the_version_that_it_shows() {
    let world = World::of(&remembering());
    let page = world.get("memory/api.port").await;
    assert_eq!(page.status, 200);
    let of_form = |action: &str| {
        let start = format!(
            "action=\"{}\"",
            world.path(&format!("do/{action}/api.port"))
        );
        let (_, rest) = page.text.rsplit_once(&start).unwrap();
        Answer {
            status: 200,
            to: None,
            text: rest.split("</form>").next().unwrap().to_owned(),
        }
    };
    for action in ["fact-settle", "fact-confirm", "fact-unpin"] {
        assert_eq!(of_form(action).hidden("version"), "4", "{action}");
    }
    let (op, value_typed) = (of_form("fact-settle").hidden("op"), "It+is+9091");
    let form = format!("op={op}&version=4&text={value_typed}");
    for sent in [1, 0] {
        let path = "do/fact-settle/api.port";
        let done = world.send("POST", path, Some(&form), &[]).await;
        assert_eq!((done.status, world.commands().len()), (303, sent));
    }
    assert_eq!(value(&world), (5, "It is 9091".to_owned()));
}

#[tokio::test]
async fn the_operation_of_a_form_reaches_the_log_so_that_it_outlives_a_restart() {
    let world = World::of(&remembering());
    let form = "op=1-x&version=4&text=mine";
    world
        .send("POST", "do/fact-settle/api.port", Some(form), &[])
        .await;
    let operations = world.operations();
    assert_eq!(operations.len(), 1);
    assert_eq!(operations[0].as_ref().map(|op| op.as_str().len()), Some(64));
}

#[tokio::test]
async fn forms_about_facts_that_are_wrong_do_nothing_and_say_why() {
    let world = World::of(&remembering());
    let missing = world.post("do/fact-confirm/api.prt", "version=1").await;
    assert_eq!(missing.status, 404);
    assert!(missing.says().contains("api.port"), "{}", missing.says());
    let hostile = world.post("do/fact-confirm/%3Cimg%3E", "version=1").await;
    assert_eq!(hostile.status, 404);
    assert!(!hostile.text.contains("<img>"));
    let unnamed = world.post("do/fact-settle/api.port", "text=mine").await;
    assert_eq!(unnamed.status, 400, "{}", unnamed.says());
    let past = world.post("do/fact-pin/api.port?at=3", "version=4").await;
    assert_eq!(past.status, 409, "{}", past.says());
    assert_eq!(world.commands(), vec![]);
    // The rules refuse these; the dialog comes back with what was typed.
    let empty = world
        .post("do/fact-settle/api.port", "version=4&text=&why=x")
        .await;
    assert_eq!(empty.status, 422, "{}", empty.says());
    assert!(empty.text.contains("value=\"x\""), "{}", empty.text);
    let same = "version=4&text=the+API+listens+on+9090";
    let same = world.post("do/fact-dispute/api.port", same).await;
    assert_eq!(same.status, 422, "{}", same.says());
    assert!(same.says().contains("says the same"), "{}", same.says());
    assert_eq!(value(&world).0, 4);
}

#[tokio::test]
async fn dialogs_about_facts_show_what_is_there() {
    let mut story = remembering();
    story.command(Command::Memory(pin("tests.db")));
    let world = World::of(&story);
    for (verb, _) in FORMS {
        let dialog = world.get(&format!("do/{verb}/api.port")).await;
        assert_eq!(dialog.status, 200, "{verb}");
        let says = dialog.says();
        for words in ["Version 4", "The API listens on 9090", "the value is wrong"] {
            assert!(says.contains(words), "{verb}: {words}: {says}");
        }
    }
    let found = world.get("palette?q=listens+9090").await;
    assert!(found.text.contains("/memory/api.port\""), "{}", found.text);
    let gone = world.get("do/fact-pin/nothing.here").await;
    assert_eq!(gone.status, 404);
}
