//! Where the controller is between reset and shutdown (NVMe 1.4 §7.3, §7.6).

/// Where the controller is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ControllerPhase {
    /// CSTS.RDY is 0.
    Disabled,
    /// CSTS.RDY is 1.
    Ready,
    /// CC.EN has fallen, but CSTS.RDY is still 1 because DMA is in flight.
    Resetting,
}

/// The shutdown that CC.SHN asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shutdown {
    Idle,
    /// The FTL is shutting down.
    Running,
    /// The FTL is still doing a shutdown that was requested before a reset. Another one must follow.
    Again,
}
