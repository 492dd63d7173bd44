//! A drive's life: rounds of work, each ended by a sudden loss of power.

mod lane;

use super::host::{self, Host, Mix, SharedHost};
use crate::own::{Setup, Steady};
use crate::preconditioning;
use aster_device::profile::Profile;
use aster_device::{BadBlock, Boot, Device, DriveState, EMMC_BLOCK_BYTES, Media, Pieces};
use aster_driver::Config;
use aster_events::Recorder;
use aster_run_virtual::{Machine, RunError};
use aster_units::{BlockAddr, Content, Duration, Instant, LunIndex, Rng, mix64};
use serde::{Deserialize, Serialize};
use std::ops::{AddAssign, ControlFlow};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// The longest work before a cut. Some rounds last long enough for garbage collection and a stored map.
const LONG: Duration = Duration::from_millis(300);
const SHORT: Duration = Duration::from_millis(20);
/// The most steps of host and drive between the drawn instant and a cut at one of their next events.
const STEPS_MAX: u64 = 400;
/// The longest time between the completion of a flush or forced write and a cut right after it.
const BEHIND: Duration = Duration::from_micros(20);
/// Recovery itself loses its power in one of this many boots.
const RECOVERY_CUT_IN: u64 = 3;
/// In a round, the drive alone loses its power less than so often, where its host outlives that.
const DRIVE_CUTS: u64 = 3;
/// Most bytes of a drive that are written and read back at each loss of power: see [`Here::window_bytes`].
pub const WINDOW_BYTES: u64 = 4 << 30;
/// Makes the draw of the window another one than those of the rounds.
const WINDOW_SALT: u64 = 0x77;
/// Blocks that the log needs: the one that it is in, and a spare one.
const LOG_BLOCKS_MIN: usize = 2;
/// A copy of a map's directory is spoilt in one of so many losses of power.
const SPOILT_IN: u64 = 2;
/// The drive is formatted in one of `FORMAT_IN` rounds. In a third of the rounds it is shut down in one of
/// `SHUTDOWN_IN`.
const FORMAT_IN: u64 = 16;
const SHUTDOWN_IN: u64 = 3;

/// A life that can be repeated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// Together with a round's number it determines all random choices of the round.
    pub seed: u64,
    /// The rounds, by number.
    pub rounds: Vec<u32>,
    /// Commands in flight.
    pub depth: u16,
    /// Whether recovery loses its power, too.
    pub cut_recovery: bool,
}

/// What was wrong, and where.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Broken {
    /// How many of the case's rounds had begun.
    pub rounds: usize,
    /// The last cut, in picoseconds from power-on.
    pub cut_at_ps: u64,
    /// The fault.
    pub what: String,
}

/// What happened during a life.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Seen {
    /// Losses of power during work.
    pub cuts: u64,
    /// How many of those, and of those during recovery, were of the host alone, with the FTL that runs on it.
    #[serde(default)]
    pub host_cuts: u64,
    /// Losses of power of the drive alone, during work, while the FTL on the host went on. `cuts` does not
    /// count them.
    #[serde(default)]
    pub drive_cuts: u64,
    /// Lanes whose chips stopped answering.
    #[serde(default)]
    pub dead_lanes: u64,
    /// Losses of power during recovery.
    pub cuts_in_recovery: u64,
    /// Programs that were cut off.
    pub torn_programs: u64,
    /// Erases that were cut off.
    pub torn_erases: u64,
    /// Pages that had been programmed and were destroyed when another page's program was cut off.
    pub pages_lost: u64,
    /// Formats, and shutdowns that were complete when the power was cut.
    pub formats: u64,
    /// See `formats`.
    pub shutdowns: u64,
    /// Blocks in which a program or an erase failed, other than by a loss of power.
    pub failed_blocks: u64,
    /// Drives that reached their end of life, because too many blocks had gone bad.
    pub worn_out: u64,
    /// Blocks moved by wear levelling, blocks refreshed, and pages that the background scan read.
    pub levelled: u64,
    /// See `levelled`.
    pub refreshed: u64,
    /// See `levelled`.
    pub scanned: u64,
    /// Copies of a map's directory in eMMC that were deleted or damaged while the power was off, and
    /// recoveries that took the directory from one.
    #[serde(default)]
    pub spoilt_copies: u64,
    /// See `spoilt_copies`.
    #[serde(default)]
    pub used_copies: u64,
    /// Commands sent.
    pub commands: u64,
    /// Flushes and forced writes that completed.
    pub durable: u64,
    /// The longest recovery, from power-on to service, in simulated milliseconds.
    pub recovery_ms_max: f64,
    /// The most pages that a recovery has read.
    pub recovery_reads_max: u64,
}

