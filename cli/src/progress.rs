//! Progress on standard error: a bar on a terminal, a line a stage elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::time::Instant;

/// Parts that a bar is divided into.
const PARTS: u64 = 1000;

/// Shows one stage after the other.
pub(crate) struct Progress {
    on_terminal: bool,
    stage: Option<(Instant, ProgressBar)>,
}

impl Progress {
    /// Shows nothing until a stage begins.
    pub(crate) fn new() -> Self {
        Progress { on_terminal: io::stderr().is_terminal(), stage: None }
    }

    /// The stage before is over; this one begins.
    pub(crate) fn begin(&mut self, stage: &str) {
        self.end();
        let bar = if self.on_terminal {
            let style = ProgressStyle::with_template("  {msg:36} {bar:36} {percent:>3} %  {elapsed}")
                .expect("the template is a constant")
                .progress_chars("█▌░");
            let bar = ProgressBar::with_draw_target(Some(PARTS), ProgressDrawTarget::stderr_with_hz(10));
            bar.with_style(style).with_message(stage.to_owned())
        } else {
            let mut err = io::stderr();
            let _ = write!(err, "  {stage} …");
            let _ = err.flush();
            ProgressBar::hidden()
        };
        self.stage = Some((Instant::now(), bar));
    }

    /// The stage has come so far, from 0 to 1.
    pub(crate) fn set(&self, share: f64) {
        if let Some((_, bar)) = &self.stage {
            // A share that is no number shows as nothing done.
            bar.set_position((share.clamp(0.0, 1.0) * PARTS as f64) as u64);
        }
    }

    /// The stage is over.
    pub(crate) fn end(&mut self) {
        let Some((began, bar)) = self.stage.take() else { return };
        if self.on_terminal {
            bar.set_position(PARTS);
            bar.abandon();
        } else {
            let _ = writeln!(io::stderr(), " {:.1} s", began.elapsed().as_secs_f64());
        }
    }
}

impl Drop for Progress {
    /// An error ends the stage where it is, so that the message begins on a line of its own.
    fn drop(&mut self) {
        let Some((_, bar)) = self.stage.take() else { return };
        if self.on_terminal {
            bar.abandon();
        } else {
            let _ = writeln!(io::stderr());
        }
    }
}
