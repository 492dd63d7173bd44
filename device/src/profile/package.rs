//! The keys of a package: a profile's `[package]` table, or a file of its own in profiles/packages.

use super::ProfileError;
use aster_units::CellMode;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

/// How a package's cells are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CellUse {
    /// One bit per cell.
    Slc,
    /// Two bits per cell.
    Mlc,
    /// Three bits per cell.
    Tlc,
}

impl From<CellUse> for CellMode {
    fn from(use_: CellUse) -> CellMode {
        match use_ {
            CellUse::Slc => CellMode::Slc,
            CellUse::Mlc => CellMode::Mlc,
            CellUse::Tlc => CellMode::Tlc,
        }
    }
}

/// The NAND package.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PackageProfile {
    /// Manufacturer, at most 12 ASCII characters.
    pub manufacturer: String,
    /// Model, at most 20 ASCII characters.
    pub model: String,
    /// JEDEC manufacturer and device identifier, six bytes.
    pub id: [u8; 6],
    /// How the cells are used.
    pub cells: CellUse,
    /// tR in microseconds by page type: LSB, then CSB and MSB as the cells have them.
    pub read_us: Vec<f64>,
    /// tPROG in microseconds by page type.
    pub program_us: Vec<f64>,
    /// tBERS in microseconds.
    pub erase_us: f64,
    /// A die's offset from these times at most, ± microseconds (G5).
    #[serde(default)]
    pub die_deviation_us: f64,
    /// A page's offset from its die's times at most, ± microseconds (G5).
    #[serde(default)]
    pub page_deviation_us: f64,
    /// tCCS in nanoseconds: column change to data.
    #[serde(default = "default_ccs")]
    pub column_change_ns: u32,
    /// Program/erase cycles that the vendor guarantees.
    #[serde(default = "default_endurance")]
    pub endurance: u32,
    /// Factory bad blocks per thousand.
    #[serde(default)]
    pub factory_bad_per_mille: u16,
    /// Which pages of a factory bad block carry its mark.
    #[serde(default)]
    pub factory_marks: FactoryMarksName,
    /// Programs that fail per million.
    #[serde(default)]
    pub program_failures_per_million: u32,
    /// Erases that fail per million.
    #[serde(default)]
    pub erase_failures_per_million: u32,
    /// How much more often they fail per thousand program/erase cycles, as a share.
    #[serde(default)]
    pub failure_growth: f64,
    /// Program/erase cycles, in percent of the endurance, after which blocks can't be erased any more; each
    /// block lasts up to a quarter longer. 0 for never.
    #[serde(default)]
    pub wear_out_percent: u32,
    /// Fastest NV-DDR2 timing mode.
    #[serde(default = "default_nv_ddr2_mode")]
    pub nv_ddr2_mode_max: u8,
    /// Optional ONFI commands that the package has.
    #[serde(default)]
    pub commands: Vec<CommandName>,
    /// A power cut during the program of an upper page also destroys the lower pages of its word line.
    #[serde(default)]
    pub pair_loss: bool,
    /// Cells used as SLC, by a command prefix; absent when the package can't.
    pub slc: Option<PseudoSlcProfile>,
    /// One-shot programming of TLC word lines; absent when the package can't.
    pub one_shot: Option<OneShotProfile>,
    /// Suspending programs and erases; absent when the package can't.
    pub suspend: Option<SuspendProfile>,
    /// Read levels; absent when there is only one.
    pub retry: Option<RetryProfile>,
    /// A LUN that is slow at some of its pages and blocks; absent when all are alike (C90).
    pub slow_lun: Option<SlowLunProfile>,
    /// Bit errors; none when absent.
    #[serde(default)]
    pub errors: ErrorsProfile,
}

fn default_nv_ddr2_mode() -> u8 {
    7
}

/// Which pages of a factory bad block carry its mark: ONFI 5.1 §3.3 leaves it to the vendor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FactoryMarksName {
    /// The first.
    FirstPage,
    /// The last.
    LastPage,
    /// One of the two; which one differs from block to block.
    #[default]
    FirstOrLastPage,
}

/// Optional commands of ONFI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommandName {
    /// READ CACHE SEQUENTIAL, RANDOM and END.
    ReadCache,
    /// PAGE CACHE PROGRAM.
    ProgramCache,
    /// Multi-plane READ, PROGRAM and ERASE.
    MultiPlane,
    /// COPYBACK READ and PROGRAM.
    Copyback,
    /// RESET LUN.
    ResetLun,
    /// ODT CONFIGURE.
    OdtConfigure,
    /// ZQ CALIBRATION LONG and SHORT.
    ZqCalibration,
}

/// Cells used as SLC. Vendor specific.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PseudoSlcProfile {
    /// The command cycle before READ, PROGRAM and ERASE.
    pub prefix: u8,
    /// tR in microseconds.
    pub read_us: f64,
    /// tPROG in microseconds.
    pub program_us: f64,
    /// tBERS in microseconds.
    pub erase_us: f64,
}

