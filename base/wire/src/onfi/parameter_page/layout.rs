use super::fields::{
    AddressCycles, Endurance, Features, MultiPlaneAttributes, OptionalCommands, ParameterPage, Revisions,
    Vendor,
};
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Where the integrity CRC is: the last two bytes.
pub(super) const CRC_AT: usize = 254;

/// The layout of the page (ONFI 5.1 §5.7.1).
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct RawPage {
    pub(super) signature: [u8; 4],
    revisions: U16,
    features: U16,
    optional_commands: U16,
    /// Primary advanced commands (JEDEC) and training commands: none of them supported.
    reserved_10: [u8; 2],
    /// Length of the extended parameter page: none.
    reserved_12: [u8; 2],
    copies: u8,
    reserved_15: [u8; 17],
    manufacturer: [u8; 12],
    model: [u8; 20],
    jedec_id: u8,
    date_code: U16,
    reserved_67: [u8; 13],
    page_bytes: U32,
    spare_bytes: U16,
    /// Partial page sizes: obsolete.
    reserved_86: [u8; 6],
    pages_per_block: U32,
    blocks_per_lun: U32,
    luns: u8,
    address_cycles: u8,
    bits_per_cell: u8,
    bad_blocks_max: U16,
    endurance: [u8; 2],
    guaranteed_valid_blocks: u8,
    guaranteed_endurance: [u8; 2],
    programs_per_page: u8,
    reserved_111: u8,
    ecc_bits: u8,
    plane_address_bits: u8,
    multi_plane: u8,
    reserved_115: [u8; 13],
    io_capacitance: u8,
    sdr_modes: U16,
    reserved_131: [u8; 2],
    t_prog_us: U16,
    t_bers_us: U16,
    t_r_us: U16,
    t_ccs_ns: U16,
    nv_ddr_modes: u8,
    nv_ddr2_modes: u8,
    nv_ddr_features: u8,
    /// Typical and maximum pin capacitances: not reported.
    reserved_144: [u8; 7],
    driver_strengths: u8,
    t_r_multi_plane_us: U16,
    t_adl_ns: U16,
    reserved_156: [u8; 2],
    nv_ddr2_features: u8,
    nv_ddr2_warmup: u8,
    reserved_160: [u8; 4],
    vendor_revision: U16,
    vendor: [u8; 88],
    crc: U16,
}

impl RawPage {
    pub(super) fn from_value(page: &ParameterPage) -> Self {
        let mut raw = RawPage::new_zeroed();
        raw.signature = super::super::SIGNATURE;
        raw.revisions.set(page.revisions.0);
        raw.features.set(page.features.0);
        raw.optional_commands.set(page.optional_commands.0);
        raw.copies = page.copies;
        raw.manufacturer = page.manufacturer;
        raw.model = page.model;
        raw.jedec_id = page.jedec_id;
        raw.date_code.set(page.date_code);
        raw.page_bytes.set(page.page_bytes);
        raw.spare_bytes.set(page.spare_bytes);
        raw.pages_per_block.set(page.pages_per_block);
        raw.blocks_per_lun.set(page.blocks_per_lun);
        raw.luns = page.luns;
        raw.address_cycles = page.address_cycles.0;
        raw.bits_per_cell = page.bits_per_cell;
        raw.bad_blocks_max.set(page.bad_blocks_max);
        raw.endurance = [page.endurance.value, page.endurance.exponent];
        raw.guaranteed_valid_blocks = page.guaranteed_valid_blocks;
        raw.guaranteed_endurance = [page.guaranteed_endurance.value, page.guaranteed_endurance.exponent];
        raw.programs_per_page = page.programs_per_page;
        raw.ecc_bits = page.ecc_bits;
        raw.plane_address_bits = page.plane_address_bits;
        raw.multi_plane = page.multi_plane.0;
        raw.io_capacitance = page.io_capacitance;
        raw.sdr_modes.set(page.sdr_modes);
        raw.t_prog_us.set(page.t_prog_us);
        raw.t_bers_us.set(page.t_bers_us);
        raw.t_r_us.set(page.t_r_us);
        raw.t_ccs_ns.set(page.t_ccs_ns);
        raw.nv_ddr_modes = page.nv_ddr_modes;
        raw.nv_ddr2_modes = page.nv_ddr2_modes;
        raw.nv_ddr_features = page.nv_ddr_features;
        raw.driver_strengths = page.driver_strengths;
        raw.t_r_multi_plane_us.set(page.t_r_multi_plane_us);
        raw.t_adl_ns.set(page.t_adl_ns);
        raw.nv_ddr2_features = page.nv_ddr2_features;
        raw.nv_ddr2_warmup = page.nv_ddr2_warmup;
        raw.vendor_revision.set(page.vendor_revision);
        raw.vendor = page.vendor.0;
        raw
    }

    pub(super) fn to_value(&self) -> ParameterPage {
        let endurance = |[value, exponent]: [u8; 2]| Endurance { value, exponent };
        ParameterPage {
            revisions: Revisions(self.revisions.get()),
            features: Features(self.features.get()),
            optional_commands: OptionalCommands(self.optional_commands.get()),
            copies: self.copies,
            manufacturer: self.manufacturer,
            model: self.model,
            jedec_id: self.jedec_id,
            date_code: self.date_code.get(),
            page_bytes: self.page_bytes.get(),
            spare_bytes: self.spare_bytes.get(),
            pages_per_block: self.pages_per_block.get(),
            blocks_per_lun: self.blocks_per_lun.get(),
            luns: self.luns,
            address_cycles: AddressCycles(self.address_cycles),
            bits_per_cell: self.bits_per_cell,
            bad_blocks_max: self.bad_blocks_max.get(),
            endurance: endurance(self.endurance),
            guaranteed_valid_blocks: self.guaranteed_valid_blocks,
            guaranteed_endurance: endurance(self.guaranteed_endurance),
            programs_per_page: self.programs_per_page,
            ecc_bits: self.ecc_bits,
            plane_address_bits: self.plane_address_bits,
            multi_plane: MultiPlaneAttributes(self.multi_plane),
            io_capacitance: self.io_capacitance,
            sdr_modes: self.sdr_modes.get(),
            t_prog_us: self.t_prog_us.get(),
            t_bers_us: self.t_bers_us.get(),
            t_r_us: self.t_r_us.get(),
            t_ccs_ns: self.t_ccs_ns.get(),
            nv_ddr_modes: self.nv_ddr_modes,
            nv_ddr2_modes: self.nv_ddr2_modes,
            nv_ddr_features: self.nv_ddr_features,
            driver_strengths: self.driver_strengths,
            t_r_multi_plane_us: self.t_r_multi_plane_us.get(),
            t_adl_ns: self.t_adl_ns.get(),
            nv_ddr2_features: self.nv_ddr2_features,
            nv_ddr2_warmup: self.nv_ddr2_warmup,
            vendor_revision: self.vendor_revision.get(),
            vendor: Vendor(self.vendor),
        }
    }
}
