//! What waits for what, in layers: an idea stands one layer after the last idea that it waits for.
//!
//! Invariant: an edge leads from a layer to a later one, and no two ideas stand at one place.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use crate::domain::ids::IdeaId;
use crate::domain::state::{IdeaStatus, State};

/// Part of the dependencies of a backlog.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GraphView {
    /// The ideas, by layer and row.
    pub nodes: Vec<GraphNode>,
    /// From an idea to one that waits for it, as places in `nodes`.
    pub edges: Vec<(usize, usize)>,
    /// Ideas with dependencies that are not in it.
    pub left_out: usize,
}

/// An idea with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphNode {
    /// The idea.
    pub id: IdeaId,
    /// Its status.
    pub status: IdeaStatus,
    /// Its text.
    pub text: String,
    /// From 0: nothing in the graph must be done before it.
    pub layer: usize,
    /// From 0, within its layer.
    pub row: usize,
}

/// Which ideas wait for which.
struct Links<'s> {
    state: &'s State,
    after: HashMap<&'s IdeaId, Vec<&'s IdeaId>>,
}

impl<'s> Links<'s> {
    fn of(state: &'s State) -> Self {
        let mut after: HashMap<&IdeaId, Vec<&IdeaId>> = HashMap::new();
        for (id, idea) in &state.ideas {
            for before in &idea.after {
                after.entry(before).or_default().push(id);
            }
        }
        Self { state, after }
    }

    fn before(&self, id: &IdeaId) -> impl Iterator<Item = &'s IdeaId> {
        let idea = self.state.ideas.get(id);
        let before = idea.into_iter().flat_map(|idea| &idea.after);
        before.filter(|before| self.state.ideas.contains_key(*before))
    }

    fn after(&self, id: &IdeaId) -> impl Iterator<Item = &'s IdeaId> {
        self.after.get(id).into_iter().flatten().copied()
    }

    /// The ideas with dependencies, or that others depend on.
    fn connected(&self) -> BTreeSet<&'s IdeaId> {
        let all = self.state.ideas.iter();
        let linked = all.filter(|(id, idea)| !idea.after.is_empty() || self.after.contains_key(id));
        linked.map(|(id, _)| id).collect()
    }
}

/// The dependencies of all ideas, if at most `most` have any; otherwise those around the first
/// open one of them.
pub fn graph(state: &State, most: usize) -> GraphView {
    let links = Links::of(state);
    let all = links.connected();
    if all.len() <= most {
        return laid_out(&links, &all, 0);
    }
    let is_open = |id: &&&IdeaId| {
        let idea = state.ideas.get(**id);
        idea.is_some_and(|it| !matches!(it.status, IdeaStatus::Done | IdeaStatus::Cancelled))
    };
    let first = all.iter().find(is_open).or_else(|| all.first());
    first.map_or_else(GraphView::default, |first| {
        let near = nearest(&links, first, usize::MAX, most);
        laid_out(&links, &near, all.len() - near.len())
    })
}

/// The dependencies around one idea: at most `steps` away, at most `most` ideas.
pub fn graph_around(state: &State, id: &IdeaId, steps: usize, most: usize) -> GraphView {
    let links = Links::of(state);
    let Some((id, _)) = state.ideas.get_key_value(id) else {
        return GraphView::default();
    };
    let near = nearest(&links, id, steps, most);
    let others = links.connected().len();
    laid_out(&links, &near, others.saturating_sub(near.len()))
}

/// The ideas at most `steps` away, the nearest first, until there are `most`.
fn nearest<'s>(
    links: &Links<'s>,
    from: &'s IdeaId,
    steps: usize,
    most: usize,
) -> BTreeSet<&'s IdeaId> {
    let mut found = BTreeSet::from([from]);
    let mut next = VecDeque::from([(from, 0)]);
    while let Some((id, away)) = next.pop_front() {
        if away == steps {
            continue;
        }
        for near in links.before(id).chain(links.after(id)) {
            if found.len() < most && found.insert(near) {
                next.push_back((near, away + 1));
            }
        }
    }
    found
}

fn laid_out(links: &Links<'_>, ids: &BTreeSet<&IdeaId>, left_out: usize) -> GraphView {
    let layers = layers(links, ids);
    let mut by_layer: BTreeMap<usize, Vec<&IdeaId>> = BTreeMap::new();
    for id in ids {
        let layer = layers.get(id).copied().unwrap_or(0);
        by_layer.entry(layer).or_default().push(id);
    }
    let mut rows: HashMap<&IdeaId, usize> = HashMap::new();
    let mut nodes = Vec::new();
    for (layer, mut ids) in by_layer {
        // As near as possible to what they wait for: the mean of its rows, in thousandths.
        ids.sort_by_cached_key(|id| {
            let before: Vec<usize> = links
                .before(id)
                .filter_map(|it| rows.get(it))
                .copied()
                .collect();
            let sum: usize = before.iter().sum();
            let mean = (sum * 1_000).checked_div(before.len());
            (mean.is_none(), mean, id.as_str().len(), *id)
        });
        for (row, id) in ids.into_iter().enumerate() {
            rows.insert(id, row);
            let Some(idea) = links.state.ideas.get(id) else {
                continue;
            };
            nodes.push(GraphNode {
                id: id.clone(),
                status: idea.status,
                text: idea.text.to_string(),
                layer,
                row,
            });
        }
    }
    GraphView {
        edges: edges(links, &nodes),
        nodes,
        left_out,
    }
}

