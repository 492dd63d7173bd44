//! The client's memory, as far as it has handed it over.
//!
//! A file that its owner can still cut short would end this process with SIGBUS where it was mapped: such a file is read and
//! written by system calls, which answer with an error. A file in memory that is sealed against shrinking is mapped. One of huge
//! pages is neither: a page that the pool of huge pages can't give is a SIGBUS as well, sealed or not, and no call writes to one.

use crate::mapping::{Mapping, PAGE_BYTES};
use aster_ports::link::{BadAddress, HostMemory};
use aster_wire::vfio_user::{DmaMap, DmaMapFlags, DmaUnmap, DmaUnmapFlags};
use rustix::fs::{FileType, OFlags, SealFlags, fcntl_get_seals, fcntl_getfl, fstat, fstatfs};
use rustix::io::Errno;
use std::cell::Cell;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Regions that a client may map.
pub(crate) const MAPS_MAX: usize = 4096;

/// Linux' `TMPFS_MAGIC`: the file system of memfds, whose pages are always there to be had.
const MEMORY_FILES: i64 = 0x0102_1994;
/// Linux' `HUGETLBFS_MAGIC`: that of memfds with huge pages.
const HUGE_PAGE_FILES: i64 = 0x9584_58f6;

enum Backing {
    /// Sealed against shrinking.
    Mapped(Mapping),
    /// A file that may shrink: its bytes from an offset on.
    File(Arc<File>, u64),
    /// Nothing there can be reached.
    Absent(Absence),
}

/// Why memory can't be reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Absence {
    /// The client kept it to itself.
    Kept,
    /// Touching it might end this process.
    HugePages,
}

/// A file as it can be told from others: device, inode, and what may be done with it.
type Identity = (u64, u64, OFlags);

struct Map {
    address: u64,
    size: u64,
    readable: bool,
    writable: bool,
    backing: Backing,
    source: Option<(Identity, Arc<File>)>,
}

impl Map {
    fn end(&self) -> u64 {
        self.address + self.size
    }
}

impl Absence {
    #[cold]
    fn to_words(self, address: u64) -> String {
        match self {
            Absence::Kept => format!(
                "the client keeps its memory at {address:#x} to itself, so transfers there fail: have it share its memory (docs/serve.md)"
            ),
            Absence::HugePages => format!(
                "the client's memory at {address:#x} is a file of huge pages, so transfers there fail: have it share ordinary pages (docs/serve.md)"
            ),
        }
    }
}

/// All regions, by address, without overlaps.
#[derive(Default)]
pub(crate) struct GuestMemory {
    maps: Vec<Map>,
    /// The region used last: the next access is most often there, too.
    last: Cell<usize>,
    missed: Cell<Missed>,
}

/// Whether the drive needed memory that the client keeps to itself.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
enum Missed {
    /// Not yet.
    #[default]
    Nothing,
    /// At this address, and nobody knows yet.
    At(u64, Absence),
    /// Yes, and it was told: once a client is enough.
    Told,
}

