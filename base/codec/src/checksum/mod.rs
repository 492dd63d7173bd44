//! Cyclic redundancy checks: thin names over the `crc` crate, so that every room uses the same
//! parameters. CRC-32C, which runs over every page of an image, uses the processor's instruction if it
//! has one.

#[cfg(target_arch = "x86_64")]
mod sse42;

use crc::{Algorithm, CRC_32_ISCSI, CRC_64_NVME, Crc, Table};

// Sixteen tables (slicing by 16) for the sums that run over whole metadata pages; one for the 254-byte
// parameter page.
static CRC32C: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);
static CRC64: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_NVME);
static ONFI_CRC16: Crc<u16, Table<1>> = Crc::<u16, Table<1>>::new(&ONFI_CRC16_ALGORITHM);

/// ONFI 5.1 "Integrity CRC": x^16 + x^15 + x^2 + 1, preset 4F4Eh, most significant bit first, nothing
/// inverted.
const ONFI_CRC16_ALGORITHM: Algorithm<u16> = Algorithm {
    width: 16,
    poly: 0x8005,
    init: 0x4F4E,
    refin: false,
    refout: false,
    xorout: 0,
    check: 0x2771,
    residue: 0,
};

/// CRC-32C (Castagnoli, as in iSCSI) of `bytes`.
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c_of([bytes])
}

/// CRC-32C over several slices as if they were concatenated.
#[inline]
pub fn crc32c_of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if let Some(proof) = sse42::Proof::of_support() {
        return !parts.into_iter().fold(!0, |register, part| sse42::update(proof, register, part));
    }
    crc32c_by_tables(parts)
}

fn crc32c_by_tables<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u32 {
    let mut digest = CRC32C.digest();
    for part in parts {
        digest.update(part);
    }
    digest.finalize()
}

/// CRC-64 of the NVM command set's 64-bit guard (polynomial AD93D23594C93659h, reflected, inverted) of
/// `bytes`.
pub fn crc64(bytes: &[u8]) -> u64 {
    CRC64.checksum(bytes)
}

/// The integrity CRC of an ONFI parameter page: over its bytes 0 to 253, stored little-endian in bytes 254
/// and 255. The extended parameter page uses the same sum over all that follows its own CRC field.
pub fn onfi_crc16(bytes: &[u8]) -> u16 {
    ONFI_CRC16.checksum(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const CHECK: &[u8] = b"123456789";

    #[test]
    fn crc32c_matches_rfc_3720_vectors() {
        assert_eq!(crc32c(CHECK), 0xE306_9283);
        // RFC 3720 B.4: 32 bytes of zeroes, of ones, incrementing.
        assert_eq!(crc32c(&[0; 32]), 0x8A91_36AA);
        assert_eq!(crc32c(&[0xFF; 32]), 0x62A8_AB43);
        let rising: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&rising), 0x46DD_794E);
    }

    #[test]
    fn crc64_matches_the_nvm_command_set_vectors() {
        // NVM Command Set 1.0, 64-bit guard test cases: 4 KiB of 00h and of FFh.
        assert_eq!(crc64(&[0x00; 4096]), 0x6482_D367_EB22_B64E);
        assert_eq!(crc64(&[0xFF; 4096]), 0xC0DD_BA73_02EC_A3AC);
        assert_eq!(crc64(CHECK), 0xAE8B_1486_0A79_9888);
    }

    #[test]
    fn onfi_crc_matches_an_independent_library() {
        // crcmod 1.7: mkCrcFun(0x18005, initCrc=0x4F4E, rev=False, xorOut=0).
        assert_eq!(onfi_crc16(&[]), 0x4F4E);
        assert_eq!(onfi_crc16(CHECK), 0x2771);
        let rising: Vec<u8> = (0..254).collect();
        assert_eq!(onfi_crc16(&rising), 0xCB7A);
    }

    proptest! {
        /// The standard's shift register, one bit at a time.
        #[test]
        fn onfi_crc_equals_the_shift_register(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut register = 0x4F4Eu16;
            for byte in &bytes {
                for bit in (0..8).rev() {
                    let feedback = (register >> 15) ^ u16::from(byte >> bit & 1);
                    register = (register << 1) ^ (feedback * 0x8005);
                }
            }
            prop_assert_eq!(onfi_crc16(&bytes), register);
        }

        #[test]
        fn whatever_the_processor_has_gives_what_tables_give(bytes in prop::collection::vec(any::<u8>(),
            0..2000)) {
            prop_assert_eq!(crc32c(&bytes), crc32c_by_tables([&bytes[..]]));
        }

        #[test]
        fn parts_sum_like_the_whole(bytes in prop::collection::vec(any::<u8>(), 0..300),
            cut in any::<prop::sample::Index>()) {
            let (a, b) = bytes.split_at(cut.index(bytes.len() + 1));
            prop_assert_eq!(crc32c_of([a, b]), crc32c(&bytes));
        }
    }
}
