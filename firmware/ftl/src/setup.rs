//! What an FTL is started with: its configuration, and the policies that make its decisions.

use crate::blocks::assigner::Assigner;
use crate::blocks::streams::OneStream;
use crate::blocks::victims::Greedy;
use crate::terms::config::{FtlConfig, Pools};
use alloc::boxed::Box;
use alloc::format;
use alloc::rc::Rc;
use alloc::vec;
use aster_parties::{PLACEMENT_ROUNDS_MAX, PieceError, Placement, Prefill, StreamPolicy, VictimPolicy};
use aster_ports::emmc::EmmcPort;
use aster_units::{Geometry, LunIndex};

/// A configuration, a victim policy and a placement; and an eMMC, if the board has one.
#[derive(Debug)]
pub struct Setup {
    pub(crate) config: FtlConfig,
    pub(crate) victims: Box<dyn VictimPolicy>,
    /// Chooses the stream of what the host writes.
    pub(crate) streams: Box<dyn StreamPolicy>,
    /// The LUNs that logical pages go to; page n belongs to entry n modulo the length.
    pub(crate) lun_order: Box<[LunIndex]>,
    /// Tells this order from others.
    pub(crate) placed: u64,
    /// The board's eMMC, if there is one.
    pub(crate) emmc: Option<Rc<EmmcPort>>,
    /// What the drive holds when it has booted for the first time.
    pub(crate) prefill: Option<Prefill>,
}

impl Setup {
    /// A setup without an eMMC.
    ///
    /// # Errors
    /// If the placement crowds pages on some LUNs, or names a LUN that doesn't exist.
    pub fn new(
        config: FtlConfig,
        victims: Box<dyn VictimPolicy>,
        placement: &dyn Placement,
    ) -> Result<Self, PieceError> {
        let lun_order = placement.order(&config.geometry).into_boxed_slice();
        let placed = placement.mark(&lun_order);
        check(&lun_order, &config.geometry)?;
        let streams = Box::new(OneStream);
        Ok(Setup { config, victims, streams, lun_order, placed, emmc: None, prefill: None })
    }
    /// Chooses the streams of what the host writes by `streams`.
    #[must_use]
    pub fn with_streams(self, streams: Box<dyn StreamPolicy>) -> Self {
        Setup { streams, ..self }
    }
    /// Has the drive's first boot fill it.
    #[must_use]
    pub fn filled_by(self, prefill: Prefill) -> Self {
        Setup { prefill: Some(prefill), ..self }
    }
    /// Adds an eMMC, in which a map on flash keeps copies of its directory.
    #[must_use]
    pub fn with_emmc(self, emmc: Rc<EmmcPort>) -> Self {
        Setup { emmc: Some(emmc), ..self }
    }
}

impl From<FtlConfig> for Setup {
    /// Collects greedily, and places channel first or, if all LUNs are one pool, on the next that has room.
    fn from(config: FtlConfig) -> Self {
        let placement = match config.pools {
            Pools::PerLun => Assigner::ChannelFirst,
            Pools::One => Assigner::Striped,
        };
        let lun_order = placement.order(&config.geometry).into_boxed_slice();
        let placed = placement.mark(&lun_order);
        Setup {
            config,
            victims: Box::new(Greedy),
            streams: Box::new(OneStream),
            placed,
            lun_order,
            emmc: None,
            prefill: None,
        }
    }
}

fn check(order: &[LunIndex], geometry: &Geometry) -> Result<(), PieceError> {
    let luns = geometry.total_luns();
    let refuse = |reason| Err(PieceError::new("ftl.placement", reason));
    let mut times = vec![0u32; luns as usize];
    for lun in order {
        match times.get_mut(lun.index()) {
            Some(times) => *times += 1,
            None => {
                return refuse(format!("must place pages on LUNs 0 to {}, but names {}", luns - 1, lun.0));
            }
        }
    }
    let first = times.first().copied().unwrap_or(0);
    if let Some(other) = times.iter().position(|&other| other != first) {
        return refuse(format!(
            "must place as many pages on each LUN, but of {} pages {first} go to LUN 0 and {} to LUN {other}",
            order.len(),
            times[other]
        ));
    }
    if !(1..=PLACEMENT_ROUNDS_MAX).contains(&first) {
        return refuse(format!(
            "must repeat after 1 to {PLACEMENT_ROUNDS_MAX} pages per LUN, but does after {first}"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::bench::config;
    use alloc::string::String;
    use alloc::vec::Vec;
    use aster_units::Content;

    #[derive(Debug)]
    struct Fixed(Vec<u32>);
    impl Placement for Fixed {
        fn order(&self, _: &Geometry) -> Vec<LunIndex> {
            self.0.iter().map(|&lun| LunIndex(lun)).collect()
        }
    }

    fn setup(order: &[u32]) -> Result<Setup, String> {
        let placement = Fixed(order.to_vec());
        Setup::new(config(Content::Full), Box::new(Greedy), &placement).map_err(|error| {
            assert_eq!(error.key, "ftl.placement");
            error.reason
        })
    }

    #[test]
    fn a_placement_that_would_fill_one_lun_before_another_is_refused() {
        let says = |order: &[u32], what: &str| {
            let reason = setup(order).unwrap_err();
            assert!(reason.contains(what), "{reason}");
        };
        says(&[0, 1, 2, 3, 4], "LUNs 0 to 3, but names 4");
        says(&[0, 1, 2, 3, 0], "of 5 pages 2 go to LUN 0 and 1 to LUN 1");
        says(&[0, 1, 2], "of 3 pages 1 go to LUN 0 and 0 to LUN 3");
        says(&[], "must repeat after 1 to 64 pages per LUN, but does after 0");
        says(&[0, 1, 2, 3].repeat(65), "but does after 65");
    }

    #[test]
    fn orders_that_differ_have_different_marks() {
        let marks: Vec<_> = [&[0, 1, 2, 3][..], &[0, 0, 1, 1, 2, 2, 3, 3], &[0, 1, 2, 3, 0, 1, 2, 3]]
            .map(|order| setup(order).unwrap().placed)
            .into();
        assert!(marks[0] != marks[1] && marks[1] != marks[2] && marks[0] != marks[2], "{marks:?}");
    }
}
