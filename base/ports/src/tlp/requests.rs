//! The host's requests to the function, on their way from the PCIe core to firmware (S3).

use alloc::collections::VecDeque;
use aster_exec::{Exec, HandlerId, WaitCell};
use core::cell::{Cell, RefCell};

/// Writes of the host that the receive buffer has room for, and as many units of their data. The core grants
/// as many credits.
pub const POSTED_REQUESTS: u16 = 32;
/// Reads of the host that the receive buffer has room for.
pub const NON_POSTED_REQUESTS: u16 = 32;
/// Most bytes of data behind a request: eight bytes of a processor may lie in three double words.
pub const REQUEST_DATA: usize = 12;
/// Most bytes of a header.
const HEADER: usize = 16;

/// The handler token that says that firmware has freed places of the receive buffer
/// ([`HostRequests::take_freed`]).
pub const TLP_FREED: u64 = u64::MAX - 4;

/// A request of the host: header and data, and what the core has decoded of its address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostRequest {
    bar: u8,
    bytes: [u8; HEADER + REQUEST_DATA],
    length: u8,
    data: u8,
}

impl HostRequest {
    /// A request to a BAR. It is posted if it has data. Asserts that there is room.
    pub fn new(bar: u8, header: &[u8], data: &[u8]) -> Self {
        let mut bytes = [0; HEADER + REQUEST_DATA];
        let length = header.len() + data.len();
        bytes[..header.len()].copy_from_slice(header);
        bytes[header.len()..length].copy_from_slice(data);
        HostRequest { bar, bytes, length: length as u8, data: data.len() as u8 }
    }
    /// Bytes of its data.
    pub fn data_bytes(&self) -> u32 {
        self.data.into()
    }
    /// The BAR in which its address is.
    pub fn bar(&self) -> u8 {
        self.bar
    }
    /// Whether nobody answers it.
    pub fn is_posted(&self) -> bool {
        self.data > 0
    }
    /// The packet.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// Places of the receive buffer: for posted requests, and for others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Places {
    /// Of posted requests.
    pub posted: u16,
    /// Of the others.
    pub non_posted: u16,
}

impl Places {
    fn count(&mut self, request: &HostRequest) {
        match request.is_posted() {
            true => self.posted += 1,
            false => self.non_posted += 1,
        }
    }
}

/// The receive buffer of the host's requests, in the order in which they have arrived. Without firmware that
/// [takes them](HostRequests::take_over), register accesses of the host come as calls instead.
pub struct HostRequests {
    exec: Exec,
    order: RefCell<VecDeque<HostRequest>>,
    arrived: WaitCell,
    freed: Cell<Places>,
    is_wanted: Cell<bool>,
    board: Cell<Option<HandlerId>>,
}

impl HostRequests {
    pub(super) fn new(exec: &Exec) -> Self {
        HostRequests {
            exec: exec.clone(),
            order: RefCell::default(),
            arrived: WaitCell::default(),
            freed: Cell::default(),
            is_wanted: Cell::new(false),
            board: Cell::new(None),
        }
    }
    pub(super) fn attach_board(&self, board: HandlerId) {
        self.board.set(Some(board));
    }

    /// Firmware, when it starts: from now on it serves the host's accesses by packets.
    pub fn take_over(&self) {
        self.order.borrow_mut().reserve_exact(usize::from(POSTED_REQUESTS + NON_POSTED_REQUESTS));
        self.is_wanted.set(true);
    }
    /// Firmware: waits for a request.
    pub async fn wait(&self) {
        self.arrived.wait(&self.exec, || self.is_any().then_some(())).await;
    }
    /// Firmware: whether a request has arrived.
    pub fn is_any(&self) -> bool {
        !self.order.borrow().is_empty()
    }
    /// Firmware: takes the oldest request out of the receive buffer, and frees its place. `None` if a reset
    /// has taken all.
    pub fn take(&self) -> Option<HostRequest> {
        let request = self.order.borrow_mut().pop_front()?;
        let mut freed = self.freed.get();
        if freed == Places::default() {
            let board = self.board.get().expect("a core is attached when the device is built");
            self.exec.post(board, TLP_FREED);
        }
        freed.count(&request);
        self.freed.set(freed);
        Some(request)
    }

    /// Board: whether firmware serves the host's accesses.
    pub fn are_wanted(&self) -> bool {
        self.is_wanted.get()
    }
    /// Board: a request has arrived. Asserts that there is room, since it had credits.
    pub fn arrive(&self, request: HostRequest) {
        let mut order = self.order.borrow_mut();
        let alike = order.iter().filter(|one| one.is_posted() == request.is_posted()).count();
        let room = if request.is_posted() { POSTED_REQUESTS } else { NON_POSTED_REQUESTS };
        assert!(alike < usize::from(room), "the host has sent more than it had credits for");
        order.push_back(request);
        self.arrived.wake(&self.exec);
    }
    /// Board: the places that firmware has freed since the last call.
    pub fn take_freed(&self) -> Places {
        self.freed.take()
    }
    /// Board: the function is reset. Takes the next request that firmware hasn't taken; its place is free.
    pub fn drop_next(&self) -> Option<HostRequest> {
        self.order.borrow_mut().pop_front()
    }
}
