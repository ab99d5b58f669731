//! Decisions of a simulated world, taken from a list that proptest made and can shrink. Where the
//! list ends, all goes well.

/// A list of choices and how far it is read.
#[derive(Debug, Clone)]
pub(crate) struct Choices {
    list: Vec<u16>,
    next: usize,
}

impl Choices {
    pub(crate) fn new(list: Vec<u16>) -> Self {
        Self { list, next: 0 }
    }

    /// Whether choices are left.
    pub(crate) fn is_over(&self) -> bool {
        self.next >= self.list.len()
    }

    /// From now on all goes well.
    pub(crate) fn end(&mut self) {
        self.next = self.list.len();
    }

    /// One of `0..n`; 0, the good one, when the list is over.
    pub(crate) fn pick(&mut self, n: usize) -> usize {
        let choice = self.list.get(self.next).copied().unwrap_or(0);
        self.next += 1;
        usize::from(choice) % n.max(1)
    }

    /// True in `percent` of all cases, never when the list is over.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.pick(100) >= 100 - percent
    }
}
