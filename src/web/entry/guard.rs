//! What every request must pass, and what every answer carries.
//!
//! Invariant: nothing of a page is rendered and no form is read for a request that is not from a
//! session of this very page.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, ORIGIN, REFERRER_POLICY, REFRESH,
    SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use maud::html;
use serde::Deserialize;

use super::access::Access;
use crate::api::ApiError;
use crate::web::Site;
use crate::web::document::bare;
use crate::web::preferences::{self, Preferences};

/// `style-src` and `script-src` name no inline code: there is none.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types swarm";

/// How long a session's cookie lives in the browser, in seconds.
const COOKIE_LIFE: u64 = 30 * 24 * 3600;

/// Refuses foreign hosts, and adds the headers.
pub async fn every_request(
    State(access): State<Arc<Access>>,
    request: Request,
    next: Next,
) -> Response {
    let host = request.headers().get(HOST);
    let is_ours = host.is_some_and(|host| host.as_bytes() == access.host().as_bytes());
    let mut response = if is_ours {
        next.run(request).await
    } else {
        let message = format!("this is not {}", access.host());
        ApiError::new(StatusCode::MISDIRECTED_REQUEST, "HOST_UNKNOWN", message).into_response()
    };
    let headers = response.headers_mut();
    let fixed = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Not `no-referrer`: with that, browsers send forms with the origin `null`.
        (REFERRER_POLICY, "same-origin"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Admits requests of the API with the bearer token.
pub async fn with_token(
    State(access): State<Arc<Access>>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let bearer = headers
        .get("authorization")
        .and_then(|value| value.to_str().ok());
    let token = bearer.and_then(|value| value.strip_prefix("Bearer "));
    if !token.is_some_and(|token| access.is_token(token)) {
        let message = "the token is missing or wrong";
        return ApiError::new(StatusCode::UNAUTHORIZED, "TOKEN_WRONG", message)
            .suggest("send `Authorization: Bearer TOKEN` with the content of .git/swarm/token")
            .into_response();
    }
    // A browser says where a request comes from; no page but ours may use the API.
    let origin = headers.get(ORIGIN);
    if is_change(request.method())
        && origin.is_some_and(|origin| origin.as_bytes() != access.origin().as_bytes())
    {
        return another_origin();
    }
    next.run(request).await
}

/// Admits requests of a session; changes must come from one of our pages.
pub async fn with_session(
    State(site): State<Arc<Site>>,
    mut request: Request,
    next: Next,
) -> Response {
    let access = &site.access;
    let headers = request.headers();
    let session = cookie(headers, &access.cookie());
    let Some(session) = session.filter(|session| access.is_session(session)) else {
        return signed_out();
    };
    if is_change(request.method()) && !is_from_us(headers, access) {
        return another_origin();
    }
    let session = Session(session.to_owned());
    let chosen = cookie(headers, &preferences::cookie(access)).map(Preferences::of);
    request.extensions_mut().insert(session);
    preferences::during(chosen.unwrap_or_default(), next.run(request)).await
}

/// The session that a request belongs to.
#[derive(Clone)]
pub struct Session(pub String);

fn is_change(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD)
}

fn is_from_us(headers: &HeaderMap, access: &Access) -> bool {
    let is = |name: HeaderName, wanted: &str| {
        let value = headers.get(name);
        value.is_some_and(|value| value.as_bytes() == wanted.as_bytes())
    };
    is(ORIGIN, &access.origin()) && is(HeaderName::from_static("sec-fetch-site"), "same-origin")
}

fn another_origin() -> Response {
    let message = "this change does not come from swarm's own page";
    ApiError::new(StatusCode::FORBIDDEN, "ORIGIN_WRONG", message).into_response()
}

fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let all = headers.get_all(COOKIE).iter();
    all.filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(its, value)| (its == name).then_some(value))
}

/// The only page without a session: where a one-time link leads.
pub fn entrance() -> Router<Arc<Site>> {
    Router::new().route("/enter", get(enter))
}

#[derive(Debug, Deserialize)]
struct Enter {
    code: String,
}

async fn enter(
    State(site): State<Arc<Site>>,
    Query(Enter { code }): Query<Enter>,
    headers: HeaderMap,
) -> Response {
    let access = Arc::clone(&site.access);
    let entered = tokio::task::spawn_blocking(move || access.enter(&code)).await;
    let session = match entered {
        Ok(Ok(Some(session))) => session,
        Ok(Ok(None)) => return signed_out(),
        Ok(Err(error)) => return cannot_enter(&error.to_string()),
        Err(error) => return cannot_enter(&error.to_string()),
    };
    let path = site.access.path();
    let cookie = format!(
        "{}={session}; Path={path}/; Max-Age={COOKIE_LIFE}; HttpOnly; SameSite=Strict",
        site.access.cookie()
    );
    let mut response = lead_on(&format!("{path}/"), &headers);
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

/// Leads to the page. A browser that follows a link elsewhere, such as in the file of
/// [`opener`](super::opener), sends a strict cookie only once a page of ours has led on.
fn lead_on(to: &str, headers: &HeaderMap) -> Response {
    let site = headers.get("sec-fetch-site");
    if site.is_none_or(|site| site == "none") {
        return Redirect::to(to).into_response();
    }
    let mut response = bare("swarm", &html! { p { a href=(to) { "Open the page" } } });
    if let Ok(refresh) = HeaderValue::from_str(&format!("0; url={to}")) {
        response.headers_mut().insert(REFRESH, refresh);
    }
    response
}

fn cannot_enter(why: &str) -> Response {
    let body = bare(
        "swarm",
        &html! {
            h1 { "The session cannot be written" }
            p { (why) }
            p { "See what is wrong: " code { "swarm doctor" } }
        },
    );
    (StatusCode::INTERNAL_SERVER_ERROR, body).into_response()
}

fn signed_out() -> Response {
    let body = bare(
        "Signed out · swarm",
        &html! {
            h1 { "You are signed out" }
            p { "Links to this page work once, within a minute. Make a new one in the repository:" }
            p { code { "swarm open" } }
        },
    );
    (StatusCode::UNAUTHORIZED, body).into_response()
}

/// Answers everything that is neither a page nor the API.
pub async fn nobody_here() -> Response {
    let body = bare(
        "swarm",
        &html! {
            h1 { "Nothing is here" }
            p { "Open swarm's page from the repository: " code { "swarm open" } }
        },
    );
    (StatusCode::NOT_FOUND, body).into_response()
}
