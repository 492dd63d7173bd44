//! The map in memory under another type for each mapping unit, since tests put methods on their bench.

use super::super::bench::MadeForTests;
use crate::{Mapping, MappingFault, MappingPorts, ResidentMap};
use aster_units::{Lpn, Upa};
use std::future::Future;

pub struct MapOf<const UNIT_BYTES: u32>(ResidentMap);

impl<const UNIT_BYTES: u32> MadeForTests for MapOf<UNIT_BYTES> {
    fn make(ports: MappingPorts<'_>) -> Self {
        MapOf(ResidentMap::new(ports.pages))
    }
}

impl<const UNIT_BYTES: u32> Mapping for MapOf<UNIT_BYTES> {
    type Pin = Lpn;

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
    fn set(&self, pin: &Lpn, to: Upa) -> Upa {
        self.0.set(pin, to)
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
