//! Where the controller is between reset and shutdown (NVMe 1.4 §7.3, §7.6).

/// Where the controller is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ControllerPhase {
    /// CSTS.RDY is 0.
    Disabled,
    /// CSTS.RDY is 1.
    Ready,
    /// CC.EN has fallen and CSTS.RDY not yet: DMA is in flight.
    Resetting,
}

/// The shutdown that CC.SHN asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shutdown {
    Idle,
    /// The FTL is at it.
    Running,
    /// The FTL is at one that was asked for before a reset; another must follow.
    Again,
}
