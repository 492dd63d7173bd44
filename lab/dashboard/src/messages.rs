//! What a browser and the server tell each other over the WebSocket, as JSON.

use crate::frame::{About, BlockCells, Frame};
use aster_lab::explain::Explanation;
use serde::{Deserialize, Serialize};

/// What a browser sends.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum FromBrowser {
    Play,
    Pause,
    Speed { us_per_second: f64 },
    Seek { at_us: f64 },
    StepEvent,
    StepCommand,
    Explain { id: u64 },
}

impl FromBrowser {
    /// Reads a message.
    ///
    /// # Errors
    /// Words for people.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let asked = serde_json::from_str(text).map_err(|error| format!("this is no question: {error}"))?;
        match asked {
            FromBrowser::Speed { us_per_second: n } if !(1e-6..=1e9).contains(&n) => {
                Err("us_per_second must be from 0.000001 to 1000000000".into())
            }
            FromBrowser::Seek { at_us: n } if !(0.0..=1e13).contains(&n) => {
                Err("at_us must be from 0 to 10000000000000".into())
            }
            asked => Ok(asked),
        }
    }
    /// Whether it moves time, which only a recording lets be done.
    pub(crate) fn moves_time(self) -> bool {
        !matches!(self, FromBrowser::Explain { .. })
    }
}

/// What a browser gets.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToBrowser<'a> {
    About(&'a About),
    Frame(&'a Frame),
    Blocks(&'a BlockCells),
    Explanation { id: u64, life: &'a Explanation },
    Error(&'a str),
}

impl ToBrowser<'_> {
    pub(crate) fn text(&self) -> String {
        serde_json::to_string(self).expect("numbers and text")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_read_and_others_refused_in_words() {
        assert_eq!(FromBrowser::parse(r#"{"ask":"play"}"#), Ok(FromBrowser::Play));
        let seek = FromBrowser::parse(r#"{"ask":"seek","at_us":2.5}"#);
        assert_eq!(seek, Ok(FromBrowser::Seek { at_us: 2.5 }));
        for text in [
            "",
            "play",
            "[]",
            "{}",
            r#"{"ask":"sneeze"}"#,
            r#"{"ask":"seek"}"#,
            r#"{"ask":"seek","at_us":-1}"#,
            r#"{"ask":"seek","at_us":1e300}"#,
            r#"{"ask":"seek","at_us":null}"#,
            r#"{"ask":"speed","us_per_second":0}"#,
            r#"{"ask":"explain","id":-3}"#,
            r#"{"ask":"explain","id":3,"and":1}"#,
            &"[".repeat(4000),
        ] {
            let error = FromBrowser::parse(text).unwrap_err();
            assert!(error.contains("no question") || error.contains("must be from"), "{text}: {error}");
        }
    }
}
