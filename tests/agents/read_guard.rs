//! `agents.readGuard: "block"` in the hands of the real Claude Code.

use serde_json::{Value, json};

use crate::lab::Lab;

const FILES: usize = 10;

fn file(number: usize) -> String {
    format!("src/file {number}.txt")
}

fn read(number: usize) -> Value {
    json!({"tool": "Read", "args": {"file_path": file(number)}})
}

/// It would succeed on the changed file, too: the old text is still there.
fn edit(number: usize) -> Value {
    let args = json!({"file_path": file(number), "old_string": "old", "new_string": "new"});
    json!({"tool": "Edit", "args": args})
}

/// Reads all files; in the next iteration changes them, reads them again and changes them.
fn script() -> Value {
    let all = |step: fn(usize) -> Value| (0..FILES).map(step).collect::<Vec<_>>();
    let done = json!({"text": "Done.", "say": "COMPLETE"});
    let steps = [
        all(read),
        // Work without a change would not be checked.
        vec![json!({"sh": "echo begun | tee begun.txt"}), done.clone()],
        all(edit),
        all(read),
        all(edit),
        vec![done],
    ];
    Value::Array(steps.concat())
}

#[test]
fn claude_changes_no_told_file_before_it_has_read_it_again() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let lab = Lab::new();
    for number in 0..FILES {
        lab.sandbox.write(&file(number), "old\n");
    }
    lab.sandbox.commit("Add files");
    // Rewrites all files and fails the first time.
    let checked = lab.sandbox.path("checked");
    let check = format!(
        "test -e '{0}' || {{ touch '{0}'; for file in src/*; do echo more >>\"$file\"; done; \
        exit 1; }}",
        checked.display()
    );
    lab.configure(&json!({"agents": {"readGuard": "block"}, "qualityCommands": [check]}));
    lab.idea("claude", &script());
    lab.work_off();
    let asked = lab.stub.asked_for("file 9.txt");
    let results = asked.last().unwrap().results.iter();
    let results: Vec<&String> = results.filter(|it| !it.starts_with("begun")).collect();
    assert_eq!(results.len(), 4 * FILES, "{results:#?}");
    let is_refused = |result: &&&String| result.contains("was changed by somebody else");
    let refused = |part: &[&String]| part.iter().filter(is_refused).count();
    let parts: Vec<usize> = results.chunks(FILES).map(refused).collect();
    assert_eq!(parts, [0, FILES, 0, 0], "{results:#?}");
    for number in 0..FILES {
        let landed = lab
            .sandbox
            .git(&["show", &format!("main:{}", file(number))]);
        assert_eq!(landed, "new\nmore", "{}", file(number));
    }
}
