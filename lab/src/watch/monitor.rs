//! The operation monitor's samples as a file.

use super::error::{WatchError, create};
use aster_device::{Device, ThermalStats};
use aster_events::{Event, EventSink};
use aster_observe::monitor::{OperationMonitor, Sample, ShippedModule, TableEntry};
use aster_run_virtual::Machine;
use aster_units::{Duration, Instant};
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Inserts modules for `device`.
pub fn insert<F: FnMut(&[TableEntry], Sample<'_>)>(
    monitor: &mut OperationMonitor<F>,
    at: Instant,
    modules: &[ShippedModule],
    device: &Device,
    each_way: bool,
) {
    let counters = device.counters();
    for module in modules {
        let module = module.build_with(device.geometry(), device.firmware(), &counters, each_way);
        monitor.insert(at, module).expect("modules that come along have names of their own");
    }
    // The latest reading may stay the latest one for long.
    if let Some(ThermalStats { kelvins, is_throttled: throttled, .. }) = device.temperature() {
        monitor.event(at, &Event::TemperatureRead { kelvins, throttled });
    }
}

/// How samples are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Format {
    Csv,
    JsonLines,
}

/// Writes samples to a file, until the first error.
struct Output<W: Write> {
    into: W,
    format: Format,
    headed: bool,
    /// When the work began: times count from there.
    begin: Instant,
    error: Option<io::Error>,
}

impl<W: Write> Output<W> {
    fn new(into: W, format: Format) -> Self {
        Output { into, format, headed: false, begin: Instant::ZERO, error: None }
    }
    fn sample(&mut self, entries: &[TableEntry], sample: Sample<'_>) {
        if self.error.is_none() {
            self.error = self.write(entries, sample).err();
        }
    }
    fn write(&mut self, entries: &[TableEntry], sample: Sample<'_>) -> io::Result<()> {
        if !self.headed && self.format == Format::Csv {
            let names: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
            writeln!(self.into, "from_us,until_us,since_power_on_us,{}", names.join(","))?;
        }
        self.headed = true;
        match self.format {
            Format::Csv => {
                let (from, until) = (self.micros(sample.from), self.micros(sample.until));
                write!(self.into, "{from},{until},{}", micros(sample.until))?;
                for value in sample.values {
                    match value.is_nan() {
                        true => self.into.write_all(b",")?,
                        false => write!(self.into, ",{value}")?,
                    }
                }
                self.into.write_all(b"\n")
            }
            Format::JsonLines => {
                let mut object = object(entries, sample);
                object.insert("from_us".to_owned(), self.micros(sample.from).into());
                object.insert("until_us".to_owned(), self.micros(sample.until).into());
                object.insert("since_power_on_us".to_owned(), micros(sample.until).into());
                serde_json::to_writer(&mut self.into, &object).map_err(io::Error::from)?;
                self.into.write_all(b"\n")
            }
        }
    }
    /// Samples from the beginning of the work.
    fn micros(&self, at: Instant) -> f64 {
        at.since(self.begin).as_micros_f64()
    }
    fn end(&mut self) -> io::Result<()> {
        match self.error.take() {
            Some(error) => Err(error),
            None => self.into.flush(),
        }
    }
}

fn micros(at: Instant) -> f64 {
    at.since(Instant::ZERO).as_micros_f64()
}

/// A sample by the entries' names. Numbers that are none become `null`.
pub fn object(entries: &[TableEntry], sample: Sample<'_>) -> Map<String, Value> {
    let times = [("from_us", micros(sample.from)), ("until_us", micros(sample.until))];
    let times = times.into_iter().map(|(name, value)| (name.to_owned(), value.into()));
    let values =
        entries.iter().zip(sample.values).map(|(entry, value)| (entry.name.clone(), Value::from(*value)));
    times.chain(values).collect()
}

/// Ends a monitor with the work, independently of its function type.
pub(super) trait Finish: EventSink {
    fn finish(&mut self, at: Instant);
}

impl<F: FnMut(&[TableEntry], Sample<'_>)> Finish for OperationMonitor<F> {
    fn finish(&mut self, at: Instant) {
        self.sample_now(at);
    }
}

/// A sink that can be ended while it is attached.
#[derive(Clone)]
pub(super) struct Until(pub(super) Rc<RefCell<Option<Box<dyn Finish>>>>);

impl EventSink for Until {
    fn event(&mut self, at: Instant, event: &Event) {
        if let Some(monitor) = self.0.borrow_mut().as_mut() {
            monitor.event(at, event);
        }
    }
}

/// A monitor that listens to a machine.
struct Monitoring {
    modules: Vec<ShippedModule>,
    each_way: bool,
    monitor: Rc<RefCell<Option<Box<dyn Finish>>>>,
}

impl Monitoring {
    fn new(modules: &[ShippedModule], each_way: bool) -> Self {
        Monitoring { modules: modules.to_vec(), each_way, monitor: Rc::default() }
    }

