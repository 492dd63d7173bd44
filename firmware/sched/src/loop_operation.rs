//! The operations of the low-level scheduler (Table 2).

use aster_units::{BufferId, LunIndex};

/// The main operations (C41). Their order is that of their codes in events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum OperationKind {
    /// Host memory to data buffer.
    RxDma,
    /// Data buffer to host memory.
    TxDma,
    /// Reads the exact result of a way's operation.
    StatusCheck,
    /// Array to page register.
    ReadTrigger,
    /// Erases a block.
    Erase,
    /// Data buffer to page register to array.
    Write,
    /// Page register to data buffer.
    ReadTransfer,
    /// SET FEATURES of the level of the way's next reads: the first step of read retry (C39, P2).
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

    /// Table 2's priority: lower goes first, equals take turns (C41). Setting a feature has the priority of
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
    /// True for operations of the host interface controller.
    pub const fn is_host_dma(self) -> bool {
        matches!(self, OperationKind::RxDma | OperationKind::TxDma)
    }
    /// True for operations that keep an array busy after their bus cycles.
    pub const fn works_array(self) -> bool {
        matches!(self, OperationKind::ReadTrigger | OperationKind::Erase | OperationKind::Write)
    }
    /// Words that the driver of the storage controller or of the host DMA engine writes to registers for one
    /// operation (P13, P14). A flash control word has way and command and, depending on its kind, a row,
    /// addresses of data, spare and error counts, the address of a completion flag, or a feature's value. An
    /// automatic unit of host DMA has its address, and its command's slot with its place in the command. Each
    /// of `pages` beyond the first adds addresses of data and spare.
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
    /// It repeats a failed read and isn't part of its set (C39).
    pub(crate) again: bool,
}
