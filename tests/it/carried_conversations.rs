//! `swarm agent export F.tar.zst` and its import: the agent's commits and the conversation of its
//! program go on in another clone, under another home. Whatever the file is, a refusal changes
//! nothing. A script stands in for Claude Code.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::harness::{Fingerprint, Sandbox};
use crate::moves::clone_of;

/// It leaves a commit and gives up; whoever begins with that commit finishes.
const HALF: &str = "if [ -e half.txt ]; then write $SWARM_IDEA_ID.txt x; commit Rest; say \
    COMPLETE; else echo I know the way; write half.txt x; commit Half; say BLOCKED:enough; fi";
const BRIEF: &str = "## What an agent before you did";
const MOVED: &str = "## You are in another place now";

/// Keeps a conversation as Claude Code does, a line for each run, and does what the scripted agent
/// does.
const CLAUDE: &str = r#"#!/bin/sh
[ "$1" != --version ] || { echo "99.0.0 (Claude Code)"; exit; }
resumed=
while [ $# -gt 0 ]; do
    case $1 in
    --session-id) id=$2; shift ;;
    --resume) id=$2 resumed=1; shift ;;
    esac
    shift
done
file="$CLAUDE_CONFIG_DIR/projects/$(pwd -P | sed 's/[^A-Za-z0-9]/-/g')/$id.jsonl"
if [ "$resumed" ] && [ ! -e "$file" ]; then
    echo "No conversation found with session ID: $id" >&2
    exit 1
fi
mkdir -p "${file%/*}"
echo "{\"type\":\"user\",\"sessionId\":\"$id\",\"run\":\"$SWARM_RUN_ID\"}" >>"$file"
echo "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"$id\"}"
said=$(sh "$AGENT" | sed 's/\\/\\\\/g; s/"/\\"/g; s/$/\\n/' | tr -d '\n')
content="[{\"type\":\"text\",\"text\":\"$said\"}]"
message="{\"id\":\"m\",\"model\":\"x\",\"content\":$content}"
printf '%s\n' "{\"type\":\"assistant\",\"message\":$message}"
echo '{"type":"result","subtype":"success","is_error":false,"result":""}'
"#;

/// Both programs are configured; the stand-in is the default.
pub fn use_claude(sandbox: &Sandbox) {
    let program = sandbox.path("claude");
    fs::write(&program, CLAUDE).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let profile = json!({"adapter": "claude", "command": [program], "env": {
        "OUT": sandbox.path("out"), "AGENT": sandbox.path("agent.sh"),
        "CLAUDE_CONFIG_DIR": sandbox.path("claude-home"), "ANTHROPIC_API_KEY": "made-up"}});
    sandbox.configure(&json!({"agents": {"profile": "cl", "profiles": {"cl": profile}}}));
}

/// The one agent of a sandbox whose first idea was half done, exported.
fn half_done() -> (Sandbox, PathBuf) {
    let source = Sandbox::ready();
    use_claude(&source);
    source.idea(HALF);
    assert_eq!(source.run_until_idle(), 5);
    let file = source.path("cl.tar.zst");
    export(&source, &file).ok();
    (source, file)
}

fn export(source: &Sandbox, file: &Path) -> crate::harness::Ran {
    let agents = source.swarm(&["agent", "list", "--json"]).json();
    let agent = agents[0]["id"].as_str().unwrap();
    source.swarm(&["agent", "export", agent, "-o", file.to_str().unwrap()])
}

/// A clone with the target's commits, but not the agent's.
fn clone_with_target(source: &Sandbox) -> Sandbox {
    let clone = clone_of(source);
    clone.git(&["fetch", "-q", source.repo().to_str().unwrap(), "main"]);
    clone.git(&["merge", "-q", "--ff-only", "FETCH_HEAD"]);
    use_claude(&clone);
    clone
}

/// Lies beside a clone as `agent.tar.zst`.
pub fn importable() -> Sandbox {
    let (source, file) = half_done();
    let clone = clone_with_target(&source);
    fs::copy(file, clone.path("agent.tar.zst")).unwrap();
    clone
}

fn import(clone: &Sandbox, file: &Path, more: &[&str]) -> Value {
    let mut args = vec!["agent", "import", file.to_str().unwrap(), "--json"];
    args.extend(more);
    clone.swarm(&args).json()
}

/// The files of conversations, with their lines.
fn conversations(sandbox: &Sandbox) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for folder in fs::read_dir(sandbox.path("claude-home/projects"))
        .into_iter()
        .flatten()
    {
        for file in fs::read_dir(folder.unwrap().path()).unwrap() {
            let file = file.unwrap();
            let text = fs::read_to_string(file.path()).unwrap();
            let name = file.file_name().into_string().unwrap();
            found.push((name, text.lines().map(str::to_owned).collect()));
        }
    }
    found.sort();
    found
}

