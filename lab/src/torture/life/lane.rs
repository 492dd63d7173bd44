//! Lives in which a lane dies, and drives that have come to their end.

use super::{LOG_BLOCKS_MIN, Life, SHORT, good_of_first, log_blocks};
use aster_driver::CriticalWarning;
use aster_run_virtual::Machine;
use aster_units::{Duration, LunIndex, Rng};
use std::rc::Rc;

/// A lane dies in one of so many rounds, once in a life.
const DEATH_IN: u64 = 3;

impl Life<'_> {
    /// The chips of a dead channel don't answer, whenever they are asked.
    pub(super) fn silence(&self, machine: &Machine) {
        let Some(dead) = self.dead else { return };
        let nand = machine.device().nand();
        let g = nand.config().geometry;
        let luns = (0..g.total_luns()).map(LunIndex).filter(|lun| g.lun_addr(*lun).channel == dead);
        luns.for_each(|lun| nand.force_busy(lun, true));
    }
    /// Lets a channel die from now on, in one of [`DEATH_IN`] rounds, if none has.
    pub(super) fn let_a_lane_die(&mut self, machine: &Machine, rng: &mut Rng) {
        if !self.victim.dead_lane || self.dead.is_some() || rng.below(DEATH_IN) != 0 {
            return;
        }
        machine.idle(Duration::from_picos(rng.below(SHORT.as_picos())));
        let channels = machine.device().nand().config().geometry.channels;
        self.dead = Some(rng.below(channels.into()) as u16);
        self.seen.dead_lanes += 1;
        self.silence(machine);
    }
    /// Whether a read-only drive reports that it is, and has a reason: its profile lets blocks go bad, and
    /// either no spare block is left, or the log has too few good blocks.
    pub(super) fn is_worn_out(&self, machine: &Machine) -> Result<bool, String> {
        let package = &self.victim.profile.package;
        let lasts = package.program_failures_per_million == 0
            && package.erase_failures_per_million == 0
            && package.wear_out_percent == 0
            && self.dead.is_none();
        let driver = Rc::clone(machine.driver());
        let health = machine.block_on("asking for its health", async move { driver.health().await });
        let health = health.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        let warned = CriticalWarning(health.critical_warning).read_only();
        let (nand, luns) = (machine.device().nand(), machine.device().geometry().total_luns());
        let bad: Vec<_> = (0..luns).map(|lun| nand.bad_blocks(LunIndex(lun))).collect();
        let of_log = log_blocks(machine.device());
        let log_fails = of_log.is_some_and(|of_log| good_of_first(of_log, &bad) < LOG_BLOCKS_MIN);
        Ok(!lasts && warned && (health.available_spare == 0 || log_fails))
    }
}
