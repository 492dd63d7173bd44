//! A drive that has been brought up.

use crate::error::{OpenError, VectorError};
use crate::format::{Format, first_of_chunk};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_driver::{Bar, Driver, DriverError, Moved, QueueId, VENDOR_BYTES_MAX, Vector, VectorEnd};
use aster_units::Geometry;
use aster_wire::nvme::AdminOpcode;
use aster_wire::nvme::features::{ErrorRecovery, FeatureId};
use aster_wire::ocssd::v2::{
    self, CHUNK_REPORT, ChunkDescriptor, ChunkFlags, ChunkShape, Geometry20, MEDIA_FEEDBACK, MediaFeedback,
};
use aster_wire::ocssd::{
    ADDRESSES_MAX, BlockFlags, Identity12, Place, TableHeader, VectorControl, admin, identity, io, table,
    vector,
};
use zerocopy::FromBytes;

/// What a drive says of itself (E2h).
#[derive(Clone, PartialEq, Eq)]
pub enum Identity {
    /// A drive of version 1.2.
    V12(Box<Identity12>),
    /// A drive of version 2.0.
    V20(Box<Geometry20>),
}

/// An open-channel drive of version 1.2 or 2.0.
///
/// A place names a sector in the array on both, and a block in a plane. A drive of 2.0 knows chunks alone: a
/// block in all planes, whose first plane stands for it.
pub struct Drive<B: Bar> {
    driver: Rc<Driver<B>>,
    identity: Identity,
    format: Format,
    geometry: Geometry,
    /// Erases with one address per LUN mean all planes.
    erase_control: VectorControl,
}

/// What an identity says of the array: its geometry, its format of addresses, and the control bits of an
/// erase of all planes.
type Described = (Geometry, Format, VectorControl);