/// What the runs of iterations were told, oldest first.
fn prompts(sandbox: &Sandbox) -> Vec<String> {
    let runs = fs::read_dir(sandbox.private("runs")).unwrap();
    let mut runs: Vec<PathBuf> = runs.map(|run| run.unwrap().path()).collect();
    runs.retain(|run| run.join("agent.json").exists());
    runs.sort();
    let prompt = |run: &PathBuf| fs::read_to_string(run.join("prompt.md")).unwrap();
    runs.iter().map(prompt).collect()
}

fn kept(sandbox: &Sandbox) -> Vec<String> {
    let files = fs::read_dir(sandbox.dot_swarm("state/imports"));
    let names = files.into_iter().flatten();
    names
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn imported_refs(sandbox: &Sandbox) -> String {
    sandbox.git(&["for-each-ref", "--format=%(refname)", "refs/swarm/import/"])
}

#[test]
fn a_conversation_and_its_commits_go_on_in_another_clone() {
    let (source, file) = half_done();
    let again = source.path("again.tar.zst");
    export(&source, &again).ok();
    assert_eq!(fs::read(&file).unwrap(), fs::read(&again).unwrap());
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    export(&source, &again).refused(1, &["is there already"]);
    let [(old, lines)] = &conversations(&source)[..] else {
        panic!("{:?}", conversations(&source));
    };

    let clone = clone_with_target(&source);
    let before = Fingerprint::of(&clone.repo());
    let check = import(&clone, &file, &["--check"]);
    before.assert_same(&Fingerprint::of(&clone.repo()), "a check");
    let carried = json!({"fate": "carried", "why": null});
    assert_eq!(check["conversation"], carried, "{check}");
    assert_eq!(check["commits"]["fate"], "taken", "{check}");

    let imported = import(&clone, &file, &[]);
    assert_eq!(imported["conversation"], carried);
    assert_eq!(imported["commits"]["fate"], "taken", "{imported}");
    assert!(conversations(&clone).is_empty(), "before any run");
    clone.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(clone.run_until_idle(), 0);
    assert_eq!(clone.file_at("main", "half.txt"), "x");
    assert_eq!(clone.file_at("main", "idea-001.txt"), "x");
    let [(new, carried)] = &conversations(&clone)[..] else {
        panic!("{:?}", conversations(&clone));
    };
    let (old, new) = (
        old.trim_end_matches(".jsonl"),
        new.trim_end_matches(".jsonl"),
    );
    assert_ne!(old, new);
    let expected: Vec<String> = lines.iter().map(|line| line.replace(old, new)).collect();
    assert_eq!(carried[..carried.len() - 1], expected);
    let told = &prompts(&clone)[0];
    assert!(told.contains(MOVED) && !told.contains(BRIEF), "{told}");
    assert!(told.contains("An idea of the test"), "{told}");

    // The idea is over, so all that was kept goes.
    assert_eq!(kept(&clone).len(), 2, "{:?}", kept(&clone));
    assert!(imported_refs(&clone).contains("/tip"));
    clone.swarm(&["clean"]).ok();
    assert!(kept(&clone).is_empty(), "{:?}", kept(&clone));
    assert_eq!(imported_refs(&clone), "");
    clone.assert_log_sound();
    clone.assert_sound();
}

#[test]
fn two_ideas_go_on_with_two_conversations_beside_a_daemon() {
    let (source, file) = half_done();
    let clone = clone_with_target(&source);
    let daemon = clone.start();
    let before = Fingerprint::of(&clone.dot_swarm("state/imports"));
    let check = import(&clone, &file, &["--check"]);
    assert_eq!(check["conversation"]["fate"], "carried", "{check}");
    before.assert_same(
        &Fingerprint::of(&clone.dot_swarm("state/imports")),
        "a check",
    );
    for id in ["idea-001", "idea-002"] {
        let imported = import(&clone, &file, &[]);
        assert_eq!(imported["ideaId"], id, "{imported}");
        assert_eq!(imported["conversation"]["fate"], "carried", "{imported}");
        assert_eq!(imported["commits"]["fate"], "taken", "{imported}");
    }
    clone.wait_idea("idea-001", "done");
    clone.wait_idea("idea-002", "done");
    daemon.stop();
    let found = conversations(&clone);
    assert_eq!(found.len(), 2, "{found:?}");
    for (_, lines) in found {
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].contains("-cl-001-i1"), "{lines:?}");
    }
}

