extern crate std;
use super::*;
use core::mem::{offset_of, size_of};
use proptest::prelude::*;
use std::vec;
use std::vec::Vec;
use zerocopy::{FromBytes, IntoBytes};

/// Offsets typed from the table of NVMe 1.4 §5.15.2.2.
#[test]
fn controller_fields_lie_where_the_standard_puts_them() {
    macro_rules! at { ($($field:ident: $offset:literal),* $(,)?) => {
        $( assert_eq!(offset_of!(IdentifyController, $field), $offset, stringify!($field)); )*
    } }
    at! {
        vid: 0, ssvid: 2, sn: 4, mn: 24, fr: 64, rab: 72, ieee: 73, cmic: 76, mdts: 77, cntlid: 78, ver: 80,
        rtd3r: 84, rtd3e: 88, oaes: 92, ctratt: 96, rrls: 100, cntrltype: 111, fguid: 112, crdt: 128,
        management_interface: 240, oacs: 256, acl: 258, aerl: 259, frmw: 260, lpa: 261, elpe: 262, npss: 263,
        avscc: 264, apsta: 265, wctemp: 266, cctemp: 268, mtfa: 270, hmpre: 272, hmmin: 276, tnvmcap: 280,
        unvmcap: 296, rpmbs: 312, edstt: 316, dsto: 318, fwug: 319, kas: 320, hctma: 322, mntmt: 324,
            mxtmt: 326,
        sanicap: 328, hmminds: 332, hmmaxd: 336, nsetidmax: 338, endgidmax: 340, anatt: 342, anacap: 343,
        anagrpmax: 344, nanagrpid: 348, pels: 352, sqes: 512, cqes: 513, maxcmd: 514, nn: 516, oncs: 520,
        fuses: 522, fna: 524, vwc: 525, awun: 526, awupf: 528, nvscc: 530, nwpc: 531, acwu: 532, sgls: 536,
        mnan: 540, subnqn: 768, fabrics: 1792, psd: 2048, vendor: 3072,
    }
    assert_eq!(size_of::<IdentifyController>(), IDENTIFY_BYTES);
    assert_eq!(size_of::<PowerState>(), 32);
    assert_eq!(offset_of!(PowerState, enlat), 4);
    assert_eq!(offset_of!(PowerState, idlp), 16);
    assert_eq!(offset_of!(PowerState, actp), 20);
}

/// Offsets typed from the table of NVMe 1.4 §5.15.2.1.
#[test]
fn namespace_fields_lie_where_the_standard_puts_them() {
    macro_rules! at { ($($field:ident: $offset:literal),* $(,)?) => {
        $( assert_eq!(offset_of!(IdentifyNamespace, $field), $offset, stringify!($field)); )*
    } }
    at! {
        nsze: 0, ncap: 8, nuse: 16, nsfeat: 24, nlbaf: 25, flbas: 26, mc: 27, dpc: 28, dps: 29, nmic: 30,
        rescap: 31, fpi: 32, dlfeat: 33, nawun: 34, nawupf: 36, nacwu: 38, nabsn: 40, nabo: 42, nabspf: 44,
        noiob: 46, nvmcap: 48, npwg: 64, npwa: 66, npdg: 68, npda: 70, nows: 72, anagrpid: 92, nsattr: 99,
        nvmsetid: 100, endgid: 102, nguid: 104, eui64: 120, lbaf: 128, vendor: 384,
    }
    assert_eq!(size_of::<IdentifyNamespace>(), IDENTIFY_BYTES);
}

#[test]
fn formats_are_found_by_index_and_by_flbas() {
    let mut namespace = IdentifyNamespace::default();
    namespace.set_formats(&[LbaFormat::of_log2(9), LbaFormat::of_log2(12).with_relative_performance(1)]);
    namespace.flbas = FormattedSize(0).with_format(1).0;
    assert_eq!(namespace.as_bytes()[128..136], [0, 0, 9, 0, 0, 0, 12, 1]);
    assert_eq!(namespace.current_format().and_then(LbaFormat::block_bytes), Some(4096));
    assert_eq!(namespace.format(2), None);
    namespace.flbas = 7;
    assert_eq!(namespace.current_format(), None);
    assert_eq!(LbaFormat(0).block_bytes(), None);
}

