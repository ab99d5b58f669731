//! Pictures of all pages, from a real night of `swarm demo`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use crate::browser::Browser;
use crate::harness::Sandbox;
use crate::looks::{LOOKS, visit};

/// How long the demo may take.
const MINUTE: Duration = Duration::from_secs(60);

/// The pictures' names and pages; `IDEA` and `AGENT` are those of the work that waits for review,
/// `SEQ` is in the middle of the demo. see `visit` for `>`.
const PICTURES: &[(&str, &str)] = &[
    ("overview", ""),
    ("overview-past", "?at=SEQ"),
    ("ideas", "ideas"),
    ("graph", "ideas/graph"),
    ("add", "ideas>ideas/add"),
    ("idea", "ideas/IDEA"),
    ("idea-split", "ideas/IDEA?tab=changes&view=split"),
    ("idea-done", "ideas/idea-002"),
    ("idea-history", "ideas/idea-005?tab=history"),
    ("idea-output", "ideas/idea-005?tab=output"),
    ("idea-prompt", "ideas/idea-005?tab=prompt"),
    ("idea-provenance", "ideas/idea-005?tab=provenance"),
    ("agents", "agents"),
    ("agent", "agents/AGENT"),
    ("agents-past", "agents?at=SEQ"),
    ("train", "train"),
    ("train-past", "train?at=SEQ"),
    ("timeline", "timeline"),
    ("timeline-past", "timeline?at=SEQ"),
    ("events", "events"),
    ("checkpoints", "checkpoints"),
    ("checkpoint", "checkpoints/before-review"),
    ("rollback", "checkpoints>do/rollback/OLDEST"),
    ("changes", "changes?from=1"),
    ("report", "report"),
    ("cost", "cost"),
    ("learnings", "learnings"),
    ("memory", "memory"),
    ("hooks", "hooks"),
    ("settings", "settings"),
    ("pause", ">do/pause"),
    ("checkpoint-create", ">do/checkpoint"),
    ("reject", "ideas/IDEA>do/reject/IDEA"),
    ("intervene", "agents/AGENT>do/intervene/AGENT"),
    ("cancel", "do/cancel/idea-011"),
    ("palette", "palette?q=page"),
    ("nowhere", "ideas/idea-099"),
];

/// Into the folder that `SWARM_PICTURES` names; `SWARM_PICTURES_ONLY` names one kind.
#[test]
#[ignore = "makes the pictures of docs/page.md; run by tests/page/pictures.sh"]
fn pictures_of_every_page() {
    let folder = PathBuf::from(std::env::var_os("SWARM_PICTURES").unwrap());
    let only = std::env::var("SWARM_PICTURES_ONLY").ok();
    let sandbox = Sandbox::empty();
    let middle = play_demo(&sandbox);
    let daemon = sandbox.start();
    let idea = go_on(&sandbox);
    let checkpoints = sandbox.swarm(&["checkpoint", "list", "--json"]).json();
    let checkpoints = checkpoints.as_array().unwrap().iter();
    let oldest = checkpoints.min_by_key(|one| one["createdAt"].to_string());
    let oldest = oldest.unwrap()["name"].as_str().unwrap().to_owned();
    let agent = sandbox.show(&idea)["agentId"].as_str().unwrap().to_owned();
    let browser = Browser::open(&sandbox);
    browser.devtools("Emulation.setScrollbarsHidden", &json!({"hidden": true}));
    for look in LOOKS {
        look.put_on(&browser);
        for (name, page) in PICTURES {
            if only.as_ref().is_some_and(|only| only != name) {
                continue;
            }
            let page = page.replace("IDEA", &idea).replace("AGENT", &agent);
            let page = page.replace("OLDEST", &oldest);
            let page = page.replace("SEQ", &middle.to_string());
            visit(&browser, &page);
            let file = folder.join(format!("{name}-{}.png", look.name()));
            fs::write(file, browser.picture()).unwrap();
        }
    }
    drop(browser);
    daemon.stop();
}

/// Plays the demo at the speed that people see, and makes its folder the sandbox's repository, with
/// the name of the demo's project. Gives an event in the middle.
fn play_demo(sandbox: &Sandbox) -> u64 {
    let mut command = sandbox.swarm_command(&["demo", "--no-open", "--keep"]);
    command.current_dir(sandbox.path("home"));
    sandbox.run(&mut command, b"", MINUTE).ok();
    let kept = fs::read_dir(sandbox.path("tmp")).unwrap();
    let kept: Vec<PathBuf> = kept.map(|entry| entry.unwrap().path()).collect();
    let [kept] = kept.as_slice() else {
        panic!("not one folder was kept: {kept:?}");
    };
    rename(kept, &sandbox.path("bakery"));
    fs::remove_dir(sandbox.repo()).unwrap();
    symlink(sandbox.path("bakery"), sandbox.repo()).unwrap();
    let events = sandbox.swarm(&["events", "--json"]);
    events.ok().lines().count() as u64 / 2
}

fn rename(from: &Path, to: &Path) {
    fs::rename(from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
}

/// What a person does next: a checkpoint, work that they want to see before it lands, and ideas
/// that wait for it. Gives the idea whose work waits.
fn go_on(sandbox: &Sandbox) -> String {
    sandbox
        .swarm(&["checkpoint", "create", "before-review"])
        .ok();
    let add = |text: &str, args: &[&str]| {
        let mut all = vec!["idea", "add", text];
        all.extend(args);
        sandbox.swarm(&all).ok().trim().to_owned()
    };
    let idea = add(
        "Add a page about the baker\n\nWho bakes, since when.",
        &["--review"],
    );
    sandbox.wait_needs_you("review");
    add("Link the baker from the home page", &["--after", &idea]);
    add("Add a photo of the baker", &["--after", &idea]);
    idea
}
