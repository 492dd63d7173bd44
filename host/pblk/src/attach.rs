//! The drive may lose its power while the host goes on.
//!
//! All commands in flight are lost then: each may have been carried out in whole, in part, or not at all.
//! Reads, erases and changes of the table are sent again once the drive is back. A write isn't, since its
//! pages may be used up: it counts as failed, but no chunk is lost by it. What is on the open line is looked
//! up, as after a boot, and all that was in flight is written anew behind it, in the same order.

use crate::ftl::{Ftl, READS, WRITES};
use crate::media::{from_drive, to_drive};
use crate::shape::{LineId, SectorAddr};
use crate::told::Operation;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use aster_driver::{DriverError, FunctionBar, enumerate};
use aster_openchannel::{BlockFlags, Drive, Place, VectorError};
use aster_parties::DriveState;

/// Whether a command was lost with the drive's power.
pub(crate) fn is_lost(error: &VectorError) -> bool {
    matches!(error, VectorError::Driver(DriverError::Reset))
}

/// Brings the drive up again, each time that it has lost its power.
pub(crate) async fn run(ftl: Rc<Ftl>) {
    loop {
        ftl.attach.wait(&ftl.exec, || (!ftl.is_attached.get()).then_some(())).await;
        let restarts = ftl.restarts.get();
        let attached = ftl.attach_again().await;
        if ftl.restarts.get() != restarts {
            // It was lost once more.
            continue;
        }
        match attached {
            Ok(()) => {
                ftl.is_attached.set(true);
                ftl.attach.wake_all(&ftl.exec);
            }
            Err(why) => return ftl.fail(&why),
        }
    }
}

impl Ftl {
    /// The drive has lost its power and has it again.
    pub(crate) fn drive_restarted(&self) {
        self.restarts.set(self.restarts.get() + 1);
        self.driver.lose_drive();
        // Boot begins anew.
        if self.is_booting() {
            return;
        }
        self.is_attached.set(false);
        self.attach.wake_all(&self.exec);
        {
            // A page that a planned write names may lie behind one that was lost.
            let state = &mut *self.state.borrow_mut();
            state.is_void = true;
            state.fail_from(state.ring.taken());
        }
        self.work.wake_all(&self.exec);
    }
    pub(crate) fn is_booting(&self) -> bool {
        self.condition.get() == DriveState::Booting
    }
    /// Whether the drive has lost its power since boot began.
    pub(crate) fn has_lost_boot(&self) -> bool {
        self.restarts.get() != self.boot_began_after.get()
    }
    /// Whether a command that was lost is to be sent again.
    fn repeats(&self, error: &VectorError) -> bool {
        is_lost(error) && !self.is_failed() && !self.is_booting()
    }
    async fn attach_again(&self) -> Result<(), String> {
        let drive = self.open_drive().await?;
        if drive.identity() != self.drive().identity() {
            return Err("another drive came back than the one that was lost".to_string());
        }
        Ok(())
    }
    /// Brings the drive up.
    pub(crate) async fn open_drive(&self) -> Result<Drive<FunctionBar>, String> {
        enumerate(&*self.function).ok_or("the drive's PCI function isn't an NVMe controller")?;
        self.driver.init().await.map_err(|error| error.to_string())?;
        Drive::open(&self.driver).await.map_err(|error| error.to_string())
    }
    /// Waits until the drive can take commands, or the FTL has given up.
    async fn attached(&self) {
        if !self.is_attached.get() {
            let is_there = || (self.is_attached.get() || self.is_failed()).then_some(());
            self.attach.wait(&self.exec, is_there).await;
        }
    }

    /// Reads sectors and their metadata.
    pub(crate) async fn read(
        &self,
        sectors: &[SectorAddr],
        data: &mut [u8],
        oob: &mut [u8],
    ) -> Result<(), VectorError> {
        let places = self.places(sectors);
        loop {
            self.attached().await;
            let into = from_drive(self.config.content, data);
            self.read_issued(sectors);
            let ended = self.drive().read(READS, &places[..sectors.len()], into, oob).await;
            self.finished(Operation::Read, sectors, &ended);
            match ended {
                Err(error) if self.repeats(&error) => {}
                ended => return ended,
            }
        }
    }
    /// Writes sectors with their metadata. One that was planned before the drive lost its power is lost with
    /// it.
    pub(crate) async fn write(
        &self,
        sectors: &[SectorAddr],
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), VectorError> {
        self.attached().await;
        if self.state.borrow().is_void {
            return Err(VectorError::Driver(DriverError::Reset));
        }
        let places = self.places(sectors);
        let data = to_drive(self.config.content, data);
        self.issued(Operation::Program, sectors);
        let ended = self.drive().write(WRITES, &places[..sectors.len()], data, oob).await;
        self.finished(Operation::Program, sectors, &ended);
        ended
    }
    /// Erases a chunk.
    pub(crate) async fn erase(&self, line: LineId, lun: u32) -> Result<(), VectorError> {
        loop {
            self.attached().await;
            let chunk = [self.shape.unit(line, 0, lun)];
            self.issued(Operation::Erase, &chunk);
            let ended = self.drive().erase(WRITES, self.shape.block(line, lun)).await;
            self.finished(Operation::Erase, &chunk, &ended);
            match ended {
                Err(error) if self.repeats(&error) => {}
                // Boot begins anew, and then erases all that a format has left once more.
                Err(_) if self.is_booting() && self.has_lost_boot() => return Ok(()),
                ended => return ended,
            }
        }
    }
    /// Marks blocks as bad in the drive's table.
    pub(crate) async fn mark_grown_bad(&self, blocks: &[Place]) {
        loop {
            self.attached().await;
            match self.drive().set_table(blocks, BlockFlags::GrownBad).await {
                Err(DriverError::Reset) if !self.is_failed() => {}
                // The drive marks blocks of failed operations itself. A full table is the drive's to tell of.
                Ok(()) | Err(_) => return,
            }
        }
    }
}
