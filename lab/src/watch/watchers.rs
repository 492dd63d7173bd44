//! All listeners of one run.

use super::commands::{CommandSink, CommandTable};
use super::error::WatchError;
use super::events::EventFile;
use super::follow::Followers;
use super::gather::Gatherer;
use super::lines::DriveShape;
use super::monitor::{MonitorFile, MonitorSamples, SampleTable};
use super::spans::{SpanReport, SpanSink};
use super::wave::WaveFile;
use super::window::{WindowOptions, WorkWindow};
use crate::explain::{Explanation, Which};
use crate::page::Gathered;
use crate::warning::Warning;
use aster_events::Recorder;
use aster_observe::monitor::ShippedModule;
use aster_run_virtual::Machine;
use aster_units::Duration;
use std::cell::Cell;
use std::path::PathBuf;

/// Which listeners a run has. By default none.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// The ONFI waveforms of the work's first READ, PROGRAM and ERASE: VCD, or a picture when it ends in
    /// `.svg`.
    pub wave: Option<PathBuf>,
    /// Every event from power-on, one JSON object per line.
    pub events: Option<PathBuf>,
    /// What the first line of that file tells; none if nobody needs it.
    pub shape: Option<DriveShape>,
    /// The work's commands, for ui.perfetto.dev.
    pub perfetto: Option<PathBuf>,
    /// The operation monitor's samples of the work.
    pub monitor: Option<MonitorWatch>,
    /// The same in memory.
    pub samples: Option<SampleWatch>,
    /// The work's commands as a table in memory.
    pub commands: bool,
    /// Where the work's commands spent their time.
    pub spans: bool,
    /// The history of one command.
    pub explain: Option<Which>,
    /// What a page shows beside the report.
    pub page: bool,
    /// The part of the run for events, Perfetto's trace and explanations.
    pub part: WindowOptions,
}

/// The operation monitor's samples in a file: a table when it ends in `.csv`, else JSON lines.
#[derive(Clone, Debug)]
pub struct MonitorWatch {
    /// The file.
    pub path: PathBuf,
    /// The modules that sample, in their order.
    pub modules: Vec<ShippedModule>,
    /// An entry for each way, too.
    pub each_way: bool,
    /// Simulated time from sample to sample.
    pub interval: Duration,
}

/// The operation monitor's samples in memory.
#[derive(Clone, Debug)]
pub struct SampleWatch {
    /// The modules that sample, in their order.
    pub modules: Vec<ShippedModule>,
    /// An entry for each way, too.
    pub each_way: bool,
    /// Simulated time from sample to sample.
    pub interval: Duration,
}

/// All listeners of one run. Their files are created with it.
pub struct Watchers {
    wave: Option<WaveFile>,
    events: Option<EventFile>,
    spans: Option<SpanSink>,
    monitor: Option<(MonitorFile, Duration)>,
    samples: Option<(MonitorSamples, Duration)>,
    commands: Option<CommandSink>,
    followers: Followers,
    gatherer: Option<Gatherer>,
    window: WorkWindow,
    recorder: Recorder,
    hook: Cell<Option<Hook>>,
}

/// Called with the machine when the work begins.
type Hook = Box<dyn FnOnce(&Machine)>;

/// The listeners' results.
#[derive(Default)]
pub struct Heard {
    /// Where the work's commands spent their time, if requested.
    pub spans: Option<SpanReport>,
    /// The histories of the requested commands, as far as there were such; the slowest first.
    pub explanations: Vec<Explanation>,
    /// What a page shows beside the report, if requested.
    pub gathered: Option<Gathered>,
    /// The operation monitor's samples, if requested.
    pub samples: Option<SampleTable>,
    /// The work's commands, if requested.
    pub commands: Option<CommandTable>,
    /// Notes about it.
    pub notes: Vec<Warning>,
}

