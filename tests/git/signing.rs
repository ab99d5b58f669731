//! Commits and tags of swarm are signed where the person's git signs, with real ssh and gpg keys.

use std::path::Path;
use std::process::{Command, Stdio};

use swarm::git::{GitError, Oid, Sealed};

use crate::commit_leftovers::want as seal;
use crate::fixture::{Fixture, TIME, environment, git, identity, write};
use crate::merging::{built, merge};
use crate::required_tools::are_missing;

/// Runs a program of the test in its own home; panics if it fails.
fn run(home: &Path, program: &str, args: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(args).envs(environment(home)).current_dir(home);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// A repository that signs with a new ssh key.
fn with_ssh_key() -> Fixture {
    let fixture = Fixture::new();
    let home = fixture.dir.path();
    let key = home.join("key");
    let key = key.to_str().unwrap();
    run(
        home,
        "ssh-keygen",
        &["-q", "-t", "ed25519", "-N", "", "-f", key],
    );
    let public = std::fs::read_to_string(format!("{key}.pub")).unwrap();
    write(home, "signers", &format!("* {public}"));
    let signers = home.join("signers");
    for (name, value) in [
        ("gpg.format", "ssh"),
        ("user.signingKey", key),
        ("gpg.ssh.allowedSignersFile", signers.to_str().unwrap()),
        ("commit.gpgSign", "true"),
        ("tag.gpgSign", "true"),
    ] {
        fixture.git(&["config", name, value]);
    }
    fixture
}

fn signature(fixture: &Fixture, commit: Oid) -> String {
    fixture.git(&["show", "-s", "--format=%G?", &commit.to_string()])
}

#[test]
fn merges_leftovers_and_tags_are_signed_with_an_ssh_key() {
    if are_missing(&["ssh"]) {
        return;
    }
    let fixture = with_ssh_key();
    let (path, source) = fixture.attempt(1, &[("new.txt", "agent\n")]);
    let commit = built(&fixture.repo.build_merge(&merge(source)).unwrap());
    assert_eq!(signature(&fixture, commit), "G");
    let message = fixture.git(&["show", "-s", "--format=%B", &commit.to_string()]);
    assert_eq!(message, merge(source).message.trim_end());

    write(&path, "left.txt", "left\n");
    let Sealed::Done {
        head, committed, ..
    } = fixture.repo.seal(&seal(&fixture, 1)).unwrap()
    else {
        panic!("not sealed");
    };
    assert!(committed);
    assert_eq!(signature(&fixture, head), "G");
    // The same call again, as after a kill, recognises its own commit.
    let again = fixture.repo.seal(&seal(&fixture, 1)).unwrap();
    assert!(matches!(again, Sealed::Done { head: same, committed: true, .. } if same == head));

    let (name, target) = ("swarm/checkpoint/one", fixture.oid("main"));
    let tag = fixture
        .repo
        .write_tag(name, target, "# one\n", &identity(), TIME);
    let tag = tag.unwrap().to_string();
    fixture.git(&["verify-tag", &tag]);
    let text = fixture.git(&["cat-file", "tag", &tag]);
    assert!(
        text.contains("tag swarm/checkpoint/one\n") && text.contains("\n# one\n"),
        "{text}"
    );
    assert_eq!(fixture.git(&["tag", "--list"]), "");
    fixture.check();
}

#[test]
fn an_agent_does_not_change_how_swarm_signs() {
    if are_missing(&["ssh"]) {
        return;
    }
    let fixture = with_ssh_key();
    fixture.repo.try_signing().unwrap();
    let (path, source) = fixture.attempt(1, &[("new.txt", "agent\n")]);
    git(&path, &["config", "commit.gpgSign", "false"]);
    git(&path, &["config", "user.signingKey", "/nowhere"]);
    git(&path, &["config", "gpg.format", "openpgp"]);
    let commit = built(&fixture.repo.build_merge(&merge(source)).unwrap());
    git(&path, &["config", "gpg.format", "ssh"]);
    assert_eq!(signature(&fixture, commit), "G");
    for program in [
        "gpg.program",
        "gpg.ssh.program",
        "gpg.ssh.defaultKeyCommand",
    ] {
        git(&path, &["config", program, "/bin/true"]);
        let refused = fixture.repo.build_merge(&merge(source));
        let changed = matches!(refused, Err(GitError::ConfigChanged { .. }));
        assert!(changed, "{program}: {refused:?}");
        git(&path, &["config", "--unset", program]);
    }
}

#[test]
fn without_a_usable_key_nothing_unsigned_is_written() {
    let fixture = Fixture::new();
    let (_, source) = fixture.attempt(1, &[("new.txt", "agent\n")]);
    fixture.git(&["config", "gpg.format", "ssh"]);
    fixture.git(&["config", "user.signingKey", "/nowhere/key"]);
    fixture.git(&["config", "commit.gpgSign", "true"]);
    let tried = fixture.repo.try_signing().unwrap_err().to_string();
    assert!(
        tried.contains("commit.gpgSign") && tried.contains("merge.sign never"),
        "{tried}"
    );
    let refused = fixture.repo.build_merge(&merge(source));
    assert!(
        matches!(refused, Err(GitError::CannotSign { .. })),
        "{refused:?}"
    );
    fixture.repo.never_sign(true);
    let commit = built(&fixture.repo.build_merge(&merge(source)).unwrap());
    assert_eq!(signature(&fixture, commit), "N");
}

#[test]
fn a_merge_is_signed_with_a_gpg_key() {
    if are_missing(&["gpg"]) {
        return;
    }
    let fixture = Fixture::new();
    let home = fixture.dir.path();
    let who = "Person <person@localhost>";
    std::fs::create_dir(home.join(".gnupg")).unwrap();
    run(home, "chmod", &["700", ".gnupg"]);
    let quick = [
        "--batch",
        "--passphrase",
        "",
        "--quick-gen-key",
        who,
        "ed25519",
        "sign",
    ];
    run(home, "gpg", &quick);
    let (_, source) = fixture.attempt(1, &[("new.txt", "agent\n")]);
    fixture.git(&["config", "user.signingKey", "person@localhost"]);
    fixture.git(&["config", "commit.gpgSign", "true"]);
    let merged = fixture.repo.build_merge(&merge(source));
    let signed = merged.map(|merged| {
        let (repo, commit) = (fixture.root(), built(&merged).to_string());
        let repo = repo.to_str().unwrap();
        run(
            home,
            "git",
            &["-C", repo, "show", "-s", "--format=%G?", &commit],
        )
    });
    run(home, "gpgconf", &["--kill", "all"]);
    assert_eq!(signed.unwrap(), "G\n");
}
