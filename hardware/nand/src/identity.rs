//! A package's manufacturer and model, from the profile.

use aster_wire::onfi::parameter_page::Endurance;

/// How a package identifies itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    /// JEDEC manufacturer and device identifiers: READ ID at address 00h (ONFI 5.1 §5.6).
    pub id: [u8; 6],
    /// Manufacturer, ASCII padded with spaces.
    pub manufacturer: [u8; 12],
    /// Model, ASCII padded with spaces.
    pub model: [u8; 20],
    /// P/E cycles that a block endures.
    pub endurance: Endurance,
}

impl Default for Identity {
    /// A package of this project: its name, and an identifier that JEDEC has not assigned.
    fn default() -> Self {
        Identity {
            id: [0x00, 0xa5, 0x7e, 0x00, 0x00, 0x00],
            manufacturer: *b"ASTER       ",
            model: *b"ASTER-NAND          ",
            endurance: Endurance { value: 3, exponent: 3 },
        }
    }
}
