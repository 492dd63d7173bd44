//! Commands of open-channel drives: any bytes, and commands that are nearly right, with their lists.

use super::function::{ENTRIES, Function};
use super::input::Input;
use crate::profile;
use aster_units::{Duration, Geometry};
use aster_wire::nvme::{AdminOpcode, IoOpcode, Sqe, Status};
use aster_wire::ocssd::v2::{self, ChunkShape};
use aster_wire::ocssd::{ADDRESSES_MAX, AddressFormat, Place, admin, io};
use zerocopy::FromBytes;
use zerocopy::little_endian::U64;

/// Bytes of a list of the most addresses.
const LIST_BYTES: u64 = 8 * ADDRESSES_MAX as u64;

/// How a drive of one of the versions writes addresses.
enum Addresses {
    Physical(AddressFormat),
    Logical(ChunkShape),
}

impl Addresses {
    fn encode(&self, place: Place) -> u64 {
        match self {
            Addresses::Physical(format) => format.encode(place),
            Addresses::Logical(shape) => shape.encode(place),
        }
    }
}

pub(super) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let is_2 = input.u8().is_multiple_of(2);
    let profile = profile(if is_2 { "pocket-ocssd-2" } else { "pocket-ocssd" }, |p| {
        p.target = None;
        (p.geometry.channels, p.geometry.blocks_per_lun) = (1, 8);
        p.package.factory_bad_per_mille = 0;
        p.ftl.raw_vectors = !is_2;
    });
    let geometry = profile.used_geometry();
    let addresses = match is_2 {
        true => Addresses::Logical(ChunkShape::of(&geometry)),
        false => Addresses::Physical(AddressFormat::of_geometry(&geometry)),
    };
    let mut function = Function::of(profile);
    function.enable();
    function.create_pair(1);
    function.create_pair(2);
    let (mut sent, mut answered) = ([0u32; 3], [0u32; 3]);
    while !input.is_empty() {
        let queue = input.below(3) as u16;
        let sqe = match input.u8() % 8 {
            0 => Sqe::read_from_bytes(&input.bytes::<64>()).expect("64 bytes"),
            _ => plausible(&mut input, queue, &mut function, (&geometry, &addresses)),
        };
        if sent[usize::from(queue)].saturating_sub(answered[usize::from(queue)]) < ENTRIES - 1 {
            function.push(queue, sqe);
            sent[usize::from(queue)] += 1;
        }
        if input.u8().is_multiple_of(3) {
            (0..3).for_each(|queue| function.ring(queue));
            function.run_for(Duration::from_micros(50 * u64::from(input.u8())));
            reap(&mut function, &mut answered);
        }
    }
    (0..3).for_each(|queue| function.ring(queue));
    function.run_for(Duration::from_millis(200));
    reap(&mut function, &mut answered);
    let all: u32 = sent.iter().sum();
    assert!(answered.iter().all(|answered| *answered <= all), "completions of nobody's commands");
    function.must_come_up_after_a_reset();
    must_work(&mut function, &geometry, &addresses);
}

fn reap(function: &mut Function, answered: &mut [u32; 3]) {
    for queue in 0..3u16 {
        while function.reap(queue).is_some() {
            answered[usize::from(queue)] += 1;
        }
    }
}

