//! The part of a run that goes into `--events`, `--perfetto` and explanations.

use aster_lab::asked::failure::Failure;
use aster_lab::watch::WindowOptions;
use aster_units::Duration;
use clap::Args;

/// The most commands for `--slowest`.
const SLOWEST_MAX: i64 = 1000;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "A part of --events, --perfetto and explain")]
pub(crate) struct WindowArgs {
    /// Nothing before this simulated time of the work, such as 250us, 10ms or 1.5s
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) from: Option<Duration>,
    /// Nothing from this simulated time of the work on
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) until: Option<Duration>,
    /// Of --events and --perfetto, only what was done for the N slowest commands, of those that begin in that
    /// time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=SLOWEST_MAX))]
    pub(crate) slowest: Option<u32>,
}

impl WindowArgs {
    /// Checks that the window isn't empty, and that an output uses it.
    ///
    /// # Errors
    /// Names the option without effect.
    pub(crate) fn check(&self, to_files: bool, explains_any: bool) -> Result<(), Failure> {
        if let (Some(from), Some(until)) = (self.from, self.until)
            && until <= from
        {
            return Err(Failure::usage(format!(
                "--until {until} is not after --from {from}: nothing is between"
            )));
        }
        if self.slowest.is_some() && !to_files {
            return Err(Failure::usage(
                "--slowest chooses what goes into --events and --perfetto: name one of them",
            ));
        }
        let option = if self.from.is_some() { Some("--from") } else { self.until.map(|_| "--until") };
        match option {
            Some(option) if !to_files && !explains_any => Err(Failure::usage(format!(
                "{option} chooses what goes into --events and --perfetto, and what command `aster explain` \
                 may explain \
                 without --command: here it means nothing"
            ))),
            _ => Ok(()),
        }
    }

    /// The part.
    pub(crate) fn part(&self) -> WindowOptions {
        WindowOptions { from: self.from, until: self.until, slowest: self.slowest.map(|n| n as usize) }
    }
}

/// Takes a time with its unit apart.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let expected =
        || "expected a time with its unit, such as 250us, 10ms or 1.5s (ns, us, ms, s, m, h)".to_owned();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let nanos = match unit.trim_start() {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        "h" => 3600e9,
        _ => return Err(expected()),
    };
    match number.parse::<f64>() {
        Ok(number) if number * nanos <= 1e9 * 86_400.0 * 50.0 => Ok(Duration::from_nanos_f64(number * nanos)),
        Ok(_) => Err("expected 50 days at most".into()),
        Err(_) => Err(expected()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit() {
        assert_eq!(time("250us"), Ok(Duration::from_micros(250)));
        assert_eq!(time("1.5 s"), Ok(Duration::from_millis(1500)));
        assert_eq!((time("2m"), time("1.5h")), (Ok(Duration::from_secs(120)), Ok(Duration::from_secs(5400))));
        assert_eq!(time("0ms"), Ok(Duration::ZERO));
        for refused in ["", "5", "ms", "-1ms", "1e3ms", "1.2.3s", "5 hours", "NaNs", "99999999s"] {
            assert!(time(refused).is_err(), "{refused}");
        }
    }
}
