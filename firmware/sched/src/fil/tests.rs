//! One test per rule of the interface layer's order (P33), and bounds under random work.

use super::queues::{PASSED_MAX, QUEUES, QueueKind, Transaction, TransactionId, Work};
use super::turns::{DieState, FilState, FilStep, Turns};
use super::vector::{Chips, DieIndex};
use aster_ports::flash::FlashSource;
use aster_units::{BlockAddr, Duration, Instant, PageInBlock, Rng};
use std::vec;
use std::vec::Vec;

/// Two channels with two chips of two dies each.
const CHIPS: Chips = Chips { channels: 2, ways: 2, dies: 2 };
const NOW: Instant = Instant::ZERO;
/// Of one chip; then of the channel's other chip, and of the other channel.
const A: DieIndex = DieIndex(0);
const B: DieIndex = DieIndex(1);
const OTHER_CHIP: DieIndex = DieIndex(2);
const OTHER_CHANNEL: DieIndex = DieIndex(4);

struct Layer {
    state: FilState,
    turns: Turns,
    ids: u32,
}

impl Layer {
    fn new() -> Self {
        Layer { state: FilState::new(CHIPS, 4096), turns: Turns::new(CHIPS), ids: 0 }
    }
    /// Something new for a block of its own.
    fn push(&mut self, die: DieIndex, work: Work, source: FlashSource) -> TransactionId {
        self.push_for(die, work, source, BlockAddr(self.ids))
    }
    fn push_for(
        &mut self,
        die: DieIndex,
        work: Work,
        source: FlashSource,
        block: BlockAddr,
    ) -> TransactionId {
        // Every page has a plane and a number of its own, so that nothing goes together.
        let (plane, page) = ((self.ids % 2) as u8, PageInBlock(self.ids as u16));
        self.push_page(Transaction { work, source, die, block, plane, page, alone: false })
    }
    fn push_page(&mut self, transaction: Transaction) -> TransactionId {
        let id = TransactionId(self.ids);
        self.ids += 1;
        self.state.push(id, transaction);
        id
    }
    /// Begins the next command, which must be `id`, and returns what joins it.
    fn joined(&mut self, id: TransactionId) -> Vec<TransactionId> {
        let Some(FilStep::Command(die, kind, next)) = self.next() else { panic!("a command is next") };
        assert_eq!(next, id);
        let mut taken = vec![self.state.queues.transaction(id)];
        self.state.begin(FilStep::Command(die, kind, id), true);
        self.state.passed(die);
        let mut found = Vec::new();
        while let Some((id, joins)) = self.state.join(&taken) {
            taken.push(joins);
            found.push(id);
        }
        self.state.executes(die, Instant::MAX);
        self.state.ended(die);
        found
    }
    fn next(&self) -> Option<FilStep> {
        self.turns.next(&self.state, NOW)
    }
    /// Begins what is next; what it puts on the channel has passed at once.
    fn step(&mut self) -> Option<FilStep> {
        let step = self.next()?;
        self.turns.took(&self.state, step);
        self.state.begin(step, true);
        self.state.passed(step.die());
        match step {
            FilStep::Command(die, ..) | FilStep::Status(die) => self.state.executes(die, Instant::MAX),
            FilStep::Transfer(die) => self.state.ended(die),
        }
        Some(step)
    }
    /// The transaction of the next command, which ends at once.
    fn command(&mut self) -> Option<TransactionId> {
        let step = self.step()?;
        let FilStep::Command(die, _, id) = step else { panic!("{step:?} is no command") };
        self.state.ended(die);
        Some(id)
    }
    fn commands(&mut self) -> Vec<TransactionId> {
        core::iter::from_fn(|| self.command()).collect()
    }
}

use FlashSource::{Gc, Mapping, User};
use Work::{Erase, Program, Read};

#[test]
fn mapping_goes_before_user_before_collection() {
    for work in [Read, Program] {
        let mut layer = Layer::new();
        let [gc, user, mapping] = [Gc, User, Mapping].map(|source| layer.push(A, work, source));
        assert_eq!(layer.commands(), [mapping, user, gc], "{work:?}");
    }
}

