//! The experiment's results.

use super::clock::ClockPoint;
use super::controllers::Exchange;
use super::distribution::Distribution;
use super::grid::GridPoint;
use super::hardware::{ArrayRow, BusRow};
use super::one_shot::Utilisation;
use super::scrambler::BitErrors;
use super::table_7::Table7;
use serde::Serialize;

/// Everything that the experiment found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CosmosReport {
    /// Table 5.
    pub array: Vec<ArrayRow>,
    /// Table 6.
    pub buses: Vec<BusRow>,
    /// Fig 21.
    pub throughput: Vec<GridPoint>,
    /// Fig 22.
    pub random: Vec<GridPoint>,
    /// Table 7 and Fig 24.
    pub latency: Table7,
    /// Figs 25 and 26.
    pub distribution: Vec<Distribution>,
    /// Fig 27, and the shares of 7.1.
    pub clock: Vec<ClockPoint>,
    /// Fig 30.
    pub scrambler: Vec<BitErrors>,
    /// Fig 32.
    pub one_shot: Vec<Utilisation>,
    /// BABOL's Fig 12.
    pub controllers: Vec<Exchange>,
}
