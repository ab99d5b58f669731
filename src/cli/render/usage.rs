//! Describes usage and held accounts, read from the JSON views.

use serde_json::Value;

use crate::cli::clock;
use crate::cli::describe;
use crate::cli::json::{list, number, text, time};
use crate::cli::output::terminal::safe;
use crate::domain::time::Timestamp;
use crate::domain::usage::{MicroUsd, Spent, Tokens};

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

/// One line for each account that is on hold.
pub fn accounts(view: &Value, now: Timestamp) -> Vec<String> {
    let line = |account: &Value| {
        let what = match text(account, "held") {
            "limit" => "limit reached",
            "overloaded" => "provider overloaded or unreachable",
            "login" => "not logged in",
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
