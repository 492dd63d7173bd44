//! A front end that knows no NVMe: a few boxes of registers, each for one request. The link's DMA moves a
//! request's data, and one MSI vector announces its end.

use aster_device::Pieces;
use aster_device::plug::{
    BarKind, BarRead, BarSpec, ByteRange, ClassCode, CommandId, CommandPort, DmaError, DmaRequest, DmaTag,
    FRONT_ANSWER, FRONT_KICK, FrontEnd, FrontEndFacts, FrontEndNeeds, FrontEndPiece, FrontEndPorts,
    FunctionSpec, Handler, HostCommand, HostOp, HostStatus, Interrupts, LinkOp, LinkPort, Local,
    MAX_SEGMENTS, MediaHealth, Operations, PciIds, PieceError, Segment,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Registers of a box in BAR0, from `box · BOX_BYTES` on.
pub mod register {
    /// Where the data are in host memory: 64 bits.
    pub const ADDRESS: u32 = 0x00;
    /// The first byte on the drive: 64 bits.
    pub const OFFSET: u32 = 0x08;
    /// Bytes: 32 bits.
    pub const LENGTH: u32 = 0x10;
    /// A write of one of the [`command`](super::command)s begins it: 32 bits.
    pub const COMMAND: u32 = 0x14;
    /// One of the [`status`](super::status) values, read-only: 32 bits.
    pub const STATUS: u32 = 0x18;
    /// In BAR2, 64 bits: bytes of the drive.
    pub const CAPACITY: u32 = 0x00;
    /// In BAR2, 32 bits: how often the drive has got its power.
    pub const POWER_ONS: u32 = 0x08;
    /// In BAR2, 32 bits: spare blocks left in percent.
    pub const SPARE: u32 = 0x0c;
}

/// Commands to a box.
pub mod command {
    /// Drive to host.
    pub const READ: u32 = 1;
    /// Host to drive.
    pub const WRITE: u32 = 2;
    /// Makes all earlier writes survive a loss of power.
    pub const FLUSH: u32 = 3;
}

/// The state of a box.
pub mod status {
    /// It has had no command since power-on or reset.
    pub const IDLE: u32 = 0;
    /// It has a request in the drive.
    pub const BUSY: u32 = 1;
    /// The last request was carried out.
    pub const DONE: u32 = 2;
    /// The last request failed.
    pub const FAILED: u32 = 3;
    /// The last request was invalid: an unknown command, or bytes beyond the drive.
    pub const REFUSED: u32 = 4;
}

/// BAR0: the boxes.
pub const BOXES_BAR: u8 = 0;
/// Bytes of BAR0 for a box.
pub const BOX_BYTES: u32 = 0x20;
/// BAR2: the drive.
pub const DRIVE_BAR: u8 = 2;
/// Boxes that fit in BAR0.
const BOXES_MAX: i64 = 32;

/// Ours, and `host.front_end = "mailbox"` with as many boxes as the key `boxes` of `[own]` says.
pub fn pieces() -> Pieces {
    Pieces::default().front_end("mailbox", |profile, facts: FrontEndFacts| {
        let boxes = profile.own.as_ref().and_then(|own| own.get("boxes")?.as_integer()).unwrap_or(1);
        if !(1..=BOXES_MAX).contains(&boxes) {
            return Err(
                PieceError::new("own.boxes", format!("must be 1 to {BOXES_MAX}, but is {boxes}")).into()
            );
        }
        Ok(Box::new(MailboxPiece { boxes: boxes as u16, capacity: facts.capacity_bytes }))
    })
}

/// The front end before it runs.
pub struct MailboxPiece {
    /// Boxes, 1 to 32.
    pub boxes: u16,
    /// Bytes of the drive.
    pub capacity: u64,
}

impl FrontEndPiece for MailboxPiece {
    fn needs(&self) -> FrontEndNeeds {
        let dma_requests = 4 * self.boxes;
        FrontEndNeeds {
            sram_bytes: 0,
            command_slots: self.boxes,
            dma_requests,
            link_operations: usize::from(dma_requests),
            operations: Operations::BLOCKS,
            core: false,
            packets: false,
        }
    }
    fn function(&self) -> FunctionSpec {
        let bar = |register, kind, bytes| BarSpec { register, kind, prefetchable: false, bytes };
        FunctionSpec {
            ids: PciIds {
                vendor: 0x1d1d,
                device: 0x0b0c,
                subsystem_vendor: 0x1d1d,
                subsystem: self.boxes,
                revision: 7,
            },
            // Other mass storage controller.
            class: ClassCode { base_class: 0x01, sub_class: 0x80, interface: 0 },
            bars: vec![
                bar(BOXES_BAR, BarKind::Memory64, u64::from(BOX_BYTES) * BOXES_MAX as u64),
                bar(DRIVE_BAR, BarKind::Memory32, 16),
            ],
            interrupts: Interrupts::Msi { vectors_log2: 0 },
            power: None,
        }
    }
    fn start(self: Box<Self>, ports: FrontEndPorts) -> Result<Rc<dyn FrontEnd>, PieceError> {
        let FrontEndPorts { exec, link, commands, saved, .. } = ports;
        let mut power_ons = [0; 4];
        saved.read(0, &mut power_ons);
        let power_ons = u32::from_le_bytes(power_ons) + 1;
        saved.write(0, &power_ons.to_le_bytes());
        let mailbox = Rc::new(Mailbox {
            link: link.clone(),
            commands: commands.clone(),
            capacity: self.capacity,
            power_ons,
            spare: Cell::new(100),
            boxes: RefCell::new(vec![Slot::default(); self.boxes.into()]),
            completed: Cell::new(0),
        });
        let handler = exec.register(mailbox.clone());
        link.attach_front(handler);
        commands.attach(handler);
        Ok(mailbox)
    }
}

#[derive(Clone, Copy, Default)]
struct Slot {
    address: u64,
    offset: u64,
    length: u32,
    status: u32,
    /// The translation has a command of this box.
    in_work: bool,
    /// The host reset the controller while the command was in work: no one waits for its end.
    orphan: bool,
    /// Where the data of the command in work is. Register writes by the host don't change it meanwhile.
    data_at: u64,
}

struct Mailbox {
    link: Rc<LinkPort>,
    commands: Rc<CommandPort>,
    capacity: u64,
    power_ons: u32,
    spare: Cell<u8>,
    boxes: RefCell<Vec<Slot>>,
    completed: Cell<u64>,
}

impl Mailbox {
    /// A command was written to a box.
    fn begin(&self, id: usize, asked: u32) {
        let mut boxes = self.boxes.borrow_mut();
        let slot = &mut boxes[id];
        if slot.in_work {
            return;
        }
        let range = ByteRange { offset: slot.offset, length: slot.length.into() };
        let fits = range.length > 0
            && range.offset.checked_add(range.length).is_some_and(|end| end <= self.capacity)
            && range.offset.is_multiple_of(4096)
            && range.length.is_multiple_of(4096);
        let (op, range) = match asked {
            command::READ if fits => (HostOp::Read, range),
            command::WRITE if fits => (HostOp::Write, range),
            command::FLUSH => (HostOp::Flush, ByteRange { offset: 0, length: 0 }),
            _ => {
                slot.status = status::REFUSED;
                return self.announce();
            }
        };
        (slot.status, slot.in_work, slot.data_at) = (status::BUSY, true, slot.address);
        let ByteRange { offset, length } = range;
        self.commands.push_command(HostCommand { id: CommandId(id as u16), op, offset, length, fua: false });
    }
    /// The interrupt to the host follows all data that is on its way to it.
    fn announce(&self) {
        self.completed.set(self.completed.get() + 1);
        self.link.push(LinkOp::Interrupt { vector: 0 });
    }
    /// The translation requests a transfer of a box's data.
    fn transfer(&self, tag: DmaTag, request: DmaRequest) {
        let slot = self.boxes.borrow()[usize::from(request.command.0)];
        if slot.orphan {
            return self.commands.dma_done(tag, Err(DmaError::Aborted));
        }
        let mut segments = [Segment::default(); MAX_SEGMENTS];
        let address = slot.data_at.wrapping_add(request.offset.into());
        segments[0] = Segment { address, length: request.length };
        let local = Local::Buffer { buffer: request.buffer, offset: request.buffer_offset };
        let (direction, token, epoch) = (request.direction, tag.0.into(), self.link.epoch());
        self.link.push(LinkOp::Dma { direction, local, segments, count: 1, token, epoch });
    }
    /// The translation is done with a box's command.
    fn end(&self, id: usize, ended: HostStatus) {
        let slot = &mut self.boxes.borrow_mut()[id];
        slot.in_work = false;
        if std::mem::take(&mut slot.orphan) {
            slot.status = status::IDLE;
            return;
        }
        slot.status = if ended == HostStatus::Success { status::DONE } else { status::FAILED };
        self.announce();
    }
}

impl Handler for Mailbox {
    fn fire(&self, token: u64) {
        match token {
            FRONT_KICK => {
                self.commands.acknowledge();
                while let Some((tag, request)) = self.commands.next_dma() {
                    self.transfer(tag, request);
                }
                while let Some(completion) = self.commands.next_completion() {
                    self.end(completion.id.0.into(), completion.status);
                }
            }
            FRONT_ANSWER => {
                while let Some((tag, epoch, moved)) = self.link.next_answer() {
                    let result = match moved {
                        _ if epoch != self.link.epoch() => Err(DmaError::Aborted),
                        Ok(()) => Ok(()),
                        Err(_) => Err(DmaError::Address),
                    };
                    self.commands.dma_done(DmaTag(tag as u16), result);
                }
            }
            timer => unreachable!("a mailbox has no timer {timer}"),
        }
    }
}

impl FrontEnd for Mailbox {
    fn read(&self, bar: u8, offset: u32, size: u8) -> BarRead {
        let (word, shift) = (offset & !7, 8 * (offset & 7));
        let value = if bar == DRIVE_BAR {
            let health = u64::from(self.power_ons) | u64::from(self.spare.get()) << 32;
            if word == register::CAPACITY { self.capacity } else { health }
        } else {
            let boxes = self.boxes.borrow();
            let Some(slot) = boxes.get((offset / BOX_BYTES) as usize) else { return BarRead::Now(0) };
            match word % BOX_BYTES {
                register::ADDRESS => slot.address,
                register::OFFSET => slot.offset,
                register::LENGTH => slot.length.into(),
                _ => slot.status.into(),
            }
        };
        let mask = u64::MAX >> (64 - 8 * u32::from(size));
        BarRead::Now(value >> shift & mask)
    }
    fn write(&self, bar: u8, offset: u32, size: u8, value: u64) {
        let id = (offset / BOX_BYTES) as usize;
        if bar != BOXES_BAR || id >= self.boxes.borrow().len() {
            return;
        }
        match (offset % BOX_BYTES, size) {
            (register::ADDRESS, 8) => self.boxes.borrow_mut()[id].address = value,
            (register::OFFSET, 8) => self.boxes.borrow_mut()[id].offset = value,
            (register::LENGTH, 4) => self.boxes.borrow_mut()[id].length = value as u32,
            (register::COMMAND, 4) => self.begin(id, value as u32),
            _ => {}
        }
    }
    fn function_reset(&self) {
        self.link.raise_epoch();
        for slot in self.boxes.borrow_mut().iter_mut() {
            let in_work = slot.in_work;
            let status = if in_work { status::BUSY } else { status::IDLE };
            *slot = Slot { in_work, orphan: in_work, status, ..Slot::default() };
        }
    }
    fn completed(&self) -> u64 {
        self.completed.get()
    }
    fn commands_in_flight(&self) -> usize {
        self.boxes.borrow().iter().filter(|slot| slot.in_work).count()
    }
    fn media_changed(&self, media: MediaHealth) {
        self.spare.set(media.available_spare);
    }
}
