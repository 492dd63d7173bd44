//! Pieces that a reader brings: a drive or bench is built with them in place of ours.

use crate::channels::ChannelHardware;
use crate::configure::{self, BuildError, value};
use crate::media::EMMC_BYTES;
use crate::nvram::FRONT_END_AT;
use crate::profile::Profile;
use crate::registry::{
    Decisions, MakeCommandSet, MakeFrontEnd, MakeMapping, MakeNvme, MakePlacement, MakeScheduler,
    MakeStreamPolicy, MakeTarget, MakeTranslation, MakeVictimPolicy, Registry,
};
use aster_flash::Controller;
use aster_ftl::{Mapping, MappingPorts};
use aster_parties::{
    Arbiter, CommandSet, FlashScheduler, FrontEndFacts, FrontEndPiece, MediaFacts, Operations, Placement,
    PreferredWrites, StreamPolicy, TargetPiece, TaskScheduler, Translation, VictimPolicy,
};
use aster_units::{ChannelId, Content};
use std::rc::Rc;

/// Makes the arbiter of a channel with this many slots, one per LUN.
pub type MakeArbiter = Box<dyn Fn(ChannelId, usize) -> Box<dyn Arbiter>>;

/// Pieces to build with. The profile chooses those that are absent.
#[derive(Default)]
pub struct Pieces {
    /// The kind of channels.
    pub hardware: ChannelHardware,
    /// Chooses and admits the LUNs' operations (B17). Unused if only a bench sends them.
    pub tasks: Option<Box<dyn TaskScheduler>>,
    /// Chooses among transactions that wait for a channel (B18). Unused under a controller in hardware,
    /// which has its own arbiter.
    pub arbiter: Option<MakeArbiter>,
    /// The translations that `ftl.kind` chooses from. Unused on a bench.
    pub translations: Registry<MakeTranslation>,
    /// The victim policies that `ftl.victims` chooses from. Unused on a bench and by a reader's own
    /// translation.
    pub victims: Registry<MakeVictimPolicy>,
    /// The stream policies that `ftl.stream_policy` chooses from. Unused on a bench and by a reader's own
    /// translation.
    pub streams: Registry<MakeStreamPolicy>,
    /// The placements that `ftl.placement` chooses from. Unused on a bench and by a reader's own
    /// translation.
    pub placements: Registry<MakePlacement>,
    /// The mappings that `ftl.mapping` chooses from. Unused on a bench and by a reader's own translation.
    pub mappings: Registry<MakeMapping>,
    /// The flash schedulers that `scheduler.policy` chooses from. Unused on a bench.
    pub schedulers: Registry<MakeScheduler>,
    /// The front ends that `host.front_end` chooses from. Unused on a bench.
    pub front_ends: Registry<MakeFrontEnd>,
    /// The command sets that `host.command_set` chooses from. Unused on a bench.
    pub command_sets: Registry<MakeCommandSet>,
    /// The targets that `target.kind` chooses from. `device` has none itself, since they stand on the host:
    /// `aster-targets` adds ours. Unused on a bench.
    pub targets: Registry<MakeTarget>,
}

/// What of the party behind a front end the front end must know.
pub(crate) struct Behind<'a> {
    offers: Operations,
    capacity_bytes: u64,
    preferred_writes: Option<PreferredWrites>,
    kind: &'a str,
}

impl<'a> Behind<'a> {
    pub(crate) fn of_translation(profile: &'a Profile, translation: &dyn Translation) -> Self {
        Behind {
            offers: translation.offers(),
            capacity_bytes: translation.capacity_bytes(),
            preferred_writes: translation.preferred_writes(),
            kind: &profile.ftl.kind,
        }
    }
    pub(crate) fn of_target(kind: &'a str, target: &dyn TargetPiece) -> Self {
        Behind {
            offers: Operations::BLOCKS,
            capacity_bytes: target.capacity_bytes(),
            preferred_writes: target.preferred_writes(),
            kind,
        }
    }
}

