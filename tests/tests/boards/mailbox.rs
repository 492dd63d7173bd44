//! A front end that isn't NVMe on a whole drive of ours: its host finds, uses and resets it, and it is
//! served live.

use aster_device::plug::{
    BarKind, BarRead, BarSpec, FrontEnd, FrontEndNeeds, FrontEndPiece, FrontEndPorts, FunctionSpec,
    MediaHealth, PieceError,
};
use aster_device::{Device, History, Media, Pieces, Profile, namespace, namespace_with};
use aster_events::Recorder;
use aster_exec::{Exec, Ring};
use aster_ports::link::{BadAddress, HostMemory, LinkOp, carry_out};
use aster_run_live::Pace;
use aster_run_virtual::{Machine, RunError};
use aster_tests::live::{Here, Memory as MemoryKind};
use aster_tests::mailbox::{
    BOX_BYTES, BOXES_BAR, DRIVE_BAR, MailboxPiece, command, pieces, register, status,
};
use aster_tests::{config, machine, profile};
use aster_units::{Content, Duration, Instant};
use aster_wire::nvme::admin::SecureErase;
use aster_wire::pcie::{Bar, CAPABILITIES_BEGIN, CapabilityId};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use std::os::fd::AsRawFd;
use std::rc::Rc;
use vfio_user::Client;
use vm_memory::{Bytes, FileOffset, MmapRegion, VolatileMemory};

const BOXES: u32 = 4;
/// Bytes of most requests: pages of `tiny` and parts of them.
const BYTES: u32 = 40 << 10;
/// Simulated time within which everything must end.
const PATIENCE: Duration = Duration::from_millis(2_000);

/// `tiny` behind a mailbox.
fn with_mailbox() -> Profile {
    profile("tiny", |p| {
        (p.geometry.channels, p.geometry.ways, p.geometry.luns) = (1, 1, 2);
        p.host.front_end = "mailbox".to_owned();
        p.own = Some([("boxes".to_owned(), i64::from(BOXES).into())].into_iter().collect());
    })
}

/// Memory of the host, from address 0 on.
struct Memory(Vec<u8>);

impl HostMemory for Memory {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), BadAddress> {
        let found = self.0.get(address as usize..).and_then(|rest| rest.get(..into.len()));
        into.copy_from_slice(found.ok_or(BadAddress(address))?);
        Ok(())
    }
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), BadAddress> {
        let found = self.0.get_mut(address as usize..).and_then(|rest| rest.get_mut(..from.len()));
        found.ok_or(BadAddress(address))?.copy_from_slice(from);
        Ok(())
    }
}

/// Configuration space.
const COMMAND: u16 = 0x04;
const BARS: u16 = 0x10;
const CAPABILITIES: u16 = 0x34;
const DEVICE_CONTROL: u16 = 0x58;
const FUNCTION_LEVEL_RESET: u32 = 0x8000;

/// The drive, and a host that has found it.
struct Host {
    device: Device,
    memory: Memory,
    /// The MSI capability.
    msi: u16,
    /// Messages that have arrived.
    messages: Vec<(u64, u32)>,
}

const MESSAGE: (u64, u32) = (0xfee0_0000, 0x4021);

impl Host {
    fn on(media: Media) -> Self {
        Self::with(pieces(), media)
    }
    fn with(pieces: Pieces, media: Media) -> Self {
        let (profile, recorder) = (with_mailbox(), Recorder::default());
        let device =
            Device::power_on_with(pieces, "mailbox", &profile, Some(Content::Full), media, &recorder)
                .unwrap_or_else(|e| panic!("power-on: {e}"));
        let mut host = Host { device, memory: Memory(vec![0; 1 << 20]), msi: 0, messages: Vec::new() };
        host.msi = host.find(CapabilityId::Msi).expect("it interrupts by MSI");
        host.enable();
        host
    }
    /// A capability's offset, found by the list to which the header points.
    fn find(&self, wanted: CapabilityId) -> Option<u16> {
        let mut at = self.device.config_read(CAPABILITIES, 1) as u16;
        while at >= u16::from(CAPABILITIES_BEGIN) {
            if self.device.config_read(at, 1) == u32::from(wanted.raw()) {
                return Some(at);
            }
            at = self.device.config_read(at + 1, 1) as u16;
        }
        None
    }
    /// Enables Memory Space and Bus Master and sets the MSI message. A reset clears all of them.
    fn enable(&self) {
        self.device.config_write(COMMAND, 2, 0x0006);
        self.device.config_write(self.msi + 0x04, 4, MESSAGE.0 as u32);
        self.device.config_write(self.msi + 0x0c, 2, MESSAGE.1);
        self.device.config_write(self.msi + 0x02, 2, 1);
    }

