use aster_events::{Event, EventSink, Function};
use aster_units::{Duration, Instant};

/// How often and how long the cores worked on each function of the firmware.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FirmwareSpans([(u64, Duration); Function::COUNT]);

impl FirmwareSpans {
    /// How often the cores worked on a function.
    pub fn count(&self, function: Function) -> u64 {
        self.0[usize::from(function.number())].0
    }
    /// How long the cores worked on it, all together.
    pub fn time(&self, function: Function) -> Duration {
        self.0[usize::from(function.number())].1
    }
}

impl EventSink for FirmwareSpans {
    fn event(&mut self, _: Instant, event: &Event) {
        let Event::FirmwareWorked { function, picoseconds, .. } = *event else { return };
        if let Some((count, time)) = self.0.get_mut(usize::from(function)) {
            *count += 1;
            *time += Duration::from_picos(picoseconds);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_counted_and_summed_by_function() {
        let mut spans = FirmwareSpans::default();
        for (function, picoseconds) in
            [(Function::Issuer, 300), (Function::Polling, 20), (Function::Issuer, 500)]
        {
            let function = function.number();
            spans.event(Instant::ZERO, &Event::FirmwareWorked { core: 0, function, task: 1, picoseconds });
        }
        spans
            .event(Instant::ZERO, &Event::FirmwareWorked { core: 0, function: 200, task: 1, picoseconds: 9 });
        let of = |function| (spans.count(function), spans.time(function).as_picos());
        assert_eq!(
            [of(Function::Issuer), of(Function::Polling), of(Function::Recovery)],
            [(2, 800), (1, 20), (0, 0)]
        );
    }
}
