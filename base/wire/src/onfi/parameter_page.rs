//! The parameter page: 256 bytes in which a package describes itself (ONFI 5.1 §5.7.1).

mod fields;
mod layout;

use super::crc16;
use aster_units::Duration;
use core::fmt;
pub use fields::{
    AddressCycles, Endurance, Features, MultiPlaneAttributes, OptionalCommands, ParameterPage, Revisions,
    Vendor,
};
use layout::RawPage;
use zerocopy::{FromBytes, IntoBytes};

/// Bytes of one copy of the parameter page.
pub const PARAMETER_PAGE_BYTES: usize = 256;
/// The fewest copies that a package returns (ONFI 5.1 §5.7.1).
pub const COPIES_MIN: usize = 3;
/// Bytes that a reader needs: the mandatory copies.
pub const COPIES_BYTES: usize = COPIES_MIN * PARAMETER_PAGE_BYTES;

/// Why no parameter page could be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParameterPageError {
    /// Fewer bytes than the three mandatory copies.
    TooShort {
        /// How many there were.
        bytes: usize,
    },
    /// Neither a copy nor the bit-wise majority of three has the right CRC.
    Corrupt,
    /// The CRC is right and the signature is not "ONFI".
    NotOnfi,
}

impl fmt::Display for ParameterPageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterPageError::TooShort { bytes } => {
                write!(f, "{bytes} bytes are fewer than the {COPIES_BYTES} of three parameter page copies")
            }
            ParameterPageError::Corrupt => {
                f.write_str("no copy of the parameter page has a right CRC, nor has their majority")
            }
            ParameterPageError::NotOnfi => f.write_str("the parameter page does not begin with \"ONFI\""),
        }
    }
}

impl core::error::Error for ParameterPageError {}

impl ParameterPage {
    /// The page's bytes, signature and CRC included. Reserved bytes are zero.
    pub fn to_bytes(&self) -> [u8; PARAMETER_PAGE_BYTES] {
        let mut bytes = [0; PARAMETER_PAGE_BYTES];
        bytes.copy_from_slice(RawPage::from_value(self).as_bytes());
        let (body, crc) = bytes.split_at_mut(layout::CRC_AT);
        crc.copy_from_slice(&crc16(body).to_le_bytes());
        bytes
    }

    /// Reads the page from its copies: the first copy with a right CRC, else the bit-wise majority of the
    /// first three (ONFI 5.1 §5.7.1 allows the host to do so).
    ///
    /// # Errors
    /// See [`ParameterPageError`].
    pub fn parse(copies: &[u8]) -> Result<Self, ParameterPageError> {
        if copies.len() < COPIES_BYTES {
            return Err(ParameterPageError::TooShort { bytes: copies.len() });
        }
        let (copies, _) = copies.as_chunks::<PARAMETER_PAGE_BYTES>();
        let majority: [u8; PARAMETER_PAGE_BYTES] = core::array::from_fn(|i| {
            let (a, b, c) = (copies[0][i], copies[1][i], copies[2][i]);
            a & b | a & c | b & c
        });
        let valid = copies.iter().chain([&majority]).find(|copy| crc_is_right(copy));
        let raw = RawPage::ref_from_bytes(valid.ok_or(ParameterPageError::Corrupt)?)
            .expect("a copy has the layout's size and no alignment");
        if raw.signature != super::SIGNATURE {
            return Err(ParameterPageError::NotOnfi);
        }
        Ok(raw.to_value())
    }

    /// Bytes of a page register: data and spare.
    pub const fn register_bytes(&self) -> u64 {
        self.page_bytes as u64 + self.spare_bytes as u64
    }
    /// Planes per LUN.
    pub const fn planes(&self) -> u32 {
        1 << (self.plane_address_bits & 0xf)
    }
    /// tR, maximum.
    pub const fn t_r(&self) -> Duration {
        Duration::from_micros(self.t_r_us as u64)
    }
    /// tPROG, maximum.
    pub const fn t_prog(&self) -> Duration {
        Duration::from_micros(self.t_prog_us as u64)
    }
    /// tBERS, maximum.
    pub const fn t_bers(&self) -> Duration {
        Duration::from_micros(self.t_bers_us as u64)
    }
    /// tCCS, minimum.
    pub const fn t_ccs(&self) -> Duration {
        Duration::from_nanos(self.t_ccs_ns as u64)
    }
}

fn crc_is_right(copy: &[u8; PARAMETER_PAGE_BYTES]) -> bool {
    let (body, crc) = copy.split_at(layout::CRC_AT);
    crc == crc16(body).to_le_bytes()
}

#[cfg(test)]
mod tests;
