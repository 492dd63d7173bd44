//! Accesses of the host to registers that come as calls and that firmware answers (S3): one after the
//! other, in the order in which they have arrived, each at a cost of the core's time.

use super::time::CoreTime;
use crate::frontend::NvmeFrontEnd;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use aster_events::Function;
use aster_exec::{Exec, WaitCell};
use aster_parties::{BarRead, POSTED_WRITES, ReadTag};
use core::cell::{Cell, RefCell};

/// Reads that the host may have outstanding. One more is answered by all ones, as one that nobody answers.
pub(super) const READS: usize = 32;

enum Kind {
    Read(ReadTag),
    Write(u64),
}

struct Access {
    offset: u32,
    size: u8,
    kind: Kind,
}

/// The accesses that have arrived, and the answers that nobody has taken.
pub(super) struct Registers {
    exec: Exec,
    time: CoreTime,
    cycles: u64,
    front: Rc<NvmeFrontEnd>,
    /// At most [`READS`] reads, and the writes that the host may have under way: run modes let it wait where
    /// there are many ([`FrontEnd::writes_waiting`](aster_parties::FrontEnd::writes_waiting)).
    arrived: RefCell<VecDeque<Access>>,
    wait: WaitCell,
    /// At most [`READS`], the oldest first.
    reads: RefCell<VecDeque<(ReadTag, Option<u64>)>>,
    next: Cell<u32>,
    resets: Cell<u32>,
}

impl Registers {
    /// The registers of `front`. Each access costs `cycles`.
    pub(super) fn new(exec: &Exec, time: CoreTime, cycles: u64, front: &Rc<NvmeFrontEnd>) -> Self {
        Registers {
            exec: exec.clone(),
            time,
            cycles,
            front: Rc::clone(front),
            arrived: RefCell::new(VecDeque::with_capacity(READS + POSTED_WRITES)),
            wait: WaitCell::default(),
            reads: RefCell::new(VecDeque::with_capacity(READS)),
            next: Cell::new(0),
            resets: Cell::new(0),
        }
    }
    /// A read has arrived.
    pub(super) fn read(&self, offset: u32, size: u8) -> BarRead {
        let mut reads = self.reads.borrow_mut();
        if reads.len() == READS {
            // Its host may have given it up.
            let Some(answered) = reads.iter().position(|(_, answer)| answer.is_some()) else {
                return BarRead::Now(u64::MAX);
            };
            reads.remove(answered);
        }
        let tag = ReadTag(self.next.get());
        self.next.set(tag.0.wrapping_add(1));
        reads.push_back((tag, None));
        drop(reads);
        self.arrive(Access { offset, size, kind: Kind::Read(tag) });
        BarRead::Later(tag)
    }
    /// A write has arrived.
    pub(super) fn write(&self, offset: u32, size: u8, value: u64) {
        self.arrive(Access { offset, size, kind: Kind::Write(value) });
    }
    fn arrive(&self, access: Access) {
        self.arrived.borrow_mut().push_back(access);
        self.wait.wake(&self.exec);
    }
    /// See [`FrontEnd::writes_waiting`](aster_parties::FrontEnd::writes_waiting).
    pub(super) fn writes_waiting(&self) -> usize {
        self.arrived.borrow().iter().filter(|access| matches!(access.kind, Kind::Write(_))).count()
    }
    /// See [`FrontEnd::take_read`](aster_parties::FrontEnd::take_read).
    pub(super) fn take_read(&self, tag: ReadTag) -> Option<u64> {
        let mut reads = self.reads.borrow_mut();
        let Some(at) = reads.iter().position(|(number, _)| *number == tag) else { return Some(u64::MAX) };
        let answer = reads[at].1?;
        reads.remove(at);
        Some(answer)
    }
    /// A function-level reset: what has arrived has no effect any more, and reads are answered by all ones.
    pub(super) fn reset(&self) {
        self.resets.set(self.resets.get().wrapping_add(1));
        self.arrived.borrow_mut().clear();
        self.reads.borrow_mut().iter_mut().for_each(|(_, answer)| *answer = answer.or(Some(u64::MAX)));
    }

    fn carry_out(&self) {
        let next = self.arrived.borrow_mut().pop_front();
        match next {
            None => {}
            Some(Access { offset, size, kind: Kind::Write(value) }) => {
                self.front.mmio_write(offset, size, value);
            }
            Some(Access { offset, size, kind: Kind::Read(tag) }) => {
                let value = self.front.mmio_read(offset, size);
                let mut reads = self.reads.borrow_mut();
                if let Some((_, answer)) = reads.iter_mut().find(|(number, _)| *number == tag) {
                    *answer = Some(value);
                }
            }
        }
    }
}

/// Serves the accesses. Those that come without a pause leave the core's other tasks their turns.
pub(super) async fn serve(registers: Rc<Registers>) {
    loop {
        let arrived = || (!registers.arrived.borrow().is_empty()).then_some(());
        registers.wait.wait(&registers.exec, arrived).await;
        let resets = registers.resets.get();
        registers.time.spend(Function::NvmeSoftware, registers.cycles).await;
        // A reset has taken away what the cycles were for.
        if resets == registers.resets.get() {
            registers.carry_out();
        }
        if !registers.arrived.borrow().is_empty() {
            registers.time.give_way().await;
        }
    }
}
