//! What a page consists of: its title, its place, its markup, and the fragments of it that live
//! updates replace.
//!
//! Invariant: a fragment is recorded while the page is drawn, so what a live update sends is what
//! the page had.

use std::cell::RefCell;

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};

use super::Site;
use super::entry::access;
use super::moment::Moment;
use super::touches::Touched;
use super::visible::visible;

/// Where a page is in the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Overview,
    Ideas,
    Agents,
    Train,
    Timeline,
    Checkpoints,
    Report,
    Cost,
    Learnings,
    Memory,
    Hooks,
    Settings,
    /// In none of them.
    Elsewhere,
    /// There is no such page.
    Nowhere,
}

/// A page's own part, within the frame.
pub struct Page {
    /// Its title: `Ideas`.
    pub title: String,
    /// Its place in the navigation.
    pub place: Place,
    /// What is below the header.
    pub main: Markup,
}

/// A part of a page that live updates replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment {
    /// The id of its element.
    pub id: String,
    /// What changes it.
    pub touched: Touched,
    /// Its element.
    pub markup: String,
}

/// A page that is being drawn.
pub struct Drawing<'a> {
    /// The pages of this repository.
    pub site: &'a Site,
    /// The moment that it shows.
    pub moment: &'a Moment,
    /// Its path below the site's, with its query: `ideas?status=failed`.
    pub path: String,
    /// The document in the browser: its live updates are drawn with the same value, so that forms
    /// do not change by themselves.
    pub document: String,
    fragments: RefCell<Vec<Fragment>>,
}

impl<'a> Drawing<'a> {
    /// Begins a page.
    pub fn new(site: &'a Site, moment: &'a Moment, path: &str, document: &str) -> Self {
        Self {
            site,
            moment,
            path: path.to_owned(),
            document: document.to_owned(),
            fragments: RefCell::default(),
        }
    }

    /// The address of a page: `link("ideas/idea-003")`. Stays at the moment that is shown.
    pub fn link(&self, path: &str) -> String {
        let base = format!("{}/{path}", self.site.access.path());
        match &self.moment.at {
            None => base,
            Some(at) => {
                let sign = if path.contains('?') { '&' } else { '?' };
                format!("{base}{sign}at={}", encoded(at))
            }
        }
    }

    /// The address of a page as it is now.
    pub fn live_link(&self, path: &str) -> String {
        format!("{}/{path}", self.site.access.path())
    }

    /// A form that acts at once: a POST to `do/retry/idea-003`. Sent twice from one document, it
    /// acts once. Nothing in the past.
    pub fn form(&self, action: &str, body: &Markup) -> Markup {
        if self.moment.is_past() {
            return html! {};
        }
        html! {
            form method="post" action=(self.live_link(action)) {
                input type="hidden" name="op" value={ (self.document) "/" (action) };
                (body)
            }
        }
    }

    /// A link to a dialog that asks before it acts; `classes` as for a button. Nothing in the past.
    pub fn ask(&self, action: &str, classes: &str, body: &Markup) -> Markup {
        if self.moment.is_past() {
            return html! {};
        }
        html! { a class=(classes) href=(self.live_link(action)) data-dialog { (body) } }
    }

    /// Records a part that live updates replace.
    pub fn fragment(&self, id: &str, touched: Touched, markup: &Markup) -> Markup {
        let element = html! { div .live id=(id) { (markup) } };
        self.fragments.borrow_mut().push(Fragment {
            id: id.to_owned(),
            touched,
            markup: element.0.clone(),
        });
        element
    }

    /// The recorded parts.
    pub fn into_fragments(self) -> Vec<Fragment> {
        self.fragments.into_inner()
    }
}

/// Text as a value in an address.
pub fn encoded(text: &str) -> String {
    let mut safe = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            safe.push(char::from(byte));
        } else {
            safe.extend(["%", &access::hex(&[byte]).to_uppercase()]);
        }
    }
    safe
}

/// A page without the frame, for who has no session.
pub fn bare(title: &str, body: &Markup) -> Response {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; title { (title) } }
            body { main { (body) } }
        }
    };
    as_html(page)
}

/// An answer with markup.
pub fn as_html(markup: Markup) -> Response {
    (
        [(CONTENT_TYPE, "text/html; charset=utf-8")],
        visible(markup.into_string()),
    )
        .into_response()
}
