//! Aster with pieces of one's own: a flash operation, a transaction scheduler and a task scheduler (docs/schedulers.md).

use aster_device::bench::{Bench, Operation, Pattern, Work};
use aster_device::plug::{
    Arbiter, ChannelPort, Descriptor, Lun, Phase, Running, Task, TaskScheduler, TransactionClass, onfi,
};
use aster_device::profile::shipped;
use aster_device::units::{ChannelId, LunIndex};
use aster_device::{Device, Media, Pieces};
use aster_events::Recorder;
use std::cell::Cell;
use std::error::Error;
use std::rc::Rc;

/// An operation: does the package answer READ ID at address 20h with "ONFI" (ONFI 5.1, READ ID)?
async fn is_onfi(lun: Lun) -> bool {
    let mut txn = lun.txn("is it ONFI?");
    txn.cmd(onfi::command::READ_ID).addr(0x20).describe(Descriptor::mailbox_out()).data_read(4);
    let result = lun.issue(txn).finished().await;
    result.is_ok_and(|done| done.mailbox.to_le_bytes().starts_with(b"ONFI"))
}

/// A transaction scheduler: status before all else, then whoever was issued first. Counts how often that changed the order.
struct StatusFirst {
    overtakes: Rc<Cell<u32>>,
}

impl Arbiter for StatusFirst {
    fn grant(&mut self, channel: &ChannelPort, waiting: &[u16]) -> usize {
        let is_status = |slot: &u16| channel.waiting(*slot).class() == TransactionClass::Status;
        let chosen = waiting.iter().position(is_status).unwrap_or(0);
        self.overtakes.set(self.overtakes.get() + u32::from(chosen > 0));
        chosen
    }
}

/// A task scheduler: first come, first served, and at most so many operations on the drive at once, as a small power supply
/// allows.
struct PowerBudget {
    operations_max: u32,
    peak: Rc<Cell<u32>>,
}

impl TaskScheduler for PowerBudget {
    fn choose(&mut self, _: LunIndex, _: &mut dyn Iterator<Item = Phase>) -> usize {
        0
    }
    fn admits(&mut self, _: &Task, running: Running) -> bool {
        let admitted = running.drive < self.operations_max;
        if admitted {
            self.peak.set(self.peak.get().max(running.drive + 1));
        }
        admitted
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let profile = shipped("tiny")?;

    // One channel with eight LUNs, no FTL: our arbiter chooses who owns it.
    let overtakes = Rc::new(Cell::new(0));
    let counted = Rc::clone(&overtakes);
    let arbiter = move |_: ChannelId, _slots: usize| -> Box<dyn Arbiter> {
        Box::new(StatusFirst { overtakes: Rc::clone(&counted) })
    };
    let pieces = Pieces { arbiter: Some(Box::new(arbiter)), ..Pieces::default() };
    let bench = Bench::power_on_with(pieces, &profile, 8, 32, None, &Recorder::default())?;
    println!(
        "own operation: LUN 0 {} ONFI",
        if bench.operate(0, is_onfi) { "speaks" } else { "doesn't speak" }
    );
    let work = Work {
        operation: Operation::Read,
        pattern: Pattern::Random,
        requests: 500,
        time: None,
        sectors: None,
        seed: 1,
    };
    let mut right = 0;
    let prepared = bench.prepare(&work, &mut |_share| true)?;
    bench.run(prepared, &mut |sample| {
        right += u32::from(sample.right);
        true
    });
    println!("own transaction scheduler: {right} pages right, status overtook {} times", overtakes.get());

    // A whole drive: our task scheduler admits what runs.
    let peak = Rc::new(Cell::new(0));
    let budget = PowerBudget { operations_max: 3, peak: Rc::clone(&peak) };
    let pieces = Pieces { tasks: Some(Box::new(budget)), ..Pieces::default() };
    let drive = Device::power_on_with(pieces, "own", &profile, None, Media::fresh(), &Recorder::default())?;
    while let Some(next) = drive.next_deadline().filter(|_| drive.is_booting()) {
        drive.advance_to(next);
    }
    println!("own task scheduler: booted at {}, {} operations at once at most", drive.now(), peak.get());
    Ok(())
}
