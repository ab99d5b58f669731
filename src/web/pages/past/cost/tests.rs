//! What the page of costs adds up, against the state.

use proptest::prelude::*;

use super::*;
use crate::domain::testkit::sim::Sim;
use crate::view::history::History;

proptest! {
    #[test]
    fn the_rows_add_up_to_the_total_of_the_report(
        list in prop::collection::vec(any::<u16>(), 20..300),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut sim = Sim::new(list);
        sim.live();
        let cut = cut.index(sim.log.len()) + 1;
        let (mut history, mut state) = (History::default(), State::default());
        for (seq, (at, event)) in (1..).zip(&sim.log) {
            history.fold(seq, *at, event);
            // The history is further than the moment.
            if seq <= cut as u64 {
                crate::domain::evolve::evolve(&mut state, seq, *at, event);
            }
        }
        for by in ["hour", "idea", "profile", "model"] {
            let view = View::of(&state, &history.costs, &Query::of(&format!("by={by}")));
            let mut sum = Spent::default();
            for row in &view.rows {
                sum.add_all(&row.spent);
            }
            for (_, rest) in &view.rest {
                sum.add_all(rest);
            }
            prop_assert_eq!(sum, view.total, "by {}", by);
            let report = view::report(&state, None);
            prop_assert_eq!(view::used(&view.total), report.used);
        }
    }
}
