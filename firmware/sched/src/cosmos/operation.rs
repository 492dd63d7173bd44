//! Operations, as the low-level scheduler knows them (Table 2).

use aster_units::{BufferId, LunIndex};

/// The main operations (C41). Their order is that of their codes in events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum OperationKind {
    /// Host memory to data buffer.
    RxDma,
    /// Data buffer to host memory.
    TxDma,
    /// The exact result of what a way has done.
    StatusCheck,
    /// Array to page register.
    ReadTrigger,
    /// Erases a block.
    Erase,
    /// Data buffer to page register to array.
    Write,
    /// Page register to data buffer.
    ReadTransfer,
    /// SET FEATURES of the level that the way's next reads are made at: what read retry does first (C39, P2).
    SetLevel,
}

impl OperationKind {
    /// All of them.
    pub const ALL: [OperationKind; 8] = [
        OperationKind::RxDma,
        OperationKind::TxDma,
        OperationKind::StatusCheck,
        OperationKind::ReadTrigger,
        OperationKind::Erase,
        OperationKind::Write,
        OperationKind::ReadTransfer,
        OperationKind::SetLevel,
    ];

    /// Table 2's priority: lower goes first, equals take turns (C41). What sets a feature goes with the
    /// writes (P2).
    pub const fn priority(self) -> u8 {
        match self {
            OperationKind::RxDma | OperationKind::TxDma => 0,
            OperationKind::StatusCheck => 1,
            OperationKind::ReadTrigger => 2,
            OperationKind::Erase => 3,
            OperationKind::Write | OperationKind::SetLevel => 4,
            OperationKind::ReadTransfer => 5,
        }
    }
    /// True for what the host interface controller carries out.
    pub const fn is_host_dma(self) -> bool {
        matches!(self, OperationKind::RxDma | OperationKind::TxDma)
    }
    /// True for what keeps an array busy after its bus cycles.
    pub const fn works_array(self) -> bool {
        matches!(self, OperationKind::ReadTrigger | OperationKind::Erase | OperationKind::Write)
    }
    /// Words that the storage controller's or host DMA engine's driver writes to its registers for one of
    /// them (P13, P14). A flash control word is way and command, with a row, addresses of data, spare and
    /// error counts, and a completion flag's address as far as it has such, or a feature's value; a unit of
    /// host DMA of the automatic kind is its address, and its command's slot with its place in that. Each of
    /// `pages` beyond the first brings addresses of data and spare.
    pub const fn register_words(self, pages: u64) -> u64 {
        let further = 2 * pages.saturating_sub(1);
        match self {
            OperationKind::RxDma | OperationKind::TxDma => 2,
            OperationKind::SetLevel => 4,
            OperationKind::StatusCheck | OperationKind::ReadTrigger | OperationKind::Erase => 3,
            OperationKind::Write => 5 + further,
            OperationKind::ReadTransfer => 7,
        }
    }
    /// Its number in events.
    pub const fn code(self) -> u8 {
        self as u8
    }
}

/// Names an operation set at the dependency checker.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct SetId(pub(crate) u16);

impl SetId {
    /// Its slot.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// An operation of a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    /// What it is.
    pub kind: OperationKind,
    /// The way that it is for; of no meaning for host DMA.
    pub lun: LunIndex,
    /// The data buffer entry that it moves data from or to.
    pub buffer: BufferId,
    /// The set that it belongs to.
    pub set: SetId,
    /// Its place in the set.
    pub(crate) step: u8,
    /// It is done for a read that failed, beyond what its set says (C39).
    pub(crate) again: bool,
}
