//! The packages (`hardware/nand`).

use super::error::{BuildError, value};
use super::flash::variant;
use super::onfi::commands;
use super::ports::layout;
use super::times::{micros, nanos, per_type};
use crate::profile::{FactoryMarksName, Profile};
use aster_nand::{
    ArrayTiming, BusConfig, ErrorModel, FactoryMarks, FailureModel, Identity, LEVELS_MAX, NandConfig,
    PerType, SlowLun, Variant,
};
use aster_units::{Content, LunIndex};
use aster_wire::onfi::parameter_page::Endurance;

pub(crate) fn nand(profile: &Profile, content: Content) -> Result<NandConfig, BuildError> {
    let p = &profile.package;
    let of = |times: &[f64]| {
        let [lsb, csb, msb] = per_type(times);
        PerType { lsb, csb, msb }
    };
    let padded = |key, text: &str, into: &mut [u8]| {
        if text.len() > into.len() || !text.is_ascii() {
            return Err(value(key, format!("must be at most {} ASCII characters", into.len())));
        }
        into.fill(b' ');
        into[..text.len()].copy_from_slice(text.as_bytes());
        Ok(())
    };
    let (mut manufacturer, mut model) = ([0; 12], [0; 20]);
    padded("package.manufacturer", &p.manufacturer, &mut manufacturer)?;
    padded("package.model", &p.model, &mut model)?;
    let t_ccs = nanos(p.column_change_ns);
    let variant = variant(p);
    Ok(NandConfig {
        geometry: profile.array_geometry(),
        layout: layout(profile)?,
        content,
        cells: p.cells.into(),
        timing: ArrayTiming {
            read: of(&p.read_us),
            program: of(&p.program_us),
            erase: micros(p.erase_us),
            deviation_die: micros(p.die_deviation_us),
            deviation_page: micros(p.page_deviation_us),
            slc_read: variant.slc_read,
            slc_program: variant.slc_program,
            slc_erase: variant.slc_erase,
            one_shot_program: variant.one_shot_program,
            suspend: variant.suspend,
            slow: p.slow_lun.map(|slow| SlowLun {
                lun: LunIndex(slow.lun),
                one_in: slow.one_in,
                times: slow.times,
            }),
            ..ArrayTiming::COSMOS_MLC
        },
        bus: BusConfig {
            sdr_mode_max: 5,
            nv_ddr_mode_max: Some(5),
            nv_ddr2_mode_max: Some(p.nv_ddr2_mode_max),
            t_ccs,
        },
        variant: Variant {
            commands: commands(p),
            read_levels_mv: p.retry.as_ref().map(|retry| retry.levels_mv.clone()).unwrap_or_default(),
            pair_loss: p.pair_loss,
            lsb_pages: profile.restrict.lsb_pages,
        },
        identity: Identity { id: p.id, manufacturer, model, endurance: endurance(p.endurance) },
        errors: ErrorModel {
            fresh: p.errors.fresh,
            cycle: p.errors.cycle,
            cycle_squared: p.errors.cycle_squared,
            retention: p.errors.retention,
            read: p.errors.read,
            csb_factor: p.errors.csb_factor,
            msb_factor: p.errors.msb_factor,
            slc_factor: p.errors.slc_factor,
            retention_shift_mv: p.errors.retention_shift_mv,
            level_width_mv: p.errors.level_width_mv,
            read_noise_mv: p.errors.read_noise_mv,
            neighbour: p.errors.neighbour,
            coupling_mv: p.errors.coupling_mv,
            lifted: lifted(&p.errors.lifted),
        },
        failures: FailureModel {
            factory_bad_per_mille: p.factory_bad_per_mille,
            factory_marks: match p.factory_marks {
                FactoryMarksName::FirstPage => FactoryMarks::FirstPage,
                FactoryMarksName::LastPage => FactoryMarks::LastPage,
                FactoryMarksName::FirstOrLastPage => FactoryMarks::FirstOrLastPage,
            },
            program_per_million: p.program_failures_per_million,
            erase_per_million: p.erase_failures_per_million,
            growth_per_thousand_cycles: p.failure_growth,
            wear_out_cycles: (u64::from(p.endurance) * u64::from(p.wear_out_percent) / 100)
                .try_into()
                .unwrap_or(u32::MAX),
        },
        seed: profile.seed,
    })
}

/// As a parameter page encodes it: a value times a power of ten, rounded down.
fn endurance(cycles: u32) -> Endurance {
    let (mut value, mut exponent) = (cycles, 0);
    while value > 255 {
        value /= 10;
        exponent += 1;
    }
    Endurance { value: value as u8, exponent }
}

/// The share of errors per level that a lift causes. The profile's check ensures that there are no more
/// than levels.
fn lifted(shares: &[f64]) -> [f64; LEVELS_MAX] {
    core::array::from_fn(|level| shares.get(level).copied().unwrap_or_default())
}

/// Bytes of the NAND image of a profile's drive. The file is sparse until written.
///
/// # Errors
/// When the profile doesn't describe a working drive.
pub fn nand_image_bytes(profile: &Profile, content: Option<Content>) -> Result<u64, BuildError> {
    let config = nand(profile, content.unwrap_or(profile.content.into()))?;
    config.validate()?;
    Ok(aster_nand::NandArray::image_bytes(&config))
}

/// Bytes at the image's beginning that describe the array's state, including the pages' checksums.
///
/// # Errors
/// As [`nand_image_bytes`].
pub fn nand_records_bytes(profile: &Profile, content: Option<Content>) -> Result<u64, BuildError> {
    let config = nand(profile, content.unwrap_or(profile.content.into()))?;
    config.validate()?;
    Ok(aster_nand::NandArray::image_records_bytes(&config))
}
