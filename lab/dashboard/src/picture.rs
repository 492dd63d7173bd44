//! The state of a drive, made of its events and nothing else.

use crate::blocks::Blocks;
use crate::buffer::Buffer;
use crate::commands::{Commands, Completed};
use crate::dies::Dies;
use crate::frame::{Frame, Totals};
use aster_events::Event;
use aster_lab::watch::DriveShape;
use aster_units::Instant;
use std::sync::Arc;

/// A drive as its events tell of it. The same events make the same picture.
#[derive(Clone)]
pub struct Picture {
    shape: DriveShape,
    now: Instant,
    dies: Dies,
    commands: Commands,
    buffer: Buffer,
    /// None where somebody else knows the blocks.
    blocks: Option<Blocks>,
    cells: Option<Arc<crate::frame::BlockCells>>,
    flash: [u64; 4],
    victims: u64,
}

impl Picture {
    /// Of a drive of that shape, before its first event. `blocks` chooses whether what its blocks hold is
    /// followed.
    pub fn new(shape: DriveShape, blocks: bool) -> Self {
        Picture {
            shape,
            now: Instant::ZERO,
            dies: Dies::new(shape.geometry),
            commands: Commands::default(),
            buffer: Buffer::default(),
            blocks: blocks.then(|| Blocks::new(shape)),
            cells: None,
            flash: [0; 4],
            victims: 0,
        }
    }

    /// The time of the last event.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Takes the next event. Returns a command of an I/O queue that it completes.
    pub fn hear(&mut self, at: Instant, event: &Event) -> Option<Completed> {
        // What a core has done is told behind it.
        self.now = self.now.max(at);
        match *event {
            Event::FirmwareWorked { .. } => return None,
            Event::FlashFinished { kind, .. } => self.flash[usize::from(kind.min(3))] += 1,
            Event::VictimChosen { .. } => self.victims += 1,
            _ => {}
        }
        self.dies.hear(at, event);
        self.buffer.hear(event);
        if let Some(blocks) = &mut self.blocks {
            blocks.hear(event);
        }
        self.commands.hear(at, event)
    }

    /// A picture that was put away is shown again: its latencies begin anew.
    pub(crate) fn show_again(&mut self) {
        self.commands.take_latency();
        if let Some(blocks) = &mut self.blocks {
            blocks.show_again();
        }
    }

    /// What is shown of it, at a moment that isn't before the last event. Latencies are those since the
    /// frame before.
    pub fn frame(&mut self, now: Instant) -> Frame {
        if let Some(cells) = self.blocks.as_mut().and_then(Blocks::take_changed) {
            self.cells = Some(Arc::new(cells));
        }
        let now = now.max(self.now);
        Frame {
            at_us: now.since(Instant::ZERO).as_micros_f64(),
            dies: self.dies.view(now),
            channels: self.dies.channels(),
            queues: self.commands.queues(),
            outstanding: self.commands.outstanding(),
            buffer: self.buffer.view(),
            totals: self.totals(),
            latency: self.commands.take_latency(),
            blocks: self.cells.clone(),
            ..Frame::default()
        }
    }

    fn totals(&self) -> Totals {
        let (commands, [reads, programs, erases, _]) = (&self.commands, self.flash);
        let programmed = programs * u64::from(self.shape.geometry.page_bytes);
        let (buffer_hits, buffer_misses) = self.buffer.looked_up();
        let written = commands.written_bytes;
        Totals {
            reads: commands.reads,
            writes: commands.writes,
            read_bytes: commands.read_bytes,
            written_bytes: written,
            flash_reads: reads,
            flash_programs: programs,
            flash_erases: erases,
            programmed_bytes: programmed,
            victims: self.victims,
            buffer_hits,
            buffer_misses,
            waf: (written > 0).then(|| programmed as f64 / written as f64),
        }
    }
}

#[cfg(test)]
mod tests;
