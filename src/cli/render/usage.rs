//! What was used, and which accounts wait, from the JSON views in words.

use jiff::tz::TimeZone;
use serde_json::Value;

use crate::cli::clock;
use crate::cli::describe;
use crate::cli::json::{list, number, text, time};
use crate::cli::output::terminal::safe;
use crate::domain::usage::{MicroUsd, Spent, Tokens};

/// What several runs used; empty where nothing was.
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

/// Each account that must wait, as a line.
pub fn accounts(view: &Value, zone: &TimeZone) -> Vec<String> {
    let line = |account: &Value| {
        let what = match text(account, "held") {
            "limit" => "limit reached",
            "overloaded" => "service overloaded or not reachable",
            "login" => "not logged in",
            other => other,
        };
        let until = match time(account, "until") {
            Some(until) => format!("sleeping until {}", clock::local(until, zone)),
            None => "waits for you: swarm resume".to_owned(),
        };
        let name = safe(text(account, "account"));
        let message = safe(text(account, "message"));
        format!("{name}: {what}, {until} ({message})")
    };
    list(view, "accounts").iter().map(line).collect()
}