impl<B: Bar + 'static> Drive<B> {
    /// Identifies the drive that `driver` has brought up. On a drive of 2.0 it also asks for errors from
    /// reads of sectors that nobody wrote (DULBE) and for the status of sectors with many wrong bits (Media
    /// Feedback), as a drive of 1.2 has them.
    ///
    /// # Errors
    /// When it doesn't answer, or isn't a drive that this library knows.
    pub async fn open(driver: &Rc<Driver<B>>) -> Result<Self, OpenError> {
        let mut bytes = vec![0; size_of::<Identity12>()];
        driver.vendor_admin(admin::IDENTITY, [0; 6], &mut bytes).await?;
        let identity = match bytes[0] {
            identity::VERSION => Identity::V12(boxed(&bytes)),
            v2::VERSION => Identity::V20(boxed(&bytes)),
            _ => return Err(OpenError::Unknown("its version is neither 1.2 nor 2.0")),
        };
        let described = match &identity {
            Identity::V12(identity) => of_identity(identity),
            Identity::V20(geometry) => of_geometry(geometry),
        };
        let (geometry, format, erase_control) = described.map_err(OpenError::Unknown)?;
        if matches!(identity, Identity::V20(_)) {
            let unwritten = ErrorRecovery(0).with_deallocated_error(true);
            let feedback = MediaFeedback(0).with_reads(true).with_vector_reads(true);
            for (feature, value) in
                [(FeatureId::ErrorRecovery.raw(), unwritten.0), (MEDIA_FEEDBACK, feedback.0)]
            {
                let dwords = [feature.into(), value, 0, 0, 0, 0];
                driver.vendor_admin(AdminOpcode::SetFeatures.raw(), dwords, &mut []).await?;
            }
        }
        Ok(Drive { driver: Rc::clone(driver), identity, format, geometry, erase_control })
    }

    /// All that it says of itself.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }
    /// Its array. The bytes of spare areas are the drive's own business, and 0 here.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }
    pub(crate) fn driver(&self) -> &Driver<B> {
        &self.driver
    }
    /// How it writes addresses.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Erases the blocks in all planes of a LUN that `block` names. Its plane must be 0; page and sector
    /// don't count. A chunk that is free already stays so.
    ///
    /// # Errors
    /// When the drive refuses, or a block can't be erased.
    pub async fn erase(&self, queue: QueueId, block: Place) -> Result<(), VectorError> {
        let block = self.erased(block);
        let (data, metadata) = (Moved::Nothing, Moved::Nothing);
        match self.send(queue, io::ERASE, self.erase_control, &[block], data, metadata).await {
            Err(error) if error.is_free_already() => Ok(()),
            ended => ended,
        }
    }
    /// Erases blocks, each in its own plane; on a drive of 2.0 their chunks, none of which may be free.
    /// Pages and sectors don't count.
    ///
    /// # Errors
    /// When the drive refuses, or blocks can't be erased.
    pub async fn erase_blocks(&self, queue: QueueId, blocks: &[Place]) -> Result<(), VectorError> {
        let blocks: Vec<_> = blocks.iter().map(|block| self.erased(*block)).collect();
        self.send(queue, io::ERASE, VectorControl(0), &blocks, Moved::Nothing, Moved::Nothing).await
    }
    /// What names a block in an erase.
    fn erased(&self, block: Place) -> Place {
        match self.format {
            Format::Physical(_) => block,
            Format::Logical(_) => first_of_chunk(block),
        }
    }
    /// Writes sectors, each with [16 bytes](aster_wire::ocssd::METADATA_BYTES) of metadata.
    ///
    /// # Errors
    /// When the drive refuses, or some sectors can't be written.
    pub async fn write(
        &self,
        queue: QueueId,
        sectors: &[Place],
        data: Moved<'_>,
        metadata: &[u8],
    ) -> Result<(), VectorError> {
        self.send(queue, io::WRITE, VectorControl(0), sectors, data, Moved::ToDrive(metadata)).await
    }
    /// Reads sectors and their metadata.
    ///
    /// # Errors
    /// When the drive refuses, or some sectors can't be read. The others have been read then. Sectors with
    /// so many wrong bits that they should be moved are an error as well
    /// ([`VectorError::is_high_ecc`]), but all have been read.
    pub async fn read(
        &self,
        queue: QueueId,
        sectors: &[Place],
        data: Moved<'_>,
        metadata: &mut [u8],
    ) -> Result<(), VectorError> {
        self.send(queue, io::READ, VectorControl(0), sectors, data, Moved::FromDrive(metadata)).await
    }

    /// Bytes of the spare area beside each sector in a raw vector. `None` if the drive has no raw vectors.
    pub fn raw_spare_bytes(&self) -> Option<usize> {
        match &self.identity {
            Identity::V12(identity) => match identity.groups[0].raw_spare_bytes.get() {
                0 => None,
                bytes => Some(bytes.into()),
            },
            Identity::V20(_) => None,
        }
    }
    /// Writes pages as they are to be in the array, without ECC and scrambler: the data area, and beside each
    /// sector its share of the spare area ([`Drive::raw_spare_bytes`]). Otherwise as [`Drive::write`].
    ///
    /// # Errors
    /// As [`Drive::write`]; [`DriverError::Argument`] on a drive without raw vectors, or for a spare area of
    /// another length.
    pub async fn write_raw(
        &self,
        queue: QueueId,
        sectors: &[Place],
        data: Moved<'_>,
        spare: &[u8],
    ) -> Result<(), VectorError> {
        self.check_spare(sectors, spare)?;
        self.send(queue, io::WRITE_RAW, VectorControl(0), sectors, data, Moved::ToDrive(spare)).await
    }
    /// Reads sectors as they are in the array, with the bits that have gone wrong, and beside each its share
    /// of its page's spare area.
    ///
    /// # Errors
    /// As [`Drive::write_raw`]. Nothing is corrected, so no sector is unreadable.
    pub async fn read_raw(
        &self,
        queue: QueueId,
        sectors: &[Place],
        data: Moved<'_>,
        spare: &mut [u8],
    ) -> Result<(), VectorError> {
        self.check_spare(sectors, spare)?;
        self.send(queue, io::READ_RAW, VectorControl(0), sectors, data, Moved::FromDrive(spare)).await
    }
    fn check_spare(&self, sectors: &[Place], spare: &[u8]) -> Result<(), DriverError> {
        let bytes = self.raw_spare_bytes().ok_or(DriverError::Argument("the drive has no raw vectors"))?;
        match spare.len() == bytes * sectors.len() {
            true => Ok(()),
            false => Err(DriverError::Argument("each sector has its share of the spare area")),
        }
    }

    /// Copies sectors with their metadata within the drive, on a drive of 2.0: by the rules of a write
    /// where they go. If sources can't be read, the places that failed are theirs, otherwise those of the
    /// destinations.
    ///
    /// # Errors
    /// When the drive refuses, or some sectors can't be read or written; [`DriverError::Argument`] on a
    /// drive of 1.2, or for lists of different lengths.
    pub async fn copy(
        &self,
        queue: QueueId,
        sources: &[Place],
        destinations: &[Place],
    ) -> Result<(), VectorError> {
        if let Format::Physical(_) = self.format {
            return Err(DriverError::Argument("a drive of 1.2 has no copies").into());
        }
        let (mut from, mut to) = ([0; ADDRESSES_MAX], [0; ADDRESSES_MAX]);
        let from = self.addresses(sources, &mut from)?;
        let to = self.addresses(destinations, &mut to)?;
        let end = self.driver.send_copy(queue, v2::COPY, from, to).await?;
        let is_written = [v2::status::WRITE_NEXT_UNIT, v2::status::CLOSED_EARLY];
        let written = is_written.iter().any(|status| end.status.is(*status));
        ended(end, if written { destinations } else { sources })
    }

    async fn send(
        &self,
        queue: QueueId,
        opcode: u8,
        control: VectorControl,
        places: &[Place],
        data: Moved<'_>,
        metadata: Moved<'_>,
    ) -> Result<(), VectorError> {
        let mut list = [0; ADDRESSES_MAX];
        let addresses = self.addresses(places, &mut list)?;
        let control = (control.0 >> 16) as u16;
        let vector = Vector { opcode, control, addresses, data, metadata };
        ended(self.driver.send_vector(queue, vector).await?, places)
    }
    fn addresses<'a>(
        &self,
        places: &[Place],
        list: &'a mut [u64; ADDRESSES_MAX],
    ) -> Result<&'a [u64], DriverError> {
        if !(1..=ADDRESSES_MAX).contains(&places.len()) {
            return Err(DriverError::Argument("a vector has 1 to 64 addresses"));
        }
        list.iter_mut().zip(places).for_each(|(to, place)| *to = self.format.encode(*place));
        Ok(&list[..places.len()])
    }

    /// The states of a LUN's blocks: block `b` of plane `p` has index `b · planes + p`. On a drive of 2.0 the
    /// blocks of a chunk that is offline are bad as if from the factory on, since nothing can be read from
    /// it; those of one that was closed early, and will go offline with its next reset, have gone bad in
    /// use.
    ///
    /// # Errors
    /// When the drive doesn't answer, or with something that is no table.
    pub async fn table(&self, channel: u16, lun: u16) -> Result<Vec<BlockFlags>, OpenError> {
        if let Format::Logical(_) = self.format {
            let chunks = self.chunks(channel, lun).await?;
            let planes = usize::from(self.geometry.planes);
            let states = chunks.iter().map(state_of_blocks);
            return Ok(states.flat_map(|state| core::iter::repeat_n(state, planes)).collect());
        }
        let header = size_of::<TableHeader>();
        let mut bytes = vec![0; header + self.geometry.blocks_per_lun as usize];
        let address = self.format.encode(Place { channel, lun, ..Place::default() });
        self.driver.addressed_admin(admin::GET_TABLE, &[address], 0, &mut bytes).await?;
        let unknown = OpenError::Unknown("it returns something that is no bad-block table");
        if bytes[..table::SIGNATURE.len()] != table::SIGNATURE {
            return Err(unknown);
        }
        let states = bytes[header..].iter().map(|&byte| BlockFlags::from_raw(byte));
        states.collect::<Option<_>>().ok_or(unknown)
    }
    /// Sets the state of blocks, up to 64.
    ///
    /// # Errors
    /// When the drive refuses; [`DriverError::Argument`] on a drive of 2.0, which has no such table.
    pub async fn set_table(&self, blocks: &[Place], state: BlockFlags) -> Result<(), DriverError> {
        if let Format::Logical(_) = self.format {
            return Err(DriverError::Argument("a drive of 2.0 has no bad-block table"));
        }
        let mut list = [0; ADDRESSES_MAX];
        let addresses = self.addresses(blocks, &mut list)?;
        self.driver.addressed_admin(admin::SET_TABLE, addresses, state.raw().into(), &mut []).await?;
        Ok(())
    }
    /// The descriptors of a LUN's chunks, on a drive of 2.0.
    ///
    /// # Errors
    /// When the drive doesn't answer, or with something else; [`DriverError::Argument`] on a drive of 1.2.
    pub async fn chunks(&self, channel: u16, lun: u16) -> Result<Vec<ChunkDescriptor>, OpenError> {
        let Format::Logical(shape) = self.format else {
            return Err(DriverError::Argument("a drive of 1.2 has no chunks").into());
        };
        let one = size_of::<ChunkDescriptor>();
        let first = shape.index_of(Place { channel, lun, ..Place::default() }) as usize * one;
        let mut bytes = vec![0; shape.chunks() as usize * one];
        let most = (VENDOR_BYTES_MAX as usize).min(self.driver.config().transfer_bytes_max as usize);
        for (n, part) in bytes.chunks_mut(most).enumerate() {
            let (offset, dwords) = ((first + n * most) as u64, part.len() as u32 / 4 - 1);
            let dword10 = u32::from(CHUNK_REPORT) | (dwords & 0xffff) << 16;
            let of = [dword10, dwords >> 16, offset as u32, (offset >> 32) as u32, 0, 0];
            self.driver.vendor_admin(AdminOpcode::GetLogPage.raw(), of, part).await?;
        }
        let chunks = bytes.chunks(one).map(|bytes| ChunkDescriptor::read_from_bytes(bytes).ok());
        let known = chunks.map(|chunk| chunk.filter(|chunk| chunk.state().is_some()));
        known.collect::<Option<_>>().ok_or(OpenError::Unknown("a chunk of it has no state, or several"))
    }
}

