//! The scanner against texts of every kind: whatever the bytes, however they are split.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::time::Instant;

use proptest::prelude::*;

use super::*;

fn scan(prompt: &str, output: &[u8]) -> Vec<Found> {
    let mut scanner = Scanner::new(prompt);
    let mut found = scanner.push(output);
    found.extend(scanner.finish());
    found
}

fn signals(prompt: &str, output: &str) -> Vec<Signal> {
    let found = scan(prompt, output.as_bytes());
    found
        .into_iter()
        .filter_map(|found| match found.item {
            Item::Signal(signal) => Some(signal),
            _ => None,
        })
        .collect()
}

fn only_item(output: &str) -> Item {
    let mut found = scan("", output.as_bytes());
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0).item
}

#[test]
fn every_signal_type_is_parsed() {
    let words = |text: &str| Some(text.to_owned());
    for (text, signal) in [
        ("COMPLETE", Signal::Complete(None)),
        ("COMPLETE:all done", Signal::Complete(words("all done"))),
        (
            "BLOCKED:no key: none",
            Signal::Blocked(words("no key: none")),
        ),
        ("NEEDS_HUMAN: which?", Signal::NeedsHuman(words("which?"))),
        ("PROGRESS:0", Signal::Progress(0)),
        ("PROGRESS: 100 ", Signal::Progress(100)),
        ("RESOLVED", Signal::Resolved(None)),
        ("LEARNING_LOCAL:a", Signal::LearningLocal("a".into())),
        ("LEARNING_GLOBAL:b", Signal::LearningGlobal("b".into())),
    ] {
        let item = only_item(&format!("well\n<swarm>{text}</swarm>\nthen"));
        assert_eq!(item, Item::Signal(signal.clone()));
        assert!(text.starts_with(signal.kind().name()));
    }
}

#[test]
fn malformed_signals_are_reported_with_their_flaw() {
    for (text, flaw) in [
        ("", Flaw::NoType),
        ("complete", Flaw::NoType),
        (" COMPLETE", Flaw::NoType),
        ("PROGRESS", Flaw::NoPayload),
        ("PROGRESS:101", Flaw::BadProgress),
        ("PROGRESS:+5", Flaw::BadProgress),
        ("PROGRESS:-1", Flaw::BadProgress),
        ("PROGRESS:50%", Flaw::BadProgress),
        ("PROGRESS:99999999999999999999", Flaw::BadProgress),
        ("LEARNING_LOCAL: ", Flaw::NoPayload),
    ] {
        let item = only_item(&format!("<swarm>{text}</swarm>"));
        assert!(
            matches!(&item, Item::Malformed { why, .. } if *why == flaw),
            "{text}: {item:?}"
        );
    }
    let unknown = only_item("<swarm>DANCE:now</swarm>");
    assert_eq!(
        unknown,
        Item::Unknown {
            text: "DANCE:now".into()
        }
    );
}

#[test]
fn secrets_in_payloads_are_redacted_and_offsets_stay() {
    let key = format!("sk-ant-api03-{}", "aB3dE6gH9jK2".repeat(8));
    for kind in SignalKind::ALL {
        if kind == SignalKind::Progress {
            continue;
        }
        let output = format!("x\n<swarm>{kind}:use {key} or\nless</swarm> <swarm>COMPLETE</swarm>");
        let found = scan("", output.as_bytes());
        let Item::Signal(signal) = &found[0].item else {
            panic!("{found:?}")
        };
        let words = "use [redacted:anthropic-key] or less";
        assert_eq!((signal.kind(), signal.words()), (kind, Some(words)));
        let offsets: Vec<u64> = found.iter().map(|found| found.offset).collect();
        let second = output.rfind("<swarm>").unwrap() as u64;
        assert_eq!(offsets, [2, second]);
    }
}

#[test]
fn secrets_in_what_is_no_signal_are_redacted_before_the_cut() {
    let token = format!("ghp_{}", "aB3dE6gH9jK2".repeat(3));
    for output in [
        format!("<swarm>DANCE:{} {token}</swarm>", "x".repeat(60)),
        format!("<swarm>PROGRESS:{token}</swarm>"),
        format!("<swarm>BLOCKED:{} {token}", "x".repeat(55)),
    ] {
        let (Item::Unknown { text } | Item::Malformed { text, .. }) = only_item(&output) else {
            panic!("{output}")
        };
        assert!(text.contains("[redact"), "{text}");
        assert!(!text.contains("ghp_"), "{text}");
    }
}

