//! What survives a loss of power: the backing of a NAND image, and the board's NVRAM. A run mode
//! implements [`Medium`].

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::fmt;

/// The backing failed: what the operating system said, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MediumError {
    /// Byte offset of the failed access in the file or device that holds the medium ([`Medium::origin`]).
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
    /// Where the medium begins in the file or device that holds it, in bytes. Errors give offsets from
    /// the start of that file or device, where a reader would look for them.
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
    /// Makes a range read as zeroes and frees its space.
    ///
    /// # Errors
    /// When the backing fails.
    fn discard(&mut self, offset: u64, length: u64) -> Result<(), MediumError>;
}

/// Writes for which the store of a drive's media has had no room. They stay in memory until there is
/// room.
///
/// Writes reach the store in order, so that it always holds what the drive had written up to one moment.
/// If the process ends, the drive has in effect lost power at that moment. Nothing that was written later
/// may be reported as durable.
pub trait Backlog {
    /// True from the first write that found no room until there is enough room again. A caller that can
    /// wait should write nothing until then.
    fn is_full(&self) -> bool;
    /// Bytes that were written and are only in memory. An erase counts as a page, although it needs no
    /// room.
    fn owed(&self) -> u64;
    /// Bytes of memory that the owed writes take.
    fn memory(&self) -> u64;
    /// While it is full: the bytes that must be free before it accepts writes again.
    fn needed(&self) -> u64;
    /// How many of the [`Backlog::needed`] bytes aren't free, as far as the operating system says. If a
    /// quota or a limit is used up, that is all of them.
    fn missing(&self) -> u64;
    /// The operating system's error when there was no room, and where.
    fn no_room(&self) -> Option<MediumError>;
    /// The permanent error that a write of owed bytes met. Since then, nothing reaches the medium any
    /// more.
    fn fault(&self) -> Option<MediumError>;
    /// Writes as many of the owed bytes as fit at this moment.
    fn retry(&self);
}

/// A [`Backlog`], shared by the drive and the run mode that serves it.
pub type SharedBacklog = Rc<dyn Backlog>;

/// The board's NVRAM: RAM that keeps its content without power.
///
/// The first part of it may have no capacitor ([`Nvram::keep_only_saved`]). After a loss of power, that
/// part holds what it held at the last [`Nvram::save`] if nothing was written to it since; otherwise it
/// holds zeroes.
pub struct Nvram {
    bytes: RefCell<Vec<u8>>,
    backing: RefCell<Option<(Box<dyn Medium>, u64)>>,
    // What the part without a capacitor will hold after a loss of power; empty if there is no such part.
    saved: RefCell<Vec<u8>>,
    // Whether any of its bytes may be other than zero: it is looked at for each write.
    holds_saved: Cell<bool>,
    refused: RefCell<Option<MediumError>>,
}

/// The board's NVRAM, shared by its users.
pub type SharedNvram = Rc<Nvram>;

