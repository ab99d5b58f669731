//! Describes usage and held accounts, read from the JSON views.

use serde_json::Value;

use crate::cli::clock;
use crate::cli::json::{list, number, text, time};
use crate::cli::output::terminal::safe;
use crate::domain::time::Timestamp;
use crate::domain::usage::{MicroUsd, Spent, Tokens};
use crate::view::describe;

/// What several runs used; empty if they used nothing.
pub fn describe_usage(used: &Value) -> String {
    let tokens = used.get("tokens").unwrap_or(&Value::Null);
    let dollars = |key| {
        let dollars = used.get(key).and_then(Value::as_f64);
        dollars.and_then(MicroUsd::from_dollars).unwrap_or_default()
    };
    let spent = Spent {
        tokens: Tokens {
            input: number(tokens, "input"),
            cached: number(tokens, "cached"),
            cache_written: number(tokens, "cacheWritten"),
            output: number(tokens, "output"),
        },
        cost: dollars("usd"),
        estimated: dollars("estimatedUsd"),
        runs: number(used, "runs"),
        runs_without_cost: number(used, "runsWithoutCost"),
        runs_not_counted: number(used, "runsNotCounted"),
    };
    if spent.is_nothing() {
        return String::new();
    }
    describe::spent(&spent)
}

/// What several runs cost, in a word: `$1.20`, `~$1.20` if some of it is an estimate, `$1.20+?` if
/// some of it is unknown. Empty if they used nothing.
pub fn cost(used: &Value) -> String {
    let dollars = |key| used.get(key).and_then(Value::as_f64).unwrap_or_default();
    let (reported, estimated) = (dollars("usd"), dollars("estimatedUsd"));
    let sum = MicroUsd::from_dollars(reported + estimated).unwrap_or_default();
    let unknown = number(used, "runsWithoutCost");
    let about = if estimated > 0.0 { "~" } else { "" };
    match (number(used, "runs"), unknown) {
        (0, _) => String::new(),
        (runs, unknown) if runs == unknown && sum.0 == 0 => "?".to_owned(),
        (_, 0) => format!("{about}{sum}"),
        (..) => format!("{about}{sum}+?"),
    }
}

/// One line for each account that is on hold.
pub fn accounts(view: &Value, now: Timestamp) -> Vec<String> {
    let line = |account: &Value| {
        let what = match text(account, "held") {
            "limit" => "limit reached",
            "overloaded" => "provider overloaded or unreachable",
            "login" => "not logged in",
            "credit" => "no credit left or spending cap reached",
            "profile" => "its program cannot begin",
            other => other,
        };
        let next = match time(account, "until") {
            Some(until) => format!("tried again {}", clock::until(until, now)),
            None => "waiting for you".to_owned(),
        };
        let name = safe(text(account, "account"));
        let message = safe(text(account, "message"));
        format!("{name}: {what}, {next} ({message})")
    };
    list(view, "accounts").iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_cost_in_a_word_says_what_is_unknown() {
        let used = |usd: f64, estimated: f64, runs: u64, unknown: u64| {
            cost(&json!({"usd": usd, "estimatedUsd": estimated, "runs": runs,
                "runsWithoutCost": unknown}))
        };
        assert_eq!(used(1.2, 0.0, 2, 0), "$1.20");
        assert_eq!(used(1.0, 0.5, 2, 0), "~$1.50");
        assert_eq!(used(1.2, 0.0, 2, 1), "$1.20+?");
        assert_eq!(used(0.0, 0.0, 2, 2), "?");
        assert_eq!(used(0.0, 0.0, 0, 0), "");
    }
}
