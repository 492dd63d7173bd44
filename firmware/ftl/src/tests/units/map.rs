//! The map in memory under another type for each mapping unit and kind of pool, since tests put methods on
//! their bench.

use super::super::bench::MadeForTests;
use crate::{Mapping, MappingFault, MappingPorts, NoMapRoom, ResidentMap};
use aster_units::{Lpn, LunIndex, Upa};
use std::future::Future;

pub struct MapOf<const UNIT_BYTES: u32, const IS_SHARED: bool = false>(ResidentMap);

impl<const UNIT_BYTES: u32, const IS_SHARED: bool> MadeForTests for MapOf<UNIT_BYTES, IS_SHARED> {
    fn make(ports: MappingPorts<'_>) -> Self {
        MapOf(ResidentMap::new(ports.pages))
    }
}

impl<const UNIT_BYTES: u32, const IS_SHARED: bool> Mapping for MapOf<UNIT_BYTES, IS_SHARED> {
    type Pin = Lpn;
    type Room = ();
    const STORES_UNITS: bool = true;

    fn pages(&self) -> u32 {
        self.0.pages()
    }
    fn try_pin(&self, page: Lpn) -> Option<Lpn> {
        self.0.try_pin(page)
    }
    fn pin(&self, page: Lpn) -> impl Future<Output = Result<Lpn, MappingFault>> {
        self.0.pin(page)
    }
    fn page(&self, pin: &Lpn) -> Lpn {
        self.0.page(pin)
    }
    fn get(&self, pin: &Lpn) -> Upa {
        self.0.get(pin)
    }
    fn set(&self, room: &(), pin: &Lpn, to: Upa) -> Upa {
        self.0.set(room, pin, to)
    }
    fn try_room(&self, changes: u32) -> Option<()> {
        self.0.try_room(changes)
    }
    fn room(&self, changes: u32) -> impl Future<Output = Result<(), NoMapRoom>> {
        self.0.room(changes)
    }
    fn room_to_collect(&self, lun: LunIndex, changes: u32) -> impl Future<Output = Result<(), NoMapRoom>> {
        self.0.room_to_collect(lun, changes)
    }
    fn is_own(&self, at: Upa) -> bool {
        self.0.is_own(at)
    }
    fn start(&self) {
        self.0.start();
    }
    fn idle(&self) -> impl Future<Output = ()> {
        self.0.idle()
    }
    fn settled(&self) -> impl Future<Output = ()> {
        self.0.settled()
    }
    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        self.0.counters(each);
    }
    fn restore(&self, page: Lpn, to: Upa, is_logged: bool) -> impl Future<Output = Result<(), MappingFault>> {
        self.0.restore(page, to, is_logged)
    }
    fn only_restored(&self) -> impl Future<Output = ()> {
        self.0.only_restored()
    }
    fn walk(&self, each: impl FnMut(Lpn, Upa) -> bool) -> impl Future<Output = Result<(), MappingFault>> {
        self.0.walk(each)
    }
    fn booted(&self) {
        self.0.booted();
    }
    fn give_up_own(&self) {
        self.0.give_up_own();
    }
    fn is_storable(&self) -> bool {
        self.0.is_storable()
    }
    fn find(&self, at: Upa) -> impl Future<Output = Option<Lpn>> {
        self.0.find(at)
    }
    fn clear(&self) {
        self.0.clear();
    }
    fn is_empty(&self, first: Lpn, count: u32) -> bool {
        self.0.is_empty(first, count)
    }
    fn encode(&self, first: Lpn, into: &mut [u8]) -> impl Future<Output = ()> {
        self.0.encode(first, into)
    }
    fn load(&self, first: Lpn, from: &[u8]) -> impl Future<Output = ()> {
        self.0.load(first, from)
    }
}
