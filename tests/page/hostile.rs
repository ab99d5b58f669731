//! Hostile text in whatever agents and people fill, in a real browser: it is text, and no script
//! runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::browser::{self, Browser};
use crate::harness::{Daemon, Sandbox};

const IMAGE: &str = "<img src=x onerror=window.hacked=1>";
const QUOTE: &str = "\" onmouseover=\"window.hacked=1\" x=\"";

/// What the agents do: output with markup, sequences for terminals and a line of 10 MB; files,
/// contents and commits with hostile names.
const SCRIPT: &str = r#"
IMAGE='<img src=x onerror=window.hacked=1>'
QUOTE='" onmouseover="window.hacked=1" x="'
printf '%s\n' "$IMAGE" "$QUOTE" '<script>window.hacked=1</script>' '</ol></main><svg onload=x>'
printf '\033]8;;javascript:window.hacked=1\007link\033]8;;\007 \033[31mred '
printf '\342\200\256gnp.exe \000 \355\240\200\n'
head -c 10485760 /dev/zero | tr '\000' '<'
printf '\nlast %s\n' "$IMAGE"
write "$IMAGE.txt" "<script>window.hacked=1</script> $QUOTE"
write "a' onmouseover='window.hacked=1.txt" "$IMAGE"
git add -A
git commit -q -m "$IMAGE $QUOTE" -m '<script>window.hacked=1</script>'
say "LEARNING_GLOBAL:$IMAGE $QUOTE"
"#;

/// Anything that hostile text would have made of a page, and what the page must still have.
const FAULTS: &str = "
    const found = [];
    if ('hacked' in window) found.push('a script ran');
    const made = 'img, iframe, object, embed, base, [onerror], [onload], [onmouseover], [style]';
    for (const one of document.querySelectorAll(made)) found.push(one.outerHTML.slice(0, 200));
    if (document.scripts.length > 2) found.push(document.scripts.length + ' scripts');
    for (const link of document.querySelectorAll('[href], [action], [src]')) {
        for (const name of ['href', 'action', 'src']) {
            const value = link.getAttribute(name);
            if (value && /^\\s*(javascript|data|vbscript):/i.test(value)) found.push(value);
        }
    }
    const took = performance.getEntriesByType('navigation')[0].responseEnd;
    if (took > 3000) found.push('drawn in ' + took + ' ms');
    return found;";

fn add(sandbox: &Sandbox, after: &str, args: &[&str]) -> String {
    let title = format!("{IMAGE} \" onmouseover=\"window.hacked=1\" \u{202e}txt");
    let text = format!("{title}\n\nDO: . \"$OUT/hostile.sh\"; {after}");
    let mut all = vec!["idea", "add", text.as_str(), "--tag", "<b>tag</b>"];
    all.extend(args);
    sandbox.swarm(&all).ok().trim().to_owned()
}

/// Ideas that landed, wait for review, are blocked, ask, and are at work.
fn night(sandbox: &Sandbox) -> Daemon<'_> {
    let branch = "to<img/src=x/onerror=window.hacked=1>";
    sandbox.git(&["branch", branch]);
    sandbox.configure(&json!({
        "target": branch,
        "agents": {"maxParallel": 4},
        "checks": {"baseline": "off"},
        "qualityCommands": [],
    }));
    fs::write(sandbox.path("out/hostile.sh"), SCRIPT).unwrap();
    let hook = sandbox.dot_swarm("hooks/post-complete.sh");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(
        &hook,
        format!("#!/bin/sh\necho '{IMAGE}'; echo '{IMAGE}' >&2; exit 1\n"),
    )
    .unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let daemon = sandbox.start();
    sandbox.swarm(&["checkpoint", "create", "before"]).ok();
    for args in [
        ["memory", "put", "a.b", IMAGE, "--why", IMAGE],
        ["memory", "dispute", "a.b", QUOTE, "--path", IMAGE],
        ["scratch", "put", "n.md", IMAGE, "--title", QUOTE],
    ] {
        sandbox.swarm(&args).ok();
    }
    let landed = add(sandbox, "say COMPLETE", &[]);
    sandbox.wait_idea(&landed, "done");
    add(sandbox, "say COMPLETE", &["--review"]);
    sandbox.wait_needs_you("review");
    add(sandbox, "say \"BLOCKED:$IMAGE $QUOTE\"", &[]);
    sandbox.wait_needs_you("blocked");
    add(sandbox, "say \"NEEDS_HUMAN:$IMAGE $QUOTE\"", &[]);
    sandbox.wait_needs_you("question");
    add(sandbox, "hold work; say COMPLETE", &[]);
    sandbox.wait_held("work");
    daemon
}

#[test]
fn hostile_text_is_shown_as_text_and_runs_nothing() {
    if browser::is_missing() {
        return;
    }
    let sandbox = Sandbox::ready();
    let daemon = night(&sandbox);
    let browser = Browser::open(&sandbox);
    // The one that is held: another waits for an answer.
    let agents = sandbox.status()["agents"].as_array().unwrap().clone();
    let held = agents.iter().find(|agent| agent["phase"] == "working");
    let agent = held.unwrap()["id"].as_str().unwrap().to_owned();
    let mut pages: Vec<String> = [
        "",
        "ideas",
        "ideas/graph",
        "ideas/idea-001",
        "ideas/idea-001?tab=output",
        "ideas/idea-001?tab=history",
        "ideas/idea-001?tab=prompt",
        "ideas/idea-002",
        "ideas/idea-002?tab=changes",
        "ideas/idea-002?tab=changes&view=split",
        "ideas/idea-003",
        "ideas/idea-004",
        "agents",
        "train",
        "timeline",
        "timeline?by=idea&last=all&as=table",
        "events",
        "events?all=1",
        "checkpoints",
        "checkpoints/before",
        "changes?from=1",
        "report",
        "cost",
        "learnings",
        "memory",
        "memory?note=n.md&q=img",
        "memory/a.b",
        "hooks",
        "hooks/post-complete",
        "settings",
        "palette?q=img",
        "do/rollback/before",
        "do/edit/idea-003",
        "do/reject/idea-002",
        "do/cancel/idea-003",
    ]
    .map(str::to_owned)
    .into();
    pages.extend([format!("agents/{agent}"), format!("do/intervene/{agent}")]);
    let seq = sandbox.status()["lastSeq"].as_u64().unwrap();
    pages.push(format!("?at={seq}"));
    let mut texts = 0;
    for page in &pages {
        browser.go(page);
        assert_eq!(browser.run(FAULTS), json!([]), "/{page}");
        assert_eq!(browser.complaints(), Vec::<String>::new(), "/{page}");
        let text = browser.text();
        assert!(!text.contains('\u{202e}'), "/{page}: {text}");
        texts += usize::from(text.contains(IMAGE));
    }
    assert!(texts > 15, "only {texts} pages show it as text");
    // The same by a live update.
    browser.go("");
    browser.wait("the stream", "document.querySelector('#stream')");
    let seen = "document.querySelector('#tab-state').dataset.needs";
    let before = browser.run(&format!("return {seen}"));
    sandbox.release("work");
    browser.wait(
        "a live update",
        &format!(
            "{seen} !== {before} || \
        !document.querySelector('#row-{agent}')"
        ),
    );
    let text = add(&sandbox, "say \"BLOCKED:$IMAGE\"", &[]);
    browser.wait(
        "the new need",
        &format!("document.body.innerHTML.includes('{text}')"),
    );
    assert_eq!(browser.run(FAULTS), json!([]), "after a live update");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    drop(browser);
    daemon.stop();
}
