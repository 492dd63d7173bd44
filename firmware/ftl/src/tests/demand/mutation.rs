//! Whether losses of power at random would find out if translation pages said more than the log.

use super::power::{small, torture};
use aster_units::Content;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

std::thread_local! {
    static TRUSTS: Cell<bool> = const { Cell::new(false) };
}

/// Changes are written to translation pages although no log page has them.
pub(crate) fn trusts_what_the_log_lacks() -> bool {
    TRUSTS.get()
}

/// The work and the losses of power that the map passes in `power` find this out soon.
#[test]
fn a_map_that_trusts_changes_which_the_log_lacks_is_found_out() {
    TRUSTS.set(true);
    let found = (0..20).any(|seed| {
        let lines = [(2, false), (1, false), (3, false)][seed % 3];
        let config = small(Content::Full, lines.0, lines.1);
        catch_unwind(AssertUnwindSafe(|| torture(config, seed as u64, 12))).is_err()
    });
    TRUSTS.set(false);
    assert!(found, "no loss of power has shown what was done wrong");
}
