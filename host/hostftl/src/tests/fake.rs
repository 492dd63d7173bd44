//! A message unit without an array: it takes frames, and answers each command after a while, as its manners
//! say.

use crate::driver::ArrayDriver;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use aster_exec::{Exec, WaitCell};
use aster_parties::{BarSpec, DriveFunction, FunctionSpec, Interrupts, PciIds, TargetMemory};
use aster_ports::link::HostMemory;
use aster_units::Duration;
use aster_wire::array::registers::{self, Control, Pages, Shape, UnitStatus};
use aster_wire::array::{Command, Commands, FrameAddress, StatusEntry};
use aster_wire::pcie::{BarKind, CapabilityId, ClassCode, MsiControl};
use core::cell::{Cell, RefCell};
use zerocopy::IntoBytes;
use zerocopy::little_endian::U16;

/// Where the MSI capability is.
const MSI: u16 = 0x50;
/// Frame addresses that the FIFO holds.
const FIFO: usize = 16;

/// How the drive behaves, and the faults to inject.
pub struct Manners {
    /// Reads of the status register before READY; `None` for never.
    pub ready_after: Option<u32>,
    pub id: u32,
    pub has_msi: bool,
    /// Time to fetch a frame, and from a command to its end.
    pub fetch: Duration,
    pub work: Duration,
    /// The command with this number never ends.
    pub swallow: Option<u16>,
    /// At this status entry, the number is one more than it should be.
    pub lose: Option<u16>,
    /// Added to the id of this status entry.
    pub wrong_id: Option<u16>,
    /// The code of every status.
    pub code: u8,
    /// At this frame the unit stops.
    pub stop_at: Option<usize>,
}

impl Default for Manners {
    fn default() -> Self {
        Manners {
            ready_after: Some(2),
            id: registers::ID_AND_VERSION,
            has_msi: true,
            fetch: Duration::from_micros(1),
            work: Duration::from_micros(20),
            swallow: None,
            lose: None,
            wrong_id: None,
            code: 0,
            stop_at: None,
        }
    }
}

pub struct Fake {
    exec: Exec,
    memory: Rc<RefCell<TargetMemory>>,
    pub manners: Manners,
    pub driver: RefCell<Option<Rc<ArrayDriver>>>,
    msi_data: Cell<u32>,
    enabled: Cell<bool>,
    errors: Cell<UnitStatus>,
    buffer: Cell<u64>,
    fifo: RefCell<VecDeque<u64>>,
    waiter: WaitCell,
    reads: Cell<u32>,
    sequence: Cell<u16>,
    sent: Cell<u32>,
    head: Cell<u32>,
    /// Commands by frame, as they came.
    pub frames: RefCell<Vec<Vec<Command>>>,
    pub in_work: Cell<usize>,
    pub most_in_work: Cell<usize>,
    pub most_in_fifo: Cell<usize>,
}