#[test]
fn what_cannot_be_resumed_falls_back_to_the_brief_and_says_so() {
    let (source, file) = half_done();
    let clone = clone_with_target(&source);
    import(&clone, &file, &[]);
    for name in kept(&clone) {
        if name.ends_with(".conversation") {
            fs::write(clone.dot_swarm("state/imports").join(name), "other\n").unwrap();
        }
    }
    assert_eq!(clone.run_until_idle(), 0);
    let prompts = prompts(&clone);
    let last = prompts.last().unwrap();
    assert!(last.contains(BRIEF) && !last.contains(MOVED), "{last}");
    assert!(last.contains("\n> I know the way"), "{last}");
    let warned = clone.logged("warningRaised");
    let says = |event: &crate::harness::Logged| event.data.to_string().contains("could not resume");
    assert!(warned.iter().any(says), "{warned:?}");
    assert!(
        conversations(&clone)
            .iter()
            .all(|(_, lines)| lines.len() == 1)
    );
}

#[test]
fn an_import_says_why_a_conversation_stays_behind() {
    let (source, file) = half_done();
    let clone = clone_of(&source);
    use_claude(&clone);
    let why = |file: &Path, more: &[&str]| {
        let all: Vec<&str> = ["--check"].iter().chain(more).copied().collect();
        let result = import(&clone, file, &all);
        assert_eq!(result["conversation"]["fate"], "brief", "{result}");
        result["conversation"]["why"].as_str().unwrap().to_owned()
    };
    assert_eq!(why(&file, &["--profile", "ed"]), "adapterDiffers");
    let state = source.path("cl.json");
    export(&source, &state).ok();
    assert_eq!(why(&state, &[]), "notInFile");
    clone.idea("if [ -e mine.txt ]; then say COMPLETE; else write mine.txt x; say BLOCKED:no; fi");
    assert_eq!(clone.run_until_idle(), 5);
    assert_eq!(why(&file, &["--idea", "idea-001"]), "ownWork");
    let mut odd: Value = serde_json::from_slice(&fs::read(&state).unwrap()).unwrap();
    odd["conversation"]["file"] = "other.jsonl".into();
    fs::write(source.path("odd.json"), odd.to_string()).unwrap();
    assert_eq!(why(&source.path("odd.json"), &[]), "notPortable");
    let told = clone.swarm(&["agent", "import", state.to_str().unwrap(), "--check"]);
    assert!(told.ok().contains("because the file has none"), "{told}");
}

/// The blocks of a file in an archive, with a header that `change` has its way with.
fn blocks(name: &str, content: &[u8], change: impl Fn(&mut tar::Header)) -> Vec<u8> {
    let mut header = tar::Header::new_ustar();
    // A setter would refuse some of these names.
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(tar::EntryType::Regular);
    header.set_size(content.len() as u64);
    header.set_mode(0o600);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    change(&mut header);
    header.set_cksum();
    let padding = vec![0; (512 - content.len() % 512) % 512];
    [header.as_bytes(), content, &padding].concat()
}

fn plain(name: &str, content: &[u8]) -> Vec<u8> {
    blocks(name, content, |_| {})
}

/// Compresses and seals as swarm does.
fn packed(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.include_contentsize(false).unwrap();
    encoder.window_log(21).unwrap();
    encoder.write_all(&parts.concat()).unwrap();
    encoder.write_all(&[0; 1024]).unwrap();
    let frame = encoder.finish().unwrap();
    let seal = [0x50, 0x2a, 0x4d, 0x18, 32, 0, 0, 0];
    [&frame[..], &seal, &Sha256::digest(&frame)].concat()
}

/// Name and content of each file.
fn unpacked(file: &Path) -> Vec<(String, Vec<u8>)> {
    let bytes = fs::read(file).unwrap();
    let frame = &bytes[..bytes.len() - 40];
    let tar = zstd::stream::decode_all(frame).unwrap();
    let mut archive = tar::Archive::new(&tar[..]);
    let entries = archive.entries().unwrap();
    entries
        .map(|entry| {
            let mut entry = entry.unwrap();
            let name = entry.path().unwrap().to_str().unwrap().to_owned();
            let mut content = Vec::new();
            std::io::Read::read_to_end(&mut entry, &mut content).unwrap();
            (name, content)
        })
        .collect()
}

