//! The example hooks do what their heads say, also the second time and where a tool is missing.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

use tempfile::TempDir;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("hooks-examples")
}

/// A hook's run, in a repository of its own.
struct Stage {
    dir: TempDir,
    path: std::ffi::OsString,
}

impl Stage {
    fn new() -> Self {
        Self {
            dir: TempDir::new().unwrap(),
            path: std::env::var_os("PATH").unwrap(),
        }
    }

    /// A stage on which only `tools` are installed.
    fn with_only(tools: &[&str]) -> Self {
        let stage = Self::new();
        let bin = stage.dir.path().join("bin");
        fs::create_dir(&bin).unwrap();
        for tool in tools {
            symlink(which(tool).unwrap(), bin.join(tool)).unwrap();
        }
        Self {
            path: bin.into(),
            ..stage
        }
    }

    fn repo(&self) -> PathBuf {
        let repo = self.dir.path().join("repo");
        fs::create_dir_all(&repo).unwrap();
        repo
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", self.dir.path())
            .env("TMPDIR", self.dir.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .current_dir(self.repo());
        command
    }

    fn run(&self, script: &Path, variables: &[(&str, &str)], input: &str) -> Output {
        let mut child = self
            .command(&which("bash").unwrap())
            .arg(script)
            .env("SWARM_REPO", self.repo())
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A hook that needs no input may be gone before it is written.
        drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
        child.wait_with_output().unwrap()
    }

    /// Runs a line of shell in the repository; its output.
    fn sh(&self, line: &str) -> String {
        let output = self
            .command(Path::new("/bin/sh"))
            .args(["-c", line])
            .output()
            .unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// A repository with one commit that holds `file`; the commit's id.
    fn commit(&self, file: &str, text: &str) -> String {
        let path = self.repo().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self.sh(
            "git init -q -b main && git add -A && git -c user.name=a -c user.email=a@b commit \
            -qm one && git rev-parse HEAD",
        )
    }
}

fn which(tool: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&path)
        .map(|dir| dir.join(tool))
        .find(|file| file.is_file())
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

#[test]
fn every_script_can_be_run_and_says_for_which_hook_it_is() {
    let mut scripts = 0;
    let readme = fs::read_to_string(examples().join("README.md")).unwrap();
    for entry in fs::read_dir(examples()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name == "README.md" {
            continue;
        }
        scripts += 1;
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o111,
            0o111,
            "{name}"
        );
        for part in [
            "#!/usr/bin/env bash\n",
            "\n# Hooks: ",
            "\n# Variables: ",
            "\n# Needs: ",
            "\n# Twice: ",
            "\nset -euo pipefail\n",
        ] {
            assert!(text.contains(part), "{name} lacks {part:?}");
        }
        assert!(
            readme.contains(&format!("`{name}`")),
            "{name} is not in the README"
        );
        let checked = Command::new("bash").arg("-n").arg(&path).output().unwrap();
        assert!(checked.status.success(), "{checked:?}");
    }
    assert_eq!(scripts, 8);
}

#[test]
fn a_notification_gets_its_texts_and_is_no_failure_without_a_desktop() {
    let script = examples().join("notify-desktop.sh");
    let stage = Stage::with_only(&["bash", "basename"]);
    let output = stage.run(&script, &[("SWARM_HOOK", "on-pause")], "");
    assert!(
        output.status.success() && told(&output).contains("neither notify-send nor osascript"),
        "{output:?}"
    );

    let fake = stage.dir.path().join("bin/notify-send");
    fs::write(&fake, "#!/bin/sh\nprintf '<%s>' \"$@\"\n").unwrap();
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
    let variables = [
        ("SWARM_HOOK", "on-error"),
        ("SWARM_ERROR_TYPE", "disk"),
        ("SWARM_MESSAGE", "-x $(touch y) `z`"),
        ("SWARM_IDEA_ID", "idea-001"),
    ];
    let output = stage.run(&script, &variables, "");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "<--app-name=swarm><--><swarm: disk idea-001><-x $(touch y) `z`\nrepo>"
    );
}

