//! Vector copies: sectors move within the drive (P29, Vector Chunk Copy; H3), by way of its page buffers or,
//! in whole pages within a plane, in the package (H31).

use crate::drive::{METADATA_BYTES as BYTES, Sent, metadata_at, metadata_of};
use crate::plan::{self, Run};
use crate::read::bad_sectors;
use crate::worker::{Ended, Worker};
use alloc::rc::Rc;
use aster_events::Function;
use aster_ports::flash::{Flags, FlashOp, FlashRequest};
use aster_ports::host::{HostStatus, VectorFault, VectorMode};
use aster_units::SECTOR_BYTES;

/// Sources that could not be read, one bit each.
#[derive(Clone, Copy, Default)]
struct Unread {
    lost: u64,
    empty: u64,
}

impl Worker {
    /// Reads what the first half of the addresses names, and writes it with its metadata to where the second
    /// half says, by the rules of a write. A source that can't be read, or that nobody wrote, fails the
    /// command before anything is written. A package that copies reports neither.
    pub(crate) async fn copy(&mut self) -> Ended {
        let drive = Rc::clone(&self.drive);
        let (half, odd) = (self.units.len() / 2, self.units.len() % 2);
        if odd != 0 {
            self.first().await;
            self.leave();
            return (HostStatus::Refused, 0);
        }
        plan::runs(&self.units[..half], &mut self.sources);
        plan::runs(&self.units[half..], &mut self.runs);
        let pages = (self.sources.len() + self.runs.len()) as u64;
        drive.spend(Function::NvmCommandManager, drive.config.costs.slice * pages);
        self.first().await;
        self.find_pointers().await;
        self.wait_for_sources().await;
        let refused = match self.check() {
            Ok(()) if self.names_offline(&self.sources) => Err(VectorFault::Offline),
            checked => checked,
        };
        if let Err(fault) = refused {
            self.leave();
            return self.refusal(fault);
        }
        if drive.config.copy_back && self.stays_in_planes() {
            self.begin_copy_backs();
            self.leave();
            return self.end_programs().await;
        }
        // As many sources at a time as there are buffers for.
        let most = drive.config.buffers as usize - self.runs.len();
        let together = self.sources.len().min(most);
        drive.buffers.take(drive.exec(), self.number, self.runs.len() + together, &mut self.buffers).await;
        let unread = self.gather(together).await;
        let begun = match (unread, self.check()) {
            (Unread { lost: 1.., .. }, _) => Err(HostStatus::UnrecoveredRead),
            (Unread { empty: 1.., .. }, _) => Err(HostStatus::Vector(VectorFault::Empty)),
            // A program that was in flight may have failed meanwhile, and closed its chunk.
            (_, Err(fault)) => Err(HostStatus::Vector(fault)),
            (_, Ok(())) => Ok(()),
        };
        if let Err(status) = begun {
            self.leave();
            self.give_buffers();
            return (status, unread.lost | unread.empty);
        }
        self.begin_programs(VectorMode::default());
        self.leave();
        self.end_programs().await
    }
    /// Whether each source is a whole page that goes to another one of its plane.
    fn stays_in_planes(&self) -> bool {
        let (planes, whole) = (u32::from(self.drive.config.geometry.planes), self.drive.whole());
        let stays = |(from, to): (&Run, &Run)| {
            let plane = |run: &Run| (run.lun, run.block.0 % planes);
            (from.sectors, to.sectors) == (whole, whole) && plane(from) == plane(to)
        };
        self.sources.len() == self.runs.len() && self.sources.iter().zip(&self.runs).all(stays)
    }
    /// Has the packages copy the sources to the runs.
    fn begin_copy_backs(&mut self) {
        let drive = Rc::clone(&self.drive);
        self.sent.clear();
        for (from, to) in self.sources.iter().zip(&self.runs) {
            drive.table.borrow_mut().begin_program(to.lun, to.block);
            let row = |run: &Run| drive.shape.row(run.lun, run.block, run.page);
            let tag = drive.submit(FlashRequest::copy_back(to.lun, row(from), row(to)));
            self.sent.push(Sent { tag, targets: 1 });
        }
        let (pages, page_bytes) = (self.runs.len() as u64, u64::from(drive.config.geometry.page_bytes));
        drive.count(|s| {
            s.flash_reads.host += pages;
            s.flash_programs.host += pages;
            s.flash_bytes_written += page_bytes * pages;
        });
    }
    /// Waits until nothing of the sources is being programmed or erased.
    async fn wait_for_sources(&self) {
        let drive = &self.drive;
        for run in &self.sources {
            let settled =
                || (!drive.table.borrow().get(run.lun, run.block).is_changing(run.page)).then_some(());
            drive.ended[run.lun.index()].wait(drive.exec(), settled).await;
        }
    }
    /// Reads the sources, `together` pages at a time, into the buffers behind those of the runs, and moves
    /// their sectors to the runs' buffers.
    async fn gather(&mut self, together: usize) -> Unread {
        let drive = Rc::clone(&self.drive);
        let mut unread = Unread::default();
        for first in (0..self.sources.len()).step_by(together) {
            let count = together.min(self.sources.len() - first);
            self.sent.clear();
            let pages = self.sources[first..][..count].iter().zip(&self.buffers[self.runs.len()..]);
            let pages = pages.map(|(run, buffer)| drive.page_of(run, *buffer));
            drive.submit_all(FlashOp::Read, Flags::default(), pages, &mut self.sent);
            drive.count(|s| s.flash_reads.host += count as u64);
            let mut of = 0..count;
            for sent in &self.sent {
                for (outcome, n) in drive.finished_all(*sent).await.zip(of.by_ref()) {
                    let source = self.sources[first + n];
                    let mode = VectorMode { metadata: true, ..Default::default() };
                    let bad = source.mask_of(bad_sectors(&outcome, mode));
                    match outcome.erased {
                        true => unread.empty |= bad,
                        false => unread.lost |= bad,
                    }
                    if bad == 0 {
                        self.move_sectors(n, &source);
                    }
                }
            }
        }
        unread
    }
    /// Moves the sectors of a source, which are in the `n`-th buffer behind those of the runs.
    fn move_sectors(&self, n: usize, source: &Run) {
        let from = self.buffers[self.runs.len() + n];
        let buffers = &mut *self.drive.dram.borrow_mut();
        let len = buffers.content_of(from).sector_len();
        let mut sector = [0; SECTOR_BYTES];
        for address in source.first..source.first + source.sectors.count {
            let at = usize::from(source.sectors.first + address - source.first);
            let (run, to) = self
                .runs
                .iter()
                .zip(&self.buffers)
                .rfind(|(run, _)| run.first <= address)
                .expect("each source has a destination");
            let into = usize::from(run.sectors.first + address - run.first);
            sector[..len].copy_from_slice(&buffers.page(from)[at * len..][..len]);
            let beside: [u8; BYTES] = metadata_of(buffers.oob(from), at);
            buffers.page_mut(*to)[into * len..][..len].copy_from_slice(&sector[..len]);
            metadata_at(buffers.oob_mut(*to), into).copy_from_slice(&beside);
        }
    }
}
