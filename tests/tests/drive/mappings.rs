//! A mapping of a reader's own, which a profile chooses by `ftl.mapping`.

use aster_device::plug::{Mapping, MappingFault, MappingPorts, NoMapRoom};
use aster_device::profile::{MappingName, Profile};
use aster_device::units::{LunIndex, Upa};
use aster_device::{Media, Pieces};
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_tests::{as_in_papers, config, drive, job, profile, run, versioned};
use aster_units::{Content, Lpn};
use aster_workload::{Access, Mix};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::{Future, ready};
use std::rc::Rc;

/// A map that takes memory for mapped pages alone, and takes it while the host waits.
struct Sparse {
    pages: u32,
    map: RefCell<BTreeMap<u32, u32>>,
    // The most entries that it had.
    most: Rc<Cell<usize>>,
}

impl Sparse {
    fn new(ports: &MappingPorts<'_>, most: &Rc<Cell<usize>>) -> Self {
        Sparse { pages: ports.pages, map: RefCell::default(), most: Rc::clone(most) }
    }
    fn note(&self) {
        self.most.set(self.map.borrow().len().max(self.most.get()));
    }
}

impl Mapping for Sparse {
    type Pin = Lpn;
    type Room = ();
    const STORES_UNITS: bool = true;

    fn pages(&self) -> u32 {
        self.pages
    }
    fn try_room(&self, _: u32) -> Option<()> {
        Some(())
    }
    fn room(&self, _: u32) -> impl Future<Output = Result<(), NoMapRoom>> {
        ready(Ok(()))
    }
    fn room_to_collect(&self, _: LunIndex, _: u32) -> impl Future<Output = Result<(), NoMapRoom>> {
        ready(Ok(()))
    }
    fn try_pin(&self, page: Lpn) -> Option<Lpn> {
        Some(page)
    }
    fn pin(&self, page: Lpn) -> impl Future<Output = Result<Lpn, MappingFault>> {
        ready(Ok(page))
    }
    fn page(&self, pin: &Lpn) -> Lpn {
        *pin
    }
    fn get(&self, pin: &Lpn) -> Upa {
        self.map.borrow().get(&pin.0).map_or(Upa::NONE, |&at| Upa(at))
    }
    fn set(&self, (): &(), pin: &Lpn, to: Upa) -> Upa {
        let before = match to.is_some() {
            true => self.map.borrow_mut().insert(pin.0, to.0),
            false => self.map.borrow_mut().remove(&pin.0),
        };
        self.note();
        before.map_or(Upa::NONE, Upa)
    }
    fn find(&self, at: Upa) -> impl Future<Output = Option<Lpn>> {
        ready(self.map.borrow().iter().find(|(_, to)| **to == at.0).map(|(&page, _)| Lpn(page)))
    }
    fn is_own(&self, _: Upa) -> bool {
        false
    }
    fn start(&self) {}
    fn idle(&self) -> impl Future<Output = ()> {
        ready(())
    }
    fn settled(&self) -> impl Future<Output = ()> {
        ready(())
    }
    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        each("sparse_entries", self.map.borrow().len() as u64);
    }
    fn clear(&self) {
        self.map.borrow_mut().clear();
    }
    fn restore(&self, page: Lpn, to: Upa, _: bool) -> impl Future<Output = Result<(), MappingFault>> {
        self.set(&(), &page, to);
        ready(Ok(()))
    }
    fn only_restored(&self) -> impl Future<Output = ()> {
        ready(())
    }
    fn walk(&self, mut each: impl FnMut(Lpn, Upa) -> bool) -> impl Future<Output = Result<(), MappingFault>> {
        self.map.borrow().iter().map(|(&page, &at)| each(Lpn(page), Upa(at))).find(|goes_on| !goes_on);
        ready(Ok(()))
    }
    fn booted(&self) {}
    fn give_up_own(&self) {}
    fn is_storable(&self) -> bool {
        true
    }
    fn is_empty(&self, first: Lpn, count: u32) -> bool {
        self.map.borrow().range(first.0..first.0.saturating_add(count)).next().is_none()
    }
    fn encode(&self, first: Lpn, into: &mut [u8]) -> impl Future<Output = ()> {
        for (page, bytes) in (first.0..).zip(into.chunks_exact_mut(4)) {
            let at = self.map.borrow().get(&page).map_or(0, |at| !at);
            bytes.copy_from_slice(&at.to_le_bytes());
        }
        ready(())
    }
    fn load(&self, first: Lpn, from: &[u8]) -> impl Future<Output = ()> {
        for (page, bytes) in (first.0..self.pages).zip(from.chunks_exact(4)) {
            let at = !u32::from_le_bytes(bytes.try_into().expect("chunks of four"));
            self.set(&(), &Lpn(page), Upa(at));
        }
        ready(())
    }
}

