//! A waveform as a picture: a timing diagram as datasheets print them, in SVG.
//!
//! Time is to scale while the bus works. The axis is cut where nothing changes for long, and in the middle of
//! a long burst; each cut says what it leaves out.

use super::name_of;
use aster_device::wave::{Change, Label, Level, Signal, Waveform};
use aster_units::{Duration, Instant};
use std::fmt::Write as _;
use std::io;
use svg::Document;
use svg::node::element::{Group, Path, Rectangle, Text};

/// Pixels per nanosecond.
const PIXELS_A_NANOSECOND: f64 = 1.1;
/// Idle time longer than this is cut.
const REST_MAX: Duration = Duration::from_nanos(150);
/// Width of a cut in pixels.
const CUT: f64 = 64.0;
/// Bytes of a burst that are drawn before its cut, and after it.
const BYTES_BEFORE: usize = 5;
const BYTES_AFTER: usize = 2;
const ROW: f64 = 26.0;
const LEVEL: f64 = 16.0;
const LEFT: f64 = 96.0;
const TOP: f64 = 34.0;
const STYLE: &str = "text{font:11px ui-monospace,monospace;fill:#1f2933}\
    .pin{fill:none;stroke:#1f2933;stroke-width:1}\
    .box{fill:#eef2f6;stroke:#1f2933;stroke-width:1}.name{fill:#d9e8fb;stroke:#1f2933}.cut{fill:#fff}\
    .edge{stroke:#9aa5b1;stroke-dasharray:3 3;fill:none}.said{fill:#7b8794;font-size:10px}.ground{fill:#fff}";

/// A stretch of time and its place on the axis.
struct Stretch {
    from: Instant,
    until: Instant,
    left: f64,
    width: f64,
    /// What is left out, where the axis is cut.
    cut: Option<String>,
}

struct Axis(Vec<Stretch>);

impl Axis {
    /// `shown` are the instants of changes that are drawn, in order; `bursts` the spans of bursts with their
    /// bytes.
    fn new(shown: &[Instant], bursts: &[(Instant, Instant, u32)]) -> Self {
        let mut left = LEFT;
        let stretches = shown.windows(2).map(|pair| {
            let (from, until) = (pair[0], pair[1]);
            let lasts = until.since(from);
            let inside = bursts.iter().find(|(begin, end, _)| *begin <= from && until <= *end);
            let cut = match inside {
                _ if lasts <= REST_MAX => None,
                Some((_, _, bytes)) => {
                    Some(format!("{} bytes", *bytes as usize - BYTES_BEFORE - BYTES_AFTER))
                }
                None => Some(format!("{lasts}")),
            };
            let width = if cut.is_some() { CUT } else { lasts.as_picos() as f64 / 1e3 * PIXELS_A_NANOSECOND };
            let stretch = Stretch { from, until, left, width, cut };
            left += width;
            stretch
        });
        Axis(stretches.collect())
    }

    fn x(&self, at: Instant) -> f64 {
        let i = self.0.partition_point(|s| s.until < at).min(self.0.len().saturating_sub(1));
        let Some(s) = self.0.get(i) else { return LEFT };
        let whole = s.until.since(s.from).as_picos().max(1) as f64;
        let into = if at <= s.from { 0.0 } else { at.since(s.from).as_picos() as f64 };
        s.left + s.width * (into / whole).min(1.0)
    }

    fn right(&self) -> f64 {
        self.0.last().map_or(LEFT, |s| s.left + s.width)
    }
}

/// The spans of bursts that are too long to be drawn whole, with their bytes.
fn long_bursts(changes: &[Change]) -> Vec<(Instant, Instant, u32)> {
    let cycles: Vec<_> = changes
        .iter()
        .filter_map(|c| match (c.signal, c.level) {
            (Signal::Cycle, Level::Text(label)) => Some((c.at, label)),
            _ => None,
        })
        .collect();
    let long = |label: Label| match label {
        Label::DataOut(n) | Label::DataIn(n) => {
            Some(n).filter(|&n| n as usize > BYTES_BEFORE + BYTES_AFTER + 4)
        }
        _ => None,
    };
    let spans = cycles.windows(2).filter_map(|pair| Some((pair[0].0, pair[1].0, long(pair[0].1)?)));
    spans.collect()
}

