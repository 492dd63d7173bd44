//! ONFI 5.1: commands, status, features, the parameter page and timing modes.
//!
//! The package model uses this as the device, the flash operations as the host. Because both sides share
//! it, the goldens that check them are typed by hand from the standard, and never derived from this
//! module.

pub mod command;
pub mod command_set;
pub mod feature;
pub mod parameter_page;
pub mod timing;

mod status;

pub use command_set::CommandSet;
pub use parameter_page::{ParameterPage, ParameterPageError};
pub use status::Status;
pub use timing::{DataInterface, Timing};

/// The answer of READ ID at address [`READ_ID_ONFI`] (ONFI 5.1 §5.6).
pub const SIGNATURE: [u8; 4] = *b"ONFI";

/// READ ID address of the manufacturer and device identifiers (ONFI 5.1 §5.6).
pub const READ_ID_JEDEC: u8 = 0x00;
/// READ ID address of the ONFI signature (ONFI 5.1 §5.6).
pub const READ_ID_ONFI: u8 = 0x20;

/// Bytes of a feature's value: P1 to P4 (ONFI 5.1, SET FEATURES).
pub const FEATURE_BYTES: usize = 4;

/// The CRC-16 of the parameter page: polynomial 8005h, initial value 4F4Eh, most significant bit first, not
/// inverted (ONFI 5.1 §5.7.1, integrity CRC).
pub const fn crc16(bytes: &[u8]) -> u16 {
    let mut crc = 0x4f4e_u16;
    let mut at = 0;
    while at < bytes.len() {
        crc ^= (bytes[at] as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 != 0 { (crc << 1) ^ 0x8005 } else { crc << 1 };
            bit += 1;
        }
        at += 1;
    }
    crc
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Long division of message and initial value by x¹⁶+x¹⁵+x²+1, implemented in another way.
    #[test]
    fn the_crc_is_the_remainder_by_polynomial_18005() {
        for bytes in [&b""[..], b"\0", b"ONFI", b"123456789"] {
            let mut remainder = 0x4f4e_u32;
            for bit in bytes.iter().flat_map(|b| (0..8).rev().map(move |i| u32::from(b >> i & 1))) {
                remainder = (remainder << 1) ^ (bit << 16);
                if remainder & 0x1_0000 != 0 {
                    remainder ^= 0x1_8005;
                }
            }
            assert_eq!(u32::from(crc16(bytes)), remainder);
        }
        assert_eq!(crc16(b""), 0x4f4e);
    }
}
