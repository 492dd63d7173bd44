use super::*;
use crate::config_space::PciLink;
use crate::tlp::link::TlpLinkConfig;
use crate::tlp::wire::WireConfig;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::Recorder;
use aster_exec::{Core, Exec};
use aster_parties::{BarSpec, FunctionSpec, Interrupts, PciIds};
use aster_ports::dram::Dram;
use aster_ports::link::{LinkOp, LinkPort};
use aster_ports::resource::Bandwidth;
use aster_ports::tlp::{Outgoing, TlpPort, TlpSettings};
use aster_units::{Content, Frequency, Instant};
use aster_wire::pcie::{BarKind, ClassCode};

/// A function with a BAR at [`BASE`], and firmware that the test plays.
struct Bench {
    exec: Exec,
    core: Core,
    port: Rc<TlpPort>,
    host: Rc<LinkPort>,
    link: Rc<TlpLink>,
    function: Rc<RefCell<PciFunction>>,
}

/// Where the host has put BAR0.
const BASE: u64 = 0xfe00_0000;
const TABLE: u32 = 0x2000;
const COMMAND: u16 = 4;

fn bench() -> Bench {
    bench_over(WireConfig { bytes_per_second: 1_000_000_000, latency: ns(200), framing: 10 })
}
fn bench_over(wire: WireConfig) -> Bench {
    let exec = Exec::new();
    let core = Core::new(&exec, Frequency::from_hertz(1_000_000_000).unwrap());
    let config = TlpLinkConfig { wire, max_payload: 128, completion_boundary: 64 };
    let dram = Dram::new(Content::Full, 4, 0, 2, 0, TlpLink::sram_bytes(&config));
    let host = LinkPort::new(&exec, TlpLink::OPERATIONS);
    let port = TlpPort::new(&exec, &host, TlpSettings::AFTER_RESET);
    let (ports, buffers) = ((&port, &host), (&dram, 0));
    let link = TlpLink::start(&exec, ports, config, buffers, Bandwidth::new(0), &Recorder::default());
    let ids = PciIds { vendor: 1, device: 2, subsystem_vendor: 3, subsystem: 4, revision: 5 };
    let bars = vec![BarSpec { register: 0, kind: BarKind::Memory64, prefetchable: false, bytes: 0x4000 }];
    let interrupts = Interrupts::MsiX { vectors: 4, bar: 0, table: TABLE, pending: 0x3000 };
    let spec = FunctionSpec { ids, class: ClassCode::NVME, bars, interrupts, power: None };
    let mut function = PciFunction::new(spec, PciLink { speed: 2, lanes: 8, max_payload: 128 }).unwrap();
    function.config_write(0x10, 4, BASE as u32);
    function.config_write(COMMAND, 2, 0x0006);
    let function = Rc::new(RefCell::new(function));
    port.requests().take_over();
    link.serve(&function);
    Bench { exec, core, port, host, link, function }
}
fn ns(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}
fn at(nanos: u64) -> Instant {
    Instant::ZERO + ns(nanos)
}

