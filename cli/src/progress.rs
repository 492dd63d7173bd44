//! Progress on standard error: a bar on a terminal; elsewhere a line per stage, and more lines now and then
//! during long stages.

use crate::estimate::Estimate;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Parts that a bar is divided into.
const PARTS: u64 = 1000;
/// A bar while its stage lasts, and once it is over.
const GOING: &str = "  {msg:36} {bar:36} {percent:>3} %  {elapsed}{prefix}";
const OVER: &str = "  {msg:36} {bar:36} {percent:>3} %  {elapsed}";
/// A stage of unknown length.
const OPEN: &str = "  {msg:36} {elapsed}  {prefix}";
/// Time between two lines of a long stage without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows one stage after the other.
pub(crate) struct Progress {
    stage: Option<Display>,
    /// Parts that the share goes over, each a stage: the names of all, and which is shown.
    parts: (Vec<String>, usize),
}

enum Display {
    Bar { bar: ProgressBar, began: Instant, estimate: Estimate },
    Lines(Lines),
}

impl Progress {
    /// Shows nothing until a stage begins.
    pub(crate) fn new() -> Self {
        Progress { stage: None, parts: (Vec::new(), 0) }
    }

    /// Ends the previous stage and begins this one.
    pub(crate) fn begin(&mut self, stage: &str) {
        self.begin_parts(&[stage]);
    }

    /// Ends the previous stage and begins work with these parts, which have equal shares. Each part is a
    /// stage of its own, since one part's duration says nothing about the next.
    pub(crate) fn begin_parts(&mut self, parts: &[&str]) {
        self.parts = (parts.iter().map(|&part| part.to_owned()).collect(), 0);
        self.show();
    }

    fn show(&mut self) {
        self.end();
        let Some(stage) = self.parts.0.get(self.parts.1) else { return };
        self.stage = Some(if io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(Some(PARTS), ProgressDrawTarget::stderr_with_hz(10));
            let bar = bar.with_style(style(GOING)).with_message(stage.clone());
            Display::Bar { bar, began: Instant::now(), estimate: Estimate::new() }
        } else {
            Display::Lines(Lines::new(stage, Instant::now()))
        });
    }

    /// The stage's share done, from 0 to 1. A share that isn't a number counts as 0.
    pub(crate) fn set(&mut self, share: f64) {
        let (part, share) = part_of(share, self.parts.0.len());
        if part > self.parts.1 {
            self.parts.1 = part;
            self.show();
        }
        match &mut self.stage {
            Some(Display::Bar { bar, began, estimate }) => {
                let elapsed = began.elapsed();
                estimate.note(elapsed, share);
                bar.set_prefix(estimate.left(elapsed).map_or(String::new(), said));
                bar.set_position((share * PARTS as f64) as u64);
            }
            Some(Display::Lines(lines)) => {
                if let Some(line) = lines.at(share, Instant::now()) {
                    say(&line);
                }
            }
            None => {}
        }
    }

    /// The stage's progress as text, for a stage of unknown length.
    pub(crate) fn tell(&mut self, words: &str) {
        match &mut self.stage {
            Some(Display::Bar { bar, .. }) => {
                bar.set_style(style(OPEN));
                bar.set_prefix(words.to_owned());
                bar.tick();
            }
            Some(Display::Lines(lines)) => {
                if let Some(line) = lines.with(words, Instant::now()) {
                    say(&line);
                }
            }
            None => {}
        }
    }

    /// The stage is over.
    pub(crate) fn end(&mut self) {
        match self.stage.take() {
            Some(Display::Bar { bar, .. }) => {
                bar.set_style(style(OVER));
                bar.set_position(PARTS);
                bar.abandon();
            }
            Some(Display::Lines(lines)) => say(&lines.over(Instant::now())),
            None => {}
        }
    }
}

impl Drop for Progress {
    /// An error ends the stage where it is, so that the message begins on a line of its own.
    fn drop(&mut self) {
        if let Some(Display::Bar { bar, .. }) = self.stage.take() {
            bar.set_style(style(OVER));
            bar.abandon();
        }
    }
}

/// The part that a share of the whole is in, and the share of that part. A share that isn't a number counts
/// as 0.
fn part_of(share: f64, parts: usize) -> (usize, f64) {
    let parts = parts.max(1);
    let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
    let part = ((share * parts as f64) as usize).min(parts - 1);
    (part, (share * parts as f64 - part as f64).clamp(0.0, 1.0))
}

