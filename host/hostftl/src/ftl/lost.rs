//! The drive may lose its power while the host goes on. Programs and erases that were on their way are lost
//! then: each was carried out in whole, in part, or not at all.

use super::flash::Done;
use super::groups::GroupPlace;
use super::shared::{Ftl, InFlight};
use alloc::rc::Rc;
use alloc::vec::Vec;

impl Ftl {
    /// Erases the blocks of a group that can be written, again if the drive loses its power meanwhile.
    pub async fn erase_surely(&self, at: GroupPlace) -> Done {
        loop {
            let ticket = self.erase(&mut self.state.borrow_mut(), at);
            let done = ticket.done(&self.exec).await;
            if !done.lost {
                return done;
            }
        }
    }
    /// The drive has lost its power and has it again. Pages that were on their way go elsewhere, and nothing
    /// more goes to the groups that were being written.
    pub fn drive_restarted(&self) {
        let state = &mut *self.state.borrow_mut();
        state.frontier.close_all(&mut state.groups);
        self.work.wake_all(&self.exec);
    }
    /// The drive takes commands again. Pages that were lost hold no data, so their groups may be emptied: the
    /// first of those pages may wait for just that.
    pub fn drive_attached(&self) {
        let losses = self.flash.losses();
        let in_flight: Vec<Rc<InFlight>> = self.state.borrow().in_flight.iter().cloned().collect();
        in_flight.iter().filter(|of| of.ticket.is_lost(losses)).for_each(|lost| self.settle(lost));
        self.work.wake_all(&self.exec);
    }
    /// Pages on their way keep no group from being emptied any more.
    pub fn settle(&self, in_flight: &InFlight) {
        if !in_flight.settled.replace(true) {
            let state = &mut *self.state.borrow_mut();
            in_flight.places().into_iter().for_each(|at| state.groups.end(at));
        }
    }
}
