//! One channel with its packages and its controller, without translation, front end and host, for a bench.

use crate::configure::{self, BuildError, value};
use crate::control::{Answer, ControlWord, Filter};
use crate::core_role::CoreRole;
use crate::pieces::Pieces;
use crate::profile::{ControllerName, CorrectionName, Profile};
use crate::wiring::{Channels, Surroundings};
use aster_channel::fixed::StatisticsFilter;
use aster_channel::{BusTiming, ChannelStats};
use aster_events::Recorder;
use aster_exec::{Core, Exec};
use aster_flash::{FlashConfig, Lun};
use aster_nand::{NandArray, NandInspect};
use aster_ports::channel::BusTap;
use aster_ports::cores::Interrupt;
use aster_ports::dram::{Dram, SharedDram};
use aster_ports::flash::FlashPort;
use aster_ports::resource::Bandwidth;
use aster_sched::{WorkersConfig, spawn_workers};
use aster_units::{Content, Geometry};
use std::rc::Rc;

/// A channel that takes requests at I3. It doesn't advance its clock by itself: its owner does.
pub struct OneChannel {
    exec: Exec,
    content: Content,
    geometry: Geometry,
    dram: SharedDram,
    core: Core,
    channels: Channels,
    inspect: NandInspect,
    requests: Rc<FlashPort>,
    bus: BusTiming,
    recorder: Recorder,
}

impl OneChannel {
    /// Builds the channel of `profile`, which must have exactly one. There are `depth` page buffers, and
    /// at most as many requests in flight. Bring-up begins now and ends as the clock advances.
    ///
    /// # Errors
    /// When the profile doesn't describe such a channel, or has another number of channels.
    pub fn power_on(
        pieces: impl Into<Pieces>,
        profile: &Profile,
        depth: u16,
        content: Option<Content>,
        recorder: &Recorder,
    ) -> Result<Self, BuildError> {
        let geometry = profile.array_geometry();
        if geometry.channels != 1 {
            return Err(value("geometry.channels", format!("must be 1, but is {}", geometry.channels)));
        }
        if profile.ecc.correction != CorrectionName::Hardware {
            let reason = "must be \"hardware\" on a bench of one channel, where nothing corrects in software";
            return Err(value("ecc.correction", reason));
        }
        let content = content.unwrap_or(profile.content.into());
        let exec = Exec::new();
        let mut array = NandArray::new(configure::nand(profile, content)?, None, recorder)?;
        let oob = configure::oob_bytes(profile);
        let dram = Dram::new(content, geometry.sectors_per_page(), oob, u32::from(depth), 1, 0);
        let scratch = dram.borrow().metadata_buffer(0);
        let memory = Bandwidth::new(profile.board.dram_mb_per_s * 1_000_000);
        let core = Core::new(&exec, configure::frequency(profile, CoreRole::Flash(0))?);
        let requests = FlashPort::new(&exec, geometry.total_luns(), depth, Interrupt::default());
        let around = Surroundings {
            exec: &exec,
            profile,
            content,
            geometry,
            dram: &dram,
            scratch,
            buses: &configure::buses(profile, &memory).1,
            completions: None,
            cores: std::slice::from_ref(&core),
            controllers: &requests,
            recorder,
        };
        let Pieces { hardware, tasks, arbiter, .. } = pieces.into();
        let channels = Channels::build(&around, vec![array.take_packages(0)], &hardware, arbiter.as_ref())?;
        if profile.channel.controller == ControllerName::Software {
            let (tasks, software) = (
                configure::tasks(profile, tasks).into(),
                channels.software(around.cores, geometry, recorder),
            );
            // An experiment on one channel sees each read as it is.
            let config = WorkersConfig::plain(geometry);
            spawn_workers(&channels.luns, &requests, &tasks, &channels.gate, recorder, config, software);
        }
        channels.bring_up(&around);
        if profile.channel.controller == ControllerName::Asynchronous {
            channels.fixed.iter().for_each(|controller| {
                controller.insert_filter(Box::new(StatisticsFilter::default()));
            });
        }
        let bus = OneChannel::bus_timing(profile)?;
        let (inspect, recorder) = (array.inspect(), recorder.clone());
        Ok(OneChannel { exec, content, geometry, dram, core, channels, inspect, requests, bus, recorder })
    }

