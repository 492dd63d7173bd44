//! A drive's life: rounds of work, each ended by a sudden loss of power.

use super::host::{self, Host, Mix, SharedHost};
use aster_device::profile::Profile;
use aster_device::{Boot, DriveState, Media};
use aster_run_virtual::driver::Config;
use aster_run_virtual::events::Recorder;
use aster_run_virtual::{Machine, RunError};
use aster_units::{BlockAddr, Content, Duration, Instant, LunIndex, Rng, mix64};
use serde::Serialize;
use std::ops::{AddAssign, ControlFlow};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// Work before a cut, at most: now and then so long that garbage collection and the stored map come into it.
const LONG: Duration = Duration::from_millis(300);
const SHORT: Duration = Duration::from_millis(20);
/// Steps of host and drive, at most, between the instant that was drawn and a cut at one of their next events.
const STEPS_MAX: u64 = 400;
/// Time, at most, between a flush or forced write that has completed and a cut right behind it.
const BEHIND: Duration = Duration::from_micros(20);
/// Recovery is cut off once more in one of so many boots.
const RECOVERY_CUT_IN: u64 = 3;

/// A life that can be repeated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// Decides everything that a round leaves to chance, together with the round's number.
    pub seed: u64,
    /// The rounds, by number.
    pub rounds: Vec<u32>,
    /// Commands in flight.
    pub depth: u16,
    /// Recovery loses its power, too.
    pub cut_recovery: bool,
}

/// What was wrong, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Broken {
    /// How many of the case's rounds had begun.
    pub(super) rounds: usize,
    /// The last cut, in simulated time from power-on.
    pub(super) cut_at: Duration,
    pub(super) what: String,
}

/// What a life has seen.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Seen {
    /// Losses of power during work.
    pub cuts: u64,
    /// Losses of power during recovery.
    pub cuts_in_recovery: u64,
    /// Programs that were cut off.
    pub torn_programs: u64,
    /// Erases that were cut off.
    pub torn_erases: u64,
    /// Commands sent.
    pub commands: u64,
    /// Flushes and forced writes that completed.
    pub durable: u64,
    /// The longest recovery in simulated milliseconds, from power to service.
    pub recovery_ms_max: f64,
    /// The most pages that a recovery has read.
    pub recovery_reads_max: u64,
}

impl AddAssign for Seen {
    fn add_assign(&mut self, other: Seen) {
        self.cuts += other.cuts;
        self.cuts_in_recovery += other.cuts_in_recovery;
        self.torn_programs += other.torn_programs;
        self.torn_erases += other.torn_erases;
        self.commands += other.commands;
        self.durable += other.durable;
        self.recovery_ms_max = self.recovery_ms_max.max(other.recovery_ms_max);
        self.recovery_reads_max = self.recovery_reads_max.max(other.recovery_reads_max);
    }
}

/// Why a life ended before its time.
pub(super) enum End {
    Broken(Broken),
    /// Whoever follows it asked to stop.
    Stopped,
}

/// The drive that is tortured.
#[derive(Clone, Debug)]
pub(super) struct Victim<'a> {
    pub(super) name: &'a str,
    pub(super) profile: &'a Profile,
    pub(super) content: Option<Content>,
}

impl Victim<'_> {
    /// Lives a case. `tick` is called after each cut.
    pub(super) fn live(
        &self,
        case: &Case,
        seen: &mut Seen,
        tick: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<(), End> {
        let mut life = Life {
            victim: self,
            case,
            host: None,
            boot: Duration::from_millis(2),
            at: (0, Duration::from_picos(0)),
            seen,
        };
        // A bug in the firmware asserts: the case that led there is worth as much as one that lost something.
        let lived = catch_unwind(AssertUnwindSafe(|| life.run(tick)));
        let (rounds, cut_at) = life.at;
        let broken = |what| End::Broken(Broken { rounds, cut_at, what });
        match lived {
            Ok(Ok(true)) => Ok(()),
            Ok(Ok(false)) => Err(End::Stopped),
            Ok(Err(what)) => Err(broken(what)),
            Err(panic) => {
                let said = panic.downcast_ref::<String>().cloned();
                let said = said.or_else(|| panic.downcast_ref::<&str>().map(|&said| said.to_owned()));
                Err(broken(format!("the firmware asserts: {}", said.unwrap_or_default())))
            }
        }
    }
}

struct Life<'a> {
    victim: &'a Victim<'a>,
    case: &'a Case,
    /// None before the drive was up for the first time.
    host: Option<SharedHost>,
    /// How long the last boot took.
    boot: Duration,
    /// Rounds begun, and the last cut.
    at: (usize, Duration),
    seen: &'a mut Seen,
}

fn since_power_on(machine: &Machine) -> Duration {
    machine.now().since(Instant::ZERO)
}

