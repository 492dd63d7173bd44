use zerocopy::little_endian::{U16, U32, U64, U128};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// LBA formats in an identify namespace structure.
pub const LBA_FORMATS_MAX: usize = 16;

bit_fields! {
    /// LBA format (NVMe 1.4 §5.15.2.1).
    pub struct LbaFormat(u32) {
        /// Metadata bytes per logical block (MS).
        metadata_bytes, with_metadata_bytes: 0, 16 => u16;
        /// Logical block size as a power of two, at least 9; 0 for an unused format (LBADS).
        data_size_log2, with_data_size_log2: 16, 8 => u8;
        /// Relative performance, 0 best to 3 degraded (RP).
        relative_performance, with_relative_performance: 24, 2 => u8;
    }
}

impl LbaFormat {
    /// A format of `2^log2` bytes without metadata.
    pub const fn of_log2(log2: u8) -> Self {
        LbaFormat(0).with_data_size_log2(log2)
    }
    /// Bytes of a logical block; `None` for an unused format or one past 2³¹.
    pub const fn block_bytes(self) -> Option<u32> {
        match self.data_size_log2() {
            9..=31 => Some(1 << self.data_size_log2()),
            _ => None,
        }
    }
}

bit_fields! {
    /// Namespace features (NSFEAT).
    pub struct NamespaceFeatures(u8) {
        /// Thin provisioning (THINP).
        thin_provisioning, with_thin_provisioning: 0, 1 => bool;
        /// NAWUN, NAWUPF and NACWU are valid (NSABP).
        atomic_fields, with_atomic_fields: 1, 1 => bool;
        /// Deallocated or unwritten blocks can be reported as errors (DAE).
        deallocated_error, with_deallocated_error: 2, 1 => bool;
        /// NGUID and EUI64 are never reused (UIDREUSE).
        no_identifier_reuse, with_no_identifier_reuse: 3, 1 => bool;
        /// NPWG, NPWA, NPDG, NPDA and NOWS are valid (OPTPERF).
        optimal_performance, with_optimal_performance: 4, 1 => bool;
    }
}

bit_fields! {
    /// Formatted LBA size (FLBAS).
    pub struct FormattedSize(u8) {
        /// The LBA format in use.
        format, with_format: 0, 4 => u8;
        /// Metadata goes at the end of the data (extended LBA).
        metadata_extended, with_metadata_extended: 4, 1 => bool;
    }
}

bit_fields! {
    /// Deallocate logical block features (DLFEAT).
    pub struct DeallocateFeatures(u8) {
        /// What a deallocated block reads as: 0 not reported, 1 all 00h, 2 all FFh.
        read_behavior, with_read_behavior: 0, 3 => u8;
        /// Write Zeroes honours its Deallocate bit.
        write_zeroes_deallocates, with_write_zeroes_deallocates: 3, 1 => bool;
        /// The guard of deallocated blocks is the CRC of what they read as.
        guard_is_crc, with_guard_is_crc: 4, 1 => bool;
    }
}

