//! The choice of instructions.

/// The instructions that a code runs on. All give the same bits; they differ in speed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backend {
    /// Tables, eight bytes per step: every processor.
    Portable,
    /// Carry-less multiplication of 128-bit vectors: x86-64 with PCLMULQDQ and SSE4.1.
    Pclmul,
    /// Carry-less multiplication and bit-matrix products on 512-bit vectors: x86-64 with AVX-512 F and BW,
    /// VPCLMULQDQ and GFNI.
    Avx512,
}

impl Backend {
    /// All backends, slowest first.
    pub const ALL: [Backend; 3] = [Backend::Portable, Backend::Pclmul, Backend::Avx512];

    /// Whether this processor has the instructions.
    pub fn is_available(self) -> bool {
        match self {
            Backend::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Backend::Pclmul => super::pclmul::Proof::of_support().is_some(),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512 => super::avx512::Proof::of_support().is_some(),
            #[cfg(not(target_arch = "x86_64"))]
            Backend::Pclmul | Backend::Avx512 => false,
        }
    }

    /// The fastest backend that this processor has.
    pub fn fastest() -> Backend {
        Backend::ALL.into_iter().rev().find(|backend| backend.is_available()).unwrap_or(Backend::Portable)
    }
}
