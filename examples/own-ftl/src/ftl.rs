//! The FTL as a whole: takes commands, cuts them into pages, and hands each page to the log of its LUN.
//!
//! Logical page `n` always lies on LUN `n mod LUNs`. So each LUN has a map, a log and a garbage
//! collection of its own, one task does all of its work in order, and nothing needs a lock.

use super::log::Log;
use super::shared::{NOWHERE, Plan, Shared};
use aster_device::{plug::*, units::*};
use std::{cell::Cell, cell::RefCell, rc::Rc};

/// Parts of commands that wait for a LUN at most; beyond, no further command is taken.
const QUEUED: usize = 32;

/// The FTL before it is started.
pub struct OwnFtl(pub Plan);

impl Translation for OwnFtl {
    fn needs(&self) -> TranslationNeeds {
        let metadata_buffers = self.0.geometry.total_luns();
        let (data_buffers, flash_requests) = (2 * metadata_buffers, metadata_buffers as u16);
        let nvram_bytes = (metadata_buffers * self.0.geometry.blocks_per_lun) as usize;
        // A LUN has a buffer for the host's pages, one for pages that are copied, and one for marks of
        // bad blocks.
        TranslationNeeds { data_buffers, metadata_buffers, nvram_bytes, emmc_bytes: 0, flash_requests }
    }
    fn capacity_bytes(&self) -> u64 {
        u64::from(self.0.pages * self.0.geometry.total_luns()) * u64::from(self.0.geometry.page_bytes)
    }
    fn start(self: Box<Self>, ports: TranslationPorts) -> Result<Rc<dyn TranslationView>, PieceError> {
        let (plan, luns) = (self.0, self.0.geometry.total_luns());
        let idle = |id| (0, Completion::new(CommandId(id), HostStatus::Success));
        let map = || (0..plan.pages).map(|_| Cell::new(NOWHERE)).collect();
        let shared = Rc::new(Shared {
            plan,
            luns: (0..luns).map(|_| (map(), Ring::new(QUEUED))).collect(),
            active: RefCell::new((0..ports.command_slots).map(idle).collect()),
            ports,
            stats: RefCell::default(),
            boot_error: RefCell::default(),
            booting: Cell::new(luns),
            watcher: RefCell::default(),
        });
        for lun in (0..luns).map(LunIndex) {
            let log = Log::new(&shared, lun, &shared.luns[lun.index()].0);
            shared.ports.core.spawn(Rc::clone(&shared).run_lun(lun, log));
        }
        Ok(shared)
    }
}

impl Shared {
    /// The task that takes commands, once every LUN knows what is there.
    async fn take_commands(self: Rc<Self>) {
        loop {
            let command = self.ports.commands.next_command().await;
            self.ports.core.charge(self.plan.cycles.0);
            let by_page = matches!(command.op, HostOp::Read | HostOp::Write | HostOp::WriteZeroes { .. });
            let first_pages = self.luns.len() as u64 * u64::from(self.plan.geometry.page_bytes);
            let (offset, length) = if by_page { (command.offset, command.length) } else { (0, first_pages) };
            let parts = self.plan.parts(ByteRange { offset, length });
            let ended = Completion::new(command.id, HostStatus::Success);
            let begun = (parts.clone().count() as u32, ended);
            self.active.borrow_mut()[usize::from(command.id.0)] = begun;
            for (lun, part) in parts {
                self.luns[lun.index()].1.push(self.ports.core.exec(), (command, part)).await;
            }
        }
    }
    /// The task of a LUN: finds what is there, then does what is asked for, in order.
    async fn run_lun(self: Rc<Self>, lun: LunIndex, mut log: Log) {
        if self.booted(log.power_on().await) {
            self.ports.core.spawn(Rc::clone(&self).take_commands());
        }
        loop {
            let (command, part) = self.luns[lun.index()].1.pop(self.ports.core.exec()).await;
            self.ports.core.charge(self.plan.cycles.1);
            let done = log.serve(&command, &part).await;
            self.part_ended(command.id, done, command.offset + u64::from(part.data_offset));
        }
    }
}
