//! The operations of I5 that one party asks for and another carries out.

use alloc::vec::Vec;

/// Kinds of operations that not every translation offers. Every translation must carry out flush, format
/// and shutdown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Operations {
    /// Bytes of the namespace: read, write, compare, write of zeroes, deallocation.
    pub blocks: bool,
    /// Units of flash by their addresses: vector read, vector write, vector erase.
    pub vectors: bool,
    /// [`HostOp::VectorCopy`](aster_ports::host::HostOp::VectorCopy).
    pub copies: bool,
    /// [`HostOp::Report`](aster_ports::host::HostOp::Report).
    pub reports: bool,
    /// [`HostOp::SetBlockState`](aster_ports::host::HostOp::SetBlockState).
    pub block_states: bool,
}

impl Operations {
    /// The operations of a drive that its host sees as blocks.
    pub const BLOCKS: Operations =
        Operations { blocks: true, vectors: false, copies: false, reports: false, block_states: false };

    /// The operations among these that `offered` lacks, in words.
    pub fn missing_in(&self, offered: &Operations) -> Vec<&'static str> {
        let kinds = [
            (self.blocks, offered.blocks, "reads and writes of blocks"),
            (self.vectors, offered.vectors, "vectors"),
            (self.copies, offered.copies, "copies of vectors"),
            (self.reports, offered.reports, "reports"),
            (self.block_states, offered.block_states, "states of blocks"),
        ];
        let missing = kinds.into_iter().filter(|(asked, offered, _)| *asked && !offered);
        missing.map(|(_, _, kind)| kind).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_and_not_offered_is_named() {
        let vectors = Operations { vectors: true, reports: true, ..Operations::default() };
        assert_eq!(vectors.missing_in(&Operations::BLOCKS), ["vectors", "reports"]);
        assert_eq!(Operations::BLOCKS.missing_in(&vectors), ["reads and writes of blocks"]);
        let more = Operations { copies: true, block_states: true, ..vectors };
        assert!(vectors.missing_in(&more).is_empty());
        assert_eq!(more.missing_in(&vectors), ["copies of vectors", "states of blocks"]);
    }
}
