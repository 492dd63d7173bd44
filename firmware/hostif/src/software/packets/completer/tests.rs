use super::super::{PacketConfig, PacketCosts};
use super::*;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::Recorder;
use aster_exec::{Core, Exec, Handler};
use aster_ports::dram::Dram;
use aster_ports::link::LinkPort;
use aster_ports::tlp::{RequestStats, TlpPort, TlpSettings};
use aster_units::{Content, Duration, Frequency, Instant};
use core::cell::RefCell;

/// Registers that know what was asked of them.
#[derive(Default)]
struct Registers {
    value: Cell<u64>,
    written: RefCell<Vec<(u32, u8, u64)>>,
}
impl RegisterFile for Registers {
    fn read(&self, offset: u32, size: u8) -> u64 {
        let value = self.value.get() + u64::from(offset);
        if size == 8 { value } else { value & ((1 << (8 * size)) - 1) }
    }
    fn write(&self, offset: u32, size: u8, value: u64) {
        self.value.set(value);
        self.written.borrow_mut().push((offset, size, value));
    }
}
/// A board that does nothing by itself.
struct Still;
impl Handler for Still {
    fn fire(&self, _: u64) {}
}

struct Bench {
    exec: Exec,
    port: Rc<TlpPort>,
    registers: Rc<Registers>,
    completer: Rc<Completer>,
}

/// Cycles of the core, of which there are 1,000 in a microsecond.
const RECEIVE: u64 = 300;
const REGISTER: u64 = 500;
const BUILD: u64 = 200;

fn bench() -> Bench {
    let exec = Exec::new();
    let core = Core::new(&exec, Frequency::from_hertz(1_000_000_000).unwrap());
    let host = LinkPort::new(&exec, 8);
    let port = TlpPort::new(&exec, &host, TlpSettings::AFTER_RESET);
    let memory = Dram::new(Content::Full, 4, 0, 2, 0, 0x1000);
    let costs = PacketCosts { build: BUILD, receive: RECEIVE, ..PacketCosts::default() };
    let config = PacketConfig { offload: true, registers: true, costs };
    let time = || CoreTime::new(&core, &Recorder::default());
    let packets = Rc::new(Packets::new(&exec, time(), (&port, &memory), config, 8, 1));
    port.attach_board(exec.register(Rc::new(Still)));
    let registers = Rc::new(Registers::default());
    let serves =
        Rc::new(Completer::new(&packets, time(), REGISTER, (registers.clone(), BarLayout::of(4, 5))));
    core.spawn(completer(Rc::clone(&serves)));
    Bench { exec, port, registers, completer: serves }
}
fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

impl Bench {
    fn arrive(&self, header: &[u32], data: &[u8]) {
        self.port.requests().arrive(HostRequest::new(0, &bytes(header), data));
    }
    fn run_for(&self, cycles: u64) {
        let until = self.exec.now() + Duration::from_nanos(cycles);
        while let Some(next) = self.exec.next_deadline().filter(|next| *next <= until) {
            self.exec.advance_to(next);
        }
        self.exec.advance_to(until);
    }
    /// The next completion that firmware has sent.
    fn sent(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        match self.port.next_outgoing()? {
            Outgoing::Completion(completion) => {
                let (header, data) = completion.parts();
                Some((header.to_vec(), data.to_vec()))
            }
            other => panic!("{other:?}"),
        }
    }
    /// What becomes of one request.
    fn answer(&self, header: &[u32], data: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
        self.arrive(header, data);
        self.run_for(10_000);
        let answer = self.sent();
        assert_eq!(self.sent(), None);
        answer
    }
    fn counts(&self) -> RequestStats {
        self.port.stats().requests.unwrap()
    }
}
impl Drop for Bench {
    fn drop(&mut self) {
        self.exec.shut_down();
    }
}

/// Packets typed by hand (PCIe 4.0 §2.2.7, §2.2.9): a read of CAP, one of CSTS with a tag in a BAR above 4
/// GiB, and of one byte.
#[test]
fn a_read_is_answered_by_a_completion_with_its_bytes() {
    let b = bench();
    b.registers.value.set(0x0102_0304_0506_0700);
    assert_eq!(
        b.answer(&[0x0000_0002, 0x0000_00ff, 0xfe00_0000], &[]),
        Some((bytes(&[0x4a00_0002, 0x0100_0008, 0x0000_0000]), vec![0, 7, 6, 5, 4, 3, 2, 1]))
    );
    // Traffic class 3 and No Snoop come back, too.
    assert_eq!(
        b.answer(&[0x2030_1001, 0x0008_1f0f, 0x0000_0012, 0xfe00_001c], &[]),
        Some((bytes(&[0x4a30_1001, 0x0100_0004, 0x0008_1f1c]), vec![0x1c, 7, 6, 5]))
    );
    assert_eq!(
        b.answer(&[0x0000_0001, 0x0000_0508, 0xfe00_0008], &[]),
        Some((bytes(&[0x4a00_0001, 0x0100_0001, 0x0000_050b]), vec![0, 0, 0, 0x0b]))
    );
    assert_eq!(b.counts(), RequestStats { handled: 3, answered: 3, ..RequestStats::default() });
    let stats = b.port.stats();
    assert_eq!((stats.sent, stats.touched()), (3, 6));
}

