//! A package's answers to READ ID, READ PARAMETER PAGE and READ UNIQUE ID.

use crate::config::NandConfig;
use alloc::vec::Vec;
use aster_units::{CellMode, Duration, LunAddr, mix64};
use aster_wire::onfi::parameter_page::{
    AddressCycles, COPIES_MIN, Features, MultiPlaneAttributes, OptionalCommands, ParameterPage, Revisions,
};
use aster_wire::onfi::{READ_ID_JEDEC, READ_ID_ONFI, SIGNATURE};

/// Appends the answer of READ ID at `address`; false if ONFI doesn't define the address.
pub(crate) fn read_id(config: &NandConfig, address: u8, into: &mut Vec<u8>) -> bool {
    match address {
        READ_ID_JEDEC => into.extend_from_slice(&config.identity.id),
        READ_ID_ONFI => into.extend_from_slice(&SIGNATURE),
        _ => return false,
    }
    true
}

fn micros(duration: Duration) -> u16 {
    u16::try_from(duration.as_picos().div_ceil(1_000_000)).unwrap_or(u16::MAX)
}

fn modes(max: Option<u8>) -> u8 {
    max.map_or(0, |m| (0..=m).fold(0, |bits, mode| bits | 1 << mode))
}

/// The parameter page of the packages of an array.
pub(crate) fn parameter_page(config: &NandConfig) -> ParameterPage {
    let g = &config.geometry;
    let c = &config.variant.commands;
    let t = &config.timing;
    let slack = t.deviation_die + t.deviation_page;
    let longest = |per: &crate::PerType| per.lsb.max(per.csb).max(per.msb) + slack;
    ParameterPage {
        revisions: Revisions::default().with_onfi_4_0(true),
        features: Features::default()
            .with_multiple_lun(g.luns > 1)
            .with_nv_ddr(config.bus.nv_ddr_mode_max.is_some())
            .with_nv_ddr2(config.bus.nv_ddr2_mode_max.is_some())
            .with_multi_plane_program(c.multi_plane && g.planes > 1)
            .with_multi_plane_read(c.multi_plane && g.planes > 1)
            .with_zq_calibration(c.zq_calibration)
            // 80h clears only the register of the addressed LUN and plane.
            .with_program_clear(true),
        optional_commands: OptionalCommands::default()
            .with_features(true)
            .with_read_status_enhanced(true)
            .with_read_unique_id(true)
            .with_change_read_column_enhanced(true)
            .with_cache_program(c.program_cache)
            .with_read_cache(c.read_cache)
            .with_copyback(c.copyback)
            .with_reset_lun(c.reset_lun)
            .with_odt_configure(c.odt_configure)
            .with_zq_calibration(c.zq_calibration),
        copies: COPIES_MIN as u8,
        manufacturer: config.identity.manufacturer,
        model: config.identity.model,
        jedec_id: config.identity.id[0],
        page_bytes: g.page_bytes,
        spare_bytes: g.spare_bytes,
        pages_per_block: u32::from(g.pages_per_block),
        blocks_per_lun: g.blocks_per_lun,
        luns: g.luns,
        address_cycles: AddressCycles::default().with_row(3).with_column(2),
        bits_per_cell: match config.cells {
            CellMode::Slc => 1,
            CellMode::Mlc => 2,
            CellMode::Tlc => 3,
        },
        bad_blocks_max: (g.blocks_per_lun * u32::from(config.failures.factory_bad_per_mille) / 500) as u16,
        endurance: config.identity.endurance,
        guaranteed_valid_blocks: 1,
        guaranteed_endurance: config.identity.endurance,
        programs_per_page: 1,
        ecc_bits: 0xff,
        plane_address_bits: g.planes.trailing_zeros() as u8,
        // Blocks of a multi-plane command only need to be in different planes.
        multi_plane: MultiPlaneAttributes::default()
            .with_no_block_restrictions(c.multi_plane)
            .with_program_cache(c.multi_plane && c.program_cache)
            .with_read_cache(c.multi_plane && c.read_cache),
        sdr_modes: u16::from(modes(Some(config.bus.sdr_mode_max))),
        t_prog_us: micros(longest(&t.program)),
        t_bers_us: micros(t.erase + slack),
        t_r_us: micros(longest(&t.read)),
        t_ccs_ns: config.bus.t_ccs.as_nanos() as u16,
        nv_ddr_modes: modes(config.bus.nv_ddr_mode_max),
        nv_ddr2_modes: modes(config.bus.nv_ddr2_mode_max),
        driver_strengths: 1,
        ..ParameterPage::default()
    }
}

/// READ PARAMETER PAGE: all copies.
pub(crate) fn read_parameter_page(config: &NandConfig, into: &mut Vec<u8>) {
    let page = parameter_page(config).to_bytes();
    (0..COPIES_MIN).for_each(|_| into.extend_from_slice(&page));
}

/// Copies of the unique ID, each followed by its complement (ONFI 5.1 §5.8).
const UNIQUE_ID_COPIES: usize = 16;

/// READ UNIQUE ID: derived from the seed and the package's place.
pub(crate) fn read_unique_id(config: &NandConfig, at: LunAddr, into: &mut Vec<u8>) {
    let place = u64::from(at.channel) << 8 | u64::from(at.way);
    let low = mix64(config.seed ^ mix64(place ^ 0x1d));
    let id = [low.to_le_bytes(), mix64(low ^ place).to_le_bytes()].concat();
    for _ in 0..UNIQUE_ID_COPIES {
        into.extend_from_slice(&id);
        into.extend(id.iter().map(|b| !b));
    }
}
