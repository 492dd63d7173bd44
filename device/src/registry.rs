//! The pieces that a profile can choose from, by name.

use crate::configure::{self, BuildError, value};
use crate::profile::{
    AssignerName, D_CHOICES, DIRECTIVE, FIL, MESSAGE_UNIT, NVME_SOFTWARE, ONE_STREAM, OPEN_CHANNEL_12,
    OPEN_CHANNEL_20, PAGE_MAPPING, Profile, STRIPED, UPDATE_DISTANCE, VECTORS, WINDOWED_GREEDY, not_one_of,
};
use aster_flash::Controller;
use aster_ftl::{
    Assigner, CostBenefit, DChoices, Fifo, Greedy, HostDirective, OneStream, PLANE_ORDERS, PageMapping,
    PlaneOrder, UpdateDistance, WindowedGreedy,
};
use aster_hostif::message::{ArrayShape, MessageUnitPiece};
use aster_hostif::{HostIfConfig, Nvme, OpenChannel12, OpenChannel20, SoftwareNvme};
use aster_parties::{
    CommandSet, FlashScheduler, FrontEndFacts, FrontEndPiece, MediaFacts, PieceError, Placement,
    StreamPolicy, TargetPiece, Translation, VictimPolicy,
};
use aster_sched::cosmos::Cosmos;
use aster_sched::fil::FlashInterface;
use aster_sched::{PassThrough, Workers};
use aster_vectors::Vectors;
use std::collections::BTreeMap;

/// Makes a translation from a profile, for these media. It starts nothing.
pub type MakeTranslation =
    Box<dyn Fn(&Profile, &MediaFacts, Decisions) -> Result<Box<dyn Translation>, BuildError>>;

/// Makes a victim policy from a profile.
pub type MakeVictimPolicy = Box<dyn Fn(&Profile) -> Result<Box<dyn VictimPolicy>, BuildError>>;

/// Makes a stream policy from a profile.
pub type MakeStreamPolicy = Box<dyn Fn(&Profile) -> Result<Box<dyn StreamPolicy>, BuildError>>;

/// Blocks that `d-choices` draws by default. With more, hardly less is copied.
pub const CHOICES: u32 = 10;
/// Percentage of blocks that `windowed-greedy` considers by default.
pub const WINDOW_PERCENT: u32 = 50;

/// Makes a placement from a profile.
pub type MakePlacement = Box<dyn Fn(&Profile) -> Result<Box<dyn Placement>, BuildError>>;

/// The pieces that decide for a translation, as the profile chooses them.
pub struct Decisions {
    /// Chooses the block that garbage collection empties next.
    pub victims: Box<dyn VictimPolicy>,
    /// Chooses the stream of each page that the host writes.
    pub streams: Box<dyn StreamPolicy>,
    /// Chooses the LUN of each logical page.
    pub placement: Box<dyn Placement>,
    /// Keeps the map of page mapping: what `ftl.mapping` names.
    pub mapping: Mapped,
}

/// Page mapping with a mapping.
pub type Mapped = Box<dyn FnOnce(PageMapping) -> PageMapping>;

/// Makes a mapping from a profile.
pub type MakeMapping = Box<dyn Fn(&Profile) -> Result<Mapped, BuildError>>;

impl Decisions {
    /// Page mapping that decides so.
    ///
    /// # Errors
    /// When the placement doesn't suit the array.
    pub fn taken_by(self, ours: PageMapping) -> Result<PageMapping, PieceError> {
        (self.mapping)(ours).deciding(self.victims, self.streams, &*self.placement)
    }
}

/// Makes a front end from a profile, for this drive. It starts nothing.
pub enum MakeFrontEnd {
    /// One that speaks something else than NVMe.
    Plain(Box<MakePlain>),
    /// An NVMe controller, with the command set that `host.command_set` names.
    Nvme(Box<MakeNvme>),
}

/// Makes a front end that knows no NVMe.
pub type MakePlain = dyn Fn(&Profile, FrontEndFacts) -> Result<Box<dyn FrontEndPiece>, BuildError>;

