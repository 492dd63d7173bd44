//! Makes a driver: its queues, its memory, its watchdog.

use crate::bar::Bar;
use crate::buffers::Buffers;
use crate::config::{ADMIN_ENTRIES, CompletionMode, Config, VENDOR_AREA_BYTES};
use crate::driver::{Driver, SharedMemory};
use crate::error::DriverError;
use crate::ids::QueueId;
use crate::memory::HOST_PAGE_BYTES;
use crate::namespace::Namespace;
use crate::queue::QueuePair;
use crate::waiting::Watch;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_exec::{Exec, Ring};
use core::cell::{Cell, RefCell};

impl<B: Bar + 'static> Driver<B> {
    /// A driver for the controller behind `bar`. It takes its memory and touches no register;
    /// [`Driver::init`] does.
    ///
    /// # Errors
    /// When the configuration is out of range, or `memory` is smaller than [`Config::memory`].
    pub fn new(exec: &Exec, bar: B, memory: &SharedMemory, config: Config) -> Result<Rc<Self>, DriverError> {
        config.validate()?;
        let mut pairs = Vec::with_capacity(usize::from(config.queue_pairs) + 1);
        let (admin_pages, vendor_area);
        {
            let memory = &mut memory.borrow_mut();
            pairs.push(QueuePair::new(QueueId::ADMIN, ADMIN_ENTRIES, memory)?);
            admin_pages = memory.alloc(u64::from(ADMIN_ENTRIES - 1) * HOST_PAGE_BYTES, HOST_PAGE_BYTES)?;
            for id in 1..=config.queue_pairs {
                let mut pair = QueuePair::new(QueueId(id), config.depth + 1, memory)?;
                pair.buffers = Some(Buffers::new(&config, u64::from(config.depth), memory)?);
                pair.vector = config.vector_of(id);
                pair.polled = config.completion != CompletionMode::Interrupt;
                pairs.push(pair);
            }
            vendor_area = memory.alloc(VENDOR_AREA_BYTES, HOST_PAGE_BYTES)?;
        }
        Ok(Rc::new_cyclic(|this| Driver {
            exec: exec.clone(),
            bar: RefCell::new(bar),
            memory: Rc::clone(memory),
            config,
            pairs: RefCell::new(pairs),
            admin_pages,
            vendor_area,
            vendor_turn: Ring::new(1),
            live_pairs: Cell::new(0),
            doorbell_stride: Cell::new(0),
            namespace: Cell::new(Namespace::NONE),
            streams: Cell::new(0),
            transfer_bytes: Cell::new(0),
            blocks_max: Cell::new(0),
            identity: RefCell::new(None),
            violation: Cell::new(None),
            losses: Cell::new(0),
            watch: exec.register(Rc::new(Watch(this.clone()))),
            watchdog_armed: Cell::new(false),
            poll_armed: Cell::new(false),
        }))
    }
}
