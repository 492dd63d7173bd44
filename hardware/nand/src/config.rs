//! What an array is made of, and why it can't be.

use crate::bus::BusConfig;
use crate::errors::ErrorModel;
use crate::faults::FailureModel;
use crate::identity::Identity;
use crate::timing::ArrayTiming;
use aster_ports::layout::PageLayout;
use aster_ports::medium::MediumError;
use aster_units::{CellMode, Content, Geometry, GeometryError};
use core::fmt;

/// The NAND array of a drive: plain, checked once by [`NandConfig::validate`], constant afterwards.
#[derive(Clone, PartialEq, Debug)]
pub struct NandConfig {
    /// Channels, ways, LUNs, planes, blocks and pages.
    pub geometry: Geometry,
    /// Where data, parity and OOB lie on a page.
    pub layout: PageLayout,
    /// Whether pages keep bytes or fingerprints.
    pub content: Content,
    /// Bits a cell.
    pub cells: CellMode,
    /// Busy times.
    pub timing: ArrayTiming,
    /// The data interfaces that packages have.
    pub bus: BusConfig,
    /// What packages say they are.
    pub identity: Identity,
    /// Bit errors.
    pub errors: ErrorModel,
    /// Bad blocks and failing operations.
    pub failures: FailureModel,
    /// Decides deviations, bad blocks, failures and bit errors.
    pub seed: u64,
}

/// Why an array can't be built or reopened.
#[derive(Clone, PartialEq, Debug)]
pub enum NandError {
    /// The geometry is out of range.
    Geometry(GeometryError),
    /// A field is out of range.
    Field {
        /// Its name in [`NandConfig`].
        field: &'static str,
        /// What it must be.
        must: &'static str,
    },
    /// The layout belongs to another page.
    Layout {
        /// What differs.
        what: &'static str,
        /// In the layout.
        layout: u32,
        /// In the geometry.
        geometry: u32,
    },
    /// The image's medium failed.
    Medium(MediumError),
    /// The medium is too small for the array.
    Size {
        /// Bytes needed.
        needed: u64,
        /// Bytes it has.
        found: u64,
    },
    /// The medium holds something else than an image of a NAND array, or a damaged one.
    Damaged {
        /// Where, in bytes from the medium's start.
        offset: u64,
        /// What is wrong there.
        what: &'static str,
    },
    /// The image belongs to an array that is configured otherwise.
    Mismatch {
        /// The field that differs.
        field: &'static str,
        /// Its value in the image.
        image: u64,
        /// Its value in the configuration.
        config: u64,
    },
    /// Packages of these cells are still powered.
    Powered {
        /// How many.
        packages: u32,
    },
}

impl fmt::Display for NandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NandError::Geometry(e) => e.fmt(f),
            NandError::Field { field, must } => write!(f, "{field} must be {must}"),
            NandError::Layout { what, layout, geometry } => {
                write!(f, "the page layout is for {layout} {what}, but the geometry has {geometry}")
            }
            NandError::Medium(e) => write!(f, "the NAND image can't be accessed {e}"),
            NandError::Size { needed, found } => {
                write!(f, "the NAND image needs {needed} bytes, but its medium has {found}")
            }
            NandError::Damaged { offset, what } => {
                write!(f, "the NAND image is damaged at byte {offset}: {what}")
            }
            NandError::Mismatch { field, image, config } => {
                write!(
                    f,
                    "the NAND image was made with {field} = {image}, but the profile says {config}: use the profile that it was made with, or a new image"
                )
            }
            NandError::Powered { packages } => {
                write!(f, "{packages} packages of these cells are still powered: drop their device first")
            }
        }
    }
}
impl core::error::Error for NandError {}

impl From<MediumError> for NandError {
    fn from(error: MediumError) -> Self {
        NandError::Medium(error)
    }
}

impl NandConfig {
    /// Checks every bound that the array relies on.
    ///
    /// # Errors
    /// Names the first field that is out of range.
    pub fn validate(&self) -> Result<(), NandError> {
        self.geometry.validate().map_err(NandError::Geometry)?;
        let same = |what, layout, geometry| {
            if layout == geometry { Ok(()) } else { Err(NandError::Layout { what, layout, geometry }) }
        };
        let g = &self.geometry;
        same("sectors a page", u32::from(self.layout.sectors()), u32::from(g.sectors_per_page()))?;
        same("bytes a page with spare", self.layout.raw_bytes(), g.raw_page_bytes())?;
        if let Some((field, must)) = self.timing.bad_field() {
            return Err(NandError::Field { field, must });
        }
        if let Some(field) = self.errors.bad_field() {
            return Err(NandError::Field { field, must: "a finite number of at least 0" });
        }
        if let Some((field, must)) = self.failures.bad_field().or_else(|| self.bus.bad_field()) {
            return Err(NandError::Field { field, must });
        }
        Ok(())
    }
}
