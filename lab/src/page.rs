//! A run's report as a page to look at: one file of HTML that needs no network.
//!
//! [`Gathered`] is what a run's listeners add to its report; [`page`] puts both into a page, whose script
//! draws them with uPlot.

mod blocks;
mod lives;
mod timeline;

pub use blocks::{BlockMaps, block_maps};
pub use lives::{Lived, OverTime, OverTimeReport};
pub use timeline::{Moves, Timeline, TimelineStore};

use crate::explain::Explanation;
use crate::report::RunReport;
use serde::Serialize;

/// Steps of one of them; the shortest of more are left out.
const STEPS_MAX: usize = 300;

/// uPlot, which draws curves.
pub const UPLOT: &str = include_str!("page/uplot.iife.min.js");
/// Its style sheet.
pub const UPLOT_STYLE: &str = include_str!("page/uplot.min.css");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");
const BODY: &str = include_str!("page/page.html");

/// What a run's listeners have gathered for its page.
#[derive(Clone, Debug, Serialize)]
pub struct Gathered {
    /// Rates and shares over time.
    pub timeline: Timeline,
    /// Latencies of commands over time, by kind.
    pub latencies: Vec<OverTimeReport>,
    /// Share of the work in which an array behind each way worked, by channel.
    pub ways: Vec<Vec<f64>>,
    /// What the blocks hold and how worn they are, at the end.
    pub blocks: BlockMaps,
    /// The slowest commands, slowest first.
    pub slowest: Vec<Explanation>,
}

impl Gathered {
    /// The same, with as many steps of a command as a page shows.
    #[must_use]
    pub fn abridged(mut self) -> Self {
        self.slowest.iter_mut().for_each(abridge);
        self
    }
}

/// Leaves the shortest steps out where there are many.
fn abridge(of: &mut Explanation) {
    if of.steps.len() <= STEPS_MAX {
        return;
    }
    let mut lengths: Vec<f64> = of.steps.iter().map(|step| step.took_us).collect();
    lengths.sort_unstable_by(|a, b| b.total_cmp(a));
    let shortest = lengths[STEPS_MAX - 1];
    let (all, mut room) = (of.steps.len(), STEPS_MAX);
    of.steps.retain(|step| {
        let stays = step.took_us >= shortest && room > 0;
        room -= usize::from(stays);
        stays
    });
    of.left_out += (all - of.steps.len()) as u64;
}

/// All that the page's script gets.
#[derive(Serialize)]
struct Data<'a> {
    report: &'a RunReport,
    gathered: &'a Gathered,
}

/// The page of a run. `title` is its heading.
pub fn page(title: &str, report: &RunReport, gathered: &Gathered) -> String {
    let data = serde_json::to_string(&Data { report, gathered }).expect("numbers and text");
    // Nothing in it can end the script element, or begin a comment in it.
    let data = data.replace('<', "\\u003c");
    let parts = [
        ("@TITLE@", escaped(title)),
        ("@STYLE@", format!("{UPLOT_STYLE}\n{STYLE}")),
        ("@UPLOT@", UPLOT.to_owned()),
        ("@DATA@", data),
        ("@SCRIPT@", SCRIPT.to_owned()),
    ];
    filled(BODY, &parts)
}

/// Text with each mark replaced once; what is put in isn't looked at.
fn filled(text: &str, parts: &[(&str, String)]) -> String {
    let mut out = String::with_capacity(text.len() + parts.iter().map(|(_, of)| of.len()).sum::<usize>());
    let mut rest = text;
    while let Some((at, mark, part)) =
        parts.iter().filter_map(|(mark, part)| Some((rest.find(mark)?, mark, part))).min_by_key(|of| of.0)
    {
        out.push_str(&rest[..at]);
        out.push_str(part);
        rest = &rest[at + mark.len()..];
    }
    out.push_str(rest);
    out
}

/// Text that is no markup.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::ExplainedStep;

    #[test]
    fn what_is_put_in_is_not_looked_at() {
        let parts = [("@A@", "1 @B@".to_owned()), ("@B@", "2".to_owned())];
        assert_eq!(filled("<@A@|@B@>", &parts), "<1 @B@|2>");
        assert_eq!(escaped("<b>&\"x\""), "&lt;b&gt;&amp;&quot;x&quot;");
        for mark in ["@TITLE@", "@STYLE@", "@UPLOT@", "@DATA@", "@SCRIPT@"] {
            assert_eq!(BODY.matches(mark).count(), if mark == "@TITLE@" { 2 } else { 1 }, "{mark}");
        }
        // A script that ends its own element would be no script.
        assert!(!SCRIPT.contains("</script") && !UPLOT.contains("</script"));
        let fetches = ["http-equiv", "src=", "@import", "<link"];
        assert!(fetches.iter().all(|of| !BODY.contains(of) && !STYLE.contains(of)), "one file, no network");
    }

    #[test]
    fn of_many_steps_the_longest_stay_in_their_order() {
        let step = |n: u32| ExplainedStep {
            at_us: f64::from(n),
            took_us: f64::from(n % 10),
            depth: 0,
            what: String::new(),
            transfers: 1,
        };
        let mut long = Explanation {
            command: 1,
            name: String::new(),
            queue: 1,
            host_id: 0,
            offset: 0,
            length: 0,
            status: 0,
            began_us: 0.0,
            began_since_power_on_us: 0.0,
            total_us: 0.0,
            steps: (0..1000).map(step).collect(),
            shares: Vec::new(),
            left_out: 5,
        };
        abridge(&mut long);
        assert_eq!((long.steps.len(), long.left_out), (STEPS_MAX, 705));
        assert!(long.steps.iter().all(|step| step.took_us >= 7.0));
        assert!(long.steps.is_sorted_by(|a, b| a.at_us <= b.at_us));
    }
}
