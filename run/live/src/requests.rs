//! Answers to a client's messages.

use crate::connection::{Connection, ConnectionError, MESSAGE_FILES_MAX, Message, TRANSFER_BYTES_MAX};
use crate::doorbells::{DOORBELL_PAGE_BYTES, Doorbells};
use crate::interrupts::Interrupts;
use crate::mapping::PAGE_BYTES;
use crate::memory::{GuestMemory, MAPS_MAX};
use crate::obstacles::{Obstacle, Obstacles};
use aster_device::{BARS, Device};
use aster_ports::link::{BadAddress, LinkOp, carry_out};
use aster_units::Instant;
use aster_wire::nvme::registers::DOORBELLS;
use aster_wire::pcie::CONFIG_BYTES;
use aster_wire::vfio_user::{
    Command, DeviceFlags, DeviceInfo, Header, IrqFlags, IrqInfo, MAJOR, MINOR, PciIrq, PciRegion,
    RegionAccess, RegionFlags, RegionInfo, Request, SparseArea, Version,
};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::rc::Rc;
use zerocopy::IntoBytes;

/// A client's session: the memory that it shares and the interrupts that it listens to.
pub(crate) struct Session {
    pub(crate) memory: GuestMemory,
    pub(crate) interrupts: Interrupts,
    pub(crate) doorbells: Doorbells,
    /// Bytes of each BAR; 0 where there is none.
    bars: [u64; BARS],
    /// Problems that keep it from using the drive.
    pub(crate) obstacles: Rc<Obstacles>,
}

/// A reply: the bytes after the header, and a file.
struct Answer {
    bytes: Vec<u8>,
    file: Option<OwnedFd>,
}

impl Answer {
    fn of(structure: &(impl IntoBytes + zerocopy::Immutable)) -> Self {
        Answer { bytes: Vec::from(structure.as_bytes()), file: None }
    }
    fn empty() -> Self {
        Answer { bytes: Vec::new(), file: None }
    }
}

/// This server's capabilities, as sent to the client.
fn capabilities() -> String {
    format!(
        "{{\"capabilities\":{{\"max_msg_fds\":{MESSAGE_FILES_MAX},\
         \"max_data_xfer_size\":{TRANSFER_BYTES_MAX},\"pgsizes\":{PAGE_BYTES},\
         \"max_dma_maps\":{MAPS_MAX}}}}}\0"
    )
}

impl Session {
    pub(crate) fn new(device: &Device) -> Result<Self, Errno> {
        let obstacles = Rc::<Obstacles>::default();
        let function = device.function();
        let bars = function.bar_bytes();
        Ok(Session {
            memory: GuestMemory::new(&obstacles),
            interrupts: Interrupts::new(&function.interrupts),
            doorbells: Doorbells::new(device.is_nvme().then_some(bars[0]))?,
            bars,
            obstacles,
        })
    }

    /// The client has gone: releases its memory and resets the function.
    pub(crate) fn end(&mut self, device: &Device) {
        device.reset_function();
        self.interrupts.clear(device);
        self.memory.clear();
        self.obstacles.next_client();
        self.doorbells.follow(device);
        self.doorbells.forget_client();
    }

    /// Answers a message. The device's clock shows the time at which it came.
    ///
    /// # Errors
    /// When the connection is over.
    pub(crate) fn handle(
        &mut self,
        device: &Device,
        connection: &mut Connection,
        message: Message,
    ) -> Result<(), ConnectionError> {
        let Message { header, payload, files, lost_files } = message;
        let request = Request::parse(&header, &payload);
        let matters = request.as_ref().map_or(true, is_needed);
        let answer = match request {
            // Without its files the message would mean something else: a map without a file, vectors without
            // eventfds.
            _ if lost_files => Err(Errno::MFILE),
            Ok(request) => self.answer(device, request, files),
            Err(_) => Err(Errno::INVAL),
        };
        if let Err(error) = &answer
            && matters
        {
            self.tell_refusal(&header, *error);
        }
        // Before the client can act on the reply.
        self.doorbells.follow(device);
        if header.flags().no_reply() {
            return Ok(());
        }
        match answer {
            Ok(Answer { bytes, file }) => connection.send(&header.reply(bytes.len()), &[&bytes], file),
            Err(error) => connection.send(&error_reply(&header, error), &[], None),
        }
    }

    /// A message was refused that a client needs.
    #[cold]
    fn tell_refusal(&self, header: &Header, error: Errno) {
        let number = header.command.get();
        self.obstacles.meet(Obstacle::Refused(number), || {
            let name =
                Command::from_raw(number).map_or_else(|| format!("message {number}"), |c| c.to_string());
            let error = std::io::Error::from(error).kind();
            format!("the client's {name} was refused: {error}")
        });
    }