    fn step(&mut self, until: Instant) -> bool {
        let Some(at) = self.device.next_deadline().filter(|&at| at <= until) else { return false };
        self.device.advance_to(at);
        while let Some(op) = self.device.next_out() {
            match op {
                LinkOp::Dma { .. } => {
                    assert!(self.device.is_bus_master(), "DMA that the host has not allowed: {op:?}");
                    let moved = carry_out(&op, &mut self.memory, self.device.dram());
                    self.device.done(&op, moved);
                }
                LinkOp::Interrupt { vector } => self.messages.extend(self.device.message(vector)),
            }
        }
        true
    }
    fn run_for(&mut self, duration: Duration) {
        let until = self.device.now() + duration;
        while self.step(until) {}
        self.device.catch_up(until);
    }
    fn run_until(&mut self, what: &str, mut done: impl FnMut(&Self) -> bool) {
        let until = self.device.now() + PATIENCE;
        while !done(self) {
            assert!(self.step(until), "{what}: not within {PATIENCE:?}");
        }
    }

    /// Sends a command to a box. Its data begins at `address` in host memory.
    fn ask(&self, id: u32, what: u32, address: u64, offset: u64, length: u32) {
        let write = |at, size, value| self.device.bar_write(BOXES_BAR, id * BOX_BYTES + at, size, value);
        write(register::ADDRESS, 8, address);
        write(register::OFFSET, 8, offset);
        write(register::LENGTH, 4, length.into());
        write(register::COMMAND, 4, what.into());
    }
    fn status(&self, id: u32) -> u32 {
        self.device.bar_read(BOXES_BAR, id * BOX_BYTES + register::STATUS, 4) as u32
    }
    /// Sends a command and waits for the message that announces its end.
    fn carry_out(&mut self, id: u32, what: u32, address: u64, offset: u64, length: u32) -> u32 {
        let before = self.messages.len();
        self.ask(id, what, address, offset, length);
        self.run_until("a request", |host| host.messages.len() > before);
        self.status(id)
    }
    /// Writes [`content`], or reads and compares it.
    fn transfer(&mut self, what: u32, place: u64, version: u8) {
        let (address, offset) = (0x2_0000, place * u64::from(BYTES));
        let expected = content(place, version);
        let fill = if what == command::WRITE { expected.clone() } else { vec![0xee; BYTES as usize] };
        self.memory.write(address, &fill).unwrap();
        assert_eq!(self.carry_out(0, what, address, offset, BYTES), status::DONE, "{what} of {place}");
        assert!(self.memory.0[address as usize..][..BYTES as usize] == expected, "content of {place}");
    }
}

fn content(place: u64, version: u8) -> Vec<u8> {
    (0..BYTES / 8)
        .flat_map(|i| (u64::from(i) << 32 | place << 8 | u64::from(version)).to_le_bytes())
        .collect()
}

#[test]
fn a_host_finds_the_function_and_its_bars_by_configuration_space() {
    let host = Host::on(Media::fresh());
    let device = &host.device;
    assert_eq!((device.config_read(0, 4), device.config_read(8, 4)), (0x0b0c_1d1d, 0x0180_0007));
    let probe = |bar: u16| {
        device.config_write(BARS + 4 * bar, 4, u32::MAX);
        device.config_read(BARS + 4 * bar, 4)
    };
    assert_eq!(Bar::size_from_probe(probe(0), probe(1)), Some(1024));
    assert_eq!(Bar::size_from_probe(probe(2), 0), Some(16));
    assert_eq!([probe(3), probe(4), probe(5)], [0; 3], "there are no more");
    assert_eq!(host.find(CapabilityId::MsiX), None);
    assert!(
        host.find(CapabilityId::PowerManagement).is_some() && host.find(CapabilityId::PciExpress).is_some()
    );
    let capacity = device.bar_read(DRIVE_BAR, register::CAPACITY, 8);
    assert!(capacity > 1 << 20 && capacity.is_multiple_of(4096), "{capacity}");
    assert_eq!(device.bar_read(DRIVE_BAR, 16, 4), u64::MAX, "beyond its end");
    assert_eq!(device.bar_read(1, 0, 4), u64::MAX, "the upper half of BAR0 is no BAR");
}

