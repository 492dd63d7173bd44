//! The host's accesses to BARs, as packets: what the root complex sends, what the function's PCIe core does
//! with it, and the completions that come back (S3).

use super::{CORE_CREDITS, Down, OVERDUE, TlpLink, Up};
use crate::pci::PciFunction;
use crate::tlp::accesses::{Access, AccessErrors};
use crate::tlp::function::Served;
use crate::tlp::order::Class;
use crate::tlp::wire::WirePacket;
use alloc::rc::Rc;
use aster_parties::{BarRead, ReadTag};
use aster_ports::credits::Credit;
use aster_ports::tlp::{COMPLETION_HEADER, HostRequest, TlpCompletion};
use aster_units::Duration;
use aster_wire::pcie::tlp::{Completion, CompletionStatus, FunctionId, MemoryRequest, TlpHeader};
use core::cell::RefCell;

/// The drive's function: the first one of the bus below the root port.
const DRIVE: FunctionId = FunctionId(0x0100);

impl TlpLink {
    /// Connects the function whose BARs the host reaches by packets from now on. Firmware gets those that the
    /// function doesn't claim for itself.
    pub fn serve(&self, function: &Rc<RefCell<PciFunction>>) {
        assert!(self.side.set(Served::new(function)).is_ok(), "a link has one function");
    }
    fn side(&self) -> &Served {
        self.side.get().expect("the function is connected when the device is built")
    }
    /// What has gone wrong with the host's accesses.
    pub fn access_errors(&self) -> AccessErrors {
        self.side().accesses.borrow().errors()
    }

    /// The host reads `bytes` bytes of a BAR. The request's address is what the host has programmed the BAR
    /// with, and the offset.
    pub fn host_read(&self, bar: u8, offset: u32, bytes: u8) -> BarRead {
        let (side, now) = (self.side(), self.exec.now());
        let address = side.address(bar, offset);
        let begun = side.accesses.borrow_mut().read(now, bar, address, bytes);
        let Some((number, request)) = begun else { return BarRead::Now(u64::MAX) };
        self.send_access(offset, bytes, request);
        self.watch_accesses();
        BarRead::Later(ReadTag(number))
    }
    /// The host writes the low `bytes` bytes of `value` to a BAR.
    pub fn host_write(&self, bar: u8, offset: u32, bytes: u8, value: u64) {
        let side = self.side();
        let request = side.accesses.borrow_mut().write(bar, side.address(bar, offset), bytes, value);
        if let Some(request) = request {
            self.send_access(offset, bytes, request);
        }
    }
    /// Writes of the host that wait for credits: those of the core are for 32 more. Nothing else that is
    /// posted goes down.
    pub fn host_writes_waiting(&self) -> usize {
        self.down.borrow().waiting_of(Class::Posted)
    }
    /// The host takes the answer to a read.
    pub fn take_read(&self, tag: ReadTag) -> Option<u64> {
        self.side().accesses.borrow_mut().take(tag.0)
    }
    fn send_access(&self, offset: u32, bytes: u8, request: HostRequest) {
        let access = Access { request, offset, bytes, resets: self.side().resets.get() };
        let data = request.data_bytes();
        self.down.borrow_mut().push(WirePacket {
            class: class_of(&request),
            header: request.bytes().len() as u32 - data,
            data,
            what: Down::Access(access),
        });
        self.send_down();
    }

    /// A reset of the function: reads that have not been answered end with all ones, and what is on its way
    /// to the function will have no effect.
    pub fn forget_accesses(&self) {
        let Some(side) = self.side.get() else { return };
        side.resets.set(side.resets.get().wrapping_add(1));
        while let Some(request) = self.port.requests().drop_next() {
            side.accesses.borrow_mut().forget(&request);
            self.make_room(class_of(&request), 1);
        }
        side.accesses.borrow_mut().give_all_up();
    }

