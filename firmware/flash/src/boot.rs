//! From power-on to the fast data interface (B12): every package boots in SDR and is identified before it is
//! trusted.

use crate::Lun;
use crate::operations::{self, get_features, read_id, read_parameter_page, reset, zq_calibration};
use aster_ports::dram::SharedDram;
use aster_ports::flash::FlashError;
use aster_ports::package::DataMode;
use aster_txn::Descriptor;
use aster_units::{BufferId, Duration, Instant};
use aster_wire::onfi::feature::{FeatureAddress, TimingModeP1};
use aster_wire::onfi::parameter_page::{COPIES_BYTES, COPIES_MIN};
use aster_wire::onfi::{
    DataInterface, FEATURE_BYTES, ParameterPage, READ_ID_JEDEC, READ_ID_ONFI, SIGNATURE, command,
};
use core::fmt;

/// tITC: interface and timing mode change to the next command (ONFI 5.1 §4.21).
const T_ITC: Duration = Duration::from_micros(1);

/// Why a package could not be brought up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BootError {
    /// An operation failed.
    Flash(FlashError),
    /// READ ID at 20h did not answer "ONFI".
    NotOnfi {
        /// The four bytes, first lowest.
        signature: u32,
        /// When the transaction "read id" had answered.
        at: Instant,
    },
    /// READ ID at 00h answered with another package's identifier than the profile's.
    UnknownPackage {
        /// The identifier.
        found: [u8; 6],
        /// The profile's.
        expected: [u8; 6],
        /// When the transaction "read id" had answered.
        at: Instant,
    },
    /// No copy of the parameter page is valid.
    ParameterPage,
    /// The package did not take the data interface that the profile asks for.
    Interface {
        /// P1 of the timing mode feature as it was set.
        wanted: u8,
        /// P1 as it reads.
        found: u8,
    },
    /// ZQ CALIBRATION LONG ended with FAIL.
    Calibration {
        /// The LUN behind the chip enable.
        lun: u8,
        /// When its status had come.
        at: Instant,
    },
    /// The package is not the one that the profile describes.
    Shape {
        /// What differs.
        field: &'static str,
        /// The profile's value.
        profile: u32,
        /// The package's value.
        package: u32,
    },
}

impl From<FlashError> for BootError {
    fn from(error: FlashError) -> Self {
        BootError::Flash(error)
    }
}

impl fmt::Display for BootError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BootError::Flash(e) => e.fmt(f),
            BootError::NotOnfi { signature, at } => {
                write!(
                    f,
                    "transaction 'read id' at {at}: the package's signature is {signature:08X}h, not \"ONFI\""
                )
            }
            BootError::UnknownPackage { found, expected, at } => {
                write!(
                    f,
                    "transaction 'read id' at {at}: the package's identifier is {found:02X?}, the profile's \
                     {expected:02X?}"
                )
            }
            BootError::ParameterPage => f.write_str("no copy of the parameter page is valid"),
            BootError::Interface { wanted, found } => {
                write!(
                    f,
                    "the package's timing mode feature reads {found:02X}h, not {wanted:02X}h as it was set"
                )
            }
            BootError::Calibration { lun, at } => {
                write!(f, "transaction 'ZQ calibration' at {at}: LUN {lun} could not calibrate its drivers")
            }
            BootError::Shape { field, profile, package } => {
                write!(f, "the profile says {field} is {profile}, the package says {package}")
            }
        }
    }
}

/// Brings up the package behind `lun`'s chip enable: RESET, READ ID, READ PARAMETER PAGE (to `scratch`, a
/// buffer that holds bytes), SET FEATURES to the profile's data interface, ZQ CALIBRATION LONG of each LUN
/// where the package has it.
///
/// # Errors
/// When the package doesn't answer as the profile says it should.
pub async fn bring_up(lun: &Lun, dram: &SharedDram, scratch: BufferId) -> Result<ParameterPage, BootError> {
    reset(lun).await?;
    let signature = read_id(lun, READ_ID_ONFI, SIGNATURE.len() as u32).await? as u32;
    if signature != u32::from_le_bytes(SIGNATURE) {
        return Err(BootError::NotOnfi { signature, at: lun.core().exec().now() });
    }
    check_id(lun).await?;
    read_parameter_page(lun, COPIES_MIN as u32, scratch).await?;
    let page = {
        let memory = dram.borrow();
        ParameterPage::parse(&memory.page(scratch)[..COPIES_BYTES]).map_err(|_| BootError::ParameterPage)?
    };
    check_shape(lun, &page)?;
    set_data_interface(lun).await?;
    if lun.commands().zq_calibration {
        calibrate(lun).await?;
    }
    Ok(page)
}

/// The long form is for power-on; the calibration lasts until power-off.
async fn calibrate(lun: &Lun) -> Result<(), BootError> {
    for index in 0..lun.config().shape.geometry.luns {
        if zq_calibration(lun, index, true).await?.fail() {
            return Err(BootError::Calibration { lun: index, at: lun.core().exec().now() });
        }
    }
    Ok(())
}

/// Refuses a package that isn't the profile's, if the profile names one.
async fn check_id(lun: &Lun) -> Result<(), BootError> {
    let Some(expected) = lun.config().variant.id else { return Ok(()) };
    let answer = read_id(lun, READ_ID_JEDEC, expected.len() as u32).await?.to_le_bytes();
    let [a, b, c, d, e, f, ..] = answer;
    let found = [a, b, c, d, e, f];
    if found == expected {
        return Ok(());
    }
    Err(BootError::UnknownPackage { found, expected, at: lun.core().exec().now() })
}

fn check_shape(lun: &Lun, page: &ParameterPage) -> Result<(), BootError> {
    let g = &lun.config().shape.geometry;
    let pairs = [
        ("page_bytes", g.page_bytes, page.page_bytes),
        ("spare_bytes", u32::from(g.spare_bytes), u32::from(page.spare_bytes)),
        ("pages_per_block", u32::from(g.pages_per_block), page.pages_per_block),
        ("blocks_per_lun", g.blocks_per_lun, page.blocks_per_lun),
        ("luns", u32::from(g.luns), u32::from(page.luns)),
    ];
    for (field, profile, package) in pairs {
        if profile != package {
            return Err(BootError::Shape { field, profile, package });
        }
    }
    Ok(())
}

/// SET FEATURES 01h to the profile's data interface, for package and controller (ONFI 5.1 §5.31.1). The
/// package answers only in the new mode, so this waits for the typical time instead of polling.
async fn set_data_interface(lun: &Lun) -> Result<(), BootError> {
    let chosen = lun.config().interface;
    let interface = match chosen.mode {
        DataMode::Sdr => DataInterface::Sdr,
        DataMode::NvDdr => DataInterface::NvDdr,
        DataMode::NvDdr2 => DataInterface::NvDdr2,
    };
    let p1 = TimingModeP1::of(interface, chosen.timing_mode).0;
    let mut txn = lun.txn("set data interface");
    txn.cmd(command::SET_FEATURES).addr(FeatureAddress::TimingMode.raw());
    txn.describe(Descriptor::mailbox_in(u64::from(p1))).data_write(FEATURE_BYTES as u32);
    lun.issue_and_linger(txn, operations::T_FEAT + T_ITC)
        .finished()
        .await
        .map_err(FlashError::Transaction)?;
    lun.port().set_interface(lun.way(), chosen);
    let found = get_features(lun, FeatureAddress::TimingMode.raw()).await? as u8;
    if found != p1 {
        return Err(BootError::Interface { wanted: p1, found });
    }
    Ok(())
}