/// A command whose fields mostly have values with an effect. Its lists are put into memory.
fn plausible(
    input: &mut Input,
    queue: u16,
    function: &mut Function,
    (geometry, addresses): (&Geometry, &Addresses),
) -> Sqe {
    let opcodes = [io::ERASE, io::READ, io::WRITE, io::WRITE_RAW, io::READ_RAW, v2::COPY];
    let opcode = match (queue, input.u8() % 8) {
        (0, 0..4) => input.of(&[admin::IDENTITY, admin::SET_TABLE, admin::GET_TABLE]),
        (0, 4) => input.of(AdminOpcode::ALL).raw(),
        (0, _) => AdminOpcode::GetLogPage.raw(),
        (_, 0) => input.of(IoOpcode::ALL).raw(),
        (_, 1) => input.u8(),
        _ => input.of(&opcodes),
    };
    let count = match input.u8() % 4 {
        0 => 1,
        1 => 1 + input.below(8),
        2 => 64 + input.below(4),
        _ => 4,
    };
    let mut lists = [0; 2];
    for (n, list) in (0..).zip(&mut lists) {
        // Lists of several commands may lie over each other, and over data.
        *list = Function::data() + (2 * u64::from(input.u8() % 16) + n) * LIST_BYTES;
        let mut place = place(input, geometry);
        for at in 0..u64::from(count).min(ADDRESSES_MAX as u64) {
            let address = match input.u8() {
                0 => input.u64(),
                1..8 => addresses.encode(self::place(input, geometry)),
                _ => addresses.encode(place),
            };
            next(&mut place, geometry);
            function.memory.at(*list + 8 * at, 8).copy_from_slice(&address.to_le_bytes());
        }
        if count == 1 {
            *list = addresses.encode(place);
        }
        if input.u8() == 0 {
            *list = input.u64();
        }
    }
    let mut at = || match input.u8() % 16 {
        0 => input.u64(),
        1 => Function::data() + u64::from(input.below(0x8000)),
        _ => Function::data() + u64::from(8 + input.u8() % 32) * 4096,
    };
    let (prp1, prp2, metadata) = (at(), at(), at());
    let control = input.u32() & input.of(&[0, 0x0001_0000, 0x0281_0000, 0xffff_0000]);
    let [first, second] = lists;
    let mut sqe = Sqe::new(opcode, u32::from(input.of(&[1u8, 1, 1, 0, 2, 255])))
        .with_cid(u16::from(input.u8()))
        .with_prps(prp1, prp2)
        .with_dword(10, first as u32)
        .with_dword(11, (first >> 32) as u32)
        .with_dword(12, (count - 1) | control)
        .with_dword(13, input.u32() & input.of(&[0, 0xff, u32::MAX]))
        .with_dword(14, second as u32)
        .with_dword(15, (second >> 32) as u32);
    if opcode == AdminOpcode::GetLogPage.raw() && queue == 0 {
        let log = input.of(&[0xcau32, 0xd0, 0xca, 0x02]);
        sqe = sqe.with_dword(10, log | input.u32() & 0x00ff_0000).with_dword(11, 0);
    }
    sqe.mptr = U64::new(if input.u8().is_multiple_of(4) { 0 } else { metadata });
    sqe
}

fn place(input: &mut Input, g: &Geometry) -> Place {
    Place {
        channel: 0,
        lun: input.below(g.luns_per_channel()) as u16,
        plane: input.below(g.planes.into()) as u8,
        block: input.below(g.blocks_per_lun / u32::from(g.planes)),
        page: input.below(3) as u16,
        sector: input.below(g.sectors_per_page().into()) as u8,
    }
}
/// The sector behind a place in the order of writes: the page's, then the other planes', then the next page.
fn next(place: &mut Place, g: &Geometry) {
    place.sector += 1;
    if place.sector < g.sectors_per_page() {
        return;
    }
    place.sector = 0;
    place.plane += 1;
    if place.plane == g.planes {
        place.plane = 0;
        place.page = (place.page + 1) % g.pages_per_block;
    }
}

/// Some block can be erased, written and read. The host may have called others bad.
fn must_work(function: &mut Function, g: &Geometry, addresses: &Addresses) {
    let data = Function::data();
    let command = |opcode, address: u64, prp1| {
        Sqe::new(opcode, 1)
            .with_prps(prp1, prp1 + 4096)
            .with_dword(10, address as u32)
            .with_dword(11, (address >> 32) as u32)
    };
    let status = function.send(0, command(admin::IDENTITY, 0, data)).status();
    assert!(status.is_success(), "{status}");
    let mut refused = Status::SUCCESS;
    for lun in 0..g.luns_per_channel() as u16 {
        for block in 0..g.blocks_per_lun / u32::from(g.planes) {
            let place = Place { lun, block, ..Place::default() };
            if let Addresses::Physical(_) = addresses {
                // A list of one address: the block is free, whatever the host has called it.
                let free = command(admin::SET_TABLE, addresses.encode(place), data);
                function.send(0, free.with_dword(12, 0));
            }
            // A chunk that is free need not be reset.
            function.send(1, command(io::ERASE, addresses.encode(place), data));
            function.memory.at(data, 4096).fill(block as u8 ^ 0xc3);
            let status = function.send(1, command(io::WRITE, addresses.encode(place), data)).status();
            if !status.is_success() {
                refused = status;
                continue;
            }
            function.memory.at(data, 4096).fill(0);
            let status = function.send(1, command(io::READ, addresses.encode(place), data)).status();
            assert!(status.is_success(), "{status}");
            let is_same = function.memory.at(data, 4096).iter().all(|byte| *byte == block as u8 ^ 0xc3);
            assert!(is_same, "what was written is read");
            return;
        }
    }
    panic!("no block can be written: {refused}");
}
