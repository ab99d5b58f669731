//! A real backlog in a repository with a history and a check that bites: twenty ideas with
//! dependencies, run until idle.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use serde_json::json;

use crate::harness::Sandbox;

const MODULES: usize = 200;
const COMMITS: usize = 300;
const IDEAS: usize = 20;

/// Each module's `sum:` is the number of its items, and each `uses:` names a module that is there.
const CHECK: &str = r#"#!/bin/sh
awk '
function finish() { if (file != "" && sum != items) { print file ": sum is " sum ", items are " items; bad = 1 } }
FNR == 1 { finish(); file = FILENAME; sum = -1; items = 0; n = split(FILENAME, p, "/"); there[p[n]] = 1 }
/^sum: / { sum = $2 }
/^item / { items++ }
/^uses: / { used[$2 ".txt"] = FILENAME }
END {
    finish()
    for (name in used) if (!(name in there)) { print used[name] ": " name " is missing"; bad = 1 }
    exit bad
}' modules/*.txt
"#;

/// Generates the same history each time, as input of `git fast-import`. Each commit passes the
/// check.
fn history() -> String {
    let mut import = String::new();
    for commit in 0..COMMITS {
        let number = commit % MODULES;
        let items = 1 + commit / MODULES;
        let mut module = format!("module {number}\n");
        for item in 0..items {
            writeln!(module, "item {number}.{item}").unwrap();
        }
        if number > 0 {
            writeln!(module, "uses: m{}", number / 2).unwrap();
        }
        writeln!(module, "sum: {items}").unwrap();
        let message = format!("Module {number}, {items} items");
        let date = 1_700_000_000 + 60 * commit;
        writeln!(import, "commit refs/heads/main").unwrap();
        writeln!(
            import,
            "committer A Person <person@example.org> {date} +0000"
        )
        .unwrap();
        writeln!(import, "data {}\n{message}", message.len()).unwrap();
        if commit == 0 {
            writeln!(
                import,
                "M 100755 inline check.sh\ndata {}\n{CHECK}",
                CHECK.len()
            )
            .unwrap();
        }
        writeln!(
            import,
            "M 100644 inline modules/m{number}.txt\ndata {}\n{module}",
            module.len()
        )
        .unwrap();
    }
    import
}

fn repository() -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.git(&["init", "-q", "-b", "main"]);
    sandbox
        .git_fed(
            &sandbox.repo(),
            &["fast-import", "--quiet"],
            history().as_bytes(),
        )
        .ok();
    sandbox.git(&["reset", "-q", "--hard"]);
    let mode = fs::metadata(sandbox.repo().join("check.sh"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o111, 0o111);
    sandbox.set_up();
    sandbox.configure(&json!({"qualityCommands": ["./check.sh"], "agents": {"maxParallel": 3}}));
    sandbox
}

/// Idea `number`, from 1: a new module that uses the one of the idea before it in its chain, in two
/// iterations, the first of which breaks the check for every fifth idea.
fn add_idea(sandbox: &Sandbox, number: usize, ids: &[String]) -> String {
    let before = number.checked_sub(4).filter(|before| *before > 0);
    let name = format!("modules/new{number}.txt");
    let uses = before.map_or("m7".to_owned(), |before| format!("new{before}"));
    let wrong = if number.is_multiple_of(5) {
        "sum=2"
    } else {
        "sum=1"
    };
    let needs = before.map_or(String::new(), |before| {
        format!("[ -f modules/new{before}.txt ] || exit 1; ")
    });
    let doing = format!(
        "{needs}{wrong}; iteration 1 || sum=1; printf 'item a\\nuses: {uses}\\nsum: %s\\n' $sum \
        >{name}; commit Module new{number}; say COMPLETE"
    );
    let after = before.map(|before| ids[before - 1].clone());
    let args: Vec<&str> = after
        .iter()
        .flat_map(|id| ["--after", id.as_str()])
        .collect();
    sandbox.idea_with(&doing, &args)
}

#[test]
fn twenty_ideas_land_one_by_one_each_checked_and_in_order() {
    let sandbox = repository();
    let base = sandbox.head("main");
    let mut ids: Vec<String> = Vec::new();
    for number in 1..=IDEAS {
        ids.push(add_idea(&sandbox, number, &ids));
    }
    let daemon = sandbox.spawn_daemon(&["--until-idle"]);
    assert_eq!(
        daemon.wait_exit(Duration::from_secs(120)),
        0,
        "{}",
        daemon.output()
    );

    let landings = sandbox.landings(&base, "main");
    let order: Vec<&str> = landings.iter().map(|(_, idea)| idea.as_str()).collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, ids, "each idea lands exactly once");
    for (number, id) in ids.iter().enumerate().skip(4) {
        let place = |id: &String| order.iter().position(|landed| *landed == id.as_str());
        assert!(
            place(&ids[number - 4]) < place(id),
            "{id} landed too early: {order:?}"
        );
    }
    for idea in sandbox.ideas() {
        assert_eq!(idea["status"], "done", "{idea}");
        let landed = landings
            .iter()
            .find(|(_, id)| idea["id"] == id.as_str())
            .unwrap();
        assert_eq!(idea["commit"], landed.0.as_str());
    }
    assert_eq!(sandbox.logged("gateFailed").len(), IDEAS / 5);

    let checkout = sandbox.person_worktree("checkout", &base);
    for (commit, idea) in &landings {
        sandbox.git_in(&checkout, &["checkout", "-q", "--detach", commit]);
        let mut check = sandbox.command("./check.sh");
        let ran = sandbox.run(check.current_dir(&checkout), b"", Duration::from_secs(10));
        assert_eq!(ran.code, 0, "{idea}: {ran}");
    }
    sandbox.git(&["worktree", "remove", "--force", checkout.to_str().unwrap()]);

    sandbox.assert_repository_clean();
    sandbox.assert_log_sound();
    sandbox.assert_nothing_runs();
}

#[test]
fn what_is_said_at_the_end_is_what_landed_meanwhile() {
    let sandbox = Sandbox::ready();
    for id in ["idea-001", "idea-002"] {
        sandbox.idea("write $SWARM_IDEA_ID.txt x; say COMPLETE");
        let told = sandbox.swarm(&["start", "--until-idle"]);
        let landed = told.stdout.lines().filter(|line| line.contains("idea-"));
        let landed: Vec<&str> = landed
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        assert!(told.stdout.starts_with("landed 1 idea in "), "{told}");
        assert_eq!(landed, [id], "{told}");
    }
}
