//! Doorbells in memory: a page of BAR0 that the client maps, and the host's own shadow doorbells.
//!
//! Both hold the value last written, as the registers would. Each turn of the server compares them with the
//! drive's values and passes on changes. While the host keeps shadow doorbells, only they count for I/O
//! queues: a register write then only asks the server to read them (NVMe 1.4 §5.7).

use crate::mapping::Mapping;
use crate::memory::GuestMemory;
use aster_device::{Device, DoorbellBuffer, QueueDoorbell};
use aster_ports::link::HostMemory;
use aster_units::Instant;
use aster_wire::nvme::registers::DOORBELLS;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::Errno;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// Bytes of the page of BAR0 that a client may map: doorbells and nothing else. Those of queues from 512 on
/// are behind it and come by messages.
pub(crate) const DOORBELL_PAGE_BYTES: u64 = 0x1000;
/// Bytes of the admin queue's two doorbells: these stay registers.
const ADMIN_BYTES: u32 = 8;

struct Watched {
    /// In BAR0.
    offset: u32,
    /// Distinguishes the queue from earlier ones with the same number.
    created: u32,
    /// The value that was passed to the drive last.
    value: u32,
}

impl Watched {
    /// Its offset in the page, and in the host's buffers.
    fn place(&self) -> u32 {
        self.offset - DOORBELLS as u32
    }
    fn is_admin(&self) -> bool {
        self.place() < ADMIN_BYTES
    }
    /// Whether it is in the page that a client may map.
    fn is_mappable(&self) -> bool {
        u64::from(self.place()) < DOORBELL_PAGE_BYTES
    }
}

/// The page that a client maps, and its file.
struct Page {
    file: OwnedFd,
    mapping: Mapping,
}

impl Page {
    fn new(bar_bytes: u64) -> Result<Self, Errno> {
        let file = memfd_create("aster-doorbells", MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC)?;
        ftruncate(&file, bar_bytes)?;
        // The client must not be able to take it from under us.
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let mapping = Mapping::new(
            Arc::new(file.try_clone().map_err(|_| Errno::MFILE)?.into()),
            DOORBELLS,
            DOORBELL_PAGE_BYTES,
            true,
        )?;
        Ok(Page { file, mapping })
    }
}

/// All doorbells in memory.
pub(crate) struct Doorbells {
    /// `None` where the function is no NVMe controller: there are no doorbells then.
    page: Option<Page>,
    watched: Vec<Watched>,
    buffer: Option<DoorbellBuffer>,
    generation: u32,
    /// The host's shadow doorbells as last read.
    shadow: Vec<u32>,
    /// The client has the page's file: it may write there without waking the server.
    handed_out: Cell<bool>,
}