impl GuestMemory {
    /// A region comes.
    ///
    /// # Errors
    /// The UNIX error that says what is wrong with it.
    pub(crate) fn map(&mut self, request: &DmaMap, file: Option<OwnedFd>) -> Result<(), Errno> {
        let (address, size, offset) = (request.address.get(), request.size.get(), request.offset.get());
        let flags = DmaMapFlags(request.flags.get());
        let aligned = [address, size, offset].iter().all(|n| n.is_multiple_of(PAGE_BYTES));
        let end = address.checked_add(size).ok_or(Errno::INVAL)?;
        let file_end = offset.checked_add(size).ok_or(Errno::INVAL)?;
        if size == 0 || !aligned {
            return Err(Errno::INVAL);
        }
        let index = self.maps.partition_point(|map| map.address < address);
        let overlaps = |map: Option<&Map>| map.is_some_and(|map| map.address < end && address < map.end());
        if overlaps(self.maps.get(index)) || index.checked_sub(1).is_some_and(|i| overlaps(self.maps.get(i)))
        {
            return Err(Errno::EXIST);
        }
        if self.maps.len() == MAPS_MAX {
            return Err(Errno::NOSPC);
        }
        let source = file.map(|file| self.source(file)).transpose()?;
        let backing = match &source {
            None => Backing::Absent(Absence::Kept),
            // All of it is asked of the file that is used, whatever the one that came now would answer.
            Some((_, file)) => {
                let stat = fstat(file)?;
                // Anything else may block, or has no end.
                if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                    return Err(Errno::INVAL);
                }
                if u64::try_from(stat.st_size).map_or(true, |bytes| bytes < file_end) {
                    return Err(Errno::INVAL);
                }
                // Only a sealed file keeps the size that was just found.
                let sealed = || fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
                match fstatfs(file)?.f_type {
                    HUGE_PAGE_FILES => Backing::Absent(Absence::HugePages),
                    MEMORY_FILES if sealed() => {
                        Backing::Mapped(Mapping::new(Arc::clone(file), offset, size, flags.writable())?)
                    }
                    _ => Backing::File(Arc::clone(file), offset),
                }
            }
        };
        let (readable, writable) = (flags.readable(), flags.writable());
        let map = Map { address, size, readable, writable, backing, source };
        self.maps.insert(index, map);
        Ok(())
    }

    /// The file behind a descriptor. Clients send one for each region, most often all of the same file: a descriptor is kept
    /// for as long as a region is, and there are fewer of them than there may be regions.
    fn source(&self, fd: OwnedFd) -> Result<(Identity, Arc<File>), Errno> {
        let stat = fstat(&fd)?;
        let identity = (stat.st_dev, stat.st_ino, fcntl_getfl(&fd)?);
        let mut known = self.maps.iter().filter_map(|map| map.source.as_ref());
        let known = known.find(|(other, _)| *other == identity);
        Ok((identity, known.map_or_else(|| Arc::new(File::from(fd)), |(_, file)| Arc::clone(file))))
    }

    /// A region goes, or all do. Whatever transfer comes later finds nothing there.
    ///
    /// # Errors
    /// When there is no such region, or a bitmap is asked for.
    pub(crate) fn unmap(&mut self, request: &DmaUnmap) -> Result<(), Errno> {
        let flags = DmaUnmapFlags(request.flags.get());
        if flags.dirty_bitmap() {
            return Err(Errno::OPNOTSUPP);
        }
        if flags.all() {
            self.maps.clear();
            return Ok(());
        }
        let (address, size) = (request.address.get(), request.size.get());
        let found = self.maps.binary_search_by_key(&address, |map| map.address).ok();
        let index = found.filter(|&index| self.maps[index].size == size).ok_or(Errno::NOENT)?;
        self.maps.remove(index);
        Ok(())
    }

    /// The client has gone with all its memory.
    pub(crate) fn clear(&mut self) {
        self.maps.clear();
        self.missed.set(Missed::Nothing);
    }

    /// What a person should know: the drive was asked to reach memory that it can't. Told once a client.
    #[inline]
    pub(crate) fn newly_missed(&self) -> Option<String> {
        match self.missed.get() {
            Missed::At(address, absence) => {
                self.missed.set(Missed::Told);
                Some(absence.to_words(address))
            }
            Missed::Nothing | Missed::Told => None,
        }
    }
    #[cold]
    fn miss(&self, address: u64, absence: Absence) -> BadAddress {
        if self.missed.get() == Missed::Nothing {
            self.missed.set(Missed::At(address, absence));
        }
        BadAddress(address)
    }

    /// The region that `address` is in.
    #[inline]
    fn find(&self, address: u64) -> Option<&Map> {
        let holds = |map: &&Map| map.address <= address && address < map.end();
        if let Some(map) = self.maps.get(self.last.get()).filter(holds) {
            return Some(map);
        }
        let index = self.maps.partition_point(|map| map.address <= address).checked_sub(1)?;
        let map = self.maps.get(index).filter(holds)?;
        self.last.set(index);
        Some(map)
    }

    /// Calls `each` for the pieces of a range: region, offset in it, and which part of the range that is.
    #[inline]
    fn pieces(
        &self,
        address: u64,
        length: usize,
        mut each: impl FnMut(&Map, u64, std::ops::Range<usize>) -> Result<(), BadAddress>,
    ) -> Result<(), BadAddress> {
        let mut done = 0;
        while done < length {
            let at = address.checked_add(done as u64).ok_or(BadAddress(address))?;
            let map = self.find(at).ok_or(BadAddress(at))?;
            let offset = at - map.address;
            let bytes = (map.size - offset).min((length - done) as u64) as usize;
            each(map, offset, done..done + bytes)?;
            done += bytes;
        }
        Ok(())
    }

    /// The aligned little-endian words from `address` on, each as it is at one instant.
    ///
    /// # Errors
    /// When part of the range is not memory.
    pub(crate) fn read_words(&self, address: u64, into: &mut [u32]) -> Result<(), BadAddress> {
        if !address.is_multiple_of(4) {
            return Err(BadAddress(address));
        }
        for (index, word) in into.iter_mut().enumerate() {
            let at = address.checked_add(4 * index as u64).ok_or(BadAddress(address))?;
            let map = self.find(at).filter(|map| map.readable).ok_or(BadAddress(at))?;
            *word = match &map.backing {
                Backing::Mapped(mapping) => mapping.load(at - map.address),
                Backing::File(..) | Backing::Absent(_) => {
                    let mut bytes = [0; 4];
                    self.read(at, &mut bytes)?;
                    u32::from_le_bytes(bytes)
                }
            };
        }
        Ok(())
    }
}