#[test]
fn a_notification_says_that_swarm_needs_you_or_is_done() {
    let script = examples().join("notify-desktop.sh");
    let stage = Stage::with_only(&["bash", "basename"]);
    fake(&stage, "notify-send", "printf '<%s>' \"$@\"");
    let title = |kind: &str| {
        let output = stage.run(&script, &needs_you(kind), "");
        String::from_utf8(output.stdout).unwrap()
    };
    let text = "idea-001 failed: $(touch y) `z` <b>\nrepo";
    assert_eq!(
        title("failed"),
        format!("<--app-name=swarm><--><swarm needs you: failed idea-001><{text}>")
    );
    assert!(title("ended").contains("<swarm is done>"));
}

/// Puts a program on the stage that does this.
fn fake(stage: &Stage, name: &str, script: &str) {
    let file = stage.dir.path().join("bin").join(name);
    fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The variables of `on-needs-you`.
fn needs_you(kind: &str) -> [(&'static str, &str); 6] {
    [
        ("SWARM_HOOK", "on-needs-you"),
        ("SWARM_EVENT_SEQ", "7"),
        ("SWARM_KIND", kind),
        ("SWARM_IDEA_ID", "idea-001"),
        ("SWARM_MESSAGE", "idea-001 failed: $(touch y) `z` <b>"),
        (
            "SWARM_COMMANDS",
            "swarm idea retry idea-001\nswarm idea cancel idea-001",
        ),
    ]
}

/// A stage on which `curl` keeps its arguments, its settings and what it sends in the repository.
fn with_fake_curl(tools: &[&str]) -> Stage {
    let stage = Stage::with_only(tools);
    fake(
        &stage,
        "curl",
        "printf '%s\\n' \"$@\" > arguments; cat \"$2\" > settings; cat > body",
    );
    stage
}

fn kept(stage: &Stage, name: &str) -> String {
    fs::read_to_string(stage.repo().join(name)).unwrap()
}

const TOOLS: [&str; 4] = ["bash", "basename", "tr", "cat"];

#[test]
fn ntfy_gets_title_priority_and_text_and_the_topic_stays_out_of_the_arguments() {
    let script = examples().join("ntfy.sh");
    let stage = with_fake_curl(&TOOLS);
    let output = stage.run(&script, &needs_you("question"), "");
    assert!(
        told(&output).contains("no topic: write its URL"),
        "{output:?}"
    );
    write_secret(
        &stage,
        "ntfy",
        "https://ntfy.sh/s3cret\nAuthorization: Bearer t0ken",
    );
    let output = stage.run(&script, &needs_you("question"), "");
    assert!(output.status.success(), "{}", told(&output));
    let arguments = kept(&stage, "arguments");
    assert!(
        arguments.contains("Title: repo: swarm needs you (question)\n")
            && arguments.contains("Priority: high\n"),
        "{arguments}"
    );
    assert!(!arguments.contains("s3cret") && !arguments.contains("t0ken"));
    assert_eq!(
        kept(&stage, "settings"),
        "url = \"https://ntfy.sh/s3cret\"\nheader = \"Authorization: Bearer t0ken\"\n"
    );
    assert_eq!(
        kept(&stage, "body"),
        "idea-001 failed: $(touch y) `z` <b>\n\nswarm idea retry idea-001\nswarm idea cancel \
        idea-001\n"
    );
    write_secret(&stage, "ntfy", "http://example.com/x\n");
    let output = stage.run(&script, &needs_you("question"), "");
    assert!(
        told(&output).contains("must be an https:// URL"),
        "{output:?}"
    );
}

#[test]
fn slack_gets_a_text_in_which_nothing_is_a_mention() {
    let script = examples().join("slack.sh");
    let none = Stage::with_only(&TOOLS).run(&script, &[], "");
    assert!(told(&none).contains("curl is not installed"), "{none:?}");
    let stage = with_fake_curl(&["bash", "basename", "tr", "cat", "sed", "awk"]);
    write_secret(&stage, "slack", "https://hooks.slack.com/services/s3cret\n");
    let mut variables = needs_you("failed");
    variables[4].1 = "a \"b\" \\ <!channel> & \u{e9}\nsecond\tline ```";
    let output = stage.run(&script, &variables, "");
    assert!(output.status.success(), "{}", told(&output));
    assert!(!kept(&stage, "arguments").contains("s3cret"));
    let body: serde_json::Value = serde_json::from_str(&kept(&stage, "body")).unwrap();
    assert_eq!(
        body["text"],
        "*repo: swarm needs you (failed)*\na \"b\" \\ &lt;!channel&gt; &amp; \u{e9}\nsecond line \
        \n```\nswarm idea retry idea-001\nswarm idea cancel idea-001\n```"
    );
}

#[test]
fn an_e_mail_has_one_subject_and_the_same_id_each_time() {
    let script = examples().join("email.sh");
    let stage = Stage::with_only(&TOOLS);
    fake(
        &stage,
        "sendmail",
        "printf '%s\\n' \"$@\" > arguments; cat > body",
    );
    let output = stage.run(&script, &needs_you("failed"), "");
    assert!(told(&output).contains("no address: write it"), "{output:?}");
    write_secret(&stage, "email", "me@example.com\nswarm@example.com\n");
    let mut variables = needs_you("failed");
    variables[3].1 = "idea-001\nBcc: all@example.com";
    let output = stage.run(&script, &variables, "");
    assert!(output.status.success(), "{}", told(&output));
    assert_eq!(kept(&stage, "arguments"), "-i\n--\nme@example.com\n");
    let mail = kept(&stage, "body");
    let (head, text) = mail.split_once("\n\n").unwrap();
    assert!(
        head.starts_with(
            "To: me@example.com\nFrom: swarm@example.com\nSubject: [repo] swarm needs you: failed \
            idea-001Bcc allexample.com\nMessage-ID: <swarm-7@repo>\n"
        ),
        "{head}"
    );
    assert!(
        text.starts_with("idea-001 failed: $(touch y) `z` <b>\n\nIn /"),
        "{text}"
    );
    assert!(text.ends_with("    swarm idea retry idea-001\n    swarm idea cancel idea-001\n"));
}

/// Answers one request with `status`; its head in lower case, and its body.
fn answer(stream: &mut TcpStream, status: &str) -> (String, String) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0);
    }
    let head = head.to_lowercase();
    let length = head
        .split("content-length: ")
        .nth(1)
        .and_then(|rest| rest.split('\r').next())
        .unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    (head, String::from_utf8(body).unwrap())
}

