//! The configuration of an array, and why an array can't be built.

use crate::bus::BusConfig;
use crate::damage::DamagedPage;
use crate::errors::ErrorModel;
use crate::faults::FailureModel;
use crate::identity::Identity;
use crate::timing::ArrayTiming;
use crate::variant::Variant;
use aster_ports::layout::PageLayout;
use aster_ports::medium::MediumError;
use aster_ports::package::{PageData, ProtocolError};
use aster_units::{CellMode, Content, Geometry, GeometryError, LunIndex, mix64};
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
    /// Bits per cell.
    pub cells: CellMode,
    /// Busy times.
    pub timing: ArrayTiming,
    /// The data interfaces that packages have.
    pub bus: BusConfig,
    /// Commands, read levels and weaknesses of the packages.
    pub variant: Variant,
    /// How packages identify themselves.
    pub identity: Identity,
    /// Bit errors.
    pub errors: ErrorModel,
    /// Bad blocks and failing operations.
    pub failures: FailureModel,
    /// The seed of deviations, bad blocks, failures and bit errors.
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
    /// The layout is for a page of another shape.
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
    /// The medium doesn't hold an image of a NAND array, or holds a damaged one.
    Damaged {
        /// Where, in bytes from the start of the file or device that holds the medium.
        offset: u64,
        /// What is wrong there.
        what: &'static str,
    },
    /// A page's record was written completely and has been damaged since.
    Record(DamagedPage),
    /// The image belongs to an array with another configuration.
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
                write!(
                    f,
                    "the NAND image is damaged at byte {offset}: {what}: something else has written there; \
                     use a copy that is whole"
                )
            }
            NandError::Record(page) => {
                write!(
                    f,
                    "the NAND image is damaged {page}: its record's checksum is wrong, though pages behind \
                     it are whole: something else has written there; use a copy that is whole"
                )
            }
            NandError::Mismatch { field: "version", image, config } => {
                write!(
                    f,
                    "the NAND image has format {image}, and this Aster reads format {config}: use the Aster \
                     that made it, or make a new image"
                )
            }
            NandError::Mismatch { field, image, config } => {
                write!(
                    f,
                    "the NAND image was made with {field} = {image}, but the profile says {config}: use the \
                     profile that it was made with, or a new image"
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
    /// The seed of everything random on a LUN's die.
    pub(crate) fn die_seed(&self, lun: LunIndex) -> u64 {
        mix64(self.seed ^ mix64(u64::from(lun.0) + 1))
    }

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
        if let Some((field, must)) = self.errors.bad_field() {
            return Err(NandError::Field { field, must });
        }
        let variant = self.variant.bad_field(self.cells);
        if let Some((field, must)) =
            variant.or_else(|| self.failures.bad_field()).or_else(|| self.bus.bad_field())
        {
            return Err(NandError::Field { field, must });
        }
        Ok(())
    }

    /// Whether a page from the stages, in a burst of `length` bytes, fits this drive.
    #[inline]
    pub(crate) fn check_page(&self, page: &PageData<'_>, length: u32) -> Result<(), ProtocolError> {
        let wanted = usize::from(self.layout.sectors()) * page.content.sector_len();
        if self.content == Content::Full && page.content == Content::Fingerprint {
            return Err(ProtocolError::NoBytes);
        }
        let lengths = [
            (self.layout.whole().length as usize, length as usize),
            (wanted, page.data.len()),
            (self.layout.oob_bytes().into(), page.oob.len()),
        ];
        for (wanted, found) in lengths {
            if wanted != found {
                return Err(ProtocolError::Length { available: wanted as u32, requested: found as u32 });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::config;
    use alloc::format;
    use aster_ports::layout::Placement;
    use aster_units::Duration;

    fn refused(change: impl FnOnce(&mut NandConfig)) -> alloc::string::String {
        let mut c = config(Content::Full);
        assert_eq!(c.validate(), Ok(()));
        change(&mut c);
        format!("{}", c.validate().unwrap_err())
    }

    #[test]
    fn every_bound_is_checked_by_name() {
        let layout = PageLayout::new(1, 9_216, 256, 21, 16, Placement::Spare).unwrap();
        type Change = fn(&mut NandConfig);
        let cases: [(&str, Change); 15] = [
            ("planes must be 1, 2, 4 or 8", |c| c.geometry.planes = 3),
            ("timing.read", |c| c.timing.deviation_page = Duration::from_micros(58)),
            ("timing.erase", |c| c.timing.erase = Duration::ZERO),
            ("timing.program", |c| c.timing.program.msb = Duration::ZERO),
            ("errors.fresh", |c| c.errors.fresh = -1.0),
            ("errors.read", |c| c.errors.read = f64::NAN),
            ("errors.msb_factor", |c| c.errors.msb_factor = f64::INFINITY),
            ("errors.read_noise_mv must be at most level_width_mv", |c| c.errors.read_noise_mv = 1.0),
            ("failures.factory_bad_per_mille must be under 1000", |c| {
                c.failures.factory_bad_per_mille = 1_000
            }),
            ("failures.program_per_million", |c| c.failures.program_per_million = 1_000_001),
            ("failures.erase_per_million", |c| c.failures.erase_per_million = 1_000_001),
            ("failures.growth", |c| c.failures.growth_per_thousand_cycles = -0.5),
            ("bus.sdr_mode_max must be from 0 to 5", |c| c.bus.sdr_mode_max = 6),
            ("bus.nv_ddr2_mode_max must be from 0 to 7", |c| c.bus.nv_ddr2_mode_max = Some(8)),
            ("bus.t_ccs must be at most 65535 ns", |c| c.bus.t_ccs = Duration::from_nanos(65_536)),
        ];
        for (name, change) in cases {
            let message = refused(change);
            assert!(message.contains(name), "{message} doesn't name {name}");
        }
        assert_eq!(
            refused(|c| c.layout = layout),
            "the page layout is for 1 sectors a page, but the geometry has 2"
        );
        assert!(refused(|c| c.geometry.spare_bytes = 2_000).contains("9216 bytes a page with spare"));
        assert!(refused(|c| c.bus.nv_ddr_mode_max = Some(6)).contains("bus.nv_ddr_mode_max"));
    }
}