/// Makes an NVMe controller.
pub type MakeNvme =
    dyn Fn(&Profile, FrontEndFacts, Box<dyn CommandSet>) -> Result<Box<dyn FrontEndPiece>, BuildError>;

/// Makes a command set from a profile.
pub type MakeCommandSet = Box<dyn Fn(&Profile) -> Result<Box<dyn CommandSet>, BuildError>>;

/// Makes a flash scheduler from a profile. It starts nothing.
pub type MakeScheduler = Box<dyn Fn(&Profile) -> Result<Box<dyn FlashScheduler<Controller>>, BuildError>>;

/// Makes a target from a profile, for a drive with these media. It starts nothing.
pub type MakeTarget = Box<dyn Fn(&Profile, &MediaFacts) -> Result<Box<dyn TargetPiece>, BuildError>>;

/// Most characters in the name of a reader's own piece.
const NAME_CHARS_MAX: usize = 64;

/// The makers of one kind of piece: ours and those that a reader has added.
pub struct Registry<M> {
    /// The profile's key whose value names a piece.
    key: &'static str,
    ours: BTreeMap<&'static str, M>,
    own: BTreeMap<String, M>,
}

impl<M> Registry<M> {
    fn of(key: &'static str, ours: impl IntoIterator<Item = (&'static str, M)>) -> Self {
        Registry { key, ours: ours.into_iter().collect(), own: BTreeMap::new() }
    }
    /// Adds a reader's own piece, which replaces any other of that name. Asserts that the name is valid,
    /// since profiles choose by it and images and reports keep it.
    pub(crate) fn add(&mut self, name: &str, make: M) {
        let is_name = (1..=NAME_CHARS_MAX).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
        assert!(
            is_name,
            "{} must be 1 to {NAME_CHARS_MAX} letters, digits, \"-\", \"_\" and \".\", but a piece \
             is called {name:?}",
            self.key
        );
        self.own.insert(name.to_owned(), make);
    }
    /// Adds a piece of ours that is made elsewhere.
    pub(crate) fn add_ours(&mut self, name: &'static str, make: M) {
        self.ours.insert(name, make);
    }
    /// Whether this name belongs to a reader's own piece.
    pub fn is_own(&self, name: &str) -> bool {
        self.own.contains_key(name)
    }
    /// Whether this name belongs to a piece of ours that no reader has replaced.
    pub(crate) fn is_ours(&self, name: &str) -> bool {
        self.ours.contains_key(name) && !self.is_own(name)
    }
    /// All names.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.ours.keys().copied().chain(self.own.keys().map(String::as_str)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
    /// The maker with this name.
    ///
    /// # Errors
    /// If there is none; lists the names that exist.
    pub(crate) fn find(&self, name: &str) -> Result<&M, BuildError> {
        self.own
            .get(name)
            .or_else(|| self.ours.get(name))
            .ok_or_else(|| value(self.key, not_one_of(&self.names(), name)))
    }
}

impl Default for Registry<MakeTranslation> {
    fn default() -> Self {
        let page_mapping: MakeTranslation = Box::new(|profile, facts, decisions| {
            let ours = PageMapping::new(configure::ftl(profile, facts))?;
            Ok(Box::new(decisions.taken_by(ours)?))
        });
        let vectors: MakeTranslation = Box::new(|profile, facts, _| {
            let made = Vectors::new(configure::vectors(profile, facts));
            Ok(Box::new(made.map_err(|e| value(vectors_key(e.field), format!("must be {}", e.must)))?))
        });
        Registry::of("ftl.kind", [(PAGE_MAPPING, page_mapping), (VECTORS, vectors)])
    }
}

/// The key of a profile that a field of the vectors' configuration comes from.
fn vectors_key(field: &str) -> &'static str {
    match field {
        "buffer_entries" => "ftl.buffer_entries",
        "blocks_per_lun" => "geometry.blocks_per_lun",
        _ => "geometry",
    }
}

/// The NVMe controller of a drive.
fn controller(profile: &Profile, facts: FrontEndFacts) -> HostIfConfig {
    let FrontEndFacts { name, serial, content, capacity_bytes, preferred_writes } = facts;
    let mut config = configure::host(profile, &name, content, capacity_bytes);
    config.preferred_writes = preferred_writes;
    if let Some(serial) = serial {
        config.serial = serial;
    }
    config
}