impl Pieces {
    /// Adds a translation that profiles choose by `ftl.kind`.
    pub fn translation(
        mut self,
        kind: &str,
        make: impl Fn(&Profile, &MediaFacts) -> Result<Box<dyn Translation>, BuildError> + 'static,
    ) -> Self {
        self.translations.add(kind, Box::new(move |profile, facts, _| make(profile, facts)));
        self
    }

    /// Adds a front end that profiles choose by `host.front_end`, and that is no NVMe controller.
    pub fn front_end(
        mut self,
        name: &str,
        make: impl Fn(&Profile, FrontEndFacts) -> Result<Box<dyn FrontEndPiece>, BuildError> + 'static,
    ) -> Self {
        self.front_ends.add(name, MakeFrontEnd::Plain(Box::new(make)));
        self
    }

    /// Adds an NVMe controller that profiles choose by `host.front_end`. It is made with the command set that
    /// `host.command_set` names.
    pub fn nvme_front_end(mut self, name: &str, make: Box<MakeNvme>) -> Self {
        self.front_ends.add(name, MakeFrontEnd::Nvme(make));
        self
    }

    /// Adds a target that profiles choose by `target.kind`.
    pub fn target(
        mut self,
        kind: &str,
        make: impl Fn(&Profile, &MediaFacts) -> Result<Box<dyn TargetPiece>, BuildError> + 'static,
    ) -> Self {
        self.targets.add(kind, Box::new(make));
        self
    }

    /// Adds a target of ours. A reader's own one of that name goes before it.
    pub fn our_target(
        mut self,
        kind: &'static str,
        make: impl Fn(&Profile, &MediaFacts) -> Result<Box<dyn TargetPiece>, BuildError> + 'static,
    ) -> Self {
        self.targets.add_ours(kind, Box::new(make));
        self
    }

    /// Makes the front end of a profile's drive, with its command set if it is an NVMe controller. It is not
    /// started yet.
    ///
    /// # Errors
    /// When no front end has that name, or it doesn't suit this drive or what is `behind` it.
    pub(crate) fn make_front_end(
        &self,
        profile: &Profile,
        content: Content,
        name: &str,
        serial: Option<String>,
        behind: Behind<'_>,
    ) -> Result<Box<dyn FrontEndPiece>, BuildError> {
        // The profile names one that there is, whoever asks for it.
        self.command_sets.find(&profile.host.command_set)?;
        let Behind { offers, capacity_bytes, preferred_writes, kind } = behind;
        let name = name.to_owned();
        let facts = FrontEndFacts { name, serial, content, capacity_bytes, preferred_writes };
        let front_end = match self.front_ends.find(&profile.host.front_end)? {
            MakeFrontEnd::Plain(make) => make(profile, facts)?,
            MakeFrontEnd::Nvme(make) => make(profile, facts, self.make_command_set(profile)?)?,
        };
        front_end.function().check()?;
        let missing = front_end.needs().operations.missing_in(&offers);
        if !missing.is_empty() {
            let h = &profile.host;
            let reason = format!(
                "\"{}\" behind host.front_end = \"{}\" needs {} of the translation, which ftl.kind = \
                 \"{kind}\" doesn't have: choose another of them",
                h.command_set,
                h.front_end,
                missing.join(", "),
            );
            return Err(value("host.command_set", reason));
        }
        Ok(front_end)
    }

    /// Adds a victim policy that profiles choose by `ftl.victims`.
    pub fn victims(
        mut self,
        name: &str,
        make: impl Fn(&Profile) -> Result<Box<dyn VictimPolicy>, BuildError> + 'static,
    ) -> Self {
        self.victims.add(name, Box::new(make));
        self
    }

    /// Adds a stream policy that profiles choose by `ftl.stream_policy`.
    pub fn streams(
        mut self,
        name: &str,
        make: impl Fn(&Profile) -> Result<Box<dyn StreamPolicy>, BuildError> + 'static,
    ) -> Self {
        self.streams.add(name, Box::new(make));
        self
    }

