//! As many queue pairs as memory holds (S20), on a whole drive: each has its doorbells, its turn and its
//! interrupt.

use aster_device::Media;
use aster_device::profile::{NVME_SOFTWARE, Profile};
use aster_driver::{Config, Driver, QueueId};
use aster_events::Recorder;
use aster_run_virtual::{Machine, VirtualBar};
use aster_tests::front_ends::in_hardware;
use aster_tests::{all, profile};
use aster_units::Content;
use std::rc::Rc;

const BLOCK: usize = 4096;

fn software(pairs: u16) -> Profile {
    let profile = profile("softssd-small", |p| p.host.queue_pairs = pairs);
    assert_eq!(profile.host.front_end, NVME_SOFTWARE);
    profile
}

fn hardware(pairs: u16) -> Profile {
    profile("softssd-small", |p| {
        in_hardware(p);
        p.host.queue_pairs = pairs;
    })
}

async fn write(driver: Rc<Driver<VirtualBar>>, queue: QueueId) {
    let bytes: Vec<u8> = queue.0.to_le_bytes().repeat(BLOCK / 2);
    driver.write(queue, first_block(&driver, queue), &bytes, false).await.expect("a write");
}
async fn read(driver: Rc<Driver<VirtualBar>>, queue: QueueId) -> bool {
    let mut bytes = vec![0; BLOCK];
    driver.read(queue, first_block(&driver, queue), &mut bytes).await.expect("a read");
    bytes == queue.0.to_le_bytes().repeat(BLOCK / 2)
}
/// Each queue has a block of its own.
fn first_block(driver: &Driver<VirtualBar>, queue: QueueId) -> u64 {
    u64::from(queue.0) * BLOCK as u64 / u64::from(driver.namespace().block_bytes)
}

/// Writes a block by each pair at the same time, and reads each back by its pair.
fn works_by_each_pair(profile: &Profile) {
    let pairs = profile.host.queue_pairs;
    let config = Config {
        queue_pairs: pairs,
        depth: 1,
        transfer_bytes_max: BLOCK as u32,
        vectors: Config::vectors_for(pairs),
        ..Config::default()
    };
    let (content, recorder) = (Some(Content::Full), Recorder::default());
    let machine = Machine::power_on("test", profile, content, Media::fresh(), &recorder, config).unwrap();
    machine.boot().unwrap();
    let driver = Rc::clone(machine.driver());
    assert_eq!(driver.queues().count(), usize::from(pairs), "the drive grants all of them");
    let work = async move {
        let queues: Vec<QueueId> = driver.queues().collect();
        all(queues.iter().map(|queue| Box::pin(write(Rc::clone(&driver), *queue))).collect()).await;
        all(queues.iter().map(|queue| Box::pin(read(Rc::clone(&driver), *queue))).collect()).await
    };
    let good = machine.block_on("commands", work).unwrap();
    let bad: Vec<_> =
        (1..).zip(&good).filter(|(_, good)| !**good).map(|(queue, _): (u16, _)| queue).collect();
    assert_eq!((good.len(), bad), (usize::from(pairs), Vec::new()), "pairs that read something else");
}

#[test]
fn a_thousand_pairs_work_with_nvme_in_hardware() {
    works_by_each_pair(&hardware(1_000));
}

/// MSI-X has 2,048 vectors, so that queues share them.
#[test]
fn more_pairs_than_vectors_work() {
    works_by_each_pair(&hardware(2_500));
}

#[test]
fn a_thousand_pairs_work_with_nvme_in_software() {
    works_by_each_pair(&software(1_000));
}
