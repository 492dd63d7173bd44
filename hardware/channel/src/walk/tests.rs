//! Kept plans against planning each transaction anew, which is the slow twin: random transactions with
//! shapes, in random order, on two planners, of which one is never told a shape.

use super::*;
use crate::timing::{BusTiming, EngineClock};
use aster_ports::layout::{PageLayout, Placement};
use aster_ports::resource::Bandwidth;
use aster_txn::{Direction, Form};
use aster_units::{BufferId, Column, RowAddr, SectorRange};
use aster_wire::onfi::{DataInterface, Timing, command};
use proptest::prelude::*;

const LAYOUTS: [Placement; 2] = [Placement::Spare, Placement::Interleaved];
const SECTORS: u8 = 4;

fn table((interface, mode): (DataInterface, u8)) -> CycleTable {
    let bus = BusTiming::of_onfi(&Timing::of(interface, mode).unwrap(), Duration::from_nanos(300));
    CycleTable::new(&bus, &EngineClock::default()).unwrap()
}

/// Builds what software builds of this form, on row `row`.
fn build(txn: &mut Txn, layout: &PageLayout, form: Form, sectors: SectorRange, row: u32, way: usize) {
    let (row, buffer) = (RowAddr(row), BufferId(row % 7));
    txn.begin("known", 1 << way);
    let read = |txn: &mut Txn| {
        txn.cmd(command::READ).col_row(Column(0), row).cmd(command::READ_CONFIRM);
    };
    let transfer = |txn: &mut Txn| {
        txn.describe(Descriptor::page(Direction::Out, buffer, sectors));
        for span in layout.bursts(sectors).as_slice() {
            txn.cmd(command::CHANGE_READ_COLUMN).column(span.column);
            txn.cmd(command::CHANGE_READ_COLUMN_CONFIRM).data_read(span.length);
        }
    };
    match form {
        Form::Status => {
            txn.cmd(command::READ_STATUS).describe(Descriptor::mailbox_out()).data_read(1);
        }
        Form::StatusEnhanced => {
            txn.cmd(command::READ_STATUS_ENHANCED).row(row).timer(Duration::from_nanos(120));
            txn.describe(Descriptor::mailbox_out()).data_read(1);
        }
        Form::Read => read(txn),
        Form::Transfer => transfer(txn),
        Form::TransferThenRead => {
            transfer(txn);
            read(txn);
        }
        Form::Program => {
            let mut data = Descriptor::page(Direction::In, buffer, SectorRange::whole(SECTORS));
            data.immediate = u64::from(row.0);
            txn.cmd(command::PROGRAM).col_row(Column(0), row).describe(data);
            txn.data_write(layout.whole().length).cmd(command::PROGRAM_CONFIRM);
        }
        _ => {
            txn.cmd(command::ERASE).row(row).cmd(command::ERASE_CONFIRM);
        }
    }
    txn.end();
}

const FORMS: [Form; 7] = [
    Form::Status,
    Form::StatusEnhanced,
    Form::Read,
    Form::Transfer,
    Form::TransferThenRead,
    Form::Program,
    Form::Erase,
];

proptest! {
    #[test]
    fn a_kept_plan_is_the_one_made_anew(
        rate in prop_oneof![Just(0u64), 50_000_000..6_000_000_000u64],
        placement in 0usize..2,
        // Form, first sector and how many, table, row, way, nanoseconds to the next.
        drawn in prop::collection::vec(
            ((0usize..7, 0u8..SECTORS, 1u8..=SECTORS), 0usize..2, 0u32..10_000, 0usize..4, 0u64..60_000),
            1..60,
        ),
    ) {
        let layout = PageLayout::new(SECTORS, 18_048, 256, 21, 16, LAYOUTS[placement]).unwrap();
        let tables = [table((DataInterface::Sdr, 0)), table((DataInterface::NvDdr2, 5))];
        // The fourth way isn't there.
        let bounds = Bounds { ways: 3, longest_burst: 18_048 };
        let memory = || MemoryWays::from(Bandwidth::new(rate));
        let (of_fast, of_slow) = (memory(), memory());
        let (mut fast, mut slow) = (Planner::new(), Planner::new());
        let (mut txn, mut start) = (Txn::default(), Instant::ZERO);
        for ((form, first, count), number, row, way, later) in drawn {
            let (form, sectors) = (FORMS[form], SectorRange { first, count: count.min(SECTORS - first) });
            build(&mut txn, &layout, form, sectors, row, way);
            let anew = slow.make(&txn, (number, &tables[number]), start, &bounds, &of_slow);
            let is_planned_anew = matches!(slow.current, Current::Own { .. });
            prop_assert!(is_planned_anew);
            txn.shaped(Shape::new(form, sectors));
            let made = fast.make(&txn, (number, &tables[number]), start, &bounds, &of_fast);
            prop_assert_eq!(made, anew);
            if made.is_ok() {
                let (kept, own) = (fast.plan(), slow.plan());
                prop_assert_eq!(kept.cycles, own.cycles);
                for (index, op) in txn.ops().iter().enumerate() {
                    let (kept, own) = (kept.steps[index], own.steps[index]);
                    match op {
                        Op::Timer(_) => {}
                        Op::Command(_) | Op::Addresses(_) => prop_assert_eq!(kept.first, own.first),
                        _ => prop_assert_eq!((kept.first, kept.last), (own.first, own.last)),
                    }
                }
            } else {
                prop_assert_eq!(made, Err(TxnError::Chip));
            }
            prop_assert_eq!(of_fast.read.moved(), of_slow.read.moved());
            start += Duration::from_nanos(later);
        }
        prop_assert!(fast.kept.len() <= KEPT);
    }
}

/// Shapes that come when no more plans are kept are planned each time, as those are that have too many steps.
#[test]
fn what_finds_no_room_is_planned_each_time() {
    let table = table((DataInterface::Sdr, 0));
    let (bounds, memory) = (Bounds { ways: 1, longest_burst: 100 }, MemoryWays::from(Bandwidth::new(0)));
    let (mut planner, mut txn) = (Planner::new(), Txn::default());
    let mut made = |latches: usize, shape: Shape| {
        txn.begin("many", 1);
        (0..latches).for_each(|_| {
            txn.cmd(command::READ_STATUS);
        });
        txn.end().shaped(shape);
        let over = planner.make(&txn, (0, &table), Instant::ZERO, &bounds, &memory).unwrap().over;
        (over, matches!(planner.current, Current::Kept(_)))
    };
    let (of_one, is_kept) = made(1, Shape::of(Form::Status));
    assert!(is_kept);
    let (of_many, is_kept) = made(KEPT_STEPS + 1, Shape::of(Form::Erase));
    assert!(!is_kept);
    assert_eq!(of_many - of_one, u64::from(table.latch) * KEPT_STEPS as u64);
    let pages = (0..16).flat_map(|first| (1..=16).map(move |count| SectorRange { first, count }));
    let kept = pages.filter(|sectors| made(1, Shape::new(Form::Transfer, *sectors)).1).count();
    assert_eq!(kept, KEPT - 1);
    assert_eq!(made(2, Shape::of(Form::Program)), (of_one + u64::from(table.latch), false));
}