    /// A request of the host has arrived at the function's core.
    pub(super) fn access_arrived(&self, access: Access) {
        let Access { request, offset, bytes, resets } = access;
        let side = self.side();
        if resets != side.resets.get() {
            side.accesses.borrow_mut().forget(&request);
            return self.make_room(class_of(&request), 1);
        }
        let is_firmwares = {
            let function = side.function.borrow();
            side.has_bytes(request.bar(), offset, bytes)
                && function.answers_memory()
                && !function.claims(request.bar(), offset)
        };
        if is_firmwares {
            return self.port.requests().arrive(request);
        }
        self.serve_here(side, &request, offset, bytes);
        self.make_room(class_of(&request), 1);
    }
    /// The core serves a request itself: one that no BAR claims, or that is for an MSI-X structure.
    fn serve_here(&self, side: &Served, request: &HostRequest, offset: u32, bytes: u8) {
        let Ok((TlpHeader::Memory(asked), header)) = TlpHeader::parse(request.bytes()) else { return };
        let (bar, (address, _)) = (request.bar(), asked.span());
        let claimed = side.has_bytes(bar, offset, bytes) && side.function.borrow().answers_memory();
        if !asked.write {
            let value = side.function.borrow().bar_read(bar, offset, bytes).filter(|_| claimed);
            return self.complete(&asked, value);
        }
        if !claimed {
            return side.accesses.borrow_mut().note_unsupported_write();
        }
        let data = &request.bytes()[header..];
        let at = (address % 4) as usize;
        let value = data[at..at + usize::from(bytes)].iter().rev();
        let value = value.fold(0, |value, byte| value << 8 | u64::from(*byte));
        side.function.borrow_mut().bar_write(bar, offset, bytes, value);
        loop {
            let released = side.function.borrow_mut().next_released();
            let Some(vector) = released else { return };
            self.message(vector);
        }
    }
    /// The core answers a read, by Unsupported Request if there is no value.
    fn complete(&self, asked: &MemoryRequest, value: Option<u64>) {
        let completion = match value {
            Some(_) => Completion::of_read(DRIVE, asked),
            None => {
                Completion::without_data(DRIVE, CompletionStatus::Unsupported, asked.requester, asked.tag)
            }
        };
        let mut header = [0; 16];
        TlpHeader::Completion(completion).encode(&mut header);
        let value = u128::from(value.unwrap_or(0)) << (8 * (asked.span().0 % 4));
        let data = &value.to_le_bytes()[..usize::from(completion.dwords) * 4];
        self.push_completion(TlpCompletion::new(&header[..COMPLETION_HEADER], data));
        self.send_up();
    }
    /// Queues a completion of the host's read, which firmware or the core has built.
    pub(super) fn push_completion(&self, completion: TlpCompletion) {
        let (header, data) = completion.parts();
        let (header, data) = (header.len() as u32, data.len() as u32);
        let what = Up::Completion(completion);
        self.up.borrow_mut().push(WirePacket { class: Class::Completion, header, data, what });
    }
    /// A completion has arrived at the root complex.
    pub(super) fn completion_arrived(&self, completion: &TlpCompletion) {
        let (header, data) = completion.parts();
        self.side().accesses.borrow_mut().hear(header, data);
    }

    /// Ends the host's reads that are overdue.
    pub(super) fn give_accesses_up(&self) {
        self.side().accesses.borrow_mut().give_overdue_up(self.exec.now());
        self.watch_accesses();
    }
    fn watch_accesses(&self) {
        if let Some(at) = self.side().accesses.borrow().next_overdue() {
            self.arm(at, OVERDUE);
        }
    }

    /// Firmware has taken requests out of the receive buffer.
    pub(super) fn take_freed(&self) {
        let freed = self.port.requests().take_freed();
        self.make_room(Class::Posted, freed.posted);
        self.make_room(Class::NonPosted, freed.non_posted);
    }
    /// There is room for so many more requests of a class. The host hears so by UpdateFC.
    fn make_room(&self, class: Class, requests: u16) {
        let data = if class == Class::Posted { requests } else { 0 };
        if requests > 0 && self.room_of_core.add(class, Credit { headers: requests, data }) {
            self.send_core_update();
        }
    }
    fn send_core_update(&self) {
        self.room_of_core.send();
        match self.config.wire.latency {
            Duration::ZERO => self.take_core_update(),
            latency => self.arm(self.exec.now() + latency, CORE_CREDITS),
        }
    }
    /// The core's UpdateFC has arrived at the root complex.
    pub(super) fn take_core_update(&self) {
        let update = self.room_of_core.take();
        Class::ALL.into_iter().for_each(|class| self.down.borrow_mut().grant(class, update[class.index()]));
        if self.room_of_core.is_due() {
            self.send_core_update();
        }
        self.send_down();
    }
}

fn class_of(request: &HostRequest) -> Class {
    if request.is_posted() { Class::Posted } else { Class::NonPosted }
}

#[cfg(test)]
mod tests;