impl Fake {
    pub fn new(exec: &Exec, memory: &Rc<RefCell<TargetMemory>>, manners: Manners) -> Rc<Self> {
        let fake = Rc::new(Fake {
            exec: exec.clone(),
            memory: Rc::clone(memory),
            manners,
            driver: RefCell::new(None),
            msi_data: Cell::new(0),
            enabled: Cell::new(false),
            errors: Cell::new(UnitStatus(0)),
            buffer: Cell::new(0),
            fifo: RefCell::default(),
            waiter: WaitCell::default(),
            reads: Cell::new(0),
            sequence: Cell::new(1),
            sent: Cell::new(0),
            head: Cell::new(0),
            frames: RefCell::default(),
            in_work: Cell::new(0),
            most_in_work: Cell::new(0),
            most_in_fifo: Cell::new(0),
        });
        exec.spawn(fake.clone().serve());
        fake
    }
    async fn serve(self: Rc<Self>) {
        loop {
            let next = || self.fifo.borrow_mut().pop_front();
            let address = FrameAddress(self.waiter.wait(&self.exec, next).await);
            self.exec.sleep(self.manners.fetch).await;
            let number = self.frames.borrow().len();
            if self.manners.stop_at == Some(number) {
                self.errors.set(UnitStatus(0).with_frame_error(true));
                self.enabled.set(false);
                return self.message(registers::VECTOR_FATAL);
            }
            let mut bytes = vec![0; address.bytes().expect("a frame of 8 to 512 bytes")];
            self.memory.borrow().read(address.address(), &mut bytes).expect("a frame in memory");
            let commands: Vec<Command> =
                Commands::of(&bytes).map(|view| view.expect("a command").command()).collect();
            for command in &commands {
                self.in_work.set(self.in_work.get() + 1);
                self.most_in_work.set(self.most_in_work.get().max(self.in_work.get()));
                self.exec.spawn(self.clone().work(*command));
            }
            self.frames.borrow_mut().push(commands);
        }
    }
    async fn work(self: Rc<Self>, command: Command) {
        self.exec.sleep(self.manners.work).await;
        if self.manners.swallow == Some(command.id) {
            return;
        }
        // The host's buffer has room for 16 frames.
        while self.sent.get().wrapping_sub(self.head.get()) >= 16 {
            if self.has_lost_its_host() {
                return;
            }
            self.exec.sleep(Duration::from_micros(1)).await;
        }
        let sequence = self.sequence.get();
        self.sequence.set(sequence.wrapping_add(1));
        let lost = self.manners.lose.is_some_and(|at| sequence >= at);
        let wrong = self.manners.wrong_id == Some(sequence);
        let entry = StatusEntry {
            id: U16::new(command.id + 100 * u16::from(wrong)),
            code: self.manners.code,
            channel: command.channel,
            failed: command.page as u8,
            corrected: 0,
            sequence: U16::new(sequence.wrapping_add(u16::from(lost))),
        };
        let at = self.buffer.get() + u64::from(self.sent.get() % 16) * 128;
        self.memory.borrow_mut().write(at, entry.as_bytes()).expect("the status buffer is in memory");
        self.sent.set(self.sent.get().wrapping_add(1));
        self.in_work.set(self.in_work.get() - 1);
        self.message(registers::VECTOR_STATUS);
    }
    /// A host that has given the drive up takes no more statuses.
    fn has_lost_its_host(&self) -> bool {
        self.driver.borrow().as_ref().is_some_and(|driver| driver.fault().is_some())
    }
    fn message(&self, vector: u16) {
        let driver = self.driver.borrow().clone();
        let driver = driver.expect("the driver is there");
        if let Some(stopped) = driver.interrupt(self.msi_data.get() | u32::from(vector)) {
            driver.fail(stopped);
        }
    }
}

impl DriveFunction for Fake {
    fn spec(&self) -> FunctionSpec {
        FunctionSpec {
            ids: PciIds { vendor: 1, device: 1, subsystem_vendor: 1, subsystem: 1, revision: 1 },
            class: ClassCode { base_class: 1, sub_class: 0x80, interface: 0 },
            bars: vec![BarSpec {
                register: 0,
                kind: BarKind::Memory64,
                prefetchable: false,
                bytes: registers::REGISTER_BAR_BYTES,
            }],
            interrupts: Interrupts::Msi { vectors_log2: 2 },
            power: None,
        }
    }
    fn config_read(&self, offset: u16, size: u8) -> u32 {
        match (offset, size) {
            (0x34, 1) if self.manners.has_msi => MSI.into(),
            (MSI, 1) => CapabilityId::Msi.raw().into(),
            (offset, 2) if offset == MSI + 2 => {
                MsiControl(0).with_capable_log2(2).with_is_64_bit(true).0.into()
            }
            _ => 0,
        }
    }
    fn config_write(&self, offset: u16, _size: u8, value: u32) {
        if offset == MSI + 0x0c {
            self.msi_data.set(value);
        }
    }
    fn bar_read(&self, _bar: u8, offset: u32, _size: u8) -> u64 {
        let value = match offset {
            registers::ID => self.manners.id,
            registers::SHAPE => Shape(0).with_channels(4).with_lanes(8).with_dies(2).with_planes(2).0,
            registers::BLOCKS => 24,
            registers::PAGES => Pages(0).with_pages(16).with_sectors(4).0,
            registers::STATUS => {
                self.reads.set(self.reads.get() + 1);
                let ready = self.manners.ready_after.is_some_and(|after| self.reads.get() > after);
                self.errors.get().with_ready(ready).0
            }
            _ => 0,
        };
        value.into()
    }
    fn bar_write(&self, _bar: u8, offset: u32, _size: u8, value: u64) {
        match offset {
            registers::CONTROL => self.enabled.set(Control(value as u32).enable()),
            registers::STATUS_BUFFER => self.buffer.set(value),
            registers::STATUS_HEAD => self.head.set(value as u32),
            registers::FRAME_ADDRESS if self.enabled.get() => {
                let mut fifo = self.fifo.borrow_mut();
                assert!(fifo.len() < FIFO, "the host overflows the FIFO of frame addresses");
                fifo.push_back(value);
                self.most_in_fifo.set(self.most_in_fifo.get().max(fifo.len()));
                self.waiter.wake(&self.exec);
            }
            _ => {}
        }
    }
    fn fault(&self) -> Option<String> {
        None
    }
}
