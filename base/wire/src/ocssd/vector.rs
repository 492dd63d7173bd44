//! Dword 12 of a vector command, and of Set Bad Block Table (P23, P26).

bit_fields! {
    /// Dword 12 of a vector command.
    pub struct VectorControl(u32) {
        /// Addresses, zero-based (NLB). Above 63 the command is refused.
        addresses_less_one, with_addresses_less_one: 0, 16 => u16;
        /// Planes that one address stands for: 0 one, 1 two, 2 four.
        plane_mode, with_plane_mode: 16, 2 => u8;
        /// A program or erase may be suspended for the command.
        suspend, with_suspend: 23, 1 => bool;
        /// The cells are used as SLC.
        slc, with_slc: 24, 1 => bool;
        /// The scrambler is off.
        scramble_off, with_scramble_off: 25, 1 => bool;
    }
}

bit_fields! {
    /// Dword 12 of Set Bad Block Table.
    pub struct TableControl(u32) {
        /// Addresses, zero-based.
        addresses_less_one, with_addresses_less_one: 0, 16 => u16;
        /// The state, see [`super::BlockFlags`].
        state, with_state: 16, 8 => u8;
    }
}

/// Plane modes of [`VectorControl::plane_mode`].
pub mod planes {
    /// An address stands for its own plane.
    pub const SINGLE: u8 = 0;
    /// An address stands for two planes.
    pub const DUAL: u8 = 1;
    /// An address stands for four planes.
    pub const QUAD: u8 = 2;
}
