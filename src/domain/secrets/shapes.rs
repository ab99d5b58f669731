//! The shapes of secrets. Most are a prefix that a service gives its tokens; the others have a
//! function each.
//!
//! Invariant: a match begins and ends between characters, because every shape is ASCII.

use super::Match;

/// A token that is known by its beginning.
struct Token {
    rule: &'static str,
    prefixes: &'static [&'static str],
    /// Least number of characters of the alphabet after the prefix.
    least: usize,
    alphabet: fn(u8) -> bool,
}

const TOKENS: &[Token] = &[
    Token {
        rule: "aws-access-key",
        prefixes: &["AKIA", "ASIA"],
        least: 16,
        alphabet: is_base32,
    },
    Token {
        rule: "github-token",
        prefixes: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        least: 36,
        alphabet: is_name,
    },
    Token {
        rule: "github-token",
        prefixes: &["github_pat_"],
        least: 40,
        alphabet: is_name,
    },
    Token {
        rule: "gitlab-token",
        prefixes: &["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-"],
        least: 20,
        alphabet: is_dotted_name,
    },
    Token {
        rule: "anthropic-key",
        prefixes: &["sk-ant-"],
        least: 20,
        alphabet: is_name,
    },
    Token {
        rule: "openai-key",
        prefixes: &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-or-v1-"],
        least: 20,
        alphabet: is_name,
    },
    Token {
        rule: "openai-key",
        prefixes: &["sk-"],
        least: 40,
        alphabet: is_alphanumeric,
    },
    Token {
        rule: "google-key",
        prefixes: &["AIza"],
        least: 35,
        alphabet: is_name,
    },
    Token {
        rule: "google-key",
        prefixes: &["GOCSPX-", "ya29."],
        least: 24,
        alphabet: is_name,
    },
    Token {
        rule: "slack-token",
        prefixes: &[
            "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe.", "xapp-",
        ],
        least: 20,
        alphabet: is_dotted_name,
    },
    Token {
        rule: "slack-token",
        prefixes: &["hooks.slack.com/services/"],
        least: 30,
        alphabet: is_path,
    },
    Token {
        rule: "stripe-key",
        prefixes: &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"],
        least: 16,
        alphabet: is_alphanumeric,
    },
    Token {
        rule: "npm-token",
        prefixes: &["npm_"],
        least: 36,
        alphabet: is_alphanumeric,
    },
    Token {
        rule: "pypi-token",
        prefixes: &["pypi-AgE"],
        least: 50,
        alphabet: is_name,
    },
    Token {
        rule: "hugging-face-token",
        prefixes: &["hf_"],
        least: 34,
        alphabet: is_alphanumeric,
    },
    Token {
        rule: "digitalocean-token",
        prefixes: &["dop_v1_", "doo_v1_", "dor_v1_"],
        least: 64,
        alphabet: is_alphanumeric,
    },
    Token {
        rule: "sendgrid-key",
        prefixes: &["SG."],
        least: 60,
        alphabet: is_dotted_name,
    },
    Token {
        rule: "age-key",
        prefixes: &["AGE-SECRET-KEY-1"],
        least: 50,
        alphabet: is_alphanumeric,
    },
];

/// What stands before a password or a token in a header, in lower case.
const AUTHORIZATION: &[&[u8]] = &[b"authorization: bearer ", b"authorization: basic "];

/// Passwords in examples.
const PLACEHOLDERS: &[&[u8]] = &[b"password", b"passwd", b"pass", b"pw", b"secret", b"token"];

/// First bytes of every shape.
const BEGINNINGS: [bool; 256] = beginnings();

const fn beginnings() -> [bool; 256] {
    let mut begins = [false; 256];
    let mut token = 0;
    while token < TOKENS.len() {
        let mut prefix = 0;
        while prefix < TOKENS[token].prefixes.len() {
            begins[TOKENS[token].prefixes[prefix].as_bytes()[0] as usize] = true;
            prefix += 1;
        }
        token += 1;
    }
    let others = b"-:eaA";
    let mut at = 0;
    while at < others.len() {
        begins[others[at] as usize] = true;
        at += 1;
    }
    begins
}

/// Whether a shape may begin with this byte.
pub(super) const fn may_begin(byte: u8) -> bool {
    BEGINNINGS[byte as usize]
}

/// The secret whose shape begins at this place.
pub(super) fn at(text: &[u8], at: usize) -> Option<Match> {
    if let Some(found) = private_key(text, at).or_else(|| url_password(text, at)) {
        return Some(found);
    }
    if !is_boundary(text, at) {
        return None;
    }
    token(text, at)
        .or_else(|| web_token(text, at))
        .or_else(|| authorization(text, at))
}

