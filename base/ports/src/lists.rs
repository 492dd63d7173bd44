//! Lists of a command that firmware has the front end fetch, in the order of the commands (C85, C86).
//!
//! The front end can't fetch such a list by itself: the command comes to the firmware first, the firmware
//! asks for the DMA and waits for its end. Then the front end decodes the command further, and hands it over.

use alloc::boxed::Box;
use aster_exec::Fifo;
use core::cell::{Cell, RefCell};

/// A command whose list the firmware has not asked for yet.
#[derive(Clone, Copy)]
struct Ticket {
    /// Its slot.
    command: u16,
    /// How many commands had been handed over before it.
    behind: u64,
}

/// The lists of a [command port](crate::host::CommandPort).
pub(crate) struct Lists {
    managed: Cell<bool>,
    tickets: RefCell<Fifo<Ticket>>,
    handed_over: Cell<u64>,
    taken: Cell<u64>,
    asked: Cell<Option<u16>>,
    ended: Cell<bool>,
    /// Whether each slot's command has been with the firmware for its list.
    known: Box<[Cell<bool>]>,
}

impl Lists {
    pub(crate) fn new(commands: u16) -> Self {
        Lists {
            managed: Cell::new(false),
            tickets: RefCell::new(Fifo::with_capacity(usize::from(commands))),
            handed_over: Cell::new(0),
            taken: Cell::new(0),
            asked: Cell::new(None),
            ended: Cell::new(false),
            known: (0..commands).map(|_| Cell::new(false)).collect(),
        }
    }
    pub(crate) fn manage(&self) {
        self.managed.set(true);
    }
    #[inline]
    pub(crate) fn are_managed(&self) -> bool {
        self.managed.get()
    }
    /// A command has been handed over; `known` says whether the firmware has seen it before.
    #[inline]
    pub(crate) fn handed_over(&self, command: u16, known: bool) {
        self.handed_over.set(self.handed_over.get() + 1);
        self.known[usize::from(command)].set(known);
    }
    /// The firmware has taken a command.
    #[inline]
    pub(crate) fn taken(&self) {
        self.taken.set(self.taken.get() + 1);
    }
    pub(crate) fn is_known(&self, command: u16) -> bool {
        self.known[usize::from(command)].get()
    }
    /// There is always room: a command has one list at a time.
    pub(crate) fn push(&self, command: u16) {
        self.tickets.borrow_mut().push_back(Ticket { command, behind: self.handed_over.get() });
    }
    /// The next command with a list, unless commands came before it that have not been taken.
    pub(crate) fn pop(&self) -> Option<u16> {
        let mut tickets = self.tickets.borrow_mut();
        let due = tickets.front().is_some_and(|ticket| ticket.behind <= self.taken.get());
        if due { tickets.pop_front().map(|ticket| ticket.command) } else { None }
    }
    pub(crate) fn ask(&self, command: u16) {
        assert!(self.asked.replace(Some(command)).is_none(), "one list is fetched at a time");
        self.ended.set(false);
    }
    pub(crate) fn take_asked(&self) -> Option<u16> {
        self.asked.take()
    }
    pub(crate) fn end(&self) {
        assert!(!self.ended.replace(true), "a list's fetch ends once");
    }
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.get()
    }
}