    fn answer(
        &mut self,
        device: &Device,
        request: Request<'_>,
        files: Vec<OwnedFd>,
    ) -> Result<Answer, Errno> {
        match request {
            Request::Version(version, _) if version.major.get() == MAJOR => {
                let minor = version.minor.get().min(MINOR);
                let mut answer = Answer::of(&Version { major: MAJOR.into(), minor: minor.into() });
                answer.bytes.extend_from_slice(capabilities().as_bytes());
                Ok(answer)
            }
            Request::Version(..) => Err(Errno::OPNOTSUPP),
            Request::DmaMap(map) => {
                if files.len() > 1 {
                    return Err(Errno::INVAL);
                }
                self.memory.map(&map, files.into_iter().next())?;
                Ok(Answer::empty())
            }
            // Transfers are carried out between messages, each at once: none is in progress now, and later
            // ones find no memory.
            Request::DmaUnmap(unmap) => {
                self.memory.unmap(&unmap)?;
                Ok(Answer::of(&unmap))
            }
            Request::DeviceInfo => Ok(Answer::of(&DeviceInfo {
                argsz: (size_of::<DeviceInfo>() as u32).into(),
                flags: DeviceFlags(0).with_reset(true).with_pci(true).0.into(),
                regions: (PciRegion::ALL.len() as u32).into(),
                irqs: (PciIrq::ALL.len() as u32).into(),
            })),
            Request::RegionInfo { index, room } => self.region_info(index, room),
            Request::IrqInfo(index) => {
                let irq = PciIrq::from_raw(index).ok_or(Errno::INVAL)?;
                Ok(Answer::of(&IrqInfo {
                    argsz: (size_of::<IrqInfo>() as u32).into(),
                    flags: IrqFlags(0).with_eventfd(irq == self.interrupts.index()).0.into(),
                    index: index.into(),
                    count: self.interrupts.count(irq).into(),
                }))
            }
            Request::SetIrqs(set, data) => {
                self.interrupts.set(device, &set, data, files)?;
                Ok(Answer::empty())
            }
            Request::RegionRead(access) => self.read(device, access),
            Request::RegionWrite(access, data) => self.write(device, access, data),
            Request::Reset => {
                device.reset_function();
                self.interrupts.unmask_again(device);
                Ok(Answer::empty())
            }
            Request::Unsupported(_) => Err(Errno::OPNOTSUPP),
        }
    }

    fn region_info(&self, index: u32, room: u32) -> Result<Answer, Errno> {
        let region = PciRegion::from_raw(index).ok_or(Errno::INVAL)?;
        let flags = RegionFlags(0).with_readable(true).with_writable(true);
        let (size, flags) = match region {
            PciRegion::Bar0 if self.doorbells.are_mappable() => {
                (self.bars[0], flags.with_mappable(true).with_capabilities(true))
            }
            region => match self.bytes(region) {
                0 => (0, RegionFlags(0)),
                bytes => (bytes, flags),
            },
        };
        let bare = size_of::<RegionInfo>();
        let whole = bare + if flags.capabilities() { size_of::<SparseArea>() } else { 0 };
        // A client whose buffer is too small learns the needed size, and asks again.
        let fits = room as usize >= whole;
        let mut answer = Answer::of(&RegionInfo {
            argsz: (whole as u32).into(),
            flags: flags.0.into(),
            index: index.into(),
            cap_offset: if whole > bare { bare as u32 } else { 0 }.into(),
            size: size.into(),
            offset: 0.into(),
        });
        if fits
            && whole > bare
            && let Some(file) = self.doorbells.hand_out()
        {
            answer.bytes.extend_from_slice(SparseArea::new(DOORBELLS, DOORBELL_PAGE_BYTES).as_bytes());
            answer.file = Some(file.try_clone_to_owned().map_err(|_| Errno::MFILE)?);
        }
        Ok(answer)
    }

    /// Bytes of a region; 0 where there is none.
    fn bytes(&self, region: PciRegion) -> u64 {
        match region {
            PciRegion::Config => CONFIG_BYTES as u64,
            region => self.bars.get(region.raw() as usize).copied().unwrap_or(0),
        }
    }

