//! From an idea to its landing, with the real programs.

use serde_json::json;
use swarm::domain::usage::{Price, Tokens};

use crate::lab::{BOTH, Lab, WORK, commit, dialect, tokens};
use crate::stub::End;

#[test]
fn what_real_agents_commit_lands() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let lab = Lab::with(&json!({
        "qualityCommands": ["test -e claude.txt || test -e codex.txt"],
        "pricing": {"gpt-5": {"input": 2.0, "output": 10.0, "cached": 0.5}},
    }));
    let base = lab.sandbox.head("main");
    lab.ideas(|name| {
        json!([
            {"sh": commit(&format!("{name}.txt"), name), "text": "I write it."},
            {"text": "Done.", "say": "COMPLETE"},
        ])
    });
    lab.work_off();
    assert_eq!(lab.sandbox.landings(&base, "main").len(), 2);
    for name in BOTH {
        assert_eq!(lab.sandbox.file_at("main", &format!("{name}.txt")), name);
        let asked = lab.stub.asked_for(&format!("{name}.txt"));
        let steps: Vec<(usize, End)> = asked.iter().map(|asked| (asked.step, asked.end)).collect();
        assert_eq!(steps, [(0, End::Served), (1, End::Served)], "{asked:#?}");
        let began = lab.sandbox.logged("sessionBegan").into_iter();
        let of_it: Vec<_> = began
            .filter(|event| event.data["profile"] == name)
            .collect();
        assert_eq!(of_it.len(), 1, "{of_it:?}");
        assert_eq!(
            of_it[0].data["session"].as_str(),
            asked[0].session.as_deref()
        );
    }
    let ends = lab.sandbox.logged("runEnded").into_iter();
    let told = ends.filter(|event| !event.data["end"]["verdict"].is_null());
    let verdicts: Vec<_> = told
        .map(|event| event.data["end"]["verdict"].clone())
        .collect();
    assert_eq!(verdicts, ["complete", "complete"]);
    assert_costs(&lab);
    lab.sandbox.assert_repository_clean();
    lab.sandbox.assert_log_sound();
}

/// Claude tells what it cost, by its model's price list; codex does not, and it is estimated.
fn assert_costs(lab: &Lab) {
    let today = &lab.sandbox.status()["usedToday"];
    let [claude, codex] = BOTH.map(|name| lab.stub.served(dialect(name)));
    assert_eq!(tokens(today), claude.plus(codex), "{today:#}");
    let same = |name: &str, tokens: Tokens, prices: [u64; 4]| {
        let price = Price {
            input: prices[0],
            cached: prices[1],
            cache_written: prices[2],
            output: prices[3],
        };
        let dollars = price.of(&tokens).dollars();
        let told = today[name].as_f64().unwrap();
        assert!((told - dollars).abs() < 2e-6, "{name}: {dollars} {today:#}");
    };
    same("usd", claude, [3_000_000, 300_000, 3_750_000, 15_000_000]);
    same("estimatedUsd", codex, [2_000_000, 500_000, 0, 10_000_000]);
    assert_eq!(today["runs"], 2, "{today:#}");
    assert_eq!(today["runsWithoutCost"], 0, "{today:#}");
    assert_eq!(today["runsNotCounted"], 0, "{today:#}");
}

#[test]
fn what_fails_the_check_is_mended_in_the_same_conversation() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let check = "test ! -e broken || { echo the file is called $(cat broken); false; }";
    let lab = Lab::with(&json!({"qualityCommands": [check]}));
    let ideas = lab.ideas(|name| {
        json!([
            {"sh": commit("broken", name)},
            {"text": "Done.", "say": "COMPLETE"},
            {"sh": format!("git mv broken {name}.txt && git commit -qm Mend")},
            {"text": "Mended.", "say": "COMPLETE"},
        ])
    });
    lab.work_off();
    for (name, idea) in BOTH.into_iter().zip(ideas) {
        assert_eq!(lab.sandbox.file_at("main", &format!("{name}.txt")), name);
        let asked = lab.stub.asked_for(&format!("{name}.txt"));
        let steps: Vec<usize> = asked.iter().map(|asked| asked.step).collect();
        assert_eq!(steps, [0, 1, 2, 3]);
        let sessions: Vec<_> = asked.iter().map(|asked| &asked.session).collect();
        assert!(
            sessions.iter().all(|session| *session == sessions[0]),
            "{sessions:?}"
        );
        // It was told what failed, once, and its idea not again.
        let told = asked[2].prompts.last().unwrap();
        assert!(
            told.contains(&format!("the file is called {name}")),
            "{told}"
        );
        assert!(!told.contains("An idea of the test"), "{told}");
        assert_eq!(lab.iterations(&idea).len(), 2);
        assert_eq!(lab.sandbox.show(&idea)["attempts"], 1);
    }
}

#[test]
fn eight_at_once_get_through() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let lab = Lab::with(&json!({"agents": {"maxParallel": 8}}));
    let base = lab.sandbox.head("main");
    let names = || (0..4).flat_map(|number| BOTH.map(|name| format!("{name}-{number}")));
    for number in 0..4 {
        lab.ideas(|name| {
            let own = format!("{name}-{number}");
            json!([
                {"sh": commit(&format!("{own}.txt"), &own), "wait": "all"},
                {"text": "Done.", "say": "COMPLETE"},
            ])
        });
    }
    let daemon = lab.sandbox.spawn_daemon(&["--until-idle"]);
    lab.wait("all to ask", || (lab.stub.asked().len() >= 8).then_some(()));
    assert_eq!(lab.sandbox.status()["slots"]["used"], 8);
    lab.stub.release("all");
    assert_eq!(daemon.wait_exit(WORK), 0, "{}", daemon.output());
    assert_eq!(lab.sandbox.landings(&base, "main").len(), 8);
    for name in names() {
        assert_eq!(lab.sandbox.file_at("main", &format!("{name}.txt")), name);
        assert_eq!(
            lab.stub.asked_for(&format!("{name}.txt")).len(),
            2,
            "{name}"
        );
    }
    lab.sandbox.assert_repository_clean();
    lab.sandbox.assert_nothing_runs();
}