impl HostMemory for GuestMemory {
    #[inline]
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), BadAddress> {
        self.pieces(address, into.len(), |map, offset, part| {
            let into = &mut into[part];
            match &map.backing {
                _ if !map.readable => Err(BadAddress(map.address + offset)),
                Backing::Mapped(mapping) => {
                    mapping.read(offset, into);
                    Ok(())
                }
                Backing::File(file, start) => {
                    file.read_exact_at(into, start + offset).map_err(|_| BadAddress(map.address + offset))
                }
                Backing::Absent(absence) => Err(self.miss(map.address + offset, *absence)),
            }
        })
    }
    #[inline]
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), BadAddress> {
        self.pieces(address, from.len(), |map, offset, part| {
            let from = &from[part];
            match &map.backing {
                _ if !map.writable => Err(BadAddress(map.address + offset)),
                Backing::Mapped(mapping) => {
                    mapping.write(offset, from);
                    Ok(())
                }
                Backing::File(file, start) => {
                    write_within(file, start + offset, from).map_err(|_| BadAddress(map.address + offset))
                }
                Backing::Absent(absence) => Err(self.miss(map.address + offset, *absence)),
            }
        })
    }
}

/// Writes to a file that may have shrunk: it isn't made longer again.
fn write_within(file: &File, at: u64, from: &[u8]) -> Result<(), Errno> {
    let bytes = u64::try_from(fstat(file)?.st_size).map_err(|_| Errno::INVAL)?;
    if bytes < at + from.len() as u64 {
        return Err(Errno::FAULT);
    }
    file.write_all_at(from, at).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustix::fs::{MemfdFlags, fcntl_add_seals, ftruncate, memfd_create};

    fn file(bytes: u64, sealed: bool) -> OwnedFd {
        let fd = memfd_create("memory", MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&fd, bytes).unwrap();
        if sealed {
            fcntl_add_seals(&fd, SealFlags::SHRINK).unwrap();
        }
        fd
    }
    fn request(address: u64, size: u64, offset: u64) -> DmaMap {
        let flags = DmaMapFlags(0).with_readable(true).with_writable(true);
        DmaMap {
            argsz: 32.into(),
            flags: flags.0.into(),
            offset: offset.into(),
            address: address.into(),
            size: size.into(),
        }
    }
    fn unmap(address: u64, size: u64) -> DmaUnmap {
        DmaUnmap { argsz: 24.into(), flags: 0.into(), address: address.into(), size: size.into() }
    }

    #[test]
    fn bytes_go_across_neighbouring_regions_and_no_further() {
        for sealed in [true, false] {
            let mut memory = GuestMemory::default();
            let backing = file(0x4000, sealed);
            memory.map(&request(0x10_0000, 0x1000, 0x3000), Some(backing.try_clone().unwrap())).unwrap();
            memory.map(&request(0x10_1000, 0x1000, 0x1000), Some(backing.try_clone().unwrap())).unwrap();
            memory.write(0x10_0ffe, &[1, 2, 3, 4]).unwrap();
            let mut back = [0; 4];
            memory.read(0x10_0ffe, &mut back).unwrap();
            assert_eq!(back, [1, 2, 3, 4]);
            File::from(backing).read_exact_at(&mut back[..2], 0x1000).unwrap();
            assert_eq!(back[..2], [3, 4], "the second region begins at byte 1000h of the file");
            assert_eq!(memory.read(0x10_1ffe, &mut back), Err(BadAddress(0x10_2000)));
            assert_eq!(memory.write(0xf_ffff, &[0]), Err(BadAddress(0xf_ffff)));
            assert_eq!(memory.read(u64::MAX - 1, &mut back), Err(BadAddress(u64::MAX - 1)));
        }
    }

    #[test]
    fn a_region_that_the_file_does_not_have_is_refused() {
        let mut memory = GuestMemory::default();
        let sealed = || Some(file(0x2000, true));
        for (what, refused, file) in [
            ("longer than the file", request(0, 0x3000, 0), sealed()),
            ("past the end of the file", request(0, 0x1000, 0x2000), sealed()),
            ("no pages", request(0x800, 0x1000, 0), sealed()),
            ("nothing", request(0, 0, 0), sealed()),
            ("past the end of addresses", request(u64::MAX - 0xfff, 0x1000, 0), sealed()),
            ("past the end of offsets", request(0, 0x1000, u64::MAX - 0xfff), sealed()),
            (
                "no file",
                request(0, 0x1000, 0),
                Some(rustix::event::eventfd(0, rustix::event::EventfdFlags::empty()).unwrap()),
            ),
        ] {
            assert_eq!(memory.map(&refused, file), Err(Errno::INVAL), "{what}");
        }
        memory.map(&request(0x1000, 0x2000, 0), sealed()).unwrap();
        for address in [0, 0x1000, 0x2000] {
            assert_eq!(memory.map(&request(address, 0x2000, 0), sealed()), Err(Errno::EXIST));
        }
        memory.map(&request(0x3000, 0x1000, 0), sealed()).unwrap();
    }

    #[test]
    fn a_file_that_shrinks_under_its_region_is_an_error_and_no_crash() {
        let mut memory = GuestMemory::default();
        let backing = file(0x4000, false);
        memory.map(&request(0, 0x4000, 0), Some(backing.try_clone().unwrap())).unwrap();
        memory.write(0x3000, &[7; 0x1000]).unwrap();
        ftruncate(&backing, 0x3800).unwrap();
        assert_eq!(memory.read(0x3000, &mut [0; 0x1000]), Err(BadAddress(0x3000)));
        assert_eq!(memory.write(0x3000, &[7; 0x1000]), Err(BadAddress(0x3000)));
        assert_eq!(fstat(&backing).unwrap().st_size, 0x3800, "it was not made longer again");
        assert_eq!(memory.write(0x3000, &[7; 0x800]), Ok(()));
        // What is sealed can't.
        let backing = file(0x1000, true);
        assert!(ftruncate(&backing, 0).is_err());
    }

    #[test]
    fn flags_and_missing_files_are_kept_to() {
        let mut memory = GuestMemory::default();
        let mut read_only = request(0, 0x1000, 0);
        read_only.flags.set(DmaMapFlags(0).with_readable(true).0);
        memory.map(&read_only, Some(file(0x1000, true))).unwrap();
        memory.map(&request(0x1000, 0x1000, 0), None).unwrap();
        assert_eq!(memory.write(0, &[1]), Err(BadAddress(0)));
        assert_eq!(memory.read(0, &mut [0]), Ok(()));
        assert_eq!(memory.read(0x1000, &mut [0]), Err(BadAddress(0x1000)));
        assert!(memory.newly_missed().unwrap().contains("memory at 0x1000 to itself"));
        assert_eq!(memory.read_words(0x1000, &mut [0]), Err(BadAddress(0x1000)));
        assert_eq!(memory.newly_missed(), None, "once is enough");
    }

    #[test]
    fn a_file_of_huge_pages_ends_nothing_and_its_owner_is_told() {
        // Making one takes no huge page, touching one does.
        let flags = MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC | MemfdFlags::HUGETLB;
        let fd = match memfd_create("huge", flags) {
            Err(Errno::NOSYS | Errno::INVAL) => return println!("this system has no huge pages"),
            made => made.unwrap(),
        };
        ftruncate(&fd, 4 << 20).unwrap();
        fcntl_add_seals(&fd, SealFlags::SHRINK).unwrap();
        let mut memory = GuestMemory::default();
        memory.map(&request(0x1000, 0x2000, 0), Some(fd)).unwrap();
        assert_eq!(memory.write(0x1800, &[1; 4096]), Err(BadAddress(0x1800)));
        assert_eq!(memory.read(0x1800, &mut [0; 4096]), Err(BadAddress(0x1800)));
        assert_eq!(memory.read_words(0x1000, &mut [0]), Err(BadAddress(0x1000)));
        let told = memory.newly_missed().unwrap();
        assert!(told.contains("memory at 0x1800 is a file of huge pages"), "{told}");
    }

    #[test]
    fn regions_of_one_file_keep_one_descriptor() {
        for sealed in [true, false] {
            let mut memory = GuestMemory::default();
            let backing = file(0x2000, sealed);
            for page in 0..64 {
                let again = backing.try_clone().unwrap();
                memory.map(&request(page * 0x1000, 0x1000, page % 2 * 0x1000), Some(again)).unwrap();
            }
            memory.map(&request(0x10_0000, 0x1000, 0), Some(file(0x2000, sealed))).unwrap();
            let mut files: Vec<_> =
                memory.maps.iter().map(|map| Arc::as_ptr(&map.source.as_ref().unwrap().1)).collect();
            files.dedup();
            assert_eq!(files.len(), 2, "one, and the other file's");
        }
    }

    #[test]
    fn only_whole_regions_go_and_then_nothing_is_there() {
        let mut memory = GuestMemory::default();
        memory.map(&request(0x1000, 0x2000, 0), Some(file(0x2000, true))).unwrap();
        assert_eq!(memory.read(0x1000, &mut [0; 16]), Ok(()));
        assert_eq!(memory.unmap(&unmap(0x1000, 0x1000)), Err(Errno::NOENT));
        assert_eq!(memory.unmap(&unmap(0x2000, 0x1000)), Err(Errno::NOENT));
        assert_eq!(memory.unmap(&unmap(0x1000, 0x2000)), Ok(()));
        assert_eq!(memory.read(0x1000, &mut [0; 16]), Err(BadAddress(0x1000)));
        memory.map(&request(0, 0x1000, 0), None).unwrap();
        memory.map(&request(0x1000, 0x1000, 0), None).unwrap();
        let mut all = unmap(0, 0);
        all.flags.set(DmaUnmapFlags(0).with_all(true).0);
        assert_eq!(memory.unmap(&all), Ok(()));
        assert!(memory.maps.is_empty());
    }

    proptest! {
        #[test]
        fn regions_never_overlap_and_are_found_by_every_address_in_them(
            regions in prop::collection::vec((0..32u64, 1..6u64, any::<bool>()), 1..40),
            at in 0..40u64,
        ) {
            let mut memory = GuestMemory::default();
            let mut model = [None; 64];
            for (number, (page, pages, goes)) in regions.into_iter().enumerate() {
                let (address, size) = (page * 4096, pages * 4096);
                let cells = page as usize..(page + pages) as usize;
                if goes {
                    let known = model[cells.start].filter(|&(_, first, count)| (first, count) == (page, pages));
                    let gone = memory.unmap(&unmap(address, size));
                    prop_assert_eq!(gone.is_ok(), known.is_some());
                    if gone.is_ok() {
                        model[cells].fill(None);
                    }
                } else {
                    let free = model[cells.clone()].iter().all(Option::is_none);
                    prop_assert_eq!(memory.map(&request(address, size, 0), None).is_ok(), free);
                    if free {
                        model[cells].fill(Some((number, page, pages)));
                    }
                }
                let found = memory.find(at * 4096 + 17).map(|map| map.address / 4096);
                prop_assert_eq!(found, model[at as usize].map(|(_, first, _)| first));
            }
        }
    }
}
