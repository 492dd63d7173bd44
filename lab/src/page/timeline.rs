//! The operation monitor's samples in memory: as many as fit a picture, however long a run is.

use aster_events::Event;
use aster_observe::monitor::{EntryKind, MonitorModule, Sample, TableEntry};
use aster_units::{Duration, Instant};
use serde::Serialize;
use std::collections::BTreeMap;

/// The most samples; beyond, neighbours become one.
const SAMPLES_MAX: usize = 512;
/// The first interval between two samples.
const INTERVAL: Duration = Duration::from_micros(10);

/// Series over time, in simulated seconds from the beginning of the work.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Timeline {
    /// The beginning of each sample.
    pub from_s: Vec<f64>,
    /// Its end, which is the next one's beginning.
    pub until_s: Vec<f64>,
    /// Values by name; `None` where there is nothing to say.
    pub series: BTreeMap<String, Vec<Option<f64>>>,
}

/// How an entry of two samples becomes one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// The mean over time.
    Mean,
    /// The larger one.
    Largest,
    /// The later one.
    Last,
}

struct Row {
    from: Instant,
    until: Instant,
    values: Vec<f64>,
}

/// Samples under way.
pub struct TimelineStore {
    began: Instant,
    interval: Duration,
    entries: Vec<(String, Rule)>,
    rows: Vec<Row>,
}

impl TimelineStore {
    /// Samples from `began` on.
    pub fn new(began: Instant) -> Self {
        TimelineStore { began, interval: INTERVAL, entries: Vec::new(), rows: Vec::new() }
    }

    /// How far apart the next samples have to be.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Takes a sample.
    pub fn push(&mut self, entries: &[TableEntry], sample: Sample<'_>) {
        if self.entries.is_empty() {
            let rule = |entry: &TableEntry| match entry.kind {
                EntryKind::Counter => Rule::Last,
                EntryKind::Gauge if entry.name.contains("_max") => Rule::Largest,
                EntryKind::Gauge => Rule::Mean,
            };
            self.entries = entries.iter().map(|entry| (entry.name.clone(), rule(entry))).collect();
        }
        self.rows.push(Row { from: sample.from, until: sample.until, values: sample.values.to_vec() });
        if self.rows.len() == SAMPLES_MAX {
            self.halve();
        }
    }

    fn halve(&mut self) {
        // Samples are longer where nothing happened: what counts is how long both together are.
        while self.rows.len() > SAMPLES_MAX / 2 {
            self.interval = Duration::from_picos(self.interval.as_picos() * 2);
            let mut joined: Vec<Row> = Vec::new();
            for row in std::mem::take(&mut self.rows) {
                match joined.pop() {
                    Some(last) if row.until.since(last.from) <= self.interval => {
                        joined.push(self.merged(last, &row));
                    }
                    last => joined.extend(last.into_iter().chain([row])),
                }
            }
            self.rows = joined;
        }
    }

    fn merged(&self, mut first: Row, second: &Row) -> Row {
        let weight = |row: &Row| row.until.since(row.from).as_secs_f64();
        let (before, behind) = (weight(&first), weight(second));
        for (((_, rule), value), other) in self.entries.iter().zip(&mut first.values).zip(&second.values) {
            *value = match rule {
                Rule::Last => *other,
                Rule::Largest => value.max(*other),
                Rule::Mean if value.is_nan() => *other,
                Rule::Mean if other.is_nan() => *value,
                Rule::Mean => (*value * before + other * behind) / (before + behind),
            };
        }
        Row { until: second.until, ..first }
    }

    /// The last value of an entry; `None` without a sample.
    pub fn last(&self, name: &str) -> Option<f64> {
        let at = self.entries.iter().position(|(entry, _)| entry == name)?;
        self.rows.last().map(|row| row.values[at])
    }

    /// From the beginning to the last sample's end, in seconds.
    pub fn seconds(&self) -> f64 {
        self.rows.last().map_or(0.0, |row| row.until.since(self.began).as_secs_f64())
    }

