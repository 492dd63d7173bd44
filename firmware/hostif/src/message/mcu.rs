//! The firmware of the MCU: a loop that hands commands to the NAND array controllers, collects their
//! statuses, and has status frames sent (H14, H17).

use super::unit::MessageUnit;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_events::{Function, Recorder};
use aster_exec::Core;
use aster_units::{Duration, Instant};
use core::cell::Cell;

/// What the loop's steps cost: cycles of the MCU's core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct McuCosts {
    /// The register checks of a pass of the loop: 112 cycles in the paper (H14).
    pub pass: u64,
    /// Moving a command to its controller, with its register part.
    pub command: u64,
    /// Moving one of its host addresses (H15).
    pub host_address: u64,
    /// Moving an entry from a controller's status FIFO to the status buffer.
    pub status: u64,
    /// Requesting a status frame, and its completion.
    pub frame: u64,
}

impl McuCosts {
    /// The functions of the firmware that cost time.
    pub(super) fn functions(&self) -> Vec<Function> {
        [
            (Function::NvmeManager, self.pass + self.command + self.status),
            (Function::NvmCommandManager, self.host_address),
            (Function::HostDma, self.frame),
        ]
        .into_iter()
        .filter_map(|(function, cycles)| (cycles > 0).then_some(function))
        .collect()
    }
}

/// A register that a pass of the loop looks at (H14). The paper names six of its nine; the other three are
/// those without which statuses couldn't be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    /// Whether a command waits.
    Command,
    /// Status frames that have reached the host, whose entries' places become free.
    Arrived,
    /// How many entries the status buffer has room for.
    Room,
    /// Entries in the status FIFO of a controller.
    Statuses(usize),
    /// Whether enough entries wait for a status frame.
    Enough,
    /// Whether the oldest entry has waited long enough.
    Due,
}

/// The loop. While there is nothing to do it goes round all the time, which a real MCU does as well. Here
/// that is arithmetic: what comes in the meantime is found by the next look at its register.
pub(super) struct Mcu {
    unit: Rc<MessageUnit>,
    core: Core,
    costs: McuCosts,
    recorder: Recorder,
    /// The latest alarm that was set for status entries that wait.
    alarm: Cell<Instant>,
}

impl Mcu {
    pub fn start(unit: &Rc<MessageUnit>, core: &Core, costs: McuCosts, recorder: &Recorder) {
        let (unit, core_of) = (Rc::clone(unit), core.clone());
        let alarm = Cell::new(Instant::ZERO);
        let mcu = Mcu { unit, core: core_of, costs, recorder: recorder.clone(), alarm };
        core.spawn(mcu.run());
    }

    async fn run(self) {
        let checks = checks(self.unit.controllers());
        // When the last pass that has found something ended.
        let mut since = Instant::ZERO;
        loop {
            self.work().await;
            let (at, first) = self.next_check(&checks, since);
            if at > self.core.now() {
                self.core.exec().sleep_until(at).await;
            }
            let mut looked = 0;
            for check in &checks[first..] {
                looked += self.check_cycles(&checks);
                if self.finds(*check) {
                    self.spend(Function::NvmeManager, core::mem::take(&mut looked));
                    self.work_on(*check).await;
                }
            }
            self.spend(Function::NvmeManager, looked + self.costs.pass % checks.len() as u64);
            since = self.core.now();
        }
    }
    /// What a check takes. What doesn't divide evenly is the way back to the loop's begin.
    const fn check_cycles(&self, checks: &[Check]) -> u64 {
        self.costs.pass / checks.len() as u64
    }
    /// The next check that finds something, as instant and place in the pass, of a loop that has gone round
    /// since `since` without finding anything.
    fn next_check(&self, checks: &[Check], since: Instant) -> (Instant, usize) {
        let (clock, now) = (self.core.frequency(), self.core.now());
        if now <= since {
            return (now, 0);
        }
        let (pass, check) = (clock.cycles(self.costs.pass), clock.cycles(self.check_cycles(checks)));
        let finding = checks.iter().enumerate().filter(|&(_, &check)| self.finds(check));
        let at = |place: usize| (next_time(since + check * place as u64, pass, now), place);
        finding.map(|(place, _)| at(place)).min().unwrap_or((now, 0))
    }
    /// Whether a check would find something.
    fn finds(&self, check: Check) -> bool {
        let unit = &*self.unit;
        match check {
            Check::Command => unit.has_command(),
            Check::Arrived => unit.has_arrived(),
            Check::Room => false,
            Check::Statuses(nac) => unit.statuses(nac) > 0,
            Check::Enough => unit.has_enough(),
            Check::Due => unit.is_due(),
        }
    }
    /// Waits until a pass would find something.
    async fn work(&self) {
        let exec = self.core.exec();
        let found = || {
            if self.unit.has_work() {
                return Some(());
            }
            // One alarm at a time is enough: when it rings, the next is set.
            let is_set = |at| self.alarm.get() > exec.now() && self.alarm.get() <= at;
            if let Some(at) = self.unit.status_due().filter(|&at| !is_set(at)) {
                self.alarm.set(at);
                exec.wake_at(at, exec.current());
            }
            None
        };
        self.unit.bell().wait(exec, found).await;
    }

