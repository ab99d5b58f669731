//! The configuration key `notify`: whom swarm tells what needs a person.
//!
//! Invariant: the address and the headers of a webhook may be secret. They are shown nowhere, and
//! no problem contains them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use hyper::Uri;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::errors::visible;
use super::model::NOT_BLANK;
use crate::domain::attention::NoticeKind;

/// Headers that swarm sets itself.
const OWN_HEADERS: [&str; 7] = [
    "connection",
    "content-length",
    "content-type",
    "host",
    "idempotency-key",
    "transfer-encoding",
    "user-agent",
];

/// Whom swarm tells what needs a person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Notify {
    /// Web address that swarm sends a POST request to, once for each thing that needs a person and
    /// when nothing can continue by itself: the address alone, or an object. swarm hides it
    /// wherever it shows its configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook: Option<Webhook>,
}

/// Web address that swarm tells what needs a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", from = "WebhookForm")]
#[schemars(with = "WebhookForm")]
pub struct Webhook {
    /// The address, in which `${NAME}` stands for an environment variable of the daemon.
    pub url: String,
    /// Further headers; `${NAME}` as above.
    pub headers: BTreeMap<String, String>,
    /// Kinds of things that are sent; `None` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kinds: Option<BTreeSet<String>>,
    /// Whether an `http:` address that is not on this machine is allowed.
    pub allow_http: bool,
}

/// A webhook: the address alone, or an object.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum WebhookForm {
    /// The address: `https:`, or `http:` on this machine. `${NAME}` in it stands for an environment
    /// variable of the daemon.
    Url(#[schemars(regex(pattern = NOT_BLANK))] String),
    /// The address, headers and kinds.
    Full(WebhookParts),
}

/// The address, headers and kinds.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WebhookParts {
    /// The address: `https:`, or `http:` on this machine. `${NAME}` in it stands for an environment
    /// variable of the daemon, so that no secret has to be in this file.
    #[schemars(regex(pattern = NOT_BLANK))]
    url: String,
    /// Further headers by name, such as `Authorization`. `${NAME}` in a value stands for an
    /// environment variable of the daemon.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Kinds of things that are sent. Default: all.
    #[serde(default)]
    #[schemars(schema_with = "kinds_schema")]
    kinds: Option<BTreeSet<String>>,
    /// Whether an `http:` address that is not on this machine is allowed. Anybody on the way can
    /// read what is sent to it.
    #[serde(default)]
    allow_http: bool,
}

fn kinds_schema(_: &mut SchemaGenerator) -> Schema {
    let kinds = NoticeKind::ALL.map(NoticeKind::as_str);
    json_schema!({ "type": "array", "items": { "type": "string", "enum": kinds } })
}

impl From<WebhookForm> for Webhook {
    fn from(form: WebhookForm) -> Self {
        match form {
            WebhookForm::Url(url) => Self {
                url,
                headers: BTreeMap::new(),
                kinds: None,
                allow_http: false,
            },
            WebhookForm::Full(parts) => Self {
                url: parts.url,
                headers: parts.headers,
                kinds: parts.kinds,
                allow_http: parts.allow_http,
            },
        }
    }
}

impl Webhook {
    /// Kinds of things that are sent; `None` for all.
    pub fn known_kinds(&self) -> Option<BTreeSet<NoticeKind>> {
        let kinds = self.kinds.as_ref()?.iter();
        Some(kinds.filter_map(|kind| NoticeKind::named(kind)).collect())
    }

    /// The environment variables that the address and the headers name, each once.
    pub fn variables(&self) -> BTreeSet<&str> {
        let texts = std::iter::once(&self.url).chain(self.headers.values());
        let parts = texts.flat_map(|text| text.split("${").skip(1));
        parts
            .filter_map(|part| Some(part.split_once('}')?.0))
            .collect()
    }

    /// Problems that can be seen without the environment, each with its key below `notify.webhook`.
    pub(super) fn problems(&self) -> Vec<(String, String)> {
        let url = if is_variable(&self.url) {
            expand(&self.url, |_| Some(String::new())).map(drop)
        } else {
            address(&self.url, self.allow_http).map(drop)
        };
        let url = url.err().map(|why| ("url".to_owned(), why));
        let headers = self.headers.iter().filter_map(|(name, value)| {
            let problem = header_problem(name, value)?;
            Some((format!("headers.{name}"), problem))
        });
        let kinds = self.kinds.iter().flatten();
        let unknown = kinds.filter(|kind| NoticeKind::named(kind).is_none());
        let unknown = unknown.map(|kind| {
            let known = NoticeKind::ALL.map(NoticeKind::as_str).join(", ");
            let why = format!("there is no kind `{}`; the kinds: {known}", visible(kind));
            ("kinds".to_owned(), why)
        });
        url.into_iter().chain(headers).chain(unknown).collect()
    }
}

fn header_problem(name: &str, value: &str) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    let letter = |c: u8| c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c);
    if name.is_empty() || !name.bytes().all(letter) {
        Some("this is not the name of a header".to_owned())
    } else if OWN_HEADERS.contains(&lower.as_str()) {
        Some("swarm sets this header itself; remove it".to_owned())
    } else if value.chars().any(char::is_control) {
        Some("the value contains a control character".to_owned())
    } else {
        expand(value, |_| Some(String::new())).err()
    }
}