/// As an agent prints it: its line ends are gone once the payload is one line.
#[test]
fn a_private_key_of_several_lines_is_redacted() {
    let line = "aB3dE6gH9jK2".repeat(5);
    let key = format!("-----BEGIN PRIVATE KEY-----\n{line}\n{line}\n-----END PRIVATE KEY-----");
    assert_eq!(
        only_item(&format!("<swarm>LEARNING_GLOBAL:sign with {key}</swarm>")),
        Item::Signal(Signal::LearningGlobal(
            "sign with [redacted:private-key]".into()
        ))
    );
}

#[test]
fn a_payload_is_bounded() {
    let of = |len: usize| only_item(&format!("<swarm>BLOCKED:{}</swarm>", "x".repeat(len)));
    assert!(matches!(of(MAX_PAYLOAD), Item::Signal(_)));
    assert!(matches!(
        of(MAX_PAYLOAD + 1),
        Item::Malformed {
            why: Flaw::TooLong,
            ..
        }
    ));
    let mut found = scan(
        "",
        format!("<swarm>{}</swarm>", "x".repeat(9000)).as_bytes(),
    );
    let Item::Malformed { text, why } = found.remove(0).item else {
        panic!("{found:?}")
    };
    assert_eq!((text.chars().count(), why), (81, Flaw::Unclosed));
}

#[test]
fn a_payload_is_one_line_of_plain_text() {
    let found = signals(
        "",
        "<swarm>LEARNING_GLOBAL:a\n## b\t\u{1b}[31m\u{202e}c\u{0}</swarm>",
    );
    let expected = "a ## b \u{fffd}[31m\u{fffd}c\u{fffd}";
    assert_eq!(found, [Signal::LearningGlobal(expected.into())]);
}

#[test]
fn an_opening_tag_in_prose_does_not_swallow_the_next_signal() {
    let found = scan("", b"tags like <swarm> then\n<swarm>COMPLETE</swarm>");
    assert_eq!(found.len(), 2);
    assert!(matches!(
        found[0].item,
        Item::Malformed {
            why: Flaw::Unclosed,
            ..
        }
    ));
    assert_eq!(
        (found[1].offset, &found[1].item),
        (23, &Item::Signal(Signal::Complete(None)))
    );
    assert_eq!(
        signals("", "</swarm></swarm> <swarm>RESOLVED</swarm>").len(),
        1
    );
}

#[test]
fn invalid_utf8_is_harmless() {
    let mut output = vec![0xff, 0xfe, b'<', b'\n'];
    output.extend_from_slice(b"<swarm>BLOCKED:\xff\xfe</swarm>\n\xff");
    let found = scan("", &output);
    assert_eq!(found[0].offset, 4);
    assert_eq!(
        found[0].item,
        Item::Signal(Signal::Blocked(Some("\u{fffd}\u{fffd}".into())))
    );
}

#[test]
fn a_quote_of_the_prompt_does_not_count() {
    let prompt = "Work well.\nSay `<swarm>COMPLETE</swarm>` when all is done.\n";
    assert_eq!(signals(prompt, prompt), []);
    let repeated =
        "I was told: \n  Say `<swarm>COMPLETE</swarm>` when all is done, so I begin.\r\n";
    assert_eq!(signals(prompt, repeated), []);
}

#[test]
fn the_same_signal_in_another_context_counts() {
    let prompt = "Say `<swarm>COMPLETE</swarm>` when all is done.\n";
    for output in [
        "<swarm>COMPLETE</swarm>",
        "   <swarm>COMPLETE</swarm>\t\r\n",
        "All is done: <swarm>COMPLETE</swarm>",
        "`<swarm>COMPLETE</swarm>`",
    ] {
        assert_eq!(signals(prompt, output).len(), 1, "{output}");
    }
}

