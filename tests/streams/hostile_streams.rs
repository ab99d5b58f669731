//! Outputs of a size and kind that no program should write.

use std::fmt::Write as _;

use swarm::agents::AdapterKind;
use swarm::agents::adapter::StartedAs;
use swarm::agents::stream::{Said, text_of};
use swarm::domain::observation::RunEndKind;
use swarm::domain::verdict::Verdict;

const ALL: [AdapterKind; 5] = [
    AdapterKind::Claude,
    AdapterKind::Codex,
    AdapterKind::Gemini,
    AdapterKind::Opencode,
    AdapterKind::Acp,
];

fn read(kind: AdapterKind, output: &[u8]) -> (Vec<Said>, Option<Verdict>) {
    let mut reader = swarm::agents::adapter(kind).reader(&StartedAs::new(kind));
    let mut said = Vec::new();
    reader.push(output, &mut said);
    reader.finish(&mut said);
    let end = RunEndKind::Exited { code: 0 };
    (said, reader.conclude(&end, "").verdict)
}

#[test]
fn known_words_of_unknown_shapes_are_passed_over() {
    let values = [
        "null",
        "1",
        "\"x\"",
        "[]",
        "[[1]]",
        "{}",
        "{\"type\":7}",
        "[{\"type\":\"text\"}]",
        "-1e400",
    ];
    let names = [
        "message",
        "event",
        "item",
        "usage",
        "error",
        "content",
        "subtype",
        "session_id",
        "thread_id",
        "errors",
        "rate_limit_info",
        "model_usage_since_last_result",
        "parent_tool_use_id",
        "result",
        "is_error",
        "part",
        "stats",
        "parameters",
        "sessionID",
        "timestamp",
        "role",
    ];
    let types = [
        "system",
        "assistant",
        "user",
        "stream_event",
        "result",
        "rate_limit_event",
        "thread.started",
        "turn.started",
        "turn.completed",
        "turn.failed",
        "item.started",
        "item.completed",
        "error",
        "init",
        "tool_use",
        "tool_result",
        "step_start",
        "step_finish",
        "text",
        "reasoning",
    ];
    let mut output = String::new();
    for kind in types {
        for name in names {
            for value in values {
                writeln!(output, "{{\"type\":\"{kind}\",\"{name}\":{value}}}").unwrap();
            }
        }
    }
    for kind in ALL {
        let (said, _) = read(kind, output.as_bytes());
        assert_eq!(text_of(&said), b"", "{kind:?}");
    }
}

#[test]
fn an_empty_output_is_cut_off() {
    for kind in ALL {
        for output in ["", "\n", "null\n", "{\"type\":\"result\"", "{}"] {
            let (_, verdict) = read(kind, output.as_bytes());
            assert_eq!(verdict, Some(Verdict::Cut), "{kind:?} {output:?}");
        }
    }
}

#[test]
fn what_is_no_event_is_no_word_of_the_agent() {
    for kind in ALL {
        let (said, _) = read(
            kind,
            b"<swarm>COMPLETE</swarm>\n[\"<swarm>COMPLETE</swarm>\"]\n",
        );
        assert_eq!(text_of(&said), b"");
        assert_eq!(said.len(), 2, "{said:?}");
    }
}
