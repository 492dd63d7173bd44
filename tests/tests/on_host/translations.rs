//! A translation that isn't ours, between the existing front end and flash schedulers. It keeps the host's
//! data in its own memory and never uses flash.

use aster_device::plug::{
    ByteRange, CommandPort, Completion, DmaDirection, DmaError, DmaPart, DmaRequest, DriveState, Function,
    HostCommand, HostOp, HostStatus, MediaFacts, MediaState, PieceError, SharedDram, Translation,
    TranslationNeeds, TranslationPorts, TranslationStats, TranslationView,
};
use aster_device::{Media, Pieces, Profile};
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_tests::{big_loop, config, drive, job, profile, run_with};
use aster_units::{BufferId, Lpn, Ppa};
use aster_workload::runner::Contents;
use aster_workload::{Access, Mix};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A disk in memory that serves one command after the other through one page buffer.
struct RamDisk {
    bytes: u64,
    page_bytes: u32,
}

#[derive(Default)]
struct Held {
    content: RefCell<Vec<u8>>,
    stats: Cell<TranslationStats>,
}

/// The page buffer through which all data passes.
const BUFFER: BufferId = BufferId(0);

impl Translation for RamDisk {
    fn needs(&self) -> TranslationNeeds {
        TranslationNeeds { data_buffers: 1, ..TranslationNeeds::default() }
    }
    fn capacity_bytes(&self) -> u64 {
        self.bytes
    }
    fn start(self: Box<Self>, ports: TranslationPorts) -> Result<Rc<dyn TranslationView>, PieceError> {
        let stats = TranslationStats { state: DriveState::Ready, ..TranslationStats::default() };
        let held = Held { content: RefCell::new(vec![0; self.bytes as usize]), stats: Cell::new(stats) };
        let held = Rc::new(held);
        let (disk, page_bytes) = (Rc::clone(&held), self.page_bytes);
        let TranslationPorts { core, commands, buffers, .. } = ports;
        core.spawn(async move {
            loop {
                let command = commands.next_command().await;
                let status = disk.serve(&command, &commands, &buffers, page_bytes).await;
                disk.count(|stats| stats.commands += 1);
                commands.complete(Completion::new(command.id, status));
            }
        });
        Ok(held)
    }
}

impl Held {
    async fn serve(
        &self,
        command: &HostCommand,
        port: &CommandPort,
        buffers: &SharedDram,
        page_bytes: u32,
    ) -> HostStatus {
        let moved = match command.op {
            HostOp::Read | HostOp::Write => self.transfer(command, port, buffers, page_bytes).await,
            HostOp::WriteZeroes { .. } => {
                self.zero(ByteRange { offset: command.offset, length: command.length });
                Ok(())
            }
            HostOp::Deallocate => {
                (0..).map_while(|n| port.range(command.id, n)).for_each(|range| self.zero(range));
                Ok(())
            }
            HostOp::Compare => return HostStatus::CompareFailure,
            HostOp::Flush | HostOp::Shutdown | HostOp::Format { .. } => Ok(()),
            _ => return HostStatus::Refused,
        };
        moved.map_or(HostStatus::DataTransfer, |()| HostStatus::Success)
    }
    fn zero(&self, ByteRange { offset, length }: ByteRange) {
        self.content.borrow_mut()[offset as usize..][..length as usize].fill(0);
    }
    async fn transfer(
        &self,
        command: &HostCommand,
        port: &CommandPort,
        buffers: &SharedDram,
        page_bytes: u32,
    ) -> Result<(), DmaError> {
        let write = command.op == HostOp::Write;
        for offset in (0..command.length).step_by(page_bytes as usize) {
            let length = (command.length - offset).min(page_bytes.into());
            let at = (command.offset + offset) as usize..(command.offset + offset + length) as usize;
            if !write {
                let content = self.content.borrow();
                buffers.borrow_mut().page_mut(BUFFER)[..length as usize]
                    .copy_from_slice(&content[at.clone()]);
            }
            let request = DmaRequest {
                command: command.id,
                direction: if write { DmaDirection::FromHost } else { DmaDirection::ToHost },
                part: DmaPart::Data,
                offset: offset as u32,
                buffer: BUFFER,
                buffer_offset: 0,
                length: length as u32,
                after: None,
            };
            port.dma(request).await?;
            if write {
                let page = buffers.borrow();
                self.content.borrow_mut()[at].copy_from_slice(&page.page(BUFFER)[..length as usize]);
            }
            self.count(|stats| {
                let moved = if write { &mut stats.host_bytes_written } else { &mut stats.host_bytes_read };
                *moved += length;
            });
        }
        Ok(())
    }
    fn count(&self, change: impl FnOnce(&mut TranslationStats)) {
        let mut stats = self.stats.get();
        change(&mut stats);
        self.stats.set(stats);
    }
}

