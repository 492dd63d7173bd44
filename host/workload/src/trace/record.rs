use crate::RequestKind;

/// The content of a line of a trace.
#[derive(Clone, Debug)]
pub(super) enum Line<'a> {
    /// No request.
    Nothing,
    /// A request.
    Request(TraceRecord<'a>),
}

/// A request as it was recorded, before it is fitted to the drive.
#[derive(Clone, Debug)]
pub(super) struct TraceRecord<'a> {
    pub(super) kind: RequestKind,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) fua: bool,
    /// The request asks for a flush before its own work.
    pub(super) flush_before: bool,
    /// The request's time, in the format's own unit and from its own beginning.
    pub(super) ticks: u64,
    /// Position of the time in the line, in bytes.
    pub(super) time_place: usize,
    /// The device as the format names it.
    pub(super) device: &'a str,
    /// Position in the line, in bytes, that errors about offset and length report.
    pub(super) place: usize,
}