#[test]
fn requests_move_bytes_by_dma_and_each_ends_with_a_message() {
    let mut host = Host::on(Media::fresh());
    for version in 1..3 {
        (0..40).for_each(|place| host.transfer(command::WRITE, place, version));
        (0..40).for_each(|place| host.transfer(command::READ, place, version));
    }
    assert_eq!(host.carry_out(1, command::FLUSH, 0, 0, 0), status::DONE);
    assert_eq!((host.messages.len(), host.device.completed()), (161, 161));
    assert!(host.messages.iter().all(|message| *message == MESSAGE), "{:?}", host.messages);
    let stats = host.device.stats();
    assert_eq!((stats.ftl.host_bytes_written, stats.ftl.commands), (80 * u64::from(BYTES), 161));
    assert!(stats.nand.programs > 0 && stats.link.interrupts == 161, "{:?}", stats.nand);

    let capacity = host.device.bar_read(DRIVE_BAR, register::CAPACITY, 8);
    for (what, offset, length) in [
        (9, 0, 4096),
        (command::READ, capacity, 4096),
        (command::READ, u64::MAX, 4096),
        (command::WRITE, 0, 512),
    ] {
        assert_eq!(host.carry_out(2, what, 0, offset, length), status::REFUSED);
    }
    assert_eq!(host.carry_out(2, command::READ, u64::MAX - 8191, 0, 8192), status::FAILED, "no such memory");
    assert_eq!(host.device.config_read(0x06, 2) & 0x2000, 0x2000, "received master abort");
}

#[test]
fn a_message_behind_the_mask_bit_is_pending_until_the_host_clears_it() {
    let mut host = Host::on(Media::fresh());
    let (mask, pending) = (host.msi + 0x10, host.msi + 0x14);
    host.device.config_write(mask, 4, u32::MAX);
    assert_eq!(host.device.config_read(mask, 4), 1, "one vector");
    host.ask(0, command::FLUSH, 0, 0, 0);
    host.run_until("the flush", |host| host.status(0) == status::DONE);
    host.run_for(Duration::from_micros(10));
    assert_eq!((host.messages.len(), host.device.config_read(pending, 4)), (0, 1));
    host.device.config_write(mask, 4, 0);
    host.run_for(Duration::from_micros(10));
    assert_eq!((&*host.messages, host.device.config_read(pending, 4)), (&[MESSAGE][..], 0));
    host.device.config_write(host.msi + 0x02, 2, 0);
    host.ask(0, command::FLUSH, 0, 0, 0);
    host.run_until("another", |host| host.status(0) == status::DONE);
    host.run_for(Duration::from_micros(10));
    assert_eq!(host.messages.len(), 1, "MSI is off");
}