/// One-shot programming of the three pages of a word line. Vendor specific.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OneShotProfile {
    /// The command cycles that say which page is loaded: LSB, CSB, MSB.
    pub prefixes: [u8; 3],
    /// The second cycle of a page that is loaded before the last.
    pub load_confirm: u8,
    /// Time for all three pages in microseconds.
    pub program_us: f64,
}

/// Suspending programs and erases. Vendor specific: each is a command cycle and three row cycles.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SuspendProfile {
    /// ERASE SUSPEND.
    pub erase: u8,
    /// ERASE RESUME.
    pub erase_resume: u8,
    /// PROGRAM SUSPEND.
    pub program: u8,
    /// PROGRAM RESUME.
    pub program_resume: u8,
    /// From the command until the LUN takes others, microseconds.
    pub latency_us: f64,
}

/// Read levels. Vendor specific.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RetryProfile {
    /// The feature whose P1 chooses a level, 128 to 255.
    pub feature: u8,
    /// The levels in millivolts against a fresh part's best; the first is the one after power-on.
    pub levels_mv: Vec<i16>,
}

/// A LUN that is slow at some of its pages and blocks, as a weak part is. Identification tells the host
/// nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SlowLunProfile {
    /// Which one, counted over the array: channels first, then ways, then LUNs of a package.
    pub lun: u32,
    /// One of so many of its pages takes longer to read, one of so many longer to program, and one of so many
    /// of its blocks longer to erase. Which ones is drawn by the seed; 1 for all.
    pub one_in: u32,
    /// How many times as long as elsewhere. Firmware that polls gives up what takes longer than
    /// `poll.patience` allows.
    pub times: u32,
}

fn default_ccs() -> u32 {
    300
}
fn default_endurance() -> u32 {
    3_000
}

/// Bit errors in errors per bit.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ErrorsProfile {
    /// In a fresh block.
    pub fresh: f64,
    /// Added per thousand program/erase cycles.
    pub cycle: f64,
    /// Added per squared thousand program/erase cycles.
    pub cycle_squared: f64,
    /// Added per unit of ln(1 + hours since programmed).
    pub retention: f64,
    /// Added per read of the block since its erase.
    pub read: f64,
    /// Factor for the rate of a CSB page.
    pub csb_factor: f64,
    /// Factor for the rate of an MSB page.
    pub msb_factor: f64,
    /// Factor for the rate of a page in a block used as SLC.
    pub slc_factor: f64,
    /// How far the best read level falls, millivolts per unit of ln(1 + hours since programmed).
    pub retention_shift_mv: f64,
    /// Distance from the best level, in millivolts, at which the rate has grown by half; 0 when the level
    /// doesn't matter.
    pub level_width_mv: f64,
    /// Standard deviation of a cell's level from read to read, millivolts; at most `level_width_mv`.
    pub read_noise_mv: f64,
    /// The share by which scrambled data on the next word line raises the rate.
    pub neighbour: f64,
    /// How much further a cell is lifted when all its neighbours are charged than when none is, millivolts
    /// per thousand program/erase cycles; replaces `neighbour`.
    pub coupling_mv: f64,
    /// The share of each level's errors that such a lift causes, 0 to 1, the erased level first: one for each
    /// level of a cell.
    pub lifted: Vec<f64>,
}

impl Default for ErrorsProfile {
    fn default() -> Self {
        ErrorsProfile {
            fresh: 0.0,
            cycle: 0.0,
            cycle_squared: 0.0,
            retention: 0.0,
            read: 0.0,
            csb_factor: 1.0,
            msb_factor: 1.0,
            slc_factor: 1.0,
            retention_shift_mv: 0.0,
            level_width_mv: 0.0,
            read_noise_mv: 0.0,
            neighbour: 0.0,
            coupling_mv: 0.0,
            lifted: Vec::new(),
        }
    }
}

/// The shipped packages by name.
pub const PACKAGES: &[(&str, &str)] = &[
    ("hynix", include_str!("../../../profiles/packages/hynix.toml")),
    ("micron", include_str!("../../../profiles/packages/micron.toml")),
    ("mt29f1t08", include_str!("../../../profiles/packages/mt29f1t08.toml")),
    ("onfi-slc", include_str!("../../../profiles/packages/onfi-slc.toml")),
    ("tlc-3d", include_str!("../../../profiles/packages/tlc-3d.toml")),
    ("toshiba", include_str!("../../../profiles/packages/toshiba.toml")),
];

/// Tables that a package file may have: those of a profile that describe the package.
const TABLES: [&str; 2] = ["geometry", "package"];

