//! Commands of open-channel drives that the driver has no names for: vectors of flash units, and
//! vendor-specific admin commands (Open-Channel SSD 1.2).

use crate::bar::Bar;
use crate::buffers::{Data, DataMut};
use crate::config::VENDOR_PAGES;
use crate::driver::Driver;
use crate::error::DriverError;
use crate::ids::{QueueId, SlotId};
use crate::memory::HOST_PAGE_BYTES;
use crate::queue::Following;
use aster_units::SECTOR_BYTES;
use aster_wire::nvme::{Sqe, Status};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U32, U64};

/// Most units that one vector names.
pub const VECTOR_MAX: usize = 64;
/// Where a slot's metadata lie in the page that begins with its addresses.
const METADATA_AT: u64 = 2048;

/// The data or metadata that a vector moves.
#[derive(Debug)]
pub enum Moved<'a> {
    /// Nothing.
    Nothing,
    /// Bytes for the drive.
    ToDrive(&'a [u8]),
    /// Bytes from the drive.
    FromDrive(&'a mut [u8]),
    /// Little-endian tags for a drive that keeps fingerprints, one per 4 KiB sector. Data only.
    TagsToDrive(&'a [[u8; 8]]),
    /// Tags from such a drive. Data only.
    TagsFromDrive(&'a mut [[u8; 8]]),
}

impl Moved<'_> {
    /// Bytes on the link.
    fn bytes(&self) -> usize {
        match self {
            Moved::Nothing => 0,
            Moved::ToDrive(bytes) => bytes.len(),
            Moved::FromDrive(bytes) => bytes.len(),
            Moved::TagsToDrive(tags) => tags.len() * SECTOR_BYTES,
            Moved::TagsFromDrive(tags) => tags.len() * SECTOR_BYTES,
        }
    }
    fn is_tags(&self) -> bool {
        matches!(self, Moved::TagsToDrive(_) | Moved::TagsFromDrive(_))
    }
    /// Puts what goes to the drive into a slot's buffer, which has as many bytes or tags.
    fn put(&self, to: DataMut<'_>) {
        match (self, to) {
            (Moved::ToDrive(from), DataMut::Bytes(to)) => to.copy_from_slice(from),
            (Moved::TagsToDrive(from), DataMut::Tags(to)) => to.copy_from_slice(from),
            _ => {}
        }
    }
    /// Takes what comes from the drive out of a slot's buffer.
    fn take(self, from: Data<'_>) {
        match (self, from) {
            (Moved::FromDrive(to), Data::Bytes(from)) => to.copy_from_slice(from),
            (Moved::TagsFromDrive(to), Data::Tags(from)) => to.copy_from_slice(from),
            _ => {}
        }
    }
}

/// A vector command.
#[derive(Debug)]
pub struct Vector<'a> {
    /// Its opcode.
    pub opcode: u8,
    /// Bits 31:16 of dword 12.
    pub control: u16,
    /// 1 to [`VECTOR_MAX`] addresses. The command holds a single one itself; several are in a list (dwords
    /// 10 and 11; the low half of dword 12 is their zero-based number).
    pub addresses: &'a [u64],
    /// The data of all units.
    pub data: Moved<'a>,
    /// The metadata of all units. With [`Moved::Nothing`] the command has no metadata pointer.
    pub metadata: Moved<'a>,
}

/// How a vector ended. Neither a failed status nor a failed unit is an error of the driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VectorEnd {
    /// The command's status.
    pub status: Status,
    /// Dwords 0 and 1 of its completion: a bit for each address that failed, the first lowest.
    pub failed: u64,
}

