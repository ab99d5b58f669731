//! The order and the columns of `swarm idea list`.

use crate::harness::Sandbox;

/// The first words of the lines below the headings.
fn ids(text: &str) -> Vec<&str> {
    text.lines()
        .skip(1)
        .map(|line| line.split(' ').next().unwrap())
        .collect()
}

#[test]
fn open_ideas_come_first_in_the_order_of_their_start() {
    let sandbox = Sandbox::ready();
    sandbox.swarm(&["idea", "add", "plain"]).ok();
    sandbox
        .swarm(&[
            "idea",
            "add",
            "first of all",
            "--after",
            "idea-001",
            "--priority",
            "90",
        ])
        .ok();
    sandbox
        .swarm(&["idea", "add", "urgent", "--tag", "critical"])
        .ok();
    sandbox.swarm(&["idea", "add", "cancelled"]).ok();
    sandbox.swarm(&["idea", "cancel", "idea-004"]).ok();
    sandbox
        .swarm(&["idea", "add", "late", "--priority=-100"])
        .ok();
    sandbox
        .swarm(&[
            "idea",
            "add",
            "waits for late",
            "--after",
            "idea-005",
            "--priority",
            "99",
        ])
        .ok();
    let list = sandbox.swarm(&["idea", "list"]);
    let order = [
        "idea-003", "idea-001", "idea-002", "idea-005", "idea-006", "idea-004",
    ];
    let heading = list.ok().lines().next().unwrap();
    assert_eq!(ids(list.ok()), order, "{list:?}");
    assert!(
        heading.contains("PRIORITY") && !heading.contains("COST"),
        "{heading}"
    );
    // They start in that order.
    sandbox.configure(&serde_json::json!({"agents": {"maxParallel": 1}}));
    for id in ["idea-001", "idea-002", "idea-003", "idea-005", "idea-006"] {
        sandbox
            .swarm(&["idea", "edit", id, "--text", "DO: note order; say COMPLETE"])
            .ok();
    }
    let before = sandbox.swarm(&["idea", "list", "--status", "pending"]);
    assert_eq!(ids(before.ok()), order[..5], "an edit changes nothing");
    assert_eq!(sandbox.run_until_idle(), 0);
    let started = std::fs::read_to_string(sandbox.path("out/order")).unwrap();
    let mut begun: Vec<&str> = started.lines().collect();
    begun.dedup();
    // What waits for another starts after its landing, and meanwhile the slot goes to the next.
    let at = |id: &str| begun.iter().position(|begun| *begun == id).unwrap();
    let independent = [at("idea-003"), at("idea-001"), at("idea-005")];
    assert!(independent.is_sorted() && begun.len() == 5, "{begun:?}");
    let json = sandbox.swarm(&["idea", "list", "--json"]).json();
    let json: Vec<&str> = json
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    assert!(json.is_sorted(), "JSON keeps its order: {json:?}");
    let daemon = sandbox.start();
    let with_daemon = sandbox.swarm(&["idea", "list"]).ok().to_owned();
    daemon.stop();
    assert_eq!(
        with_daemon,
        sandbox.swarm(&["idea", "list"]).ok(),
        "the same without a daemon"
    );
    let newest = sandbox
        .ideas()
        .into_iter()
        .filter(|idea| idea["status"] == "done");
    let newest = newest
        .max_by_key(|idea| idea["updatedAt"].as_str().unwrap().to_owned())
        .unwrap();
    assert_eq!(ids(&with_daemon)[0], newest["id"].as_str().unwrap());
}

#[test]
fn the_first_line_is_the_title_and_is_whole_where_nothing_forces_a_cut() {
    let sandbox = Sandbox::ready();
    let first = format!("A heading{}", " that goes on".repeat(20));
    sandbox.swarm(&["idea", "add", &format!("# {first}")]).ok();
    let text = format!("# {first} too\n\nand a second line");
    sandbox.swarm(&["idea", "add", &text]).ok();
    let list = sandbox.swarm(&["idea", "list"]);
    let lines: Vec<&str> = list.ok().lines().skip(1).collect();
    assert_eq!(lines.len(), 2, "{list}");
    assert!(lines[0].ends_with(&format!("  {first}")), "{list}");
    assert!(lines[1].ends_with(&format!("  {first} too…")), "{list}");
}
