//! The transport over operations of the drive's link.

use super::asker::{Asker, Ended, Reader};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_exec::Exec;
use aster_ports::host::DmaDirection;
use aster_ports::link::{BadAddress, LinkOp, LinkPort, Local, MAX_SEGMENTS, Segment};
use core::cell::RefCell;

/// Operations of the drive's link, one for one, as a DMA engine carries them out.
pub(super) struct Operations {
    exec: Exec,
    link: Rc<LinkPort>,
    /// By token.
    askers: RefCell<Vec<Option<Asker>>>,
    free: RefCell<Vec<u32>>,
    /// By number of the task.
    readers: Box<[Reader]>,
}

impl Operations {
    /// `operations` at a time on `link`, for `tasks` tasks.
    pub(super) fn new(exec: &Exec, link: &Rc<LinkPort>, operations: usize, tasks: usize) -> Self {
        Operations {
            exec: exec.clone(),
            link: Rc::clone(link),
            askers: RefCell::new((0..operations).map(|_| None).collect()),
            free: RefCell::new((0..operations as u32).rev().collect()),
            readers: (0..tasks).map(|_| Reader::default()).collect(),
        }
    }

    fn push(&self, asker: Asker, direction: DmaDirection, local: Local, host: ([Segment; MAX_SEGMENTS], u8)) {
        let token = self.free.borrow_mut().pop().expect("as many operations as the front end asked for");
        self.askers.borrow_mut()[token as usize] = Some(asker);
        let ((segments, count), epoch) = (host, self.link.epoch());
        self.link.push(LinkOp::Dma { direction, local, segments, count, token, epoch });
    }

    /// Begins a DMA that the controller asked for.
    pub(super) fn begin(&self, op: LinkOp) {
        let LinkOp::Dma { direction, local, segments, count, .. } = op else {
            unreachable!("a message is no DMA")
        };
        self.push(Asker::Controller(op), direction, local, (segments, count));
    }
    /// Reads host memory for task `task`, and waits until it is there.
    ///
    /// # Errors
    /// When host memory can't be reached, or a reset has come between.
    pub(super) async fn read(&self, task: u32, from: Segment, local: Local) -> Result<(), BadAddress> {
        let mut segments = [Segment::default(); MAX_SEGMENTS];
        segments[0] = from;
        let reader = &self.readers[task as usize];
        self.push(Asker::Task(task), DmaDirection::FromHost, local, (segments, 1));
        reader.wait(&self.exec).await
    }
    /// Sends a message. It follows what was sent to the host before.
    pub(super) fn message(&self, vector: u16) {
        self.link.push(LinkOp::Interrupt { vector });
    }

    /// Takes the next answer that is the controller's; tasks get theirs.
    pub(super) fn next_ended(&self) -> Option<Ended> {
        loop {
            let (token, _, result) = self.link.next_answer()?;
            self.free.borrow_mut().push(token);
            match self.askers.borrow_mut()[token as usize].take().expect("an answer to what was asked") {
                Asker::Controller(op) => return Some(Ended { op, result }),
                Asker::Task(task) => self.readers[task as usize].answer(&self.exec, result),
            }
        }
    }
    /// The host's memory is no longer the drive's: what is on its way ends without being carried out.
    pub(super) fn forget_host(&self) {
        self.link.raise_epoch();
    }
}
