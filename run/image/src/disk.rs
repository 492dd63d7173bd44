//! An image's file as the media use it: in windows, written through, or behind a [`Backlog`] while the disk
//! is full.

use super::backlog::Behind;
use super::change::{Change, change, failed, final_words, in_words};
use super::reserve::Reserve;
use aster_ports::medium::{Backlog, Medium, MediumError};
use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;

/// The file, and the changes that it has not taken yet.
pub(super) struct Disk {
    file: Rc<File>,
    behind: Option<RefCell<Behind>>,
}

impl Disk {
    /// A file to which each change is written at once; a failed write is an error.
    pub(super) fn written_through(file: Rc<File>) -> Rc<Self> {
        Rc::new(Disk { file, behind: None })
    }
    /// A file that may be behind while its disk is full. A reserve for an image of `bytes` bytes is kept in
    /// `folder`, the file's own.
    pub(super) fn with_backlog(file: File, folder: &Path, bytes: u64) -> Rc<Self> {
        let behind = Behind::new(Reserve::beside(folder, bytes));
        Rc::new(Disk { file: Rc::new(file), behind: Some(RefCell::new(behind)) })
    }
    pub(super) fn file(&self) -> &File {
        &self.file
    }
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), MediumError> {
        self.file.read_exact_at(into, at).map_err(|error| failed(at, &in_words(&error)))?;
        if let Some(behind) = &self.behind {
            behind.borrow().lay_over(at, into);
        }
        Ok(())
    }
    fn change(&self, at: u64, what: &Change<'_>) -> Result<(), MediumError> {
        match &self.behind {
            None => change(&self.file, at, what).map_err(|error| failed(at, &final_words(&error))),
            Some(behind) => behind.borrow_mut().change(&*self.file, at, what),
        }
    }
}

impl Backlog for Disk {
    fn is_full(&self) -> bool {
        self.behind.as_ref().is_some_and(|behind| behind.borrow().full)
    }
    fn owed(&self) -> u64 {
        self.behind.as_ref().map_or(0, |behind| behind.borrow().owed_bytes)
    }
    fn memory(&self) -> u64 {
        self.behind.as_ref().map_or(0, |behind| behind.borrow().memory())
    }
    fn needed(&self) -> u64 {
        self.behind.as_ref().map_or(0, |behind| behind.borrow().needed())
    }
    fn missing(&self) -> u64 {
        self.behind.as_ref().map_or(0, |behind| behind.borrow().missing())
    }
    fn no_room(&self) -> Option<MediumError> {
        self.behind.as_ref().and_then(|behind| behind.borrow().no_room.clone())
    }
    fn fault(&self) -> Option<MediumError> {
        self.behind.as_ref().and_then(|behind| behind.borrow().fault.clone())
    }
    fn retry(&self) {
        if let Some(behind) = self.behind.as_ref() {
            behind.borrow_mut().retry(&*self.file);
        }
    }
}

/// A window of a file.
pub(super) struct FileMedium {
    pub(super) disk: Rc<Disk>,
    pub(super) base: u64,
    pub(super) size: u64,
}

impl FileMedium {
    fn bounded(&self, offset: u64, length: u64) -> Result<u64, MediumError> {
        match offset.checked_add(length) {
            Some(end) if end <= self.size => Ok(self.base + offset),
            _ => Err(failed(self.base.saturating_add(offset), &"beyond the end of the image")),
        }
    }
}

impl Medium for FileMedium {
    fn size(&self) -> u64 {
        self.size
    }
    fn origin(&self) -> u64 {
        self.base
    }
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<(), MediumError> {
        let at = self.bounded(offset, into.len() as u64)?;
        self.disk.read(at, into)
    }
    fn write_at(&mut self, offset: u64, from: &[u8]) -> Result<(), MediumError> {
        let at = self.bounded(offset, from.len() as u64)?;
        self.disk.change(at, &Change::Bytes(from))
    }
    fn discard(&mut self, offset: u64, length: u64) -> Result<(), MediumError> {
        let at = self.bounded(offset, length)?;
        self.disk.change(at, &Change::Hole(length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::path::Path;

    fn medium(path: &Path) -> FileMedium {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path).unwrap();
        file.set_len(1 << 20).unwrap();
        FileMedium { disk: Disk::written_through(Rc::new(file)), base: 4096, size: 1 << 16 }
    }

    #[test]
    fn a_window_keeps_to_its_bounds() {
        let dir = tempfile::tempdir().unwrap();
        let mut m = medium(&dir.path().join("m"));
        m.write_at(65_530, &[1; 6]).unwrap();
        assert!(m.write_at(65_531, &[1; 6]).is_err());
        let mut back = [0; 6];
        m.read_at(65_530, &mut back).unwrap();
        assert_eq!(back, [1; 6]);
        assert!(m.read_at(u64::MAX, &mut back).is_err());
    }

    #[test]
    fn what_is_discarded_reads_as_zeroes() {
        let dir = tempfile::tempdir().unwrap();
        let mut m = medium(&dir.path().join("m"));
        m.write_at(0, &[7; 16_384]).unwrap();
        m.discard(4096, 8192).unwrap();
        let mut back = vec![1; 16_384];
        m.read_at(0, &mut back).unwrap();
        assert!(back[..4096].iter().chain(&back[12_288..]).all(|&b| b == 7));
        assert!(back[4096..12_288].iter().all(|&b| b == 0));
    }
}
