//! Each kept stream is read as it was when it was kept.

use std::fs;

use swarm::agents::AdapterKind;

use crate::reading::{kept, written};

#[test]
fn kept_streams_are_read_as_ever() {
    let update = std::env::var_os("UPDATE_STREAMS").is_some();
    let mut broken = Vec::new();
    for kept in kept() {
        let mut found = written(&kept.read_whole());
        if kept.run.adapter == AdapterKind::Codex {
            found = without_time(&found);
        }
        let path = kept.folder.join("expected");
        if update {
            fs::write(&path, &found).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        if found != expected {
            broken.push(format!("{}:\n{found}", kept.name));
        }
    }
    assert!(broken.is_empty(), "read otherwise:\n{}", broken.join("\n"));
}

/// A limit's time in words depends on the day on which it is read: its own tests look at that.
fn without_time(text: &str) -> String {
    let line = |line: &str| match line.split_once("limit until ") {
        Some((before, rest)) => {
            let message = rest.split_once(": ").map_or("", |(_, message)| message);
            format!("{before}limit: {message}\n")
        }
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}