impl Bench {
    fn settle(&self) {
        self.settle_until(self.exec.now() + ns(100_000));
    }
    fn settle_until(&self, until: Instant) {
        while let Some(next) = self.exec.next_deadline().filter(|next| *next <= until) {
            self.exec.advance_to(next);
        }
        self.exec.advance_to(until);
    }
    fn begin(&self, offset: u32, bytes: u8) -> ReadTag {
        match self.link.host_read(0, offset, bytes) {
            BarRead::Later(tag) => tag,
            BarRead::Now(value) => panic!("{value:#x}"),
        }
    }
    /// Firmware takes a request: whether it writes, where, and the low byte of its data.
    fn take(&self) -> Option<(bool, u64, u8)> {
        let request = self.port.requests().take()?;
        let (header, at) = TlpHeader::parse(request.bytes()).unwrap();
        let TlpHeader::Memory(asked) = header else { panic!("{header:?}") };
        Some((asked.write, asked.span().0, request.bytes().get(at).copied().unwrap_or(0)))
    }
    /// All that are there.
    fn take_all(&self) -> Vec<(bool, u64, u8)> {
        core::iter::from_fn(|| self.take()).collect()
    }
    /// Firmware sends a completion of these bytes.
    fn complete(&self, header: [u32; 3], data: &[u8]) {
        let header: Vec<u8> = header.iter().flat_map(|word| word.to_be_bytes()).collect();
        let (port, completion) = (Rc::clone(&self.port), TlpCompletion::new(&header, data));
        self.core.spawn(async move { port.send(Outgoing::Completion(completion)).await });
    }
    /// The host has sent as many as it may when everything is free: 32 of either kind arrive at once.
    fn assert_all_credits_are_back(&self) {
        self.settle();
        assert_eq!(self.take_all(), []);
        self.settle();
        (0..32).for_each(|n| self.link.host_write(0, 0x1000, 4, n));
        (0..32).for_each(|_| _ = self.link.host_read(0, 0, 4));
        self.settle();
        assert_eq!(self.take_all().len(), 64);
    }
}
impl Drop for Bench {
    fn drop(&mut self) {
        self.exec.shut_down();
    }
}

/// 12 + 10 bytes at 1 GB/s and 200 ns of way down; with data of 4 bytes back up.
#[test]
fn a_read_crosses_the_wire_and_its_completion_comes_back() {
    let b = bench();
    let tag = b.begin(0x1c, 4);
    b.settle_until(at(221));
    assert_eq!(b.port.requests().take(), None);
    b.settle_until(at(222));
    assert_eq!(b.take(), Some((false, BASE + 0x1c, 0)));
    b.complete([0x4a00_0001, 0x0100_0004, 0x0000_001c], &[1, 0, 0, 0]);
    b.settle_until(at(222 + 26 + 199));
    assert_eq!(b.link.take_read(tag), None);
    b.settle_until(at(222 + 26 + 200));
    assert_eq!(b.link.take_read(tag), Some(1));
    assert_eq!(b.link.access_errors(), AccessErrors::default());
    b.assert_all_credits_are_back();
}

/// PCIe 4.0 §2.4.1: a read doesn't pass a write, though it has credits and the write has none.
#[test]
fn a_host_without_credits_waits_and_its_reads_wait_behind_its_writes() {
    for latency in [ns(200), Duration::ZERO] {
        let b = bench_over(WireConfig { bytes_per_second: 0, latency, framing: 0 });
        (0..40).for_each(|n| b.link.host_write(0, 0x1000, 4, n));
        b.begin(0, 4);
        (40..50).for_each(|n| b.link.host_write(0, 0x1000, 4, n));
        b.settle();
        // Firmware has room for 32 writes. It takes seven, and then all.
        let mut all: Vec<_> = (0..7).map(|_| b.take().unwrap()).collect();
        b.settle();
        let there = b.take_all();
        assert_eq!(there.len(), 32, "as many as there is room for, and the read is behind another");
        all.extend(there);
        b.settle();
        all.extend(b.take_all());
        let write = |n: u8| (true, BASE + 0x1000, n);
        let expected: Vec<_> =
            (0..40).map(write).chain([(false, BASE, 0)]).chain((40..50).map(write)).collect();
        assert_eq!(all, expected);
        b.link.forget_accesses();
        b.complete([0x0a00_0000, 0x0100_2004, 0x0000_0000], &[]);
        b.assert_all_credits_are_back();
    }
}