#[test]
fn reads_go_before_programs_before_erases() {
    let mut layer = Layer::new();
    let [erase, program, read] = [Erase, Program, Read].map(|work| layer.push(A, work, Mapping));
    let user = layer.push(A, Read, User);
    assert_eq!(layer.commands(), [read, user, program, erase], "even a read of lower priority");
}

#[test]
fn a_queue_keeps_the_order_of_arrival_over_the_dies_of_its_chip() {
    let mut layer = Layer::new();
    let order = [B, A, A, B].map(|die| layer.push(die, Erase, User));
    assert_eq!(layer.commands(), order);
}

#[test]
fn what_waits_for_a_busy_die_holds_up_nothing_for_another() {
    let mut layer = Layer::new();
    layer.push(A, Program, User);
    layer.step();
    layer.push(A, Program, User);
    let other = layer.push(B, Program, User);
    assert_eq!(layer.command(), Some(other));
    assert_eq!(layer.next(), None, "the die is busy");
}

#[test]
fn reads_of_collection_wait_while_programs_of_the_host_do() {
    let mut layer = Layer::new();
    layer.push(A, Program, User);
    layer.step();
    layer.push(A, Program, User);
    let read = layer.push(B, Read, Gc);
    assert_eq!(layer.next(), None, "although its die is idle");
    layer.state.ended(A);
    layer.step();
    assert_eq!(layer.command(), Some(read), "no program waits any more");
    let elsewhere = layer.push(OTHER_CHIP, Read, Gc);
    layer.push(A, Program, User);
    assert_eq!(layer.command(), Some(elsewhere), "another chip's programs are no matter");
}

#[test]
fn a_program_waits_while_another_die_of_its_chip_reads() {
    let mut layer = Layer::new();
    layer.push(B, Read, User);
    layer.step();
    let program = layer.push(A, Program, User);
    let erase = layer.push(A, Erase, User);
    assert_eq!(layer.command(), Some(erase), "an erase doesn't");
    assert_eq!(layer.next(), None);
    layer.state.loaded(B);
    let transfer = layer.next().expect("the data go out");
    assert_eq!(transfer, FilStep::Transfer(B));
    layer.turns.took(&layer.state, transfer);
    layer.state.begin(transfer, true);
    layer.state.passed(B);
    assert_eq!(layer.next(), None, "while the data go out, too");
    layer.state.ended(B);
    assert_eq!(layer.command(), Some(program));
}

#[test]
fn what_has_been_read_goes_out_before_a_new_command_starts() {
    let mut layer = Layer::new();
    layer.push(A, Read, Gc);
    layer.step();
    layer.state.loaded(A);
    layer.push(OTHER_CHIP, Read, Mapping);
    assert_eq!(layer.step(), Some(FilStep::Transfer(A)));
    assert!(matches!(layer.next(), Some(FilStep::Command(OTHER_CHIP, ..))));
}

#[test]
fn a_status_is_asked_for_when_it_is_due_and_the_channel_has_nothing_else_to_carry() {
    let mut layer = Layer::new();
    layer.push(A, Program, User);
    layer.step();
    let at = NOW + Duration::from_micros(5);
    layer.state.begin(FilStep::Status(A), true);
    layer.state.passed(A);
    layer.state.executes(A, at);
    assert_eq!((layer.next(), layer.state.next_poll()), (None, Some(at)));
    assert_eq!(layer.turns.next(&layer.state, at), Some(FilStep::Status(A)));
    layer.push(OTHER_CHIP, Erase, Gc);
    let instead = layer.turns.next(&layer.state, at);
    assert!(matches!(instead, Some(FilStep::Command(OTHER_CHIP, ..))), "{instead:?}");
}

