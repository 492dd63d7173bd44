//! The lines of an events file: what they are of, and how they are read again.

use aster_device::Profile;
use aster_events::{Event, EventKind};
use aster_units::{BlockAddr, Geometry, Instant, RowAddr};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::fmt;

/// What the first line of an events file is called in place of an event.
const SHAPE: &str = "DriveShape";

/// The array of a drive, as far as its events refer to it: the first line of an events file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DriveShape {
    /// The array that the firmware uses.
    pub geometry: Geometry,
    /// The array that the packages have, to which row addresses refer (C31).
    pub array: Geometry,
    /// What a logical page is in the events that map one.
    pub mapping_unit_bytes: u32,
}

impl DriveShape {
    /// The shape of the drives that `profile` makes.
    pub fn of(profile: &Profile) -> Self {
        let geometry = profile.used_geometry();
        let unit = match profile.ftl.mapping_unit_bytes {
            0 => geometry.page_bytes,
            bytes => bytes,
        };
        DriveShape { geometry, array: profile.array_geometry(), mapping_unit_bytes: unit }
    }

    /// The block, as the firmware counts, that a row of the packages lies in; `None` if the firmware doesn't
    /// use it.
    pub fn block_of(&self, row: RowAddr) -> Option<BlockAddr> {
        let (_, block, _) = self.array.split_row(row);
        let (there, used) = (u32::from(self.array.planes), u32::from(self.geometry.planes));
        let plane = block.0 % there;
        let block = block.0 / there * used + plane;
        (plane < used && block < self.geometry.blocks_per_lun).then_some(BlockAddr(block))
    }

    /// As the line of an events file.
    pub fn line(&self) -> String {
        let g = &self.geometry;
        format!(
            "{{\"at_ps\":0,\"event\":\"{SHAPE}\",\"channels\":{},\"ways\":{},\"luns\":{},\"planes\":{},\
             \"blocks_per_lun\":{},\"pages_per_block\":{},\"page_bytes\":{},\"spare_bytes\":{},\
             \"array_planes\":{},\"array_blocks_per_lun\":{},\"array_pages_per_block\":{},\
             \"mapping_unit_bytes\":{}}}\n",
            g.channels,
            g.ways,
            g.luns,
            g.planes,
            g.blocks_per_lun,
            g.pages_per_block,
            g.page_bytes,
            g.spare_bytes,
            self.array.planes,
            self.array.blocks_per_lun,
            self.array.pages_per_block,
            self.mapping_unit_bytes,
        )
    }

    fn read(raw: &RawLine<'_>) -> Result<Self, String> {
        fn field<T: TryFrom<u64>>(raw: &RawLine<'_>, name: &str) -> Result<T, String> {
            let value = raw.number(name).and_then(|value| T::try_from(value).ok());
            value.ok_or_else(|| format!("{SHAPE} has no usable \"{name}\""))
        }
        let geometry = Geometry {
            channels: field(raw, "channels")?,
            ways: field(raw, "ways")?,
            luns: field(raw, "luns")?,
            planes: field(raw, "planes")?,
            blocks_per_lun: field(raw, "blocks_per_lun")?,
            pages_per_block: field(raw, "pages_per_block")?,
            page_bytes: field(raw, "page_bytes")?,
            spare_bytes: field(raw, "spare_bytes")?,
        };
        let array = Geometry {
            planes: field(raw, "array_planes")?,
            blocks_per_lun: field(raw, "array_blocks_per_lun")?,
            pages_per_block: field(raw, "array_pages_per_block")?,
            ..geometry
        };
        for geometry in [geometry, array] {
            geometry.validate().map_err(|error| format!("{SHAPE}: {error}"))?;
        }
        if array.planes < geometry.planes {
            return Err(format!("{SHAPE}: array_planes must be {} or more", geometry.planes));
        }
        let mapping_unit_bytes = field(raw, "mapping_unit_bytes")?;
        if mapping_unit_bytes == 0 || !geometry.page_bytes.is_multiple_of(mapping_unit_bytes) {
            return Err(format!("{SHAPE}: mapping_unit_bytes doesn't divide page_bytes"));
        }
        Ok(DriveShape { geometry, array, mapping_unit_bytes })
    }

    /// Mapping units of a page.
    pub fn units_per_page(&self) -> u32 {
        self.geometry.page_bytes / self.mapping_unit_bytes
    }
}

/// A line of an events file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventLine {
    /// What the events are of.
    Shape(DriveShape),
    /// An event.
    Event {
        /// When it happened.
        at: Instant,
        /// The event.
        event: Event,
        /// The number in the work of the command whose slot it names.
        number: Option<u64>,
    },
}

impl EventLine {
    /// Reads a line.
    ///
    /// # Errors
    /// Words for people: what is wrong with it.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        let raw: RawLine<'_> = serde_json::from_slice(line).map_err(|error| {
            // The line is known to whoever says it, and is the only one there is.
            format!("is no event: {}", error.to_string().replace(" at line 1 column", " at column"))
        })?;
        let Some(name) = raw.event else { return Err("has no \"event\"".into()) };
        if name == SHAPE {
            return DriveShape::read(&raw).map(EventLine::Shape);
        }
        let Some(kind) = EventKind::of_name(name) else {
            return Err(format!("has an event \"{name}\" that this version doesn't know"));
        };
        let at = Instant::from_picos(raw.number("at_ps").ok_or("has no \"at_ps\"")?);
        let event = Event::of_fields(kind, |field| raw.number(field))
            .map_err(|field| format!("{name} has no usable \"{field}\""))?;
        Ok(EventLine::Event { at, event, number: raw.number("number") })
    }
}