    /// Adds a placement that profiles choose by `ftl.placement`.
    pub fn placement(
        mut self,
        name: &str,
        make: impl Fn(&Profile) -> Result<Box<dyn Placement>, BuildError> + 'static,
    ) -> Self {
        self.placements.add(name, Box::new(make));
        self
    }

    /// Adds a mapping that profiles choose by `ftl.mapping`: what keeps the map of page mapping. `make` is
    /// given the profile and what a mapping stands on, whenever a drive is powered on. Asserts that the name
    /// is none of ours: where our maps are, the FTL knows by theirs.
    pub fn mapping<M: Mapping>(
        mut self,
        name: &str,
        make: impl Fn(&Profile, MappingPorts<'_>) -> M + 'static,
    ) -> Self {
        assert!(!self.mappings.is_ours(name), "ftl.mapping = {name:?} is a mapping of ours");
        let make = Rc::new(make);
        let mapped: MakeMapping = Box::new(move |profile| {
            let (make, profile) = (Rc::clone(&make), profile.clone());
            Ok(Box::new(move |ours| ours.mapped_by(move |ports| make(&profile, ports))))
        });
        self.mappings.add(name, mapped);
        self
    }

    /// Makes the policies, the placement and the mapping of a profile's drive.
    pub(crate) fn make_decisions(&self, profile: &Profile) -> Result<Decisions, BuildError> {
        let victims = self.victims.find(&profile.ftl.victims)?(profile)?;
        let streams = self.streams.find(&profile.ftl.stream_policy)?(profile)?;
        let placement = self.placements.find(profile.ftl.placement())?(profile)?;
        let mapping = self.mappings.find(profile.ftl.mapping.name())?(profile)?;
        Ok(Decisions { victims, streams, placement, mapping })
    }

    /// Adds a command set that profiles choose by `host.command_set`.
    pub fn command_set(
        mut self,
        name: &str,
        make: impl Fn(&Profile) -> Result<Box<dyn CommandSet>, BuildError> + 'static,
    ) -> Self {
        self.command_sets.add(name, Box::new(make));
        self
    }

    /// Makes the command set of a profile's drive.
    ///
    /// # Errors
    /// When no command set has that name, or it doesn't suit this drive.
    pub(crate) fn make_command_set(&self, profile: &Profile) -> Result<Box<dyn CommandSet>, BuildError> {
        self.command_sets.find(&profile.host.command_set)?(profile)
    }

    /// Adds a flash scheduler that profiles choose by `scheduler.policy`.
    pub fn scheduler(
        mut self,
        policy: &str,
        make: impl Fn(&Profile) -> Result<Box<dyn FlashScheduler<Controller>>, BuildError> + 'static,
    ) -> Self {
        self.schedulers.add(policy, Box::new(make));
        self
    }

    /// Makes the flash scheduler of a profile's drive. It is not started yet.
    ///
    /// # Errors
    /// When no scheduler has that name, or it doesn't suit this drive.
    pub(crate) fn make_scheduler(
        &self,
        profile: &Profile,
    ) -> Result<Box<dyn FlashScheduler<Controller>>, BuildError> {
        self.schedulers.find(&profile.scheduler.policy)?(profile)
    }

    /// Whether a piece of `profile`'s drive is a reader's own.
    fn has_own(&self, profile: &Profile) -> bool {
        self.tasks.is_some()
            || self.arbiter.is_some()
            || self.translations.is_own(&profile.ftl.kind)
            || self.victims.is_own(&profile.ftl.victims)
            || self.streams.is_own(&profile.ftl.stream_policy)
            || self.placements.is_own(profile.ftl.placement())
            || self.mappings.is_own(profile.ftl.mapping.name())
            || self.schedulers.is_own(&profile.scheduler.policy)
            || self.front_ends.is_own(&profile.host.front_end)
            || self.command_sets.is_own(&profile.host.command_set)
            || profile.target.as_ref().is_some_and(|target| self.targets.is_own(&target.kind))
    }

    /// Checks that a reader's own piece can use the profile's `[own]` table.
    pub(crate) fn check_own_keys(&self, profile: &Profile) -> Result<(), BuildError> {
        if profile.own.is_some() && !self.has_own(profile) {
            let reason = "must go: only a piece of your own reads it, and this drive has none";
            return Err(value("own", reason));
        }
        Ok(())
    }

    /// Makes the translation of a profile's drive. It is not started yet.
    ///
    /// # Errors
    /// When no translation has that name, or it doesn't suit this drive.
    pub(crate) fn make_translation(
        &self,
        profile: &Profile,
        content: Content,
    ) -> Result<Box<dyn Translation>, BuildError> {
        let kind = &profile.ftl.kind;
        let facts = configure::media_facts(profile, content);
        let decisions = self.make_decisions(profile)?;
        let translation = self.translations.find(kind)?(profile, &facts, decisions)?;
        let (needs, capacity) = (translation.needs(), translation.capacity_bytes());
        let refuse = |reason| Err(value("ftl.kind", reason));
        if needs.nvram_bytes > FRONT_END_AT {
            let (wants, has) = (needs.nvram_bytes, FRONT_END_AT);
            return refuse(format!("\"{kind}\" must do with {has} bytes of NVRAM, but wants {wants}"));
        }
        if profile.board.emmc.is_some() && needs.emmc_bytes as u64 > EMMC_BYTES {
            let reason = format!(
                "must be absent: it has {EMMC_BYTES} bytes, and what \"{kind}\" keeps there takes {}",
                needs.emmc_bytes
            );
            return Err(value("board.emmc", reason));
        }
        let page = u64::from(facts.geometry.page_bytes);
        if capacity == 0 || !capacity.is_multiple_of(page) {
            return refuse(format!(
                "\"{kind}\" must have a capacity of whole pages of {page} bytes, but has {capacity} bytes"
            ));
        }
        Ok(translation)
    }
}

impl From<ChannelHardware> for Pieces {
    fn from(hardware: ChannelHardware) -> Self {
        Pieces { hardware, ..Pieces::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::shipped;
    use aster_hostif::Nvm;
    use std::cell::Cell;
    use std::rc::Rc;

    /// A front end that speaks something else neither has a command set made nor gets one.
    #[test]
    fn an_nvme_controller_of_a_readers_own_is_given_the_command_set_and_another_front_end_none() {
        let made = Rc::new(Cell::new(0));
        let count = Rc::clone(&made);
        let pieces = Pieces::default()
            .command_set("mine", move |_| {
                count.set(count.get() + 1);
                Ok(Box::new(Nvm::default()))
            })
            .front_end("box", |_, facts| Err(value("own", facts.name)))
            .nvme_front_end(
                "nvme-box",
                Box::new(|_, facts, set| {
                    assert_eq!(set.needs(), Nvm::default().needs());
                    Err(value("own", format!("NVMe, {}", facts.name)))
                }),
            );
        let refused = |front_end: &str, command_set: &str| {
            let mut profile = shipped("tiny").unwrap();
            profile.host.front_end = front_end.to_owned();
            profile.host.command_set = command_set.to_owned();
            let offers = Operations::BLOCKS;
            let behind = Behind { offers, capacity_bytes: 1 << 20, preferred_writes: None, kind: "k" };
            let error = pieces.make_front_end(&profile, Content::Full, "d", None, behind).err();
            error.expect("no front end is made here").to_string()
        };
        assert_eq!((refused("box", "mine"), made.get()), ("own: d".to_owned(), 0));
        assert_eq!((refused("nvme-box", "mine"), made.get()), ("own: NVMe, d".to_owned(), 1));
        assert!(refused("box", "yours").starts_with("host.command_set: must be one of"));
    }
}