impl Nvram {
    /// `size` bytes of zeroes without a backing.
    pub fn volatile(size: usize) -> SharedNvram {
        Rc::new(Nvram {
            bytes: RefCell::new(vec![0; size]),
            backing: RefCell::new(None),
            saved: RefCell::default(),
            holds_saved: Cell::default(),
            refused: RefCell::default(),
        })
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
        Ok(Rc::new(Nvram {
            bytes: RefCell::new(bytes),
            backing: RefCell::new(Some((medium, offset))),
            saved: RefCell::default(),
            holds_saved: Cell::default(),
            refused: RefCell::default(),
        }))
    }
    /// From now on the first `length` bytes keep only what was saved. Their present content counts as
    /// saved.
    pub fn keep_only_saved(&self, length: usize) {
        *self.saved.borrow_mut() = self.bytes.borrow()[..length].to_vec();
        self.holds_saved.set(true);
    }
    /// Saves the bytes that have no capacitor: as they are now, they survive a loss of power.
    pub fn save(&self) {
        let mut saved = self.saved.borrow_mut();
        let length = saved.len();
        saved.copy_from_slice(&self.bytes.borrow()[..length]);
        self.holds_saved.set(true);
        self.write_through(0, &saved);
    }
    /// The drive loses power.
    pub fn power_off(&self) {
        let saved = self.saved.borrow();
        self.bytes.borrow_mut()[..saved.len()].copy_from_slice(&saved);
    }
    /// A copy of all bytes, with which another device can be powered up.
    pub fn snapshot(&self) -> Vec<u8> {
        self.bytes.borrow().clone()
    }
    /// Replaces all bytes; the size must be the same.
    pub fn restore(&self, bytes: &[u8]) {
        self.write(0, bytes);
        self.save();
    }
    /// Size in bytes.
    pub fn size(&self) -> usize {
        self.bytes.borrow().len()
    }
    /// Reads; panics outside (addresses come from firmware).
    pub fn read(&self, offset: usize, into: &mut [u8]) {
        into.copy_from_slice(&self.bytes.borrow()[offset..offset + into.len()]);
    }
    /// The backing's error when it first refused a write. Later writes reach only the RAM and are gone
    /// after a loss of power. The backing gets none of them, so that it stays as it was at that moment:
    /// for what survives, the drive lost power then.
    pub fn refused(&self) -> Option<MediumError> {
        self.refused.borrow().clone()
    }
    /// Writes; panics outside.
    pub fn write(&self, offset: usize, from: &[u8]) {
        self.bytes.borrow_mut()[offset..offset + from.len()].copy_from_slice(from);
        let mut saved = self.saved.borrow_mut();
        let volatile = saved.len().saturating_sub(offset).min(from.len());
        if volatile > 0 && self.holds_saved.replace(false) && saved.iter().any(|&byte| byte != 0) {
            // What was saved is out of date: erase it before anything else happens.
            saved.fill(0);
            self.write_through(0, &saved);
        }
        self.write_through(offset + volatile, &from[volatile..]);
    }
    fn write_through(&self, offset: usize, from: &[u8]) {
        let mut refused = self.refused.borrow_mut();
        if let Some((medium, base)) = self.backing.borrow_mut().as_mut()
            && !from.is_empty()
            && refused.is_none()
        {
            *refused = medium.write_at(*base + offset as u64, from).err();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk that is full after this number of writes.
    struct Full {
        bytes: Rc<RefCell<Vec<u8>>>,
        left: u32,
    }

    impl Medium for Full {
        fn size(&self) -> u64 {
            4
        }
        fn read_at(&mut self, _: u64, into: &mut [u8]) -> Result<(), MediumError> {
            into.copy_from_slice(&self.bytes.borrow());
            Ok(())
        }
        fn write_at(&mut self, offset: u64, from: &[u8]) -> Result<(), MediumError> {
            let full = MediumError { offset, reason: "no space left".into() };
            self.left = self.left.checked_sub(1).ok_or(full)?;
            self.bytes.borrow_mut()[offset as usize..][..from.len()].copy_from_slice(from);
            Ok(())
        }
        fn discard(&mut self, _: u64, _: u64) -> Result<(), MediumError> {
            Ok(())
        }
    }

    #[test]
    fn a_backing_that_refuses_is_told_and_left_as_it_was_then() {
        let bytes = Rc::new(RefCell::new(vec![0; 4]));
        let medium = Box::new(Full { bytes: Rc::clone(&bytes), left: 1 });
        let nvram = Nvram::on_medium(medium, 0, 4).unwrap();
        nvram.write(0, &[1]);
        assert_eq!(nvram.refused(), None);
        nvram.write(1, &[2]);
        nvram.write(2, &[3]);
        assert_eq!(nvram.refused(), Some(MediumError { offset: 1, reason: "no space left".into() }));
        assert_eq!(read(&nvram), [1, 2, 3, 0], "until the power goes");
        assert_eq!(*bytes.borrow(), [1, 0, 0, 0]);
    }

    fn read(nvram: &Nvram) -> [u8; 4] {
        let mut bytes = [0; 4];
        nvram.read(0, &mut bytes);
        bytes
    }

    #[test]
    fn everything_written_stays_where_a_capacitor_stands_behind_it() {
        let nvram = Nvram::volatile(4);
        nvram.write(0, &[1, 2, 3, 4]);
        nvram.power_off();
        assert_eq!(read(&nvram), [1, 2, 3, 4]);
    }

    #[test]
    fn without_one_only_what_was_saved_and_not_touched_since_stays() {
        let nvram = Nvram::volatile(4);
        nvram.keep_only_saved(2);
        nvram.write(0, &[1, 2, 3, 4]);
        nvram.save();
        nvram.power_off();
        assert_eq!(read(&nvram), [1, 2, 3, 4]);
        // A write across the bound: its first byte lies below it.
        nvram.write(1, &[9, 8]);
        assert_eq!(read(&nvram), [1, 9, 8, 4]);
        nvram.power_off();
        assert_eq!(read(&nvram), [0, 0, 8, 4], "what was saved is older than the truth");
    }
}