impl Doorbells {
    /// Makes a page for a client, in a file with as many bytes as an NVMe controller's BAR0. Without an
    /// NVMe controller there is none.
    ///
    /// # Errors
    /// When the system has no memory.
    pub(crate) fn new(bar_bytes: Option<u64>) -> Result<Self, Errno> {
        Ok(Doorbells {
            page: bar_bytes.map(Page::new).transpose()?,
            watched: Vec::new(),
            buffer: None,
            generation: 0,
            shadow: Vec::new(),
            handed_out: Cell::new(false),
        })
    }
    /// Whether there is a page for a client to map.
    pub(crate) fn are_mappable(&self) -> bool {
        self.page.is_some()
    }
    /// The file for a client to map. It has BAR0's bytes, of which only the doorbells are used.
    pub(crate) fn hand_out(&self) -> Option<BorrowedFd<'_>> {
        let page = self.page.as_ref()?;
        self.handed_out.set(true);
        Some(page.file.as_fd())
    }
    fn store(&self, watched: &Watched, value: u32) {
        if let Some(page) = self.page.as_ref().filter(|_| watched.is_mappable()) {
            page.mapping.store(watched.place().into(), value);
        }
    }
    /// True when the host may ring by a write to memory alone, so that the server must poll.
    pub(crate) fn need_looking_at(&self) -> bool {
        self.handed_out.get() && !self.watched.is_empty()
    }

    /// Updates the list of queues if it has changed. Call this before the host can learn of the change.
    #[inline]
    pub(crate) fn follow(&mut self, device: &Device) {
        if self.generation != device.doorbell_generation() {
            self.learn(device);
        }
    }

    #[cold]
    fn learn(&mut self, device: &Device) {
        self.generation = device.doorbell_generation();
        self.buffer = device.doorbell_buffer();
        let before = std::mem::take(&mut self.watched);
        let before: HashMap<u32, Watched> = before.into_iter().map(|of| (of.offset, of)).collect();
        for QueueDoorbell { doorbell, value, created } in device.doorbells() {
            let offset = doorbell.offset(0) as u32;
            // For a queue that stays, the last value may still be on its way to the drive. A new queue
            // doesn't inherit the value of an earlier one with the same number, even if the server hasn't
            // polled between the two.
            let known = before.get(&offset).filter(|watched| watched.created == created);
            let watched = Watched { offset, created, value: known.map_or(value, |known| known.value) };
            if known.is_none() {
                self.store(&watched, value);
            }
            self.watched.push(watched);
        }
        let now: HashSet<u32> = self.watched.iter().map(|watched| watched.offset).collect();
        for gone in before.values().filter(|watched| !now.contains(&watched.offset)) {
            self.store(gone, 0);
        }
        let words = self.watched.iter().map(|w| w.place() as usize / 4 + 1).max().unwrap_or(0);
        self.shadow = vec![0; words];
    }

    /// Rings the doorbells that the client has written in memory, while the drive takes them; returns true
    /// when there were some. It calls `now` only then: the drive's clock may be far behind because the drive
    /// slept or has much to do, and no command may begin before it was issued.
    #[inline]
    pub(crate) fn poll(
        &mut self,
        device: &Device,
        memory: &GuestMemory,
        now: impl Fn() -> Option<Instant>,
    ) -> bool {
        let (mut sent, mut waits) = (None, false);
        // If the host takes its buffer away, its I/O queues can't be rung any more.
        let lost = self.buffer.is_some_and(|at| memory.read_words(at.shadow, &mut self.shadow).is_err());
        let Some(Page { mapping: page, .. }) = &self.page else { return false };
        for watched in &mut self.watched {
            let place = watched.place();
            let value = match self.buffer {
                Some(_) if watched.is_admin() => page.load(place.into()),
                Some(_) if lost => continue,
                Some(_) => self.shadow[place as usize / 4],
                None if watched.is_mappable() => page.load(place.into()),
                None => continue,
            };
            if value != watched.value {
                // The host writes no faster than the drive takes it. The value stays where it is, and what is
                // there at the next look counts, as doorbells do.
                if !device.takes_register_writes() {
                    waits = true;
                    continue;
                }
                watched.value = value;
                let sent = *sent.get_or_insert_with(|| now().unwrap_or_else(|| device.now()));
                device.bar_write_at(sent, 0, watched.offset, 4, value.into());
            }
        }
        sent.is_some() || waits
    }

    /// A message has written a doorbell. Returns false if no queue has it: then it is an ordinary register
    /// write.
    pub(crate) fn write(&mut self, device: &Device, memory: &GuestMemory, offset: u32, value: u32) -> bool {
        let Some(watched) = self.watched.iter_mut().find(|watched| watched.offset == offset) else {
            return false;
        };
        if self.buffer.is_some() && !watched.is_admin() {
            // The drive's time is that of the message.
            self.poll(device, memory, || None);
            return true;
        }
        // Both places of one register agree.
        watched.value = value;
        if let Some(page) = self.page.as_ref().filter(|_| watched.is_mappable()) {
            page.mapping.store(watched.place().into(), value);
        }
        device.bar_write(0, offset, 4, value.into());
        true
    }

    /// Asks the host to write registers again, since the server stops polling memory. Poll once more
    /// afterwards: the host may have written before it saw this.
    pub(crate) fn ask_for_messages(&self, memory: &mut GuestMemory) {
        let Some(buffer) = self.buffer else { return };
        for watched in self.watched.iter().filter(|watched| !watched.is_admin()) {
            // If the host has removed that page, its writes are found at its next message.
            let _ = memory
                .write(buffer.event_index.wrapping_add(watched.place().into()), &watched.value.to_le_bytes());
        }
        // The host does the reverse: it writes its value, then reads ours.
        fence(Ordering::SeqCst);
    }

    /// The client has gone: its mapping needs no polling any more.
    pub(crate) fn forget_client(&mut self) {
        self.handed_out.set(false);
    }
}
