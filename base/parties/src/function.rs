//! A PCIe function as its front end describes it: identifiers, BARs and interrupts.

use crate::piece::PieceError;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use aster_wire::pcie::{
    Bar, BarKind, ClassCode, MSI_VECTORS_LOG2_MAX, MSIX_ENTRY_BYTES, MSIX_VECTORS_MAX, pba_bytes,
};

/// A function's identifiers (PCIe 4.0 §7.5.1.1, §7.5.1.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PciIds {
    /// Vendor.
    pub vendor: u16,
    /// Device.
    pub device: u16,
    /// Vendor of the subsystem.
    pub subsystem_vendor: u16,
    /// Subsystem.
    pub subsystem: u16,
    /// Revision.
    pub revision: u8,
}

/// Base address registers of a function.
pub const BARS: usize = 6;

/// A memory BAR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BarSpec {
    /// Its register, 0 to 5. A 64-bit BAR also takes the next register and is numbered by the first.
    pub register: u8,
    /// How wide its address is.
    pub kind: BarKind,
    /// Reads have no side effects and writes may be merged.
    pub prefetchable: bool,
    /// Its size in bytes: a power of two, 16 bytes to 2 GiB.
    pub bytes: u64,
}

/// How a function interrupts. INTx is not supported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interrupts {
    /// MSI: the message is in configuration space (PCIe 4.0 §6.1.4).
    Msi {
        /// Vectors as a power of two: 0 to 5.
        vectors_log2: u8,
    },
    /// MSI-X: a message per vector, in a table in a BAR. The pages of 4 KiB in which table and pending bits
    /// lie are the function's and never reach the front end (PCIe 4.0 §7.7.2).
    MsiX {
        /// Vectors: 1 to 2,048.
        vectors: u16,
        /// The BAR.
        bar: u8,
        /// Where the table begins in it: a multiple of 8.
        table: u32,
        /// Where the pending bits begin in it: a multiple of 8.
        pending: u32,
    },
}

impl Interrupts {
    /// Vectors.
    pub const fn vectors(&self) -> u16 {
        match *self {
            Interrupts::Msi { vectors_log2 } => 1 << vectors_log2,
            Interrupts::MsiX { vectors, .. } => vectors,
        }
    }
}

/// A value of the power management capability's data register: `data` × 10^-`scale` watts
/// (PCIe 4.0 §7.5.2.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PowerValue {
    /// The number shown.
    pub data: u8,
    /// Its unit: 1 to 3 for 0.1 W to 1 mW, 0 for a value that isn't known.
    pub scale: u8,
}

impl PowerValue {
    /// The largest power that can be told, in milliwatts.
    pub const MAX_MILLIWATTS: u32 = 25_500;

    /// A power in the smallest unit in which it can be told, rounded up.
    ///
    /// # Panics
    /// If it is larger than [`PowerValue::MAX_MILLIWATTS`].
    pub const fn of_milliwatts(milliwatts: u32) -> Self {
        assert!(milliwatts <= Self::MAX_MILLIWATTS, "more power than the data register can tell");
        let (mut unit, mut scale) = (1, 3);
        while milliwatts.div_ceil(unit) > 0xff {
            (unit, scale) = (unit * 10, scale - 1);
        }
        PowerValue { data: milliwatts.div_ceil(unit) as u8, scale }
    }
}

/// What a function tells of its power, by the data register's selector: what it takes in D0, D1, D2 and D3,
/// and what it gives off as heat in each (PCIe 4.0 §7.5.2.3; H4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PowerReport(pub [PowerValue; 8]);

impl PowerReport {
    /// A function that gives off as heat what it takes: `d0` and `d3hot`. It has no other state.
    pub const fn of_heat(d0: PowerValue, d3hot: PowerValue) -> Self {
        const NONE: PowerValue = PowerValue { data: 0, scale: 0 };
        PowerReport([d0, NONE, NONE, d3hot, d0, NONE, NONE, d3hot])
    }
    /// The value of a selector. Those that have no value read as zeroes.
    pub fn value(&self, selector: u8) -> PowerValue {
        self.0.get(usize::from(selector)).copied().unwrap_or_default()
    }
}

