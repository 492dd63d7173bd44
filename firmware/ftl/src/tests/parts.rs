//! LowerParts of the FTL by themselves: what the lower ones need, on a port that the test answers.

use crate::media::requests::Media;
use crate::page::buffers::PageBuffers;
use crate::terms::oob::OOB_BYTES;
use crate::terms::runtime::Runtime;
use crate::{DriveState, FtlConfig};
use aster_events::Recorder;
use aster_exec::{Core, Exec};
use aster_ports::cores::Interrupt;
use aster_ports::dram::Dram;
use aster_ports::flash::FlashPort;
use aster_units::{Frequency, Instant};
use core::future::Future;
use core::task::{Context, Poll, Waker};
use std::pin::pin;
use std::rc::Rc;

/// What a future gives that has nothing to wait for.
pub fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("this waits"),
    }
}

/// The parts below blocks, of a drive that is ready.
pub struct LowerParts {
    pub exec: Exec,
    pub runtime: Rc<Runtime>,
    pub media: Rc<Media>,
}

impl LowerParts {
    /// With room for `depth` flash requests.
    pub fn new(config: FtlConfig, depth: u16) -> LowerParts {
        let exec = Exec::new();
        let core = Core::new(&exec, Frequency::from_hertz(1_000_000_000).unwrap());
        let runtime = Rc::new(Runtime::new(&core, config, Recorder::default()));
        runtime.count(|stats| stats.state = DriveState::Ready);
        let sectors = config.geometry.sectors_per_page();
        let dram = Dram::new(config.content, sectors, OOB_BYTES as u8, 4, 1, 0);
        let pages = Rc::new(PageBuffers::new(&config, dram));
        let port = FlashPort::new(&exec, config.geometry.total_luns(), depth, Interrupt::default());
        let media = Rc::new(Media::new(&runtime, &pages, port));
        LowerParts { exec, runtime, media }
    }
    /// Lets all tasks run as far as they come without time passing.
    pub fn run(&self) {
        self.exec.advance_to(Instant::ZERO);
    }
}
