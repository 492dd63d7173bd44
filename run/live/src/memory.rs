//! The memory that the client shares.
//!
//! Files are mapped, and a mapping that its owner can still take away is guarded: missing memory is an error
//! of that transfer ([`aster_run_memory`]). So a file may be sealed or not, consist of huge pages, or lie on
//! a disk.

use crate::mapping::PAGE_BYTES;
use crate::obstacles::{Obstacle, Obstacles};
use aster_ports::link::{BadAddress, HostMemory};
use aster_run_memory::{Gone, Shared};
use aster_wire::vfio_user::{DmaMap, DmaMapFlags, DmaUnmap, DmaUnmapFlags};
use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat, fstatfs};
use rustix::io::Errno;
use std::cell::Cell;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;

/// Regions that a client may map.
pub(crate) const MAPS_MAX: usize = 4096;

/// Linux' `HUGETLBFS_MAGIC`: the file system of huge pages, with its page size as block size.
const HUGE_PAGE_FILES: i64 = 0x9584_58f6;

enum Backing {
    /// A file.
    Mapped(Shared),
    /// The client doesn't share it, so it can't be accessed.
    Kept,
}

/// What identifies a file: device, inode, and access mode.
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

/// All regions by address, without overlaps.
#[derive(Default)]
pub(crate) struct GuestMemory {
    maps: Vec<Map>,
    /// The region used last: usually the next access is there, too.
    last: Cell<usize>,
    obstacles: Rc<Obstacles>,
}

impl GuestMemory {
    /// No regions yet. Reasons why transfers fail are reported to `obstacles`.
    pub(crate) fn new(obstacles: &Rc<Obstacles>) -> Self {
        GuestMemory { obstacles: Rc::clone(obstacles), ..GuestMemory::default() }
    }

    /// Adds a region.
    ///
    /// # Errors
    /// The UNIX error for what is wrong with the request.
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
            None => Backing::Kept,
            // All checks use the file that is kept, not the descriptor that came with this request.
            Some((_, file)) => {
                let stat = fstat(file)?;
                // Other kinds of files may block, or have no size.
                if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                    return Err(Errno::INVAL);
                }
                if u64::try_from(stat.st_size).map_or(true, |bytes| bytes < file_end) {
                    self.obstacles.meet(Obstacle::ShortFile, || {
                        format!(
                            "the client's memory from {address:#x} to {end:#x} is longer than the file that \
                             it sent for it: have SPDK \
                             put its huge pages into one file (-g)"
                        )
                    });
                    return Err(Errno::INVAL);
                }
                let shared = Shared::new(Arc::clone(file), offset, size, page_bytes(file)?, flags.writable());
                Backing::Mapped(shared.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::NOMEM))?)
            }
        };
        let (readable, writable) = (flags.readable(), flags.writable());
        let map = Map { address, size, readable, writable, backing, source };
        self.maps.insert(index, map);
        Ok(())
    }

    /// The file behind a descriptor. Clients send a descriptor for each region, usually all of the same file.
    /// A descriptor stays open as long as its region, and a process may have fewer descriptors than regions,
    /// so regions of one file share one.
    fn source(&self, fd: OwnedFd) -> Result<(Identity, Arc<File>), Errno> {
        let stat = fstat(&fd)?;
        let identity = (stat.st_dev, stat.st_ino, fcntl_getfl(&fd)?);
        let mut known = self.maps.iter().filter_map(|map| map.source.as_ref());
        let known = known.find(|(other, _)| *other == identity);
        Ok((identity, known.map_or_else(|| Arc::new(File::from(fd)), |(_, file)| Arc::clone(file))))
    }

    /// Removes a region, or all. Later transfers find no memory there.
    ///
    /// # Errors
    /// When there is no such region, or the client requests a dirty bitmap.
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
    }

    /// A transfer at `address` isn't possible.
    #[cold]
    fn miss(&self, address: u64, obstacle: Obstacle) -> BadAddress {
        self.obstacles.meet(obstacle, || {
            let (what, remedy) = match obstacle {
                Obstacle::KeptMemory => {
                    ("is memory that the client keeps to itself", "have it share its memory (docs/serve.md)")
                }
                Obstacle::GoneMemory => (
                    "is in a file that the client has cut short, or in a hole for which no huge page is left",
                    "have it keep what it shares",
                ),
                Obstacle::Direction => (
                    "is memory that the client shares for the other direction alone",
                    "have it share its memory readable and writable",
                ),
                _ => ("is no memory that the client shares", "have it send a DMA_MAP before"),
            };
            format!("{address:#x} {what}, so transfers there fail: {remedy}")
        });
        BadAddress(address)
    }

    /// The region that contains `address`.
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

    /// Calls `each` for the pieces of a range: region, offset in the region, and part of the range.
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
            let map = self.find(at).ok_or_else(|| self.miss(at, Obstacle::NoMemory))?;
            let offset = at - map.address;
            let bytes = (map.size - offset).min((length - done) as u64) as usize;
            each(map, offset, done..done + bytes)?;
            done += bytes;
        }
        Ok(())
    }

    /// Reads the aligned little-endian words from `address` on, each atomically.
    ///
    /// # Errors
    /// When part of the range is not memory.
    pub(crate) fn read_words(&self, address: u64, into: &mut [u32]) -> Result<(), BadAddress> {
        if !address.is_multiple_of(4) {
            return Err(BadAddress(address));
        }
        for (index, word) in into.iter_mut().enumerate() {
            let at = address.checked_add(4 * index as u64).ok_or(BadAddress(address))?;
            let map = self.find(at).ok_or_else(|| self.miss(at, Obstacle::NoMemory))?;
            *word = match &map.backing {
                _ if !map.readable => return Err(self.miss(at, Obstacle::Direction)),
                Backing::Mapped(shared) => match shared.load(at - map.address) {
                    Ok(word) => word,
                    Err(Gone) => return Err(self.miss(at, Obstacle::GoneMemory)),
                },
                Backing::Kept => return Err(self.miss(at, Obstacle::KeptMemory)),
            };
        }
        Ok(())
    }

    /// The result of a transfer with a piece at `address`.
    #[inline]
    fn reached(&self, address: u64, transfer: Result<(), Gone>) -> Result<(), BadAddress> {
        transfer.map_err(|Gone| self.miss(address, Obstacle::GoneMemory))
    }
}