/// A function. The board builds configuration space from it. Every function gets the power management and
/// PCI Express capabilities.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionSpec {
    /// Its identifiers.
    pub ids: PciIds,
    /// Its class.
    pub class: ClassCode,
    /// Its BARs.
    pub bars: Vec<BarSpec>,
    /// How it interrupts.
    pub interrupts: Interrupts,
    /// What its data register tells of its power; `None` for a function without that register.
    pub power: Option<PowerReport>,
}

impl FunctionSpec {
    /// The bytes of each BAR, by register; 0 where there is none.
    pub fn bar_bytes(&self) -> [u64; BARS] {
        let mut bytes = [0; BARS];
        for bar in &self.bars {
            bytes[usize::from(bar.register)] = bar.bytes;
        }
        bytes
    }

    /// Checks that such a function can exist.
    ///
    /// # Errors
    /// The property that is impossible, as an error about `host.front_end`.
    pub fn check(&self) -> Result<(), PieceError> {
        let checked = self.check_bars().and_then(|()| self.check_interrupts());
        checked.and_then(|()| self.check_power()).map_err(|reason| {
            PieceError::new("host.front_end", format!("its PCIe function can't be: {reason}"))
        })
    }

    fn check_bars(&self) -> Result<(), String> {
        let mut taken = [false; BARS];
        for &BarSpec { register, kind, prefetchable, bytes } in &self.bars {
            let registers = if kind == BarKind::Memory64 { 2 } else { 1 };
            let Some(own) = taken.get_mut(usize::from(register)..usize::from(register) + registers) else {
                return Err(format!("BAR{register} must have {registers} of the registers 0 to 5"));
            };
            if own.contains(&true) {
                return Err(format!("BAR{register} must have registers that no other BAR has"));
            }
            own.fill(true);
            if let Err(error) = Bar::new(kind, prefetchable, bytes) {
                return Err(format!("BAR{register}: {error}"));
            }
            // Offsets in a BAR have 32 bits, and each access of eight bytes ends below 4 GiB.
            if bytes > 1 << 31 {
                return Err(format!("BAR{register} must have 2 GiB at most, but has {bytes} bytes"));
            }
        }
        Ok(())
    }

    fn check_power(&self) -> Result<(), String> {
        let values = self.power.as_ref().map_or(&[][..], |power| &power.0);
        match values.iter().find(|value| value.scale > 3 || value.scale == 0 && value.data > 0) {
            Some(PowerValue { data, scale }) => {
                Err(format!("power {data} must have a scale of 1 to 3, but has {scale}"))
            }
            None => Ok(()),
        }
    }

