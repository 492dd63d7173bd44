//! A target over a drive that knows no NVMe: what the host sees is an NVMe drive, whose commands the target
//! carries out by the registers, DMA and messages of the drive below.

use aster_device::plug::{
    CommandPort, Completion, Core, DmaDirection, DmaPart, DmaRequest, DriveFunction, DriveState, Exec,
    Function, HostCommand, HostMemory, HostOp, HostStatus, MediaState, PieceError, Promises, TargetMemory,
    TargetNeeds, TargetPiece, TargetPorts, TargetView, TranslationStats, TranslationView, WaitQueue,
};
use aster_device::profile::TargetProfile;
use aster_device::{Device, Media, Pieces, Profile, least_command, namespace_with};
use aster_driver::{Config, QueueId};
use aster_events::Recorder;
use aster_run_live::Pace;
use aster_run_virtual::Machine;
use aster_tests::live::{Here, Host, Ring, transfer};
use aster_tests::mailbox::{self, BOX_BYTES, BOXES_BAR, DRIVE_BAR, command, register, status};
use aster_tests::{config, drive, job, profile, run, versioned};
use aster_units::{BufferId, Content, Duration, Lpn, Ppa};
use aster_wire::pcie::{CAPABILITIES_BEGIN, CapabilityId};
use aster_workload::{Access, Job, Mix};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Boxes of the drive; each has a worker of the target and a page buffer.
const BOXES: u32 = 4;
const MESSAGE: (u64, u32) = (0xfee0_0000, 0x4021);

/// A target that passes each command on to a box, in pieces of a page.
struct Boxes {
    bytes: u64,
    page_bytes: u32,
}

struct Running {
    exec: Exec,
    commands: Rc<CommandPort>,
    function: Rc<dyn DriveFunction>,
    memory: RefCell<TargetMemory>,
    ended: WaitQueue,
    page_bytes: u32,
    command_cycles: u64,
    state: Cell<DriveState>,
    error: RefCell<Option<String>>,
    stats: Cell<TranslationStats>,
}

impl TargetPiece for Boxes {
    fn needs(&self) -> TargetNeeds {
        TargetNeeds { data_buffers: BOXES, nvram_bytes: 8, ..TargetNeeds::default() }
    }
    fn capacity_bytes(&self) -> u64 {
        self.bytes
    }
    fn start(self: Box<Self>, ports: TargetPorts) -> Result<Rc<dyn TargetView>, PieceError> {
        let TargetPorts { core, commands, command_cycles, buffers, nvram, function, .. } = ports;
        let mut power_ons = [0; 8];
        nvram.read(0, &mut power_ons);
        nvram.write(0, &(u64::from_le_bytes(power_ons) + 1).to_le_bytes());
        let running = Rc::new(Running {
            exec: core.exec().clone(),
            commands,
            function,
            memory: RefCell::new(TargetMemory::new(0, &buffers)),
            ended: WaitQueue::with_capacity(BOXES as usize),
            page_bytes: self.page_bytes,
            command_cycles,
            state: Cell::new(DriveState::Booting),
            error: RefCell::new(None),
            stats: Cell::default(),
        });
        let (boot, bytes) = (Rc::clone(&running), self.bytes);
        let its_core = core.clone();
        core.spawn(async move {
            if let Err(error) = boot.bring_up(bytes) {
                *boot.error.borrow_mut() = Some(error);
                boot.state.set(DriveState::Failed);
                return;
            }
            // A command of a host before may still be in work, of which no message tells.
            while (0..BOXES).any(|id| boot.status_of(id) == status::BUSY) {
                boot.exec.sleep(Duration::from_micros(10)).await;
            }
            boot.state.set(DriveState::Ready);
            for id in 0..BOXES {
                let (worker, core) = (Rc::clone(&boot), its_core.clone());
                its_core.spawn(async move { worker.work(id, &core).await });
            }
        });
        Ok(running)
    }
}

