//! What waits for what: the dependencies of ideas as a picture and as a list.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::domain::ids::IdeaId;
use crate::domain::state::IdeaStatus;
use crate::view::{self, GraphNode, GraphView};
use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Ready};
use crate::web::parts::{label, look, many, status, title};
use crate::web::touches::Touched;

/// Ideas in one picture.
const MOST: usize = 100;

/// What the page shows.
pub struct View {
    of: Option<IdeaId>,
    graph: GraphView,
    alone: usize,
}

/// Loads it.
pub async fn load(asked: &Asked<'_>) -> Result<View, WebError> {
    let of = asked.query.get("of").map(str::trim);
    let id: Option<IdeaId> = of.and_then(|of| of.parse().ok());
    let unknown = || WebError::not_found(format!("there is no idea `{}`", of.unwrap_or_default()));
    if of.is_some() && id.is_none() {
        return Err(unknown());
    }
    asked.read(|state| {
        let graph = match &id {
            Some(id) if !state.ideas.contains_key(id) => return Err(unknown()),
            Some(id) => view::graph_around(state, id, usize::MAX, MOST),
            None => view::graph(state, MOST),
        };
        Ok(View {
            alone: state
                .ideas
                .len()
                .saturating_sub(graph.nodes.len() + graph.left_out),
            of: id,
            graph,
        })
    })
}

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        let touched = Touched::IDEAS;
        let main = html! {
            (drawing.fragment("f-graph-head", touched, &head(self)))
            (choice(drawing, self))
            (drawing.fragment("f-graph", touched, &html! {
                @if !self.graph.nodes.is_empty() {
                    div .card.scroll.sec2 tabindex="0" role="region" aria-label="Picture" {
                        (picture(drawing, &self.graph, self.of.as_ref(), Size::LARGE))
                    }
                    (list(drawing, &self.graph))
                }
            }))
        };
        Page {
            title: "Dependencies".into(),
            place: Place::Ideas,
            main,
        }
    }
}

fn head(view: &View) -> Markup {
    let shown = view.graph.nodes.len();
    html! {
        div .head { div {
            h1 { "Dependencies" }
            p {
                @if view.graph.edges.is_empty() {
                    "No idea waits for another."
                } @else {
                    (many(shown, "idea")) ", from left to right: an idea starts when all before it \
                    are done."
                    @if view.graph.left_out > 0 {
                        " " (view.graph.left_out) " more have dependencies; choose an idea to see \
                        those around it."
                    }
                }
                @if view.alone > 0 && view.of.is_none() {
                    " " (view.alone) @if view.alone == 1 { " stands" } @else { " stand" } " alone."
                }
            }
        } }
    }
}

/// The field that asks for another idea: no fragment, so that no update changes what is typed.
fn choice(drawing: &Drawing<'_>, view: &View) -> Markup {
    let of = view.of.as_ref().map(IdeaId::as_str).unwrap_or_default();
    html! {
        form .filters method="get" action=(drawing.live_link("ideas/graph")) {
            @if let Some(at) = &drawing.moment.at { input type="hidden" name="at" value=(at); }
            label { span { "Around" } input name="of" value=(of) placeholder="idea-003"; }
            button .b { "Show" }
            @if view.of.is_some() {
                a .b.quiet href=(drawing.link("ideas/graph")) { "All" }
            }
        }
    }
}

/// The same as the picture, as text.
fn list(drawing: &Drawing<'_>, graph: &GraphView) -> Markup {
    let mut before: BTreeMap<usize, Vec<&IdeaId>> = BTreeMap::new();
    for (from, to) in &graph.edges {
        if let Some(node) = graph.nodes.get(*from) {
            before.entry(*to).or_default().push(&node.id);
        }
    }
    html! {
        section .sec {
            header { h2 { "As a list" } }
            div .card.clip { table .fix.stackable {
                colgroup { col width="96"; col; col width="130"; col width="34%"; }
                thead { tr { th { "Idea" } th { "What" } th { "Status" } th { "After" } } }
                tbody { @for (place, node) in graph.nodes.iter().enumerate() {
                    tr #{ "node-" (node.id) } {
                        td .nw { span .id { (node.id) } }
                        td .full {
                            a .t.two href=(drawing.link(&format!("ideas/{}", node.id))) {
                                (title(&node.text))
                            }
                        }
                        td { (status(node.status)) }
                        td { span .two.sub {
                            @for (index, id) in before.get(&place).into_iter().flatten()
                                .enumerate() {
                                @if index > 0 { ", " }
                                a href=(drawing.link(&format!("ideas/{id}"))) { (id) }
                            }
                        } }
                    }
                } }
            } }
        }
    }
}