/// The changes that are drawn: all except those in the middle of long bursts.
fn drawn(changes: &[Change], bursts: &[(Instant, Instant, u32)]) -> Vec<Change> {
    let hidden: Vec<(Instant, Instant)> = bursts
        .iter()
        .filter_map(|&(begin, end, _)| {
            let data = |c: &&Change| c.signal == Signal::Data && begin <= c.at && c.at <= end;
            let at: Vec<Instant> = changes.iter().filter(data).map(|c| c.at).collect();
            Some((*at.get(BYTES_BEFORE)?, *at.get(at.len().checked_sub(BYTES_AFTER + 1)?)?))
        })
        .collect();
    let is_drawn = |c: &&Change| !hidden.iter().any(|(from, until)| *from <= c.at && c.at < *until);
    changes.iter().filter(is_drawn).copied().collect()
}

/// Writes `wave` as an SVG picture. Ways on which nothing happens are left out.
///
/// # Errors
/// Those of `out`.
pub fn write_svg(mut out: impl io::Write, wave: &Waveform) -> io::Result<()> {
    let bursts = long_bursts(wave.changes());
    let changes = drawn(wave.changes(), &bursts);
    let mut shown: Vec<Instant> = changes.iter().map(|c| c.at).collect();
    shown.dedup();
    let axis = Axis::new(&shown, &bursts);
    let used = |signal: Signal| changes.iter().any(|c| c.signal == signal);
    let rows: Vec<(Signal, Level)> = wave
        .signals()
        .filter(|(signal, _)| !matches!(signal, Signal::ChipEnable(_) | Signal::Ready(_)) || used(*signal))
        .collect();
    let (width, height) = (axis.right() + 12.0, TOP + ROW * rows.len() as f64 + 8.0);
    let mut picture = Document::new()
        .set("viewBox", (0, 0, width.ceil() as i64, height.ceil() as i64))
        .set("width", width.ceil() as i64)
        .set("role", "img")
        .set("aria-label", format!("ONFI waveform of channel {}", wave.channel()))
        .add(svg::node::element::Style::new(STYLE))
        .add(Rectangle::new().set("class", "ground").set("width", "100%").set("height", "100%"));
    for (row, &(signal, rest)) in rows.iter().enumerate() {
        let top = TOP + ROW * row as f64;
        picture = picture.add(Text::new(name_of(signal)).set("x", 6).set("y", top + 13.0));
        picture = picture.add(draw_row(&axis, &changes, signal, rest, top));
    }
    for stretch in &axis.0 {
        let Some(said) = &stretch.cut else { continue };
        let (left, right) = (stretch.left + 8.0, stretch.left + stretch.width - 8.0);
        let bottom = height - 4.0;
        let mut edges = String::new();
        let _ = write!(edges, "M{left:.1} {TOP}V{bottom:.1}M{right:.1} {TOP}V{bottom:.1}");
        let said = Text::new(said.as_str()).set("class", "said").set("text-anchor", "middle");
        picture = picture
            .add(
                Rectangle::new()
                    .set("class", "cut")
                    .set("x", left)
                    .set("y", TOP)
                    .set("width", right - left)
                    .set("height", bottom - TOP),
            )
            .add(Path::new().set("class", "edge").set("d", edges))
            .add(said.set("x", (left + right) / 2.0).set("y", TOP - 8.0));
    }
    svg::write(&mut out, &picture)?;
    out.flush()
}