fn write_secret(stage: &Stage, name: &str, text: &str) {
    let hooks = stage.repo().join(".swarm/hooks");
    fs::create_dir_all(&hooks).unwrap();
    fs::write(hooks.join(format!("{name}.secret")), text).unwrap();
}

#[test]
fn a_webhook_is_sent_again_until_it_is_taken() {
    let script = examples().join("webhook.sh");
    let stage = Stage::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    write_secret(
        &stage,
        "webhook",
        &format!("http://127.0.0.1:{port}/in\nAuthorization: Bearer t0ken"),
    );
    let receiver = thread::spawn(move || {
        ["503 Busy", "200 OK"].map(|status| answer(&mut listener.accept().unwrap().0, status))
    });
    let body = r#"{"hook":"on-pause","eventSeq":7,"data":{"SWARM_REASON":"a \"b\" \u00e9"}}"#;
    let output = stage.run(
        &script,
        &[("SWARM_HOOK", "on-pause"), ("SWARM_EVENT_SEQ", "7")],
        body,
    );
    assert!(output.status.success(), "{}", told(&output));
    for (head, received) in receiver.join().unwrap() {
        assert!(head.starts_with("post /in "), "{head}");
        assert!(head.contains("idempotency-key: on-pause-7\r\n"), "{head}");
        assert!(head.contains("authorization: bearer t0ken\r\n"), "{head}");
        assert_eq!(received, body);
    }
}

