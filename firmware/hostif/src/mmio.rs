//! BAR0: reads and writes of registers and doorbells (NVMe 1.4 §3.1).

use crate::async_events::EventSource;
use crate::bar::DOORBELL_STRIDE;
use crate::controller::Controller;
use crate::phase::ControllerPhase;
use crate::ports::ControllerPorts;
use crate::ring::InvalidDoorbell;
use aster_events::Event;
use aster_wire::nvme::registers::{AdminQueueBase, Aqa, Cc, Doorbell, DoorbellKind, Register, Target};
use aster_wire::nvme::{Status, VERSION_1_4};

fn replace_half(value: u64, from: u8, half: u32) -> u64 {
    let shift = u32::from(from) * 8;
    value & !(0xffff_ffff << shift) | u64::from(half) << shift
}

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
        let registers = &self.registers;
        let value = match register {
            Register::Capabilities => registers.cap.0,
            Register::Version => VERSION_1_4.0.into(),
            Register::InterruptMaskSet | Register::InterruptMaskClear => self.interrupts.masked.into(),
            Register::Configuration => registers.cc.0.into(),
            Register::Status => registers.csts.0.into(),
            Register::AdminQueueAttributes => registers.aqa.0.into(),
            Register::AdminSubmissionQueue => registers.asq.address(),
            Register::AdminCompletionQueue => registers.acq.address(),
            // Optional registers whose capability CAP doesn't show are reserved.
            _ => 0,
        };
        (value >> (8 * u32::from(from))) as u32
    }

    /// Writes BAR0 in 4 or 8 bytes. Other sizes and unaligned accesses have no defined effect (NVMe 1.4 §3.1)
    /// and none here.
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

    fn write_dword(&mut self, ports: &mut ControllerPorts, offset: u64, value: u32) {
        let (register, from) = match Target::decode(offset, DOORBELL_STRIDE) {
            Target::Doorbell(doorbell) => return self.ring_doorbell(ports, doorbell, value),
            Target::Register { register, from } => (register, from),
            Target::Reserved => return,
        };
        let disabled = !self.registers.cc.en();
        let registers = &mut self.registers;
        match register {
            Register::Configuration => self.write_configuration(ports, Cc(value)),
            Register::InterruptMaskSet => self.interrupts.masked |= value,
            Register::InterruptMaskClear => self.interrupts.unmask(value),
            // The admin queue is fixed while the controller is enabled (NVMe 1.4 §3.1.8).
            Register::AdminQueueAttributes if disabled => registers.aqa = Aqa(value),
            Register::AdminSubmissionQueue if disabled => {
                registers.asq = AdminQueueBase(replace_half(registers.asq.0, from, value));
            }
            Register::AdminCompletionQueue if disabled => {
                registers.acq = AdminQueueBase(replace_half(registers.acq.0, from, value));
            }
            _ => {}
        }
    }

    fn ring_doorbell(&mut self, ports: &mut ControllerPorts, doorbell: Doorbell, value: u32) {
        if self.phase != ControllerPhase::Ready {
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
        self.log_error(Status::INVALID_FIELD);
        self.raise_event(ports, source);
    }
}
