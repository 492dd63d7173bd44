//! The host's page cache, before any target of ours.

use aster_device::BuildError;
use aster_device::plug::{MediaFacts, TargetPiece};
use aster_device::profile::Profile;
use aster_host_block::{CacheConfig, Cached};

/// What makes a target.
type Made = Result<Box<dyn TargetPiece>, BuildError>;

/// A maker of targets with a page cache before them, if the profile has one.
pub(crate) fn before(make: impl Fn(&Profile, &MediaFacts) -> Made) -> impl Fn(&Profile, &MediaFacts) -> Made {
    move |profile, facts| {
        let target = make(profile, facts)?;
        match profile.target.as_ref().and_then(|target| target.page_cache_mib) {
            Some(mebibytes) => Ok(Box::new(Cached::new(target, CacheConfig { mebibytes })?)),
            None => Ok(target),
        }
    }
}