impl AddAssign for Seen {
    fn add_assign(&mut self, other: Seen) {
        self.cuts += other.cuts;
        self.host_cuts += other.host_cuts;
        self.drive_cuts += other.drive_cuts;
        self.dead_lanes += other.dead_lanes;
        self.cuts_in_recovery += other.cuts_in_recovery;
        self.torn_programs += other.torn_programs;
        self.torn_erases += other.torn_erases;
        self.pages_lost += other.pages_lost;
        self.formats += other.formats;
        self.shutdowns += other.shutdowns;
        self.failed_blocks += other.failed_blocks;
        self.worn_out += other.worn_out;
        self.levelled += other.levelled;
        self.refreshed += other.refreshed;
        self.scanned += other.scanned;
        self.spoilt_copies += other.spoilt_copies;
        self.used_copies += other.used_copies;
        self.commands += other.commands;
        self.durable += other.durable;
        self.recovery_ms_max = self.recovery_ms_max.max(other.recovery_ms_max);
        self.recovery_reads_max = self.recovery_reads_max.max(other.recovery_reads_max);
    }
}

/// Why a life ended early.
#[derive(Debug)]
pub enum End {
    /// The drive has lost data or failed.
    Broken(Broken),
    /// The caller asked to stop.
    Stopped,
    /// Another process, or the system for lack of memory, ended its process. That isn't a failure of the
    /// drive.
    Ended(String),
    /// It could not be run.
    Unable(String),
}

/// Runs lives, in this process or in others.
pub trait Lives {
    /// Runs a case, and adds to what was seen. `tick` is called after each loss of power with its time, in
    /// picoseconds from power-on, and with what was seen of this life by then.
    ///
    /// # Errors
    /// Why the life ended early.
    fn live(
        &mut self,
        case: &Case,
        seen: &mut Seen,
        tick: &mut dyn FnMut(u64, &Seen) -> ControlFlow<()>,
    ) -> Result<(), End>;
}

/// Runs lives in this process. If panics unwind, it reports the firmware's assertions as failures. It
/// holds drives to what their translation promises
/// ([`TranslationView::promises`](aster_device::plug::TranslationView::promises)).
pub struct Here<'a> {
    /// The profile's name.
    pub name: &'a str,
    /// The drive.
    pub profile: &'a Profile,
    /// What its pages keep; `None` as the profile says.
    pub content: Option<Content>,
    /// Makes the pieces that a drive is built with, anew at each power-on.
    pub pieces: &'a dyn Fn() -> Pieces,
    /// At a drawn moment of each life the chips of a channel, which is a lane of a drive of lanes, stop
    /// answering.
    pub dead_lane: bool,
    /// Each drive's life begins in this steady state.
    pub steady: Option<Steady>,
    /// The most bytes of a drive that are written and read back: of a larger drive, a window of this size at
    /// a place that the seed draws.
    pub window_bytes: u64,
}