/// Fields of an event, and those that lines add.
const FIELDS: usize = 20;

/// A line before it is known what it means.
#[derive(Default)]
struct RawLine<'a> {
    event: Option<&'a str>,
    numbers: [Option<(&'a str, u64)>; FIELDS],
}

impl RawLine<'_> {
    fn number(&self, name: &str) -> Option<u64> {
        self.numbers.iter().flatten().find(|field| field.0 == name).map(|field| field.1)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawLine<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = RawLine<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with an event's name and its fields")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawLine<'de>, A::Error> {
                let mut raw = RawLine::default();
                let mut count = 0;
                while let Some(name) = map.next_key::<&'de str>()? {
                    if name == "event" {
                        raw.event = Some(map.next_value()?);
                        continue;
                    }
                    let place =
                        raw.numbers.get_mut(count).ok_or_else(|| A::Error::custom("too many fields"))?;
                    *place = Some((name, map.next_value()?));
                    count += 1;
                }
                Ok(raw)
            }
        }
        from.deserialize_map(Fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape() -> DriveShape {
        let geometry = Geometry {
            channels: 2,
            ways: 2,
            luns: 1,
            planes: 1,
            blocks_per_lun: 8,
            pages_per_block: 16,
            page_bytes: 16_384,
            spare_bytes: 1024,
        };
        let array = Geometry { planes: 2, blocks_per_lun: 32, pages_per_block: 32, ..geometry };
        DriveShape { geometry, array, mapping_unit_bytes: 4096 }
    }

    #[test]
    fn a_shape_comes_back_from_its_line() {
        let line = shape().line();
        assert_eq!(EventLine::parse(line.trim_end().as_bytes()), Ok(EventLine::Shape(shape())));
        assert_eq!(shape().units_per_page(), 4);
    }

    #[test]
    fn a_row_is_of_the_block_that_the_firmware_counts() {
        // The firmware uses the first of two planes: every second block of the package.
        let row = |block| shape().array.row(0, BlockAddr(block), aster_units::PageInBlock(31));
        let blocks = [0, 1, 2, 14, 16].map(|block| shape().block_of(row(block)).map(|block| block.0));
        assert_eq!(blocks, [Some(0), None, Some(1), Some(7), None]);
    }

    #[test]
    fn an_event_comes_back_from_its_line() {
        let line =
            br#"{"at_ps":12,"work_ps":4,"event":"DoorbellWritten","queue":3,"completion":1,"value":7}"#;
        let event = Event::DoorbellWritten { queue: 3, completion: true, value: 7 };
        let at = Instant::from_picos(12);
        assert_eq!(EventLine::parse(line), Ok(EventLine::Event { at, event, number: None }));
        let line = br#"{"at_ps":13,"event":"CommandFinished","command":9,"number":2}"#;
        let event = Event::CommandFinished { command: 9 };
        let at = Instant::from_picos(13);
        assert_eq!(EventLine::parse(line), Ok(EventLine::Event { at, event, number: Some(2) }));
    }

    #[test]
    fn a_damaged_line_is_refused_in_words() {
        let shape = shape().line();
        let bad = [
            (r#"{"at_ps":12,"event":"Doorb"#, "is no event: EOF"),
            (r#"[1]"#, "is no event: invalid type"),
            (r#"{"at_ps":12}"#, "has no \"event\""),
            (r#"{"at_ps":1,"event":"Sneezed"}"#, "an event \"Sneezed\" that this version doesn't know"),
            (r#"{"event":"InterruptSent","vector":1}"#, "has no \"at_ps\""),
            (r#"{"at_ps":1,"event":"InterruptSent"}"#, "InterruptSent has no usable \"vector\""),
            (r#"{"at_ps":1,"event":"InterruptSent","vector":65536}"#, "no usable \"vector\""),
            (r#"{"at_ps":-1,"event":"InterruptSent","vector":1}"#, "invalid value"),
            (r#"{"at_ps":1.5,"event":"InterruptSent","vector":1}"#, "invalid type"),
            (&shape.replace("\"ways\":2", "\"ways\":0"), "DriveShape: ways must be from 1 to 16"),
            (&shape.replace("\"ways\":2", "\"ways\":256"), "DriveShape has no usable \"ways\""),
            (&shape.replace("\"mapping_unit_bytes\":4096", "\"mapping_unit_bytes\":5"), "doesn't divide"),
        ];
        for (line, wanted) in bad {
            let error = EventLine::parse(line.trim_end().as_bytes()).unwrap_err();
            assert!(error.contains(wanted), "{line}: {error}");
        }
        let many = (0..30).map(|n| format!(",\"f{n}\":{n}")).collect::<String>();
        let error = EventLine::parse(format!("{{\"event\":\"X\"{many}}}").as_bytes()).unwrap_err();
        assert!(error.contains("too many fields"), "{error}");
    }
}
