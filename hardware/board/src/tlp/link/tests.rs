use super::*;
use alloc::vec;
use alloc::vec::Vec;
use aster_exec::Core;
use aster_ports::dram::Dram;
use aster_ports::link::{BadAddress, HostMemory, Local, carry_out};
use aster_ports::resource::Bandwidth;
use aster_ports::tlp::{BufferDescriptor, TLP_SENT};
use aster_units::{BufferId, Content, Frequency};
use aster_wire::pcie::tlp::{CompletionStatus, FunctionId, MemoryRequest, Tag, Tlp};

/// Host memory of 64 KiB from address 0x1000 on.
struct Memory(Vec<u8>);

const BEGIN: u64 = 0x1000;
const BYTES: usize = 0x1_0000;

impl Memory {
    fn at(&self, address: u64, bytes: usize) -> Result<usize, BadAddress> {
        let at = address.checked_sub(BEGIN).ok_or(BadAddress(address))? as usize;
        if at + bytes > self.0.len() { Err(BadAddress(address)) } else { Ok(at) }
    }
}
impl HostMemory for Memory {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), BadAddress> {
        let at = self.at(address, into.len())?;
        into.copy_from_slice(&self.0[at..at + into.len()]);
        Ok(())
    }
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), BadAddress> {
        let at = self.at(address, from.len())?;
        self.0[at..at + from.len()].copy_from_slice(from);
        Ok(())
    }
}

/// Firmware's interrupt handler.
#[derive(Default)]
struct Interrupts(RefCell<Vec<(Instant, u32)>>, RefCell<Option<Rc<TlpPort>>>, RefCell<Option<Exec>>);
impl Handler for Interrupts {
    fn fire(&self, token: u64) {
        assert_eq!(token, TLP_SENT);
        let (port, exec) = (self.1.borrow(), self.2.borrow());
        let (Some(port), Some(exec)) = (&*port, &*exec) else { return };
        while let Some(notice) = port.next_sent() {
            self.0.borrow_mut().push((exec.now(), notice));
        }
    }
}

struct Bench {
    exec: Exec,
    core: Core,
    port: Rc<TlpPort>,
    host: Rc<LinkPort>,
    dram: SharedDram,
    link: Rc<TlpLink>,
    memory: Memory,
    interrupts: Rc<Interrupts>,
    vectors: Vec<u16>,
}

/// Bytes of SRAM before the root complex's.
const SRAM: usize = 0x2000;
/// A buffer of the drive.
const BUFFER: BufferId = BufferId(1);

fn wire() -> WireConfig {
    WireConfig { bytes_per_second: 1_000_000_000, latency: Duration::from_nanos(200), framing: 10 }
}
fn settings(max_payload: u32) -> TlpSettings {
    TlpSettings { max_payload, max_read_request: 4096, extended_tags: true }
}

fn bench(wire: WireConfig, max_payload: u32, completion_boundary: u32) -> Bench {
    let exec = Exec::new();
    let core = Core::new(&exec, Frequency::from_hertz(1_000_000_000).unwrap());
    let config = TlpLinkConfig { wire, max_payload, completion_boundary };
    let dram = Dram::new(Content::Full, 4, 0, 2, 0, SRAM + TlpLink::sram_bytes(&config));
    let host = LinkPort::new(&exec, TlpLink::OPERATIONS);
    let port = TlpPort::new(&exec, &host, settings(max_payload));
    let link =
        TlpLink::start(&exec, (&port, &host), config, (&dram, SRAM), Bandwidth::new(0), &Recorder::default());
    let interrupts = Rc::new(Interrupts::default());
    *interrupts.1.borrow_mut() = Some(Rc::clone(&port));
    *interrupts.2.borrow_mut() = Some(exec.clone());
    port.attach_firmware(exec.register(interrupts.clone()));
    let memory = Memory((0..BYTES).map(|n| (n * 7 + n / 251) as u8).collect());
    Bench { exec, core, port, host, dram, link, memory, interrupts, vectors: Vec::new() }
}

/// A read of `bytes` bytes, or a write of them from `data`.
fn request(tag: u16, address: u64, bytes: u32, data: Option<Local>, epoch: u32) -> TlpDescriptor {
    let requester = FunctionId(0x100);
    let of = MemoryRequest::of_memory(data.is_some(), requester, Tag::new(tag), address, bytes);
    let mut header = [0; 16];
    let header_bytes = TlpHeader::Memory(of).encode(&mut header) as u8;
    let data = data.map(|from| Gathered { from, bytes, skip: (address % 4) as u8 });
    TlpDescriptor {
        header,
        header_bytes,
        data,
        buffer: 0,
        content: Content::Full,
        epoch,
        notice: Some(tag.into()),
    }
}

