//! The completion queue entry (NVMe 1.4 §4.6).

use super::status::Status;
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes of a completion queue entry; `CC.IOCQES` is its logarithm.
pub const CQE_BYTES: usize = 16;
/// The value of `CC.IOCQES` that the NVM command set requires.
pub const CQE_LOG2: u8 = 4;

/// A completion queue entry: 16 bytes (NVMe 1.4 §4.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Cqe {
    /// DW0: the command specific result.
    pub result: U32,
    /// DW1: reserved in NVMe 1.4; carries the upper half of a 64-bit result in Fabrics and open-channel
    /// completions.
    pub result_high: U32,
    /// SQ head pointer when the entry was made.
    pub sq_head: U16,
    /// The submission queue that the command came from.
    pub sq_id: U16,
    /// The command's identifier.
    pub cid: U16,
    /// The status field, with the phase tag as bit 0.
    status_and_phase: U16,
}

impl Cqe {
    /// A completion, phase tag included.
    pub const fn new(result: u64, sq_head: u16, sq_id: u16, cid: u16, status: Status, phase: bool) -> Self {
        Cqe {
            result: U32::new(result as u32),
            result_high: U32::new((result >> 32) as u32),
            sq_head: U16::new(sq_head),
            sq_id: U16::new(sq_id),
            cid: U16::new(cid),
            status_and_phase: U16::new(status.with_phase_tag(phase)),
        }
    }
    /// The status field.
    pub const fn status(&self) -> Status {
        Status::from_wire(self.status_and_phase.get()).0
    }
    /// The phase tag: it inverts each time the queue wraps (§4.6).
    pub const fn phase(&self) -> bool {
        Status::from_wire(self.status_and_phase.get()).1
    }
    /// DW1 and DW0 as one 64-bit result.
    pub const fn result_64(&self) -> u64 {
        self.result.get() as u64 | (self.result_high.get() as u64) << 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_fields_lie_where_section_4_6_puts_them() {
        let cqe = Cqe::new(0x1122_3344, 0x5566, 0x7788, 0x99aa, Status::INVALID_FIELD.with_dnr(true), true);
        // DNR is bit 31, SC 24:17 of DW3 and the phase tag its bit 16.
        assert_eq!(
            cqe.as_bytes(),
            [0x44, 0x33, 0x22, 0x11, 0, 0, 0, 0, 0x66, 0x55, 0x88, 0x77, 0xaa, 0x99, 0x05, 0x80]
        );
    }

    proptest! {
        #[test]
        fn any_sixteen_bytes_are_an_entry_that_round_trips(bytes: [u8; 16]) {
            let cqe = Cqe::read_from_bytes(&bytes).unwrap();
            let again = Cqe::new(
                cqe.result_64(), cqe.sq_head.get(), cqe.sq_id.get(), cqe.cid.get(), cqe.status(), cqe.phase(),
            );
            prop_assert_eq!(again.as_bytes(), &bytes);
        }
    }
}
