//! The part of a prompt that does not depend on the idea, for provenance records.

use super::{PromptInput, how_to_work, joined, own_rules, role, shared_rules};

/// What an agent is told whatever its idea: swarm's own words, the quality commands, and all rules.
pub fn instructions(input: &PromptInput) -> String {
    let mut place = input.clone();
    (place.attempt, place.iteration) = (0, 0);
    place.branch.clear();
    joined(&[
        how_to_work(&place),
        shared_rules(&input.shared_rules),
        role(input),
        own_rules(input),
    ])
}
