//! How a read of a BAR is answered.

/// Names a read that is answered later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadTag(pub u32);

/// What becomes of a read of a BAR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarRead {
    /// It is answered by this value.
    Now(u64),
    /// It is answered when whoever serves it has had the time to.
    Later(ReadTag),
}
