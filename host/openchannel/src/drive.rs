//! A drive that has been brought up.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_driver::{Bar, Driver, DriverError, Moved, QueueId, Status, Vector};
use aster_units::Geometry;
use aster_wire::ocssd::{
    ADDRESSES_MAX, AddressFormat, BlockFlags, Identity12, Place, TableHeader, VectorControl, admin, identity,
    io, status, table, vector,
};
use zerocopy::FromBytes;

/// Why a drive can't be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OpenError {
    /// The command failed.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// It isn't a drive that this library knows.
    #[error("the drive is no Open-Channel SSD 1.2 that can be used: {0}")]
    Unknown(&'static str),
}

/// Why a vector was not carried out, or not in whole.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum VectorError {
    /// The command did not end.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// It failed.
    #[error("{status} at {first}")]
    Failed {
        /// The command's status.
        status: Status,
        /// A bit for each address that failed, the first lowest. None if the vector was refused.
        failed: u64,
        /// The first place that failed, or the vector's first.
        first: Place,
    },
}

/// An open-channel drive of version 1.2.
pub struct Drive<B: Bar> {
    driver: Rc<Driver<B>>,
    identity: Box<Identity12>,
    geometry: Geometry,
    /// Erases with one address per LUN mean all planes.
    erase_control: VectorControl,
}

impl<B: Bar + 'static> Drive<B> {
    /// Identifies the drive that `driver` has brought up.
    ///
    /// # Errors
    /// When it doesn't answer, or isn't a drive that this library knows.
    pub async fn open(driver: &Rc<Driver<B>>) -> Result<Self, OpenError> {
        let mut bytes = vec![0; size_of::<Identity12>()];
        driver.vendor_admin(admin::IDENTITY, [0; 6], &mut bytes).await?;
        let identity = Identity12::read_from_bytes(&bytes).expect("the size is that of the type");
        let identity = Box::new(identity);
        let unknown = |what| Err(OpenError::Unknown(what));
        let group = &identity.groups[0];
        if identity.version != identity::VERSION {
            return unknown("its version isn't 1.2");
        }
        if identity.group_count != 1 || group.media_type != 0 {
            return unknown("it must have one group of NAND");
        }
        if u32::from(group.sector_bytes.get()) != aster_wire::ocssd::SECTOR_BYTES
            || u32::from(group.metadata_bytes.get()) != aster_wire::ocssd::METADATA_BYTES
        {
            return unknown("its sectors must have 4,096 bytes and 16 of metadata");
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
            return unknown("fields of its addresses overlap");
        }
        let mode = match planes {
            1 => vector::planes::SINGLE,
            2 => vector::planes::DUAL,
            4 => vector::planes::QUAD,
            _ => return unknown("it must have 1, 2 or 4 planes"),
        };
        Ok(Drive {
            driver: Rc::clone(driver),
            identity,
            geometry,
            erase_control: VectorControl(0).with_plane_mode(mode),
        })
    }

    /// All that it says of itself.
    pub fn identity(&self) -> &Identity12 {
        &self.identity
    }
    /// Its array. The bytes of spare areas are the drive's own business, and 0 here.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }
    /// How it writes addresses.
    pub fn format(&self) -> &AddressFormat {
        &self.identity.address_format
    }

    /// Erases the blocks in all planes of a LUN that `block` names. Its plane must be 0; page and sector
    /// don't count.
    ///
    /// # Errors
    /// When the drive refuses, or a block can't be erased.
    pub async fn erase(&self, queue: QueueId, block: Place) -> Result<(), VectorError> {
        let (data, metadata) = (Moved::Nothing, Moved::Nothing);
        self.send(queue, io::ERASE, self.erase_control, &[block], data, metadata).await
    }
    /// Erases blocks, each in its own plane. Pages and sectors don't count.
    ///
    /// # Errors
    /// When the drive refuses, or blocks can't be erased.
    pub async fn erase_blocks(&self, queue: QueueId, blocks: &[Place]) -> Result<(), VectorError> {
        self.send(queue, io::ERASE, VectorControl(0), blocks, Moved::Nothing, Moved::Nothing).await
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
    /// ([`HIGH_ECC`](aster_wire::ocssd::status::HIGH_ECC)), but all have been read.
    pub async fn read(
        &self,
        queue: QueueId,
        sectors: &[Place],
        data: Moved<'_>,
        metadata: &mut [u8],
    ) -> Result<(), VectorError> {
        self.send(queue, io::READ, VectorControl(0), sectors, data, Moved::FromDrive(metadata)).await
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
        let ended = self.driver.send_vector(queue, vector).await?;
        if ended.status.is_success() {
            return Ok(());
        }
        let first = places.get(ended.failed.trailing_zeros() as usize).unwrap_or(&places[0]);
        Err(VectorError::Failed { status: ended.status, failed: ended.failed, first: *first })
    }
    fn addresses<'a>(
        &self,
        places: &[Place],
        list: &'a mut [u64; ADDRESSES_MAX],
    ) -> Result<&'a [u64], DriverError> {
        if !(1..=ADDRESSES_MAX).contains(&places.len()) {
            return Err(DriverError::Argument("a vector has 1 to 64 addresses"));
        }
        list.iter_mut().zip(places).for_each(|(to, place)| *to = self.format().encode(*place));
        Ok(&list[..places.len()])
    }

    /// The states of a LUN's blocks: block `b` of plane `p` has index `b · planes + p`.
    ///
    /// # Errors
    /// When the drive doesn't answer, or with something that is no table.
    pub async fn table(&self, channel: u16, lun: u16) -> Result<Vec<BlockFlags>, OpenError> {
        let header = size_of::<TableHeader>();
        let mut bytes = vec![0; header + self.geometry.blocks_per_lun as usize];
        let address = self.format().encode(Place { channel, lun, ..Place::default() });
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
    /// When the drive refuses.
    pub async fn set_table(&self, blocks: &[Place], state: BlockFlags) -> Result<(), DriverError> {
        let mut list = [0; ADDRESSES_MAX];
        let addresses = self.addresses(blocks, &mut list)?;
        self.driver.addressed_admin(admin::SET_TABLE, addresses, state.raw().into(), &mut []).await?;
        Ok(())
    }
}

impl VectorError {
    /// Whether all was read, but should be moved.
    pub fn is_high_ecc(&self) -> bool {
        matches!(self, VectorError::Failed { status, .. } if status.is(status::HIGH_ECC))
    }
    /// Whether nothing was done since a block is bad, or was not to be written so.
    pub fn is_block_refused(&self) -> bool {
        let of_block = |of: &Status| of.is(status::PROTECTED_BLOCK) || of.is(status::OUT_OF_ORDER);
        matches!(self, VectorError::Failed { status, .. } if of_block(status))
    }
    /// Whether a sector's block was erased and the sector not written since.
    pub fn is_empty_page(&self) -> bool {
        matches!(self, VectorError::Failed { status, .. } if status.is(status::EMPTY_PAGE))
    }
}
