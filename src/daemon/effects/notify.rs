//! Sends a notice to the webhook.
//!
//! Invariant: what it reports contains neither the address's path nor a header, because they may be
//! secret. A request has a thread of its own and a time limit, so that a receiver that hangs delays
//! nothing, not even the end of the daemon.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::context::DriverContext;
use crate::config::{Address, Webhook, address, expand};
use crate::daemon::actor::handle::Handle;
use crate::daemon::preflight;
use crate::domain::effect;
use crate::domain::outcome::NotifyOutcome;
use crate::domain::state::attention::Notice;

/// Time limit of a request, from the look-up of the host to the answer.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// A request, ready to be sent.
struct Request {
    url: String,
    address: Address,
    headers: BTreeMap<String, String>,
    /// The same for every try, so that the receiver recognises a repetition.
    id: String,
    body: String,
}

/// Sends a notice, unless it was delivered or given up before.
pub(super) async fn notify(
    context: &DriverContext,
    handle: &Handle,
    effect: &effect::Notify,
) -> NotifyOutcome {
    let found = handle.read(|state| {
        let mut outgoing = state.attention.outgoing.iter();
        outgoing.find(|notice| notice.seq == effect.about).cloned()
    });
    let Some(notice) = found else {
        return NotifyOutcome::Delivered;
    };
    let config = context.config();
    let Some(webhook) = &config.notify.webhook else {
        let why = "notify.webhook is no longer configured".to_owned();
        return NotifyOutcome::Refused { why };
    };
    // The next daemon may have what this one lacks.
    if let Some(why) = preflight::webhook_problem(&config, &context.inherited) {
        return later(why, None);
    }
    match prepare(context, webhook, &notice) {
        Ok(request) => in_its_own_thread(request).await,
        Err(why) => NotifyOutcome::Refused { why },
    }
}

async fn in_its_own_thread(request: Request) -> NotifyOutcome {
    let (answer, answered) = oneshot::channel();
    let spawned = thread::Builder::new()
        .name("webhook".to_owned())
        // The daemon may have ended.
        .spawn(move || drop(answer.send(post(&request))));
    match spawned {
        Ok(_) => answered
            .await
            .unwrap_or_else(|_| later("the request crashed".to_owned(), None)),
        Err(error) => later(format!("no thread could be started: {error}"), None),
    }
}

fn prepare(context: &DriverContext, webhook: &Webhook, notice: &Notice) -> Result<Request, String> {
    let variable = |name: &str| {
        let mut all = context.inherited.iter();
        let found = all.find(|(known, _)| known.to_str() == Some(name))?;
        found.1.to_str().map(str::to_owned)
    };
    let url = expand(&webhook.url, variable)?;
    let headers = webhook.headers.iter().map(|(name, value)| {
        let value = expand(value, variable)?;
        Ok((name.clone(), value))
    });
    let repository = context.paths.root.file_name();
    let repository = repository.map_or_else(String::new, |name| name.to_string_lossy().into());
    let id = format!("{}-{}", notice.seq, notice.at.millis());
    Ok(Request {
        address: address(&url, webhook.allow_http)?,
        url,
        headers: headers.collect::<Result<_, String>>()?,
        body: body(&id, &repository, notice).to_string(),
        id,
    })
}

fn body(id: &str, repository: &str, notice: &Notice) -> Value {
    let commands = notice.commands.join("\n");
    json!({
        "id": id,
        "eventSeq": notice.seq,
        "kind": notice.kind.as_str(),
        "ideaId": notice.idea,
        "message": notice.message,
        "commands": notice.commands,
        "repo": repository,
        "swarmVersion": env!("CARGO_PKG_VERSION"),
        "at": notice.at,
        // What chat systems show.
        "text": format!("{repository}: {}\n{commands}", notice.message),
    })
}

fn post(request: &Request) -> NotifyOutcome {
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(TIME_LIMIT))
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .user_agent(concat!("swarm/", env!("CARGO_PKG_VERSION")));
    // A proxy cannot reach this machine's own addresses.
    let config = if request.address.is_local {
        config.proxy(None)
    } else {
        config
    };
    let agent = ureq::Agent::new_with_config(config.build());
    let mut call = agent
        .post(&request.url)
        .header("Content-Type", "application/json")
        .header("Idempotency-Key", &request.id);
    for (name, value) in &request.headers {
        call = call.header(name, value);
    }
    let host = &request.address.host;
    match call.send(&request.body) {
        Ok(response) => {
            let after = response.headers().get("retry-after");
            let after = after.and_then(|value| retry_after(value.to_str().ok()?));
            judge(host, response.status().as_u16(), after)
        }
        Err(error) => later(
            format!("{host} cannot be reached: {}", describe(&error)),
            None,
        ),
    }
}

