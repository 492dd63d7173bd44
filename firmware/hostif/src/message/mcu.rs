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

/// The loop. While there is nothing to do it goes round all the time, which a real MCU does as well. Here
/// that is arithmetic: what comes in the meantime is found by the next pass that begins after it.
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
        let pass = self.core.frequency().cycles(self.costs.pass);
        // When the last pass that has found something ended.
        let mut since = Instant::ZERO;
        loop {
            self.work().await;
            let begins = next_pass(since, pass, self.core.now());
            if begins > self.core.now() {
                self.core.exec().sleep_until(begins).await;
            }
            self.pass().await;
            since = self.core.now();
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

    /// A pass of the loop: the checks, then at most one command, then statuses, then at most one status
    /// frame.
    async fn pass(&self) {
        let (unit, costs) = (&*self.unit, &self.costs);
        self.spend(Function::NvmeManager, costs.pass);
        unit.reap_frames();
        if let Some((nac, host_addresses)) = unit.next_command() {
            self.spend(Function::NvmeManager, costs.command);
            self.spend(Function::NvmCommandManager, costs.host_address * host_addresses as u64);
            self.core.settle().await;
            unit.hand_over(nac);
        }
        for nac in 0..unit.controllers() {
            let count = unit.statuses(nac);
            if count > 0 {
                self.spend(Function::NvmeManager, costs.status * count as u64);
                self.core.settle().await;
                unit.collect(nac, count);
            }
        }
        if unit.wants_frame() {
            self.spend(Function::HostDma, costs.frame);
            self.core.settle().await;
            unit.request_frame();
        }
        self.core.settle().await;
    }
    fn spend(&self, function: Function, cycles: u64) {
        self.recorder.account(function, || self.core.stands(), || self.core.charge(cycles));
    }
}

/// When the first pass begins that finds what has come by `now`, if the passes have followed each other since
/// `since`.
fn next_pass(since: Instant, pass: Duration, now: Instant) -> Instant {
    if pass.is_zero() || now <= since {
        return now;
    }
    let passes = now.since(since).as_picos().div_ceil(pass.as_picos());
    since + pass * passes
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_units::Rng;

    /// The arithmetic is that of a loop that goes round.
    #[test]
    fn the_next_pass_is_that_of_a_loop_that_goes_round() {
        let mut random = Rng::new(14);
        for _ in 0..2_000 {
            let pass = Duration::from_picos(1 + random.below(1_000));
            let since = Instant::ZERO + Duration::from_picos(random.below(5_000));
            let now = since + Duration::from_picos(random.below(20_000));
            let mut begins = since;
            while begins < now {
                begins += pass;
            }
            assert_eq!(next_pass(since, pass, now), begins);
        }
    }

    #[test]
    fn a_loop_without_costs_finds_everything_at_once() {
        let now = Instant::ZERO + Duration::from_nanos(17);
        assert_eq!(next_pass(Instant::ZERO, Duration::ZERO, now), now);
    }
}