#[test]
fn a_function_reset_in_mid_flight_leaves_the_host_alone_and_the_drive_usable() {
    // Resets at many moments: while commands, data in either direction, or messages are in flight.
    let mut caught = 0;
    for step in 0..24 {
        let mut host = Host::on(Media::fresh());
        (0..8).for_each(|place| host.transfer(command::WRITE, place, 1));
        host.carry_out(0, command::FLUSH, 0, 0, 0);
        let told = host.messages.len();
        for id in 0..BOXES {
            let what = if id % 2 == 0 { command::READ } else { command::WRITE };
            host.ask(id, what, u64::from(id) * 0x1_0000, (4 + u64::from(id)) * u64::from(BYTES), BYTES);
        }
        host.run_for(Duration::from_micros(4) * step);
        let done = host.messages.len() - told;
        caught += host.device.commands_in_flight();
        host.device.config_write(DEVICE_CONTROL, 2, FUNCTION_LEVEL_RESET);
        let before = host.memory.0.clone();
        assert_eq!(host.device.config_read(COMMAND, 2), 0);
        // The old commands end without any effect on the host.
        host.device.config_write(COMMAND, 2, 0x0006);
        host.run_until("the old commands", |host| host.device.commands_in_flight() == 0);
        host.run_for(Duration::from_micros(50));
        assert!(host.memory.0 == before, "step {step}: host memory has changed after the reset");
        assert_eq!(host.messages.len() - told, done, "step {step}");
        assert_eq!((0..BOXES).map(|id| host.status(id)).collect::<Vec<_>>(), [status::IDLE; 4]);
        host.enable();
        (0..4).for_each(|place| host.transfer(command::READ, place, 1));
        (5..8).for_each(|place| host.transfer(command::WRITE, place, 2));
        (5..8).for_each(|place| host.transfer(command::READ, place, 2));
    }
    assert!(caught > 24, "{caught} commands were in flight");
}

#[test]
fn what_was_flushed_outlasts_a_power_cut_at_any_moment() {
    let mut host = Host::on(Media::fresh());
    for cut in 0..8 {
        assert_eq!(host.device.bar_read(DRIVE_BAR, register::POWER_ONS, 4), cut + 1, "kept in NVRAM");
        (0..12).for_each(|place| host.transfer(command::WRITE, place, cut as u8 + 1));
        assert_eq!(host.carry_out(0, command::FLUSH, 0, 0, 0), status::DONE);
        // More requests, for other places, are in flight.
        for id in 0..BOXES {
            host.ask(id, command::WRITE, 0, (20 + u64::from(id)) * u64::from(BYTES), BYTES);
        }
        host.run_for(Duration::from_micros(37) * cut);
        host = Host::on(host.device.power_off());
        (0..12).for_each(|place| host.transfer(command::READ, place, cut as u8 + 1));
    }
}

#[test]
fn a_front_end_that_the_drive_cannot_have_is_refused_by_its_key() {
    let refusal = |pieces: &Pieces, profile: &Profile| {
        aster_device::check_with(pieces, profile, None).expect_err("it is no drive").blame()
    };
    let (key, reason) = refusal(&Pieces::default(), &with_mailbox());
    let ours = "must be one of \"message-unit\", \"nvme\", \"nvme-software\", but is \"mailbox\"";
    assert_eq!((&*key, &*reason), ("host.front_end", ours));
    let mut none = with_mailbox();
    none.own = Some([("boxes".to_owned(), 0.into())].into_iter().collect());
    let (key, reason) = refusal(&pieces(), &none);
    assert_eq!((&*key, &*reason), ("own.boxes", "must be 1 to 32, but is 0"));
    let mut nvme = with_mailbox();
    nvme.host.front_end = "nvme".to_owned();
    assert_eq!(refusal(&pieces(), &nvme).0, "own", "nobody reads it");

    /// The mailbox with a BAR of an impossible size.
    struct Odd(MailboxPiece);
    impl FrontEndPiece for Odd {
        fn needs(&self) -> FrontEndNeeds {
            self.0.needs()
        }
        fn function(&self) -> FunctionSpec {
            let odd = BarSpec { register: 0, kind: BarKind::Memory32, prefetchable: false, bytes: 100 };
            FunctionSpec { bars: vec![odd], ..self.0.function() }
        }
        fn start(self: Box<Self>, ports: FrontEndPorts) -> Result<Rc<dyn FrontEnd>, PieceError> {
            Box::new(self.0).start(ports)
        }
    }
    let odd = Pieces::default().front_end("mailbox", |_, facts| {
        Ok(Box::new(Odd(MailboxPiece { boxes: 1, capacity: facts.capacity_bytes })))
    });
    let (key, reason) = refusal(&odd, &with_mailbox());
    assert!(key == "host.front_end" && reason.contains("BAR0: a BAR of 100 bytes"), "{reason}");
}