#[test]
fn a_signal_alone_on_its_line_or_after_a_sentence_at_its_end_counts() {
    let complete = "<swarm>COMPLETE</swarm>";
    for output in [
        "S",
        "  S\t\r\n",
        "Work.\r\nS\r\nMore.\r\n",
        "**S**",
        "`S`",
        "```\nS\n```",
        "\"S\"",
        "“S”",
        "> S",
        "> > **S**",
        "- S",
        "* `S`",
        "1. S",
        "12) S",
        "- [ ] S",
        "## S",
        "(S)",
        "Done. S",
        "Done.S",
        "Done! **S**",
        "Is it? S\nMore",
        "All is done: S",
        "**Done.** `S`",
        "It works (all tests pass) S",
        "He says \"done.\" S",
        "It is done… S",
        "I am done.   S  ",
        "S.",
        "**S**!",
        "\u{1b}[32mS\u{1b}[0m",
        "<swarm>FLY</swarm> S",
        // A mention takes nothing from the one that is meant.
        "I will not print S yet.\nNow it is whole.\n\nS\n",
    ] {
        let output = output.replace('S', complete);
        let said = signals("", &output);
        assert_eq!(said, [Signal::Complete(None)], "{output}");
    }
    let both = "Done. <swarm>PROGRESS:90</swarm> <swarm>COMPLETE</swarm>\n";
    assert_eq!(signals("", both).len(), 2);
    let lines = "Note.\n- <swarm>LEARNING_GLOBAL:one,\ntwo</swarm>\nso.";
    assert_eq!(
        signals("", lines),
        [Signal::LearningGlobal("one, two".into())]
    );
}

/// However the bytes come: what an agent only speaks of ends nothing.
#[test]
fn a_signal_within_a_sentence_is_only_mentioned() {
    for output in [
        "I will not print S yet, because half is missing.",
        "Once the parser is whole I will print `S`.",
        "May I go on, and then say \"S\"?",
        "This is not S",
        "not S\r\nbut soon",
        "- then I say `S`",
        "> and at the end S",
        "1. say S\n2. stop",
        "S comes when all is whole.",
        "Done. S is what I would say.",
        "**S** is not said yet",
        "Read it (then S)",
        "It is 100 % done, S",
    ] {
        let output = output.replace('S', "<swarm>COMPLETE</swarm>");
        let whole = scan("", output.as_bytes());
        let mentioned = Item::Mentioned(SignalKind::Complete);
        assert!(
            whole.iter().all(|found| found.item == mentioned),
            "{output}: {whole:?}"
        );
        assert_eq!(whole.len(), 1, "{output}");
        for cut in 0..=output.len() {
            let mut scanner = Scanner::new("");
            let mut found = scanner.push(&output.as_bytes()[..cut]);
            found.extend(scanner.push(&output.as_bytes()[cut..]));
            found.extend(scanner.finish());
            assert_eq!(found, whole, "{output} cut at {cut}");
        }
    }
}

#[test]
fn a_signal_alone_on_its_line_is_never_a_quote() {
    let prompt = "<swarm>COMPLETE</swarm>\n";
    assert_eq!(signals(prompt, prompt), [Signal::Complete(None)]);
    assert_eq!(signals(&shield(prompt), &shield(prompt)), []);
    assert_eq!(shield(prompt), "> <swarm>COMPLETE</swarm>\n");
}

#[test]
fn a_signal_is_reported_as_soon_as_its_context_is_there() {
    let mut scanner = Scanner::new("");
    assert_eq!(scanner.push(b"<swarm>COMPLETE</swarm>"), []);
    assert_eq!(scanner.push(b"  "), []);
    assert_eq!(scanner.push(b"\n").len(), 1);
    assert_eq!(scanner.push(b"<swarm>RESOLVED</swarm>0123456789abcde"), []);
    assert_eq!(scanner.push(b"f").len(), 1);
    assert_eq!(scanner.push(b"<swarm>RESOLVED</swarm>"), []);
    assert_eq!(scanner.finish().len(), 1);
}

#[test]
fn signals_are_written_in_camel_case() {
    let found = Found {
        offset: 7,
        item: Item::Signal(Signal::NeedsHuman(Some("key".into()))),
    };
    let json = serde_json::to_string(&found).unwrap();
    assert_eq!(
        json,
        r#"{"offset":7,"item":{"signal":{"needsHuman":"key"}}}"#
    );
    assert_eq!(serde_json::from_str::<Found>(&json).unwrap(), found);
}

