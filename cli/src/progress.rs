//! Progress on standard error: a bar on a terminal; elsewhere a line a stage, and one now and then while it lasts.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Parts that a bar is divided into.
const PARTS: u64 = 1000;
/// A bar while its stage lasts, and once it is over.
const GOING: &str = "  {msg:36} {bar:36} {percent:>3} %  {elapsed}, {eta} left";
const OVER: &str = "  {msg:36} {bar:36} {percent:>3} %  {elapsed}";
/// Between two lines of a stage that lasts, where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows one stage after the other.
pub(crate) struct Progress {
    stage: Option<Stage>,
}

enum Stage {
    Bar(ProgressBar),
    Lines(Lines),
}

impl Progress {
    /// Shows nothing until a stage begins.
    pub(crate) fn new() -> Self {
        Progress { stage: None }
    }

    /// The stage before is over; this one begins.
    pub(crate) fn begin(&mut self, stage: &str) {
        self.end();
        self.stage = Some(if io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(Some(PARTS), ProgressDrawTarget::stderr_with_hz(10));
            Stage::Bar(bar.with_style(style(GOING)).with_message(stage.to_owned()))
        } else {
            Stage::Lines(Lines::new(stage, Instant::now()))
        });
    }

    /// The stage has come so far, from 0 to 1. A share that is no number shows as nothing done.
    pub(crate) fn set(&mut self, share: f64) {
        match &mut self.stage {
            Some(Stage::Bar(bar)) => bar.set_position((share.clamp(0.0, 1.0) * PARTS as f64) as u64),
            Some(Stage::Lines(lines)) => {
                if let Some(line) = lines.at(share, Instant::now()) {
                    say(&line);
                }
            }
            None => {}
        }
    }

    /// The stage is over.
    pub(crate) fn end(&mut self) {
        match self.stage.take() {
            Some(Stage::Bar(bar)) => {
                bar.set_style(style(OVER));
                bar.set_position(PARTS);
                bar.abandon();
            }
            Some(Stage::Lines(lines)) => say(&lines.over(Instant::now())),
            None => {}
        }
    }
}

impl Drop for Progress {
    /// An error ends the stage where it is, so that the message begins on a line of its own.
    fn drop(&mut self) {
        if let Some(Stage::Bar(bar)) = self.stage.take() {
            bar.set_style(style(OVER));
            bar.abandon();
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is a constant").progress_chars("█▌░")
}

/// Whole lines, so that nothing else that is said ends up in the middle of one.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// A stage in lines.
struct Lines {
    stage: String,
    began: Instant,
    said: Instant,
}

impl Lines {
    fn new(stage: &str, now: Instant) -> Self {
        Lines { stage: stage.to_owned(), began: now, said: now }
    }
    /// What is to be said when `share` of the stage is done `now`; mostly nothing.
    fn at(&mut self, share: f64, now: Instant) -> Option<String> {
        if now.duration_since(self.said) < LINE_EVERY {
            return None;
        }
        self.said = now;
        let Lines { stage, began, .. } = &*self;
        let elapsed = now.duration_since(*began).as_secs_f64();
        // A share that is no number counts as none.
        let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        // One too small to tell anything from gives no estimate.
        let left = if share > 1e-3 {
            format!(", about {:.0} s left", elapsed * (1.0 - share) / share)
        } else {
            String::new()
        };
        Some(format!("  {stage}: {:.0} %, {elapsed:.0} s{left}", share * 100.0))
    }
    fn over(&self, now: Instant) -> String {
        format!("  {}: {:.1} s", self.stage, now.duration_since(self.began).as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_now_and_then_with_what_is_left() {
        let start = Instant::now();
        let mut lines = Lines::new("fill", start);
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(lines.at(0.1, after(9)), None);
        assert_eq!(lines.at(0.25, after(10)).as_deref(), Some("  fill: 25 %, 10 s, about 30 s left"));
        assert_eq!(lines.at(0.3, after(19)), None, "ten seconds after the last one");
        assert_eq!(lines.at(0.5, after(20)).as_deref(), Some("  fill: 50 %, 20 s, about 20 s left"));
        assert_eq!(lines.over(after(21)), "  fill: 21.0 s");
    }

    #[test]
    fn what_cannot_be_estimated_is_not() {
        let start = Instant::now();
        for share in [0.0, f64::NAN] {
            let line = Lines::new("run", start).at(share, start + LINE_EVERY).unwrap();
            assert_eq!(line, "  run: 0 %, 10 s");
        }
    }

    #[test]
    fn both_templates_are_such() {
        style(GOING);
        style(OVER);
    }
}