fn is_variable(text: &str) -> bool {
    text.contains("${")
}

/// Replaces each `${NAME}` by the variable's value.
///
/// # Errors
/// A variable is not set or `${` is not closed, for people; without any value.
pub fn expand(text: &str, value: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut parts = text.split("${");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let Some((name, rest)) = part.split_once('}').filter(|(name, _)| is_name(name)) else {
            return Err("`${` must be followed by the name of a variable and `}`".to_owned());
        };
        let Some(value) = value(name) else {
            return Err(format!("the environment variable {name} is not set"));
        };
        whole.push_str(&value);
        whole.push_str(rest);
    }
    Ok(whole)
}

fn is_name(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(letter)
}

/// Where a webhook is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Host and port, which people may see.
    pub host: String,
    /// Whether it is on this machine.
    pub is_local: bool,
}

/// Checks an address.
///
/// # Errors
/// Why swarm does not send anything there, for people; without the address.
pub fn address(url: &str, allow_http: bool) -> Result<Address, String> {
    let uri: Uri = url
        .parse()
        .map_err(|_| "this is not a web address; use https://HOST/PATH".to_owned())?;
    let host = uri.host().filter(|host| !host.is_empty());
    let (Some(scheme), Some(host)) = (uri.scheme_str(), host) else {
        return Err("this is not a web address; use https://HOST/PATH".to_owned());
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let ip: Option<IpAddr> = bare.parse().ok();
    let is_local = bare == "localhost" || ip.is_some_and(|ip| ip.is_loopback());
    match scheme {
        "https" => {}
        "http" if is_local || allow_http => {}
        "http" => {
            return Err(
                "http: is allowed only on this machine, because anybody on the way can read what \
                is sent; use https:, or set allowHttp to true"
                    .to_owned(),
            );
        }
        _ => return Err("the address must begin with https://".to_owned()),
    }
    let port = uri
        .port_u16()
        .map_or_else(String::new, |port| format!(":{port}"));
    Ok(Address {
        host: format!("{host}{port}"),
        is_local,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_only_unless_it_is_allowed() {
        for good in [
            "https://hooks.example.com/T0/B0",
            "http://127.0.0.1:8080/x",
            "http://[::1]:80/",
            "http://localhost/",
        ] {
            assert!(address(good, false).is_ok(), "{good}");
        }
        for bad in [
            "http://example.com/",
            "http://127.0.0.1.example.com/",
            "http://localhost.example.com/",
            "ftp://example.com/",
            "example.com",
            "/path",
            "https:///x",
            "",
        ] {
            assert!(address(bad, false).is_err(), "{bad}");
        }
        assert!(address("http://example.com/", true).is_ok());
    }

    #[test]
    fn people_see_only_the_host() {
        let found = address("https://user:pass@example.com:8443/s3cret?t=s3cret", false).unwrap();
        assert_eq!(found.host, "example.com:8443");
        assert!(!found.is_local);
    }

    #[test]
    fn variables_are_replaced_and_missing_ones_are_named() {
        let value = |name: &str| (name == "TOKEN").then(|| "s3cret".to_owned());
        assert_eq!(
            expand("https://x/${TOKEN}/y${TOKEN}", value).unwrap(),
            "https://x/s3cret/ys3cret"
        );
        assert_eq!(expand("no $TOKEN", value).unwrap(), "no $TOKEN");
        let missing = expand("${TOKEN}${OTHER}", value).unwrap_err();
        assert_eq!(missing, "the environment variable OTHER is not set");
        for bad in ["${", "${}", "${A B}", "x${TOKEN"] {
            assert!(expand(bad, value).is_err(), "{bad}");
        }
    }

    #[test]
    fn problems_name_the_key_and_never_the_value() {
        let webhook = Webhook {
            url: "http://s3cret.example.com".into(),
            headers: [
                ("Host".to_owned(), "s3cret".to_owned()),
                ("A b".to_owned(), "s3cret".to_owned()),
                ("X".to_owned(), "s3cret\n".to_owned()),
                ("Y".to_owned(), "${s3cret".to_owned()),
                ("Authorization".to_owned(), "Bearer ${TOKEN}".to_owned()),
            ]
            .into(),
            kinds: None,
            allow_http: false,
        };
        let problems = webhook.problems();
        let keys: Vec<&str> = problems.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(
            keys,
            [
                "url",
                "headers.A b",
                "headers.Host",
                "headers.X",
                "headers.Y"
            ]
        );
        assert!(!format!("{problems:?}").contains("s3cret"));
        let variable = Webhook {
            url: "${URL}".into(),
            headers: BTreeMap::new(),
            ..webhook
        };
        assert_eq!(variable.problems(), []);
        assert_eq!(Vec::from_iter(variable.variables()), ["URL"]);
    }

    #[test]
    fn every_variable_is_named_once() {
        let webhook = Webhook {
            url: "https://x/${B}/${A}".into(),
            headers: [("X".to_owned(), "${B} ${C}".to_owned())].into(),
            kinds: None,
            allow_http: false,
        };
        assert_eq!(Vec::from_iter(webhook.variables()), ["A", "B", "C"]);
    }
}
