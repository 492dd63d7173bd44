//! The host's accesses to registers as packets, which firmware serves (S3): one after the other, in the order
//! in which they have arrived.
//!
//! For each, the core looks at the packet (`tlp_receive`) and carries the access out (`nvme_register`). A
//! read it answers by a completion that it builds (`tlp_build`), so a read sees all writes before it and
//! none behind.
//!
//! What is carried out are accesses of 1, 2, 4 and 8 bytes at a multiple of their size (NVMe 1.4 §3.1).
//! Others violate the function's programming model: a read is answered by Completer Abort, a write dropped
//! (PCIe 4.0 §2.3.1). A poisoned write is dropped (§2.7.2.2). A read of no bytes is answered and reads
//! nothing, a write of none has no effect (§2.2.5).
//!
//! A reset takes away what has arrived. The read that is being served then is answered by Unsupported
//! Request, so that its tag doesn't stay taken in the host's root complex.

use super::layer::{DRIVE, Packets};
use crate::bar::BarLayout;
use crate::frontend::NvmeFrontEnd;
use crate::software::time::CoreTime;
use alloc::rc::Rc;
use aster_events::Function;
use aster_ports::tlp::{COMPLETION_HEADER, HostRequest, Outgoing, TlpCompletion};
use aster_wire::pcie::tlp::{
    ByteEnables, Completion, CompletionStatus, DWORD_BYTES, MemoryRequest, TLP_HEADER_MAX, Tlp, TlpHeader,
};
use core::cell::Cell;

/// Where accesses go.
pub(in super::super) trait RegisterFile {
    fn read(&self, offset: u32, size: u8) -> u64;
    fn write(&self, offset: u32, size: u8, value: u64);
}

impl RegisterFile for NvmeFrontEnd {
    fn read(&self, offset: u32, size: u8) -> u64 {
        self.mmio_read(offset, size)
    }
    fn write(&self, offset: u32, size: u8, value: u64) {
        self.mmio_write(offset, size, value);
    }
}

/// A register access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Access {
    Read {
        offset: u32,
        size: u8,
    },
    Write {
        offset: u32,
        size: u8,
        value: u64,
    },
    /// Of no bytes.
    Nothing,
    /// It is not one of those that registers have.
    Refused,
    /// A write whose data are known to be wrong.
    Poisoned,
}

impl Access {
    fn of(request: &MemoryRequest, payload: &[u8], bar: &BarLayout) -> Self {
        if request.write && request.attributes.poisoned {
            return Access::Poisoned;
        }
        let (address, bytes) = request.span();
        if bytes == 0 {
            return Access::Nothing;
        }
        let whole = request.enables == ByteEnables::of(address, bytes);
        if !whole || !matches!(bytes, 1 | 2 | 4 | 8) || !address.is_multiple_of(bytes.into()) {
            return Access::Refused;
        }
        // A BAR lies at a multiple of its size.
        let (offset, size) = ((address % bar.bytes) as u32, bytes as u8);
        if !request.write {
            return Access::Read { offset, size };
        }
        let at = (address % DWORD_BYTES as u64) as usize;
        let data = payload.iter().skip(at).take(bytes as usize);
        let value = data.rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
        Access::Write { offset, size, value }
    }
}

/// Serves the host's requests.
pub(in super::super) struct Completer {
    packets: Rc<Packets>,
    time: CoreTime,
    cycles: u64,
    registers: Rc<dyn RegisterFile>,
    bar: BarLayout,
    resets: Cell<u32>,
}

impl Completer {
    /// Takes the host's requests over from now on, which are for a BAR of this layout. Carrying an access out
    /// costs `cycles`.
    pub(in super::super) fn new(
        packets: &Rc<Packets>,
        time: CoreTime,
        cycles: u64,
        (registers, bar): (Rc<dyn RegisterFile>, BarLayout),
    ) -> Self {
        packets.port.requests().take_over();
        packets.port.count_request(|_| ());
        Completer { packets: Rc::clone(packets), time, cycles, registers, bar, resets: Cell::new(0) }
    }
    /// A function-level reset.
    pub(in super::super) fn reset(&self) {
        self.resets.set(self.resets.get().wrapping_add(1));
    }

    async fn serve_one(&self) {
        let (port, costs) = (&self.packets.port, self.packets.config.costs);
        port.requests().wait().await;
        self.packets.spend(costs.receive).await;
        // A reset may have taken all that had arrived.
        let Some(request) = port.requests().take() else { return };
        let resets = self.resets.get();
        port.count_request(|count| count.handled += 1);
        let Some((asked, access)) = understand(&request, &self.bar) else {
            return port.count_request(|count| count.refused += 1);
        };
        self.time.spend(Function::NvmeSoftware, self.cycles).await;
        let answer = match resets == self.resets.get() {
            true => self.carry_out(access),
            false => Err(CompletionStatus::Unsupported),
        };
        if !asked.write {
            self.packets.spend(costs.build).await;
            port.count_request(|count| count.answered += 1);
            port.send(Outgoing::Completion(completion(&asked, answer))).await;
        }
    }
    /// Carries an access out. Returns what it has read.
    fn carry_out(&self, access: Access) -> Result<u64, CompletionStatus> {
        match access {
            Access::Read { offset, size } => return Ok(self.registers.read(offset, size)),
            Access::Write { offset, size, value } => self.registers.write(offset, size, value),
            Access::Nothing => {}
            Access::Poisoned => self.packets.port.count_request(|count| count.poisoned += 1),
            Access::Refused => {
                self.packets.port.count_request(|count| count.refused += 1);
                return Err(CompletionStatus::Abort);
            }
        }
        Ok(0)
    }
}

/// Takes a packet apart. `None` if it is no request of memory: nobody gets an answer then.
fn understand(request: &HostRequest, bar: &BarLayout) -> Option<(MemoryRequest, Access)> {
    let tlp = Tlp::parse(request.bytes()).ok()?;
    let TlpHeader::Memory(asked) = tlp.header else { return None };
    Some((asked, Access::of(&asked, tlp.payload, bar)))
}

/// The answer to a read.
fn completion(asked: &MemoryRequest, answer: Result<u64, CompletionStatus>) -> TlpCompletion {
    let (completion, value) = match answer {
        Ok(value) => (Completion::of_read(DRIVE, asked), value),
        Err(status) => (Completion::without_data(DRIVE, status, asked.requester, asked.tag), 0),
    };
    let mut header = [0; TLP_HEADER_MAX];
    TlpHeader::Completion(completion).encode(&mut header);
    let at = (asked.span().0 % DWORD_BYTES as u64) as u32;
    let data = (u128::from(value) << (8 * at)).to_le_bytes();
    let bytes = usize::from(completion.dwords) * DWORD_BYTES;
    TlpCompletion::new(&header[..COMPLETION_HEADER], &data[..bytes])
}

/// Serves the host's requests. Those that come without a pause leave the core's other tasks their turns.
pub(in super::super) async fn completer(completer: Rc<Completer>) {
    loop {
        completer.serve_one().await;
        if completer.packets.port.requests().is_any() {
            completer.time.give_way().await;
        }
    }
}

#[cfg(test)]
mod tests;
