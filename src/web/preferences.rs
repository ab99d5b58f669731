//! What a person chose for the pages: theme, shortcuts, notifications. They are in a cookie that
//! the server reads, so that a page never shows another theme first.
//!
//! Invariant: only known words are kept; anything else in the cookie counts as not chosen.

use std::future::Future;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Form, State};
use axum::http::HeaderValue;
use axum::http::header::SET_COOKIE;
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::post;
use serde::Deserialize;

use super::Site;
use super::pages::Route;
use crate::web::entry::access::Access;

/// How long the cookie lives in the browser, in seconds.
const COOKIE_LIFE: u64 = 365 * 24 * 3600;

tokio::task_local! {
    static CURRENT: Preferences;
}

/// Light or dark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// As the system has it.
    #[default]
    System,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

impl Theme {
    /// All of them, as the settings list them.
    pub const ALL: [Self; 3] = [Self::System, Self::Light, Self::Dark];

    /// Its word in forms, in the cookie and in the markup.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|theme| theme.as_str() == word)
    }
}

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preferences {
    /// Light or dark.
    pub theme: Theme,
    /// Whether single keys do something.
    pub has_keys: bool,
    /// Whether the browser notifies of what needs a person.
    pub notifies: bool,
}

impl Default for Preferences {
    fn default() -> Self {
        Self {
            theme: Theme::System,
            has_keys: true,
            notifies: false,
        }
    }
}

impl Preferences {
    /// From the cookie's value.
    pub fn of(cookie: &str) -> Self {
        let mut found = Self::default();
        for (name, value) in cookie.split('.').filter_map(|pair| pair.split_once('-')) {
            found.choose(name, value);
        }
        found
    }

    fn choose(&mut self, name: &str, value: &str) {
        match (name, value) {
            ("theme", word) => self.theme = Theme::of(word).unwrap_or(self.theme),
            ("keys", "on" | "off") => self.has_keys = value == "on",
            ("notify", "on" | "off") => self.notifies = value == "on",
            _ => {}
        }
    }

    /// The cookie's value: no character in it needs quoting.
    fn text(self) -> String {
        format!(
            "theme-{}.keys-{}.notify-{}",
            self.theme.as_str(),
            on_off(self.has_keys),
            on_off(self.notifies)
        )
    }
}

/// `on` or `off`.
pub fn on_off(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

/// The name of the cookie.
pub fn cookie(access: &Access) -> String {
    format!("{}-look", access.cookie())
}

/// Answers a request of a person who chose this.
pub async fn during<T>(chosen: Preferences, answer: impl Future<Output = T>) -> T {
    CURRENT.scope(chosen, answer).await
}

/// What the person chose whose request is answered.
pub fn current() -> Preferences {
    CURRENT.try_with(|chosen| *chosen).unwrap_or_default()
}

/// The form's route.
pub fn routes() -> Router<Arc<Site>> {
    Router::new().route("/do/theme", post(choose))
}

/// What is left out stays as it is.
#[derive(Debug, Deserialize)]
struct Chosen {
    theme: Option<String>,
    keys: Option<String>,
    notify: Option<String>,
    /// The page to lead back to.
    #[serde(default)]
    back: String,
}

async fn choose(State(site): State<Arc<Site>>, Form(chosen): Form<Chosen>) -> Response {
    let mut next = current();
    let fields = [
        ("theme", chosen.theme),
        ("keys", chosen.keys),
        ("notify", chosen.notify),
    ];
    for (name, value) in fields {
        next.choose(name, &value.unwrap_or_default());
    }
    let path = site.access.path();
    let back = chosen.back.split(['?', '#']).next().unwrap_or_default();
    let back = if Route::of(back).is_some() { back } else { "" };
    let cookie = format!(
        "{}={}; Path={path}/; Max-Age={COOKIE_LIFE}; HttpOnly; SameSite=Strict",
        cookie(&site.access),
        next.text()
    );
    let mut response = Redirect::to(&format!("{path}/{back}")).into_response();
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_chosen_survives_the_cookie_and_unknown_words_do_nothing() {
        let chosen = Preferences {
            theme: Theme::Dark,
            has_keys: false,
            notifies: true,
        };
        assert_eq!(Preferences::of(&chosen.text()), chosen);
        let odd = Preferences::of("theme-\"><script>.keys-maybe.other-1.notify");
        assert_eq!(odd, Preferences::default());
    }
}
