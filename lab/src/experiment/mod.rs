//! Shared by the experiments of all papers: how a plan is read, how it varies shipped profiles, what steps
//! of software cost a core, how a number is fitted, and how tables are written. Figures are in
//! [`crate::figure`].

mod board_costs;
mod claim;
mod costs;
mod drive;
mod error;
mod fit;
mod plan;
mod profile;
mod table;

pub use claim::Claim;
pub use costs::{CostFile, CostSource, Instructions};
pub use error::ExperimentError;
pub use profile::Changes;

pub(crate) use board_costs::BoardCosts;
pub(crate) use claim::write_claims;
pub(crate) use drive::{Done, ExperimentDrive};
pub(crate) use error::heard;
pub(crate) use fit::{Range, fit};
pub(crate) use plan::{parse, wrong};
pub(crate) use profile::{ProfileFile, value_of};
pub(crate) use table::{Cells, error_percent};

/// Whether tests may take as long as they like.
#[cfg(test)]
pub(crate) fn long() -> bool {
    std::env::var("ASTER_LONG").as_deref() == Ok("1")
}