/// Identify namespace: 4,096 bytes (NVMe 1.4 §5.15.2.1). All zeroes describe an inactive namespace.
#[derive(Clone, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct IdentifyNamespace {
    /// Size in logical blocks (NSZE).
    pub nsze: U64,
    /// Capacity in logical blocks (NCAP).
    pub ncap: U64,
    /// Utilisation in logical blocks (NUSE).
    pub nuse: U64,
    /// Features, see [`NamespaceFeatures`] (NSFEAT).
    pub nsfeat: u8,
    /// Number of LBA formats, zero-based (NLBAF).
    pub nlbaf: u8,
    /// Formatted LBA size, see [`FormattedSize`] (FLBAS).
    pub flbas: u8,
    /// Metadata capabilities (MC).
    pub mc: u8,
    /// End-to-end data protection capabilities (DPC).
    pub dpc: u8,
    /// End-to-end data protection settings (DPS).
    pub dps: u8,
    /// Namespace multi-path I/O and sharing (NMIC).
    pub nmic: u8,
    /// Reservation capabilities (RESCAP).
    pub rescap: u8,
    /// Format progress indicator (FPI).
    pub fpi: u8,
    /// Deallocate features, see [`DeallocateFeatures`] (DLFEAT).
    pub dlfeat: u8,
    /// Atomic write unit normal, zero-based (NAWUN).
    pub nawun: U16,
    /// Atomic write unit power fail, zero-based (NAWUPF).
    pub nawupf: U16,
    /// Atomic compare and write unit, zero-based (NACWU).
    pub nacwu: U16,
    /// Atomic boundary size normal, zero-based (NABSN).
    pub nabsn: U16,
    /// Atomic boundary offset (NABO).
    pub nabo: U16,
    /// Atomic boundary size power fail, zero-based (NABSPF).
    pub nabspf: U16,
    /// Optimal I/O boundary in logical blocks; 0 for none (NOIOB).
    pub noiob: U16,
    /// NVM capacity in bytes (NVMCAP).
    pub nvmcap: U128,
    /// Preferred write granularity in logical blocks, zero-based (NPWG).
    pub npwg: U16,
    /// Preferred write alignment in logical blocks, zero-based (NPWA).
    pub npwa: U16,
    /// Preferred deallocate granularity in logical blocks, zero-based (NPDG).
    pub npdg: U16,
    /// Preferred deallocate alignment in logical blocks, zero-based (NPDA).
    pub npda: U16,
    /// Optimal write size in logical blocks, zero-based (NOWS).
    pub nows: U16,
    reserved_74: [u8; 18],
    /// ANA group identifier (ANAGRPID).
    pub anagrpid: U32,
    reserved_96: [u8; 3],
    /// Attributes: bit 0 is write protected (NSATTR).
    pub nsattr: u8,
    /// NVM set identifier (NVMSETID).
    pub nvmsetid: U16,
    /// Endurance group identifier (ENDGID).
    pub endgid: U16,
    /// Globally unique identifier, big-endian (NGUID).
    pub nguid: [u8; 16],
    /// IEEE extended unique identifier, big-endian (EUI64).
    pub eui64: [u8; 8],
    /// LBA formats, see [`LbaFormat`] (LBAF0 to LBAF15).
    pub lbaf: [U32; LBA_FORMATS_MAX],
    reserved_192: [u8; 192],
    /// Vendor specific.
    pub vendor: [u8; 3712],
}

impl Default for IdentifyNamespace {
    fn default() -> Self {
        IdentifyNamespace::new_zeroed()
    }
}

impl IdentifyNamespace {
    /// Views the structure in bytes from outside; `None` unless there are at least 4,096.
    pub fn view(bytes: &[u8]) -> Option<&Self> {
        Self::ref_from_prefix(bytes).ok().map(|(view, _)| view)
    }
    /// Stores the LBA formats and NLBAF. Asserts 1 to 16 formats.
    pub fn set_formats(&mut self, formats: &[LbaFormat]) {
        assert!((1..=LBA_FORMATS_MAX).contains(&formats.len()), "a namespace has 1 to 16 LBA formats");
        self.nlbaf = (formats.len() - 1) as u8;
        self.lbaf = [U32::ZERO; LBA_FORMATS_MAX];
        for (to, from) in self.lbaf.iter_mut().zip(formats) {
            *to = U32::new(from.0);
        }
    }
    /// LBA format `index`; `None` past NLBAF.
    pub fn format(&self, index: u8) -> Option<LbaFormat> {
        let known = index <= self.nlbaf;
        self.lbaf.get(usize::from(index)).filter(|_| known).map(|raw| LbaFormat(raw.get()))
    }
    /// The LBA format in use; `None` when FLBAS names one past NLBAF.
    pub fn current_format(&self) -> Option<LbaFormat> {
        self.format(FormattedSize(self.flbas).format())
    }
}