#[test]
fn hostile_packed_files_are_refused_and_change_nothing() {
    let (source, file) = half_done();
    let clone = clone_with_target(&source);
    let whole = fs::read(&file).unwrap();
    let files = unpacked(&file);
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert_eq!((names[0], names[2]), ("agent.json", "git/work.bundle"));
    let [state, conversation, work] = [0, 1, 2].map(|at| plain(names[at], &files[at].1));
    let all = [state.clone(), conversation.clone(), work.clone()];
    assert_eq!(packed(&all), whole, "made by hand as swarm makes it");
    let kind = |kind: tar::EntryType| {
        move |header: &mut tar::Header| {
            header.set_entry_type(kind);
            header.as_mut_bytes()[157..168].copy_from_slice(b"/etc/passwd");
        }
    };
    let mut torn = files[2].1.clone();
    let middle = torn.len() / 2;
    torn[middle] ^= 1;
    let mut other = files[1].1.clone();
    other[2] ^= 1;
    let mut ref_changed = files[2].1.clone();
    let at = ref_changed
        .windows(9)
        .position(|it| it == b" refs/tip")
        .unwrap();
    ref_changed[at + 1..at + 9].copy_from_slice(b"refs/top");
    let hostile: Vec<(&str, Vec<u8>)> = vec![
        ("no tar", packed(&[b"x".repeat(512)])),
        ("nothing", packed(&[])),
        ("a manifest", packed(&[plain("manifest.json", b"{}")])),
        (
            "another first file",
            packed(&[conversation.clone(), state.clone()]),
        ),
        (
            "another order",
            packed(&[state.clone(), work.clone(), conversation.clone()]),
        ),
        (
            "a file twice",
            packed(&[state.clone(), conversation.clone(), conversation.clone()]),
        ),
        ("a state twice", packed(&[state.clone(), state.clone()])),
        (
            "an extra file",
            packed(&[state.clone(), plain("extra.json", b"{}")]),
        ),
        (
            "a way out",
            packed(&[state.clone(), plain("conversation/../x", b"{}")]),
        ),
        ("a way up", packed(&[state.clone(), plain("../x", b"{}")])),
        (
            "a way from the root",
            packed(&[state.clone(), plain("/etc/x", b"{}")]),
        ),
        (
            "a folder in it",
            packed(&[state.clone(), plain("conversation/a/b", b"{}")]),
        ),
        (
            "a hidden file",
            packed(&[state.clone(), plain("conversation/.x", b"{}")]),
        ),
        (
            "a link",
            packed(&[
                state.clone(),
                blocks(names[1], b"", kind(tar::EntryType::Symlink)),
            ]),
        ),
        (
            "a hard link",
            packed(&[
                state.clone(),
                blocks(names[1], b"", kind(tar::EntryType::Link)),
            ]),
        ),
        (
            "an owner",
            packed(&[state.clone(), blocks(names[1], b"", |it| it.set_uid(7))]),
        ),
        (
            "another conversation",
            packed(&[state.clone(), plain(names[1], &other)]),
        ),
        (
            "another name",
            packed(&[state.clone(), plain("conversation/x.jsonl", &files[1].1)]),
        ),
        (
            "damaged commits",
            packed(&[state.clone(), plain(names[2], &torn)]),
        ),
        (
            "another reference",
            packed(&[state.clone(), plain(names[2], &ref_changed)]),
        ),
        (
            "no bundle",
            packed(&[state.clone(), plain(names[2], b"# v2 git bundle\n")]),
        ),
        (
            "bad state",
            packed(&[plain("agent.json", b"{}"), conversation.clone()]),
        ),
        ("cut off", whole[..whole.len() - 50].to_vec()),
        ("half", whole[..whole.len() / 2].to_vec()),
        ("more after it", [&whole[..], b"x"].concat()),
        ("six bytes", whole[..6].to_vec()),
    ];
    let before = Fingerprint::of(&clone.repo());
    let path = clone.path("agent.tar.zst");
    for (what, bytes) in &hostile {
        fs::write(&path, bytes).unwrap();
        let refused = clone.swarm(&["agent", "import", path.to_str().unwrap()]);
        assert_eq!(refused.code, 1, "{what}: {refused}");
        assert!(
            refused.stderr.contains("->"),
            "{what} has no way out: {refused}"
        );
        before.assert_same(&Fingerprint::of(&clone.repo()), what);
    }
    let daemon = clone.start();
    for (what, bytes) in &hostile {
        fs::write(&path, bytes).unwrap();
        let refused = clone.swarm(&["agent", "import", path.to_str().unwrap()]);
        assert_eq!(refused.code, 1, "{what}: {refused}");
    }
    let over_http = clone.post_file("agents/import", &whole, "packed").unwrap();
    assert_eq!(over_http.1["error"]["code"], "AGENT_FILE", "{over_http:?}");
    assert!(clone.logged("agentImported").is_empty());
    assert!(kept(&clone).is_empty() && imported_refs(&clone).is_empty());
    daemon.stop();
}
