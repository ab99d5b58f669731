//! A block of ports that only this daemon hands out to its agents and checks.
//!
//! Invariant: a block belongs to the daemon that listens on its first port on the loopback
//! interface, whoever's daemon that is; the system ends the lease with the process. All blocks lie
//! below the ephemeral ports of Linux. Opened by `daemon`, read by `runs::slot`.

use std::net::{Ipv4Addr, TcpListener};

/// First port of the first block.
const FIRST: u16 = 20_000;
/// Number of blocks.
const BLOCKS: u16 = 8;
/// Ports of a block.
const SIZE: u16 = 1_440;
/// Ports of a slot.
const SLOT_PORTS: u16 = 20;

/// The lease of a block.
#[derive(Debug)]
pub(crate) struct PortBlock {
    first: u16,
    /// Holds the lease.
    _listener: TcpListener,
}

impl PortBlock {
    /// Leases a free block, if possible the one that begins at `before`; `None` if there is none.
    pub(crate) fn lease(before: Option<u16>) -> Option<Self> {
        candidates(before).find_map(Self::lease_at)
    }

    fn lease_at(first: u16) -> Option<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, first)).ok()?;
        Some(Self {
            first,
            _listener: listener,
        })
    }

    /// Its first port.
    pub(crate) const fn first(&self) -> u16 {
        self.first
    }

    /// First port of a slot, from slot 1; `None` if the block ends before it.
    pub(crate) fn base(&self, slot: u16) -> Option<u16> {
        let offset = slot.checked_mul(SLOT_PORTS)?;
        (slot >= 1 && offset < SIZE).then(|| self.first + offset)
    }
}

/// First ports of all blocks, the one that was used before first.
fn candidates(before: Option<u16>) -> impl Iterator<Item = u16> {
    let all = (0..BLOCKS).map(|number| FIRST + number * SIZE);
    let before = before.filter(|first| all.clone().any(|block| block == *first));
    before.into_iter().chain(all)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn slots_share_no_port_with_each_other_the_lease_or_the_next_block() {
        let block = PortBlock {
            first: FIRST,
            // Any free port: the real ones may all be leased on this machine.
            _listener: TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap(),
        };
        assert_eq!(block.base(0), None, "the lease's own port");
        let bases: Vec<u16> = (1..=71).map(|slot| block.base(slot).unwrap()).collect();
        assert_eq!(bases[0], FIRST + SLOT_PORTS);
        assert!(bases.windows(2).all(|two| two[1] - two[0] == SLOT_PORTS));
        assert!(bases[70] + SLOT_PORTS <= FIRST + SIZE);
        assert_eq!(block.base(72), None, "the next block's lease");
        const { assert!(FIRST + BLOCKS * SIZE <= 32_768, "ephemeral ports of Linux") };
    }

    #[test]
    fn a_daemon_asks_for_the_block_that_it_had_before() {
        assert_eq!(candidates(Some(FIRST + SIZE)).next(), Some(FIRST + SIZE));
        for other in [None, Some(3_000)] {
            assert_eq!(candidates(other).next(), Some(FIRST));
            assert_eq!(candidates(other).count(), usize::from(BLOCKS));
        }
    }

    #[test]
    fn a_block_that_is_leased_is_not_leased_again_while_its_daemon_lives() {
        let held: Vec<PortBlock> = std::iter::from_fn(|| PortBlock::lease(None)).collect();
        assert!(held.len() <= usize::from(BLOCKS));
        for block in &held {
            assert!(PortBlock::lease_at(block.first).is_none());
        }
    }
}
