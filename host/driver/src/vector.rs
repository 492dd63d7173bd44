//! Commands of open-channel drives that the driver has no names for: vectors of flash units, and
//! vendor-specific admin commands (Open-Channel SSD 1.2).

use crate::bar::Bar;
use crate::buffers::{Data, DataMut};
use crate::driver::Driver;
use crate::error::DriverError;
use crate::ids::{QueueId, SlotId};
use crate::memory::HOST_PAGE_BYTES;
use crate::queue::Following;
use aster_wire::nvme::{Sqe, Status};
use zerocopy::little_endian::U32;

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
}

impl Moved<'_> {
    fn bytes(&self) -> usize {
        match self {
            Moved::Nothing => 0,
            Moved::ToDrive(bytes) => bytes.len(),
            Moved::FromDrive(bytes) => bytes.len(),
        }
    }
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
    /// Sends a vector over `addresses`, 1 to [`VECTOR_MAX`], and waits for its end. The command holds a
    /// single address itself; several are in a list (dwords 10 and 11; dword 12 is their zero-based
    /// count).
    ///
    /// # Errors
    /// As for any command that doesn't end; [`DriverError::Argument`] for another number of addresses,
    /// more data than a slot's buffer, or more metadata than half a page.
    pub async fn send_vector(
        &self,
        queue: QueueId,
        opcode: u8,
        addresses: &[u64],
        data: Moved<'_>,
        metadata: Moved<'_>,
    ) -> Result<VectorEnd, DriverError> {
        self.check_queue(queue)?;
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
        let slot = self.await_slot(queue).await;
        if let Moved::ToDrive(bytes) = data {
            self.data_mut(queue, slot, bytes.len() as u32, |to| {
                if let DataMut::Bytes(to) = to {
                    to.copy_from_slice(bytes);
                }
            });
        }
        self.submit_vector(queue, slot, opcode, addresses, data.bytes() as u64, &metadata);
        self.ring(queue);
        let ended = self.await_completion(queue, slot).await?;
        if let Moved::FromDrive(into) = data {
            self.data(queue, slot, into.len() as u32, |from| {
                if let Data::Bytes(from) = from {
                    into.copy_from_slice(from);
                }
            });
        }
        if let Moved::FromDrive(into) = metadata {
            let memory = self.memory().borrow();
            let from = memory.bytes(self.page_of(queue, slot) + METADATA_AT, into.len());
            into.copy_from_slice(from.expect("the page was allocated"));
        }
        self.release_slot(queue, slot);
        Ok(VectorEnd { status: ended.status, failed: ended.result })
    }

    fn page_of(&self, queue: QueueId, slot: SlotId) -> u64 {
        let pairs = self.pairs.borrow();
        pairs[queue.index()].buffers.as_ref().expect("an I/O queue has data buffers").ranges_of(slot.0)
    }

    fn submit_vector(
        &self,
        queue: QueueId,
        slot: SlotId,
        opcode: u8,
        addresses: &[u64],
        data_bytes: u64,
        metadata: &Moved<'_>,
    ) {
        let page = self.page_of(queue, slot);
        let mut memory = self.memory().borrow_mut();
        let put = |at: u64, bytes: &[u8], memory: &mut crate::memory::GuestMemory| {
            memory.bytes_mut(at, bytes.len()).expect("the page was allocated").copy_from_slice(bytes);
        };
        for (at, address) in (page..).step_by(size_of::<u64>()).zip(addresses) {
            put(at, &address.to_le_bytes(), &mut memory);
        }
        if let Moved::ToDrive(bytes) = metadata {
            put(page + METADATA_AT, bytes, &mut memory);
        }
        let mut pairs = self.pairs.borrow_mut();
        let pair = &mut pairs[queue.index()];
        let buffers = pair.buffers.as_ref().expect("an I/O queue has data buffers");
        let (prp1, prp2) = buffers.prps(slot.0, data_bytes, &mut memory);
        let mut sqe = Sqe::new(opcode, self.namespace().id).with_cid(slot.0);
        (sqe.prp1, sqe.prp2) = (prp1.into(), prp2.into());
        if metadata.bytes() > 0 {
            sqe.mptr = (page + METADATA_AT).into();
        }
        let first = if addresses.len() == 1 { addresses[0] } else { page };
        sqe.dwords_10_15[0] = U32::new(first as u32);
        sqe.dwords_10_15[1] = U32::new((first >> 32) as u32);
        sqe.dwords_10_15[2] = U32::new(addresses.len() as u32 - 1);
        let following = Following { slba: None, awaited: true, endless: false };
        pair.push(slot, &sqe, following, self.exec().now(), &mut memory);
    }

    /// Sends a vendor-specific admin command that returns at most one page, and waits for it. `dwords` are
    /// 10 to 15. Returns dword 0 of the completion.
    ///
    /// # Errors
    /// Those of the command; [`DriverError::Argument`] for more than a page.
    pub async fn vendor_admin(
        &self,
        opcode: u8,
        dwords: [u32; 6],
        into: &mut [u8],
    ) -> Result<u32, DriverError> {
        if into.len() as u64 > HOST_PAGE_BYTES {
            return Err(DriverError::Argument("a vendor's admin command brings a page at most"));
        }
        let slot = self.await_slot(QueueId::ADMIN).await;
        let page = self.admin_page(slot);
        let mut sqe = Sqe::new(opcode, self.namespace().id).with_cid(slot.0);
        sqe.prp1 = page.into();
        sqe.dwords_10_15 = dwords.map(U32::new);
        let result = self.admin_in(slot, sqe, false).await?;
        self.page_mut(page, into.len(), |bytes| into.copy_from_slice(bytes));
        self.release_slot(QueueId::ADMIN, slot);
        Ok(result)
    }
}
