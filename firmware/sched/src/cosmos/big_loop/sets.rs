//! The operation sets that the loop works on: what each is for, and which of its operations may go.

use crate::cosmos::dependency::DependencyChecker;
use crate::cosmos::packer::{OperationPacker, Packed};
use crate::loop_operation::{Operation, OperationKind, SetId};
use alloc::vec;
use alloc::vec::Vec;
use aster_ports::flash::{FlashOp, FlashRequest, Tag};
use aster_ports::host::{DmaDirection, DmaRequest, DmaTag};
use aster_units::{Geometry, LunIndex};

/// A transfer that follows a flash request, with its tag.
pub(super) type Follower = (DmaTag, DmaRequest);

/// What an operation set is for.
#[derive(Clone, Copy)]
pub(super) enum Payload {
    /// A flash request, with the transfer that follows a read as the last operation of its set.
    Flash(Tag, FlashRequest, Option<Follower>),
    Packed(Packed),
    Dma(DmaTag, DmaRequest),
}

/// The dependency checker and the packer, with what their sets are for.
pub(super) struct OperationSets {
    checker: DependencyChecker,
    packer: OperationPacker,
    payloads: Vec<Option<Payload>>,
    /// Transfers whose flash requests haven't been collected yet, indexed by flash request.
    following: Vec<Option<Follower>>,
}

/// The operations of a flash request, and of the transfer that follows it, in the order of Fig 10. `None` for
/// requests that the scheduler doesn't accept: several targets at once, operations that it issues only by
/// itself, and a transfer after anything but a read.
fn operations(request: &FlashRequest, transfer: bool) -> Option<&'static [OperationKind]> {
    if request.targets().len() != 1 || transfer && request.phase != FlashOp::Read {
        return None;
    }
    Some(match request.phase {
        FlashOp::Read if transfer => {
            &[OperationKind::ReadTrigger, OperationKind::ReadTransfer, OperationKind::TxDma]
        }
        FlashOp::Read => &[OperationKind::ReadTrigger, OperationKind::ReadTransfer],
        FlashOp::Trigger => &[OperationKind::ReadTrigger],
        FlashOp::Transfer => &[OperationKind::ReadTransfer],
        FlashOp::Program => &[OperationKind::Write],
        FlashOp::Erase => &[OperationKind::Erase],
        FlashOp::CopyBack
        | FlashOp::Status
        | FlashOp::Reset
        | FlashOp::SetFeatures
        | FlashOp::GetFeatures => return None,
    })
}

impl OperationSets {
    /// Room for `sets` sets, and for transfers after `requests` flash requests.
    pub fn new(geometry: Geometry, sets: u16, requests: usize) -> Self {
        OperationSets {
            checker: DependencyChecker::new(sets),
            packer: OperationPacker::new(geometry, usize::from(sets)),
            payloads: vec![None; usize::from(sets)],
            following: vec![None; requests],
        }
    }
    /// True when no further set fits.
    pub fn is_full(&self) -> bool {
        self.checker.is_full()
    }

    /// Takes a transfer: a set of its own, or what follows a flash request that is still to come.
    #[inline]
    pub fn take_transfer(&mut self, tag: DmaTag, request: DmaRequest) {
        if let Some(flash) = request.after {
            let left = self.following[flash.index()].replace((tag, request));
            assert!(left.is_none(), "a transfer's flash request has not come");
            return;
        }
        let kind = match request.direction {
            DmaDirection::FromHost => OperationKind::RxDma,
            DmaDirection::ToHost => OperationKind::TxDma,
        };
        let set = self.checker.deposit(&[kind], LunIndex(0), request.buffer);
        self.payloads[set.index()] = Some(Payload::Dma(tag, request));
    }
    /// Takes a flash request and the transfer that follows it. If the scheduler doesn't accept it, the
    /// transfer comes back.
    #[inline]
    pub fn take_request(&mut self, tag: Tag, request: FlashRequest) -> Result<(), Option<Follower>> {
        let follower = self.following[tag.index()].take();
        let buffer = request.targets()[0].buffer;
        assert!(follower.is_none_or(|(_, transfer)| transfer.buffer == buffer), "a set has one entry");
        let kinds = operations(&request, follower.is_some()).ok_or(follower)?;
        let set = self.checker.deposit(kinds, request.lun, buffer);
        self.payloads[set.index()] = Some(Payload::Flash(tag, request, follower));
        Ok(())
    }
    /// Packs a request with others of its word line, which become a set with the last of them. False for a
    /// request that isn't packed.
    pub fn pack(&mut self, tag: Tag, request: FlashRequest) -> bool {
        if !self.packer.takes(&request) {
            return false;
        }
        if let Some(packed) = self.packer.pack(tag, request) {
            let (lun, buffer) = (packed.request.lun, packed.request.targets()[0].buffer);
            let set = self.checker.deposit(&[OperationKind::Write], lun, buffer);
            self.payloads[set.index()] = Some(Payload::Packed(packed));
        }
        true
    }

    /// The next operation that may go, with the read-transfer that goes with it.
    #[inline]
    pub fn deliver(&mut self) -> Option<(Operation, Option<Operation>)> {
        self.checker.deliver()
    }
    /// An operation has been completed. Returns true if it was the last of its set.
    #[inline]
    pub fn completed(&mut self, operation: &Operation) -> bool {
        self.checker.completed(operation)
    }
    /// Drops the rest of a set. Returns the transfer that follows its flash request.
    pub fn abandon(&mut self, set: SetId) -> Option<Follower> {
        self.checker.abandon(set);
        self.follower(set)
    }

    /// What a set is for.
    #[inline]
    pub fn payload(&self, set: SetId) -> &Payload {
        self.payloads[set.index()].as_ref().expect("a set in the checker's hands has a payload")
    }
    /// The flash request of a set.
    #[inline]
    pub fn request(&self, set: SetId) -> &FlashRequest {
        match self.payload(set) {
            Payload::Flash(_, request, _) | Payload::Packed(Packed { request, .. }) => request,
            Payload::Dma(..) => unreachable!("a way's queue holds flash operations"),
        }
    }
    /// The transfer of a set: the whole set, or the part that follows its read.
    #[inline]
    pub fn transfer(&self, set: SetId) -> Follower {
        self.follower(set).expect("the host DMA queue holds host DMA")
    }
    /// The transfer of a set, if it has one.
    #[inline]
    pub fn follower(&self, set: SetId) -> Option<Follower> {
        match self.payload(set) {
            Payload::Dma(tag, request) => Some((*tag, *request)),
            Payload::Flash(_, _, follower) => *follower,
            Payload::Packed(_) => None,
        }
    }
}
