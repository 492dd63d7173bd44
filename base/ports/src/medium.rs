//! What survives power-off: the backing of a NAND image, and the board's NVRAM. A run mode implements [`Medium`].

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::fmt;

/// The backing failed: what the operating system said, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MediumError {
    /// Byte offset of the failed access in what holds the medium ([`Medium::origin`]).
    pub offset: u64,
    /// The reason in words.
    pub reason: String,
}

impl fmt::Display for MediumError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.reason)
    }
}
impl core::error::Error for MediumError {}

/// A byte-addressed backing store of fixed size, zeroes where nothing was written: an image file.
pub trait Medium {
    /// Size in bytes.
    fn size(&self) -> u64;
    /// Where it begins in what holds it, in bytes: people look for places there, and errors name them so.
    fn origin(&self) -> u64 {
        0
    }
    /// Reads.
    ///
    /// # Errors
    /// When the backing fails.
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<(), MediumError>;
    /// Writes.
    ///
    /// # Errors
    /// When the backing fails.
    fn write_at(&mut self, offset: u64, from: &[u8]) -> Result<(), MediumError>;
    /// Makes a range read as zeroes and gives its space back.
    ///
    /// # Errors
    /// When the backing fails.
    fn discard(&mut self, offset: u64, length: u64) -> Result<(), MediumError>;
}

/// The board's non-volatile RAM.
pub struct Nvram {
    bytes: RefCell<Vec<u8>>,
    backing: RefCell<Option<(Box<dyn Medium>, u64)>>,
}

/// The board's NVRAM, shared by what keeps things in it.
pub type SharedNvram = Rc<Nvram>;

impl Nvram {
    /// `size` bytes of zeroes that live as long as the value.
    pub fn volatile(size: usize) -> SharedNvram {
        Rc::new(Nvram { bytes: RefCell::new(vec![0; size]), backing: RefCell::new(None) })
    }
    /// The `size` bytes of `medium` from `offset` on; writes go through.
    ///
    /// # Errors
    /// When the backing can't be read.
    pub fn on_medium(
        mut medium: Box<dyn Medium>,
        offset: u64,
        size: usize,
    ) -> Result<SharedNvram, MediumError> {
        let mut bytes = vec![0; size];
        medium.read_at(offset, &mut bytes)?;
        Ok(Rc::new(Nvram { bytes: RefCell::new(bytes), backing: RefCell::new(Some((medium, offset))) }))
    }
    /// A copy of all bytes, to power another device up with.
    pub fn snapshot(&self) -> Vec<u8> {
        self.bytes.borrow().clone()
    }
    /// Replaces all bytes; the size must be the same.
    pub fn restore(&self, bytes: &[u8]) {
        self.write(0, bytes);
    }
    /// Size in bytes.
    pub fn size(&self) -> usize {
        self.bytes.borrow().len()
    }
    /// Reads; panics outside (addresses come from firmware).
    pub fn read(&self, offset: usize, into: &mut [u8]) {
        into.copy_from_slice(&self.bytes.borrow()[offset..offset + into.len()]);
    }
    /// Writes; panics outside, and when the backing fails, since the drive can't keep its promises then.
    pub fn write(&self, offset: usize, from: &[u8]) {
        self.bytes.borrow_mut()[offset..offset + from.len()].copy_from_slice(from);
        if let Some((medium, base)) = self.backing.borrow_mut().as_mut()
            && let Err(error) = medium.write_at(*base + offset as u64, from)
        {
            panic!("the NVRAM image can't be written: {error}");
        }
    }
}
