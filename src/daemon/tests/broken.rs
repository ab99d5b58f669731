//! A disk that fails for good in the middle of a batch: the daemon ends, and says no more than it
//! knows.

use super::site::{Alive, Site, Still};
use crate::daemon::actor::Ended;
use crate::daemon::actor::handle::CommandError;
use crate::domain::operation::Command;
use crate::domain::testkit::new_idea;
use crate::journal::testing::faulty::{EIO, Fault, Faults};

/// The answer to an idea that was added just when these operations began to fail, and whether the
/// next start finds the idea.
async fn added_while_failing(operations: &[&'static str]) -> (CommandError, bool) {
    let mut site = Site::new(1 << 20);
    let journal = site.open().unwrap();
    let (state, _) = site.load();
    let mut alive = Alive::new(&site, journal, state, vec![]);
    alive.rest().await;
    for name in operations {
        site.faults.stand(name, Fault::Error(EIO, 0));
    }
    alive.ask(Command::AddIdea(new_idea("do it")));
    alive.rest().await;
    let (_, answer) = alive.answers().swap_remove(0);
    assert!(matches!(alive.ended, Some(Ended::DiskFailed(_))));
    alive.kill();
    site.faults = Faults::default();
    drop(site.open().unwrap());
    let (state, _) = site.load();
    (answer.unwrap_err(), !state.ideas.is_empty())
}

#[test]
fn who_asked_while_the_log_was_lost_is_not_told_that_nothing_has_changed() {
    let still = Still::new();
    for (operations, is_there) in [
        // Written to a new segment, whose name is there and was not made durable.
        (&["syncData", "syncDir"][..], true),
        (&["write"], false),
    ] {
        let (error, found) = still.block_on(added_while_failing(operations));
        assert_eq!(found, is_there, "{operations:?}");
        assert!(matches!(error, CommandError::Lost(_)), "{error:?}");
    }
}