impl Running {
    fn bring_up(&self, bytes: u64) -> Result<(), String> {
        let function = &self.function;
        let mut msi = function.config_read(0x34, 1) as u16;
        while function.config_read(msi, 1) != u32::from(CapabilityId::Msi.raw()) {
            if msi < u16::from(CAPABILITIES_BEGIN) {
                return Err("the drive has no MSI".to_owned());
            }
            msi = function.config_read(msi + 1, 1) as u16;
        }
        function.config_write(0x04, 2, 0x0006);
        function.config_write(msi + 0x04, 4, MESSAGE.0 as u32);
        function.config_write(msi + 0x0c, 2, MESSAGE.1);
        function.config_write(msi + 0x02, 2, 1);
        let has = function.bar_read(DRIVE_BAR, register::CAPACITY, 8);
        if has >= bytes { Ok(()) } else { Err(format!("{bytes} bytes are wanted of a drive of {has}")) }
    }

    fn status_of(&self, id: u32) -> u32 {
        self.function.bar_read(BOXES_BAR, id * BOX_BYTES + register::STATUS, 4) as u32
    }

    async fn work(&self, id: u32, core: &Core) {
        loop {
            let command = self.commands.next_command().await;
            core.charge(self.command_cycles);
            core.settle().await;
            let status = self.serve(id, &command).await;
            self.commands.complete(Completion::new(command.id, status));
        }
    }
    async fn serve(&self, id: u32, command: &HostCommand) -> HostStatus {
        let (asked, direction) = match command.op {
            HostOp::Read => (command::READ, DmaDirection::ToHost),
            HostOp::Write => (command::WRITE, DmaDirection::FromHost),
            HostOp::Flush | HostOp::Shutdown => return self.ask(id, command::FLUSH, 0, 0).await,
            _ => return HostStatus::Refused,
        };
        for done in (0..command.length).step_by(self.page_bytes as usize) {
            let length = (command.length - done).min(self.page_bytes.into()) as u32;
            let dma = DmaRequest {
                command: command.id,
                direction,
                part: DmaPart::Data,
                offset: done as u32,
                buffer: BufferId(id),
                buffer_offset: 0,
                length,
                after: None,
            };
            if asked == command::WRITE && self.commands.dma(dma).await.is_err() {
                return HostStatus::DataTransfer;
            }
            match self.ask(id, asked, command.offset + done, length).await {
                HostStatus::Success => {}
                failed => return failed,
            }
            if asked == command::READ && self.commands.dma(dma).await.is_err() {
                return HostStatus::DataTransfer;
            }
        }
        HostStatus::Success
    }
    /// Sends a command to a box, whose data are in the buffer of that number, and waits for its end.
    async fn ask(&self, id: u32, what: u32, offset: u64, length: u32) -> HostStatus {
        let at = id * BOX_BYTES;
        let address = self.memory.borrow().address_of(BufferId(id), 0);
        self.function.bar_write(BOXES_BAR, at + register::ADDRESS, 8, address);
        self.function.bar_write(BOXES_BAR, at + register::OFFSET, 8, offset);
        self.function.bar_write(BOXES_BAR, at + register::LENGTH, 4, length.into());
        self.function.bar_write(BOXES_BAR, at + register::COMMAND, 4, what.into());
        let ended = || Some(self.status_of(id)).filter(|&status| status != status::BUSY);
        match self.ended.wait(&self.exec, ended).await {
            status::DONE => HostStatus::Success,
            _ => HostStatus::WriteFault,
        }
    }
}

impl TranslationView for Running {
    fn state(&self) -> DriveState {
        self.state.get()
    }
    fn boot_error(&self) -> Option<String> {
        self.error.borrow().clone()
    }
    fn stats(&self) -> TranslationStats {
        TranslationStats { state: self.state.get(), ..self.stats.get() }
    }
    fn promises(&self) -> Promises {
        Promises { flush: true, fua: false, trim: false }
    }
    fn watch_media(&self, _: Box<dyn Fn(MediaState)>) {}
    fn location_of(&self, _: Lpn) -> Option<Ppa> {
        None
    }
    fn functions(&self) -> Vec<Function> {
        Vec::new()
    }
}

