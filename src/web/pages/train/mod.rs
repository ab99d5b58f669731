//! The merge train: what lands next, what waits at the side for a person, and what has landed.

mod line;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::domain::attention::NoticeKind;
use crate::domain::hook::HookName;
use crate::domain::ids::{IdeaId, Oid};
use crate::domain::settings::Settings;
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::git::Repo;
use crate::view::{self, AgentView, NeedsYou, TrainView};
use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Ready};
use crate::web::pages::checkpoints::when;
use crate::web::parts::{
    MOST, and_more, capital, commands, commit, many, span, tinted, title, word,
};
use crate::web::touches::Touched;

/// Landings on the page.
const LANDED: usize = 50;
/// Agents whose work may come next.
const COMING: usize = 6;

/// What the page shows.
pub struct View {
    branch: String,
    commit: Option<Oid>,
    line: Vec<TrainView>,
    coming: Vec<AgentView>,
    needs: Vec<NeedsYou>,
    landed: Vec<Landed>,
    all_landed: usize,
    titles: BTreeMap<IdeaId, String>,
    rules: Vec<(&'static str, String)>,
    /// The branch that the person's checkout is on; `None` if nobody asked.
    checkout: Option<Checkout>,
}

struct Landed {
    id: IdeaId,
    text: String,
    commit: Oid,
    at: Timestamp,
}

/// Where the repository's own working tree stands.
enum Checkout {
    On(String),
    Detached,
    Unknown(String),
}

/// Loads it.
pub async fn load(asked: &Asked<'_>) -> Result<View, WebError> {
    let mut view = asked.read(View::of);
    if !asked.is_update && !asked.moment.is_past() {
        view.checkout = Some(checkout(asked).await);
    }
    Ok(view)
}

async fn checkout(asked: &Asked<'_>) -> Checkout {
    let root = asked.site.api.repo_root.clone();
    let found = tokio::task::spawn_blocking(move || {
        Repo::open(&root)
            .and_then(|repo| repo.head_branch())
            .map_err(|error| error.to_string())
    });
    match found.await {
        Ok(Ok(Some(branch))) => Checkout::On(branch),
        Ok(Ok(None)) => Checkout::Detached,
        Ok(Err(why)) => Checkout::Unknown(why),
        Err(why) => Checkout::Unknown(why.to_string()),
    }
}

impl View {
    fn of(state: &State) -> Self {
        let settings = state.settings.as_deref();
        let line = view::train(state);
        let mut coming = view::coming(state);
        coming.truncate(COMING);
        let (landed, all_landed) = landed(state);
        let merges = [
            NoticeKind::Conflict,
            NoticeKind::Merge,
            NoticeKind::Checkout,
        ];
        let of_merges = |need: &NeedsYou| merges.iter().any(|kind| kind.as_str() == need.kind);
        let needs: Vec<_> = view::needs_you(state)
            .into_iter()
            .filter(of_merges)
            .collect();
        let named = line.iter().map(|entry| entry.merge.idea_id.clone());
        let named = named
            .chain(coming.iter().map(|agent| agent.idea_id.clone()))
            .chain(needs.iter().filter_map(|need| need.idea_id.clone()));
        let titles = named.filter_map(|id| {
            let text = title(&state.ideas.get(&id)?.text).to_owned();
            Some((id, text))
        });
        Self {
            branch: super::checkpoints::branch(state),
            commit: state
                .swarm
                .target
                .as_ref()
                .map(|target| target.commit.clone()),
            titles: titles.collect(),
            rules: settings.map(rules).unwrap_or_default(),
            checkout: None,
            line,
            coming,
            needs,
            landed,
            all_landed,
        }
    }

    fn title<'a>(&'a self, id: &'a IdeaId) -> &'a str {
        self.titles.get(id).map_or(id.as_str(), String::as_str)
    }
}

/// The last landings, newest first, and how many there are.
fn landed(state: &State) -> (Vec<Landed>, usize) {
    let ideas = state.ideas.iter();
    let mut all: Vec<_> = ideas
        .filter_map(|(id, idea)| Some((view::landed_at(idea)?, id, idea)))
        .collect();
    all.sort_by_key(|(at, ..)| std::cmp::Reverse(*at));
    let count = all.len();
    let newest = all.into_iter().take(LANDED);
    let newest = newest.filter_map(|(at, id, idea)| {
        Some(Landed {
            id: id.clone(),
            text: title(&idea.text).to_owned(),
            commit: idea.commit.clone()?,
            at,
        })
    });
    (newest.collect(), count)
}

/// The settings that decide what lands, by their names in the configuration.
fn rules(settings: &Settings) -> Vec<(&'static str, String)> {
    let on = |is: bool| if is { "on" } else { "off" }.to_owned();
    let commands = match settings.quality_commands.len() {
        0 => "no quality command".to_owned(),
        count => many(count, "quality command"),
    };
    let resolver = match &settings.resolver {
        Some(profile) => profile.to_string(),
        None => "the idea's own profile".to_owned(),
    };
    let hook = settings.hooks.get(&HookName::PreMerge);
    let hook = hook.map(|hook| format!("{} at most", span(hook.timeout_ms)));
    vec![
        ("autoMerge", on(settings.auto_merge)),
        ("verify", format!("{}, {commands}", on(settings.verify))),
        (
            "resolver",
            format!("{resolver}, {} at most", tries(settings.conflict_retries)),
        ),
        ("pre-merge", hook.unwrap_or_else(|| "no hook".to_owned())),
    ]
}

fn tries(count: u32) -> String {
    match count {
        1 => "1 try".to_owned(),
        count => format!("{count} tries"),
    }
}

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        page(drawing, self)
    }
}