    /// Reports an obstacle: in D3hot BARs don't respond.
    fn note_silence(&self, device: &Device, region: PciRegion) {
        if region != PciRegion::Config && !device.answers_memory() {
            self.obstacles.meet(Obstacle::Asleep, || {
                "the client has put the function into D3hot, so its BARs do not answer: it must write D0 to \
                 the power management control \
                 register first"
                    .into()
            });
        }
    }

    fn read(&mut self, device: &Device, access: RegionAccess) -> Result<Answer, Errno> {
        let mut answer = Answer::of(&access);
        for piece in pieces(&access, |region| self.bytes(region))? {
            self.note_silence(device, piece.region);
            let value = match piece.region {
                PciRegion::Config => device.config_read(piece.offset as u16, piece.size).into(),
                bar => self.bar_read(device, bar.raw() as u8, piece.offset, piece.size),
            };
            answer.bytes.extend_from_slice(&value.to_le_bytes()[..usize::from(piece.size)]);
        }
        Ok(answer)
    }

    /// Reads a BAR. While firmware works on the answer, so does the drive; its clock may run a little ahead.
    /// All ones if there is none within [`READ_WITHIN`](aster_device::READ_WITHIN).
    pub(crate) fn bar_read(&mut self, device: &Device, bar: u8, offset: u32, size: u8) -> u64 {
        device.bar_read_with((bar, offset, size), |at| self.step(device, at))
    }

    /// Does everything that is due at `at`, with the transfers that it requests.
    pub(crate) fn step(&mut self, device: &Device, at: Instant) {
        device.advance_to(at);
        self.doorbells.follow(device);
        while let Some(op) = device.next_out() {
            match op {
                LinkOp::Dma { .. } => {
                    let result = if device.is_bus_master() {
                        carry_out(&op, &mut self.memory, device.dram())
                    } else {
                        self.note_no_master();
                        Err(BadAddress(0))
                    };
                    device.done(&op, result);
                }
                LinkOp::Interrupt { vector } => {
                    // The message's address and data matter only to the client.
                    if device.message(vector).is_some() {
                        self.interrupts.raise(vector);
                    }
                }
            }
        }
    }

    /// Reports an obstacle: the drive has work, but the client doesn't let it access memory.
    #[cold]
    fn note_no_master(&self) {
        self.obstacles.meet(Obstacle::BusMaster, || {
            "the client does not let the drive reach memory, so transfers fail: it must set Bus Master \
             Enable, bit 2 of the PCI command \
             register, and leave the function in D0"
                .into()
        });
    }

    fn write(&mut self, device: &Device, access: RegionAccess, data: &[u8]) -> Result<Answer, Errno> {
        for piece in pieces(&access, |region| self.bytes(region))? {
            self.note_silence(device, piece.region);
            let mut value = [0; 8];
            value[..usize::from(piece.size)].copy_from_slice(&data[piece.at..][..usize::from(piece.size)]);
            let value = u64::from_le_bytes(value);
            if piece.region == PciRegion::Config {
                if device.config_write(piece.offset as u16, piece.size, value as u32) {
                    self.interrupts.unmask_again(device);
                }
                continue;
            }
            // A client that writes without end waits, as it would for credits of the link.
            if !device.wait_for_credits(|at| self.step(device, at)) {
                self.obstacles.meet(Obstacle::Deaf, || {
                    "the drive's firmware takes no register writes any more: the client's are lost".into()
                });
                continue;
            }
            let is_doorbell = piece.region == PciRegion::Bar0
                && piece.size == 4
                && self.doorbells.write(device, &self.memory, piece.offset, value as u32);
            if !is_doorbell {
                device.bar_write(piece.region.raw() as u8, piece.offset, piece.size, value);
            }
        }
        Ok(Answer::of(&access))
    }
}

/// Whether a client needs its request to succeed. It doesn't need interrupts other than MSI and MSI-X (QEMU
/// tries to set one for error recovery) or messages that this server doesn't know.
fn is_needed(request: &Request<'_>) -> bool {
    match request {
        Request::Unsupported(_) | Request::IrqInfo(_) => false,
        Request::SetIrqs(set, _) => [PciIrq::Msi.raw(), PciIrq::MsiX.raw()].contains(&set.index.get()),
        _ => true,
    }
}

/// The reply that reports `error`.
fn error_reply(header: &Header, error: Errno) -> Header {
    header.reply_error(error.raw_os_error().unsigned_abs())
}

/// A part of an access that the function takes in one piece.
struct Piece {
    region: PciRegion,
    offset: u32,
    size: u8,
    /// Where in the access's data.
    at: usize,
}

