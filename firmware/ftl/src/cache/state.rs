use crate::cache::buffer::DataBuffer;
use crate::drive::Drive;
use crate::mapping::mapped::Mapped;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_exec::WaitQueue;
use aster_units::BufferId;
use core::cell::RefCell;

/// The data buffer's entries, and the buffers in which what is lost or missing is put together.
pub(crate) struct Cache {
    pub(crate) buffer: RefCell<DataBuffer>,
    pub(super) entry_waiters: Box<[WaitQueue]>,
    pub(super) merge_free: RefCell<Vec<BufferId>>,
    pub(super) merge_waiters: WaitQueue,
    pub(super) mapping: Rc<Mapped>,
    pub(super) drive: Rc<Drive>,
}

impl Cache {
    pub(crate) fn new(mapping: &Rc<Mapped>) -> Self {
        let (mapping, drive) = (Rc::clone(mapping), Rc::clone(&mapping.drive));
        let config = &drive.config;
        let merge_base = config.merge_buffer_base();
        Cache {
            buffer: RefCell::new(DataBuffer::new(config.buffer_entries, config.dirty_max())),
            entry_waiters: (0..config.buffer_entries).map(|_| WaitQueue::with_capacity(4)).collect(),
            merge_free: RefCell::new((0..config.merge_buffers()).map(|n| BufferId(merge_base + n)).collect()),
            merge_waiters: WaitQueue::with_capacity(usize::from(config.slice_workers)),
            mapping,
            drive,
        }
    }
}
