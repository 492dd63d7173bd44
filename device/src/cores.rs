//! The processor cores of a drive: which there are, what runs on each, and its clock (S15).

use crate::configure::{self, BuildError};
use crate::core_role::CoreRole;
use crate::profile::Profile;
use crate::stackful::Stacks;
use aster_exec::{Carrier, Core, Exec};
use aster_ports::cores::Interrupt;
use aster_units::Duration;
use std::rc::Rc;

/// The cores of a drive.
pub(crate) struct Cores {
    by_role: Vec<(CoreRole, Core)>,
    /// How the cores notify each other.
    pub(crate) interrupt: Interrupt,
    /// Those of the tasks of all cores, if tasks have stacks of their own.
    pub(crate) stacks: Option<Rc<Stacks>>,
}

impl Cores {
    /// Adds the cores of `profile`'s drive to `exec`.
    ///
    /// # Errors
    /// When a clock stands still.
    pub(crate) fn of(exec: &Exec, profile: &Profile) -> Result<Self, BuildError> {
        let core = |role| Ok((role, Core::new(exec, configure::frequency(profile, role)?)));
        let by_role = CoreRole::of(profile).map(core).collect::<Result<Vec<_>, BuildError>>()?;
        let stacks = profile.cores.stack_bytes().map(|bytes| Rc::new(Stacks::new(bytes)));
        if let Some(stacks) = &stacks {
            by_role.iter().for_each(|(_, core)| core.carry_by(Rc::clone(stacks) as Rc<dyn Carrier>));
        }
        // A core doesn't notify itself.
        let interrupt = match by_role.len() {
            1 => Interrupt::default(),
            _ => Interrupt { latency: Duration::from_nanos(u64::from(profile.cores.interrupt_ns)) },
        };
        Ok(Cores { by_role, interrupt, stacks })
    }
    /// The core on which `role` runs: its own if it has one, otherwise the translation's.
    pub(crate) fn core(&self, role: CoreRole) -> &Core {
        let own = self.by_role.iter().find(|(of, _)| *of == role);
        &own.unwrap_or(&self.by_role[0]).1
    }
    /// How the core on which `role` runs notifies the translation's.
    pub(crate) fn interrupt_from(&self, role: CoreRole) -> Interrupt {
        match self.core(role).number() == self.core(CoreRole::Translation).number() {
            true => Interrupt::default(),
            false => self.interrupt,
        }
    }
    /// The core that runs the flash software of each channel of `profile`'s drive.
    pub(crate) fn of_channels(&self, profile: &Profile) -> Vec<Core> {
        let lanes = profile.channels_per_flash_core().max(1);
        let core = |channel| self.core(CoreRole::Flash(channel / lanes)).clone();
        (0..profile.array_geometry().channels).map(core).collect()
    }
    /// Every core once, in the order of their numbers.
    pub(crate) fn all(&self) -> Vec<Core> {
        self.by_role.iter().map(|(_, core)| core.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::shipped;
    use aster_units::Instant;

    fn cores(change: impl FnOnce(&mut Profile)) -> Cores {
        let mut profile = shipped("tiny").unwrap();
        change(&mut profile);
        Cores::of(&Exec::new(), &profile).unwrap()
    }

    #[test]
    fn a_cycle_takes_as_long_as_its_cores_clock_says() {
        let cores = cores(|p| {
            p.cores.frequency_mhz = 1_000.0;
            p.cores.flash_mhz = Some(500.0);
        });
        assert_eq!(cores.all().len(), 2);
        let after = |role| {
            cores.core(role).charge(1_000);
            cores.core(role).now().since(Instant::ZERO)
        };
        assert_eq!(after(CoreRole::Translation), Duration::from_micros(1));
        assert_eq!(after(CoreRole::Flash(0)), Duration::from_micros(2));
    }

    #[test]
    fn only_a_core_of_its_own_interrupts_the_translations() {
        let cores = cores(|p| (p.cores.interrupt_ns, p.cores.ecc_core) = (200, false));
        let latency = |role| cores.interrupt_from(role).latency;
        assert_eq!(latency(CoreRole::Flash(0)), Duration::from_nanos(200));
        assert_eq!(latency(CoreRole::Correction), Duration::ZERO);
    }

    /// G24: channels 0 and 1 are the lanes of one controller, 2 and 3 those of the other.
    #[test]
    fn each_array_controller_has_a_core_for_its_lanes() {
        let mut profile = shipped("tiny").unwrap();
        profile.geometry.channels = 4;
        for (lanes, numbers, all) in
            [(None, [1, 1, 1, 1], 2), (Some(2), [1, 1, 2, 2], 3), (Some(1), [1, 2, 3, 4], 5)]
        {
            profile.channel.lanes = lanes;
            let cores = Cores::of(&Exec::new(), &profile).unwrap();
            let of_channels: Vec<_> = cores.of_channels(&profile).iter().map(Core::number).collect();
            assert_eq!((&of_channels[..], cores.all().len()), (&numbers[..], all), "{lanes:?}");
        }
        profile.cores.flash_core = false;
        let cores = Cores::of(&Exec::new(), &profile).unwrap();
        assert!(cores.of_channels(&profile).iter().all(|core| core.number() == 0));
    }

    #[test]
    fn without_a_core_of_its_own_a_role_runs_on_the_translations() {
        let cores = cores(|p| p.cores.flash_core = false);
        assert_eq!(cores.all().len(), 1);
        assert_eq!(cores.core(CoreRole::Flash(0)).number(), cores.core(CoreRole::Translation).number());
        assert_eq!(cores.interrupt, Interrupt::default());
    }
}
