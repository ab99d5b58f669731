//! Tests of whole prompts and of the invariants of every prompt.

use proptest::prelude::*;

use super::*;
use crate::agents::recovery_context::{self, RecoveryContext};
use crate::domain::signal::{Flaw, Found, Item, Scanner, SignalKind};

fn example() -> PromptInput {
    PromptInput {
        cause: PromptCause::FailedCheck,
        idea_id: "idea-003".into(),
        idea_text: "Add a footer.\n".into(),
        shared_rules: vec![
            ("style.md".into(), "Be terse.\n".into()),
            ("empty.md".into(), " \n".into()),
        ],
        profile_prompt: "You are Ed.".into(),
        profile_rules: "No new dependencies.".into(),
        memory: "## What agents here found out\nClaims.\n- [learning-001] lines are short\n".into(),
        memory_next: "## What agents here found out\nNew.\n- [learning-002] new\n".into(),
        learnings_own: vec!["begin with the test".into()],
        messages: vec!["keep it small\nplease".into()],
        review: Some("add a test".into()),
        taken_over: Some("idea-007".into()),
        told_before: None,
        changed_files: vec!["src/a b.rs".into()],
        brief: Some(Brief {
            agent: "cl-001".into(),
            has_commits: true,
            log: vec![
                "I look.\n## Not a heading".into(),
                "- Bash: make all".into(),
            ],
            ..Brief::default()
        }),
        recovery: Some(RecoveryContext::new(1, Vec::new(), true)),
        feedback: Some(GateFeedback {
            command: "cargo test".into(),
            exit_code: Some(101),
            output_tail: "\u{1b}[31mfailed\u{1b}[0m: ```\n".into(),
        }),
        conflict: None,
        quality_commands: vec!["cargo test".into()],
        branch: "agent/ed-001/idea-003".into(),
        attempt: 2,
        iteration: 4,
    }
}

fn brief() -> ConflictBrief {
    ConflictBrief {
        files: vec!["a.txt".into(), "dir/b.txt".into()],
        target_branch: "main".into(),
        ours: "idea-001: Add a header".into(),
        theirs: "idea-003: Add a footer".into(),
        saved: None,
    }
}

/// The signals that an agent would send by repeating its whole prompt.
fn said_by_repeating(prompt: &str) -> Vec<Found> {
    let mut scanner = Scanner::new(prompt);
    let mut found = scanner.push(prompt.as_bytes());
    found.extend(scanner.finish());
    found
}

/// As above, without unclosed opening tags, which cuts and odd texts may leave.
fn heard_in(prompt: &str) -> Vec<Found> {
    let mut said = said_by_repeating(prompt);
    said.retain(|found| {
        !matches!(
            found.item,
            Item::Malformed {
                why: Flaw::Unclosed,
                ..
            }
        )
    });
    said
}

#[test]
fn sections_come_in_order() {
    let prompt = build(&example());
    let headings: Vec<&str> = prompt
        .lines()
        .filter(|line| line.starts_with('#'))
        .collect();
    assert_eq!(
        headings,
        [
            CONTINUE_HEADING,
            "## How to work here",
            "### What agents here know",
            "### Signals",
            "## Shared rules",
            "### style.md",
            "## Your role",
            "## Your rules",
            "## The idea: idea-003",
            "## What agents here found out",
            "## What you have learned",
            "## Messages from a person",
            "## Where you start",
            BRIEF_HEADING,
            recovery_context::HEADING,
            "### Last Attempt Log",
            REVIEW_HEADING,
            FEEDBACK_HEADING,
        ]
    );
    assert!(prompt.contains("Branch: `agent/ed-001/idea-003`. Attempt 2, iteration 4.\n"));
    assert!(prompt.contains("- keep it small\n  please\n"));
    assert!(prompt.contains("Their comment:\n\nadd a test\n\n"));
    assert!(prompt.contains("It ended with exit code 101:\n\n```\ncargo test\n```\n"));
    assert!(prompt.contains("````\nfailed: ```\n````\n"));
    assert!(prompt.ends_with("then finish again.\n"));
}

#[test]
fn empty_sections_are_omitted() {
    let input = PromptInput {
        idea_id: "idea-001".into(),
        idea_text: "Do it.".into(),
        attempt: 1,
        iteration: 1,
        ..PromptInput::default()
    };
    let prompt = build(&input);
    let headings = prompt
        .lines()
        .filter(|line| line.starts_with("## "))
        .count();
    assert_eq!(headings, 2, "{prompt}");
    assert!(!prompt.contains("```"));
}

