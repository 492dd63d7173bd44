//! The controller with a command set that isn't NVM: vectors of single blocks, as an open-channel drive's
//! are.

use super::bench::{Bench, DATA, config};
use crate::Nvm;
use alloc::boxed::Box;
use alloc::vec::Vec;
use aster_parties::{CommandSet, Decoded, Namespace};
use aster_ports::host::{ByteRange, CommandId, CommandPort, Completion, HostCommand, HostOp, HostStatus};
use aster_wire::nvme::io::{BlockRange, IoCommand};
use aster_wire::nvme::{Sqe, Status};

/// Forgets blocks one by one: dword 12 has how many, less one, the data pointer their numbers, eight bytes
/// each.
const VECTOR_FORGET: u8 = 0x90;
/// Says how many blocks there are.
const COUNT: u8 = 0x91;
const ADDRESS_BYTES: usize = 8;
const ADDRESSES_MAX: u32 = 64;

#[derive(Debug, Default)]
struct Vectors {
    forgotten: u64,
}

impl CommandSet for Vectors {
    fn decode(&mut self, _: CommandId, sqe: &Sqe, namespace: &Namespace) -> Result<Decoded, Status> {
        let count = sqe.dwords_10_15[2].get() + 1;
        match sqe.opcode() {
            COUNT => Ok(Decoded::Done { result: namespace.blocks << 32 }),
            VECTOR_FORGET if count <= ADDRESSES_MAX => {
                Ok(Decoded::Fetch { bytes: (count as usize * ADDRESS_BYTES) as u16 })
            }
            VECTOR_FORGET => Err(Status::INVALID_FIELD),
            _ => Err(Status::INVALID_OPCODE),
        }
    }
    fn fetched(
        &mut self,
        id: CommandId,
        _: &Sqe,
        bytes: &[u8],
        commands: &CommandPort,
        namespace: &Namespace,
    ) -> Result<Decoded, Status> {
        let (addresses, _) = bytes.as_chunks::<ADDRESS_BYTES>();
        let addresses = addresses.iter().map(|bytes| u64::from_le_bytes(*bytes));
        if addresses.clone().any(|address| address >= namespace.blocks) {
            return Err(Status::LBA_OUT_OF_RANGE);
        }
        let log2 = namespace.block_bytes_log2;
        commands.set_ranges(id, addresses.map(|at| ByteRange { offset: at << log2, length: 1 << log2 }));
        Ok(Decoded::Forward(HostCommand { id, op: HostOp::Deallocate, offset: 0, length: 0, fua: false }))
    }
    fn completed(&mut self, sqe: &Sqe, ended: &Completion) -> (Status, u64) {
        if ended.status != HostStatus::Success {
            return (Status::INTERNAL_ERROR, u64::MAX);
        }
        self.forgotten += u64::from(sqe.dwords_10_15[2].get()) + 1;
        (Status::SUCCESS, self.forgotten << 32 | 7)
    }
}

fn forget(bench: &mut Bench, blocks: &[u64]) -> Sqe {
    let list: Vec<u8> = blocks.iter().flat_map(|block| block.to_le_bytes()).collect();
    bench.memory.0[DATA as usize..][..list.len()].copy_from_slice(&list);
    let mut sqe = Sqe::new(VECTOR_FORGET, 1);
    sqe.prp1 = DATA.into();
    sqe.dwords_10_15[2] = (blocks.len() as u32 - 1).into();
    sqe
}

#[test]
fn a_command_set_decodes_fetches_and_says_how_its_commands_have_ended() {
    let mut bench = Bench::with_set(config(), Box::new(Vectors::default()));
    bench.enable();
    bench.create_pair(1, 64);
    bench.ftl.disk.borrow_mut().fill(9);
    let log2 = bench.front.lba_format().log2();
    let blocks = config().namespace_bytes >> log2;

    let sqe = forget(&mut bench, &[3, 17, 5]);
    let ended = bench.send(1, sqe);
    assert!(ended.status().is_success());
    assert_eq!((ended.result.get(), ended.result_high.get()), (7, 3), "its 64 bits, of three blocks");
    for (block, bytes) in bench.ftl.disk.borrow().chunks(1 << log2).enumerate() {
        assert_eq!(bytes[0] == 0, [3, 5, 17].contains(&block), "block {block}");
    }
    // Nothing to do for the translation.
    let seen = bench.ftl.seen.borrow().len();
    let counted = bench.send(1, Sqe::new(COUNT, 1));
    assert!(counted.status().is_success() && u64::from(counted.result_high.get()) == blocks);
    assert_eq!(bench.ftl.seen.borrow().len(), seen);

    // What it refuses before the fetch and after it, and what only another set knows.
    let sqe = forget(&mut bench, &[1, blocks]);
    assert!(bench.status(1, sqe).is(Status::LBA_OUT_OF_RANGE));
    let mut sqe = forget(&mut bench, &[1]);
    sqe.dwords_10_15[2] = ADDRESSES_MAX.into();
    assert!(bench.status(1, sqe).is(Status::INVALID_FIELD));
    let read = IoCommand::Read(BlockRange::new(0, 1)).to_sqe(1, 0, DATA, 0);
    assert!(bench.status(1, read).is(Status::INVALID_OPCODE));
    assert_eq!(bench.ftl.seen.borrow().len(), seen);
    // A failure reads as the set says.
    bench.ftl.outcome.set(HostStatus::WriteFault);
    let sqe = forget(&mut bench, &[2]);
    let ended = bench.send(1, sqe);
    assert!(ended.status().is(Status::INTERNAL_ERROR) && ended.result.get() == u32::MAX);

    let mut bench = Bench::with_set(config(), Box::new(Nvm));
    bench.enable();
    bench.create_pair(1, 64);
    let sqe = forget(&mut bench, &[3]);
    assert!(bench.status(1, sqe).is(Status::INVALID_OPCODE), "NVM knows no vectors");
}