/// The file's page size, the unit in which its memory is present or missing.
fn page_bytes(file: &File) -> Result<usize, Errno> {
    let system = fstatfs(file)?;
    Ok(match system.f_type {
        HUGE_PAGE_FILES => usize::try_from(system.f_bsize).map_err(|_| Errno::INVAL)?,
        _ => rustix::param::page_size(),
    })
}

impl HostMemory for GuestMemory {
    #[inline]
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), BadAddress> {
        self.pieces(address, into.len(), |map, offset, part| {
            let at = map.address + offset;
            match &map.backing {
                _ if !map.readable => Err(self.miss(at, Obstacle::Direction)),
                Backing::Mapped(shared) => self.reached(at, shared.read(offset, &mut into[part])),
                Backing::Kept => Err(self.miss(at, Obstacle::KeptMemory)),
            }
        })
    }
    #[inline]
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), BadAddress> {
        self.pieces(address, from.len(), |map, offset, part| {
            let at = map.address + offset;
            match &map.backing {
                _ if !map.writable => Err(self.miss(at, Obstacle::Direction)),
                Backing::Mapped(shared) => self.reached(at, shared.write(offset, &from[part])),
                Backing::Kept => Err(self.miss(at, Obstacle::KeptMemory)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
    use std::os::unix::fs::FileExt;

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
        ftruncate(&backing, 0x2800).unwrap();
        assert_eq!(memory.read(0x3000, &mut [0; 0x1000]), Err(BadAddress(0x3000)));
        assert_eq!(memory.write(0x3000, &[7; 0x1000]), Err(BadAddress(0x3000)));
        assert_eq!(fstat(&backing).unwrap().st_size, 0x2800, "it was not made longer again");
        assert_eq!(memory.write(0x2000, &[7; 0x800]), Ok(()), "pages come and go as a whole");
        let told = memory.obstacles.take();
        let wanted = "0x3000 is in a file that the client has cut short";
        assert!(told.len() == 1 && told[0].contains(wanted), "{told:?}");
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
        assert_eq!(memory.read_words(0x1000, &mut [0]), Err(BadAddress(0x1000)));
        assert_eq!(memory.read(0x2000, &mut [0]), Err(BadAddress(0x2000)));
        let told = memory.obstacles.take();
        for (place, wanted) in [
            "0x0 is memory that the client shares for the other direction alone",
            "0x1000 is memory that the client keeps to itself",
            "0x2000 is no memory that the client shares",
        ]
        .into_iter()
        .enumerate()
        {
            assert!(told[place].starts_with(wanted), "{told:?}");
        }
        assert_eq!(memory.write(0, &[1]), Err(BadAddress(0)));
        assert!(told.len() == 3 && memory.obstacles.take().is_empty(), "once is enough: {told:?}");
    }

    #[test]
    fn a_file_that_may_not_be_written_to_is_refused_where_the_drive_is_to_write() {
        let fd = file(0x1000, false);
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&fd));
        let read_only = || Some(OwnedFd::from(File::open(&path).unwrap()));
        let mut memory = GuestMemory::default();
        assert_eq!(memory.map(&request(0, 0x1000, 0), read_only()), Err(Errno::ACCESS));
        let mut reading = request(0, 0x1000, 0);
        reading.flags.set(DmaMapFlags(0).with_readable(true).0);
        assert_eq!(memory.map(&reading, read_only()), Ok(()));
        assert_eq!(memory.read(0, &mut [0; 16]), Ok(()));
    }

    /// Whether the pool has a page or not, the file is accepted, and an access to its pages works or is an
    /// error. Tests of [`aster_run_memory`] cover holes that can't be filled.
    #[test]
    fn huge_pages_are_served_from_any_4_kib_on_and_a_hole_in_an_empty_pool_is_an_error() {
        let flags = MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC | MemfdFlags::HUGETLB;
        let fd = match memfd_create("huge", flags) {
            Err(Errno::NOSYS | Errno::INVAL) => return println!("this system has no huge pages"),
            made => made.unwrap(),
        };
        let page = fstatfs(&fd).unwrap().f_bsize as u64;
        ftruncate(&fd, 2 * page).unwrap();
        let mut memory = GuestMemory::default();
        memory.map(&request(0x1000, page, 0x3000), Some(fd.try_clone().unwrap())).unwrap();
        let wrote = memory.write(0x1800, &[1; 4096]);
        let mut back = [0; 4096];
        assert_eq!(memory.read(0x1800, &mut back), wrote);
        assert_eq!(memory.read_words(0x1800, &mut [0]), wrote);
        match wrote {
            Ok(()) => assert!(back.iter().all(|&b| b == 1)),
            Err(at) => {
                println!("the pool of huge pages is empty");
                assert_eq!(at, BadAddress(0x1800));
                assert!(memory.obstacles.take()[0].contains("a hole for which no huge page is left"));
            }
        }
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
                    let known = model[cells.start].filter(|&(_, first, count)| (first, count) == (page,
                        pages));
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