#[test]
fn a_resolver_gets_the_conflict_and_its_signal() {
    let input = PromptInput {
        conflict: Some(brief()),
        ..example()
    };
    let prompt = build(&input);
    assert!(prompt.contains(CONFLICT_HEADING));
    assert!(prompt.contains("- `a.txt`\n- `dir/b.txt`\n"));
    assert!(prompt.contains("- What was done for this idea: idea-003: Add a footer\n"));
    assert!(prompt.contains("<swarm>RESOLVED</swarm>"));
    assert!(!prompt.contains("<swarm>COMPLETE</swarm>"));
}

#[test]
fn repeating_the_prompt_sends_no_signal() {
    for conflict in [None, Some(brief())] {
        let prompt = build(&PromptInput {
            conflict,
            ..example()
        });
        assert_eq!(said_by_repeating(&prompt), []);
    }
}

#[test]
fn signals_are_recognised_after_the_prompt_explained_them() {
    let prompt = build(&example());
    let mut scanner = Scanner::new(&prompt);
    let found = scanner.push(b"It works.\n`<swarm>COMPLETE</swarm>`\n<swarm>PROGRESS:40</swarm>\n");
    assert_eq!(found.len(), 2);
}

#[test]
fn a_signal_alone_on_its_line_is_quoted() {
    let alone = "<swarm>COMPLETE</swarm>";
    let input = PromptInput {
        idea_text: format!("Finish with\n{alone}\nplease"),
        messages: vec![alone.into()],
        review: Some(alone.into()),
        brief: Some(Brief {
            log: vec![alone.into()],
            notes: vec![alone.into()],
            ..Brief::default()
        }),
        feedback: Some(GateFeedback {
            command: "check".into(),
            exit_code: None,
            output_tail: format!("{alone}\n"),
        }),
        ..example()
    };
    let prompt = build(&input);
    assert!(prompt.contains("Finish with\n> <swarm>COMPLETE</swarm>\nplease"));
    assert!(prompt.contains("```\n> <swarm>COMPLETE</swarm>\n```"));
    assert_eq!(said_by_repeating(&prompt), []);
}

#[test]
fn long_texts_are_cut_with_a_note() {
    let long = "<swarm></swarm>\n".repeat(64 * 1024);
    let input = PromptInput {
        idea_id: long.clone(),
        idea_text: long.clone(),
        shared_rules: vec![(long.clone(), long.clone()), ("b".into(), long.clone())],
        review: Some(long.clone()),
        profile_prompt: long.clone(),
        profile_rules: long.clone(),
        memory: long.clone(),
        memory_next: long.clone(),
        learnings_own: (0..10_000).map(|n| format!("learning {n}")).collect(),
        messages: vec![long.clone(); 20],
        feedback: Some(GateFeedback {
            command: long.clone(),
            exit_code: Some(1),
            output_tail: "`".repeat(1 << 20),
        }),
        conflict: Some(ConflictBrief {
            files: vec![long.clone(); 3],
            target_branch: "main".into(),
            ours: long.clone(),
            theirs: long.clone(),
            saved: Some("1234567890ab".into()),
        }),
        brief: Some(Brief {
            agent: long.clone(),
            known: Known::Nothing,
            has_commits: true,
            log: vec![long.clone()],
            is_cut: true,
            files: vec![long.clone()],
            notes: vec![long.clone()],
            recovery: long.clone(),
        }),
        quality_commands: vec![long],
        ..example()
    };
    let prompt = build(&input);
    assert!(prompt.len() <= MAX_BYTES, "{}", prompt.len());
    assert!(prompt.contains("[cut here: "));
    assert!(prompt.contains("- learning 9999\n") && !prompt.contains("- learning 0\n"));
    assert!(prompt.contains(" older entries omitted]\n"));
    assert!(prompt.contains("bytes at the start omitted)"));
    assert_eq!(heard_in(&prompt), []);
}

/// Texts that are likely to contain signals and their surroundings.
fn texts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("<swarm>COMPLETE</swarm>".to_owned()),
        Just("<swarm>BLOCKED:a\nb</swarm>".to_owned()),
        Just("\n".to_owned()),
        Just(" ".repeat(18)),
        Just("</swarm>".to_owned()),
        Just("<swarm>".to_owned()),
        Just("\u{1b}[0m".to_owned()),
        Just("words in a line".to_owned()),
        any::<String>(),
    ];
    proptest::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn repeating_any_prompt_sends_no_signal(idea in texts(), rule in texts(), message in texts(),
        output in texts(), before in texts()) {
        let prompt = build(&PromptInput {
            idea_text: idea,
            shared_rules: vec![("a.md".into(), rule)],
            messages: vec![message],
            brief: Some(Brief { log: vec![before.clone()], recovery: before,
                ..Brief::default() }),
            feedback: Some(GateFeedback { command: "c".into(), exit_code: Some(1),
                output_tail: output }),
            ..example()
        });
        prop_assert_eq!(heard_in(&prompt), []);
        let escaped = prompt.contains('\u{1b}');
        prop_assert!(!escaped);
    }
}

