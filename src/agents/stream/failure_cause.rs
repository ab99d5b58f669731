//! Determines the cause of a failure from the words of a provider or a program.
//!
//! Invariant: only unambiguous words determine a cause.

use super::verdict::cause_from_status;
use crate::domain::verdict::Cause;

/// Words of services about themselves, in small letters.
const WORDS: &[(&[&str], Cause)] = &[
    (
        &[
            "credit balance",
            "insufficient credit",
            "insufficient balance",
            "insufficient_quota",
            "payment required",
            "spend limit",
            "spending limit",
            "spending cap",
        ],
        Cause::Credit,
    ),
    (
        &[
            "rate limit",
            "rate_limit",
            "quota",
            "too many requests",
            "usage limit",
        ],
        Cause::Limit { until: None },
    ),
    (
        &[
            "overloaded",
            "unavailable",
            "fetch failed",
            "econnrefused",
            "cannot connect",
            "timed out",
        ],
        Cause::Overloaded,
    ),
    (
        &[
            "unauthorized",
            "authentication",
            "api key",
            "api_key",
            "logged in",
            "log in",
        ],
        Cause::Login,
    ),
];

/// Words about a conversation that cannot go on, in small letters: it is too long, or has an image
/// or a tool call that the provider refuses.
const EXHAUSTED: &[&str] = &[
    "prompt is too long",
    "context window",
    "context_length_exceeded",
    "maximum context length",
    "exceed context limit",
    "input token count",
    "output token maximum",
    "request too large",
    "request_too_large",
    "ids were found without",
    "without a corresponding",
    "must have a corresponding",
    "no tool output found for function call",
    "number of function response parts",
    "could not process image",
    "could not be processed and was removed",
    "unable to process input image",
    "does not represent a valid image",
    "image exceeds",
    "image dimensions exceed",
];

/// Whether a text says that the conversation cannot go on. The provider's status counts first.
pub fn names_exhausted_conversation(text: &str) -> bool {
    let text = text.to_lowercase();
    EXHAUSTED.iter().any(|words| text.contains(words))
}

/// What a standard error has if the program or the machine is broken: the program cannot be loaded,
/// or has no room to write.
const BROKEN_PROGRAM: &[&str] = &[
    "Cannot find module",
    "error while loading shared libraries",
    "version `GLIBC_",
    "ENOSPC",
    "No space left on device",
];

/// The line of a standard error that says that the program or the machine is broken.
pub fn broken_program(stderr: &str) -> Option<&str> {
    let mut lines = stderr.lines().map(str::trim);
    lines.find(|line| BROKEN_PROGRAM.iter().any(|words| line.contains(words)))
}

/// The cause that the words of a text name.
pub fn cause_from_text(text: &str) -> Option<Cause> {
    let text = text.to_lowercase();
    let by_word = WORDS
        .iter()
        .find(|(words, _)| words.iter().any(|word| text.contains(word)));
    by_word.map(|(_, cause)| cause.clone())
}

/// Whether a text says that there is no such model, or that the account may not use it.
pub fn names_unknown_model(text: &str) -> bool {
    let text = text.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    text.contains("model")
        && says(&[
            "not found",
            "no such model",
            "not exist",
            "not supported",
            "unknown model",
            "invalid model",
        ])
}

/// What the first number in a text blames that could be the status of an HTTP answer and blames
/// somebody.
pub fn cause_from_status_in(text: &str) -> Option<Cause> {
    let numbers = text.split(|c: char| !c.is_ascii_alphanumeric());
    let three = numbers.filter(|word| word.len() == 3);
    let status = three
        .filter_map(|word| word.parse().ok())
        .find(|status| [401, 402, 403, 429, 500, 502, 503, 504, 529].contains(status));
    status.and_then(cause_from_status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_that_cannot_go_on_is_known_by_its_words() {
        for text in [
            "API Error: 400 messages.3: `tool_use` ids were found without `tool_result` blocks",
            "input length and `max_tokens` exceed context limit: 199759 + 20000 > 200000",
            "API Error: Claude's response exceeded the 32000 output token maximum.",
            "The input token count (1200000) exceeds the maximum number of tokens allowed",
            "messages.1.content.0.image.source.base64: image exceeds 5 MB maximum",
        ] {
            assert!(names_exhausted_conversation(text), "{text}");
        }
        for text in ["bad thing", "Request contains an invalid argument."] {
            assert!(!names_exhausted_conversation(text), "{text}");
        }
    }

    #[test]
    fn plain_words_blame() {
        let limit = Some(Cause::Limit { until: None });
        for (text, expected) in [
            ("You exceeded your current Quota.", &limit),
            ("The model is overloaded", &Some(Cause::Overloaded)),
            ("API key not valid", &Some(Cause::Login)),
            ("Credit balance is too low", &Some(Cause::Credit)),
            ("no such file", &None),
        ] {
            assert_eq!(&cause_from_text(text), expected, "{text}");
        }
        for text in [
            "The 'gpt-9' model is not supported when using Codex with a ChatGPT account.",
            "models/gemini-9 is not found for API version v1beta",
            "There's an issue with the selected model (x). It may not exist",
        ] {
            assert!(names_unknown_model(text), "{text}");
        }
        assert!(!names_unknown_model(
            "the model broke off; file not written"
        ));
        assert_eq!(cause_from_status_in("got 429."), limit);
        assert_eq!(cause_from_status_in("port 4290 of 1429, 400"), None);
    }
}