/// The remaining time as text.
fn said(left: Duration) -> String {
    match left.as_secs() {
        seconds @ ..120 => format!(", about {seconds} s left"),
        seconds @ 120..7200 => format!(", about {} min left", seconds.div_ceil(60)),
        seconds => format!(", about {} h left", seconds.div_ceil(3600)),
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is a constant").progress_chars("█▌░")
}

/// Prints whole lines, so that no other output ends up inside of one.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// A stage in lines.
struct Lines {
    stage: String,
    began: Instant,
    said: Instant,
    estimate: Estimate,
}

impl Lines {
    fn new(stage: &str, now: Instant) -> Self {
        Lines { stage: stage.to_owned(), began: now, said: now, estimate: Estimate::new() }
    }
    /// The line to print when `share` of the stage is done at `now`, if one is due.
    fn at(&mut self, share: f64, now: Instant) -> Option<String> {
        let elapsed = now.duration_since(self.began);
        self.estimate.note(elapsed, share);
        self.is_due(now).then(|| {
            let left = self.estimate.left(elapsed).map_or(String::new(), said);
            let (stage, seconds) = (&self.stage, elapsed.as_secs_f64());
            format!("  {stage}: {:.0} %, {seconds:.0} s{left}", share * 100.0)
        })
    }
    /// The line to print for a stage of unknown length with progress `words` at `now`, if one is due.
    fn with(&mut self, words: &str, now: Instant) -> Option<String> {
        let seconds = now.duration_since(self.began).as_secs_f64();
        self.is_due(now).then(|| format!("  {}: {seconds:.0} s, {words}", self.stage))
    }
    /// True once when it is time for a line.
    fn is_due(&mut self, now: Instant) -> bool {
        let is_due = now.duration_since(self.said) >= LINE_EVERY;
        if is_due {
            self.said = now;
        }
        is_due
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
        let mut told = Vec::new();
        for tenth in 0..=210u32 {
            let share = f64::from(tenth) / 400.0;
            told.extend(lines.at(share, start + Duration::from_millis(100) * tenth));
        }
        assert_eq!(told, ["  fill: 25 %, 10 s, about 30 s left", "  fill: 50 %, 20 s, about 20 s left"]);
        assert_eq!(lines.over(start + Duration::from_secs(21)), "  fill: 21.0 s");
    }

    #[test]
    fn what_cannot_be_estimated_is_not() {
        let start = Instant::now();
        let line = Lines::new("run", start).at(0.0, start + LINE_EVERY).unwrap();
        assert_eq!(line, "  run: 0 %, 10 s");
        // A step of unknown duration.
        let line = Lines::new("run", start).at(0.56, start + LINE_EVERY).unwrap();
        assert_eq!(line, "  run: 56 %, 10 s");
    }

    #[test]
    fn a_stage_without_a_known_end_tells_how_far_it_is_and_no_more() {
        let start = Instant::now();
        let mut lines = Lines::new("life", start);
        assert_eq!(lines.with("3 % used", start), None);
        let line = lines.with("4 % used", start + LINE_EVERY);
        assert_eq!(line.as_deref(), Some("  life: 10 s, 4 % used"));
    }

    #[test]
    fn parts_are_as_wide_and_each_has_its_own_share() {
        assert_eq!(
            [0.0, 0.25, 0.5, 0.75, 1.0, f64::NAN].map(|share| part_of(share, 2)),
            [(0, 0.0), (0, 0.5), (1, 0.0), (1, 0.5), (1, 1.0), (0, 0.0)]
        );
        assert_eq!(part_of(0.3, 1), (0, 0.3));
    }

    #[test]
    fn long_times_are_told_in_minutes_and_hours() {
        let told = [9, 119, 120, 3599, 7200].map(|seconds| said(Duration::from_secs(seconds)));
        let wanted = [
            ", about 9 s left",
            ", about 119 s left",
            ", about 2 min left",
            ", about 60 min left",
            ", about 2 h left",
        ];
        assert_eq!(told, wanted);
    }

    #[test]
    fn the_templates_are_such() {
        style(GOING);
        style(OPEN);
        style(OVER);
    }
}
