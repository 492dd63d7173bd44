//! All packages of a drive, and the cells that outlive them.

use crate::config::{NandConfig, NandError};
use crate::lun::{LunModel, SharedDie};
use crate::package::{NandPackage, Power};
use crate::store::{Die, Image, SharedImage, restore};
use crate::timing::DieTiming;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_events::Recorder;
use aster_ports::medium::Medium;
use aster_units::{BlockAddr, Instant, LunAddr, LunIndex};
use core::cell::RefCell;
use core::fmt;

/// The cells of a drive, which survive power-off. Clones are handles to the same cells.
#[derive(Clone)]
pub struct NandCells {
    pub(crate) config: Rc<NandConfig>,
    pub(crate) dies: Rc<[SharedDie]>,
    pub(crate) image: Option<SharedImage>,
    power: Rc<Power>,
}

impl fmt::Debug for NandCells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NandCells").field("dies", &self.dies.len()).finish_non_exhaustive()
    }
}

impl NandCells {
    /// How they are configured.
    pub fn config(&self) -> &NandConfig {
        &self.config
    }
    /// Sets `at` as the time of power-off: when the packages are dropped, what their arrays had not
    /// finished at `at` is torn. Without this call, the time of the last call on each package's bus
    /// counts.
    pub fn power_off(&self, at: Instant) {
        self.power.off_at.set(Some(at));
    }
}

/// The packages of a drive, until its channels take them.
pub struct NandArray {
    cells: NandCells,
    // One list of packages per channel; empty once taken.
    channels: Vec<Vec<NandPackage>>,
}

impl fmt::Debug for NandArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cells.fmt(f)
    }
}

impl NandArray {
    /// An array on fresh cells in memory, or on the image on `medium`; if the medium is empty, an image
    /// is created. Packages report their busy times to `recorder`.
    ///
    /// # Errors
    /// If the configuration is out of range, or if the medium fails, is too small, or holds a damaged
    /// image or the image of another array.
    pub fn new(
        config: NandConfig,
        medium: Option<Box<dyn Medium>>,
        recorder: &Recorder,
    ) -> Result<Self, NandError> {
        config.validate()?;
        let config = Rc::new(config);
        let image = match medium {
            Some(medium) => Some(Rc::new(RefCell::new(Image::open(medium, &config)?))),
            None => None,
        };
        let dies: Rc<[SharedDie]> = (0..config.geometry.total_luns())
            .map(|lun| Rc::new(RefCell::new(Die::new(&config, LunIndex(lun), image.clone()))))
            .collect();
        if let Some(image) = &image {
            for (lun, die) in dies.iter().enumerate() {
                restore(&mut image.borrow_mut(), LunIndex(lun as u32), &mut die.borrow_mut())?;
            }
        }
        NandArray::power_up(NandCells { config, dies, image, power: Rc::default() }, recorder)
    }

    /// Packages on cells that have lost their power: registers, features and data interface are as after
    /// power-on.
    ///
    /// # Errors
    /// [`NandError::Powered`] while packages of these cells exist.
    pub fn power_up(cells: NandCells, recorder: &Recorder) -> Result<Self, NandError> {
        let packages = cells.power.packages.get();
        if packages > 0 {
            return Err(NandError::Powered { packages });
        }
        cells.power.off_at.set(None);
        let g = cells.config.geometry;
        let package = |channel, way| {
            let luns = (0..g.luns).map(|lun| {
                let lun = g.lun_index(LunAddr { channel, way, lun });
                let die = &cells.dies[lun.index()];
                let timing =
                    DieTiming::new(cells.config.timing, cells.config.cells, lun, die.borrow().seed());
                LunModel::new(die.clone(), timing, &cells.config)
            });
            let place = LunAddr { channel, way, lun: 0 };
            NandPackage::new(&cells.config, place, luns.collect(), recorder, &cells.power)
        };
        let channels = (0..g.channels).map(|c| (0..g.ways).map(|w| package(c, w)).collect()).collect();
        Ok(NandArray { cells, channels })
    }

    /// Takes the packages of a channel, one per way; none if they have been taken already or the channel
    /// doesn't exist.
    pub fn take_packages(&mut self, channel: u16) -> Vec<NandPackage> {
        self.channels.get_mut(usize::from(channel)).map(core::mem::take).unwrap_or_default()
    }

    /// The cells, to power up again once the packages are gone.
    pub fn cells(&self) -> NandCells {
        self.cells.clone()
    }

    /// Bytes that a medium needs for the image of such an array. The image is sparse: parts that were
    /// never written take no space.
    pub fn image_bytes(config: &NandConfig) -> u64 {
        Image::bytes(config)
    }

    /// Blocks of a LUN that leave the factory bad in such an array, in ascending order.
    pub fn factory_bad_blocks(config: &NandConfig, lun: LunIndex) -> impl Iterator<Item = BlockAddr> {
        let seed = config.die_seed(lun);
        let blocks = (0..config.geometry.blocks_per_lun).map(BlockAddr);
        blocks.filter(move |&block| config.failures.factory_bad(seed, block))
    }

    /// Bytes at the beginning of such an image that hold its records: blocks, and pages with their
    /// checksums. The pages' bytes follow.
    pub fn image_records_bytes(config: &NandConfig) -> u64 {
        Image::records_bytes(config)
    }
}
