//! The fields of a parameter page, as values.

bit_fields! {
    /// Revisions of the standard that the package supports (bytes 5:4).
    pub struct Revisions(u16) {
        /// ONFI 1.0.
        onfi_1_0, with_onfi_1_0: 1, 1 => bool;
        /// ONFI 2.0.
        onfi_2_0, with_onfi_2_0: 2, 1 => bool;
        /// ONFI 2.1.
        onfi_2_1, with_onfi_2_1: 3, 1 => bool;
        /// ONFI 2.2.
        onfi_2_2, with_onfi_2_2: 4, 1 => bool;
        /// ONFI 2.3.
        onfi_2_3, with_onfi_2_3: 5, 1 => bool;
        /// ONFI 3.0.
        onfi_3_0, with_onfi_3_0: 6, 1 => bool;
        /// ONFI 3.1.
        onfi_3_1, with_onfi_3_1: 7, 1 => bool;
        /// ONFI 3.2.
        onfi_3_2, with_onfi_3_2: 8, 1 => bool;
        /// ONFI 4.0.
        onfi_4_0, with_onfi_4_0: 9, 1 => bool;
    }
}

bit_fields! {
    /// Features supported (bytes 7:6).
    pub struct Features(u16) {
        /// 16-bit data bus.
        bus_16_bit, with_bus_16_bit: 0, 1 => bool;
        /// Several LUNs may be busy at once.
        multiple_lun, with_multiple_lun: 1, 1 => bool;
        /// Pages of a block may be programmed in any order.
        non_sequential_program, with_non_sequential_program: 2, 1 => bool;
        /// Multi-plane program and erase.
        multi_plane_program, with_multi_plane_program: 3, 1 => bool;
        /// Copyback between odd and even pages.
        odd_to_even_copyback, with_odd_to_even_copyback: 4, 1 => bool;
        /// NV-DDR.
        nv_ddr, with_nv_ddr: 5, 1 => bool;
        /// Multi-plane read.
        multi_plane_read, with_multi_plane_read: 6, 1 => bool;
        /// Extended parameter page.
        extended_parameter_page, with_extended_parameter_page: 7, 1 => bool;
        /// Program page register clear enhancement.
        program_clear, with_program_clear: 8, 1 => bool;
        /// EZ NAND.
        ez_nand, with_ez_nand: 9, 1 => bool;
        /// NV-DDR2.
        nv_ddr2, with_nv_ddr2: 10, 1 => bool;
        /// Volume addressing.
        volume_addressing, with_volume_addressing: 11, 1 => bool;
        /// External Vpp.
        external_vpp, with_external_vpp: 12, 1 => bool;
        /// NV-DDR3.
        nv_ddr3, with_nv_ddr3: 13, 1 => bool;
        /// ZQ calibration.
        zq_calibration, with_zq_calibration: 14, 1 => bool;
        /// Package electrical specification.
        package_electrical, with_package_electrical: 15, 1 => bool;
    }
}

bit_fields! {
    /// Optional commands supported (bytes 9:8).
    pub struct OptionalCommands(u16) {
        /// PAGE CACHE PROGRAM.
        cache_program, with_cache_program: 0, 1 => bool;
        /// Read cache commands.
        read_cache, with_read_cache: 1, 1 => bool;
        /// GET FEATURES and SET FEATURES.
        features, with_features: 2, 1 => bool;
        /// READ STATUS ENHANCED.
        read_status_enhanced, with_read_status_enhanced: 3, 1 => bool;
        /// COPYBACK.
        copyback, with_copyback: 4, 1 => bool;
        /// READ UNIQUE ID.
        read_unique_id, with_read_unique_id: 5, 1 => bool;
        /// CHANGE READ COLUMN ENHANCED.
        change_read_column_enhanced, with_change_read_column_enhanced: 6, 1 => bool;
        /// CHANGE ROW ADDRESS.
        change_row_address, with_change_row_address: 7, 1 => bool;
        /// SMALL DATA MOVE.
        small_data_move, with_small_data_move: 8, 1 => bool;
        /// RESET LUN.
        reset_lun, with_reset_lun: 9, 1 => bool;
        /// VOLUME SELECT.
        volume_select, with_volume_select: 10, 1 => bool;
        /// ODT CONFIGURE.
        odt_configure, with_odt_configure: 11, 1 => bool;
        /// LUN GET FEATURES and LUN SET FEATURES.
        lun_features, with_lun_features: 12, 1 => bool;
        /// ZQ CALIBRATION LONG and SHORT.
        zq_calibration, with_zq_calibration: 13, 1 => bool;
    }
}

bit_fields! {
    /// Address cycles (byte 101).
    pub struct AddressCycles(u8) {
        /// Row address cycles.
        row, with_row: 0, 4 => u8;
        /// Column address cycles.
        column, with_column: 4, 4 => u8;
    }
}

