//! The media's health in SMART: the translation's knowledge of blocks, and the wear of the cells.

use crate::profile::Profile;
use aster_nand::NandInspect;
use aster_parties::{FrontEnd, MediaHealth, TranslationView};
use aster_units::{BlockAddr, Geometry, LunIndex, Restriction};
use std::cell::Cell;
use std::rc::Rc;

/// What the front end was told last, of parts that don't know each other.
pub(crate) struct Health {
    front: Rc<dyn FrontEnd>,
    told: Cell<MediaHealth>,
}

impl Health {
    fn tell(&self, health: MediaHealth) {
        self.told.set(health);
        self.front.media_changed(health);
    }
    /// The temperature of a drive without sensors of its own, which the front end is told when it is another
    /// one.
    pub(crate) fn set_temperature(&self, kelvins: u16) {
        self.tell_new(MediaHealth { temperature_kelvins: kelvins, ..self.told.get() });
    }
    /// What the sensors show, in kelvins, and for how many minutes the drive has been hot. The front end is
    /// told when that is something else than before.
    pub(crate) fn set_reading(&self, sensors: [u16; 2], hot_minutes: [u32; 2]) {
        self.tell_new(MediaHealth {
            temperature_kelvins: sensors[0].max(sensors[1]),
            sensor_kelvins: sensors,
            hot_minutes,
            ..self.told.get()
        });
    }
    fn tell_new(&self, health: MediaHealth) {
        if health != self.told.get() {
            self.tell(health);
        }
    }
}

/// Reports the media's health to the front end whenever the translation says that it has changed.
pub(crate) fn watch(
    profile: &Profile,
    inspect: NandInspect,
    translation: &dyn TranslationView,
    front: &Rc<dyn FrontEnd>,
) -> Rc<Health> {
    let (geometry, restriction) = (profile.used_geometry(), profile.restriction());
    let endurance = u64::from(profile.package.endurance.max(1));
    let blocks = u64::from(geometry.total_luns()) * u64::from(geometry.blocks_per_lun);
    // The array counts erases since the image was opened; a block's own count covers its whole life.
    let (worn, opened) =
        (erases_of_blocks(&inspect, &geometry, &restriction), inspect.totals_of_drive().erases);
    let threshold = profile.host.spare_threshold_percent;
    let health = Rc::new(Health { front: Rc::clone(front), told: Cell::default() });
    let told = Rc::clone(&health);
    translation.watch_media(Box::new(move |media| {
        let erases = worn + (inspect.totals_of_drive().erases - opened);
        let used = erases * 100 / (blocks * endurance);
        told.tell(MediaHealth {
            available_spare: media.available_spare,
            available_spare_threshold: threshold,
            percentage_used: used.min(255) as u8,
            read_only: media.read_only,
            reliability_degraded: media.rebuilt,
            ..told.told.get()
        });
    }));
    health
}

/// The blocks of a LUN that the firmware uses, by their addresses in the package.
pub(crate) fn used_blocks(
    geometry: &Geometry,
    restriction: &Restriction,
) -> impl Iterator<Item = BlockAddr> + Clone + use<> {
    let restriction = *restriction;
    (0..geometry.blocks_per_lun).map(move |block| restriction.block(BlockAddr(block)))
}

/// Program/erase cycles of all blocks that the firmware uses, over their whole life.
fn erases_of_blocks(inspect: &NandInspect, geometry: &Geometry, restriction: &Restriction) -> u64 {
    let of_lun = |lun| used_blocks(geometry, restriction).map(move |block| (LunIndex(lun), block));
    (0..geometry.total_luns()).flat_map(of_lun).map(|(l, b)| u64::from(inspect.block(l, b).erases)).sum()
}