#[test]
fn a_webhook_says_what_it_lacks() {
    let script = examples().join("webhook.sh");
    let refused = |stage: &Stage| {
        let output = stage.run(&script, &[], "{}");
        assert!(!output.status.success());
        told(&output)
    };
    assert!(refused(&Stage::with_only(&["bash", "cat"])).contains("curl is not installed"));
    let stage = Stage::new();
    assert!(refused(&stage).contains("write it into"));
    write_secret(&stage, "webhook", "http://example.com/x\n");
    assert!(refused(&stage).contains("must be an https:// URL"));
    write_secret(&stage, "webhook", "https://example.com/\"\noutput = \"x\n");
    assert!(refused(&stage).contains("must not contain quotes"));
}

#[test]
fn the_suite_before_a_merge_sees_the_merged_tree_and_leaves_nothing() {
    let script = examples().join("e2e-before-merge.sh");
    let stage = Stage::new();
    let commit = stage.commit(
        "scripts/e2e.sh",
        "test -f scripts/e2e.sh && test ! -e dirty && echo suite ran\n",
    );
    fs::write(stage.repo().join("dirty"), "").unwrap();
    let output = stage.run(&script, &[("SWARM_COMMIT_HASH", &commit)], "");
    assert!(
        output.status.success() && told(&output).contains("suite ran"),
        "{output:?}"
    );
    let bad = stage.commit("scripts/e2e.sh", "echo it fails; exit 3\n");
    let output = stage.run(&script, &[("SWARM_COMMIT_HASH", &bad)], "");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let left: Vec<_> = fs::read_dir(stage.dir.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(left, ["repo"]);
    assert!(!stage.run(&script, &[], "").status.success());
}

#[test]
fn a_landing_is_deployed_once_and_never_over_a_later_one() {
    let script = examples().join("deploy-after-merge.sh");
    let stage = Stage::new();
    let commit = stage.commit(
        "scripts/deploy.sh",
        "test ! -e broken && echo \"$1\" >> deployed\n",
    );
    let deploy = |seq: &str, target: &str| {
        let variables = [
            ("SWARM_COMMIT_HASH", &*commit),
            ("SWARM_EVENT_SEQ", seq),
            ("SWARM_TARGET", target),
        ];
        stage.run(&script, &variables, "").status.success()
    };
    let deployed = || {
        fs::read_to_string(stage.repo().join("deployed"))
            .unwrap_or_default()
            .lines()
            .count()
    };
    assert!(deploy("7", "other"));
    assert_eq!(deployed(), 0);
    fs::write(stage.repo().join("broken"), "").unwrap();
    assert!(!deploy("7", "main"), "a failed deployment is a failure");
    fs::remove_file(stage.repo().join("broken")).unwrap();
    assert!(deploy("7", "main") && deploy("7", "main"));
    assert_eq!(deployed(), 1);
    assert!(deploy("9", "main") && deploy("8", "main"));
    assert_eq!(deployed(), 2);
}

#[test]
fn a_learning_is_appended_once_and_cannot_break_the_file() {
    let script = examples().join("learnings-append.sh");
    let stage = Stage::new();
    let learn = |id: &str, scope: &str, content: &str| {
        let variables = [
            ("SWARM_LEARNING_ID", id),
            ("SWARM_SCOPE", scope),
            ("SWARM_CONTENT", content),
        ];
        let output = stage.run(&script, &variables, "");
        assert!(output.status.success(), "{output:?}");
    };
    let file = stage.repo().join("docs/learnings.md");
    learn("l-1", "local", "mine alone");
    assert!(!file.exists());
    learn("l-1", "global", "one\ntwo\u{1b}[2J %s $(x) \u{e9}");
    learn("l-1", "global", "one again");
    learn("l-11", "global", "eleven");
    let line = "- one two[2J %s $(x) \u{e9} <!-- l-1 -->\n";
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        format!("# Learnings\n\n{line}- eleven <!-- l-11 -->\n")
    );
    fs::write(&file, "- torn").unwrap();
    learn("l-2", "global", "next");
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "- torn\n- next <!-- l-2 -->\n"
    );
}
