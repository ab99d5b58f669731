//! What an action is given: its object, the filled form, and where the person came from.
//!
//! Invariant: whatever a form carries is text until it is parsed here or by the domain.

use std::sync::Arc;

use axum::http::header::REFERER;
use axum::http::{HeaderMap, StatusCode};
use sha2::{Digest as _, Sha256};

use crate::api::{self, ApiError};
use crate::daemon::Accepted;
use crate::domain::decide;
use crate::domain::ids::{AgentId, IdeaId};
use crate::domain::operation::Command;
use crate::domain::request::Request;
use crate::domain::state::State;
use crate::view::answer::Answer;
use crate::web::Site;
use crate::web::pages::asked::Query;
use crate::web::pages::{Route, WebError};

/// The header with which the page's script says that it follows by itself.
const SCRIPT: &str = "swarm-script";
/// The header that names the page to go to.
pub const GO: &str = "swarm-go";

/// See the module.
pub struct Call {
    /// The pages of this repository.
    pub site: Arc<Site>,
    /// The action: `retry`.
    pub verb: String,
    /// What it is about: `idea-003`; `None` for the swarm as a whole.
    pub id: Option<String>,
    /// The form; for a dialog that is opened, the query of its address.
    pub filled: Query,
    /// Whether it is a form that was sent, not a dialog that is opened.
    pub is_sent: bool,
    /// Whether it was sent from a page of an earlier moment.
    pub is_past: bool,
    /// Whether the page's script sent it.
    pub is_scripted: bool,
    /// The last event when the request came: what a dialog says is not older.
    pub seq: u64,
    /// Identifies the form with all that was typed.
    hash: Vec<u8>,
    form: String,
    /// The page that the person saw before.
    from: Option<String>,
}

impl Call {
    /// A request about `verb` and an id, with its query and its form.
    pub fn new(
        site: Arc<Site>,
        (verb, id): (&str, Option<String>),
        (query, form): (Option<String>, Option<&str>),
        headers: &HeaderMap,
    ) -> Self {
        let query = query.unwrap_or_default();
        let is_sent = form.is_some();
        let form = form.unwrap_or_default();
        let text = if is_sent { form } else { &query };
        let address = format!("{verb}/{}", id.as_deref().unwrap_or_default());
        let digest = Sha256::digest(format!("{address}\n{form}").as_bytes());
        let referer = headers.get(REFERER).and_then(|value| value.to_str().ok());
        let from = referer.and_then(|from| page_below(&site, from));
        Self {
            is_sent,
            seq: site.api.handle.read(|state| state.seq),
            is_past: has_moment(&query) || has_moment(form),
            is_scripted: headers.contains_key(SCRIPT),
            hash: digest.to_vec(),
            filled: Query::of(text),
            form: form.to_owned(),
            verb: verb.to_owned(),
            from,
            id,
            site,
        }
    }

    /// The action's address: `do/retry/idea-003`.
    pub fn address(&self) -> String {
        match &self.id {
            Some(id) => format!("do/{}/{id}", self.verb),
            None => format!("do/{}", self.verb),
        }
    }

    /// The page to go back to: the one that the person came from, else `usual`.
    pub fn back(&self, usual: &str) -> String {
        let filled = self.filled.get("back").filter(|back| is_page(back));
        let known = filled.map(str::to_owned).or_else(|| self.from.clone());
        known.unwrap_or_else(|| usual.to_owned())
    }

    /// What was typed into a field, with plain line ends; empty if nothing was.
    pub fn text(&self, name: &str) -> String {
        let text = self.filled.get(name).unwrap_or_default();
        text.replace("\r\n", "\n").trim().to_owned()
    }

    /// The values of a field that may be repeated, without empty ones.
    pub fn texts(&self, name: &str) -> Vec<String> {
        let all = self.filled.all(name);
        let all = all.map(|text| text.replace("\r\n", "\n").trim().to_owned());
        all.filter(|text| !text.is_empty()).collect()
    }

    /// All that the form carries but what each form carries unseen.
    pub fn kept(&self) -> Vec<(String, String)> {
        let pairs = form_urlencoded::parse(self.form.as_bytes()).into_owned();
        let is_own = |(name, value): &(String, String)| {
            !["op", "seq", "back", "at"].contains(&name.as_str()) && !value.is_empty()
        };
        pairs.filter(is_own).collect()
    }

    /// The idea that it is about.
    pub fn idea(&self) -> Result<IdeaId, WebError> {
        let id = self.id.as_deref().unwrap_or_default();
        id.parse()
            .map_err(|_| WebError::not_found(format!("there is no idea `{id}`")))
    }

    /// The agent that it is about.
    pub fn agent(&self) -> Result<AgentId, WebError> {
        let id = self.id.as_deref().unwrap_or_default();
        id.parse()
            .map_err(|_| WebError::not_found(format!("there is no agent `{id}`")))
    }

    /// Reads the state. `read` must be short: the actor waits for it.
    pub fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        self.site.api.handle.read(read)
    }

    /// Whether a command would be accepted now, by its own rules; the error says why not.
    pub fn allowed(&self, command: &Command) -> Result<(), WebError> {
        let decided = self.read(|state| {
            let now = state.swarm.last_event_at;
            decide::command(state, command, now).map(drop)
        });
        decided.map_err(|why| ApiError::from(why).into())
    }

    /// Executes a command; its events are on disk when this returns.
    pub async fn command(&self, command: Command) -> Result<Accepted, WebError> {
        let accepted = self.site.api.handle.command(command).await;
        accepted.map_err(|error| ApiError::from(error).into())
    }

    /// Executes a command of a person and waits for what it begins.
    pub async fn finish(&self, command: Command) -> Result<Answer, WebError> {
        let request = Request::of_person(command);
        Ok(api::execute(&self.site.api, request).await?)
    }

    /// The sequence number at which the form was drawn.
    pub fn drawn_at(&self) -> Option<u64> {
        let seq = self.filled.get("seq").and_then(|seq| seq.parse().ok());
        // A document's name begins with it, see `pages::new_document`.
        let document = || self.filled.get("op")?.split('-').next()?.parse().ok();
        seq.or_else(document)
    }

    /// Identifies this operation: the same form with the same content is the same operation.
    pub fn operation(&self) -> Result<Vec<u8>, WebError> {
        if self.filled.get("op").is_some() {
            return Ok(self.hash.clone());
        }
        let message = "the form has no operation id, so it could act twice";
        let error = ApiError::new(StatusCode::BAD_REQUEST, "NO_OPERATION", message);
        Err(error.details("nothing was done").into())
    }
}

fn has_moment(query: &str) -> bool {
    form_urlencoded::parse(query.as_bytes()).any(|(name, value)| name == "at" && !value.is_empty())
}

/// The page of ours that an address names; `None` for a dialog and for what is not ours.
fn page_below(site: &Site, address: &str) -> Option<String> {
    let start = format!("{}{}/", site.access.origin(), site.access.path());
    let page = address.strip_prefix(&start)?;
    let (path, query) = page.split_once('?').unwrap_or((page, ""));
    let query = Query::of(query).text();
    let page = if query.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{query}")
    };
    is_page(&page).then_some(page)
}

fn is_page(page: &str) -> bool {
    let path = page.split_once('?').map_or(page, |(path, _)| path);
    let is_plain = page.bytes().all(|byte| byte.is_ascii_graphic());
    is_plain && !page.starts_with('/') && Route::of(path).is_some()
}
