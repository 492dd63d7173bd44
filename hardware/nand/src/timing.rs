//! How long the array takes.

use crate::work::{Bank, PageAddr, PageJob};
use aster_units::{BlockAddr, CellMode, Duration, LunIndex, PageInBlock, PageType, mix64};

/// Which bit of its cell a page is, by its number in the block.
///
/// SLC has LSB pages only. MLC alternates: even pages are LSB, odd pages the MSB of the same word line. TLC
/// repeats LSB, CSB, MSB.
pub const fn page_type(cells: CellMode, page: PageInBlock) -> PageType {
    match cells {
        CellMode::Slc => PageType::Lsb,
        CellMode::Mlc if page.0.is_multiple_of(2) => PageType::Lsb,
        CellMode::Mlc => PageType::Msb,
        CellMode::Tlc => match page.0 % 3 {
            0 => PageType::Lsb,
            1 => PageType::Csb,
            _ => PageType::Msb,
        },
    }
}

/// One duration for each type of page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PerType {
    /// LSB pages.
    pub lsb: Duration,
    /// CSB pages; only used on TLC.
    pub csb: Duration,
    /// MSB pages; unused on SLC.
    pub msb: Duration,
}

impl PerType {
    /// The same for all types.
    pub const fn all(duration: Duration) -> Self {
        PerType { lsb: duration, csb: duration, msb: duration }
    }
    /// The duration of pages of `kind`.
    #[inline]
    pub const fn of(&self, kind: PageType) -> Duration {
        match kind {
            PageType::Lsb => self.lsb,
            PageType::Csb => self.csb,
            PageType::Msb => self.msb,
        }
    }
    fn least(&self) -> Duration {
        self.lsb.min(self.csb).min(self.msb)
    }
}

/// A LUN that is slow now and then, as a weak part is: some of its pages and blocks take longer than any
/// other's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlowLun {
    /// Which one.
    pub lun: LunIndex,
    /// One of so many of its reads, programs and erases is slow. Their places are drawn.
    pub one_in: u32,
    /// How many times as long those take.
    pub times: u32,
}

/// Busy times by their datasheet names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArrayTiming {
    /// tR: array to register.
    pub read: PerType,
    /// tPROG: register to array.
    pub program: PerType,
    /// tBERS: block erase.
    pub erase: Duration,
    /// tRST when the LUN was idle or reading.
    pub reset: Duration,
    /// tRST when a program was in progress.
    pub reset_program: Duration,
    /// tRST when an erase was in progress.
    pub reset_erase: Duration,
    /// tFEAT: GET FEATURES and SET FEATURES.
    pub features: Duration,
    /// tR of READ PARAMETER PAGE and READ UNIQUE ID.
    pub parameter: Duration,
    /// tR of a block used as SLC.
    pub slc_read: Duration,
    /// tPROG of a block used as SLC.
    pub slc_program: Duration,
    /// tBERS of a block that will be used as SLC.
    pub slc_erase: Duration,
    /// tPROG of the three pages of a word line at once.
    pub one_shot_program: Duration,
    /// The minimum of tRCBSY and tPCBSY: the time to move a page between the cache register and the
    /// array's register.
    pub cache: Duration,
    /// tPLRBSY, tPLPBSY and tPLEBSY: after each plane of a multi-plane command but the last.
    pub plane: Duration,
    /// From a suspend command until the LUN takes others.
    pub suspend: Duration,
    /// tZQCL: ZQ CALIBRATION LONG.
    pub zq_long: Duration,
    /// tZQCS: ZQ CALIBRATION SHORT.
    pub zq_short: Duration,
    /// The most by which a die's tR, tPROG and tBERS deviate from these values (G5). Each die has one
    /// offset, uniform in ± this.
    pub deviation_die: Duration,
    /// The most by which a page's times (for tBERS, a block's) deviate from its die's, uniform in ± this.
    pub deviation_page: Duration,
    /// A LUN that is slow; nothing that identifies the package tells of it.
    pub slow: Option<SlowLun>,
}

impl ArrayTiming {
    const COMMON: ArrayTiming = ArrayTiming {
        read: PerType::all(Duration::ZERO),
        program: PerType::all(Duration::ZERO),
        erase: Duration::from_millis(5),
        // Within the maxima of tRST in ONFI 5.1, chapter 4: 5, 10 and 500 µs while reading, programming and
        // erasing.
        reset: Duration::from_micros(5),
        reset_program: Duration::from_micros(10),
        reset_erase: Duration::from_micros(500),
        features: Duration::from_micros(1),
        parameter: Duration::from_micros(25),
        slc_read: Duration::from_micros(25),
        slc_program: Duration::from_micros(300),
        slc_erase: Duration::from_millis(5),
        one_shot_program: Duration::from_micros(2_295),
        // Vendors give tRCBSY and tPCBSY as 3 to 5 µs typical, tPLxBSY as under 1 µs; tZQCL is 1 µs and tZQCS
        // 0.4 µs at the most.
        cache: Duration::from_micros(3),
        plane: Duration::from_nanos(500),
        suspend: Duration::from_micros(30),
        zq_long: Duration::from_micros(1),
        zq_short: Duration::from_nanos(300),
        deviation_die: Duration::ZERO,
        deviation_page: Duration::ZERO,
        slow: None,
    };
    /// Cosmos+ modules used as SLC (C52).
    pub const COSMOS_SLC: ArrayTiming = ArrayTiming {
        read: PerType::all(Duration::from_micros(99)),
        program: PerType::all(Duration::from_micros(486)),
        ..Self::COMMON
    };
    /// Cosmos+ modules used as MLC (C52).
    pub const COSMOS_MLC: ArrayTiming = ArrayTiming {
        read: PerType {
            lsb: Duration::from_micros(58),
            csb: Duration::from_micros(58),
            msb: Duration::from_micros(90),
        },
        program: PerType {
            lsb: Duration::from_micros(481),
            csb: Duration::from_micros(481),
            msb: Duration::from_micros(2_295),
        },
        ..Self::COMMON
    };

