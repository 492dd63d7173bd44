//! Pieces of a drive that Python brings in place of Aster's, for a quick try.

use crate::answers::Raised;
use crate::arbiter::PythonArbiter;
use crate::placement::{self, PythonPlacement};
use crate::victims::{self, PythonVictims};
use aster_device::profile::Profile;
use aster_device::{MakeArbiter, Pieces};
use aster_lab::own::Setup;
use pyo3::prelude::*;
use std::rc::Rc;

/// The callables that take a piece's place.
#[derive(FromPyObject)]
pub(crate) struct OwnPieces {
    /// Which block is emptied next, in place of what `ftl.victims` says.
    victims: Option<Py<PyAny>>,
    /// Which LUN a logical page belongs to, in place of what `ftl.placement` says.
    placement: Option<Py<PyAny>>,
    /// Which transaction gets the channel next, in place of what `scheduler.transactions` says.
    arbiter: Option<Py<PyAny>>,
}

impl OwnPieces {
    /// `setup` with these pieces chosen by their names; `None` if a profile chooses none of them.
    pub(crate) fn chosen_in(&self, setup: &Setup) -> Option<Setup> {
        if self.victims.is_none() && self.placement.is_none() {
            return None;
        }
        let mut setup = setup.clone();
        let ftl = &mut setup.profile.ftl;
        if self.victims.is_some() {
            victims::NAME.clone_into(&mut ftl.victims);
        }
        if self.placement.is_some() {
            ftl.placement = Some(placement::NAME.to_owned());
            // An assigner beside a placement is refused.
            ftl.assigner = Default::default();
        }
        Some(setup)
    }

    /// The pieces for a drive of `profile`. What they raise is put into `raised`.
    pub(crate) fn pieces(&self, profile: &Profile, raised: &Raised) -> Pieces {
        let mut pieces = Pieces::default();
        if let Some(choose) = &self.victims {
            pieces = PythonVictims::put_into(pieces, choose, raised);
        }
        if let Some(order) = &self.placement {
            pieces = PythonPlacement::put_into(pieces, order, raised);
        }
        if let Some(grant) = &self.arbiter {
            let (grant, raised) = (Python::attach(|py| grant.clone_ref(py)), Rc::clone(raised));
            let geometry = profile.array_geometry();
            let make: MakeArbiter = Box::new(move |channel, _| {
                let grant = Python::attach(|py| grant.clone_ref(py));
                Box::new(PythonArbiter::new(grant, channel, geometry, Rc::clone(&raised)))
            });
            pieces.arbiter = Some(make);
        }
        pieces
    }
}