/// What a vector's end means for these places.
fn ended(end: VectorEnd, places: &[Place]) -> Result<(), VectorError> {
    if end.status.is_success() {
        return Ok(());
    }
    let first = places.get(end.failed.trailing_zeros() as usize).unwrap_or(&places[0]);
    Err(VectorError::Failed { status: end.status, failed: end.failed, first: *first })
}

/// The state of a chunk's blocks. Those of a chunk that can't be written any more, not even after a reset,
/// are bad.
fn state_of_blocks(chunk: &ChunkDescriptor) -> BlockFlags {
    match chunk.state() {
        Some(ChunkFlags::Offline) => BlockFlags::FactoryBad,
        Some(ChunkFlags::Closed) if chunk.written < chunk.blocks => BlockFlags::GrownBad,
        _ => BlockFlags::Free,
    }
}

fn boxed<T: FromBytes>(bytes: &[u8]) -> Box<T> {
    Box::new(T::read_from_bytes(bytes).unwrap_or_else(|_| panic!("both structures have 4,096 bytes")))
}

fn of_identity(identity: &Identity12) -> Result<Described, &'static str> {
    let group = &identity.groups[0];
    if identity.group_count != 1 || group.media_type != 0 {
        return Err("it must have one group of NAND");
    }
    if u32::from(group.sector_bytes.get()) != aster_wire::ocssd::SECTOR_BYTES
        || u32::from(group.metadata_bytes.get()) != aster_wire::ocssd::METADATA_BYTES
    {
        return Err("its sectors must have 4,096 bytes and 16 of metadata");
    }
    let planes = group.planes;
    let geometry = Geometry {
        channels: group.channels.into(),
        ways: group.luns,
        luns: 1,
        planes,
        blocks_per_lun: u32::from(group.blocks.get()) * u32::from(planes),
        pages_per_block: group.pages.get(),
        page_bytes: group.page_bytes.get().into(),
        spare_bytes: 0,
    };
    if !identity.address_format.is_valid() {
        return Err("fields of its addresses overlap");
    }
    let mode = match planes {
        1 => vector::planes::SINGLE,
        2 => vector::planes::DUAL,
        4 => vector::planes::QUAD,
        _ => return Err("it must have 1, 2 or 4 planes"),
    };
    Ok((geometry, Format::Physical(identity.address_format), VectorControl(0).with_plane_mode(mode)))
}

