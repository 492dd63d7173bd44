//! Our own translation for a target to run on the host.

use crate::configure::{self, BuildError, value};
use crate::pieces::Pieces;
use crate::profile::Profile;
use aster_ftl::{FtlCosts, PageMapping};
use aster_parties::{MediaFacts, Refresh, Translation, VictimPolicy};
use aster_units::{Content, Restriction};

/// Our page mapping as it runs on a host (`target.kind = "page-mapping"`), and the OOB bytes that it writes
/// beside each page. It counts rows as the drive shows its array, and costs a command `target.command_ns`
/// cycles, of a nanosecond each, and nothing else.
///
/// # Errors
/// When the profile's `[ftl]` keys don't suit it, or asks for programs of whole word lines, which frames
/// don't have.
pub fn page_mapping_on_host(
    profile: &Profile,
    facts: &MediaFacts,
) -> Result<(Box<dyn Translation>, u8), BuildError> {
    if facts.whole_lines {
        return Err(value("scheduler.one_shot", "must be false: an FTL on the host programs page by page"));
    }
    let restriction = Restriction::none(facts.geometry);
    let mut config = configure::ftl(profile, &MediaFacts { restriction, ..*facts });
    let command = profile.target.as_ref().and_then(|target| target.command_ns).unwrap_or(0).into();
    config.costs = FtlCosts { command, ..FtlCosts::default() };
    let ours = Pieces::default().make_decisions(profile)?.taken_by(PageMapping::new(config)?)?;
    let oob_bytes = aster_ftl::oob_bytes(facts.geometry.page_bytes, config.mapping_unit_bytes);
    Ok((Box::new(ours), oob_bytes as u8))
}

/// The victim policy of `ftl.victims` for an FTL on the host. It is one of ours.
///
/// # Errors
/// When we have none of that name.
pub fn victims_on_host(profile: &Profile) -> Result<Box<dyn VictimPolicy>, BuildError> {
    Pieces::default().victims.find(&profile.ftl.victims)?(profile)
}

/// When an FTL on the host writes data anew: `ftl.refresh_reads` and `ftl.refresh_corrected_percent`, of what
/// the drive's ECC corrects.
pub fn refresh_on_host(profile: &Profile, facts: &MediaFacts) -> Refresh {
    configure::refresh(profile, facts.correctable)
}

/// Bytes of the namespace of a drive that a target stands over and that has its own FTL, which is one of
/// ours.
///
/// # Errors
/// When the profile doesn't describe a working drive.
pub fn capacity_below(profile: &Profile, content: Content) -> Result<u64, BuildError> {
    Ok(Pieces::default().make_translation(&configure::below_target(profile), content)?.capacity_bytes())
}
