//! An open-channel drive under the board's big loop: the NVMe manager has the list of a command's addresses
//! fetched and waits for it, and FTL and scheduler with it (C85, C86).

use aster_device::Media;
use aster_device::profile::Profile;
use aster_driver::{Config, Driver, Moved, QueueId, Vector, VectorEnd};
use aster_events::{Event, EventSink, Recorder};
use aster_run_virtual::{Machine, VirtualBar};
use aster_tests::{all, big_loop, profile};
use aster_units::{Duration, Instant};
use aster_wire::nvme::Status;
use aster_wire::ocssd::{AddressFormat, Place, io};
use std::cell::RefCell;
use std::rc::Rc;

const QUEUE: QueueId = QueueId(1);
/// Addresses of a command. No other DMA from the host is of as many bytes.
const UNITS: usize = 23;
const LIST_BYTES: u32 = UNITS as u32 * 8;
/// Events name the front end's own memory so.
const OWN_MEMORY: u32 = u32::MAX;

fn power_on(profile: &Profile, recorder: &Recorder) -> Machine {
    let config = Config { depth: 31, queue_pairs: 1, ..aster_tests::config(profile) };
    let machine = Machine::power_on("test", profile, None, Media::fresh(), recorder, config).unwrap();
    machine.boot().unwrap();
    machine
}
async fn send(driver: Rc<Driver<VirtualBar>>, opcode: u8, addresses: Vec<u64>) -> VectorEnd {
    let (data, metadata) = (Moved::Nothing, Moved::Nothing);
    let vector = Vector { opcode, control: 0, addresses: &addresses, data, metadata };
    driver.send_vector(QUEUE, vector).await.unwrap()
}
/// Sends these commands at once.
fn send_all(machine: &Machine, opcode: u8, commands: Vec<Vec<u64>>) -> Vec<VectorEnd> {
    let driver = Rc::clone(machine.driver());
    let work = async move {
        all(commands.into_iter().map(|of| Box::pin(send(Rc::clone(&driver), opcode, of))).collect()).await
    };
    machine.block_on("commands", work).unwrap()
}
/// Addresses in the pages of all LUNs in turn, from block `block` on.
fn addresses(profile: &Profile, block: u32) -> Vec<u64> {
    let geometry = profile.used_geometry();
    let format = AddressFormat::of_geometry(&geometry);
    let place = |n: u32| {
        let (lun, page) = (n % geometry.total_luns(), n / geometry.total_luns());
        let channels = u32::from(geometry.channels);
        Place {
            channel: (lun % channels) as u16,
            lun: (lun / channels) as u16,
            page: page as u16,
            block,
            ..Place::default()
        }
    };
    (0..UNITS as u32).map(|n| format.encode(place(n))).collect()
}

/// What parts of the firmware did while a list was on its way.
#[derive(Default)]
struct Meanwhile {
    on_its_way: bool,
    lists: u32,
    done: u32,
}

impl EventSink for Meanwhile {
    fn event(&mut self, _: Instant, event: &Event) {
        match *event {
            Event::DmaStarted { from_host: true, bytes: LIST_BYTES, buffer: OWN_MEMORY, .. } => {
                self.on_its_way = true;
                self.lists += 1;
            }
            Event::DmaFinished { from_host: true, bytes: LIST_BYTES } => self.on_its_way = false,
            Event::CommandStarted { .. }
            | Event::OperationDelivered { .. }
            | Event::OperationIssued { .. }
            | Event::OperationEnded { .. }
            | Event::FlashIssued { .. }
            | Event::FlashFinished { .. }
                if self.on_its_way =>
            {
                self.done += 1;
            }
            _ => {}
        }
    }
}

/// C86: FTL and scheduler stand still while the manager waits. The manager of a drive with workers doesn't
/// wait.
#[test]
fn nothing_goes_on_while_the_manager_waits_for_a_list() {
    for (looped, stands_still) in [(true, true), (false, false)] {
        let profile = profile("pocket-ocssd", |p| {
            p.target = None;
            p.package.factory_bad_per_mille = 0;
            if looped {
                big_loop(p);
            }
        });
        let (heard, recorder) = (Rc::new(RefCell::new(Meanwhile::default())), Recorder::default());
        recorder.attach(Rc::clone(&heard));
        let machine = power_on(&profile, &recorder);
        let blocks = 20;
        let erases = (0..blocks).map(|block| addresses(&profile, block)).collect();
        let ended = send_all(&machine, io::ERASE, erases);
        assert!(ended.iter().all(|end| end.status == Status::SUCCESS), "{ended:?}");
        let heard = heard.borrow();
        assert_eq!(heard.lists, blocks);
        assert_eq!(heard.done == 0, stands_still, "{} while {} lists were fetched", heard.done, heard.lists);
        let stats = machine.device().stats().big_loop;
        assert_eq!(stats.map_or(blocks.into(), |stats| stats.lists), u64::from(blocks));
    }
}

/// The mean time for which the manager of the board waits.
fn wait(change: impl FnOnce(&mut Profile)) -> Duration {
    let profile = profile("cosmos-ocssd", |p| {
        p.target = None;
        p.package.factory_bad_per_mille = 0;
        (p.geometry.channels, p.geometry.blocks_per_lun) = (2, 64);
        p.ecc.solver_channels = 1;
        change(p);
    });
    let machine = power_on(&profile, &Recorder::default());
    let ended = send_all(&machine, io::ERASE, (0..20).map(|block| addresses(&profile, block)).collect());
    assert!(ended.iter().all(|end| end.status == Status::SUCCESS), "{ended:?}");
    let stats = machine.device().stats().big_loop.unwrap();
    stats.list_time / stats.lists
}

/// C86: 1.4 µs. Link and registers give the time; there is no constant.
#[test]
fn link_and_registers_say_how_long_the_manager_waits() {
    let board = wait(|_| {});
    assert!((900..2_000).contains(&board.as_nanos()), "{board:?}");
    let far = wait(|p| p.link.latency_ns += 400);
    assert!(far >= board + Duration::from_nanos(700), "{far:?} beside {board:?}");
    let narrow = wait(|p| p.link.lanes = 1);
    assert!(narrow > board, "{narrow:?} beside {board:?}");
    let slow = wait(|p| p.board.buses.control_mhz = 10.0);
    assert!(slow > board, "{slow:?} beside {board:?}");
    let free = wait(|p| p.board.buses.register_cycles = 0.0);
    assert!(free < board, "{free:?} beside {board:?}: registers take no time");
}
