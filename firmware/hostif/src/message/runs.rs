//! The runs of host memory that a command's data are in.

use super::array::Plan;
use aster_ports::host::DmaPart;
use aster_ports::link::{MAX_SEGMENTS, Segment};
use aster_wire::array::{Command, HOST_ADDRESSES_MAX};

/// Link operations of one DMA request: its bytes lie in as many runs as the command has at most.
pub(super) const OPERATIONS_MAX: usize = HOST_ADDRESSES_MAX.div_ceil(MAX_SEGMENTS);

/// Segments of host memory for part of a link operation.
pub(super) type Segments = ([Segment; MAX_SEGMENTS], u8, u32);

/// The segments from byte `offset` of a part of the command's data on: at most `length` bytes, in as many
/// segments as a link operation has. Asserts that the command has these bytes.
pub(super) fn segments(command: &Command, plan: &Plan, part: DmaPart, offset: u32, length: u32) -> Segments {
    let all = command.host();
    let data_runs = all.len() - usize::from(command.flags.oob());
    let (runs, bytes) = match part {
        DmaPart::Data => (&all[..data_runs], plan.data),
        DmaPart::Metadata => (&all[data_runs..], plan.metadata),
    };
    let end = offset.checked_add(length).filter(|&end| end <= bytes);
    let end = end.expect("the translation moves bytes that the command has");
    let (mut segments, mut count, mut done, mut begin) = ([Segment::default(); MAX_SEGMENTS], 0, 0, 0);
    for run in runs {
        let (from, to) = (offset.max(begin), end.min(begin + run.bytes()));
        if from < to && usize::from(count) < MAX_SEGMENTS {
            // 48 bits of address and 20 of length: no overflow.
            let address = run.address() + u64::from(from - begin);
            segments[usize::from(count)] = Segment { address, length: to - from };
            (count, done) = (count + 1, done + (to - from));
        }
        begin += run.bytes();
    }
    (segments, count, done)
}