impl Watchers {
    /// Makes the files that `watch` names.
    ///
    /// # Errors
    /// The first that can't be made.
    pub fn new(watch: &Watch) -> Result<Self, WatchError> {
        let recorder = Recorder::default();
        let wave = watch.wave.as_deref().map(WaveFile::create).transpose()?;
        let window = WorkWindow::new(watch.part);
        let event_file = |path| EventFile::create(path, watch.shape.as_ref(), &recorder, &window);
        let events = watch.events.as_deref().map(event_file).transpose()?;
        let spans = watch.spans.then(SpanSink::default);
        let monitor_file = |of: &MonitorWatch| {
            Ok::<_, WatchError>((MonitorFile::create(&of.path, &of.modules, of.each_way)?, of.interval))
        };
        let monitor = watch.monitor.as_ref().map(monitor_file).transpose()?;
        let samples =
            watch.samples.as_ref().map(|of| (MonitorSamples::new(&of.modules, of.each_way), of.interval));
        let commands = watch.commands.then(|| CommandSink::new(&window));
        let followers = Followers::new(watch.perfetto.as_deref(), watch.explain, &window)?;
        let gatherer = watch.page.then(Gatherer::default);
        Ok(Watchers {
            wave,
            events,
            spans,
            monitor,
            samples,
            commands,
            followers,
            gatherer,
            window,
            recorder,
            hook: Cell::default(),
        })
    }

    /// Calls `hook` with the machine when the work begins: listeners that it adds ([`add`](super::add)),
    /// such as an operation monitor with custom modules, also receive the work's events.
    #[must_use]
    pub fn at_work(self, hook: impl FnOnce(&Machine) + 'static) -> Self {
        self.hook.set(Some(Box::new(hook)));
        self
    }

    /// Where the drive's events have to go.
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Listens to `machine`, whose I/O queues have not been used yet.
    pub fn booted(&self, machine: &Machine) {
        self.followers.attach(machine);
        if let Some(gatherer) = &self.gatherer {
            gatherer.attach(machine);
        }
        if let Some(events) = &self.events {
            events.attach(machine);
        }
        if let Some(spans) = &self.spans {
            spans.attach(machine);
        }
        if let Some(commands) = &self.commands {
            commands.attach(machine);
        }
    }

    /// The work begins.
    pub fn work_begins(&self, machine: &Machine) {
        self.window.begin(machine.now());
        self.followers.begin(machine.now());
        if let Some(gatherer) = &self.gatherer {
            gatherer.begin(machine);
        }
        if let Some((monitor, interval)) = &self.monitor {
            monitor.attach(machine, *interval);
        }
        if let Some((samples, interval)) = &self.samples {
            samples.attach(machine, *interval);
        }
        if let Some(spans) = &self.spans {
            spans.begin(machine);
        }
        if let Some(wave) = &self.wave {
            wave.attach(machine);
        }
        if let Some(hook) = self.hook.take() {
            hook(machine);
        }
    }

    /// To be called now and then while the work goes on.
    pub fn drop_complete_taps(&self) {
        if let Some(wave) = &self.wave {
            wave.drop_taps_when_complete();
        }
    }

    /// The work has ended; `shut_down` shuts down the machine, which only the events' file covers. A file
    /// that can't be written doesn't affect the others.
    pub fn finish<E: From<WatchError>>(
        self,
        machine: Machine,
        shut_down: impl FnOnce(Machine) -> Result<(), E>,
    ) -> (Heard, Vec<E>) {
        let spans = self.spans.map(|spans| spans.report(&machine));
        let empty = self.window.end(machine.now());
        let commands = self.commands.map(|commands| commands.take());
        let samples = self.samples.map(|(samples, _)| samples.finish(&machine));
        let (explanations, followed) = self.followers.finish(&machine);
        let gathered = self.gatherer.and_then(|gatherer| gatherer.finish(&machine));
        let monitored = self.monitor.map_or(Ok(()), |(monitor, _)| monitor.finish(&machine));
        let (note, drawn) = match self.wave.map(WaveFile::finish) {
            Some(Ok(note)) => (note, Ok(())),
            Some(Err(error)) => (None, Err(error)),
            None => (None, Ok(())),
        };
        let ended = shut_down(machine);
        let told = self.events.map_or(Ok(()), EventFile::finish);
        let files = [followed, monitored, drawn, told].into_iter().filter_map(Result::err).map(E::from);
        let problems = ended.err().into_iter().chain(files).collect();
        let note = note.map(|words| Warning::new("waveform-empty", words));
        let notes = note.into_iter().chain(empty).collect();
        (Heard { spans, explanations, gathered, samples, commands, notes }, problems)
    }
}