    /// Does what a check has found.
    async fn work_on(&self, check: Check) {
        let (unit, costs) = (&*self.unit, &self.costs);
        match check {
            Check::Command => {
                let Some((nac, host_addresses)) = unit.next_command() else { return };
                self.spend(Function::NvmeManager, costs.command);
                self.spend(Function::NvmCommandManager, costs.host_address * host_addresses as u64);
                self.core.settle().await;
                unit.hand_over(nac);
            }
            Check::Arrived => unit.reap_frames(),
            // Room by itself is nothing to do: it bounds what the next checks take.
            Check::Room => {}
            Check::Statuses(nac) => {
                let count = unit.statuses(nac);
                self.spend(Function::NvmeManager, costs.status * count as u64);
                self.core.settle().await;
                unit.collect(nac, count);
            }
            Check::Enough | Check::Due => {
                self.spend(Function::HostDma, costs.frame);
                self.core.settle().await;
                unit.request_frame();
            }
        }
    }
    fn spend(&self, function: Function, cycles: u64) {
        self.recorder.account(function, || self.core.stands(), || self.core.charge(cycles));
    }
}

/// The registers of a pass, in their order.
fn checks(controllers: usize) -> Vec<Check> {
    let before = [Check::Command, Check::Arrived, Check::Room];
    let statuses = (0..controllers).map(Check::Statuses);
    before.into_iter().chain(statuses).chain([Check::Enough, Check::Due]).collect()
}

/// The first time from `now` on of what comes at `first` and each `period` after it.
fn next_time(first: Instant, period: Duration, now: Instant) -> Instant {
    if period.is_zero() || now <= first {
        return now.max(first);
    }
    first + period * now.since(first).as_picos().div_ceil(period.as_picos())
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_units::Rng;

    /// H14: one of commands, four of the controllers' statuses, one of enough statuses, and three more.
    #[test]
    fn a_pass_with_four_controllers_looks_at_nine_registers() {
        let checks = checks(4);
        assert_eq!(checks.len(), 9);
        assert!((0..4).all(|nac| checks.contains(&Check::Statuses(nac))));
    }

    /// The arithmetic is that of a loop that goes round.
    #[test]
    fn the_next_time_is_that_of_a_loop_that_goes_round() {
        let mut random = Rng::new(14);
        for _ in 0..2_000 {
            let pass = Duration::from_picos(1 + random.below(1_000));
            let first = Instant::ZERO + Duration::from_picos(random.below(5_000));
            let now = Instant::ZERO + Duration::from_picos(random.below(25_000));
            let mut comes = first;
            while comes < now {
                comes += pass;
            }
            assert_eq!(next_time(first, pass, now), comes);
        }
    }

    #[test]
    fn a_loop_without_costs_finds_everything_at_once() {
        let now = Instant::ZERO + Duration::from_nanos(17);
        assert_eq!(next_time(Instant::ZERO, Duration::ZERO, now), now);
    }
}