impl TranslationView for Held {
    fn state(&self) -> DriveState {
        DriveState::Ready
    }
    fn boot_error(&self) -> Option<String> {
        None
    }
    fn stats(&self) -> TranslationStats {
        self.stats.get()
    }
    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        let written = self.content.borrow().iter().filter(|byte| **byte != 0).count();
        each("bytes_that_are_not_zero", written as u64);
    }
    fn watch_media(&self, _: Box<dyn Fn(MediaState)>) {}
    fn location_of(&self, _: Lpn) -> Option<Ppa> {
        None
    }
    fn functions(&self) -> Vec<Function> {
        Vec::new()
    }
}

/// Ours, and a disk in memory, whose own key sets its number of pages.
fn pieces() -> Pieces {
    Pieces::default().translation("ram", |profile, facts: &MediaFacts| {
        let own = profile.own.as_ref().and_then(|own| own.get("ram_pages")?.as_integer());
        let (pages, page_bytes) = (own.unwrap_or(0) as u64, facts.geometry.page_bytes);
        Ok(Box::new(RamDisk { bytes: pages * u64::from(page_bytes), page_bytes }))
    })
}

/// `tiny` with a disk in memory of `pages` pages.
fn ram(pages: u64) -> Profile {
    profile("tiny", |p| {
        p.geometry.luns = 1;
        p.ftl.kind = "ram".to_owned();
        p.costs.translate = 100;
        p.own = Some([("ram_pages".to_owned(), (pages as i64).into())].into_iter().collect());
    })
}

fn power_on(profile: &Profile) -> Machine {
    let (media, recorder) = (Media::fresh(), Recorder::default());
    let m = Machine::power_on_with(pieces(), "test", profile, None, media, &recorder, config(profile))
        .unwrap_or_else(|e| panic!("power-on: {e}"));
    m.boot().unwrap_or_else(|e| panic!("boot: {e}"));
    m
}

#[test]
fn a_translation_of_a_readers_own_serves_the_host_under_each_scheduler() {
    let coroutines = |_: &mut Profile| {};
    for arrange in [coroutines as fn(&mut Profile), big_loop] {
        let mut profile = ram(64);
        arrange(&mut profile);
        let m = power_on(&profile);
        assert_eq!(drive(&m).bytes, 64 * u64::from(m.device().geometry().page_bytes));
        let contents = Contents::versioned(drive(&m), 1);
        let work = job("work", Access::Random, Mix::ReadWrite, 16 << 10, 200);
        let (statistics, _) = run_with(&m, &[work], contents, ());
        assert_eq!((statistics[0].failures, statistics[0].requests()), (0, 200));

        let (stats, translation) = (m.device().stats(), m.device().translation());
        assert!(stats.ftl.commands >= 200 && stats.ftl.host_bytes_read > 0, "{:?}", stats.ftl);
        assert_eq!((stats.nand.programs, stats.nand.erases), (0, 0), "it never touches flash");
        assert!(translation.counter("bytes_that_are_not_zero") > Some(0));
        assert_eq!(translation.counter("free_blocks"), None, "that is what ours counts");
        let functions = &m.device().firmware().functions;
        assert!(!functions.contains(&Function::AddressTranslator), "it charges for none: {functions:?}");
    }
}

#[test]
fn a_translation_that_the_drive_cannot_have_is_refused_by_its_key() {
    let refusal = |pieces: Pieces, profile: &Profile| {
        let made = aster_device::check_with(&pieces, profile, None);
        made.expect_err("it is no drive").blame()
    };
    let (key, reason) = refusal(pieces(), &ram(0));
    assert!(key == "ftl.kind" && reason.contains("must have a capacity"), "{reason}");
    let (key, reason) = refusal(Pieces::default(), &ram(64));
    let ours = "must be one of \"page-mapping\", \"vectors\", but is \"ram\"";
    assert_eq!((&*key, &*reason), ("ftl.kind", ours));
    let ours = Profile { ftl: profile("tiny", |_| ()).ftl, ..ram(64) };
    let (key, reason) = refusal(pieces(), &ours);
    assert!(key == "own" && reason.contains("must go"), "nobody reads it: {reason}");

    let text = ram(64).to_toml().unwrap();
    let error = Profile::parse("mine.toml", &text).unwrap_err();
    assert!(error.line.is_some() && error.key.as_deref() == Some("ftl.kind"), "{error}");
    assert_eq!(Profile::parse_with(&pieces(), "mine.toml", &text).unwrap(), ram(64));
}