impl Default for Registry<MakeFrontEnd> {
    fn default() -> Self {
        let nvme: Box<MakeNvme> = Box::new(|profile, facts, command_set| {
            let config = controller(profile, facts);
            let nvme = Nvme::new(config, configure::pci_ids(profile), command_set)?;
            Ok(Box::new(nvme.with_command_fifo(configure::command_fifo(profile))))
        });
        let software: Box<MakeNvme> = Box::new(|profile, facts, command_set| {
            let config = controller(profile, facts);
            let (ids, software) = (configure::pci_ids(profile), configure::nvme_software(profile));
            Ok(Box::new(SoftwareNvme::new(config, ids, command_set, software)?))
        });
        let message_unit: Box<MakePlain> = Box::new(|profile, _| {
            let geometry = profile.used_geometry();
            let shape =
                ArrayShape::new(geometry, profile.lanes()).map_err(|error| value(error.key(), error))?;
            let (ids, costs) = (configure::pci_ids(profile), configure::mcu(profile));
            let alarm = configure::alarm_kelvins(profile).unwrap_or(0);
            Ok(Box::new(MessageUnitPiece::new(shape, ids, costs).with_alarm(alarm)))
        });
        Registry::of(
            "host.front_end",
            [
                ("nvme", MakeFrontEnd::Nvme(nvme)),
                (NVME_SOFTWARE, MakeFrontEnd::Nvme(software)),
                (MESSAGE_UNIT, MakeFrontEnd::Plain(message_unit)),
            ],
        )
    }
}

impl Default for Registry<MakeVictimPolicy> {
    fn default() -> Self {
        let greedy: MakeVictimPolicy = Box::new(|_| Ok(Box::new(Greedy)));
        let cost_benefit: MakeVictimPolicy = Box::new(|_| Ok(Box::new(CostBenefit)));
        let d_choices: MakeVictimPolicy = Box::new(|profile| {
            Ok(Box::new(DChoices::new(profile.ftl.victim_choices.unwrap_or(CHOICES), profile.seed)))
        });
        let fifo: MakeVictimPolicy = Box::new(|_| Ok(Box::new(Fifo)));
        let windowed_greedy: MakeVictimPolicy = Box::new(|profile| {
            let window = profile.ftl.victim_window_percent.unwrap_or(WINDOW_PERCENT);
            Ok(Box::new(WindowedGreedy::new(window)))
        });
        let ours = [
            ("greedy", greedy),
            ("cost-benefit", cost_benefit),
            (D_CHOICES, d_choices),
            ("fifo", fifo),
            (WINDOWED_GREEDY, windowed_greedy),
        ];
        Registry::of("ftl.victims", ours)
    }
}

impl Default for Registry<MakeStreamPolicy> {
    fn default() -> Self {
        let one: MakeStreamPolicy = Box::new(|_| Ok(Box::new(OneStream)));
        let update_distance: MakeStreamPolicy = Box::new(|_| Ok(Box::new(UpdateDistance::default())));
        let directive: MakeStreamPolicy = Box::new(|_| Ok(Box::new(HostDirective)));
        let ours = [(ONE_STREAM, one), (UPDATE_DISTANCE, update_distance), (DIRECTIVE, directive)];
        Registry::of("ftl.stream_policy", ours)
    }
}

impl Default for Registry<MakeMapping> {
    /// Page mapping makes ours itself: it knows by its configuration where its map is.
    fn default() -> Self {
        let ours = || -> MakeMapping { Box::new(|_| Ok(Box::new(|page_mapping| page_mapping))) };
        Registry::of("ftl.mapping", [("resident", ours()), ("demand-paged", ours())])
    }
}

