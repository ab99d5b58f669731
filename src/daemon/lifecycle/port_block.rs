//! A block of ports that only this daemon hands out to its agents and checks.
//!
//! Invariant: a block belongs to the daemon that listens on its first port on the loopback
//! interface, whoever's daemon that is; the system ends the lease with the process. All blocks lie
//! below the ephemeral ports of Linux. A slot keeps its ports as long as the daemon lives, unless
//! another program holds one of them. Opened by `daemon`, read by `runs::slot`.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// First port of the first block.
const FIRST: u16 = 20_000;
/// Number of blocks.
const BLOCKS: u16 = 8;
/// Ports of a block.
const SIZE: u16 = 1_440;
/// Ports of a slot.
const SLOT_PORTS: u16 = 20;
/// Parts of a block that no worktree has, for slots whose own ports another program holds.
const SPARE: Range<u16> = 67..SIZE / SLOT_PORTS;

/// The lease of a block.
#[derive(Debug)]
pub(crate) struct PortBlock {
    first: u16,
    /// Slots that have left their own ports, with the spare part that they have instead.
    moved: Mutex<BTreeMap<u16, u16>>,
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
        Some(Self::at(first, listener))
    }

    fn at(first: u16, listener: TcpListener) -> Self {
        Self {
            first,
            moved: Mutex::default(),
            _listener: listener,
        }
    }

    /// Its first port.
    pub(crate) const fn first(&self) -> u16 {
        self.first
    }

    /// First port of a slot, from slot 1; `None` if the block ends before it.
    pub(crate) fn base(&self, slot: u16) -> Option<u16> {
        let moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        self.part(moved.get(&slot).copied().unwrap_or(slot))
    }

    /// Whether a slot has other ports than its own.
    pub(crate) fn has_moved(&self, slot: u16) -> bool {
        let moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        moved.contains_key(&slot)
    }

    /// Gives a slot free ports if a program holds one of its own. Returns the held port; `None` if
    /// there is none, or if there are no free ports.
    pub(crate) fn leave_held(&self, slot: u16) -> Option<u16> {
        let mut moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        let base = self.part(moved.get(&slot).copied().unwrap_or(slot))?;
        let held = held_port(base)?;
        let free = |part: &u16| {
            let is_used = moved.values().any(|used| used == part);
            !is_used
                && self
                    .part(*part)
                    .is_some_and(|base| held_port(base).is_none())
        };
        let spare = SPARE.into_iter().find(free)?;
        moved.insert(slot, spare);
        Some(held)
    }

    fn part(&self, slot: u16) -> Option<u16> {
        let offset = slot.checked_mul(SLOT_PORTS)?;
        (slot >= 1 && offset < SIZE).then(|| self.first + offset)
    }
}

/// The first port of a slot's ports that a program listens on.
fn held_port(base: u16) -> Option<u16> {
    let addresses: [IpAddr; 3] = [
        Ipv4Addr::LOCALHOST.into(),
        Ipv4Addr::UNSPECIFIED.into(),
        Ipv6Addr::LOCALHOST.into(),
    ];
    let is_held = |port: u16| {
        addresses.iter().any(|address| {
            let bound = TcpListener::bind((*address, port));
            bound.is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse)
        })
    };
    (base..base + SLOT_PORTS).find(|port| is_held(*port))
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

    /// A block whose lease is any free port: the real ones may all be leased on this machine.
    fn block_at(first: u16) -> PortBlock {
        PortBlock::at(first, TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap())
    }

    #[test]
    fn a_slot_whose_port_another_program_holds_gets_ports_that_are_free() {
        // Before all blocks, so that no daemon of this machine is met.
        let block = block_at(FIRST - SIZE);
        let base = block.base(2).unwrap();
        assert_eq!(block.leave_held(2), None, "all are free");
        let _held = TcpListener::bind(("127.0.0.1", base + 3)).unwrap();
        assert_eq!(block.leave_held(2), Some(base + 3));
        let other = block.base(2).unwrap();
        assert!(block.has_moved(2) && other > block.base(66).unwrap());
        assert_eq!(block.leave_held(2), None, "its new ports are free");
        let _other = TcpListener::bind(("0.0.0.0", other + 7)).unwrap();
        assert_eq!(block.leave_held(2), Some(other + 7));
        let third = block.base(3).unwrap();
        let _third = TcpListener::bind(("127.0.0.1", third)).unwrap();
        assert_eq!(block.leave_held(3), Some(third));
        let taken = [base, other, block.base(2).unwrap()];
        assert!(
            !taken.contains(&block.base(3).unwrap()),
            "one slot, one part"
        );
    }

    #[test]
    fn slots_share_no_port_with_each_other_the_lease_or_the_next_block() {
        let block = block_at(FIRST);
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
