//! Makes a report's provenance, and the setup of a run from a provenance.

use super::{OwnWork, Setup};
use crate::provenance::{Build, HostFacts, ImageRecord, ProfileRecord, Provenance, WorkRecord, absolute};
use aster_device::profile::{ContentKind, Profile};
use aster_device::{ChannelHardware, Pieces};
use aster_units::Content;

/// The provenance of a run of `work` with `setup`, on a drive with `pieces`.
pub(crate) fn provenance_of(
    setup: &Setup,
    pieces: &Pieces,
    work: &OwnWork,
    image: Option<ImageRecord>,
) -> Provenance {
    let own = [
        ("tasks", pieces.tasks.is_some()),
        ("arbiter", pieces.arbiter.is_some()),
        ("front_end", pieces.front_ends.is_own(&setup.profile.host.front_end)),
        ("command_set", pieces.command_sets.is_own(&setup.profile.host.command_set)),
        ("scheduler", pieces.schedulers.is_own(&setup.profile.scheduler.policy)),
        ("translation", pieces.translations.is_own(&setup.profile.ftl.kind)),
        ("victims", pieces.victims.is_own(&setup.profile.ftl.victims)),
        ("streams", pieces.streams.is_own(&setup.profile.ftl.stream_policy)),
        ("placement", pieces.placements.is_own(setup.profile.ftl.placement())),
    ];
    let content = match setup.content.unwrap_or(setup.profile.content.into()) {
        Content::Full => ContentKind::Full,
        Content::Fingerprint => ContentKind::Fingerprint,
    };
    let hardware = match pieces.hardware {
        ChannelHardware::Timed => "timed",
        ChannelHardware::Cycles(_) => "rtl",
    };
    Provenance {
        aster: Build { version: env!("CARGO_PKG_VERSION").to_owned(), commit: None },
        profile: ProfileRecord {
            name: setup.name.clone(),
            overrides: setup.overrides.clone(),
            keys: setup.profile.clone(),
        },
        own_pieces: own.iter().filter(|(_, own)| *own).map(|(name, _)| (*name).to_owned()).collect(),
        hardware: hardware.to_owned(),
        content,
        seed: setup.seed,
        precondition: setup.precondition.clone(),
        age_hours: setup.age_hours,
        keep_going: setup.keep_going,
        work: record_of(work),
        image,
        arguments: Vec::new(),
        host: HostFacts::here(),
    }
}

/// The setup that repeats the run of `provenance`.
///
/// # Errors
/// When this version can't build a drive from the profile's keys; a message.
pub fn setup_of(provenance: &Provenance) -> Result<Setup, String> {
    // Check it like a profile written by hand: the report may have been edited, or be of another version.
    let keys = &provenance.profile.keys;
    let profile = keys.to_toml().and_then(|text| Profile::parse("the report's profile", &text));
    let profile = profile.map_err(|error| error.to_string())?;
    Ok(Setup {
        content: Some(provenance.content.into()),
        precondition: provenance.precondition.clone(),
        age_hours: provenance.age_hours,
        seed: provenance.seed,
        keep_going: provenance.keep_going,
        overrides: provenance.profile.overrides.clone(),
        ..Setup::new(&provenance.profile.name, profile)
    })
}

/// A report's record of `work`.
pub fn record_of(work: &OwnWork) -> WorkRecord {
    match work {
        OwnWork::Jobs { name, text, verify, .. } => {
            WorkRecord::Job { name: name.clone(), text: text.clone(), verify: *verify }
        }
        OwnWork::Trace { file, survey, .. } => WorkRecord::Trace {
            name: file.name().to_owned(),
            path: file.path().map(absolute),
            sha256: survey.sha256.clone(),
        },
        OwnWork::Live { name, .. } => WorkRecord::Live { name: name.clone() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_device::profile::SHIPPED;

    #[test]
    fn every_shipped_profile_comes_back_from_a_report_as_it_was() {
        for (name, text) in SHIPPED {
            let profile = Profile::parse(name, text).unwrap();
            let setup = Setup {
                overrides: vec!["seed=1".into()],
                age_hours: Some(7),
                keep_going: true,
                content: Some(Content::Fingerprint),
                ..Setup::new(name, profile.clone())
            };
            let work = OwnWork::jobs("j.fio", "[j]\nrw=read\nsize=64k\n", true).unwrap();
            let provenance = provenance_of(&setup, &Pieces::default(), &work, None);
            let json = serde_json::to_string(&provenance).unwrap();
            let back: Provenance = serde_json::from_str(&json).unwrap();
            assert_eq!(back, provenance, "{name}");
            let again = setup_of(&back).unwrap();
            assert_eq!(again.profile, profile, "{name}");
            assert_eq!(
                (again.seed, again.age_hours, again.keep_going, again.content),
                (1, Some(7), true, Some(Content::Fingerprint))
            );
        }
    }

    #[test]
    fn a_profile_that_was_edited_into_nonsense_is_refused_by_its_key() {
        let profile = aster_device::profile::shipped("tiny").unwrap();
        let work = OwnWork::jobs("j.fio", "[j]\nsize=64k\n", false).unwrap();
        let setup = Setup::new("tiny", profile);
        let mut provenance = provenance_of(&setup, &Pieces::default(), &work, None);
        provenance.profile.keys.ftl.buffer_entries = 1;
        let error = setup_of(&provenance).unwrap_err();
        assert!(error.contains("the report's profile") && error.contains("buffer_entries"), "{error}");
    }
}
