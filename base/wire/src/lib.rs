//! On-wire structures, one module per standard: the only place where bytes from outside are interpreted.
//!
//! Each format has one plain-data type that doubles as checked view and value: a `zerocopy` structure of
//! little-endian integers with alignment 1, borrowed from bytes with
//! [`zerocopy::FromBytes::ref_from_bytes`] or owned. Every bit pattern is a valid structure, so parsing
//! never fails because of content. Typed accessors interpret the fields and return an `Option` or a typed
//! error. One macro (`bit_fields`) makes newtypes for packed fields inside an integer, so no code shifts
//! by hand.
//!
//! - [`mod@array`]: command frames and status frames of a drive whose host does the translation
//! - [`nvme`]: NVM Express 1.4
//! - [`ocssd`]: Open-Channel SSD 1.2
//! - [`onfi`]: ONFI 5.1
//! - [`pcie`]: PCI Express configuration space, BARs and MSI-X
//! - [`vfio_user`]: a PCI function over a socket
#![no_std]
#![forbid(unsafe_code)]

#[macro_use]
mod bits;

pub mod array;
pub mod nvme;
pub mod ocssd;
pub mod onfi;
pub mod pcie;
pub mod vfio_user;