    /// The times of `profile`'s channel bus after bring-up.
    ///
    /// # Errors
    /// When its data interface has no such timing mode.
    pub fn bus_timing(profile: &Profile) -> Result<BusTiming, BuildError> {
        configure::bus_timing(profile)
    }

    /// The executor: the clock, and where tasks that inject requests are spawned.
    pub fn exec(&self) -> &Exec {
        &self.exec
    }
    /// The core that runs flash operations in software.
    pub fn core(&self) -> &Core {
        &self.core
    }
    /// The port at I3 where requests are injected.
    pub fn requests(&self) -> &Rc<FlashPort> {
        &self.requests
    }
    /// The page buffers: as many as requests in flight.
    pub fn dram(&self) -> &SharedDram {
        &self.dram
    }
    /// The array behind the channel.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }
    /// How page content is kept.
    pub fn content(&self) -> Content {
        self.content
    }
    /// Looks at the cells, and damages them on purpose.
    pub fn nand(&self) -> &NandInspect {
        &self.inspect
    }
    /// The facts about the packages that flash software uses.
    pub fn flash(&self) -> &Rc<FlashConfig> {
        &self.channels.flash
    }
    /// The times of the bus after bring-up.
    pub fn bus(&self) -> BusTiming {
        self.bus
    }
    /// What the channel has done.
    pub fn stats(&self) -> ChannelStats {
        self.channels.engines[0].stats()
    }
    /// Why bring-up of the packages failed. Only the first call returns it.
    pub fn take_fault(&self) -> Option<String> {
        self.channels.fault.borrow_mut().take()
    }
    /// Whether the controller is hardware. If so, operations in software don't reach the packages.
    pub fn is_fixed(&self) -> bool {
        !self.channels.fixed.is_empty()
    }
    /// Sends an administrative control word down the control path (C18). Refused if the controller has no
    /// control path.
    pub fn ask(&self, word: &ControlWord) -> Answer {
        self.channels.fixed.first().map_or(Answer::Refused, |controller| controller.ask(word))
    }
    /// Appends a filter to the control path (C16). Returns false if the controller has none.
    pub fn insert_filter(&self, filter: Box<dyn Filter>) -> bool {
        self.channels.fixed.first().is_some_and(|controller| controller.insert_filter(filter))
    }
    /// Shows the channel's bus activity to `tap` from now on.
    pub fn set_tap(&self, tap: Option<Box<dyn BusTap>>) {
        self.channels.engines[0].set_tap(tap);
    }
    /// LUN `slot / ways` behind chip enable `slot % ways`, for operations in software.
    ///
    /// # Panics
    /// When the channel has no such LUN.
    pub fn lun(&self, slot: usize) -> Lun {
        assert!(slot < self.geometry.luns_per_channel() as usize, "the channel has no LUN {slot}");
        let ways = usize::from(self.geometry.ways);
        Lun::new(&self.core, &self.channels.ports[0], self.flash(), slot % ways, slot / ways)
            .reporting_to(&self.recorder)
    }
}

impl Drop for OneChannel {
    fn drop(&mut self) {
        self.exec.shut_down();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::shipped;

    #[test]
    fn a_profile_of_several_channels_is_refused_by_its_key() {
        let mut profile = shipped("tiny").unwrap();
        profile.geometry.channels = 2;
        let power_on =
            |profile| OneChannel::power_on(Pieces::default(), profile, 4, None, &Recorder::default());
        let error = power_on(&profile).err().expect("two channels").to_string();
        assert_eq!(error, "geometry.channels: must be 1, but is 2");
    }
}
