//! The read path as a task per slot: what it waits for stands where it waits (S13). The same source runs on
//! the executor's stack and on stacks of its own.

use crate::ports::{ATTEMPTS, Ports, Request, Row, Slots};
use aster_exec::{Exec, WaitCell, WaitQueue};
use std::cell::Cell;
use std::rc::Rc;

/// Where the tasks wait.
pub struct Waits {
    exec: Exec,
    /// One per slot: whether its operation has ended, and the task that waits for it.
    slots: Vec<(Cell<bool>, WaitCell)>,
    /// One per row of the map: tasks that wait until somebody has read it.
    rows: Vec<WaitQueue>,
}

impl Waits {
    pub fn new(exec: &Exec, slots: u32, rows: u32) -> Rc<Self> {
        Rc::new(Waits {
            exec: exec.clone(),
            slots: (0..slots).map(|_| Default::default()).collect(),
            rows: (0..rows).map(|_| WaitQueue::with_capacity(slots as usize)).collect(),
        })
    }
}

impl Slots for Waits {
    fn ended(&self, slot: u32) {
        let (ended, task) = &self.slots[slot as usize];
        ended.set(true);
        task.wake(&self.exec);
    }
}

/// The task of a slot.
pub struct Worker {
    pub ports: Rc<Ports>,
    pub waits: Rc<Waits>,
    pub slot: u32,
}

impl Worker {
    pub async fn run(self) {
        while let Some(request) = self.ports.fetch(self.slot) {
            let is_good = self.serve(request).await;
            self.ports.complete(self.slot, is_good);
        }
    }

    async fn serve(&self, request: Request) -> bool {
        let place = self.look_up(request).await;
        if !self.read(place).await {
            return false;
        }
        for sector in 0..request.sectors {
            self.ports.transfer(self.slot, sector);
            self.ended().await;
        }
        true
    }

    async fn look_up(&self, request: Request) -> u32 {
        let row = request.row();
        loop {
            match self.ports.row(row) {
                Row::Present => return self.ports.place(request.page),
                Row::Reading => {
                    let read = || (self.ports.row(row) != Row::Reading).then_some(());
                    self.waits.rows[row as usize].wait(&self.waits.exec, read).await;
                }
                Row::Absent => {
                    self.ports.read_row(self.slot, row);
                    self.ended().await;
                    self.ports.fill(row);
                    self.waits.rows[row as usize].wake_all(&self.waits.exec);
                }
            }
        }
    }

    async fn read(&self, place: u32) -> bool {
        for attempt in 0..ATTEMPTS {
            self.ports.read_page(self.slot, place);
            self.ended().await;
            if self.ports.is_good(self.slot, attempt) {
                return true;
            }
        }
        false
    }

    async fn ended(&self) {
        let (ended, task) = &self.waits.slots[self.slot as usize];
        task.wait(&self.waits.exec, || ended.replace(false).then_some(())).await;
    }
}
