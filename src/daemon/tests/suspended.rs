//! A machine that is suspended while the daemon runs: the log and the report say so, once.

use std::time::Duration;

use super::site::{Alive, Site, Still, suspend};
use crate::domain::state::State;
use crate::view;

#[test]
fn a_suspended_machine_is_told_once_in_log_and_report() {
    Still::new().block_on(async {
        let mut site = Site::new(1 << 20);
        let journal = site.open().unwrap();
        let (state, _) = site.load();
        let mut alive = Alive::new(&site, journal, state, vec![]);
        alive.rest().await;
        // A moment that nobody would miss.
        suspend(Duration::from_secs(20));
        alive.rest().await;
        suspend(Duration::from_secs(8 * 3_600));
        alive.rest().await;
        alive.rest().await;
        let reported = |state: &State| view::report(state, None).slept;
        let slept = alive.handle.read(reported);
        let seconds: Vec<u64> = slept.iter().map(|one| one.seconds).collect();
        assert_eq!(seconds, [8 * 3_600]);
        alive.kill();
    });
}