#[test]
fn a_host_with_an_nvme_driver_does_not_take_it_for_nvme() {
    let (profile, recorder) = (with_mailbox(), Recorder::default());
    let config = config(&profile);
    let machine =
        Machine::power_on_with(pieces(), "mailbox", &profile, None, Media::fresh(), &recorder, config)
            .unwrap();
    assert!(matches!(machine.boot(), Err(RunError::Enumeration)));
    assert!(!machine.device().is_nvme() && machine.device().doorbells().is_empty());
    assert_eq!(machine.device().history(), History::default(), "nobody counts it");
}

/// A vfio-user client finds the regions and the interrupt that the function reports, and uses them.
#[test]
fn the_function_is_served_over_vfio_user_as_it_is() {
    const MSI: u32 = 1;
    const MSIX: u32 = 2;
    const CONFIG: u32 = 7;
    /// `VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER`.
    const EVENTFD_TRIGGER: u32 = 1 << 2 | 1 << 5;
    const MEMORY_BYTES: u64 = 1 << 20;
    let mut here = Here::start(pieces(), &with_mailbox(), Pace::Fast);
    here.meet(|socket| {
        let mut client = Client::new(socket).expect("the server answers");
        let sizes = (0..6).map(|bar| client.region(bar).map_or(0, |region| region.size));
        assert_eq!(sizes.collect::<Vec<_>>(), [1024, 0, 16, 0, 0, 0]);
        assert!(client.region(0).is_some_and(|region| region.file_offset.is_none()), "nothing to map");
        assert_eq!(
            (client.get_irq_info(MSI).unwrap().count, client.get_irq_info(MSIX).unwrap().count),
            (1, 0)
        );

        let file = MemoryKind::Sealed.file(MEMORY_BYTES).expect("memory");
        let mapped = FileOffset::new(file.try_clone().unwrap().into(), 0);
        let memory = MmapRegion::<()>::from_file(mapped, MEMORY_BYTES as usize).unwrap();
        let memory = memory.as_volatile_slice();
        client.dma_map(0, 0, MEMORY_BYTES, file.as_raw_fd()).unwrap();
        let event = eventfd(0, EventfdFlags::empty()).unwrap();
        client.set_irqs(MSI, EVENTFD_TRIGGER, 0, 1, &[event.as_raw_fd()]).unwrap();
        // Enables Bus Master, and MSI at the offset in the capability list.
        client.region_write(CONFIG, COMMAND.into(), &[6, 0]).unwrap();
        client.region_write(CONFIG, 0x92, &[1, 0]).unwrap();

        let mut ask = |what: u32, address: u64| {
            let bar = BOXES_BAR.into();
            client.region_write(bar, register::ADDRESS.into(), &address.to_le_bytes()).unwrap();
            client.region_write(bar, register::OFFSET.into(), &0x1_0000u64.to_le_bytes()).unwrap();
            client.region_write(bar, register::LENGTH.into(), &BYTES.to_le_bytes()).unwrap();
            client.region_write(bar, register::COMMAND.into(), &what.to_le_bytes()).unwrap();
            // This client waits only for the message.
            poll(&mut [PollFd::new(&event, PollFlags::IN)], None).unwrap();
            let mut told = [0; 8];
            rustix::io::read(&event, &mut told).unwrap();
            let mut found = [0; 4];
            client.region_read(bar, register::STATUS.into(), &mut found).unwrap();
            assert_eq!((u64::from_ne_bytes(told), u32::from_le_bytes(found)), (1, status::DONE));
        };
        memory.write_slice(&content(3, 7), 0x1_0000).unwrap();
        ask(command::WRITE, 0x1_0000);
        ask(command::READ, 0x4_0000);
        let mut back = vec![0; BYTES as usize];
        memory.read_slice(&mut back, 0x4_0000).unwrap();
        assert!(back == content(3, 7));
    });
    assert_eq!(here.device().completed(), 2);
    here.stop().expect("there is nobody to tell of a shutdown");
}