#[test]
fn nothing_starts_on_a_busy_channel() {
    let mut layer = Layer::new();
    layer.push(A, Program, User);
    let step = layer.next().expect("a command");
    layer.state.begin(step, true);
    layer.turns.took(&layer.state, step);
    layer.push(OTHER_CHIP, Program, User);
    assert_eq!(layer.next(), None);
    layer.push(OTHER_CHANNEL, Program, User);
    assert_eq!(layer.next().map(|step| step.die()), Some(OTHER_CHANNEL));
    layer.state.passed(A);
    layer.state.executes(A, NOW);
    layer.step();
    assert_eq!(layer.next().map(|step| step.die()), Some(OTHER_CHIP));
}

#[test]
fn channels_and_the_chips_of_a_channel_take_turns() {
    let mut layer = Layer::new();
    for _ in 0..3 {
        for die in [A, OTHER_CHIP, OTHER_CHANNEL, DieIndex(6)] {
            layer.push(die, Erase, User);
        }
    }
    let dies: Vec<_> = core::iter::from_fn(|| {
        let step = layer.step()?;
        layer.state.ended(step.die());
        Some(step.die().0)
    })
    .collect();
    assert_eq!(dies, [0, 4, 2, 6, 0, 4, 2, 6, 0, 4, 2, 6]);
}

#[test]
fn programs_and_erases_of_a_block_keep_their_order_whoever_asks() {
    let mut layer = Layer::new();
    let block = BlockAddr(9);
    let order = [(Program, User), (Erase, Gc), (Program, Mapping), (Erase, User), (Program, Gc)]
        .map(|(work, source)| layer.push_for(A, work, source, block));
    let of_others = layer.push(A, Program, Mapping);
    let found = layer.commands();
    let ours: Vec<_> = found.iter().copied().filter(|&id| id != of_others).collect();
    assert_eq!(ours, order);
    assert_eq!(found[0], of_others, "those of other blocks go by their priority");
}

#[test]
fn what_has_been_passed_over_often_enough_goes_next_whatever_the_order() {
    let mut layer = Layer::new();
    let erase = layer.push(A, Erase, Gc);
    let read = layer.push(A, Read, Gc);
    let mut before = 0;
    loop {
        // Programs of the host never end, and a read for the host waits as well.
        layer.push(A, Read, User);
        layer.push(A, Program, User);
        let id = layer.command().expect("something waits");
        if id == erase {
            break;
        }
        before += 1;
    }
    assert_eq!(before, PASSED_MAX, "neither earlier nor later");
    assert_eq!(layer.command(), Some(read), "the next that is overdue");
}

/// A page of die A by itself: its block is the only one of its plane.
fn page(work: Work, plane: u8, page: u16) -> Transaction {
    let block = BlockAddr(u32::from(plane));
    Transaction { work, source: User, die: A, block, plane, page: PageInBlock(page), alone: false }
}

#[test]
fn the_same_page_of_other_planes_goes_together() {
    for work in [Read, Program, Erase] {
        let mut layer = Layer::new();
        let ids = [0, 1, 2].map(|plane| layer.push_page(page(work, plane, 5)));
        let next = layer.push_page(page(work, 0, 6));
        assert_eq!(layer.joined(ids[0]), ids[1..], "{work:?}");
        assert_eq!(layer.joined(next), [], "nothing is left");
        assert!(layer.state.is_idle());
    }
}

#[test]
fn what_differs_in_page_plane_die_or_work_goes_by_itself() {
    let first = page(Program, 0, 5);
    let others = [
        page(Program, 1, 6),
        page(Program, 0, 5),
        page(Read, 1, 5),
        Transaction { die: B, ..page(Program, 1, 5) },
        Transaction { alone: true, ..page(Program, 1, 5) },
    ];
    for other in others {
        assert!(!first.goes_with(&other) && !other.goes_with(&first), "{other:?}");
        let mut layer = Layer::new();
        let id = layer.push_page(first);
        layer.push_page(other);
        if other.work != Read {
            assert_eq!(layer.joined(id), [], "{other:?}");
        }
    }
    // Erases are of blocks, whatever page their row names.
    assert!(page(Erase, 0, 5).goes_with(&page(Erase, 1, 6)));
}

