//! The kinds of wear levelling that the FTLs have.

use aster_device::profile::{LevellingName, PAGE_MAPPING, Profile};
use serde::Serialize;

/// The window of erases of regional wear levelling if the profile has none: chosen.
const WINDOW: u32 = 128;

/// A kind of wear levelling.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Levelling {
    /// None.
    None,
    /// `ftl.wear_levelling = "dynamic"`.
    Dynamic,
    /// `ftl.wear_levelling = "static"`.
    Static,
    /// Regional static wear levelling of the Host-FTL paper: `target.wear_window` (H26 to H30).
    Regional,
    /// Whatever the FTL does by itself.
    Own,
}

impl Levelling {
    /// The kinds that the drive's FTL, or that of its host, has.
    pub(super) fn of(profile: &Profile) -> &'static [Levelling] {
        match profile.target.as_ref().map(|target| target.kind.as_str()) {
            Some("hostftl") => &[Levelling::None, Levelling::Regional],
            Some("pblk") => &[Levelling::None],
            None | Some("none" | "block" | PAGE_MAPPING) => {
                &[Levelling::None, Levelling::Dynamic, Levelling::Static]
            }
            Some(_) => &[Levelling::Own],
        }
    }
    /// Has the drive level its wear in this way.
    pub(super) fn set(self, profile: &mut Profile) {
        let target = profile.target.as_mut();
        match self {
            Levelling::None => {
                profile.ftl.wear_levelling = LevellingName::None;
                target.into_iter().for_each(|target| target.wear_window = None);
            }
            Levelling::Dynamic => profile.ftl.wear_levelling = LevellingName::Dynamic,
            Levelling::Static => profile.ftl.wear_levelling = LevellingName::Static,
            Levelling::Regional => {
                target.into_iter().for_each(|target| {
                    target.wear_window.get_or_insert(WINDOW);
                });
            }
            Levelling::Own => {}
        }
    }
    /// As profiles and reports write it.
    pub(super) fn key(self) -> &'static str {
        match self {
            Levelling::None => "none",
            Levelling::Dynamic => "dynamic",
            Levelling::Static => "static",
            Levelling::Regional => "regional",
            Levelling::Own => "own",
        }
    }
    /// As a title.
    pub(super) fn title(self) -> &'static str {
        match self {
            Levelling::None => "no wear levelling",
            Levelling::Dynamic => "dynamic wear levelling",
            Levelling::Static => "static wear levelling",
            Levelling::Regional => "regional wear levelling",
            Levelling::Own => "the FTL's own wear levelling",
        }
    }
    /// As the name of a life.
    pub(super) fn stage(self) -> &'static str {
        match self {
            Levelling::None => "without levelling",
            Levelling::Dynamic => "with dynamic levelling",
            Levelling::Static => "with static levelling",
            Levelling::Regional => "with regional levelling",
            Levelling::Own => "with levelling of its own",
        }
    }
}