/// PCIe 4.0 §2.3.1: whatever no BAR claims is unsupported. Firmware doesn't hear of it.
#[test]
fn what_no_bar_has_is_unsupported() {
    let b = bench();
    let unclaimed = |count: u64| {
        b.settle();
        assert_eq!(b.link.access_errors(), AccessErrors { unsupported: count, ..AccessErrors::default() });
    };
    let read = |bar, offset| match b.link.host_read(bar, offset, 4) {
        BarRead::Later(tag) => {
            b.settle();
            assert_eq!(b.link.take_read(tag), Some(u64::MAX));
        }
        BarRead::Now(value) => panic!("{value:#x}"),
    };
    read(0, 0x4000);
    read(2, 0);
    read(200, u32::MAX - 3);
    unclaimed(3);
    b.link.host_write(0, 0x4000, 4, 1);
    b.link.host_write(5, 0, 4, 1);
    unclaimed(5);
    b.function.borrow_mut().config_write(COMMAND, 2, 0x0004);
    read(0, 0);
    read(0, TABLE);
    b.link.host_write(0, TABLE, 4, 1);
    unclaimed(8);
    b.function.borrow_mut().config_write(COMMAND, 2, 0x0006);
    assert_eq!(b.function.borrow().bar_read(0, TABLE, 4), Some(0), "it had no effect");
    b.assert_all_credits_are_back();
}

/// The MSI-X table is the board's: firmware doesn't hear of it, and a message behind a mask is released.
#[test]
fn the_board_answers_for_the_msix_table() {
    let b = bench();
    b.function.borrow_mut().config_write(0x92, 2, 0x8000);
    assert_eq!(b.function.borrow_mut().message(1), None, "masked after reset");
    b.link.host_write(0, TABLE + 16, 8, 0xfee0_0000);
    b.link.host_write(0, TABLE + 24, 4, 41);
    let tag = b.begin(TABLE + 16, 8);
    let pending = b.begin(0x3000, 8);
    b.settle();
    assert_eq!((b.link.take_read(tag), b.link.take_read(pending)), (Some(0xfee0_0000), Some(2)));
    b.link.host_write(0, TABLE + 28, 4, 0);
    b.settle();
    assert_eq!(b.host.next_out(), Some(LinkOp::Interrupt { vector: 1 }));
    assert_eq!(b.take_all(), []);
    b.assert_all_credits_are_back();
}

/// PCIe 4.0 §2.8: the host waits for 10 ms. The late answer frees the tag, and nobody takes it for another's.
#[test]
fn a_read_that_firmware_never_answers_ends() {
    let b = bench();
    let tag = b.begin(0, 4);
    b.settle_until(at(10_000_000) - Duration::from_picos(1));
    assert_eq!(b.link.take_read(tag), None);
    b.settle_until(at(10_000_000));
    assert_eq!(b.link.take_read(tag), Some(u64::MAX));
    assert_eq!(b.link.access_errors().timed_out, 1);
    let next = b.begin(0x1c, 4);
    b.settle();
    assert_eq!(b.take_all().len(), 2);
    b.complete([0x4a00_0001, 0x0100_0004, 0x0000_0000], &[7, 0, 0, 0]);
    b.complete([0x4a00_0001, 0x0100_0004, 0x0000_011c], &[8, 0, 0, 0]);
    b.settle();
    assert_eq!(b.link.take_read(next), Some(8));
    b.assert_all_credits_are_back();
}

/// Three places in which a request may be: at firmware, in the receive buffer, on the wire; and one that
/// waits for credits. None has an effect after the reset, and none keeps a credit or a tag.
#[test]
fn a_reset_leaves_nothing_of_the_host_before() {
    let b = bench();
    let first = b.begin(0, 4);
    b.settle();
    assert!(b.take().is_some(), "firmware has it in hand");
    (0..40).for_each(|n| b.link.host_write(0, 0x1000, 4, n));
    let behind = b.begin(0, 4);
    b.settle();
    let on_the_wire = b.begin(TABLE, 4);
    b.link.host_write(0, TABLE, 4, 1);
    b.link.forget_accesses();
    for tag in [first, behind, on_the_wire] {
        assert_eq!(b.link.take_read(tag), Some(u64::MAX));
    }
    b.settle();
    assert_eq!(b.take_all(), []);
    assert_eq!(b.function.borrow().bar_read(0, TABLE, 4), Some(0));
    // Firmware answers what it had in hand.
    b.complete([0x0a00_0000, 0x0100_2004, 0x0000_0000], &[]);
    b.assert_all_credits_are_back();
}