/// Whether a word may begin here: after an escape (`\n` in JSON, `%3D` in an address) too.
fn is_boundary(text: &[u8], at: usize) -> bool {
    match &text[..at] {
        [.., b'\\', b'n' | b'r' | b't'] | [] => true,
        [.., b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => true,
        [.., before] => !before.is_ascii_alphanumeric(),
    }
}

fn token(text: &[u8], at: usize) -> Option<Match> {
    TOKENS.iter().find_map(|token| {
        let is_prefix = |prefix: &&&str| text[at..].starts_with(prefix.as_bytes());
        let prefix = token.prefixes.iter().find(is_prefix)?;
        let begin = at + prefix.len();
        let length = run(&text[begin..], token.alphabet);
        let end = begin + length;
        // An access key has exactly this length: longer ones are something else.
        let is_it = if token.rule == "aws-access-key" {
            length == token.least && !text.get(end).is_some_and(u8::is_ascii_alphanumeric)
        } else {
            length >= token.least
        };
        is_it.then_some(Match {
            rule: token.rule,
            secret: at..end,
        })
    })
}

/// A signed JSON web token: three parts, of which the first two are JSON objects in base64.
fn web_token(text: &[u8], at: usize) -> Option<Match> {
    const LEAST: usize = 10;
    let mut end = at;
    for begin in ["eyJ", ".eyJ", "."] {
        if !text[end..].starts_with(begin.as_bytes()) {
            return None;
        }
        end += begin.len();
        let length = run(&text[end..], is_name);
        if length < LEAST {
            return None;
        }
        end += length;
    }
    Some(Match {
        rule: "jwt",
        secret: at..end,
    })
}

/// A private key in PEM: up to its last line, or all that follows if that is missing.
fn private_key(text: &[u8], at: usize) -> Option<Match> {
    const BEGIN: &[u8] = b"-----BEGIN ";
    const LONGEST_LABEL: usize = 40;
    const LONGEST_KEY: usize = 16 * 1024;
    /// Characters of the key on one line; a mention in prose has no such word.
    const LEAST: usize = 40;
    let rest = text[at..].strip_prefix(BEGIN)?;
    let label = &rest[..position(&rest[..rest.len().min(LONGEST_LABEL)], b"-----")?];
    position(label, b"PRIVATE KEY")?;
    let body = &rest[label.len()..];
    let body = &body[..end_of_character(body, LONGEST_KEY)];
    let last = [b"-----END ", label, b"-----"].concat();
    let (key, end) = match position(body, &last) {
        Some(length) => (&body[..length], length + last.len()),
        None => (body, body.len()),
    };
    let has_key = key
        .split(|byte| !(byte.is_ascii_alphanumeric() || b"+/=".contains(byte)))
        .any(|word| word.len() >= LEAST);
    has_key.then_some(Match {
        rule: "private-key",
        secret: at..at + BEGIN.len() + label.len() + end,
    })
}

/// What stands before the colon of a secret that was replaced.
const MARK: &[u8] = b"[redacted";

/// The password in `scheme://user:password@host`, from its colon. Variables and examples are none.
fn url_password(text: &[u8], colon: usize) -> Option<Match> {
    const LONGEST: usize = 256;
    if text[colon] != b':' {
        return None;
    }
    let before = &text[colon.saturating_sub(LONGEST)..colon];
    if before.ends_with(MARK) {
        return None;
    }
    let mut scheme = without_user(before);
    // The user's name may have been replaced.
    while let Some(mark) = scheme.strip_suffix(b":").filter(|it| it.ends_with(MARK)) {
        scheme = without_user(mark);
    }
    let scheme = scheme.strip_suffix(b"://")?;
    let begin = colon + 1;
    let rest = &text[begin..text.len().min(begin + LONGEST)];
    let password = &rest[..run(rest, |byte| is_of_user(byte) || byte == b':')];
    let is_example = PLACEHOLDERS.contains(&password)
        || matches!(password, [] | [b'$' | b'{' | b'[' | b'*' | b'.', ..]);
    let is_it = scheme.last().is_some_and(u8::is_ascii_alphanumeric)
        && rest.get(password.len()) == Some(&b'@')
        && !is_example;
    is_it.then(|| Match {
        rule: "url-password",
        secret: begin..begin + password.len(),
    })
}

/// The text without the user's name at its end.
fn without_user(text: &[u8]) -> &[u8] {
    let user = text.iter().rev().take_while(|byte| is_of_user(**byte));
    &text[..text.len() - user.count()]
}

/// The value of an `Authorization` header. A variable is none.
fn authorization(text: &[u8], at: usize) -> Option<Match> {
    const LEAST: usize = 16;
    let is_head = |head: &&&[u8]| {
        let here = text.get(at..at + head.len());
        here.is_some_and(|here| here.eq_ignore_ascii_case(head))
    };
    let begin = at + AUTHORIZATION.iter().find(is_head)?.len();
    let length = run(&text[begin..], is_credential);
    (length >= LEAST).then_some(Match {
        rule: "authorization",
        secret: begin..begin + length,
    })
}

fn run(text: &[u8], alphabet: fn(u8) -> bool) -> usize {
    let end = text.iter().position(|byte| !alphabet(*byte));
    end.unwrap_or(text.len())
}

/// At least `length`, and between characters; at most the whole text.
fn end_of_character(text: &[u8], length: usize) -> usize {
    let is_begin = |at: &usize| text.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80);
    (length.min(text.len())..=text.len())
        .find(is_begin)
        .unwrap_or(text.len())
}

fn position(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_base32(byte: u8) -> bool {
    matches!(byte, b'A'..=b'Z' | b'2'..=b'7')
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_dotted_name(byte: u8) -> bool {
    is_name(byte) || byte == b'.'
}

fn is_path(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'/'
}

fn is_credential(byte: u8) -> bool {
    is_dotted_name(byte) || matches!(byte, b'~' | b'+' | b'/' | b'=')
}

/// Whether a byte may stand in the user's name of an address.
fn is_of_user(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"/:@\"'`<>\\".contains(&byte)
}