/// The package that `profile` names by `package.part`, overridden by the profile's own keys. `None` when it
/// names none. `name` and `text` stand for the profile in errors.
pub(crate) fn with_part(name: &str, text: &str, profile: &Table) -> Result<Option<Table>, ProfileError> {
    let package = profile.get("package").and_then(Value::as_table);
    let Some(part) = package.and_then(|package| package.get("part")) else { return Ok(None) };
    let fail = |reason| ProfileError::of_value(name, text, "package.part", reason);
    let Some(part) = part.as_str() else { return Err(fail("must be a package's name".to_owned())) };
    let Some((_, shipped)) = PACKAGES.iter().find(|(known, _)| *known == part) else {
        let known: Vec<_> = PACKAGES.iter().map(|(known, _)| *known).collect();
        return Err(fail(format!("no such package: those are {}", known.join(", "))));
    };
    let file = format!("profiles/packages/{part}.toml");
    let mut merged: Table =
        toml::from_str(shipped).map_err(|error| ProfileError::of_syntax(&file, shipped, &error))?;
    merged.retain(|table, _| TABLES.contains(&table));
    overlay(&mut merged, profile);
    if let Some(Value::Table(package)) = merged.get_mut("package") {
        package.remove("part");
    }
    Ok(Some(merged))
}

/// Overrides the values of `under` by those of `over`, table by table.
fn overlay(under: &mut Table, over: &Table) {
    for (key, value) in over {
        match (under.get_mut(key), value) {
            (Some(Value::Table(under)), Value::Table(over)) => overlay(under, over),
            _ => {
                under.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Checks the keys of cell-to-cell coupling: errors are (key, reason).
pub(super) fn coupling(p: &PackageProfile) -> Result<(), (&'static str, String)> {
    let (e, levels) = (&p.errors, 1usize << CellMode::from(p.cells).bits());
    let is_on = e.coupling_mv > 0.0;
    let refuse = |key, why: String| Err((key, why));
    if is_on && e.level_width_mv == 0.0 {
        return refuse(
            "package.errors.coupling_mv",
            format!("must be 0 without level_width_mv, which it is measured by, but is {}", e.coupling_mv),
        );
    }
    if is_on && e.neighbour > 0.0 {
        return refuse(
            "package.errors.coupling_mv",
            format!("must be 0 beside neighbour, whose place it takes, but is {}", e.coupling_mv),
        );
    }
    if e.lifted.len() != if is_on { levels } else { 0 } {
        let wanted = if is_on {
            format!("must give {levels} shares, one a level of the cells")
        } else {
            "must be absent without coupling_mv".to_owned()
        };
        return refuse("package.errors.lifted", format!("{wanted}, but gives {}", e.lifted.len()));
    }
    match e.lifted.iter().find(|share| !(0.0..=1.0).contains(*share)) {
        Some(share) => {
            refuse("package.errors.lifted", format!("must be shares from 0 to 1, but one is {share}"))
        }
        None => Ok(()),
    }
}

/// The range of every number of a package, by key.
pub(super) fn numbers(p: &PackageProfile) -> Vec<(&'static str, f64, f64, f64)> {
    let e = &p.errors;
    let mut numbers = vec![
        ("package.nv_ddr2_mode_max", f64::from(p.nv_ddr2_mode_max), 0.0, 7.0),
        ("package.errors.fresh", e.fresh, 0.0, 0.5),
        ("package.errors.cycle", e.cycle, 0.0, 0.5),
        ("package.errors.cycle_squared", e.cycle_squared, 0.0, 0.5),
        ("package.errors.retention", e.retention, 0.0, 0.5),
        ("package.errors.read", e.read, 0.0, 0.5),
        ("package.errors.csb_factor", e.csb_factor, 0.0, 1e3),
        ("package.errors.msb_factor", e.msb_factor, 0.0, 1e3),
        ("package.errors.slc_factor", e.slc_factor, 0.0, 1e3),
        ("package.errors.retention_shift_mv", e.retention_shift_mv, 0.0, 1e3),
        ("package.errors.level_width_mv", e.level_width_mv, 0.0, 1e4),
        ("package.errors.read_noise_mv", e.read_noise_mv, 0.0, e.level_width_mv),
        ("package.errors.neighbour", e.neighbour, 0.0, 100.0),
        ("package.errors.coupling_mv", e.coupling_mv, 0.0, 1e3),
    ];
    if let Some(slc) = &p.slc {
        numbers.extend([
            ("package.slc.read_us", slc.read_us, 0.001, 1e6),
            ("package.slc.program_us", slc.program_us, 0.001, 1e6),
            ("package.slc.erase_us", slc.erase_us, 0.001, 1e7),
        ]);
    }
    if let Some(one_shot) = &p.one_shot {
        numbers.push(("package.one_shot.program_us", one_shot.program_us, 0.001, 1e6));
    }
    if let Some(suspend) = &p.suspend {
        numbers.push(("package.suspend.latency_us", suspend.latency_us, 0.001, 1e6));
    }
    if let Some(retry) = &p.retry {
        numbers.push(("package.retry.feature", f64::from(retry.feature), 128.0, 255.0));
        numbers.push(("package.retry.levels_mv", retry.levels_mv.len() as f64, 2.0, 255.0));
    }
    if let Some(slow) = &p.slow_lun {
        numbers.push(("package.slow_lun.one_in", slow.one_in.into(), 1.0, 1e6));
        numbers.push(("package.slow_lun.times", slow.times.into(), 1.0, 1e3));
    }
    numbers
}