#[test]
fn a_queue_keeps_its_order_when_others_join() {
    let mut layer = Layer::new();
    let first = layer.push_page(page(Program, 0, 5));
    let before = layer.push_page(page(Program, 1, 4));
    let same = layer.push_page(page(Program, 1, 5));
    assert_eq!(layer.joined(first), [], "page 5 of plane 1 waits behind page 4");
    assert_eq!(layer.joined(before), []);
    assert_eq!(layer.joined(same), []);
    // The heads of other queues join as well.
    let user = layer.push_page(page(Program, 0, 7));
    let gc = layer.push_page(Transaction { source: Gc, ..page(Program, 1, 7) });
    assert_eq!(layer.joined(user), [gc]);
}

#[test]
fn reads_of_collection_join_only_where_they_might_go_by_themselves() {
    let mut layer = Layer::new();
    let read = layer.push_page(page(Read, 0, 5));
    layer.push_page(Transaction { source: Gc, ..page(Read, 1, 5) });
    layer.push_page(page(Program, 2, 5));
    assert_eq!(layer.joined(read), [], "a program of the host waits");
}

/// Under any work: a head waits for at most [`PASSED_MAX`] commands of its chip, plus those that are
/// overdue themselves; all work ends; a die does one thing at a time, and so does a channel.
#[test]
fn under_random_work_nothing_waits_for_ever() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let mut layer = Layer::new();
        let mut now = NOW;
        // When a die's array is done, and when what it has on its channel has passed.
        let mut done: [Option<Instant>; 8] = [None; 8];
        let mut waits = std::collections::BTreeMap::new();
        let (mut ended, mut longest) = (0, 0);
        let after = |now: Instant, rng: &mut Rng| now + Duration::from_micros(1 + rng.below(20));
        while ended < 1_000 {
            while layer.ids < 1_000 && rng.below(3) > 0 {
                let work = [Read, Read, Program, Program, Erase][rng.below(5) as usize];
                let source = FlashSource::ALL[rng.below(3) as usize];
                let block = BlockAddr(rng.below(12) as u32);
                let die = DieIndex(rng.below(if seed % 2 == 0 { 8 } else { 3 }) as u32);
                let id = layer.push_for(die, work, source, block);
                waits.insert(id.0, (die, 0));
            }
            while let Some(step) = layer.turns.next(&layer.state, now) {
                layer.turns.took(&layer.state, step);
                layer.state.begin(step, rng.below(2) == 0);
                if let FilStep::Command(die, _, id) = step {
                    let (of, passed) = waits.remove(&id.0).expect("it waited");
                    assert_eq!(of, die);
                    longest = longest.max(passed);
                    for kind in QueueKind::ALL {
                        for of in CHIPS.dies_of(CHIPS.chip(die)) {
                            if of != die && layer.state.die(of) != DieState::Idle {
                                continue;
                            }
                            if let Some(head) = layer.state.queues.head(of, kind) {
                                waits.get_mut(&head.0).expect("it waits").1 += 1;
                            }
                        }
                    }
                }
                done[step.die().at()] = Some(after(now, &mut rng));
            }
            let next = done.iter().flatten().copied().chain(layer.state.next_poll()).min();
            now = next.unwrap_or(now).max(now);
            for die in (0..8).map(DieIndex) {
                if done[die.at()].is_none_or(|at| at > now) {
                    continue;
                }
                done[die.at()] = None;
                layer.state.passed(die);
                match layer.state.die(die) {
                    DieState::Commanded(_) => layer.state.executes(die, after(now, &mut rng)),
                    DieState::Asked(_) if rng.below(2) == 0 => {
                        layer.state.executes(die, after(now, &mut rng))
                    }
                    DieState::Asked(Read) => layer.state.loaded(die),
                    DieState::Asked(_) | DieState::Moving => {
                        layer.state.ended(die);
                        ended += 1;
                    }
                    other => panic!("{other:?} has nothing under way"),
                }
            }
        }
        assert!(layer.state.is_idle() && waits.is_empty() && layer.state.at_work().next().is_none());
        let overdue_at_once = QUEUES as u32 * u32::from(CHIPS.dies);
        assert!(longest <= PASSED_MAX + overdue_at_once, "seed {seed}: {longest}");
    }
}