/// One signal: a line for a pin, boxes for bytes and words.
fn draw_row(axis: &Axis, changes: &[Change], signal: Signal, rest: Level, top: f64) -> Group {
    let mut mine: Vec<(Instant, Level)> = Vec::new();
    for change in changes.iter().filter(|c| c.signal == signal) {
        // Of several levels at one instant only the last counts.
        match mine.last_mut().filter(|(at, _)| *at == change.at) {
            Some(last) => last.1 = change.level,
            None => mine.push((change.at, change.level)),
        }
    }
    let same = |a: &mut (Instant, Level), b: &mut (Instant, Level)| {
        a.1 == b.1 && !matches!(a.1, Level::Text(_) | Level::Byte(_))
    };
    mine.dedup_by(|a, b| same(a, b));
    let ends = mine.iter().skip(1).map(|(at, _)| axis.x(*at)).chain([axis.right()]);
    let spans = [(LEFT, rest)].into_iter().chain(mine.iter().map(|(at, level)| (axis.x(*at), *level)));
    let ends = mine.first().map(|(at, _)| axis.x(*at)).into_iter().chain(ends);
    let (high, low) = (top + 2.0, top + 2.0 + LEVEL);
    let mut line = String::new();
    let mut boxes = Group::new();
    for ((from, level), until) in spans.zip(ends) {
        let middle = (high + low) / 2.0;
        let boxed = match level {
            Level::High | Level::Low => {
                let y = if level == Level::High { high } else { low };
                let _ =
                    write!(line, "{}{from:.1} {y:.1}H{until:.1}", if line.is_empty() { "M" } else { "L" });
                None
            }
            Level::Byte(Some(byte)) => Some(("box", format!("{byte:02X}"))),
            Level::Text(Label::Idle) | Level::Byte(None) => {
                let _ = write!(line, "M{from:.1} {middle:.1}H{until:.1}");
                None
            }
            Level::Text(label @ Label::Name(_)) => Some(("name", label.to_string())),
            Level::Text(label) => Some(("box", label.to_string())),
        };
        let Some((class, said)) = boxed else { continue };
        let frame = Rectangle::new().set("x", from).set("y", high).set("width", (until - from).max(0.5));
        boxes = boxes.add(frame.set("height", LEVEL).set("class", class));
        // Truncate a word that would run into its neighbour.
        let fits: String = said.chars().take(((until - from - 4.0) / 6.7).max(0.0) as usize).collect();
        if fits.len() == said.len() || fits.chars().count() >= 3 {
            boxes = boxes.add(Text::new(fits).set("x", from + 3.0).set("y", top + 14.0));
        }
    }
    boxes.add(Path::new().set("class", "pin").set("d", line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_channel::{WaveFilter, WaveTap};
    use aster_ports::channel::BusTap;
    use aster_ports::package::{BurstTiming, DataMode};
    use aster_txn::Latch;
    use aster_units::ChannelId;

    /// A status command, and 50 µs later a burst of `bytes`.
    fn picture(bytes: usize) -> String {
        let at = |n: u64| Instant::from_picos(n * 1_000);
        let mut tap = WaveTap::new(ChannelId(0), 4, WaveFilter::Everything);
        tap.transaction(at(1_000), at(60_000), "read transfer");
        tap.chips(at(1_000), 0b10);
        tap.latch(at(1_020), at(1_050), Latch::Command(0x70));
        let last = at(51_000 + 5 * bytes as u64);
        tap.burst(BurstTiming { first: at(51_000), last, mode: DataMode::NvDdr2 }, true, &vec![0xa5; bytes]);
        tap.chips(at(60_000), 0);
        let mut svg = Vec::new();
        write_svg(&mut svg, &tap.waveform()).unwrap();
        String::from_utf8(svg).unwrap()
    }

    #[test]
    fn rests_and_the_middle_of_bursts_are_cut_and_say_what_is_missing() {
        let svg = picture(2_000);
        assert!(svg.contains("read transfer"));
        assert!(svg.contains("1993 bytes"), "{svg}");
        assert!(svg.contains("µs"), "the rest before the burst");
        let short = picture(8);
        assert!(!short.contains("bytes"));
        assert!(short.len() < svg.len() + 4_000, "a picture's size doesn't follow a burst's");
    }

    #[test]
    fn only_ways_that_are_used_are_drawn() {
        let svg = picture(8);
        assert!(svg.contains("CE1_n") && !svg.contains("CE0_n") && !svg.contains("CE3_n"));
    }
}