impl Bench {
    fn send(&self, packets: Vec<Outgoing>) {
        let port = Rc::clone(&self.port);
        self.core.spawn(async move {
            for packet in packets {
                port.send(packet).await;
            }
        });
    }
    /// Runs until nothing is due, and carries out what the host is asked for.
    fn settle(&mut self) {
        loop {
            while let Some(op) = self.host.next_out() {
                if let LinkOp::Interrupt { vector } = op {
                    self.vectors.push(vector);
                }
                let result = carry_out(&op, &mut self.memory, &self.dram);
                self.host.done(&op, result);
            }
            let Some(next) = self.exec.next_deadline() else { break };
            self.exec.advance_to(next);
        }
    }
    /// Takes all completions of the receive buffer: (tag, status, byte count, lower address, data).
    fn received(&self) -> Vec<(u16, CompletionStatus, u16, u8, Vec<u8>)> {
        let mut all = Vec::new();
        while let Some(one) = self.port.with_received(|packet| {
            let tlp = Tlp::parse(packet).unwrap();
            let TlpHeader::Completion(c) = tlp.header else { panic!("{:?}", tlp.header) };
            let skip = usize::from(c.lower_address & 3);
            let data = if c.dwords == 0 { &[] } else { &tlp.payload[skip..skip + c.bytes() as usize] };
            (c.tag.number(), c.status, c.byte_count, c.lower_address, data.to_vec())
        }) {
            self.port.drop_received();
            all.push(one);
        }
        all
    }
    fn host_bytes(&self, address: u64, bytes: u32) -> Vec<u8> {
        let mut found = vec![0; bytes as usize];
        self.memory.read(address, &mut found).unwrap();
        found
    }
}
impl Drop for Bench {
    fn drop(&mut self) {
        self.exec.shut_down();
    }
}

/// The bytes come from the host's memory, the counts are computed from the end of the read.
#[test]
fn a_read_is_answered_by_completions_whose_data_are_the_bytes_asked_for() {
    for (boundary, max_payload) in [(64, 128), (64, 256), (128, 256), (128, 1024)] {
        let mut b = bench(wire(), max_payload, boundary);
        for (address, bytes) in [
            (0x1000, 4096),
            (0x1001, 1),
            (0x1fff, 1),
            (0x1003, 1021),
            (0x203c, 512),
            (0x2040, 448),
            (0x2ffe, 2),
        ] {
            b.send(vec![Outgoing::Request(request(5, address, bytes, None, 0))]);
            b.settle();
            let (mut data, ends) = (Vec::<u8>::new(), address + u64::from(bytes));
            let all = b.received();
            for (tag, status, byte_count, lower, part) in &all {
                let at = address + data.len() as u64;
                assert_eq!((*tag, *status), (5, CompletionStatus::Success));
                assert_eq!((u64::from(*byte_count), u64::from(*lower)), (ends - at, at % 128));
                data.extend(part);
                let end = at + part.len() as u64;
                assert!(end == ends || end.is_multiple_of(boundary.into()), "{end:#x} of {address:#x}");
                assert!(part.len() <= max_payload as usize);
            }
            assert_eq!(data, b.host_bytes(address, bytes), "{bytes} at {address:#x}");
            assert!(all.len() as u32 <= aster_ports::tlp::receive_places(address, bytes));
        }
        assert_eq!(b.link.stats().from_host, 4096 + 1 + 1 + 1021 + 512 + 448 + 2);
    }
}

/// More packets than there are credits and descriptors, at odd places, then a message.
#[test]
fn writes_land_where_they_say_and_a_message_comes_behind_them() {
    for config in [wire(), WireConfig::default()] {
        let mut b = bench(config, 256, 64);
        b.dram
            .borrow_mut()
            .page_mut(BUFFER)
            .iter_mut()
            .enumerate()
            .for_each(|(n, byte)| *byte = n as u8 ^ 0x5a);
        let from = |offset| Local::Buffer { buffer: BUFFER, offset };
        let mut expected = b.memory.0.clone();
        let mut packets = Vec::new();
        for n in 0..300u32 {
            let (address, bytes) =
                (BEGIN + u64::from(n) * 211 % 0xf000 / 256 * 256 + u64::from(n % 4), 1 + n % 253);
            let address = if address % 4096 + u64::from(bytes) > 4096 { BEGIN } else { address };
            packets.push(Outgoing::Request(request(0, address, bytes, Some(from(n)), 0)));
            let at = (address - BEGIN) as usize;
            (0..bytes).for_each(|k| expected[at + k as usize] = (n + k) as u8 ^ 0x5a);
        }
        packets.push(Outgoing::Message { vector: 3 });
        b.send(packets);
        b.settle();
        assert!(b.memory.0 == expected);
        assert_eq!((b.vectors.clone(), b.interrupts.0.borrow().len()), (vec![3], 300));
        let stats = b.link.stats();
        assert_eq!((stats.transfers, stats.interrupts), (300, 1));
        assert_eq!(b.link.root_stats(), RootStats::default());
        // The whole grant is back: as many as at first can be sent at once.
        let one = request(0, BEGIN, 256, Some(from(0)), 0);
        b.send(vec![Outgoing::Request(one); 64]);
        b.exec.advance_to(b.exec.now());
        assert!(b.up_is_empty());
    }
}
impl Bench {
    fn up_is_empty(&self) -> bool {
        self.link.up.borrow().waiting() == 0
    }
}

