//! What of the link is there for the host's accesses to BARs alone: the function that they are for, and who
//! waits for their answers.

use super::accesses::Accesses;
use super::root::ROOT;
use crate::pci::PciFunction;
use alloc::rc::Rc;
use aster_parties::BARS;
use aster_ports::credits::Credit;
use aster_ports::tlp::{NON_POSTED_REQUESTS, POSTED_REQUESTS};
use core::cell::{Cell, RefCell};

/// What the function's core grants the host at first, by class. Completions are infinite, as for each
/// endpoint (PCIe 4.0 §2.6.1). A write has at most [`REQUEST_DATA`](aster_ports::tlp::REQUEST_DATA) bytes
/// of data: one unit.
pub(super) fn credits() -> [Credit; 3] {
    let posted = Credit { headers: POSTED_REQUESTS, data: POSTED_REQUESTS };
    [posted, Credit { headers: NON_POSTED_REQUESTS, data: 0 }, Credit::default()]
}

/// The function that the host reaches by packets.
pub(super) struct Served {
    pub(super) function: Rc<RefCell<PciFunction>>,
    bar_bytes: [u64; BARS],
    pub(super) accesses: RefCell<Accesses>,
    /// Resets of the function.
    pub(super) resets: Cell<u32>,
}

impl Served {
    pub(super) fn new(function: &Rc<RefCell<PciFunction>>) -> Self {
        Served {
            bar_bytes: function.borrow().spec().bar_bytes(),
            function: Rc::clone(function),
            accesses: RefCell::new(Accesses::new(ROOT)),
            resets: Cell::new(0),
        }
    }
    /// Where the host reaches a BAR's byte.
    pub(super) fn address(&self, bar: u8, offset: u32) -> u64 {
        self.function.borrow().bar_address(bar).wrapping_add(offset.into())
    }
    /// Whether the BAR has these bytes.
    pub(super) fn has_bytes(&self, bar: u8, offset: u32, bytes: u8) -> bool {
        let room = self.bar_bytes.get(usize::from(bar)).copied().unwrap_or(0);
        u64::from(offset) + u64::from(bytes) <= room
    }
}