impl<B: Bar + 'static> Driver<B> {
    /// Sends a vector and waits for its end.
    ///
    /// # Errors
    /// As for any command that doesn't end; [`DriverError::Argument`] for another number of addresses,
    /// more data than a slot's buffer, or more metadata than half a page, or tags for a drive with bytes
    /// and the other way round.
    pub async fn send_vector(&self, queue: QueueId, vector: Vector<'_>) -> Result<VectorEnd, DriverError> {
        self.send_changed_vector(queue, vector, |_| {}).await
    }

    /// As [`Driver::send_vector`], with an entry that `change` has changed: for commands with fields that
    /// the driver has no names for, and for hosts that name wrong memory. The command's identifier must stay.
    ///
    /// # Errors
    /// As [`Driver::send_vector`].
    pub async fn send_changed_vector(
        &self,
        queue: QueueId,
        vector: Vector<'_>,
        change: impl FnOnce(&mut Sqe),
    ) -> Result<VectorEnd, DriverError> {
        self.check_queue(queue)?;
        self.check_vector(&vector)?;
        let slot = self.await_slot(queue).await;
        let data_bytes = vector.data.bytes() as u32;
        if data_bytes > 0 {
            self.data_mut(queue, slot, data_bytes, |to| vector.data.put(to));
        }
        self.submit_vector(queue, slot, &vector, change);
        self.ring(queue);
        let ended = self.await_completion(queue, slot).await?;
        if data_bytes > 0 {
            self.data(queue, slot, data_bytes, |from| vector.data.take(from));
        }
        if let Moved::FromDrive(into) = vector.metadata {
            let memory = self.memory().borrow();
            let from = memory.bytes(self.page_of(queue, slot) + METADATA_AT, into.len());
            into.copy_from_slice(from.expect("the page was allocated"));
        }
        self.release_slot(queue, slot);
        Ok(VectorEnd { status: ended.status, failed: ended.result })
    }

    /// Sends a copy within the drive (Open-Channel SSD 2.0) and waits for its end. Its sources are in
    /// dwords 10 and 11, its destinations, as many, in dwords 14 and 15.
    ///
    /// # Errors
    /// As [`Driver::send_vector`].
    pub async fn send_copy(
        &self,
        queue: QueueId,
        opcode: u8,
        sources: &[u64],
        destinations: &[u64],
    ) -> Result<VectorEnd, DriverError> {
        self.check_queue(queue)?;
        if !(1..=VECTOR_MAX).contains(&sources.len()) || sources.len() != destinations.len() {
            return Err(DriverError::Argument("a copy has 1 to 64 sources, and as many destinations"));
        }
        let slot = self.await_slot(queue).await;
        let page = self.page_of(queue, slot);
        let second = page + (VECTOR_MAX * size_of::<u64>()) as u64;
        let mut sqe = Sqe::new(opcode, self.namespace().id).with_cid(slot.0);
        set_addresses(&mut sqe, sources, page, 0);
        let to = if destinations.len() == 1 { destinations[0] } else { second };
        sqe.dwords_10_15[4] = U32::new(to as u32);
        sqe.dwords_10_15[5] = U32::new((to >> 32) as u32);
        {
            let mut memory = self.memory().borrow_mut();
            for (at, list) in [(page, sources), (second, destinations)] {
                for (at, address) in (at..).step_by(size_of::<u64>()).zip(list) {
                    let entry = memory.bytes_mut(at, size_of::<u64>()).expect("the page was allocated");
                    entry.copy_from_slice(&address.to_le_bytes());
                }
            }
            let mut pairs = self.pairs.borrow_mut();
            let following = Following { slba: None, awaited: true, endless: false };
            pairs[queue.index()].push(slot, &sqe, following, self.exec().now(), &mut memory);
        }
        self.ring(queue);
        let ended = self.await_completion(queue, slot).await?;
        self.release_slot(queue, slot);
        Ok(VectorEnd { status: ended.status, failed: ended.result })
    }

    fn check_vector(&self, vector: &Vector<'_>) -> Result<(), DriverError> {
        let Vector { addresses, data, metadata, .. } = vector;
        if !(1..=VECTOR_MAX).contains(&addresses.len()) {
            return Err(DriverError::Argument("a vector has 1 to 64 addresses"));
        }
        let fits = data.bytes() <= self.config().transfer_bytes_max as usize
            && metadata.bytes() as u64 <= HOST_PAGE_BYTES - METADATA_AT;
        if !fits {
            return Err(DriverError::Argument(
                "a vector's data or metadata are more than a slot has room for",
            ));
        }
        let keeps_tags = self.config().content == aster_units::Content::Fingerprint;
        if data.bytes() > 0 && data.is_tags() != keeps_tags || metadata.is_tags() {
            return Err(DriverError::Argument(
                "a drive that keeps fingerprints moves data as tags, any other as bytes, and metadata are \
                 always bytes",
            ));
        }
        Ok(())
    }

    fn page_of(&self, queue: QueueId, slot: SlotId) -> u64 {
        let pairs = self.pairs.borrow();
        pairs[queue.index()].buffers.as_ref().expect("an I/O queue has data buffers").ranges_of(slot.0)
    }

    fn submit_vector(
        &self,
        queue: QueueId,
        slot: SlotId,
        vector: &Vector<'_>,
        change: impl FnOnce(&mut Sqe),
    ) {
        let page = self.page_of(queue, slot);
        let mut memory = self.memory().borrow_mut();
        let put = |at: u64, bytes: &[u8], memory: &mut crate::memory::GuestMemory| {
            memory.bytes_mut(at, bytes.len()).expect("the page was allocated").copy_from_slice(bytes);
        };
        for (at, address) in (page..).step_by(size_of::<u64>()).zip(vector.addresses) {
            put(at, &address.to_le_bytes(), &mut memory);
        }
        if let Moved::ToDrive(bytes) = vector.metadata {
            put(page + METADATA_AT, bytes, &mut memory);
        }
        let mut pairs = self.pairs.borrow_mut();
        let pair = &mut pairs[queue.index()];
        let buffers = pair.buffers.as_ref().expect("an I/O queue has data buffers");
        let (prp1, prp2) = buffers.prps(slot.0, vector.data.bytes() as u64, &mut memory);
        let mut sqe = Sqe::new(vector.opcode, self.namespace().id).with_cid(slot.0);
        (sqe.prp1, sqe.prp2) = (prp1.into(), prp2.into());
        if vector.metadata.bytes() > 0 {
            sqe.mptr = (page + METADATA_AT).into();
        }
        set_addresses(&mut sqe, vector.addresses, page, vector.control);
        change(&mut sqe);
        let following = Following { slba: None, awaited: true, endless: false };
        pair.push(slot, &sqe, following, self.exec().now(), &mut memory);
    }

    /// Sends a vendor-specific admin command that returns at most [`VENDOR_BYTES_MAX`] bytes, and waits for
    /// it. `dwords` are 10 to 15. Returns dword 0 of the completion.
    ///
    /// # Errors
    /// Those of the command; [`DriverError::Argument`] for more bytes.
    pub async fn vendor_admin(
        &self,
        opcode: u8,
        dwords: [u32; 6],
        into: &mut [u8],
    ) -> Result<u32, DriverError> {
        self.vendor_command(opcode, into, |sqe, _| sqe.dwords_10_15 = dwords.map(U32::new)).await
    }
    /// As [`Driver::vendor_admin`], of a command that names addresses as a vector does. `control` is the
    /// upper half of dword 12.
    ///
    /// # Errors
    /// As [`Driver::vendor_admin`]; [`DriverError::Argument`] for another number of addresses.
    pub async fn addressed_admin(
        &self,
        opcode: u8,
        addresses: &[u64],
        control: u16,
        into: &mut [u8],
    ) -> Result<u32, DriverError> {
        if !(1..=VECTOR_MAX).contains(&addresses.len()) {
            return Err(DriverError::Argument("a vector has 1 to 64 addresses"));
        }
        self.vendor_command(opcode, into, |sqe, page| {
            let mut list = [U64::ZERO; VECTOR_MAX];
            list.iter_mut().zip(addresses).for_each(|(to, from)| *to = U64::new(*from));
            self.page_mut(page, size_of_val(&list), |bytes| bytes.copy_from_slice(list.as_bytes()));
            set_addresses(sqe, addresses, page, control);
        })
        .await
    }

    /// Sends an admin command that `finish` completes, given a page of its own for lists. Such commands
    /// take turns, since they share the memory for their data.
    async fn vendor_command(
        &self,
        opcode: u8,
        into: &mut [u8],
        finish: impl FnOnce(&mut Sqe, u64),
    ) -> Result<u32, DriverError> {
        if into.len() as u64 > VENDOR_BYTES_MAX {
            return Err(DriverError::Argument("a vendor's admin command brings 64 KiB at most"));
        }
        self.vendor_turn.push(self.exec(), ()).await;
        let result = self.in_turn(opcode, into, finish).await;
        self.vendor_turn.try_pop(self.exec());
        result
    }
    async fn in_turn(
        &self,
        opcode: u8,
        into: &mut [u8],
        finish: impl FnOnce(&mut Sqe, u64),
    ) -> Result<u32, DriverError> {
        let slot = self.await_slot(QueueId::ADMIN).await;
        let mut sqe = Sqe::new(opcode, self.namespace().id).with_cid(slot.0);
        let data = self.vendor_area;
        let pages = (into.len() as u64).div_ceil(HOST_PAGE_BYTES);
        if pages > 0 {
            sqe.prp1 = data.into();
        }
        let list = data + VENDOR_PAGES * HOST_PAGE_BYTES;
        match pages {
            0 | 1 => {}
            2 => sqe.prp2 = (data + HOST_PAGE_BYTES).into(),
            _ => {
                sqe.prp2 = list.into();
                let mut entries = [U64::ZERO; VENDOR_PAGES as usize - 1];
                entries.iter_mut().zip(1..).for_each(|(to, n)| *to = U64::new(data + n * HOST_PAGE_BYTES));
                self.page_mut(list, size_of_val(&entries), |bytes| bytes.copy_from_slice(entries.as_bytes()));
            }
        }
        finish(&mut sqe, self.admin_page(slot));
        let result = self.admin_in(slot, sqe, false).await?;
        self.page_mut(data, into.len(), |bytes| into.copy_from_slice(bytes));
        self.release_slot(QueueId::ADMIN, slot);
        Ok(result)
    }
}

/// The most bytes that a vendor-specific admin command brings.
pub const VENDOR_BYTES_MAX: u64 = VENDOR_PAGES * HOST_PAGE_BYTES;

/// Names addresses in dwords 10 to 12: a single one itself, or the list at `list`.
fn set_addresses(sqe: &mut Sqe, addresses: &[u64], list: u64, control: u16) {
    let first = if addresses.len() == 1 { addresses[0] } else { list };
    sqe.dwords_10_15[0] = U32::new(first as u32);
    sqe.dwords_10_15[1] = U32::new((first >> 32) as u32);
    sqe.dwords_10_15[2] = U32::new(u32::from(control) << 16 | (addresses.len() as u32 - 1));
}
