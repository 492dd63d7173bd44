//! Admin commands (NVMe 1.4 §5), each awaited by a task.

use crate::bar::Bar;
use crate::driver::Driver;
use crate::error::DriverError;
use crate::ids::{QueueId, SlotId};
use crate::memory::HOST_PAGE_BYTES;
use crate::queue::Following;
use alloc::vec;
use alloc::vec::Vec;
use aster_wire::nvme::Sqe;
use aster_wire::nvme::admin::{
    AbortDword10, AdminCommand, FormatDword10, GetFeatures, GetFeaturesDword10, GetLogPage, Identify,
    IdentifyDword10, SecureErase, SetFeatures, SetFeaturesDword10,
};
use aster_wire::nvme::directive::{
    Directive, DirectiveType, STREAM_PARAMETERS_BYTES, StreamParameters, operation,
};
use aster_wire::nvme::features::{AsyncEvent, FeatureId, FeatureSelect};
use aster_wire::nvme::identify::{Cns, IDENTIFY_BYTES};
use aster_wire::nvme::log::{ErrorEntry, HealthLog, LogId};
use zerocopy::{FromBytes, IntoBytes};

const PAGE: usize = HOST_PAGE_BYTES as usize;

/// An admin command's data; at most one page.
enum Transfer<'a> {
    None,
    ToHost(&'a mut [u8]),
    FromHost(&'a [u8]),
}

impl<B: Bar + 'static> Driver<B> {
    pub(crate) fn admin_page(&self, slot: SlotId) -> u64 {
        self.admin_pages + u64::from(slot.0) * HOST_PAGE_BYTES
    }

    /// Sends an admin command with the given PRP1 and waits for it. Returns dword 0 of the completion.
    pub(crate) async fn admin_at(&self, command: AdminCommand, prp1: u64) -> Result<u32, DriverError> {
        let slot = self.await_slot(QueueId::ADMIN).await;
        let result = self.admin_in(slot, command.to_sqe(0, slot.0, prp1, 0), false).await?;
        self.release_slot(QueueId::ADMIN, slot);
        Ok(result)
    }

    async fn admin(
        &self,
        command: AdminCommand,
        nsid: u32,
        transfer: Transfer<'_>,
    ) -> Result<u32, DriverError> {
        let slot = self.await_slot(QueueId::ADMIN).await;
        let page = self.admin_page(slot);
        let prp1 = match &transfer {
            Transfer::None => 0,
            Transfer::ToHost(into) => {
                self.page_mut(page, into.len(), |bytes| bytes.fill(0));
                page
            }
            Transfer::FromHost(from) => {
                self.page_mut(page, from.len(), |bytes| bytes.copy_from_slice(from));
                page
            }
        };
        let result = self.admin_in(slot, command.to_sqe(nsid, slot.0, prp1, 0), false).await?;
        if let Transfer::ToHost(into) = transfer {
            self.page_mut(page, into.len(), |bytes| into.copy_from_slice(bytes));
        }
        self.release_slot(QueueId::ADMIN, slot);
        Ok(result)
    }

    pub(crate) async fn admin_in(&self, slot: SlotId, sqe: Sqe, endless: bool) -> Result<u32, DriverError> {
        self.pairs.borrow_mut()[QueueId::ADMIN.index()].push(
            slot,
            &sqe,
            Following { slba: None, awaited: true, endless },
            self.exec.now(),
            &mut self.memory.borrow_mut(),
        );
        self.ring(QueueId::ADMIN);
        // Dword 0 of the completion.
        Ok(self.await_success(QueueId::ADMIN, slot).await? as u32)
    }

    pub(crate) fn page_mut(&self, page: u64, length: usize, change: impl FnOnce(&mut [u8])) {
        change(self.memory.borrow_mut().bytes_mut(page, length).expect("the admin pages were allocated"));
    }

    /// Reads an identify structure (§5.15). `nsid` is 0 if the structure belongs to no namespace.
    ///
    /// # Errors
    /// Those of the command.
    pub async fn identify(
        &self,
        cns: Cns,
        nsid: u32,
        into: &mut [u8; IDENTIFY_BYTES],
    ) -> Result<(), DriverError> {
        let control = IdentifyDword10(0).with_cns(cns.raw());
        let command = AdminCommand::Identify(Identify { control, nvm_set: 0, command_set: 0 });
        self.admin(command, nsid, Transfer::ToHost(into)).await?;
        Ok(())
    }

    /// Reads a feature's value (§5.13). `nsid` is 0 except for features of a namespace.
    ///
    /// # Errors
    /// Those of the command.
    pub async fn get_feature(
        &self,
        id: FeatureId,
        select: FeatureSelect,
        nsid: u32,
    ) -> Result<u32, DriverError> {
        let mut page = [0; PAGE];
        self.get_feature_data(id, select, nsid, &mut page).await
    }

    /// Reads a feature's value and its data structure into `into`, at most one page (§5.13).
    ///
    /// # Errors
    /// Those of the command; [`DriverError::Argument`] when `into` is longer than a page.
    pub async fn get_feature_data(
        &self,
        id: FeatureId,
        select: FeatureSelect,
        nsid: u32,
        into: &mut [u8],
    ) -> Result<u32, DriverError> {
        check_page(into.len())?;
        let control = GetFeaturesDword10(0).with_feature_id(id.raw()).with_select(select.raw());
        let command = AdminCommand::GetFeatures(GetFeatures { control, dword11: 0 });
        self.admin(command, nsid, Transfer::ToHost(into)).await
    }

    /// Sets a feature (§5.21), persistently if `save`. Returns dword 0 of the completion: the granted value.
    ///
    /// # Errors
    /// Those of the command.
    pub async fn set_feature(
        &self,
        id: FeatureId,
        value: u32,
        save: bool,
        nsid: u32,
    ) -> Result<u32, DriverError> {
        self.admin(set_feature(id, value, save), nsid, Transfer::None).await
    }

    /// Sets a feature that takes a data structure, at most one page (§5.21).
    ///
    /// # Errors
    /// Those of the command; [`DriverError::Argument`] when `data` is longer than a page.
    pub async fn set_feature_data(
        &self,
        id: FeatureId,
        value: u32,
        save: bool,
        nsid: u32,
        data: &[u8],
    ) -> Result<u32, DriverError> {
        check_page(data.len())?;
        self.admin(set_feature(id, value, save), nsid, Transfer::FromHost(data)).await
    }

    /// Reads `bytes` bytes of a log page, a multiple of 4, page by page (§5.14).
    ///
    /// # Errors
    /// Those of the command; [`DriverError::Argument`] when the length is 0 or not a multiple of 4.
    pub async fn log_page(&self, id: LogId, nsid: u32, bytes: usize) -> Result<Vec<u8>, DriverError> {
        if bytes == 0 || !bytes.is_multiple_of(4) {
            return Err(DriverError::Argument("a log page is read in multiples of 4 bytes"));
        }
        let mut log = vec![0; bytes];
        for (piece, index) in log.chunks_mut(PAGE).zip(0u64..) {
            let mut command = GetLogPage::new(id.raw(), piece.len() as u64 / 4);
            command.offset = index * HOST_PAGE_BYTES;
            self.admin(AdminCommand::GetLogPage(command), nsid, Transfer::ToHost(piece)).await?;
        }
        Ok(log)
    }

    /// Reads the SMART / health information of the controller (§5.14.1.2).
    ///
    /// # Errors
    /// Those of the command.
    pub async fn health(&self) -> Result<HealthLog, DriverError> {
        let bytes = self.log_page(LogId::Health, Self::WHOLE_CONTROLLER, HealthLog::BYTES).await?;
        Ok(HealthLog::read_from_bytes(&bytes).expect("as many bytes as the structure has"))
    }

    /// Reads the error information log, latest first, without its unused entries (§5.14.1.1).
    ///
    /// # Errors
    /// Those of the command; [`DriverError::Argument`] before [`Driver::init`].
    pub async fn error_log(&self) -> Result<Vec<ErrorEntry>, DriverError> {
        let entries = self.identity().map(|identity| usize::from(identity.elpe) + 1);
        let entries = entries.ok_or(DriverError::Argument("the controller has not been identified"))?;
        let nsid = Self::WHOLE_CONTROLLER;
        let bytes = self.log_page(LogId::ErrorInformation, nsid, entries * ErrorEntry::BYTES).await?;
        let entries = <[ErrorEntry]>::ref_from_bytes(&bytes).expect("whole entries were read");
        Ok(entries.iter().filter(|e| e.error_count.get() != 0).copied().collect())
    }

    /// Formats the namespace with one of its LBA formats and reads its new size (§5.23). Nothing else may be
    /// in flight.
    ///
    /// # Errors
    /// Those of the command, and of the identification afterwards.
    pub async fn format(&self, lba_format: u8, erase: SecureErase) -> Result<(), DriverError> {
        if lba_format > 15 {
            return Err(DriverError::Argument("an LBA format is 0 to 15"));
        }
        let control = FormatDword10(0).with_lba_format(lba_format).with_secure_erase(erase.raw());
        self.admin(AdminCommand::FormatNvm(control), self.namespace().id, Transfer::None).await?;
        self.identify_namespace().await
    }

    /// Streams that may be open at a time; 0 for a drive without (§9.3).
    pub fn streams(&self) -> u16 {
        self.streams.get()
    }

    /// Asks a directive something (§5.9). `into` is at most one page, in multiples of 4 bytes, and may be
    /// empty for an operation without data. Returns dword 0 of the completion.
    ///
    /// # Errors
    /// Those of the command; [`DriverError::Argument`] when `into` is longer than a page.
    pub async fn directive_receive(
        &self,
        directive: &Directive,
        nsid: u32,
        into: &mut [u8],
    ) -> Result<u32, DriverError> {
        check_page(into.len())?;
        let transfer = if into.is_empty() { Transfer::None } else { Transfer::ToHost(into) };
        self.admin(AdminCommand::DirectiveReceive(*directive), nsid, transfer).await
    }

    /// Tells a directive something (§5.10). Returns dword 0 of the completion.
    ///
    /// # Errors
    /// Those of the command.
    pub async fn directive_send(&self, directive: &Directive, nsid: u32) -> Result<u32, DriverError> {
        self.admin(AdminCommand::DirectiveSend(*directive), nsid, Transfer::None).await
    }

    /// Sizes and numbers of the drive's streams (§9.3.1.1).
    ///
    /// # Errors
    /// Those of the command.
    pub async fn stream_parameters(&self) -> Result<StreamParameters, DriverError> {
        let mut parameters = StreamParameters::default();
        let bytes = STREAM_PARAMETERS_BYTES as u32;
        let ask = Directive::new(DirectiveType::Streams, operation::PARAMETERS, bytes);
        self.directive_receive(&ask, self.namespace().id, parameters.as_mut_bytes()).await?;
        Ok(parameters)
    }

    /// Asks the controller to abort a command (§5.1). Returns true if it was aborted; its own completion says
    /// so, too.
    ///
    /// # Errors
    /// Those of the command.
    pub async fn abort(&self, queue: QueueId, slot: SlotId) -> Result<bool, DriverError> {
        let which = AbortDword10(0).with_sq_id(queue.0).with_cid(slot.0);
        let result = self.admin(AdminCommand::Abort(which), 0, Transfer::None).await?;
        Ok(result & 1 == 0)
    }

    /// Waits for the controller's next asynchronous event, however long it takes (§5.2).
    ///
    /// # Errors
    /// Those of the command; [`DriverError::Reset`] when the controller is reset meanwhile.
    pub async fn async_event(&self) -> Result<AsyncEvent, DriverError> {
        let slot = self.await_slot(QueueId::ADMIN).await;
        let sqe = AdminCommand::AsyncEventRequest.to_sqe(0, slot.0, 0, 0);
        let event = self.admin_in(slot, sqe, true).await?;
        self.release_slot(QueueId::ADMIN, slot);
        Ok(AsyncEvent(event))
    }
}

fn set_feature(id: FeatureId, value: u32, save: bool) -> AdminCommand {
    let control = SetFeaturesDword10(0).with_feature_id(id.raw()).with_save(save);
    AdminCommand::SetFeatures(SetFeatures { control, dword11: value })
}

fn check_page(bytes: usize) -> Result<(), DriverError> {
    if bytes <= PAGE { Ok(()) } else { Err(DriverError::Argument("a feature's data is at most one page")) }
}
