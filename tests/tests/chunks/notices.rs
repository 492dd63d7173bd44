//! Notifications of sectors that need the host's care, and Media Feedback (P29).

use super::*;
use aster_openchannel::{Drive, Notification};
use aster_units::Duration;
use aster_wire::nvme::features::{AsyncEvent, AsyncEventType};
use aster_wire::ocssd::v2::{MEDIA_FEEDBACK, NOTICES_LOG, NoticeState};
use std::cell::RefCell;

/// A drive on which bits go wrong by the tests alone, and a single one is many.
fn strict() -> Host {
    let profile = drive(|p| {
        let e = &mut p.package.errors;
        (e.fresh, e.cycle, e.cycle_squared, e.retention, e.read) = (0.0, 0.0, 0.0, 0.0, 0.0);
        p.ftl.refresh_corrected_percent = 1;
    });
    Host::power_on(&profile, Media::fresh())
}

impl Host {
    /// Makes `bits` bits of a block's page wrong.
    fn damage(&self, block: u64, bits: u32) {
        let place = self.shape.decode(block).unwrap();
        let (lun, plane_block) = self.array(block, place.plane);
        let wrong: Vec<u32> = (0..bits).map(|n| n * 7).collect();
        let nand = self.machine.device().nand();
        assert!(nand.flip_bits(lun, plane_block, PageInBlock(place.page), &wrong));
    }
    fn feedback(&self, value: u32) {
        self.run(async move |driver| {
            let of = [MEDIA_FEEDBACK.into(), value, 0, 0, 0, 0];
            driver.vendor_admin(AdminOpcode::SetFeatures.raw(), of, &mut []).await.unwrap();
        });
    }
    /// What the library finds in the log.
    fn notifications(&self) -> Vec<Notification> {
        self.run(async |driver| Drive::open(&driver).await.unwrap().notifications().await.unwrap())
    }
    /// The events that the host gets from now on.
    fn listen(&self) -> Rc<RefCell<Vec<AsyncEvent>>> {
        let events = Rc::new(RefCell::new(Vec::new()));
        let (driver, heard) = (Rc::clone(self.machine.driver()), Rc::clone(&events));
        self.machine.host().spawn(async move {
            while let Ok(event) = driver.async_event().await {
                heard.borrow_mut().push(event);
            }
        });
        events
    }
    /// What has come of them. An event may come behind the completion of the command that it is of.
    fn heard(&self, events: &RefCell<Vec<AsyncEvent>>) -> Vec<AsyncEvent> {
        self.machine.idle(Duration::from_micros(100));
        events.borrow().clone()
    }
    fn told(&self, number: u64, first: u64, sectors: u16, state: NoticeState) -> Notification {
        Notification { number, first: self.shape.decode(first).unwrap(), sectors, state }
    }
}

#[test]
fn sectors_that_read_badly_raise_one_event_until_the_log_is_read() {
    let host = strict();
    let [a, b] = [0, 1].map(|unit| host.free_chunks(0)[unit]);
    assert_eq!(host.write(&[blocks(a, 0..16), blocks(b, 0..8)].concat(), 1), DONE);
    let events = host.listen();
    assert_eq!(host.read(&blocks(a, 0..16)).0, DONE);
    assert_eq!((host.notifications(), host.heard(&events)), (vec![], vec![]));

    // Two sectors of a chunk that nobody can read, and a page of another one with a wrong bit.
    host.damage(a, 400);
    host.damage(a + 8, 400);
    host.damage(b + 4, 1);
    let event = AsyncEvent::of(AsyncEventType::Vendor, 0, NOTICES_LOG);
    let (many, lost) = (NoticeState(0).with_high_ecc(true), NoticeState(0).with_unrecoverable(true));
    let wrong = host.read(&[blocks(a, 0..4), blocks(a, 4..12)].concat()).0;
    assert_eq!(wrong, VectorEnd { status: status::ECC_FAIL, failed: 0x0101 });
    assert_eq!(host.heard(&events), [event]);
    // Media Feedback is as the library has set it.
    let (ended, found) = host.read(&blocks(b, 0..8));
    assert_eq!(ended, VectorEnd { status: status::HIGH_ECC, failed: 0xf0 });
    assert!(found.into_iter().eq((0..8).map(|n| content(b + n, 1))), "all was read");
    // What is known is not told again, and the event waits for the log to be read.
    assert_eq!(host.read(&blocks(a, 0..4)).0.status, status::ECC_FAIL);
    assert_eq!(host.heard(&events), [event]);
    let expected = [(1, a, 1, lost), (2, a + 8, 1, lost), (3, b + 4, 4, many)];
    let told = expected.map(|(n, first, sectors, state)| host.told(n, first, sectors, state));
    assert_eq!(host.notifications(), told);
    assert_eq!((host.notifications(), host.heard(&events)), (vec![], vec![event]));
    assert_eq!(host.read(&blocks(b, 4..6)).0.status, status::HIGH_ECC);
    assert_eq!(host.heard(&events), [event, event]);
    assert_eq!(host.notifications(), [host.told(4, b + 4, 2, many)]);
}

#[test]
fn media_feedback_says_which_reads_tell_of_many_wrong_bits() {
    let host = strict();
    let a = host.free_chunks(0)[0];
    assert_eq!(host.write(&blocks(a, 0..8), 1), DONE);
    host.damage(a, 1);
    let four = VectorEnd { status: status::HIGH_ECC, failed: 0x0f };
    let plain = |host: &Host| {
        let (end, found) = host.read_as(IoOpcode::Read.raw(), &[a]);
        assert!(found[0].0 == content(a, 1).0);
        end.status
    };
    for (value, vector, read) in [
        (0, DONE, Status::SUCCESS),
        (1, DONE, status::HIGH_ECC),
        (2, four, Status::SUCCESS),
        (3, four, status::HIGH_ECC),
    ] {
        host.feedback(value);
        assert_eq!(host.read(&blocks(a, 0..8)).0, vector, "{value}");
        assert_eq!(plain(&host), read, "{value}");
        let of = [MEDIA_FEEDBACK.into(), 0, 0, 0, 0, 0];
        let current = host.run(async move |driver| {
            driver.vendor_admin(AdminOpcode::GetFeatures.raw(), of, &mut []).await.unwrap()
        });
        assert_eq!(current, value);
    }
}

#[test]
fn a_host_waits_for_notifications_of_the_library() {
    let host = strict();
    let a = host.free_chunks(0)[0];
    assert_eq!(host.write(&blocks(a, 0..8), 1), DONE);
    let found = Rc::new(RefCell::new(None));
    let (driver, got) = (Rc::clone(host.machine.driver()), Rc::clone(&found));
    host.machine.host().spawn(async move {
        let drive = Drive::open(&driver).await.unwrap();
        drive.notified().await.unwrap();
        *got.borrow_mut() = Some(drive.notifications().await.unwrap());
    });
    assert_eq!(host.read(&blocks(a, 0..8)).0, DONE);
    assert!(found.borrow().is_none());
    host.damage(a + 4, 1);
    assert_eq!(host.read(&blocks(a, 0..8)).0.failed, 0xf0);
    host.machine.idle(Duration::from_micros(100));
    let many = NoticeState(0).with_high_ecc(true);
    assert_eq!(*found.borrow(), Some(vec![host.told(1, a + 4, 4, many)]));
}