fn page(drawing: &Drawing<'_>, view: &View) -> Page {
    let touched = Touched::TRAIN;
    let with_needs = touched | Touched::NEEDS;
    let line_touched = touched | Touched::AGENTS;
    let main = html! {
        div .head { div { (drawing.fragment("f-train-head", touched, &head(view))) } }
        div .cols {
            div {
                (drawing.fragment("f-line", line_touched, &line::line(drawing, view)))
                (drawing.fragment("f-siding", with_needs, &siding(drawing, view)))
                (drawing.fragment("f-landed", touched, &landings(drawing, view)))
            }
            aside .rail aria-label="How it lands" {
                (drawing.fragment("f-rules", Touched::SETTINGS, &rules_in_force(view)))
                (your_checkout(view))
            }
        }
    };
    Page {
        title: "Merge train".into(),
        place: Place::Train,
        main,
    }
}

fn head(view: &View) -> Markup {
    html! {
        h1 { "Merge train" }
        p {
            "One at a time onto " b { (view.branch) }
            @if let Some(oid) = &view.commit { ", which stands at " (commit(oid)) }
            ". Each merged tree is built aside and checked; only then does " (view.branch)
            " move. "
            (capital(&word(view.all_landed)))
            @if view.all_landed == 1 { " idea has" } @else { " ideas have" } " landed."
        }
    }
}

fn siding(drawing: &Drawing<'_>, view: &View) -> Markup {
    if view.needs.is_empty() {
        return html! {};
    }
    let count = view.needs.len();
    html! {
        section .sec {
            header { h2 { "Siding" } span {
                (count) @if count == 1 { " waits for you and holds nobody up" }
                @else { " wait for you and hold nobody up" }
            } }
            ul .card.needs { @for need in view.needs.iter().take(MOST) {
                li { (waiting(drawing, view, need)) }
            } }
            (and_more(count))
        }
    }
}

fn waiting(drawing: &Drawing<'_>, view: &View, need: &NeedsYou) -> Markup {
    let is_conflict = need.kind == NoticeKind::Conflict.as_str();
    let shape = if is_conflict { "fork" } else { "half" };
    html! {
        (tinted(shape, "wait"))
        h3 { @match &need.idea_id {
            Some(id) => {
                a href=(drawing.link(&format!("ideas/{id}"))) { (view.title(id)) }
                " " span .id { (id) }
            },
            None => (view.branch),
        } }
        div .what { (need.message) }
        (commands(&need.commands))
        @if let Some(id) = &need.idea_id && !drawing.moment.is_past() {
            div .do {
                @if is_conflict {
                    (drawing.form(&format!("do/resolve/{id}"), &html! {
                        button .b.pri { "I settled it" span .vh { ": " (id) } }
                    }))
                }
                (drawing.form(&format!("do/merge-retry/{id}"), &html! {
                    button .b { "Try again" span .vh { ": " (id) } }
                }))
            }
        }
    }
}

fn landings(drawing: &Drawing<'_>, view: &View) -> Markup {
    let now = drawing.moment.time();
    html! {
        section .sec {
            header {
                h2 { "Landed" } span { (view.all_landed) }
                @if view.all_landed > view.landed.len() {
                    a .more href=(drawing.link("ideas?status=done")) { "All" }
                }
            }
            @if view.landed.is_empty() { p .sub { "Nothing yet." } } @else {
                div .card.clip { table .fix.stackable {
                    colgroup { col width="116"; col; col width="96"; col width="104"; }
                    thead { tr { th .num { "At" } th { "Idea" } th { "Id" } th { "Commit" } } }
                    tbody { @for one in &view.landed { tr #{ "landed-" (one.id) } {
                        td .num.dim { (when(one.at, now)) }
                        td .full {
                            @let idea = format!("ideas/{}", one.id);
                            a .t.two href=(drawing.link(&idea)) { (one.text) }
                        }
                        td .nw { span .id { (one.id) } }
                        td { (commit(&one.commit)) }
                    } } }
                } }
            }
        }
    }
}

fn rules_in_force(view: &View) -> Markup {
    html! {
        section {
            h2 { "Rules in force" }
            @if view.rules.is_empty() { p .sub { "No daemon has read the configuration." } }
            dl .facts { @for (name, value) in &view.rules { dt { (name) } dd { (value) } } }
        }
    }
}

fn your_checkout(view: &View) -> Markup {
    let Some(checkout) = &view.checkout else {
        return html! {};
    };
    let in_the_way = view
        .needs
        .iter()
        .any(|need| need.kind == NoticeKind::Checkout.as_str());
    html! {
        section {
            h2 { "Your checkout" }
            p .sub { @match checkout {
                Checkout::On(branch) if *branch == view.branch => {
                    "On " (branch) "; it follows each landing by itself. "
                    @if in_the_way { "A file of yours is in the way: see the siding." }
                    @else { "Nothing of yours is in the way." }
                },
                Checkout::On(branch) => {
                    "On " (branch) "; landings on " (view.branch) " leave it alone."
                },
                Checkout::Detached => {
                    "On no branch; landings on " (view.branch) " leave it alone."
                },
                Checkout::Unknown(why) => { "It cannot be read: " (why) },
            } }
        }
    }
}