/// Our NVMe controller keeps the block size of a format in NVRAM. That part of the NVRAM belongs to another
/// front end, if there is one, whatever its name.
#[test]
fn a_block_size_that_was_kept_is_read_for_our_front_end_alone() {
    let nvme = profile("tiny", |p| (p.geometry.channels, p.geometry.ways, p.geometry.luns) = (1, 1, 2));
    let before = namespace(&nvme, None, None).unwrap().1;
    let m = machine(&nvme, None, Media::fresh(), &Recorder::default());
    let driver = m.driver().clone();
    let other = u8::from(before == 512);
    m.block_on("formatting", async move { driver.format(other, SecureErase::None).await }).unwrap().unwrap();
    let media = m.shut_down().unwrap();
    let block_size =
        |pieces: &Pieces, profile: &Profile| namespace_with(pieces, profile, None, Some(&media)).unwrap().1;
    assert_ne!(block_size(&Pieces::default(), &nvme), before);
    assert_eq!(block_size(&pieces(), &with_mailbox()), before);
    let replaced = Pieces::default().front_end("nvme", |_, facts| {
        Ok(Box::new(MailboxPiece { boxes: 1, capacity: facts.capacity_bytes }))
    });
    assert_eq!(block_size(&replaced, &nvme), before);
}

/// A mailbox in firmware: a task on the translation's core spends cycles on each register write before the
/// mailbox sees it.
struct InFirmware {
    mailbox: MailboxPiece,
    cycles: u64,
}

struct Firmware {
    mailbox: Rc<dyn FrontEnd>,
    exec: Exec,
    written: Ring<(u8, u32, u8, u64)>,
}

impl FrontEndPiece for InFirmware {
    fn needs(&self) -> FrontEndNeeds {
        FrontEndNeeds { core: true, ..self.mailbox.needs() }
    }
    fn function(&self) -> FunctionSpec {
        self.mailbox.function()
    }
    fn start(self: Box<Self>, ports: FrontEndPorts) -> Result<Rc<dyn FrontEnd>, PieceError> {
        let InFirmware { mailbox, cycles } = *self;
        let (exec, core) = (ports.exec.clone(), ports.core.clone().expect("asked for"));
        let mailbox = Box::new(mailbox).start(ports)?;
        let front = Rc::new(Firmware { mailbox, exec, written: Ring::new(64) });
        let firmware = Rc::clone(&front);
        let on = core.clone();
        core.spawn(async move {
            loop {
                let (bar, offset, size, value) = firmware.written.pop(&firmware.exec).await;
                on.charge(cycles);
                on.settle().await;
                firmware.mailbox.write(bar, offset, size, value);
            }
        });
        Ok(front)
    }
}

impl FrontEnd for Firmware {
    fn read(&self, bar: u8, offset: u32, size: u8) -> BarRead {
        self.mailbox.read(bar, offset, size)
    }
    fn write(&self, bar: u8, offset: u32, size: u8, value: u64) {
        self.written.try_push(&self.exec, (bar, offset, size, value)).expect("there is room");
    }
    fn function_reset(&self) {
        self.mailbox.function_reset();
    }
    fn completed(&self) -> u64 {
        self.mailbox.completed()
    }
    fn commands_in_flight(&self) -> usize {
        self.mailbox.commands_in_flight()
    }
    fn media_changed(&self, media: MediaHealth) {
        self.mailbox.media_changed(media);
    }
}

/// S15: NVMe in software shares the translation's core.
#[test]
fn a_front_end_in_firmware_gets_the_translations_core_and_its_commands_pay_for_its_cycles() {
    let took = |cycles| {
        let own = Pieces::default().front_end("mailbox", move |_, facts| {
            let mailbox = MailboxPiece { boxes: 1, capacity: facts.capacity_bytes };
            Ok(Box::new(InFirmware { mailbox, cycles }))
        });
        let mut host = Host::with(own, Media::fresh());
        // While the drive boots, commands wait.
        host.run_for(Duration::from_millis(500));
        let began = host.device.now();
        assert_eq!(host.carry_out(0, command::READ, 0x2_0000, 0, 4096), status::DONE);
        host.device.now().since(began)
    };
    // A command is four register writes. A cycle is a nanosecond.
    assert_eq!(with_mailbox().cores.frequency_mhz, 1_000.0);
    assert_eq!(took(1_000) - took(0), Duration::from_micros(4));
}