/// Bounded work and memory, however hostile: a debug build needs well under a second for each.
#[test]
fn large_hostile_outputs_are_scanned_in_bounded_memory() {
    for pattern in ["<", "x", "<swarm>", "</swarm>", "<swarm", "<swarm>xxxxxxx"] {
        let piece = pattern.repeat((1 << 20) / pattern.len());
        let mut scanner = Scanner::new("");
        let begin = Instant::now();
        for part in piece.as_bytes().chunks(1000) {
            scanner.push(part);
        }
        scanner.push(piece.as_bytes());
        scanner.finish();
        assert!(scanner.lexer.held_capacity() < 256 * 1024, "{pattern}");
        assert!(begin.elapsed().as_secs() < 10, "{pattern}");
    }
}

/// Text in which signals, parts of them and their surroundings are likely.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    let fragment = prop_oneof![
        3 => Just(b"<swarm>COMPLETE</swarm>".to_vec()),
        2 => Just(b"<swarm>PROGRESS:50</swarm>".to_vec()),
        1 => Just(b"<swarm>".to_vec()),
        1 => Just(b"</swarm>".to_vec()),
        1 => Just(b"<swa".to_vec()),
        1 => Just(b"rm>".to_vec()),
        1 => Just(b"DANCE:x".to_vec()),
        2 => Just(b"\n".to_vec()),
        2 => Just(b" ".to_vec()),
        1 => Just(b"\r\n".to_vec()),
        1 => Just(b"say ".to_vec()),
        1 => Just(b" in the middle of a sentence".to_vec()),
        1 => Just(vec![b' '; 20]),
        1 => proptest::collection::vec(any::<u8>(), 0..20),
        1 => (4000_usize..4300).prop_map(|len| vec![b'y'; len]),
    ];
    proptest::collection::vec(fragment, 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_split_finds_the_same(
        output in texts(),
        prompt in texts(),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..40),
    ) {
        let prompt = String::from_utf8_lossy(&prompt).into_owned();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(output.len() + 1)).collect();
        cuts.sort_unstable();
        let mut scanner = Scanner::new(&prompt);
        let mut found = Vec::new();
        let mut from = 0;
        for cut in cuts {
            found.extend(scanner.push(&output[from..cut]));
            from = cut;
        }
        found.extend(scanner.push(&output[from..]));
        found.extend(scanner.finish());
        prop_assert_eq!(&found, &scan(&prompt, &output));
        let mut single = Scanner::new(&prompt);
        let mut one_by_one: Vec<Found> = output.iter().flat_map(|byte| single.push(&[*byte]))
            .collect();
        one_by_one.extend(single.finish());
        prop_assert_eq!(&one_by_one, &found);
    }

    #[test]
    fn findings_are_in_order_and_begin_with_the_tag(output in texts()) {
        let found = scan("", &output);
        for pair in found.windows(2) {
            prop_assert!(pair[0].offset < pair[1].offset);
        }
        for one in &found {
            let at = usize::try_from(one.offset).unwrap();
            prop_assert!(output[at..].starts_with(b"<swarm>"));
        }
    }

    #[test]
    fn repeating_a_shielded_prompt_sends_no_signal(prompt in texts()) {
        let prompt = shield(&String::from_utf8_lossy(&prompt));
        let said = scan(&prompt, prompt.as_bytes());
        prop_assert!(
            said.iter().all(|found|
                matches!(found.item, Item::Malformed { why: Flaw::Unclosed, .. })),
            "{:?}", said
        );
        prop_assert_eq!(shield(&prompt), prompt);
    }

    #[test]
    fn a_signal_alone_on_its_line_always_counts(prompt in texts(), around in "[ \t]{0,30}") {
        let prompt = shield(&String::from_utf8_lossy(&prompt));
        let output = format!("{around}<swarm>COMPLETE</swarm>{around}\r\n");
        prop_assert_eq!(signals(&prompt, &output), [Signal::Complete(None)]);
    }
}
