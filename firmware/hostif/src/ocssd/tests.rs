use super::*;
use aster_parties::{CommandSet, Source};
use aster_ports::host::{CommandId, Completion, HostStatus, VectorFault};
use aster_units::{CellMode, Duration, Geometry};
use aster_wire::nvme::{IoOpcode, Sqe, Status};
use aster_wire::ocssd::v2::COPY;
use aster_wire::ocssd::{io, status, v2};

const FACTS: OpenChannelFacts = OpenChannelFacts {
    geometry: Geometry {
        channels: 2,
        ways: 2,
        luns: 1,
        planes: 2,
        blocks_per_lun: 64,
        pages_per_block: 8,
        page_bytes: 4096,
        spare_bytes: 416,
    },
    open_chunks_max: 0,
    cells: CellMode::Mlc,
    read: (Duration::from_micros(58), Duration::from_micros(90)),
    program: (Duration::from_micros(481), Duration::from_micros(2295)),
    erase: (Duration::from_micros(5000), Duration::from_micros(5000)),
    raw_spare_bytes: 104,
    id: [0; 6],
};

/// What the host is told of an I/O command with this opcode two of whose units are on LUNs that don't answer.
fn told(set: &mut dyn CommandSet, opcode: u8) -> (Status, u64) {
    let status = HostStatus::Vector(VectorFault::NoAnswer);
    let ended = Completion { result: 0b1010, ..Completion::new(CommandId(0), status) };
    set.completed(Source::Io, &Sqe::new(opcode, 1), &ended)
}

/// Where controllers give LUNs up for good (G25).
#[test]
fn a_lun_that_was_given_up_is_told_as_one_that_fails() {
    let set = &mut OpenChannel12::new(FACTS);
    for opcode in [io::READ, io::READ_RAW] {
        assert_eq!(told(set, opcode), (status::ECC_FAIL, 0b1010));
    }
    for opcode in [io::WRITE, io::WRITE_RAW, io::ERASE] {
        assert_eq!(told(set, opcode), (status::WRITE_FAIL, 0b1010));
    }
    let set = &mut OpenChannel20::new(FACTS);
    let (reads, writes) = (v2::status::ECC_FAIL, v2::status::CLOSED_EARLY);
    for (opcode, status) in
        [(io::READ, reads), (io::WRITE, writes), (COPY, writes), (io::ERASE, v2::status::OFFLINE)]
    {
        assert_eq!(told(set, opcode), (status, 0b1010));
    }
    for (opcode, status) in [
        (IoOpcode::Read, reads),
        (IoOpcode::Write, writes),
        (IoOpcode::DatasetManagement, v2::status::OFFLINE),
    ] {
        assert_eq!(told(set, opcode.raw()), (status, 0), "a command of NVMe has no bits");
    }
}