/// The layer of each idea: the length of the longest way to it. Ideas on a circle, which no command
/// makes, all stand in the first.
fn layers<'i>(links: &Links<'i>, ids: &BTreeSet<&'i IdeaId>) -> HashMap<&'i IdeaId, usize> {
    let known = |id: &IdeaId| {
        links
            .before(id)
            .filter(|before| ids.contains(before))
            .count()
    };
    let mut missing: HashMap<&IdeaId, usize> = ids.iter().map(|id| (*id, known(id))).collect();
    let mut layers: HashMap<&IdeaId, usize> = HashMap::new();
    let free = ids.iter().filter(|id| missing.get(*id) == Some(&0));
    let mut next: VecDeque<&IdeaId> = free.copied().collect();
    while let Some(id) = next.pop_front() {
        let before = links.before(id).filter_map(|before| layers.get(before));
        let layer = before.max().map_or(0, |last| last + 1);
        layers.insert(id, layer);
        for waiter in links.after(id) {
            if let Some(left) = missing.get_mut(waiter) {
                *left = left.saturating_sub(1);
                if *left == 0 {
                    next.push_back(waiter);
                }
            }
        }
    }
    layers
}

fn edges(links: &Links<'_>, nodes: &[GraphNode]) -> Vec<(usize, usize)> {
    let places: HashMap<&IdeaId, usize> = nodes.iter().map(|node| &node.id).zip(0..).collect();
    let mut edges = Vec::new();
    for (to, node) in nodes.iter().enumerate() {
        let before = links.before(&node.id).filter_map(|it| places.get(it));
        edges.extend(before.map(|from| (*from, to)));
    }
    edges
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test fails by panicking
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::state::Idea;

    /// Ideas from 1; each waits for those of its list.
    fn backlog(after: &[Vec<usize>]) -> State {
        let mut state = State::default();
        for (index, after) in after.iter().enumerate() {
            let idea = Idea {
                after: after.iter().map(|it| id(*it)).collect(),
                ..crate::view::testkit::idea("work", IdeaStatus::Pending)
            };
            state.ideas.insert(id(index + 1), idea);
        }
        state
    }

    fn id(number: usize) -> IdeaId {
        format!("idea-{number:03}").parse().unwrap()
    }

    fn names(graph: &GraphView) -> Vec<&str> {
        graph.nodes.iter().map(|node| node.id.as_str()).collect()
    }

    #[test]
    fn an_idea_stands_after_all_that_it_waits_for() {
        let state = backlog(&[vec![], vec![1], vec![1, 2], vec![]]);
        let graph = graph(&state, 200);
        assert_eq!(names(&graph), ["idea-001", "idea-002", "idea-003"]);
        let layers: Vec<usize> = graph.nodes.iter().map(|node| node.layer).collect();
        assert_eq!(layers, [0, 1, 2]);
        assert_eq!(graph.edges, [(0, 1), (0, 2), (1, 2)]);
    }

    #[test]
    fn only_what_is_near_is_shown_around_an_idea() {
        let state = backlog(&[vec![], vec![1], vec![2], vec![3], vec![4]]);
        let near = graph_around(&state, &id(3), 1, 200);
        assert_eq!(names(&near), ["idea-002", "idea-003", "idea-004"]);
        assert_eq!(near.left_out, 2);
        let some = graph(&state, 3);
        assert_eq!((some.nodes.len(), some.left_out), (3, 2));
    }

    proptest! {
        #[test]
        fn every_edge_leads_to_a_later_layer_and_every_place_is_taken_once(
            wishes in prop::collection::vec(prop::collection::vec(0_usize..40, 0..4), 1..40),
        ) {
            let after: Vec<Vec<usize>> = wishes
                .iter()
                .enumerate()
                .map(|(index, wishes)| {
                    let before = wishes.iter().filter(|_| index > 0);
                    let before = before.map(|it| it % index.max(1) + 1);
                    before.collect::<BTreeSet<_>>().into_iter().collect()
                })
                .collect();
            let graph = graph(&backlog(&after), 200);
            for (from, to) in &graph.edges {
                prop_assert!(graph.nodes[*from].layer < graph.nodes[*to].layer);
            }
            let places: BTreeSet<_> = graph.nodes.iter().map(|it| (it.layer, it.row)).collect();
            prop_assert_eq!(places.len(), graph.nodes.len());
            let count: usize = after.iter().map(Vec::len).sum();
            prop_assert_eq!(graph.edges.len(), count);
        }

        #[test]
        fn a_circle_is_drawn_too(size in 1_usize..6) {
            let after: Vec<Vec<usize>> = (0..size).map(|at| vec![(at + 1) % size + 1]).collect();
            prop_assert_eq!(graph(&backlog(&after), 200).nodes.len(), size);
        }
    }
}
