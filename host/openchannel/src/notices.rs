//! Notifications of a drive of 2.0: what it tells of sectors without being asked (P29).

use crate::drive::Drive;
use crate::error::OpenError;
use crate::format::Format;
use alloc::vec;
use alloc::vec::Vec;
use aster_driver::{Bar, DriverError};
use aster_wire::nvme::AdminOpcode;
use aster_wire::nvme::admin::LogDword10;
use aster_wire::nvme::features::AsyncEventType;
use aster_wire::ocssd::Place;
use aster_wire::ocssd::v2::{NOTICES_LOG, Notice, NoticeState};
use zerocopy::FromBytes;

/// Notifications that are read with one command.
const ENTRIES: usize = 16;

/// What a drive tells of consecutive sectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Notification {
    /// Its number, from 1 on. The drive keeps 64 that nobody has read: a gap says that others were lost.
    pub number: u64,
    /// The first sector.
    pub first: Place,
    /// How many sectors.
    pub sectors: u16,
    /// What is the matter with them.
    pub state: NoticeState,
}

impl<B: Bar + 'static> Drive<B> {
    /// Waits until the drive of 2.0 has [notifications](Drive::notifications), however long it takes. Reads
    /// nothing. Events of other kinds that come meanwhile are passed over.
    ///
    /// # Errors
    /// Those of an Asynchronous Event Request; [`DriverError::Argument`] on a drive of 1.2.
    pub async fn notified(&self) -> Result<(), DriverError> {
        self.must_notify()?;
        loop {
            let event = self.driver().async_event().await?;
            if event.kind() == AsyncEventType::Vendor.raw() && event.log_id() == NOTICES_LOG {
                return Ok(());
            }
        }
    }
    /// Reads the notifications that nobody has read yet, the oldest first. Sectors that the host then leaves
    /// as they are, are told of again when they are read.
    ///
    /// # Errors
    /// When the drive doesn't answer, or with something else; [`DriverError::Argument`] on a drive of 1.2.
    pub async fn notifications(&self) -> Result<Vec<Notification>, OpenError> {
        self.must_notify()?;
        let mut all = Vec::new();
        loop {
            let mut bytes = vec![0; ENTRIES * size_of::<Notice>()];
            let dwords = (bytes.len() / 4 - 1) as u16;
            let dword10 = LogDword10(0).with_log_id(NOTICES_LOG).with_dwords_lower(dwords).0;
            let of = [dword10, 0, 0, 0, 0, 0];
            self.driver().vendor_admin(AdminOpcode::GetLogPage.raw(), of, &mut bytes).await?;
            for entry in bytes.chunks(size_of::<Notice>()) {
                let Ok(notice) = Notice::read_from_bytes(entry) else { unreachable!("a whole entry") };
                if notice.number.get() == 0 {
                    return Ok(all);
                }
                let first = self.format().decode(notice.address.get(), self.geometry());
                let first = first.ok_or(OpenError::Unknown("it notifies of a sector that it hasn't"))?;
                let (number, sectors) = (notice.number.get(), notice.blocks.get());
                all.push(Notification { number, first, sectors, state: NoticeState(notice.state.get()) });
            }
        }
    }
    fn must_notify(&self) -> Result<(), DriverError> {
        match self.format() {
            Format::Logical(_) => Ok(()),
            Format::Physical(_) => Err(DriverError::Argument("a drive of 1.2 has no notifications")),
        }
    }
}