/// The measures of a picture, in pixels.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    node: (usize, usize),
    gap: (usize, usize),
}

impl Size {
    /// For a page of its own.
    pub const LARGE: Self = Self {
        node: (168, 40),
        gap: (48, 14),
    };
    /// For the rail of an idea's page.
    pub const SMALL: Self = Self {
        node: (78, 24),
        gap: (24, 10),
    };

    fn place(self, node: &GraphNode) -> (usize, usize) {
        (
            2 + node.layer * (self.node.0 + self.gap.0),
            2 + node.row * (self.node.1 + self.gap.1),
        )
    }
}

/// The picture of a graph, with `me` marked.
pub fn picture(
    drawing: &Drawing<'_>,
    graph: &GraphView,
    me: Option<&IdeaId>,
    size: Size,
) -> Markup {
    let ends = graph.nodes.iter().map(|node| size.place(node));
    let (width, height) = ends.fold((0, 0), |(width, height), (x, y)| {
        (
            width.max(x + size.node.0 + 2),
            height.max(y + size.node.1 + 2),
        )
    });
    html! {
        svg .deps width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) }
            role="group" aria-label=(in_words(graph)) {
            g .edges { @for (from, to) in &graph.edges {
                @if let (Some(from), Some(to)) = (graph.nodes.get(*from), graph.nodes.get(*to)) {
                    path d=(curve(size.place(from), size.place(to), size)) {}
                }
            } }
            @for node in &graph.nodes {
                (box_of(drawing, node, me == Some(&node.id), size))
            }
        }
    }
}

fn curve(from: (usize, usize), to: (usize, usize), size: Size) -> String {
    let (x1, y1) = (from.0 + size.node.0, from.1 + size.node.1 / 2);
    let (x2, y2) = (to.0, to.1 + size.node.1 / 2);
    let bend = size.gap.0 / 2;
    format!(
        "M{x1} {y1}C{} {y1} {} {y2} {x2} {y2}",
        x1 + bend,
        x2.saturating_sub(bend)
    )
}

fn box_of(drawing: &Drawing<'_>, node: &GraphNode, is_me: bool, size: Size) -> Markup {
    let (x, y) = size.place(node);
    let (width, height) = size.node;
    let is_large = height >= Size::LARGE.node.1;
    let class = format!(
        "node{} tone-{}",
        if is_me { " me" } else { "" },
        look(node.status).1
    );
    html! {
        a href=(drawing.link(&format!("ideas/{}", node.id))) class=(class) {
            title { (node.id) ", " (label(node.status)) ": " (cut(title(&node.text), 120)) }
            rect x=(x) y=(y) width=(width) height=(height) rx="5" {}
            @if is_large {
                text x=(x + 10) y=(y + 17) { (node.id) " " (mark(node.status)) }
                text .what x=(x + 10) y=(y + 32) { (cut(title(&node.text), 24)) }
            } @else {
                text x=(x + 7) y=(y + 16) { (node.id) " " (mark(node.status)) }
            }
        }
    }
}

/// A status as one sign, since a colour says nothing alone.
fn mark(status: IdeaStatus) -> &'static str {
    match status {
        IdeaStatus::Pending => "○",
        IdeaStatus::Active => "●",
        IdeaStatus::Merging => "◐",
        IdeaStatus::Blocked => "⊘",
        IdeaStatus::Done => "✓",
        IdeaStatus::Failed | IdeaStatus::Timeout => "✕",
        IdeaStatus::Cancelled => "–",
    }
}

/// A text of at most so many characters.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default().trim_end()),
    }
}

/// The graph for those who do not see it.
fn in_words(graph: &GraphView) -> String {
    let name = |place: &usize| graph.nodes.get(*place).map(|node| node.id.as_str());
    let waits = graph.edges.iter().filter_map(|(from, to)| {
        let (from, to) = (name(from)?, name(to)?);
        Some(format!("{to} after {from}"))
    });
    let waits: Vec<String> = waits.take(20).collect();
    match graph.edges.len().saturating_sub(waits.len()) {
        0 if waits.is_empty() => "No dependencies".to_owned(),
        0 => waits.join(", "),
        more => format!(
            "{} and {more} more; all are in the list below",
            waits.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::testkit::{id, idea, state};

    #[test]
    fn the_picture_has_its_words() {
        let mut bread = idea("Bread", IdeaStatus::Pending);
        bread.after = vec![id(1)];
        let graph = view::graph(&state([idea("Flour", IdeaStatus::Done), bread]), 10);
        assert_eq!(in_words(&graph), "idea-002 after idea-001");
        assert_eq!(in_words(&GraphView::default()), "No dependencies");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüx", 3), "äöü…");
    }
}
