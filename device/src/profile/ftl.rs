//! Names in the profile's table of the translation.

use serde::{Deserialize, Serialize};

/// How garbage collection and the host share the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CollectionName {
    /// A block is emptied as fast as flash permits.
    #[default]
    OnDemand,
    /// The host pays for copies with what it programs.
    Paced,
}

/// What a read of logical blocks does that were never written, or were deallocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FirstAccessName {
    /// It gives zeroes.
    #[default]
    Zeroes,
    /// They get a place on flash, as if zeroes had been written (S26).
    Assigns,
}

/// Where the map is.
#[derive(Clone, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(from = "String", into = "String")]
pub enum MappingName {
    /// In memory as a whole.
    #[default]
    Resident,
    /// On flash, with a cache in memory.
    DemandPaged,
    /// Where a mapping of a reader's own keeps it, by its name.
    Own(String),
}

impl MappingName {
    /// As a profile says it.
    pub fn name(&self) -> &str {
        match self {
            MappingName::Resident => "resident",
            MappingName::DemandPaged => "demand-paged",
            MappingName::Own(name) => name,
        }
    }
}

impl From<String> for MappingName {
    fn from(name: String) -> Self {
        let ours = [MappingName::Resident, MappingName::DemandPaged];
        ours.into_iter().find(|ours| ours.name() == name).unwrap_or(MappingName::Own(name))
    }
}

impl From<MappingName> for String {
    fn from(name: MappingName) -> String {
        name.name().to_owned()
    }
}

/// What an open-channel drive does with the first block of each LUN and plane, in which the Cosmos+ board
/// keeps its bad-block table (P28).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableBlocksName {
    /// It is a block as any other.
    #[default]
    Off,
    /// It is the drive's: every command that names it is refused.
    Fail,
    /// The host doesn't see it: its block 0 is the next one.
    Hide,
}