    pub(crate) fn bad_field(&self) -> Option<(&'static str, &'static str)> {
        let most = self.deviation_die + self.deviation_page;
        let slow =
            self.slow.map(|slow| [("timing.slow.one_in", slow.one_in), ("timing.slow.times", slow.times)]);
        if let Some((name, _)) = slow.into_iter().flatten().find(|(_, value)| *value == 0) {
            return Some((name, "at least 1"));
        }
        [
            ("timing.read", self.read.least()),
            ("timing.program", self.program.least()),
            ("timing.erase", self.erase),
            ("timing.slc_read", self.slc_read),
            ("timing.slc_program", self.slc_program),
            ("timing.slc_erase", self.slc_erase),
            ("timing.one_shot_program", self.one_shot_program),
        ]
        .into_iter()
        .find(|(_, least)| *least <= most)
        .map(|(name, _)| (name, "longer than both deviations together, so that no time becomes negative"))
    }
}

/// A die's own array times: the base values with the die's seeded deviation.
#[derive(Clone, Debug)]
pub(crate) struct DieTiming {
    base: ArrayTiming,
    cells: CellMode,
    seed: u64,
    offset: i64,
    /// Of the LUN that is slow, and of no other.
    slow: Option<SlowLun>,
}

fn uniform(hash: u64, amplitude: Duration) -> i64 {
    let span = 2 * u128::from(amplitude.as_picos()) + 1;
    ((u128::from(hash) * span) >> 64) as i64 - amplitude.as_picos() as i64
}

impl DieTiming {
    /// `seed` belongs to this die.
    pub fn new(base: ArrayTiming, cells: CellMode, lun: LunIndex, seed: u64) -> Self {
        let offset = uniform(mix64(seed ^ 0xd1e0_ff5e), base.deviation_die);
        DieTiming { base, cells, seed, offset, slow: base.slow.filter(|slow| slow.lun == lun) }
    }

    #[inline]
    fn deviate(&self, base: Duration, which: u64) -> Duration {
        let jitter = if self.base.deviation_page.is_zero() {
            0
        } else {
            uniform(mix64(self.seed ^ which), self.base.deviation_page)
        };
        // Validation ensures that both deviations together are shorter than every base value.
        let takes = Duration::from_picos(base.as_picos().saturating_add_signed(self.offset + jitter));
        match self.slow {
            Some(slow) if mix64(self.seed ^ 0x510e_0000 ^ which).is_multiple_of(slow.one_in.into()) => {
                takes * u64::from(slow.times)
            }
            _ => takes,
        }
    }

    #[inline]
    pub fn read(&self, at: PageAddr) -> Duration {
        let base =
            if at.slc { self.base.slc_read } else { self.base.read.of(page_type(self.cells, at.page)) };
        self.deviate(base, place(at.block, at.page))
    }
    #[inline]
    pub fn program(&self, at: PageAddr) -> Duration {
        let base =
            if at.slc { self.base.slc_program } else { self.base.program.of(page_type(self.cells, at.page)) };
        self.deviate(base, 1 << 60 | place(at.block, at.page))
    }
    /// The time to program all pages of the word line that ends with the page `at`.
    pub fn one_shot(&self, at: PageAddr) -> Duration {
        self.deviate(self.base.one_shot_program, 1 << 60 | place(at.block, at.page))
    }
    #[inline]
    pub fn erase(&self, at: PageAddr) -> Duration {
        let base = if at.slc { self.base.slc_erase } else { self.base.erase };
        self.deviate(base, 2 << 60 | place(at.block, PageInBlock(0)))
    }
    /// The time of reads in several planes at once.
    pub fn longest_read(&self, pages: &[PageJob]) -> Duration {
        pages.iter().map(|job| self.read(job.at)).max().unwrap_or_default()
    }
    /// The time of programs in several planes at once. Those of word lines have their lower pages among them.
    pub fn longest_program(&self, pages: &[PageJob]) -> Duration {
        let one_shot = pages.iter().any(|job| job.bank == Bank::Lsb);
        let of = |job: &PageJob| match (one_shot, job.bank) {
            (true, Bank::Cache) => self.one_shot(job.at),
            (true, _) => Duration::ZERO,
            (false, _) => self.program(job.at),
        };
        pages.iter().map(of).max().unwrap_or_default()
    }
    pub fn base(&self) -> &ArrayTiming {
        &self.base
    }
}

