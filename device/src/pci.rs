//! The PCIe function between the host's register accesses and the front end.

use crate::arrivals::{Arrivals, Write};
use crate::host_link::HostLink;
use aster_board::{PciFunction, TlpLink};
use aster_exec::Exec;
use aster_parties::FrontEnd;
use aster_units::Duration;
use std::cell::RefCell;
use std::rc::Rc;

/// Is told of the host's writes to BARs.
pub(crate) type First = Box<dyn Fn(&Write)>;

/// Delivers the host's writes to BARs one link latency after they were sent, to the front end or to the
/// MSI-X table. `first` is told of each before.
pub(crate) fn start_arrivals(
    exec: &Exec,
    pci: &Rc<RefCell<PciFunction>>,
    front: &Rc<dyn FrontEnd>,
    link: &Rc<HostLink>,
    first: Option<First>,
) -> Rc<Arrivals> {
    let (function, target, messages) = (Rc::clone(pci), Rc::clone(front), Rc::clone(link));
    let deliver = Box::new(move |w: Write| {
        let is_own = {
            let function = function.borrow();
            if !function.answers_memory() {
                return;
            }
            function.claims(w.bar, w.offset)
        };
        if let Some(first) = &first {
            first(&w);
        }
        if !is_own {
            return target.write(w.bar, w.offset, w.size, w.value);
        }
        function.borrow_mut().bar_write(w.bar, w.offset, w.size, w.value);
        send_released(&function, &messages);
    });
    Arrivals::start(exec, link.latency(), deliver)
}

/// Has the host's accesses to BARs cross the link as packets. What is left to do here is to send each write
/// when its host does: `first` is told of it before.
pub(crate) fn start_packets(
    exec: &Exec,
    pci: &Rc<RefCell<PciFunction>>,
    link: &Rc<TlpLink>,
    first: Option<First>,
) -> Rc<Arrivals> {
    link.serve(pci);
    let link = Rc::clone(link);
    let send = Box::new(move |w: Write| {
        if let Some(first) = &first {
            first(&w);
        }
        link.host_write(w.bar, w.offset, w.size, w.value);
    });
    Arrivals::start(exec, Duration::ZERO, send)
}

/// Sends interrupts that were pending behind a mask.
pub(crate) fn send_released(pci: &RefCell<PciFunction>, link: &HostLink) {
    loop {
        let released = pci.borrow_mut().next_released();
        let Some(vector) = released else { return };
        link.message(vector);
    }
}