/// 12 + 256 + 10 bytes at 1 GB/s, and 200 ns of way. A read's answer begins when the request has arrived.
#[test]
fn a_packet_takes_its_time_and_a_write_has_been_sent_before_it_arrives() {
    let mut b = bench(wire(), 256, 64);
    let from = Local::Sram { offset: 0 };
    b.send(vec![
        Outgoing::Request(request(1, BEGIN, 256, Some(from), 0)),
        Outgoing::Request(request(2, BEGIN, 256, None, 0)),
    ]);
    let at = |ns| Instant::ZERO + Duration::from_nanos(ns);
    b.exec.advance_to(at(477));
    assert!(!b.host.has_out());
    b.exec.advance_to(at(478));
    assert!(b.host.has_out());
    b.settle();
    // The request is behind the write on the wire; its answer is a packet of the same size.
    assert_eq!(b.exec.now(), at(278 + 22 + 200 + 278 + 200 + 200), "with the last UpdateFC");
    assert_eq!(*b.interrupts.0.borrow(), [(at(278), 1), (at(300), 2)]);
    assert_eq!(b.received().len(), 1);
}

#[test]
fn what_is_no_memory_is_unsupported_and_a_write_there_is_lost() {
    let mut b = bench(wire(), 256, 64);
    let from = Local::Sram { offset: 0 };
    b.send(vec![
        Outgoing::Request(request(7, 0x9_0000_0000, 64, None, 0)),
        Outgoing::Request(request(0, 0x10, 64, Some(from), 0)),
        Outgoing::Request(request(8, BEGIN, 64, None, 0)),
    ]);
    b.settle();
    let all = b.received();
    assert_eq!(
        all.iter().map(|c| (c.0, c.1)).collect::<Vec<_>>(),
        [(7, CompletionStatus::Unsupported), (8, CompletionStatus::Success)]
    );
    assert_eq!(b.link.root_stats(), RootStats { unsupported: 2, malformed: 0 });
}

#[test]
fn a_reset_takes_effect_on_packets_that_are_on_their_way() {
    let mut b = bench(wire(), 256, 64);
    let from = Local::Sram { offset: 0 };
    b.dram.borrow_mut().sram_mut()[..64].fill(0xee);
    let before = b.memory.0.clone();
    let stale = b.port.epoch();
    b.send(vec![
        Outgoing::Request(request(0, BEGIN, 64, Some(from), stale)),
        Outgoing::Request(request(9, BEGIN, 64, None, stale)),
    ]);
    b.exec.advance_to(Instant::ZERO + Duration::from_nanos(50));
    b.port.raise_epoch();
    b.settle();
    assert!(b.memory.0 == before);
    assert_eq!(b.received()[0].1, CompletionStatus::Unsupported, "the read is answered all the same");
}

#[test]
fn a_write_with_more_data_than_the_host_allows_is_malformed() {
    let mut b = bench(wire(), 256, 64);
    b.link.set(settings(128));
    let write = |bytes| Outgoing::Request(request(0, BEGIN, bytes, Some(Local::Sram { offset: 0 }), 0));
    b.send(vec![write(128), write(132)]);
    b.settle();
    assert_eq!((b.link.root_stats().malformed, b.link.stats().transfers), (1, 1));
}

/// The mover takes good data for a tag that it knows. Everything else is software's.
#[test]
fn the_mover_brings_data_to_their_place_and_tells_of_the_last_byte() {
    let mut b = bench(wire(), 256, 64);
    let base = Local::Buffer { buffer: BUFFER, offset: 100 };
    b.port.describe(3, BufferDescriptor { base, bytes: 1000, offset: 0 });
    b.port.describe(4, BufferDescriptor { base, bytes: 64, offset: 0 });
    b.port.describe(6, BufferDescriptor { base, bytes: 100, offset: 0 });
    b.send(vec![
        Outgoing::Request(request(3, 0x1011, 1000, None, 0)),
        Outgoing::Request(request(4, 0x10, 64, None, 0)),
        Outgoing::Request(request(5, 0x1000, 512, None, 0)),
        Outgoing::Request(request(6, 0x1000, 64, None, 0)),
    ]);
    b.settle();
    assert_eq!(b.port.take_completed(), 1 << 3);
    assert_eq!((b.port.stats().moved_bytes, b.port.descriptor(3)), (1000, None));
    assert_eq!(b.dram.borrow().page(BUFFER)[100..1100], b.host_bytes(0x1011, 1000)[..]);
    let software: Vec<_> = b.received().iter().map(|c| (c.0, c.1)).collect();
    let good = (5, CompletionStatus::Success);
    let none = (4, CompletionStatus::Unsupported);
    let longer = (6, CompletionStatus::Success);
    assert_eq!(software, [none, good, good, longer], "no data, no descriptor, another read than described");
    assert!(b.port.take_descriptor(4).is_some());
}
