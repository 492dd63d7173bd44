//! BAR0: reads and writes of registers and doorbells (NVMe 1.4 §3.1).

use crate::async_events::EventSource;
use crate::bar::DOORBELL_STRIDE;
use crate::controller::Controller;
use crate::ports::ControllerPorts;
use crate::ring::InvalidDoorbell;
use aster_events::Event;
use aster_wire::nvme::Status;
use aster_wire::nvme::registers::{Cc, Doorbell, DoorbellKind, Register, Target};

impl Controller {
    /// Reads BAR0. Reserved space and doorbells read as zero, and so does an access that isn't naturally
    /// aligned.
    pub(crate) fn read_register(&self, offset: u64, size: u8) -> u64 {
        if !matches!(size, 1 | 2 | 4 | 8) || !offset.is_multiple_of(size.into()) {
            return 0;
        }
        let low = u64::from(self.read_dword(offset & !3));
        match size {
            8 => low | u64::from(self.read_dword(offset + 4)) << 32,
            4 => low,
            _ => low >> (8 * (offset & 3)) & ((1 << (8 * size)) - 1),
        }
    }

    fn read_dword(&self, offset: u64) -> u32 {
        let Target::Register { register, from } = Target::decode(offset, DOORBELL_STRIDE) else { return 0 };
        let value = match register {
            Register::InterruptMaskSet | Register::InterruptMaskClear => self.interrupts.masked().into(),
            register => self.lifecycle.read(register),
        };
        (value >> (8 * u32::from(from))) as u32
    }

    /// Writes BAR0 in 4 or 8 bytes. Other sizes and unaligned accesses have no defined effect (NVMe 1.4 §3.1)
    /// and none here.
    #[inline]
    pub(crate) fn write_register(&mut self, ports: &mut ControllerPorts, offset: u64, size: u8, value: u64) {
        if !matches!(size, 4 | 8) || !offset.is_multiple_of(size.into()) {
            return;
        }
        self.write_dword(ports, offset, value as u32);
        if size == 8 {
            self.write_dword(ports, offset + 4, (value >> 32) as u32);
        }
        self.pump(ports);
    }

    #[inline]
    fn write_dword(&mut self, ports: &mut ControllerPorts, offset: u64, value: u32) {
        let (register, from) = match Target::decode(offset, DOORBELL_STRIDE) {
            Target::Doorbell(doorbell) => return self.ring_doorbell(ports, doorbell, value),
            Target::Register { register, from } => (register, from),
            Target::Reserved => return,
        };
        match register {
            Register::Configuration => self.write_configuration(ports, Cc(value)),
            Register::InterruptMaskSet => self.interrupts.mask(value),
            Register::InterruptMaskClear => self.interrupts.unmask(value),
            register => self.lifecycle.write_admin_queue(register, from, value),
        }
    }

    #[inline]
    fn ring_doorbell(&mut self, ports: &mut ControllerPorts, doorbell: Doorbell, value: u32) {
        if !self.lifecycle.takes_doorbells() {
            return;
        }
        let position = value & 0xffff;
        let completion = doorbell.kind == DoorbellKind::CompletionHead;
        match self.queues.ring(doorbell, position) {
            None => self.bad_doorbell(ports, EventSource::InvalidDoorbellRegister),
            Some(Err(InvalidDoorbell)) => self.bad_doorbell(ports, EventSource::InvalidDoorbellValue),
            Some(Ok(())) => {
                let (queue, value) = (doorbell.queue, position as u16);
                ports.emit(|| Event::DoorbellWritten { queue, completion, value });
                if completion {
                    self.post_stalled(ports, queue);
                }
            }
        }
    }

    fn bad_doorbell(&mut self, ports: &mut ControllerPorts, source: EventSource) {
        self.reports.log_error(Status::INVALID_FIELD);
        self.raise_event(ports, source);
    }
}