impl Life<'_> {
    /// True when it came to its end.
    fn run(&mut self, tick: &mut dyn FnMut() -> ControlFlow<()>) -> Result<bool, String> {
        let mut media = Media::fresh();
        for (n, &round) in self.case.rounds.iter().enumerate() {
            self.at.0 = n + 1;
            let mut rng = Rng::new(mix64(self.case.seed ^ mix64(u64::from(round) + 1)));
            let machine = self.come_back(media, &mut rng)?;
            self.work(&machine, n == 0, &mut rng)?;
            media = self.cut(machine);
            self.seen.cuts += 1;
            if tick().is_break() {
                return Ok(false);
            }
        }
        let mut rng = Rng::new(mix64(self.case.seed));
        let machine = self.come_back(media, &mut rng)?;
        self.goes_on(&machine)?;
        Ok(true)
    }
    fn power_on(&self, media: Media) -> Result<Machine, String> {
        let Victim { name, profile, content } = *self.victim;
        let config = Config {
            depth: self.case.depth.min(profile.host.queue_entries - 1),
            transfer_bytes_max: profile.host.transfer_bytes_max.min(host::CHUNK_BYTES as u32),
            ..Config::default()
        };
        let machine = Machine::power_on(name, profile, content, media, &Recorder::default(), config);
        machine.map_err(|error| error.to_string())
    }
    /// Removes the power, and counts what that tore.
    fn cut(&mut self, machine: Machine) -> Media {
        self.at.1 = since_power_on(&machine);
        let (nand, geometry) = (machine.device().nand(), *machine.device().geometry());
        let blocks = (0..geometry.total_luns())
            .flat_map(|lun| (0..geometry.blocks_per_lun).map(move |block| (LunIndex(lun), BlockAddr(block))));
        // A block that was half erased may be erased to its end just before the power goes.
        let whole: Vec<_> = blocks.filter(|&(lun, block)| !nand.block(lun, block).torn).collect();
        let failures = nand.totals_of_drive().program_failures;
        let media = machine.cut_power();
        self.seen.torn_programs += nand.totals_of_drive().program_failures - failures;
        let torn = whole.iter().filter(|&&(lun, block)| nand.block(lun, block).torn).count();
        self.seen.torn_erases += torn as u64;
        if let Some(host) = &self.host {
            host.borrow_mut().power_lost();
        }
        media
    }
    /// Power is back: the drive recovers, perhaps not at the first attempt, and everything is looked at.
    fn come_back(&mut self, mut media: Media, rng: &mut Rng) -> Result<Machine, String> {
        let is_fresh = self.host.is_none();
        while self.case.cut_recovery && !is_fresh && rng.below(RECOVERY_CUT_IN) == 0 {
            let machine = self.power_on(media)?;
            machine.idle(Duration::from_picos(rng.below(self.boot.as_picos() * 5 / 4)));
            media = self.cut(machine);
            self.seen.cuts_in_recovery += 1;
        }
        let machine = self.power_on(media)?;
        machine.boot().map_err(|error| format!("the drive does not come up: {error}"))?;
        let ftl = machine.device().stats().ftl;
        self.boot = Duration::from_nanos(ftl.boot_nanos.max(1));
        if ftl.state != DriveState::Ready {
            return Err(format!("the drive comes up {:?}", ftl.state));
        }
        let namespace = machine.driver().namespace();
        if is_fresh {
            let (blocks, bytes) = (namespace.blocks, u64::from(namespace.block_bytes));
            let content = machine.device().content();
            self.host = Some(Host::new(self.case.seed, blocks, bytes, content));
            return Ok(machine);
        }
        // A drive that was rebuilt from every page, since its log was lost, may have what was trimmed again.
        if ftl.boot != Boot::Recovered {
            return Err(format!("the drive comes up {:?}, not Recovered", ftl.boot));
        }
        self.seen.recovery_ms_max = self.seen.recovery_ms_max.max(ftl.boot_nanos as f64 / 1e6);
        self.seen.recovery_reads_max = self.seen.recovery_reads_max.max(ftl.boot_reads);
        let reading = host::verify(self.host().clone(), Rc::clone(machine.driver()));
        machine.block_on("reading everything back", reading).map_err(|error| error.to_string())??;
        Ok(machine)
    }
    fn host(&self) -> &SharedHost {
        self.host.as_ref().expect("the drive was up")
    }
    /// Works until the power is to go.
    fn work(&mut self, machine: &Machine, is_first: bool, rng: &mut Rng) -> Result<(), String> {
        let host = self.host().clone();
        let (commands, relied_on) = (host.borrow().commands, host.borrow().durable);
        // A full drive has to collect garbage.
        if is_first && rng.below(3) > 0 {
            let filling = host::fill_drive(host.clone(), Rc::clone(machine.driver()));
            machine.block_on("filling the drive", filling).map_err(|error| error.to_string())?;
        }
        let namespace = machine.driver().namespace();
        let mix = Mix::draw(rng, namespace.blocks, u64::from(namespace.block_bytes));
        for _ in 0..self.case.depth {
            let rng = Rng::new(rng.next_u64());
            machine.host().spawn(host::work(host.clone(), Rc::clone(machine.driver()), mix, rng));
        }
        let longest = if rng.below(4) == 0 { LONG } else { SHORT };
        machine.idle(Duration::from_picos(rng.below(longest.as_picos())));
        match rng.below(3) {
            // At an event: a latch, a burst, the end of an operation, a doorbell, a DMA.
            0 => drop((0..rng.below(STEPS_MAX)).take_while(|_| machine.step()).count()),
            // As soon as the host may rely on something.
            1 => {
                let durable = host.borrow().durable;
                let until = machine.now().since(Instant::ZERO) + SHORT;
                while host.borrow().durable == durable && since_power_on(machine) < until && machine.step() {}
                machine.idle(Duration::from_picos(rng.below(BEHIND.as_picos())));
            }
            // Anywhere between.
            _ => {}
        }
        let now = host.borrow();
        self.seen.commands += now.commands - commands;
        self.seen.durable += now.durable - relied_on;
        match (&now.wrong, machine.device().fault()) {
            (Some(wrong), _) => Err(wrong.clone()),
            (None, Some(fault)) => Err(RunError::Drive(fault).to_string()),
            (None, None) => Ok(()),
        }
    }
    /// At the end the whole drive is written once more.
    fn goes_on(&mut self, machine: &Machine) -> Result<(), String> {
        let filling = host::fill_drive(self.host().clone(), Rc::clone(machine.driver()));
        machine.block_on("filling the drive", filling).map_err(|error| error.to_string())?;
        if let Some(wrong) = &self.host().borrow().wrong {
            return Err(wrong.clone());
        }
        Ok(())
    }
}
