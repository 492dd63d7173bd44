//! Correction in software (`firmware/ecc`), for a profile whose channels only detect errors.

use super::error::{BuildError, value};
use super::ports::layout;
use crate::profile::{CorrectionName, Profile};
use aster_ecc::{EccCosts, EngineConfig, FrameCode};
use aster_ports::codes::CodeArea;

/// Entries of the ring between the translation's core and the engine's.
const RING_ENTRIES: u16 = 256;

/// Bytes of each page buffer's code area.
pub(crate) fn code_bytes(profile: &Profile) -> Result<usize, BuildError> {
    Ok(match profile.ecc.correction {
        CorrectionName::Hardware => 0,
        CorrectionName::OnDemand => CodeArea::of(&layout(profile)?).bytes(),
    })
}

/// The engine that corrects in software, if the profile has one.
pub(crate) fn ecc_engine(profile: &Profile) -> Result<Option<EngineConfig>, BuildError> {
    let (e, c) = (&profile.ecc, &profile.costs);
    if e.correction == CorrectionName::Hardware {
        return Ok(None);
    }
    let code = FrameCode::new(e.detector.into(), e.field, e.designed, e.corrected, &layout(profile)?);
    let code = code.map_err(|error| value("ecc", error))?;
    let costs =
        EccCosts { submit: c.ecc_submit, frame: c.ecc_frame, error: c.ecc_error, encode: c.ecc_encode };
    Ok(Some(EngineConfig { code, costs, ring_entries: RING_ENTRIES }))
}