impl<'a> Here<'a> {
    /// Runs lives of drives of `profile`, which reports call `name`, with our own pieces.
    pub fn new(name: &'a str, profile: &'a Profile, content: Option<Content>) -> Self {
        Here {
            name,
            profile,
            content,
            pieces: &Pieces::default,
            dead_lane: false,
            steady: None,
            window_bytes: WINDOW_BYTES,
        }
    }
    /// The same drives, each of which loses a lane.
    #[must_use]
    pub fn with_dead_lane(self) -> Self {
        Here { dead_lane: true, ..self }
    }
    /// The same drives, which have been overwritten for ever when their lives begin.
    #[must_use]
    pub fn in_steady_state(self, steady: Steady) -> Self {
        Here { steady: Some(steady), ..self }
    }
    /// The media of a drive whose life begins with this seed.
    fn fresh_media(&self, seed: u64) -> Result<Media, String> {
        let Some(steady) = &self.steady else { return Ok(Media::fresh()) };
        let setup = Setup { content: self.content, ..Setup::new(self.name, self.profile.clone()) };
        let drive = setup.drive(&(self.pieces)()).map_err(|error| error.to_string())?;
        let history = steady.history(self.profile, drive, setup.kept(), seed);
        Ok(Media::fresh().written_by(history.map_err(|error| error.to_string())?))
    }
    /// The version that all blocks hold when a life begins.
    fn held(&self) -> u32 {
        if self.steady.is_some() { preconditioning::CURRENT } else { 0 }
    }
    /// The first logical block and the number of blocks that the life with this seed writes and reads.
    pub(super) fn window(&self, seed: u64, (blocks, block_bytes): (u64, u64)) -> (u64, u64) {
        let window = (self.window_bytes / block_bytes).clamp(1, blocks);
        // Whole commands of filling and reading fit into it as they do into the namespace.
        let step = host::CHUNK_BYTES / block_bytes;
        let places = (blocks - window) / step + 1;
        (Rng::new(mix64(seed ^ WINDOW_SALT)).below(places) * step, window)
    }
    /// The same drives with a reader's own pieces, which `pieces` makes.
    #[must_use]
    pub fn with_pieces(self, pieces: &'a dyn Fn() -> Pieces) -> Self {
        Here { pieces, ..self }
    }
}

impl Lives for Here<'_> {
    fn live(
        &mut self,
        case: &Case,
        seen: &mut Seen,
        tick: &mut dyn FnMut(u64, &Seen) -> ControlFlow<()>,
    ) -> Result<(), End> {
        let mut life = Life {
            victim: &*self,
            case,
            host: None,
            boot: Duration::from_millis(2),
            failed_blocks: 0,
            dead: None,
            at: (0, Duration::from_picos(0)),
            seen,
        };
        // A bug in the firmware may show as an assertion. The case that led there matters as much as one
        // that lost data.
        let lived = catch_unwind(AssertUnwindSafe(|| life.run(tick)));
        let (rounds, cut_at) = life.at;
        let broken = |what| End::Broken(Broken { rounds, cut_at_ps: cut_at.as_picos(), what });
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

/// What a loss of power leaves behind.
enum Left {
    /// What keeps its content.
    Media(Media),
    /// A drive that has its power still: only the host lost it.
    Drive(Rc<Device>),
}

struct Life<'a> {
    victim: &'a Here<'a>,
    case: &'a Case,
    /// `None` until the drive has come up for the first time.
    host: Option<SharedHost>,
    /// How long the last boot took.
    boot: Duration,
    /// Failed blocks that [`Seen`] counts already.
    failed_blocks: u64,
    /// The channel whose chips don't answer any more.
    dead: Option<u16>,
    /// Rounds begun, and the last cut.
    at: (usize, Duration),
    seen: &'a mut Seen,
}

/// How many blocks of each LUN, from the first on, belong to the log; `None` if the translation has no
/// log. It needs two good ones on the whole drive.
pub(super) fn log_blocks(device: &Device) -> Option<u32> {
    device.translation().counter("log_blocks_per_lun").map(|blocks| blocks as u32)
}

/// How many of the `first` blocks of each LUN are not among its bad ones.
pub(super) fn good_of_first(first: u32, bad: &[Vec<(BlockAddr, BadBlock)>]) -> usize {
    let lost = |bad: &Vec<(BlockAddr, BadBlock)>| bad.iter().filter(|(block, _)| block.0 < first).count();
    bad.iter().map(|bad| first as usize - lost(bad)).sum()
}

fn since_power_on(machine: &Machine) -> Duration {
    machine.now().since(Instant::ZERO)
}