/// The array of a drive of 2.0 whose smallest write is a page, and whose best one a page in each plane.
fn of_geometry(of: &Geometry20) -> Result<Described, &'static str> {
    let (page, row) = (of.write_min.get(), of.write_opt.get());
    let whole = |all: u32, part: u32| (part > 0 && all.is_multiple_of(part)).then(|| all / part);
    let planes = whole(row, page).ok_or("its best write must be whole smallest ones")?;
    let pages = whole(of.chunk_blocks.get(), row).ok_or("its chunks must be whole best writes")?;
    if of.cached_blocks.get() != 0 {
        return Err("what has been written must be readable at once");
    }
    // Bounds within which no number of the array overflows.
    let fits = (1..=64).contains(&of.groups.get())
        && (1..=128).contains(&of.units.get())
        && (1..=1 << 18).contains(&of.chunks.get())
        && [1, 2, 4, 8].contains(&planes)
        && (1..=4096).contains(&pages)
        && (1..=15).contains(&page);
    if !fits {
        return Err("its array is larger than any that is known");
    }
    let geometry = Geometry {
        channels: of.groups.get(),
        ways: of.units.get() as u8,
        luns: 1,
        planes: planes as u8,
        blocks_per_lun: of.chunks.get() * planes,
        pages_per_block: pages as u16,
        page_bytes: page * aster_wire::ocssd::SECTOR_BYTES,
        spare_bytes: 0,
    };
    let shape = ChunkShape::of(&geometry);
    if shape.format() != of.format {
        return Err("fields of its addresses must be as short as their values allow");
    }
    Ok((geometry, Format::Logical(shape), VectorControl(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::FromZeros;
    use zerocopy::little_endian::{U16, U32};

    fn geometry20() -> Geometry20 {
        let mut of = Geometry20::new_zeroed();
        of.major = v2::VERSION;
        (of.groups, of.units) = (U16::new(8), U16::new(8));
        (of.chunks, of.chunk_blocks) = (U32::new(4096), U32::new(1024));
        (of.write_min, of.write_opt) = (U32::new(4), U32::new(8));
        of.format = ChunkShape::of(&BOARD).format();
        of
    }
    /// The Cosmos+ board at full size (P25).
    const BOARD: Geometry = Geometry {
        channels: 8,
        ways: 8,
        luns: 1,
        planes: 2,
        blocks_per_lun: 8192,
        pages_per_block: 128,
        page_bytes: 16_384,
        spare_bytes: 0,
    };

    #[test]
    fn the_array_of_a_drive_of_chunks_follows_from_its_best_writes() {
        let (geometry, format, _) = of_geometry(&geometry20()).unwrap();
        assert_eq!((geometry, format), (BOARD, Format::Logical(ChunkShape::of(&BOARD))));
    }

    #[test]
    fn chunks_that_no_reset_makes_writable_are_bad() {
        let of = |state, written| state_of_blocks(&ChunkDescriptor::sequential(state, 0, 0, 16, written));
        assert_eq!(of(ChunkFlags::Offline, 0), BlockFlags::FactoryBad);
        assert_eq!(of(ChunkFlags::Closed, 15), BlockFlags::GrownBad);
        assert_eq!(of(ChunkFlags::Closed, 16), BlockFlags::Free);
        assert_eq!(of(ChunkFlags::Open, 15), BlockFlags::Free);
        assert_eq!(of(ChunkFlags::Free, 0), BlockFlags::Free);
    }

    #[test]
    fn what_the_library_does_not_know_is_refused_in_words() {
        type Change = fn(&mut Geometry20);
        let changes: [(Change, &str); 6] = [
            (|of| of.write_opt = U32::new(6), "whole smallest"),
            (|of| of.write_min = U32::ZERO, "whole smallest"),
            (|of| of.chunk_blocks = U32::new(1028), "whole best"),
            (|of| of.cached_blocks = U32::new(8), "readable at once"),
            (|of| of.chunks = U32::new(u32::MAX), "larger than any"),
            (|of| of.groups = U16::new(3), "as short as"),
        ];
        for (change, reason) in changes {
            let mut of = geometry20();
            change(&mut of);
            let error = of_geometry(&of).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }
}