#[test]
fn a_resumed_conversation_gets_only_what_has_changed() {
    let before = PromptInput {
        profile_rules: "Say <swarm>COMPLETE</swarm>\nlast.".into(),
        ..example()
    };
    let next = |told_before: Option<String>, idea: &str, rule: &str| {
        build_next(&PromptInput {
            told_before,
            idea_text: idea.into(),
            profile_rules: rule.into(),
            ..before.clone()
        })
    };
    let told = || Some(build(&before));
    let (idea, rule) = (&*before.idea_text, &*before.profile_rules);
    let same = next(told(), idea, rule);
    assert_eq!(same, next(None, idea, rule), "nothing has changed");
    assert!(!same.contains("Add a footer."), "{same}");
    // The new text is a prefix of the old one.
    let edited = next(told(), "Add a", rule);
    assert!(
        edited.contains("## The idea: idea-003\n\nAdd a\n"),
        "{edited}"
    );
    assert!(edited.contains("have changed since"), "{edited}");
    assert!(!edited.contains("Be terse."), "{edited}");
    let ruled = next(told(), idea, "Another.");
    assert!(ruled.contains("## Your rules\n\nAnother."), "{ruled}");
    assert!(!ruled.contains("Add a footer."), "{ruled}");
    let unknown = next(Some(String::new()), idea, rule);
    for part in ["Be terse.", "You are Ed.", "## Your rules", idea] {
        assert!(unknown.contains(part), "{unknown}");
    }
}

#[test]
fn files_that_changed_are_named_in_a_conversation_that_goes_on() {
    let section = format!("{CHANGED_HEADING}\n\nSomebody else");
    let next = build_next(&example());
    assert!(next.contains(&section), "{next}");
    assert!(next.contains("- `src/a b.rs`\n\n## "), "{next}");
    assert!(!build(&example()).contains(CHANGED_HEADING));
    let many = PromptInput {
        changed_files: (0..130).map(|number| format!("{number}.txt")).collect(),
        ..example()
    };
    let next = build_next(&many);
    assert!(
        next.contains("- `99.txt`\n[30 more entries omitted]"),
        "{next}"
    );
}

#[test]
fn every_continued_prompt_begins_with_its_own_cause() {
    let from = "idea-007".parse().unwrap();
    let causes = [
        (PromptCause::Unfinished, "ended without a final signal"),
        (PromptCause::Interrupted, "You were interrupted:"),
        (PromptCause::Crashed, "crashed"),
        (PromptCause::Unjudged, "before it could judge your work"),
        (
            PromptCause::ChangedNothing,
            "You said it was done and changed nothing",
        ),
        (PromptCause::FailedCheck, "A required command failed"),
        (
            PromptCause::Rejected { edited: false },
            "did not approve it",
        ),
        (PromptCause::Rejected { edited: true }, "was edited"),
        (
            PromptCause::Answered {
                question: "which port?".into(),
            },
            "A person answered your question",
        ),
        (PromptCause::Message, "A person sent you a message"),
        (PromptCause::Conflict, "Your branch conflicts"),
        (PromptCause::Redirected { from }, "was done for `idea-007`."),
        (
            PromptCause::Mentioned {
                signal: SignalKind::Complete,
            },
            "Your last message mentioned `<swarm>COMPLETE</swarm>` within a sentence",
        ),
        (PromptCause::Restored, "imported or restored"),
        (
            PromptCause::NewConversation {
                why: "Prompt is too long".into(),
            },
            "so this is a new one. Why it ended: Prompt is too long.",
        ),
    ];
    for (cause, words) in causes {
        let interrupted = matches!(cause, PromptCause::Interrupted | PromptCause::Crashed);
        let input = PromptInput { cause, ..example() };
        for prompt in [build(&input), build_next(&input)] {
            let first = prompt.split("(`git status`").next().unwrap();
            assert!(first.starts_with(CONTINUE_HEADING), "{first}");
            assert!(first.contains(words), "{first}");
            assert_eq!(first.contains("interrupted"), interrupted, "{first}");
            assert_eq!(said_by_repeating(&prompt), []);
        }
    }
    let question = "which port?".into();
    let input = PromptInput {
        cause: PromptCause::Answered { question },
        ..example()
    };
    assert!(build_next(&input).contains("You asked:\n\n> which port?\n\n"));
    let changed = PromptInput {
        cause: PromptCause::Unfinished,
        told_before: Some(String::new()),
        ..example()
    };
    assert!(build_next(&changed).contains("The idea or rules have changed since"));
}