impl Life<'_> {
    /// Runs all rounds. Returns false if `tick` stopped it.
    fn run(&mut self, tick: &mut dyn FnMut(u64, &Seen) -> ControlFlow<()>) -> Result<bool, String> {
        let mut left = Left::Media(self.victim.fresh_media(self.case.seed)?);
        for (n, &round) in self.case.rounds.iter().enumerate() {
            self.at.0 = n + 1;
            let mut rng = Rng::new(mix64(self.case.seed ^ mix64(u64::from(round) + 1)));
            let Some(machine) = self.come_back(left, &mut rng)? else { return Ok(true) };
            self.work(&machine, n == 0, &mut rng)?;
            left = self.cut(machine, &mut rng);
            self.seen.cuts += 1;
            if tick(self.at.1.as_picos(), self.seen).is_break() {
                return Ok(false);
            }
        }
        let mut rng = Rng::new(mix64(self.case.seed));
        if let Some(machine) = self.come_back(left, &mut rng)? {
            self.goes_on(&machine)?;
        }
        Ok(true)
    }
    fn power_on(&self, left: Left) -> Result<Machine, String> {
        let Here { name, profile, content, pieces, .. } = *self.victim;
        let config = Config {
            depth: self.case.depth.min(profile.host.queue_entries - 1),
            transfer_bytes_max: profile.host.transfer_bytes_max.min(host::CHUNK_BYTES as u32),
            ..Config::default()
        };
        let recorder = Recorder::default();
        let machine = match left {
            Left::Media(media) => {
                Machine::power_on_with(pieces(), name, profile, content, media, &recorder, config)
            }
            Left::Drive(drive) => Machine::power_on_over(pieces(), name, profile, drive, config),
        };
        let machine = machine.map_err(|error| error.to_string())?;
        self.silence(&machine);
        Ok(machine)
    }
    /// Counts the blocks that have failed since the last call.
    fn count_failed_blocks(&mut self, machine: &Machine) {
        let (nand, luns) = (machine.device().nand(), machine.device().geometry().total_luns());
        let bad = (0..luns).flat_map(|lun| nand.bad_blocks(LunIndex(lun)));
        let failed = bad.filter(|(_, bad)| *bad == BadBlock::Grown).count() as u64;
        self.seen.failed_blocks += failed - core::mem::replace(&mut self.failed_blocks, failed);
    }
    /// Cuts the power, and counts the programs and erases that this cut off. Of a drive with its FTL on the
    /// host, every second cut is the host's alone.
    fn cut(&mut self, machine: Machine, rng: &mut Rng) -> Left {
        self.at.1 = since_power_on(&machine);
        self.count_failed_blocks(&machine);
        let nand = machine.device().nand();
        let geometry = nand.config().geometry;
        let blocks = (0..geometry.total_luns())
            .flat_map(|lun| (0..geometry.blocks_per_lun).map(move |block| (LunIndex(lun), BlockAddr(block))));
        // A block that was half erased may be erased to its end just before the power goes.
        let whole: Vec<_> = blocks.filter(|&(lun, block)| !nand.block(lun, block).torn).collect();
        let before = nand.totals_of_drive();
        let ftl = machine.device().stats().ftl;
        self.seen.levelled += ftl.levelled;
        self.seen.refreshed += ftl.refreshed;
        self.seen.scanned += ftl.flash_reads.scan;
        let of_host = machine.device().below().is_some() && rng.below(2) == 0;
        let left = if of_host {
            self.seen.host_cuts += 1;
            Left::Drive(machine.cut_host().expect("there is a drive below"))
        } else {
            let blocks = machine.device().translation().counter("gtd_copy_blocks");
            let media = machine.cut_power();
            if let Some(blocks) = blocks {
                self.spoil_copy(&media, blocks, rng);
            }
            Left::Media(media)
        };
        let now = nand.totals_of_drive();
        self.seen.torn_programs += now.program_failures - before.program_failures;
        self.seen.pages_lost += now.pages_lost - before.pages_lost;
        let torn = whole.iter().filter(|&&(lun, block)| nand.block(lun, block).torn).count();
        self.seen.torn_erases += torn as u64;
        if let Some(host) = &self.host {
            host.borrow_mut().power_lost();
        }
        left
    }
    /// Now and then deletes a copy of the map's directory in eMMC, or damages a bit of it. The drive can do
    /// without.
    fn spoil_copy(&mut self, media: &Media, blocks: u64, rng: &mut Rng) {
        if rng.below(SPOILT_IN) > 0 {
            return;
        }
        let (emmc, first) = (media.emmc(), rng.below(2) * blocks);
        if rng.below(2) == 0 {
            let all = first..first + blocks;
            all.for_each(|block| emmc.set_block(block as u32, &[0; EMMC_BLOCK_BYTES]));
        } else {
            let block = (first + rng.below(blocks)) as u32;
            let mut content = emmc.block(block);
            content[rng.below(EMMC_BLOCK_BYTES as u64) as usize] ^= 1 << rng.below(8);
            emmc.set_block(block, &content);
        }
        self.seen.spoilt_copies += 1;
    }
    /// Cuts the power of the drive alone, whose host goes on.
    fn restart_drive(&mut self, machine: &Machine) -> Result<(), String> {
        let Here { name, profile, pieces, .. } = *self.victim;
        let before = machine.device().nand().totals_of_drive();
        machine.restart_drive(pieces(), name, profile).map_err(|error| error.to_string())?;
        self.silence(machine);
        let now = machine.device().nand().totals_of_drive();
        self.seen.torn_programs += now.program_failures - before.program_failures;
        self.seen.pages_lost += now.pages_lost - before.pages_lost;
        self.seen.drive_cuts += 1;
        Ok(())
    }
    /// Restores the power: the drive recovers, perhaps not at the first attempt, and all its data is
    /// checked. Returns `None` if it has properly reached its end of life.
    fn come_back(&mut self, mut left: Left, rng: &mut Rng) -> Result<Option<Machine>, String> {
        let is_fresh = self.host.is_none();
        let mut again = false;
        while self.case.cut_recovery && !is_fresh && rng.below(RECOVERY_CUT_IN) == 0 {
            let machine = self.power_on(left)?;
            machine.idle(Duration::from_picos(rng.below(self.boot.as_picos() * 5 / 4)));
            left = self.cut(machine, rng);
            self.seen.cuts_in_recovery += 1;
            again = true;
        }
        let machine = self.power_on(left)?;
        if self.case.cut_recovery && !is_fresh && machine.device().outlives_its_drive() {
            while rng.below(RECOVERY_CUT_IN) == 0 {
                machine.idle(Duration::from_picos(rng.below(self.boot.as_picos() * 5 / 4)));
                self.restart_drive(&machine)?;
            }
        }
        machine.boot().map_err(|error| format!("the drive does not come up: {error}"))?;
        let ftl = machine.device().stats().ftl;
        self.boot = Duration::from_nanos(ftl.boot_nanos.max(1));
        let at_its_end = ftl.state == DriveState::ReadOnly && !is_fresh && self.is_worn_out(&machine)?;
        if ftl.state != DriveState::Ready && !at_its_end {
            return Err(format!("the drive comes up {:?}", ftl.state));
        }
        let namespace = machine.driver().namespace();
        if is_fresh {
            let (blocks, bytes) = (namespace.blocks, u64::from(namespace.block_bytes));
            let (content, promises) = (machine.device().content(), machine.device().translation().promises());
            let window = self.victim.window(self.case.seed, (blocks, bytes));
            self.host = Some(Host::new(
                self.case.seed,
                (blocks, window),
                bytes,
                content,
                self.victim.held(),
                promises,
            ));
            return Ok(Some(machine));
        }
        // A drive that lost its log and was rebuilt from every page may hold trimmed data again, which is
        // an error here. After a shutdown the boot must be clean, unless the drive was up again in between
        // and may have begun to work, or has lost blocks and may have had no room for its map. It then
        // recovers by its log. A clean boot is always allowed, since a shutdown may be complete before the
        // host learns of it.
        let shut_down = self.host().borrow().shut_down && !again && self.failed_blocks == 0;
        // An FTL on the host may keep nothing but what is in the drive, and then recovers each time.
        // And what its host had written may all have been in the host's page cache.
        let has_target = self.victim.profile.target.is_some();
        let must_be_clean = shut_down && !has_target;
        let is_untouched = has_target && ftl.boot == Boot::Fresh;
        if ftl.boot != Boot::Clean && !is_untouched && (must_be_clean || ftl.boot != Boot::Recovered) {
            let how = if shut_down { "after a shutdown" } else { "after a loss of power" };
            return Err(format!("the drive comes up {:?} {how}", ftl.boot));
        }
        self.host().borrow_mut().comes_back();
        self.seen.used_copies += machine.device().translation().counter("gtd_from_emmc").unwrap_or(0);
        self.seen.recovery_ms_max = self.seen.recovery_ms_max.max(ftl.boot_nanos as f64 / 1e6);
        self.seen.recovery_reads_max = self.seen.recovery_reads_max.max(ftl.boot_reads);
        let reading = host::verify(self.host().clone(), Rc::clone(machine.driver()), self.case.depth);
        machine.block_on("reading everything back", reading).map_err(|error| error.to_string())??;
        self.seen.worn_out += u64::from(at_its_end);
        Ok((!at_its_end).then_some(machine))
    }
    fn host(&self) -> &SharedHost {
        self.host.as_ref().expect("the drive was up")
    }
    /// Works until the moment at which the power is to be cut.
    fn work(&mut self, machine: &Machine, is_first: bool, rng: &mut Rng) -> Result<(), String> {
        let host = self.host().clone();
        let (commands, relied_on) = (host.borrow().commands, host.borrow().durable);
        // A full drive has to collect garbage.
        if is_first && rng.below(3) > 0 && self.victim.steady.is_none() {
            let filling = host::fill_drive(host.clone(), Rc::clone(machine.driver()), self.case.depth);
            machine.block_on("filling the drive", filling).map_err(|error| error.to_string())?;
        }
        let blocks = host.borrow().durability.blocks();
        let mix = Mix::draw(rng, blocks, machine.driver().namespace().block_bytes.into());
        if !is_first && rng.below(FORMAT_IN) == 0 {
            machine.host().spawn(host::format(host.clone(), Rc::clone(machine.driver())));
            self.seen.formats += 1;
        }
        for _ in 0..self.case.depth {
            let rng = Rng::new(rng.next_u64());
            machine.host().spawn(host::work(host.clone(), Rc::clone(machine.driver()), mix, rng));
        }
        self.let_a_lane_die(machine, rng);
        let outlives = machine.device().outlives_its_drive();
        for _ in 0..if outlives { rng.below(DRIVE_CUTS) } else { 0 } {
            machine.idle(Duration::from_picos(rng.below(SHORT.as_picos())));
            (0..rng.below(STEPS_MAX)).take_while(|_| machine.step()).for_each(drop);
            self.restart_drive(machine)?;
        }
        let longest = if rng.below(4) == 0 { LONG } else { SHORT };
        machine.idle(Duration::from_picos(rng.below(longest.as_picos())));
        match rng.below(3) {
            // Cut at an event: a latch, a burst, the end of an operation, a doorbell, a DMA.
            0 => drop((0..rng.below(STEPS_MAX)).take_while(|_| machine.step()).count()),
            // Cut as soon as the host may rely on data being durable.
            1 => {
                let durable = host.borrow().durable;
                let until = machine.now().since(Instant::ZERO) + SHORT;
                while host.borrow().durable == durable && since_power_on(machine) < until && machine.step() {}
                machine.idle(Duration::from_picos(rng.below(BEHIND.as_picos())));
            }
            // Cut during a shutdown or after it; otherwise at the drawn instant.
            _ if rng.below(SHUTDOWN_IN) == 0 => {
                machine.host().spawn(host::shut_down(host.clone(), Rc::clone(machine.driver())));
                machine.idle(Duration::from_picos(rng.below(LONG.as_picos())));
                self.seen.shutdowns += u64::from(host.borrow().shut_down);
            }
            _ => {}
        }
        let now = host.borrow();
        self.seen.commands += now.commands - commands;
        self.seen.durable += now.durable - relied_on;
        if now.refused && machine.device().stats().ftl.state != DriveState::ReadOnly {
            return Err("a write was refused by a drive that is not read-only".to_owned());
        }
        match (&now.wrong, machine.device().fault()) {
            (Some(wrong), _) => Err(wrong.clone()),
            (None, Some(fault)) => Err(RunError::Drive(fault).to_string()),
            (None, None) => Ok(()),
        }
    }
    /// Writes the whole drive once more after the last round.
    fn goes_on(&mut self, machine: &Machine) -> Result<(), String> {
        let filling = host::fill_drive(self.host().clone(), Rc::clone(machine.driver()), self.case.depth);
        machine.block_on("filling the drive", filling).map_err(|error| error.to_string())?;
        let host = self.host().borrow();
        match &host.wrong {
            Some(wrong) => Err(wrong.clone()),
            None if host.refused && !self.is_worn_out(machine)? => {
                Err("the drive takes no more writes, although it has spare blocks".to_owned())
            }
            None => Ok(()),
        }
    }
}