impl TargetView for Running {
    fn interrupt(&self, address: u64, data: u32) {
        assert_eq!((address, data), MESSAGE, "the message that was set up");
        self.ended.wake_all(&self.exec);
    }
    fn memory(&self) -> &RefCell<dyn HostMemory> {
        &self.memory
    }
}

fn pieces() -> Pieces {
    mailbox::pieces().target("boxes", |_, facts| {
        let page_bytes = facts.geometry.page_bytes;
        // The drive keeps more than half of its flash for its own needs.
        let g = &facts.geometry;
        let pages = u64::from(g.total_luns() * g.blocks_per_lun) * u64::from(g.pages_per_block) / 2;
        Ok(Box::new(Boxes { bytes: pages * u64::from(page_bytes), page_bytes }))
    })
}

/// `tiny` behind a mailbox, with a target that makes blocks of it.
fn with_target(command_ns: Option<u32>) -> Profile {
    profile("tiny", |p| {
        (p.geometry.channels, p.geometry.ways, p.geometry.luns) = (1, 1, 2);
        p.host.front_end = "mailbox".to_owned();
        p.host.block_bytes = 4096;
        p.own = Some([("boxes".to_owned(), i64::from(BOXES).into())].into_iter().collect());
        p.target = Some(TargetProfile { kind: "boxes".to_owned(), command_ns, ..TargetProfile::default() });
    })
}

fn machine(profile: &Profile, content: Content, media: Media) -> Machine {
    let recorder = Recorder::default();
    let config = Config { depth: 16, ..config(profile) };
    let machine =
        Machine::power_on_with(pieces(), "targets", profile, Some(content), media, &recorder, config)
            .unwrap_or_else(|e| panic!("power-on: {e}"));
    machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
    machine
}

fn random(requests: u64, mix: Mix) -> Job {
    job("random", Access::Random, mix, 8192, requests)
}
fn everything(machine: &Machine) -> Job {
    let requests = drive(machine).bytes.div_ceil(64 << 10);
    job("everything", Access::Sequential, Mix::Read, 64 << 10, requests)
}

#[test]
fn a_host_writes_and_reads_blocks_through_a_drive_that_has_no_nvme() {
    for content in [Content::Full, Content::Fingerprint] {
        let profile = with_target(None);
        let first = machine(&profile, content, Media::fresh());
        let below = first.device().below().expect("the drive");
        assert!(first.device().is_nvme() && !below.is_nvme());
        let ids = |device: &Device| device.function().ids.device;
        assert_eq!((ids(first.device()), ids(&below)), (0xa57e, 0x0b0c));
        let (bytes, block) = namespace_with(&pieces(), &profile, Some(content), None).unwrap();
        assert_eq!((drive(&first).bytes, drive(&first).block_bytes), (bytes, block));
        let contents = run(&first, &[random(400, Mix::ReadWrite)], versioned(&first));
        let stats = first.device().stats();
        assert!(below.completed() > 400 && stats.nand.programs > 50, "{:?}", stats.nand);
        drop(below);
        let media = first.shut_down().unwrap();
        let second = machine(&profile, content, media);
        run(&second, &[everything(&second), random(200, Mix::ReadWrite)], contents);
    }
}

