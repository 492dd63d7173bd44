//! What SMART reports: counters of the front end and the state of the media (NVMe 1.4 §5.14.1.2).

use aster_parties::{History, MediaHealth};
use aster_ports::host::{HostCommand, HostOp, HostStatus};
use aster_units::{Duration, Instant};
use aster_wire::nvme::log::CriticalWarning;

/// The running counters.
#[derive(Debug)]
pub(crate) struct Health {
    life: History,
    media: MediaHealth,
    /// The warnings at the last call of `look`.
    warnings: CriticalWarning,
    outstanding: u32,
    busy_since: Instant,
}

impl Health {
    pub fn new(before: &History) -> Self {
        let lost = before.power_cycles > 0 && !before.shut_down;
        let life = History {
            power_cycles: before.power_cycles + 1,
            unsafe_shutdowns: before.unsafe_shutdowns + u64::from(lost),
            shut_down: false,
            ..*before
        };
        Health {
            life,
            media: MediaHealth::default(),
            warnings: CriticalWarning(0),
            outstanding: 0,
            busy_since: Instant::ZERO,
        }
    }
    pub fn history(&self, now: Instant, error_count: u64) -> History {
        let running = if self.outstanding > 0 { now.since(self.busy_since) } else { Duration::ZERO };
        History {
            busy_picos: self.life.busy_picos + u128::from(running.as_picos()),
            powered_picos: self.life.powered_picos + u128::from(now.as_picos()),
            error_count,
            ..self.life
        }
    }
    /// Notes that a shutdown has completed, or that the host has enabled the controller again.
    pub fn set_shut_down(&mut self, shut_down: bool) {
        self.life.shut_down = shut_down;
    }
    /// Whether the last shutdown has completed and the controller has not been enabled since.
    #[inline]
    pub fn is_shut_down(&self) -> bool {
        self.life.shut_down
    }
    /// The state of the media.
    pub fn media(&self) -> &MediaHealth {
        &self.media
    }
    pub fn set_media(&mut self, media: MediaHealth) {
        self.media = media;
    }
    /// Unrecovered data integrity errors in the drive's life.
    pub fn media_errors(&self) -> u64 {
        self.life.media_errors
    }
    /// Takes the warnings that hold now. Returns those that didn't hold at the last call.
    pub fn look(&mut self, now: CriticalWarning) -> CriticalWarning {
        let new = CriticalWarning(now.0 & !self.warnings.0);
        self.warnings = now;
        new
    }
    /// Reports these warnings again if they still hold.
    pub fn report_again(&mut self, warnings: u8) {
        self.warnings = CriticalWarning(self.warnings.0 & !warnings);
    }
    /// Counts a command that goes to the FTL.
    #[inline]
    pub fn started(&mut self, now: Instant) {
        if self.outstanding == 0 {
            self.busy_since = now;
        }
        self.outstanding += 1;
    }
    /// Counts a command that comes back from the FTL.
    #[inline]
    pub fn ended(&mut self, now: Instant, command: &HostCommand, status: HostStatus) {
        debug_assert!(self.outstanding > 0, "a command was with the FTL");
        self.outstanding -= 1;
        if self.outstanding == 0 {
            self.life.busy_picos += u128::from(now.since(self.busy_since).as_picos());
        }
        let life = &mut self.life;
        match command.op {
            HostOp::Read | HostOp::Compare | HostOp::VectorRead(_) => {
                life.read_commands += 1;
                life.bytes_read += u128::from(command.length);
            }
            HostOp::Write | HostOp::VectorWrite(_) => {
                life.write_commands += 1;
                life.bytes_written += u128::from(command.length);
            }
            _ => {}
        }
        self.count_media_errors(status == HostStatus::UnrecoveredRead);
    }
    /// Counts an unrecovered data integrity error, if there was one (NVMe 1.4 §5.14.1.2).
    #[inline]
    pub fn count_media_errors(&mut self, lost: bool) {
        self.life.media_errors += u64::from(lost);
    }
}