    fn check_interrupts(&self) -> Result<(), String> {
        match self.interrupts {
            Interrupts::Msi { vectors_log2 } if vectors_log2 > MSI_VECTORS_LOG2_MAX => {
                Err(format!("MSI must have 1 to 32 vectors, but has 2^{vectors_log2}"))
            }
            Interrupts::Msi { .. } => Ok(()),
            Interrupts::MsiX { vectors, .. } if !(1..=MSIX_VECTORS_MAX).contains(&vectors) => {
                Err(format!("MSI-X must have 1 to {MSIX_VECTORS_MAX} vectors, but has {vectors}"))
            }
            Interrupts::MsiX { vectors, bar, table, pending } => {
                let bytes = self.bars.iter().find(|b| b.register == bar).map_or(0, |b| b.bytes);
                let table = u64::from(table)..u64::from(table) + u64::from(vectors) * MSIX_ENTRY_BYTES as u64;
                let pending = u64::from(pending)..u64::from(pending) + u64::from(pba_bytes(vectors));
                for (what, range) in [("table", &table), ("pending bits", &pending)] {
                    if range.end > bytes || !range.start.is_multiple_of(8) {
                        return Err(format!(
                            "the MSI-X {what} must begin at a multiple of 8 and end within BAR{bar}, but are \
                             {:#x} to {:#x} of \
                             {bytes:#x} bytes",
                            range.start, range.end
                        ));
                    }
                }
                if table.start < pending.end && pending.start < table.end {
                    return Err("MSI-X table and pending bits must not overlap".into());
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;

    fn bar(register: u8, kind: BarKind, bytes: u64) -> BarSpec {
        BarSpec { register, kind, prefetchable: false, bytes }
    }
    fn function(bars: Vec<BarSpec>, interrupts: Interrupts) -> FunctionSpec {
        let ids = PciIds { vendor: 1, device: 2, subsystem_vendor: 3, subsystem: 4, revision: 5 };
        FunctionSpec { ids, class: ClassCode::NVME, bars, interrupts, power: None }
    }

    #[test]
    fn a_function_of_three_bars_can_be_and_knows_their_sizes() {
        let bars = vec![
            bar(0, BarKind::Memory64, 0x4000),
            bar(2, BarKind::Memory32, 16),
            bar(4, BarKind::Memory64, 1 << 20),
        ];
        let msix = Interrupts::MsiX { vectors: 2048, bar: 4, table: 0, pending: 0x8000 };
        let function = function(bars, msix);
        assert_eq!(function.check(), Ok(()));
        assert_eq!(function.bar_bytes(), [0x4000, 0, 16, 0, 1 << 20, 0]);
        assert_eq!(function.interrupts.vectors(), 2048);
    }

    #[test]
    fn what_cannot_be_is_refused_in_words() {
        const ONE: Interrupts = Interrupts::Msi { vectors_log2: 0 };
        let page = || vec![bar(0, BarKind::Memory32, 0x1000)];
        let msix = |vectors, bar, table, pending| Interrupts::MsiX { vectors, bar, table, pending };
        for (bars, interrupts, part) in [
            (vec![bar(5, BarKind::Memory64, 0x1000)], ONE, "BAR5 must have 2 of the registers"),
            (vec![bar(6, BarKind::Memory32, 0x1000)], ONE, "BAR6 must have 1 of the registers"),
            (
                vec![bar(0, BarKind::Memory64, 0x1000), bar(1, BarKind::Memory32, 16)],
                ONE,
                "that no other BAR has",
            ),
            (vec![bar(0, BarKind::Memory32, 24)], ONE, "power of two"),
            (vec![bar(0, BarKind::Memory64, 1 << 32)], ONE, "2 GiB at most"),
            (page(), Interrupts::Msi { vectors_log2: 6 }, "1 to 32 vectors"),
            (page(), msix(0, 0, 0, 0x800), "1 to 2048 vectors"),
            (page(), msix(1, 1, 0, 0x800), "within BAR1"),
            (page(), msix(1, 0, 0xff8, 0x800), "the MSI-X table must begin"),
            (page(), msix(1, 0, 4, 0x800), "a multiple of 8"),
            (page(), msix(1, 0, 0, 0x1000), "pending bits must begin"),
            (page(), msix(64, 0, 0, 0x3f8), "must not overlap"),
        ] {
            let refused = function(bars, interrupts).check().unwrap_err().to_string();
            assert!(refused.starts_with("host.front_end: ") && refused.contains(part), "{refused}");
        }
    }

    /// Units of 1 mW, 10 mW and 0.1 W (PCIe 4.0 §7.5.2.3), and always the smallest that fits.
    #[test]
    fn a_power_is_told_in_the_smallest_unit_and_never_too_low() {
        let of = |milliwatts| {
            let PowerValue { data, scale } = PowerValue::of_milliwatts(milliwatts);
            (data, scale)
        };
        assert_eq!((of(0), of(255), of(256)), ((0, 3), (255, 3), (26, 2)));
        assert_eq!((of(2550), of(2551), of(9100), of(25_500)), ((255, 2), (26, 1), (91, 1), (255, 1)));
        let report = PowerReport::of_heat(PowerValue::of_milliwatts(9100), PowerValue::of_milliwatts(500));
        let (d0, d3) = (PowerValue { data: 91, scale: 1 }, PowerValue { data: 50, scale: 2 });
        let none = PowerValue::default();
        let told: [PowerValue; 10] = core::array::from_fn(|selector| report.value(selector as u8));
        assert_eq!(told, [d0, none, none, d3, d0, none, none, d3, none, none]);
    }

    #[test]
    fn a_power_without_a_unit_is_refused() {
        for (data, scale, fits) in [(0, 0, true), (9, 3, true), (9, 0, false), (0, 4, false)] {
            let mut spec = function(vec![], Interrupts::Msi { vectors_log2: 0 });
            let mut values = [PowerValue::default(); 8];
            values[7] = PowerValue { data, scale };
            spec.power = Some(PowerReport(values));
            let refused = spec.check().err().map(|error| error.to_string());
            assert_eq!(refused.is_none(), fits, "{refused:?}");
            assert!(refused.is_none_or(|words| words.contains("must have a scale of 1 to 3")));
        }
    }
}