/// Writes, flushes, and loses power at a moment of the reads that follow: drive and host, or the host alone.
#[test]
fn what_was_flushed_is_there_after_a_cut_of_the_host_or_of_both() {
    let profile = with_target(Some(700));
    let mut now = machine(&profile, Content::Full, Media::fresh());
    let mut contents = versioned(&now);
    let mut alone = 0;
    for round in 0..30 {
        let write = Job { seed: round, ..random(30, Mix::Write) };
        let flush = Job { flush_every: 1, ..random(1, Mix::Write) };
        contents = run(&now, &[write, flush], contents);
        let driver = Rc::clone(now.driver());
        now.host().spawn(async move {
            let mut page = vec![0; 4096];
            for lba in 0.. {
                driver.read(QueueId(1), lba % 64, &mut page).await.unwrap();
            }
        });
        for _ in 0..7 * round {
            assert!(now.step());
        }
        let before = now.now();
        now = if round % 3 == 0 {
            machine(&profile, Content::Full, now.cut_power())
        } else {
            alone += 1;
            let drive = now.cut_host().expect("there is a target");
            let config = Config { depth: 16, ..config(&profile) };
            let next = Machine::power_on_over(pieces(), "targets", &profile, drive, config)
                .unwrap_or_else(|e| panic!("power-on: {e}"));
            next.boot().unwrap_or_else(|e| panic!("boot: {e}"));
            assert!(next.now() > before, "the drive's clock goes on");
            next
        };
        contents = run(&now, &[everything(&now)], contents);
    }
    assert_eq!(alone, 20);
}

#[test]
fn the_time_of_the_hosts_software_is_paid_once_per_command() {
    let latency = |ns| {
        let profile = with_target(ns);
        let machine = machine(&profile, Content::Full, Media::fresh());
        let (driver, exec) = (Rc::clone(machine.driver()), machine.host().clone());
        let work = async move {
            let begun = exec.now();
            driver.read(QueueId(1), 0, &mut [0; 4096]).await.unwrap();
            exec.now().since(begun)
        };
        (machine.block_on("a read", work).unwrap(), least_command(&profile))
    };
    let (free, least) = latency(None);
    let (paid, least_paid) = latency(Some(5_000));
    assert_eq!((paid - free, least_paid - least), (Duration::from_micros(5), Duration::from_micros(5)));
    assert!(least > Duration::ZERO && least < free);
}

#[test]
fn it_is_served_live() {
    let mut here = Here::start(pieces(), &with_target(None), Pace::Fast);
    let moved = here.meet(|socket| {
        let mut host = Host::connect(socket, Ring::Messages, 4 << 20);
        host.enable();
        let mut queue = host.create_queue(1, 8);
        let page = host.alloc(4096);
        for (write, byte) in [(true, 0x5a), (false, 0)] {
            host.write(page, &[byte; 4096]);
            assert!(host.send(&mut queue, transfer(write, 3, 1, page)).status().is_success());
        }
        let mut back = vec![0; 4096];
        host.read(page, &mut back);
        back == [0x5a; 4096]
    });
    assert!(moved);
    here.stop().unwrap();
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let refused = |pieces: Pieces, change: fn(&mut Profile)| {
        let mut profile = with_target(None);
        change(&mut profile);
        let (recorder, media) = (Recorder::default(), Media::fresh());
        let built = Device::power_on_with(pieces, "targets", &profile, None, media, &recorder);
        built.err().expect("it is refused").to_string()
    };
    let unknown = refused(pieces(), |p| p.target.as_mut().unwrap().kind = "none".to_owned());
    assert!(unknown.starts_with("target.kind: must be one of \"block\", \"boxes\""), "{unknown}");
    let fat = pieces().target("boxes", |_, _| Ok(Box::new(Boxes { bytes: 4096 + 1, page_bytes: 4096 })));
    let fat = refused(fat, |_| ());
    assert!(fat.contains("must have a capacity of whole pages"), "{fat}");
    let large = pieces().target("boxes", |_, facts| {
        let page_bytes = facts.geometry.page_bytes;
        Ok(Box::new(Boxes { bytes: u64::from(page_bytes) << 40, page_bytes }))
    });
    let (profile, recorder) = (with_target(None), Recorder::default());
    let machine =
        Machine::power_on_with(large, "t", &profile, None, Media::fresh(), &recorder, config(&profile));
    let error = machine.unwrap().boot().unwrap_err().to_string();
    assert!(error.contains("bytes are wanted of a drive of"), "{error}");
}
