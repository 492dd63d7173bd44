//! Moves the data of commands between host memory and buffers.

use crate::host::slices::Slice;
use crate::host::state::Host;
use crate::mapping::Mapping;
use crate::page::buffers::Granules;
use aster_events::{Event, Function};
use aster_ports::host::{DmaDirection, DmaError, DmaPart, DmaRequest, DmaTag, HostStatus};
use aster_units::{BufferId, Lpn};
use core::future::Future;

/// The status of a command whose data could not be moved.
pub(crate) fn dma_status(error: DmaError) -> HostStatus {
    match error {
        DmaError::Address => HostStatus::DataTransfer,
        DmaError::Aborted | DmaError::Abandoned => HostStatus::Aborted,
    }
}

impl<M: Mapping> Host<M> {
    /// The granules that a slice touches.
    #[inline]
    pub(crate) fn granules_in(&self, slice: &Slice) -> Granules {
        self.pages.granules_at(slice.start, slice.bytes)
    }
    /// The logical units that a slice touches.
    pub(crate) fn units_of(&self, slice: &Slice) -> impl Iterator<Item = Lpn> + use<M> {
        let units = self.pages.units_of(self.granules_in(slice));
        self.runtime.units.units_in(slice.frame, units).map(|(_, lpn)| lpn)
    }
    #[inline]
    pub(crate) fn dma_request(&self, slice: &Slice, direction: DmaDirection, buffer: BufferId) -> DmaRequest {
        DmaRequest {
            command: slice.command,
            direction,
            part: DmaPart::Data,
            offset: slice.data_offset,
            buffer,
            buffer_offset: slice.start,
            length: slice.bytes,
            after: None,
        }
    }
    /// Moves part of a command's data.
    #[inline]
    pub(crate) fn dma(&self, request: DmaRequest) -> impl Future<Output = Result<(), DmaError>> {
        self.transfer(request, false)
    }
    /// Fetches part of a command's data to compare it with stored data.
    pub(crate) fn dma_to_compare(&self, request: DmaRequest) -> impl Future<Output = Result<(), DmaError>> {
        self.transfer(request, true)
    }
    #[inline]
    async fn transfer(&self, request: DmaRequest, compare: bool) -> Result<(), DmaError> {
        self.spend_transfer();
        self.runtime.core.settle().await;
        self.transfer_begins(&request, compare);
        let tag = match self.port.submit_dma(request) {
            Some(tag) => tag,
            None => self.port.begin_dma(request).await,
        };
        let result = self.port.dma_finished(tag).await;
        self.transfer_ended(&request, &result);
        result
    }
    /// Waits for the end of a transfer that was submitted with the read of its data.
    pub(crate) async fn dma_begun(&self, tag: DmaTag, request: DmaRequest) -> Result<(), DmaError> {
        self.transfer_begins(&request, false);
        let result = self.port.dma_finished(tag).await;
        self.transfer_ended(&request, &result);
        result
    }
    #[inline]
    pub(crate) fn spend_transfer(&self) {
        self.runtime.spend(Function::HostDma, self.runtime.config.costs.dma);
    }
    #[inline]
    pub(crate) fn transfer_begins(&self, request: &DmaRequest, compare: bool) {
        self.runtime.emit(|| Event::TransferQueued {
            task: self.runtime.task(),
            from_host: request.direction == DmaDirection::FromHost,
            bytes: request.length,
            buffer: request.buffer.0,
            compare,
        });
    }
    #[inline]
    pub(crate) fn transfer_ended(&self, request: &DmaRequest, result: &Result<(), DmaError>) {
        self.runtime.emit(|| Event::TransferEnded { task: self.runtime.task(), failed: result.is_err() });
        // Data from the host may be for a compare. `write_slice` counts bytes written.
        if result.is_ok() && request.direction == DmaDirection::ToHost {
            self.runtime.count(|s| s.host_bytes_read += u64::from(request.length));
        }
    }
}