impl Default for Registry<MakePlacement> {
    fn default() -> Self {
        let assigner = |name: AssignerName| -> (&'static str, MakePlacement) {
            let make: MakePlacement = Box::new(move |profile| {
                Ok(Box::new(match name {
                    AssignerName::ChannelFirst => Assigner::ChannelFirst,
                    AssignerName::WayFirst => Assigner::WayFirst,
                    AssignerName::Random => Assigner::Random { seed: profile.seed },
                }))
            });
            (name.name(), make)
        };
        let order = |name: &'static str| -> (&'static str, MakePlacement) {
            let order = PlaneOrder::named(name).expect("each name is of an order");
            let planes = |profile: &Profile| profile.used_geometry().planes;
            (name, Box::new(move |profile| Ok(Box::new(Assigner::Planes { order, planes: planes(profile) }))))
        };
        let ours = [AssignerName::ChannelFirst, AssignerName::WayFirst, AssignerName::Random];
        let striped: MakePlacement = Box::new(|_| Ok(Box::new(Assigner::Striped)));
        let ours = ours.into_iter().map(assigner).chain(PLANE_ORDERS.map(order));
        let ours = ours.chain([(STRIPED, striped)]);
        Registry::of("ftl.placement", ours)
    }
}

impl Default for Registry<MakeCommandSet> {
    fn default() -> Self {
        let nvm: MakeCommandSet = Box::new(|profile| Ok(Box::new(configure::nvm(profile))));
        let open_channel_12: MakeCommandSet =
            Box::new(|profile| Ok(Box::new(OpenChannel12::new(configure::open_channel(profile)?))));
        let open_channel_20: MakeCommandSet =
            Box::new(|profile| Ok(Box::new(OpenChannel20::new(configure::open_channel_20(profile)?))));
        let ours = [("nvm", nvm), (OPEN_CHANNEL_12, open_channel_12), (OPEN_CHANNEL_20, open_channel_20)];
        Registry::of("host.command_set", ours)
    }
}

impl Default for Registry<MakeTarget> {
    fn default() -> Self {
        Registry::of("target.kind", [])
    }
}

impl Default for Registry<MakeScheduler> {
    fn default() -> Self {
        // Their choice is the drive's task scheduler.
        let workers = || -> MakeScheduler {
            Box::new(|profile| {
                let flash = configure::flash(profile)?;
                Ok(Box::new(Workers(configure::workers(profile, &flash))))
            })
        };
        let cosmos: MakeScheduler = Box::new(|profile| {
            let flash = configure::flash(profile)?;
            Ok(Box::new(Cosmos(configure::big_loop(profile, &flash))))
        });
        let pass_through: MakeScheduler = Box::new(|profile| {
            let slots_per_channel = profile.array_geometry().luns_per_channel() as u16;
            Ok(Box::new(PassThrough { slots_per_channel }))
        });
        let fil: MakeScheduler = Box::new(|profile| {
            let flash = configure::flash(profile)?;
            Ok(Box::new(FlashInterface(configure::interface_layer(profile, &flash))))
        });
        let ours = [
            (FIL, fil),
            ("fifo", workers()),
            ("reads-first", workers()),
            ("cosmos", cosmos),
            ("pass-through", pass_through),
        ];
        Registry::of("scheduler.policy", ours)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_lists_those_that_there_are_and_an_own_piece_goes_before_one_of_ours() {
        let mut registry = Registry::of("ftl.kind", [("plain", 1), ("other", 2)]);
        let error = registry.find("mine").unwrap_err().to_string();
        assert_eq!(error, "ftl.kind: must be one of \"other\", \"plain\", but is \"mine\"");
        let near = registry.find("plane").unwrap_err().to_string();
        assert!(near.ends_with("but is \"plane\"; did you mean \"plain\"?"), "{near}");
        registry.add("mine", 3);
        registry.add("plain", 4);
        assert_eq!((registry.find("mine").ok(), registry.find("plain").ok()), (Some(&3), Some(&4)));
        assert_eq!(registry.names(), ["mine", "other", "plain"]);
        assert!(registry.is_own("plain") && !registry.is_own("other"));
    }

    /// Headers of images are lines of text.
    #[test]
    #[should_panic(expected = "ftl.kind must be 1 to 64 letters")]
    fn a_piece_has_a_name_that_an_image_can_keep() {
        Registry::of("ftl.kind", [("plain", 1)]).add("mine\nseed = 7", 3);
    }
}