/// Cuts an access into naturally aligned pieces: of a BAR up to eight bytes, of configuration space up to
/// four. `bytes_of` returns the length of a region, 0 for none.
fn pieces(access: &RegionAccess, bytes_of: impl Fn(PciRegion) -> u64) -> Result<Vec<Piece>, Errno> {
    let region = PciRegion::from_raw(access.region.get()).ok_or(Errno::INVAL)?;
    let bytes = bytes_of(region);
    if bytes == 0 {
        return Err(Errno::INVAL);
    }
    let largest = if region == PciRegion::Config { 4 } else { 8 };
    let (offset, count) = (access.offset.get(), u64::from(access.count.get()));
    let end = offset.checked_add(count).filter(|&end| end <= bytes).ok_or(Errno::INVAL)?;
    let (mut pieces, mut from) = (Vec::new(), offset);
    while from < end {
        let mut size = largest;
        while !from.is_multiple_of(size) || from + size > end {
            size /= 2;
        }
        pieces.push(Piece { region, offset: from as u32, size: size as u8, at: (from - offset) as usize });
        from += size;
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_device::Media;
    use aster_device::plug::{POSTED_WRITES, Recorder};
    use aster_device::profile::shipped;
    use aster_units::Duration;
    use aster_wire::nvme::registers::Register;
    use proptest::prelude::*;

    fn access(region: PciRegion, offset: u64, count: u32) -> RegionAccess {
        RegionAccess { offset: offset.into(), region: region.raw().into(), count: count.into() }
    }

    const BAR0_BYTES: u64 = 0x4000;

    fn bytes_of(region: PciRegion) -> u64 {
        match region {
            PciRegion::Bar0 => BAR0_BYTES,
            PciRegion::Bar5 => 16,
            PciRegion::Config => 4096,
            _ => 0,
        }
    }

    #[test]
    fn accesses_outside_a_region_are_refused() {
        for refused in [
            access(PciRegion::Bar5, 8, 16),
            access(PciRegion::Bar0, BAR0_BYTES - 4, 8),
            access(PciRegion::Bar0, u64::MAX, 8),
            access(PciRegion::Config, 4096, 1),
            access(PciRegion::Bar1, 0, 4),
            access(PciRegion::Rom, 0, 0),
        ] {
            assert_eq!(pieces(&refused, bytes_of).err(), Some(Errno::INVAL), "{refused:?}");
        }
    }

    /// A client of a drive whose firmware needs 100 µs for a register access. Its messages come without a
    /// pause, and nothing but them lets the drive work.
    #[test]
    fn a_client_that_writes_without_end_waits_and_no_write_is_lost() {
        for packets in [false, true] {
            let mut profile = shipped("softssd-small").unwrap();
            profile.host.register_packets = packets;
            profile.costs.nvme_register = 120_000;
            let recorder = Recorder::default();
            let device = Device::power_on("live", &profile, None, Media::fresh(), &recorder).unwrap();
            // Memory Space and Bus Master Enable.
            device.config_write(0x04, 2, 0x0006);
            let mut session = Session::new(&device).unwrap();
            let (mut most, began) = (0, device.now());
            for n in 0..3_000u32 {
                let queues = access(PciRegion::Bar0, Register::AdminQueueAttributes.offset(), 4);
                session.write(&device, queues, &(n % 4_000).to_le_bytes()).unwrap();
                most = most.max(device.register_writes());
            }
            assert!(most <= POSTED_WRITES, "packets {packets}: {most}");
            let took = device.now().since(began);
            assert!(took > Duration::from_millis(280), "packets {packets}: {took} for 3,000");
            let last = session.bar_read(&device, 0, Register::AdminQueueAttributes.offset() as u32, 4);
            assert_eq!(last, 2_999, "packets {packets}");
            assert!(session.obstacles.take().is_empty());
        }
    }

    proptest! {
        #[test]
        fn pieces_are_aligned_and_cover_the_access(bar: bool, offset in 0..4200u64, count in 0..300u32) {
            let region = if bar { PciRegion::Bar0 } else { PciRegion::Config };
            let Ok(pieces) = pieces(&access(region, offset, count), bytes_of) else {
                prop_assert!(!bar && offset + u64::from(count) > 4096);
                return Ok(());
            };
            let mut next = offset;
            for piece in &pieces {
                let size = u64::from(piece.size);
                prop_assert_eq!((u64::from(piece.offset), piece.at as u64), (next, next - offset));
                prop_assert!(next.is_multiple_of(size) && matches!(size, 1 | 2 | 4) || bar && size == 8);
                next += size;
            }
            prop_assert_eq!(next, offset + u64::from(count));
        }
    }
}
