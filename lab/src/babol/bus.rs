//! What the bus of a bench shows during reads.

use crate::experiment::ExperimentError;
use aster_device::profile::Profile;
use aster_device::units::{ChannelId, Content, Instant};
use aster_device::wave::{Change, Label, Level, Signal, WaveFilter, WaveTap, Waveform};
use aster_events::Recorder;
use aster_run_bench::{Bench, BenchOperation, BenchWork, FlashStatus, Pattern, Sample};
use serde::Serialize;

/// A transaction on the bus.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Shown {
    /// Its name.
    pub name: &'static str,
    /// When it began, microseconds.
    pub from_us: f64,
    /// When it ended.
    pub until_us: f64,
    /// Bytes that the package sent.
    pub bytes: u32,
}

/// READs of whole pages, or of their first sectors, one page after the other.
pub(super) fn reads(requests: u64, sectors: Option<u8>) -> BenchWork {
    BenchWork {
        operation: BenchOperation::Read,
        pattern: Pattern::Sequential,
        requests,
        time: None,
        sectors,
        seed: 1,
    }
}

/// One READ with one LUN on the channel, as the bus shows it: whole pages, or their first `sectors`.
pub(super) fn one_read(
    profile: &Profile,
    sectors: Option<u8>,
    content: Content,
) -> Result<Waveform, ExperimentError> {
    let recorder = Recorder::default();
    let bench = Bench::power_on(profile, 1, 1, Some(content), &recorder)?;
    let work = reads(1, sectors);
    let prepared = bench.prepare(&work, &mut |_| true)?;
    let tap = WaveTap::new(ChannelId(0), 1, WaveFilter::Everything);
    bench.set_tap(Some(Box::new(tap.clone())));
    recorder.attach(tap.clone());
    let mut failures = 0;
    bench.run(prepared, &mut |sample| {
        failures += u64::from(!is_right(sample));
        true
    });
    match failures {
        0 => Ok(tap.waveform()),
        _ => Err(ExperimentError::Wrong { point: "one READ".into(), failures }),
    }
}

/// Whether a request succeeded and returned the programmed content.
pub(super) fn is_right(sample: &Sample) -> bool {
    sample.status == FlashStatus::Done && sample.right
}

/// The transactions of `wave` in their order; the first begins at 0.
pub(super) fn transactions(wave: &Waveform) -> Vec<Shown> {
    let began = wave.changes().first().map_or(Instant::ZERO, |change| change.at);
    let mut found: Vec<Shown> = Vec::new();
    for change in wave.changes() {
        let at = change.at.since(began).as_micros_f64();
        match (change.signal, change.level, found.last_mut()) {
            (Signal::Transaction, Level::Text(Label::Name(name)), _) => {
                found.push(Shown { name, from_us: at, until_us: at, bytes: 0 });
            }
            (Signal::Transaction, _, Some(last)) => last.until_us = at,
            (Signal::Cycle, Level::Text(Label::DataOut(bytes)), Some(last)) => last.bytes += bytes,
            _ => {}
        }
    }
    found
}

/// When R/B# rises, microseconds from the first change on.
pub(super) fn ready(wave: &Waveform) -> f64 {
    let began = wave.changes().first().map_or(Instant::ZERO, |change| change.at);
    let rises = |c: &&Change| matches!((c.signal, c.level), (Signal::Ready(_), Level::High));
    wave.changes().iter().rfind(rises).map_or(0.0, |change| change.at.since(began).as_micros_f64())
}

#[cfg(test)]
mod tests {
    use super::{one_read, ready, transactions};
    use crate::babol::Plan;
    use aster_device::units::Content;

    #[test]
    fn a_read_shows_its_command_its_checks_and_its_transfer() {
        let profile = Plan::shipped().unwrap().bench_profile("hynix", 200).unwrap();
        let wave = one_read(&profile, Some(1), Content::Full).unwrap();
        let shown = transactions(&wave);
        let [read, checks @ .., transfer] = &shown[..] else { panic!("{shown:?}") };
        assert_eq!((read.name, transfer.name), ("read", "read transfer"));
        assert!(!checks.is_empty() && checks.iter().all(|s| s.name == "read status"), "{shown:?}");
        assert!(shown.windows(2).all(|pair| pair[0].until_us <= pair[1].from_us), "{shown:?}");
        assert!(read.bytes == 0 && transfer.bytes > 4096, "{shown:?}");
        let array = ready(&wave) - read.until_us;
        assert!((94.0..106.0).contains(&array), "tR is 100 µs, a page's 5 more or less: {array}");
        assert!(transfer.from_us > ready(&wave));
    }
}