const fn place(block: BlockAddr, page: PageInBlock) -> u64 {
    (block.0 as u64) << 16 | page.0 as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mlc_pages_alternate_and_take_the_times_of_table_5() {
        let die = DieTiming::new(ArrayTiming::COSMOS_MLC, CellMode::Mlc, LunIndex(0), 1);
        let at = |page| PageAddr::new(BlockAddr(3), PageInBlock(page));
        assert_eq!(die.read(at(0)), Duration::from_micros(58));
        assert_eq!(die.read(at(1)), Duration::from_micros(90));
        assert_eq!(die.program(at(2)), Duration::from_micros(481));
        assert_eq!(die.program(at(3)), Duration::from_micros(2_295));
        assert_eq!(die.erase(at(0)), Duration::from_millis(5));
    }

    #[test]
    fn deviation_stays_in_its_amplitude_repeats_and_differs_by_die_and_page() {
        let us = Duration::from_micros;
        let base = ArrayTiming { deviation_die: us(10), deviation_page: us(5), ..ArrayTiming::COSMOS_SLC };
        let sample = |seed| {
            let die = DieTiming::new(base, CellMode::Slc, LunIndex(0), seed);
            (0..256u16)
                .map(|p| die.read(PageAddr::new(BlockAddr(7), PageInBlock(p))))
                .collect::<alloc::vec::Vec<_>>()
        };
        let (a, b) = (sample(1), sample(2));
        assert_eq!(a, sample(1));
        assert_ne!(a, b);
        for times in [&a, &b] {
            let (min, max) = (times.iter().min().unwrap(), times.iter().max().unwrap());
            assert!(*min >= us(84) && *max <= us(114), "{min} {max}");
            assert!(*max - *min > us(8) && *max - *min <= us(10), "page jitter spans its range: {min} {max}");
        }
    }

    #[test]
    fn dies_have_their_own_offsets() {
        let us = Duration::from_micros;
        let base = ArrayTiming { deviation_die: us(10), ..ArrayTiming::COSMOS_SLC };
        let of_die = |seed, page| {
            DieTiming::new(base, CellMode::Slc, LunIndex(0), seed)
                .program(PageAddr::new(BlockAddr(1), PageInBlock(page)))
        };
        let offsets: alloc::collections::BTreeSet<_> = (0..64).map(|seed| of_die(seed, 0)).collect();
        assert!(offsets.len() > 60);
        assert!(offsets.iter().all(|t| *t >= us(476) && *t <= us(496)));
        assert_eq!(of_die(5, 0), of_die(5, 100), "without jitter a die's pages take the same time");
    }

    #[test]
    fn one_lun_is_slow_at_some_of_its_places_and_no_other_lun_is() {
        let slow = SlowLun { lun: LunIndex(3), one_in: 16, times: 10 };
        let base = ArrayTiming { slow: Some(slow), ..ArrayTiming::COSMOS_SLC };
        let of = |lun| {
            let die = DieTiming::new(base, CellMode::Slc, LunIndex(lun), 7);
            let at = |page: u32| PageAddr::new(BlockAddr(page / 128), PageInBlock((page % 128) as u16));
            [0, 1, 2].map(|what| {
                let time = |page: u32| match what {
                    0 => die.read(at(page)),
                    1 => die.program(at(page)),
                    _ => die.erase(at(page * 128)),
                };
                (0..8_192).map(time).collect::<alloc::vec::Vec<_>>()
            })
        };
        let (weak, sound) = (of(3), of(2));
        for (weak, sound) in weak.iter().zip(&sound) {
            assert!(sound.iter().all(|time| *time == sound[0]));
            let slow = weak.iter().filter(|time| **time != sound[0]);
            assert!(slow.clone().all(|time| *time == sound[0] * 10));
            let slow = slow.count();
            assert!((400..640).contains(&slow), "{slow} of 8192, not about 512");
        }
        let places = |times: &[Duration]| -> alloc::vec::Vec<bool> {
            times.iter().map(|time| *time > times.iter().copied().min().unwrap()).collect()
        };
        assert_ne!(places(&weak[0]), places(&weak[1]), "a page that is read slowly isn't programmed so");
    }

    #[test]
    fn a_slow_lun_that_is_never_slow_or_takes_no_time_is_refused_by_name() {
        for (one_in, times, name) in [(0, 2, "timing.slow.one_in"), (2, 0, "timing.slow.times")] {
            let slow = Some(SlowLun { lun: LunIndex(0), one_in, times });
            assert_eq!(ArrayTiming { slow, ..ArrayTiming::COSMOS_SLC }.bad_field().unwrap().0, name);
        }
    }

    #[test]
    fn a_deviation_as_long_as_a_time_is_refused_by_name() {
        let base = ArrayTiming { deviation_die: Duration::from_micros(99), ..ArrayTiming::COSMOS_SLC };
        assert_eq!(base.bad_field().unwrap().0, "timing.read");
    }
}