    /// Listens to `machine` from now on, beside existing listeners, and passes each sample to `each`.
    fn attach(
        &self,
        machine: &Machine,
        interval: Duration,
        each: impl FnMut(&[TableEntry], Sample<'_>) + 'static,
    ) {
        let mut monitor = OperationMonitor::new(interval, machine.now(), each);
        insert(&mut monitor, machine.now(), &self.modules, machine.device(), self.each_way);
        *self.monitor.borrow_mut() = Some(Box::new(monitor));
        machine.device().listen(Until(Rc::clone(&self.monitor)));
    }

    /// The work has ended.
    fn finish(&self, machine: &Machine) {
        if let Some(mut monitor) = self.monitor.borrow_mut().take() {
            monitor.finish(machine.now());
        }
    }
}

/// The file of the operation monitor.
pub struct MonitorFile {
    path: PathBuf,
    output: Rc<RefCell<Output<BufWriter<File>>>>,
    monitoring: Monitoring,
}

impl MonitorFile {
    /// Makes the file at `path`, for the entries of these modules.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn create(path: &Path, modules: &[ShippedModule], each_way: bool) -> Result<Self, WatchError> {
        let is_csv = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
        let format = if is_csv { Format::Csv } else { Format::JsonLines };
        let output = Rc::new(RefCell::new(Output::new(create(path)?, format)));
        Ok(MonitorFile { path: path.to_owned(), output, monitoring: Monitoring::new(modules, each_way) })
    }

    /// Listens to `machine` from now on, beside existing listeners.
    pub fn attach(&self, machine: &Machine, interval: Duration) {
        let output = Rc::clone(&self.output);
        self.output.borrow_mut().begin = machine.now();
        let each =
            move |entries: &[TableEntry], sample: Sample<'_>| output.borrow_mut().sample(entries, sample);
        self.monitoring.attach(machine, interval, each);
    }

    /// The work has ended: writes the rest.
    ///
    /// # Errors
    /// The first error since the file was made.
    pub fn finish(self, machine: &Machine) -> Result<(), WatchError> {
        self.monitoring.finish(machine);
        let ended = self.output.borrow_mut().end();
        ended.map_err(|error| WatchError::write(&self.path, error))
    }
}

/// The operation monitor's samples in memory: columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SampleTable {
    /// When a sample begins, in microseconds from the beginning of the work.
    pub from_us: Vec<f64>,
    /// When it ends.
    pub until_us: Vec<f64>,
    /// The entries' names, with their values; NaN where an entry has none.
    pub entries: Vec<(String, Vec<f64>)>,
}

impl SampleTable {
    fn push(&mut self, begin: Instant, entries: &[TableEntry], sample: Sample<'_>) {
        if self.entries.is_empty() {
            self.entries = entries.iter().map(|entry| (entry.name.clone(), Vec::new())).collect();
        }
        self.from_us.push(sample.from.since(begin).as_micros_f64());
        self.until_us.push(sample.until.since(begin).as_micros_f64());
        for ((_, column), value) in self.entries.iter_mut().zip(sample.values) {
            column.push(*value);
        }
    }
}

/// Keeps the operation monitor's samples in memory.
pub(super) struct MonitorSamples {
    table: Rc<RefCell<SampleTable>>,
    monitoring: Monitoring,
}

impl MonitorSamples {
    pub(super) fn new(modules: &[ShippedModule], each_way: bool) -> Self {
        MonitorSamples { table: Rc::default(), monitoring: Monitoring::new(modules, each_way) }
    }

    /// Listens to `machine` from now on, beside existing listeners.
    pub(super) fn attach(&self, machine: &Machine, interval: Duration) {
        let (table, begin) = (Rc::clone(&self.table), machine.now());
        self.monitoring.attach(machine, interval, move |entries, sample| {
            table.borrow_mut().push(begin, entries, sample);
        });
    }

    /// The work has ended.
    pub(super) fn finish(self, machine: &Machine) -> SampleTable {
        self.monitoring.finish(machine);
        self.table.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: Format) -> String {
        let entries = [TableEntry::new("waf", ""), TableEntry::new("active_ways", "")];
        let mut output = Output::new(Vec::new(), format);
        for values in [[f64::NAN, 1.5], [2.0, 0.0]] {
            output.begin = Instant::from_picos(10_000_000);
            let (from, until) = (Instant::from_picos(11_000_000), Instant::from_picos(12_500_000));
            output.sample(&entries, Sample { from, until, values: &values });
        }
        output.end().unwrap();
        String::from_utf8(output.into).unwrap()
    }

    #[test]
    fn a_table_has_a_head_and_leaves_empty_what_there_is_nothing_to_say_about() {
        assert_eq!(
            written(Format::Csv),
            "from_us,until_us,since_power_on_us,waf,active_ways\n1,2.5,12.5,,1.5\n1,2.5,12.5,2,0\n"
        );
    }

    #[test]
    fn json_lines_name_every_value() {
        let text = written(Format::JsonLines);
        let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(
            (&first["until_us"], &first["waf"], &first["active_ways"]),
            (&2.5.into(), &Value::Null, &1.5.into())
        );
        assert_eq!((&first["from_us"], &first["since_power_on_us"]), (&1.0.into(), &12.5.into()));
        assert_eq!(text.lines().count(), 2);
    }
}