#[test]
fn a_write_reaches_its_register_and_is_not_answered() {
    let b = bench();
    let base = 0xfe00_0000;
    assert_eq!(b.answer(&[0x4000_0001, 0x0000_000f, base + 0x1000], &[0x44, 0x33, 0x22, 0x11]), None);
    assert_eq!(b.answer(&[0x4000_0002, 0x0000_00ff, base + 0x28], &[8, 7, 6, 5, 4, 3, 2, 1]), None);
    assert_eq!(b.answer(&[0x4000_0001, 0x0000_000c, base + 0x14], &[0, 0, 0xcd, 0xab]), None);
    let written = [(0x1000, 4, 0x1122_3344), (0x28, 8, 0x0102_0304_0506_0708), (0x16, 2, 0xabcd)];
    assert_eq!(*b.registers.written.borrow(), written);
}

/// Three bytes, a gap, two bytes at an odd place, sixteen bytes: no register has such accesses.
#[test]
fn what_violates_the_programming_model_is_aborted_or_dropped() {
    let b = bench();
    for (n, [first, second]) in [[1, 0x0007], [1, 0x0005], [1, 0x0006], [4, 0x00ff]].into_iter().enumerate() {
        let abort = bytes(&[0x0a00_0000, 0x0100_8004, 0x0000_0700]);
        assert_eq!(b.answer(&[first, 0x0700 | second, 0xfe00_0000], &[]), Some((abort, vec![])), "case {n}");
    }
    assert_eq!(b.answer(&[0x4000_0001, 0x0000_0007, 0xfe00_0014], &[1, 2, 3, 4]), None);
    assert_eq!(*b.registers.written.borrow(), []);
    let counts = RequestStats { handled: 5, answered: 4, refused: 5, ..RequestStats::default() };
    assert_eq!(b.counts(), counts);
}

/// EP (PCIe 4.0 §2.7.2.2).
#[test]
fn a_poisoned_write_is_dropped_and_counted() {
    let b = bench();
    assert_eq!(b.answer(&[0x4000_4001, 0x0000_000f, 0xfe00_1000], &[1, 0, 0, 0]), None);
    assert_eq!(*b.registers.written.borrow(), []);
    assert_eq!(b.counts(), RequestStats { handled: 1, poisoned: 1, ..RequestStats::default() });
}

/// PCIe 4.0 §2.2.5: a read of no bytes asks whether the writes before it have arrived.
#[test]
fn requests_of_no_bytes_touch_no_register() {
    let b = bench();
    assert_eq!(b.answer(&[0x4000_0001, 0x0000_0000, 0xfe00_0014], &[1, 2, 3, 4]), None);
    assert_eq!(
        b.answer(&[0x0000_0001, 0x0000_0300, 0xfe00_0014], &[]),
        Some((bytes(&[0x4a00_0001, 0x0100_0001, 0x0000_0314]), vec![0; 4]))
    );
    assert_eq!(*b.registers.written.borrow(), []);
    assert_eq!(b.counts(), RequestStats { handled: 2, answered: 1, ..RequestStats::default() });
}

/// What is no request of memory gets no answer.
#[test]
fn other_packets_are_dropped() {
    let b = bench();
    assert_eq!(b.answer(&[0x4a00_0001, 0x0100_0004, 0x0000_011c], &[1, 2, 3, 4]), None);
    assert_eq!(b.answer(&[0x0000_0001, 0x0000_000f, 0xfe00_0003], &[]), None, "a reserved bit");
    assert_eq!(b.counts(), RequestStats { handled: 2, refused: 2, ..RequestStats::default() });
}

/// A read sees the write before it and not the one behind, and each takes its cycles.
#[test]
fn requests_are_served_in_order_at_their_cost() {
    let b = bench();
    let write = |value: u8| b.arrive(&[0x4000_0001, 0x0000_000f, 0xfe00_0000], &[value, 0, 0, 0]);
    write(1);
    b.arrive(&[0x0000_0001, 0x0000_000f, 0xfe00_0000], &[]);
    write(2);
    let all = 2 * (RECEIVE + REGISTER) + BUILD;
    b.run_for(all - 1);
    assert_eq!(b.sent(), None);
    b.run_for(1);
    assert_eq!(b.sent().map(|(_, data)| data), Some(vec![1, 0, 0, 0]));
    assert_eq!(b.registers.value.get(), 1);
    b.run_for(RECEIVE + REGISTER);
    assert_eq!((b.registers.value.get(), b.exec.now()), (2, Instant::ZERO + Duration::from_nanos(2_600)));
}

/// The read in hand is answered all the same: its tag in the host's root complex is free then.
#[test]
fn a_reset_takes_the_effect_of_what_is_in_hand() {
    let b = bench();
    b.arrive(&[0x4000_0001, 0x0000_000f, 0xfe00_0000], &[1, 0, 0, 0]);
    b.run_for(RECEIVE + 1);
    b.completer.reset();
    b.run_for(10_000);
    assert_eq!(*b.registers.written.borrow(), []);
    b.arrive(&[0x0000_0001, 0x0000_040f, 0xfe00_0000], &[]);
    b.run_for(RECEIVE + 1);
    b.completer.reset();
    b.run_for(10_000);
    let unsupported = bytes(&[0x0a00_0000, 0x0100_2004, 0x0000_0400]);
    assert_eq!(b.sent(), Some((unsupported, vec![])));
    // What comes while the core looks at one that the reset has taken is not lost.
    b.arrive(&[0x4000_0001, 0x0000_000f, 0xfe00_0000], &[2, 0, 0, 0]);
    b.run_for(RECEIVE - 1);
    b.completer.reset();
    assert!(b.port.requests().drop_next().is_some());
    b.arrive(&[0x4000_0001, 0x0000_000f, 0xfe00_0000], &[3, 0, 0, 0]);
    b.run_for(10_000);
    assert_eq!(*b.registers.written.borrow(), [(0, 4, 3)]);
}
