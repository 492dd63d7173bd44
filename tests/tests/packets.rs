//! The transaction layer of a drive: what the host sets for it, and what crosses the link.

use aster_device::Media;
use aster_events::Recorder;
use aster_tests::{machine, profile};

/// Device Control of our functions.
const DEVICE_CONTROL: u16 = 0x58;

/// Max_Payload_Size 256 as offered, Max_Read_Request_Size 512, Extended Tag Enable (PCIe 4.0 §7.5.3.4).
#[test]
fn the_hosts_pci_layer_sets_device_control() {
    let drive = machine(&profile("softssd-small", |_| {}), None, Media::fresh(), &Recorder::default());
    let control = drive.device().config_read(DEVICE_CONTROL, 2);
    assert_eq!((control >> 5 & 7, control >> 8 & 1, control >> 12 & 7), (1, 1, 2), "{control:#06x}");
}
