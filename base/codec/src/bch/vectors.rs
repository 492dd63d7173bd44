//! Parities computed by other implementations.
//!
//! Made with PyPI `bchlib` 2.1.3 (the code of Linux's `lib/bch.c`; `BCH(t, prim_poly=…).encode(data)`, no
//! bit swapping) and, independently, with PyPI `galois` 0.4.11: g(x) as the product of the minimal
//! polynomials of α, α^3, … α^(2t−1) that it finds in GF(2^m) with the same primitive polynomial, and
//! data · x^r mod g by Python's integers. Both agree. `bchlib` stops at m = 15, so that (16, 100, 4096)
//! comes from `galois` alone. Primitive polynomials: 1053h (m 12), 201Bh (13), 402Bh (14), 1100Bh (16).
//! First bit = highest power of x. Data: the low byte of each state of the 32-bit xorshift 13, 17, 5 that
//! starts at 1234567h + 256·m + t, stepped before each byte.

/// A code and the parity of its test chunk.
pub(super) struct Vector {
    pub degree: u32,
    pub correction: usize,
    pub data_bytes: usize,
    /// In hexadecimal; white space doesn't count.
    pub parity: &'static str,
}

pub(super) const VECTORS: [Vector; 6] = [
    Vector {
        degree: 12,
        correction: 13,
        data_bytes: 256,
        parity: "b613ccdebd435fd7cc8a2adccc9ed6d77ae13ff0",
    },
    Vector {
        degree: 12,
        correction: 14,
        data_bytes: 256,
        parity: "b2d0bc6cd21c9767e2a1d19bc1f98458133a79ef59",
    },
    Vector { degree: 13, correction: 8, data_bytes: 512, parity: "f7eebdc38521893b1b61447b3f" },
    Vector {
        degree: 13,
        correction: 12,
        data_bytes: 512,
        parity: "ec5128ec8a7900c3d68f136506bfaa7995381840",
    },
    Vector {
        degree: 14,
        correction: 40,
        data_bytes: 1024,
        parity: "00623df409e7482e8455f8aae0d8f1afe2bfc15cfe8c89a87809ad196d48424940cb885c87f0ac55 \
                 b241064d5c31331672528edb0e7479a935652e303f4ff4b953e25d4bd1f3",
    },
    Vector {
        degree: 16,
        correction: 100,
        data_bytes: 4096,
        parity: "a113470a16d3c750c80790ea3bc031895710c6a7753b8a6fc557592e77fca62e409d4f79d8476682 \
                 fc767fb47e331f1d6047e3b8a06f61301c8051f4a276b4576cc14048bead2cfd792afbde270d170d \
                 d8242546b8963fb8c80e7e25a9d3fcf57588a1f3507ee679f785c682d3c6c48f563823935188f826 \
                 985f64cc0e5eddeb877eff60ec8907c3d34706b2c7d0d1da258cb2d4490c19664d483bb2a4f36125 \
                 3b599429d350c2db0c59f4f545cb46307a6ecf2d0394dcfdf195a95104dad304a7cd9873248dcc9f",
    },
];
