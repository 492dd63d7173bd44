//! The sources of requests that a task may have.

use crate::trace::TraceError;
use crate::{Done, Generator, Request, Source, WrittenBlocks};
use alloc::boxed::Box;
use aster_units::Duration;
use core::convert::Infallible;

/// The sources that a task may have.
pub(super) enum AnySource {
    /// A job.
    Plan(Box<Generator>),
    /// A trace, or another source that may fail.
    Trace(Box<dyn Source<Error = TraceError>>),
    /// One that hears of completions.
    Live(Box<dyn Source<Error = Infallible>>),
    /// What a job wrote, to be checked.
    ReadBack(Box<WrittenBlocks>),
}

impl Source for AnySource {
    type Error = TraceError;

    fn next_request(&mut self) -> Result<Option<Request>, TraceError> {
        self.next_request_at(Duration::ZERO)
    }

    #[inline]
    fn next_request_at(&mut self, elapsed: Duration) -> Result<Option<Request>, TraceError> {
        match self {
            AnySource::Plan(generator) => {
                let Ok(next) = generator.next_request_at(elapsed);
                Ok(next)
            }
            AnySource::Trace(trace) => trace.next_request_at(elapsed),
            AnySource::Live(source) => {
                let Ok(next) = source.next_request_at(elapsed);
                Ok(next)
            }
            AnySource::ReadBack(written) => {
                let Ok(next) = written.next_request();
                Ok(next)
            }
        }
    }

    fn is_over(&self) -> bool {
        match self {
            AnySource::Live(source) => source.is_over(),
            _ => true,
        }
    }

    #[inline]
    fn completed(&mut self, done: &Done) {
        if let AnySource::Live(source) = self {
            source.completed(done);
        }
    }

    fn closing_request(&mut self) -> Option<Request> {
        match self {
            AnySource::Plan(generator) => generator.closing_request(),
            AnySource::Trace(trace) => trace.closing_request(),
            AnySource::Live(source) => source.closing_request(),
            AnySource::ReadBack(written) => written.closing_request(),
        }
    }
}