bit_fields! {
    /// Multi-plane operation attributes (byte 114).
    pub struct MultiPlaneAttributes(u8) {
        /// Overlapped or concurrent multi-plane operations.
        overlapped, with_overlapped: 0, 1 => bool;
        /// No block address restrictions between planes.
        no_block_restrictions, with_no_block_restrictions: 1, 1 => bool;
        /// Program cache with multi-plane.
        program_cache, with_program_cache: 2, 1 => bool;
        /// Address restrictions for cache operations are relaxed.
        relaxed_cache_addresses, with_relaxed_cache_addresses: 3, 1 => bool;
        /// Read cache with multi-plane.
        read_cache, with_read_cache: 4, 1 => bool;
        /// The lower block address bits need not be equal between planes.
        lower_block_bits_free, with_lower_block_bits_free: 5, 1 => bool;
    }
}

/// A count as the page carries it: `value · 10^exponent` (bytes 106:105 and 109:108).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Endurance {
    /// Mantissa.
    pub value: u8,
    /// Power of ten.
    pub exponent: u8,
}

impl Endurance {
    /// Program/erase cycles; `None` when more than 64 bits hold.
    pub fn cycles(self) -> Option<u64> {
        10u64.checked_pow(u32::from(self.exponent))?.checked_mul(u64::from(self.value))
    }
}

/// What a package says about itself. [`Default`] is all zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ParameterPage {
    /// Revisions supported.
    pub revisions: Revisions,
    /// Features supported.
    pub features: Features,
    /// Optional commands supported.
    pub optional_commands: OptionalCommands,
    /// Copies of the page that the package returns; 0 when not reported, else at least 3 (byte 14).
    pub copies: u8,
    /// Manufacturer, ASCII padded with spaces (bytes 43:32).
    pub manufacturer: [u8; 12],
    /// Model, ASCII padded with spaces (bytes 63:44).
    pub model: [u8; 20],
    /// JEDEC manufacturer ID (byte 64).
    pub jedec_id: u8,
    /// Date code (bytes 66:65); 0 if not given.
    pub date_code: u16,
    /// Data bytes per page (bytes 83:80).
    pub page_bytes: u32,
    /// Spare bytes per page (bytes 85:84).
    pub spare_bytes: u16,
    /// Pages per block (bytes 95:92).
    pub pages_per_block: u32,
    /// Blocks per LUN (bytes 99:96).
    pub blocks_per_lun: u32,
    /// LUNs behind a chip enable (byte 100).
    pub luns: u8,
    /// Address cycles (byte 101).
    pub address_cycles: AddressCycles,
    /// Bits per cell (byte 102); FFh when not reported.
    pub bits_per_cell: u8,
    /// The most bad blocks per LUN over its life (bytes 104:103).
    pub bad_blocks_max: u16,
    /// Block endurance (bytes 106:105).
    pub endurance: Endurance,
    /// Blocks from block 0 on that are valid when shipped (byte 107).
    pub guaranteed_valid_blocks: u8,
    /// Endurance of those blocks (bytes 109:108).
    pub guaranteed_endurance: Endurance,
    /// Programs per page before an erase (byte 110).
    pub programs_per_page: u8,
    /// ECC bits that the host must correct per 528 bytes (byte 112); FFh refers to the extended parameter
    /// page.
    pub ecc_bits: u8,
    /// Plane address bits, 0 to 15 (byte 113, bits 3:0).
    pub plane_address_bits: u8,
    /// Multi-plane attributes (byte 114).
    pub multi_plane: MultiPlaneAttributes,
    /// I/O pin capacitance in picofarads, maximum (byte 128).
    pub io_capacitance: u8,
    /// SDR timing modes supported, mode n as bit n (bytes 130:129).
    pub sdr_modes: u16,
    /// tPROG in microseconds, maximum (bytes 134:133).
    pub t_prog_us: u16,
    /// tBERS in microseconds, maximum (bytes 136:135).
    pub t_bers_us: u16,
    /// tR in microseconds, maximum (bytes 138:137).
    pub t_r_us: u16,
    /// tCCS in nanoseconds, minimum (bytes 140:139).
    pub t_ccs_ns: u16,
    /// NV-DDR timing modes supported, mode n as bit n (byte 141).
    pub nv_ddr_modes: u8,
    /// NV-DDR2 timing modes 0 to 7 supported, mode n as bit n (byte 142).
    pub nv_ddr2_modes: u8,
    /// NV-DDR and NV-DDR2 features: bit 0 selects tCAD, bit 1 typical capacitances (byte 143).
    pub nv_ddr_features: u8,
    /// Driver strengths supported: bit 0 35/50 Ω, bit 1 25 Ω, bit 2 18 Ω (byte 151).
    pub driver_strengths: u8,
    /// tR of a multi-plane read in microseconds, maximum (bytes 153:152); 0 when as `t_r_us`.
    pub t_r_multi_plane_us: u16,
    /// tADL with program page register clear in nanoseconds (bytes 155:154); 0 when not supported.
    pub t_adl_ns: u16,
    /// NV-DDR2 features (byte 158).
    pub nv_ddr2_features: u8,
    /// NV-DDR2 warm-up cycles: bits 3:0 output, bits 7:4 input (byte 159).
    pub nv_ddr2_warmup: u8,
    /// Vendor specific revision (bytes 165:164).
    pub vendor_revision: u16,
    /// Vendor specific bytes (bytes 253:166).
    pub vendor: Vendor,
}

/// The 88 vendor specific bytes of a parameter page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vendor(pub [u8; 88]);

impl Default for Vendor {
    fn default() -> Self {
        Vendor([0; 88])
    }
}