    /// The series that a page shows.
    pub fn timeline(&self) -> Timeline {
        let seconds = |at: Instant| at.since(self.began).as_secs_f64();
        let mut timeline = Timeline {
            from_s: self.rows.iter().map(|row| seconds(row.from)).collect(),
            until_s: self.rows.iter().map(|row| seconds(row.until)).collect(),
            series: BTreeMap::new(),
        };
        let at = |name: &str| self.entries.iter().position(|(entry, _)| entry == name);
        let known = |value: f64| value.is_finite().then_some(value);
        for (name, rule) in &self.entries {
            let is_shown = *rule != Rule::Last && (!name.contains("_way_") && !name.starts_with("waf"));
            if let Some(at) = at(name).filter(|_| is_shown) {
                let values = self.rows.iter().map(|row| known(row.values[at])).collect();
                timeline.series.insert(name.clone(), values);
            }
        }
        // Of counters, what a sample adds.
        let grown = |name: &str| -> Option<Vec<f64>> {
            let at = at(name)?;
            let before = std::iter::once(0.0).chain(self.rows.iter().map(|row| row.values[at]));
            Some(self.rows.iter().zip(before).map(|(row, before)| row.values[at] - before).collect())
        };
        for (name, counter) in [
            ("victims_per_second", "victims_total"),
            ("moved_units_per_second", "moved_units_total"),
            ("evicted_pages_per_second", "evicted_pages_total"),
        ] {
            let Some(grown) = grown(counter) else { continue };
            let rates = self.rows.iter().zip(grown);
            let rates = rates.map(|(row, grown)| known(grown / row.until.since(row.from).as_secs_f64()));
            timeline.series.insert(name.to_owned(), rates.collect());
        }
        if let (Some(programmed), Some(written)) =
            (grown("programmed_bytes_total"), grown("write_bytes_total"))
        {
            let waf = programmed.into_iter().zip(written);
            let waf = waf.map(|(programmed, written)| known(programmed / written)).collect();
            timeline.series.insert("waf".to_owned(), waf);
        }
        timeline
    }
}

/// Counts what garbage collection and evictions move.
#[derive(Default)]
pub struct Moves {
    victims: u64,
    moved: u64,
    evicted: u64,
}

impl MonitorModule for Moves {
    fn name(&self) -> &str {
        "moves"
    }
    fn entries(&self) -> Vec<TableEntry> {
        vec![
            TableEntry::total("victims", "blocks that garbage collection chose to empty"),
            TableEntry::total("moved_units", "mapping units that it moved"),
            TableEntry::total("evicted_pages", "pages that the data buffer evicted"),
        ]
    }
    fn event(&mut self, _: Instant, event: &Event) {
        match event {
            Event::VictimChosen { .. } => self.victims += 1,
            Event::PageMoved { .. } => self.moved += 1,
            Event::PageEvicted { .. } => self.evicted += 1,
            _ => {}
        }
    }
    fn sample(&mut self, _: Instant, _: Duration, entries: &mut [f64]) {
        for (entry, count) in entries.iter_mut().zip([self.victims, self.moved, self.evicted]) {
            *entry = count as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_has_as_many_samples_and_the_same_sums() {
        let entries = [
            TableEntry::new("outstanding_commands", ""),
            TableEntry::new("outstanding_commands_max", ""),
            TableEntry::total("victims", ""),
            TableEntry::total("programmed_bytes", ""),
            TableEntry::total("write_bytes", ""),
        ];
        let mut store = TimelineStore::new(Instant::from_picos(5));
        let mut from = Instant::from_picos(5);
        // Each interval is as long as all before it together make it: time doubles every 256 samples.
        const SAMPLES: u32 = 3_000;
        for n in 1..=SAMPLES {
            let until = from + store.interval();
            let (depth, written) = (f64::from(n % 7), f64::from(n / 2) * 100.0);
            let mean = if n % 5 == 0 { f64::NAN } else { depth };
            let values = [mean, depth, f64::from(n), written * 3.0, written];
            store.push(&entries, Sample { from, until, values: &values });
            from = until;
        }
        let timeline = store.timeline();
        let rows = timeline.from_s.len();
        assert!((SAMPLES_MAX / 2..SAMPLES_MAX).contains(&rows), "{rows}");
        assert!(timeline.from_s[1..].iter().zip(&timeline.until_s).all(|(next, end)| next == end));
        let of = |name: &str| &timeline.series[name];
        let over = |at: usize| timeline.until_s[at] - timeline.from_s[at];
        let victims: f64 = (0..rows).map(|at| of("victims_per_second")[at].unwrap() * over(at)).sum();
        assert!((victims - f64::from(SAMPLES)).abs() < 1e-6, "{victims}");
        assert!(of("waf").iter().flatten().all(|waf| (waf - 3.0).abs() < 1e-9));
        // The first samples are of many pushes.
        assert_eq!(of("outstanding_commands_max")[0], Some(6.0));
        assert!((of("outstanding_commands")[0].unwrap() - 3.0).abs() < 0.1);
        assert_eq!(store.last("victims_total"), Some(f64::from(SAMPLES)));
        assert!(!timeline.series.contains_key("victims_total"));
    }
}