/// What an answer means.
fn judge(host: &str, status: u16, after_ms: Option<i64>) -> NotifyOutcome {
    match status {
        200..=299 => NotifyOutcome::Delivered,
        408 | 429 | 500.. => later(format!("{host} answered with HTTP {status}"), after_ms),
        300..=399 => NotifyOutcome::Refused {
            why: format!(
                "{host} answered with HTTP {status}, a redirect, which swarm does not follow; \
                configure the final address"
            ),
        },
        _ => NotifyOutcome::Refused {
            why: format!("{host} answered with HTTP {status}"),
        },
    }
}

fn later(why: String, after_ms: Option<i64>) -> NotifyOutcome {
    let jitter = uuid::Uuid::new_v4().as_u128() % 1_000;
    NotifyOutcome::Later {
        why,
        after_ms,
        jitter: u16::try_from(jitter).unwrap_or_default(),
    }
}

/// Milliseconds to wait, from the seconds or the date of a `Retry-After` header.
fn retry_after(value: &str) -> Option<i64> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<u32>() {
        return Some(i64::from(seconds) * 1_000);
    }
    let date = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
    let wait = date.as_millisecond() - jiff::Timestamp::now().as_millisecond();
    Some(wait.max(0))
}

/// Why a request failed. The error's own text may contain the address, so only texts without it are
/// passed on.
fn describe(error: &ureq::Error) -> String {
    if let ureq::Error::Timeout(_) = error {
        format!("no answer within {} s", TIME_LIMIT.as_secs())
    } else if let ureq::Error::Io(error) = error {
        error.to_string()
    } else if let ureq::Error::Rustls(error) = error {
        format!("TLS: {error}")
    } else if let ureq::Error::HostNotFound = error {
        "its name cannot be resolved".to_owned()
    } else if let ureq::Error::ConnectionFailed = error {
        "the connection failed".to_owned()
    } else {
        "the request failed".to_owned()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use super::*;
    use crate::domain::attention::NoticeKind;
    use crate::domain::time::Timestamp;

    #[test]
    fn an_answer_is_final_unless_a_later_try_can_succeed() {
        for status in [200, 202, 204] {
            assert_eq!(judge("h", status, None), NotifyOutcome::Delivered);
        }
        for status in [301, 302, 307, 400, 401, 404, 410, 422] {
            let outcome = judge("h", status, None);
            assert!(matches!(outcome, NotifyOutcome::Refused { .. }), "{status}");
        }
        for status in [408, 429, 500, 502, 503, 599] {
            let NotifyOutcome::Later { after_ms, .. } = judge("h", status, Some(7)) else {
                panic!("{status} is final");
            };
            assert_eq!(after_ms, Some(7));
        }
    }

    #[test]
    fn retry_after_is_a_number_of_seconds_or_a_date() {
        assert_eq!(retry_after(" 120 "), Some(120_000));
        assert_eq!(retry_after("Wed, 21 Oct 2015 07:28:00 GMT"), Some(0));
        assert_eq!(retry_after("soon"), None);
        assert_eq!(retry_after("-5"), None);
    }

    #[test]
    fn the_body_has_the_same_id_each_time_and_a_text_for_chats() {
        let notice = Notice {
            seq: 41,
            at: Timestamp::from_millis(1_000),
            kind: NoticeKind::Failed,
            idea: Some("idea-003".parse().unwrap()),
            message: "idea-003 failed: no".into(),
            commands: vec!["swarm idea retry idea-003".into()],
            tries: 3,
            not_before: None,
        };
        let body = body("41-1000", "shop", &notice);
        assert_eq!(body["id"], "41-1000");
        assert_eq!(body["ideaId"], "idea-003");
        assert_eq!(
            body["text"],
            "shop: idea-003 failed: no\nswarm idea retry idea-003"
        );
    }
}