#[test]
fn text_fields_are_padded_with_spaces() {
    let field: [u8; 8] = ascii_field("1.0µ");
    assert_eq!(&field, b"1.0?    ");
    assert_eq!(ascii_text(&field), Some("1.0?"));
    assert_eq!(ascii_text(&[0xff, b' ']), None);
    assert_eq!(&ascii_field::<4>("too long"), b"too ");
}

#[test]
fn transfer_size_and_subsystem_name_read_back() {
    let mut controller = IdentifyController::default();
    controller.set_subsystem_name("nqn.2026-01.org.example:drive");
    controller.mdts = 5;
    assert_eq!(controller.transfer_bytes_max(0), Some(128 * 1024));
    assert_eq!(controller.subsystem_name(), Some("nqn.2026-01.org.example:drive"));
    assert_eq!(IdentifyController::default().transfer_bytes_max(0), None);
}

#[test]
fn lists_begin_after_the_identifier_asked_for() {
    let list = NamespaceList::after(2, [1, 2, 3, 9]);
    assert_eq!(list.iter().collect::<Vec<_>>(), [3, 9]);
    assert_eq!(NamespaceList::after(0, 1..5000).iter().count(), NAMESPACE_LIST_MAX);
    let list = ControllerList::starting_at(1, [0, 1, 5]);
    assert_eq!(list.as_bytes()[..6], [2, 0, 1, 0, 5, 0]);
    assert_eq!(list.iter().collect::<Vec<_>>(), [1, 5]);
}

#[test]
fn descriptors_round_trip() {
    let all = [
        NamespaceDescriptor::Eui64([1; 8]),
        NamespaceDescriptor::Nguid([2; 16]),
        NamespaceDescriptor::Uuid([3; 16]),
    ];
    let mut bytes = vec![0xee; IDENTIFY_BYTES];
    write_descriptors(&all, &mut bytes);
    assert_eq!(bytes[..5], [1, 8, 0, 0, 1]);
    assert_eq!(NamespaceDescriptors::new(&bytes).collect::<Result<Vec<_>, _>>().unwrap(), all);
}

#[test]
fn a_broken_descriptor_list_is_an_error_and_an_unknown_type_is_skipped() {
    let cut = [2, 16, 0, 0, 1, 2, 3];
    assert_eq!(NamespaceDescriptors::new(&cut).next(), Some(Err(DescriptorError::Truncated)));
    let wrong = [1, 4, 0, 0, 1, 2, 3, 4];
    let error = DescriptorError::WrongLength(DescriptorType::Eui64);
    assert_eq!(NamespaceDescriptors::new(&wrong).next(), Some(Err(error)));
    let unknown = [4, 1, 0, 0, 0, 1, 8, 0, 0, 7, 7, 7, 7, 7, 7, 7, 7, 0, 0, 0, 0];
    let found: Vec<_> = NamespaceDescriptors::new(&unknown).collect();
    assert_eq!(found, [Ok(NamespaceDescriptor::Eui64([7; 8]))]);
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..5000)) {
        if let Some(controller) = IdentifyController::view(&bytes) {
            let _ = (controller.subsystem_name(), controller.transfer_bytes_max(15),
                ascii_text(&controller.sn));
            let copy = IdentifyController::read_from_bytes(controller.as_bytes()).unwrap();
            prop_assert_eq!(copy.as_bytes(), &bytes[..IDENTIFY_BYTES]);
        }
        if let Some(namespace) = IdentifyNamespace::view(&bytes) {
            let _ = namespace.current_format().and_then(LbaFormat::block_bytes);
        }
        if let Some(list) = NamespaceList::view(&bytes) {
            prop_assert!(list.iter().count() <= NAMESPACE_LIST_MAX);
        }
        if let Some(list) = ControllerList::view(&bytes) {
            prop_assert!(list.iter().count() <= CONTROLLER_LIST_MAX);
        }
        prop_assert!(NamespaceDescriptors::new(&bytes).count() <= bytes.len());
    }
}