fn sparse(most: &Rc<Cell<usize>>) -> Pieces {
    let most = Rc::clone(most);
    Pieces::default().mapping("sparse", move |_: &Profile, ports| Sparse::new(&ports, &most))
}

fn tiny(mapping: &str) -> Profile {
    profile("tiny", |p| {
        as_in_papers(p);
        p.ftl.mapping = MappingName::from(mapping.to_owned());
    })
}

fn power_on(pieces: Pieces, profile: &Profile, media: Media) -> Machine {
    let (content, recorder) = (Some(Content::Fingerprint), Recorder::default());
    let m = Machine::power_on_with(pieces, "test", profile, content, media, &recorder, config(profile))
        .unwrap_or_else(|e| panic!("power-on: {e}"));
    m.boot().unwrap_or_else(|e| panic!("boot: {e}"));
    m
}

/// Writes, overwrites in collection, a shutdown, a loss of power: what was written is read again each time.
/// The drive does the same as with our map in memory, since both answer at once.
#[test]
fn a_mapping_of_a_readers_own_keeps_the_map_over_shutdowns_and_losses_of_power() {
    let life = |pieces: &dyn Fn() -> Pieces, mapping: &str| {
        let profile = tiny(mapping);
        let m = power_on(pieces(), &profile, Media::fresh());
        let pages = drive(&m).bytes >> 14;
        let fill = job("fill", Access::Sequential, Mix::Write, 16 << 10, pages / 2);
        let overwrite = || job("overwrite", Access::Random, Mix::Write, 16 << 10, pages);
        let read = || job("read", Access::Sequential, Mix::Read, 16 << 10, pages / 2);
        let contents = run(&m, &[fill, overwrite(), read()], versioned(&m));
        let media = m.shut_down().unwrap();

        let m = power_on(pieces(), &profile, media);
        let contents = run(&m, &[read(), overwrite(), read()], contents);
        let (stats, time) = (m.device().stats().ftl, m.now());
        assert!(stats.flash_programs.gc > 0, "nothing was collected");
        let media = m.cut_power();

        let m = power_on(pieces(), &profile, media);
        run(&m, &[read()], contents);
        (stats.flash_programs, stats.flash_erases, time)
    };
    let most = Rc::default();
    let own = life(&|| sparse(&most), "sparse");
    assert_eq!(own, life(&Pieces::default, "resident"));
    assert!(most.get() > 0, "the map was asked");
}

#[test]
fn a_mapping_that_there_is_not_is_refused_by_key_with_those_that_there_are() {
    let refusal = |pieces: &Pieces, profile: &Profile| {
        let error = Profile::parse_with(pieces, "mine.toml", &profile.to_toml().unwrap()).unwrap_err();
        assert!(error.line.is_some(), "{error}");
        (error.key.unwrap_or_default(), error.reason)
    };
    let (key, reason) = refusal(&Pieces::default(), &tiny("sparse"));
    assert_eq!(
        (key.as_str(), reason.as_str()),
        ("ftl.mapping", "must be one of \"demand-paged\", \"resident\", but is \"sparse\"",)
    );
    let most = Rc::default();
    Profile::parse_with(&sparse(&most), "mine.toml", &tiny("sparse").to_toml().unwrap()).unwrap();
    let (key, reason) = refusal(&sparse(&most), &tiny("spares"));
    assert_eq!(key, "ftl.mapping");
    assert!(reason.ends_with("did you mean \"sparse\"?"), "{reason}");
}

/// Images open with the mapping alone that wrote them, by its name.
#[test]
fn media_keep_the_name_of_the_mapping() {
    let keys = aster_device::media_keys(&tiny("sparse"), None);
    assert!(keys.contains(&("ftl.mapping", "sparse".to_owned())));
}

#[test]
#[should_panic(expected = "ftl.mapping = \"demand-paged\" is a mapping of ours")]
fn a_mapping_of_a_readers_own_has_a_name_of_its_own() {
    let sparse = |_: &Profile, ports: MappingPorts<'_>| Sparse::new(&ports, &Rc::default());
    let _ = Pieces::default().mapping("demand-paged", sparse);
}
