use super::*;
use alloc::vec::Vec;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}
fn root() -> Accesses {
    Accesses::new(FunctionId(0))
}
fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}
/// Where the host has put BAR0.
const BASE: u64 = 0xfe00_0000;

/// PCIe 4.0 §2.2.1, §2.2.5, §2.2.6, typed by hand: CAP, CSTS above 4 GiB, one byte of VS.
#[test]
fn reads_are_requests_with_a_tag_and_the_bytes_enabled() {
    let mut root = root();
    let mut read = |address, size| root.read(at(0), 0, address, size).unwrap().1.bytes().to_vec();
    assert_eq!(read(BASE, 8), bytes(&[0x0000_0002, 0x0000_00ff, 0xfe00_0000]));
    assert_eq!(read(1 << 32 | BASE | 0x1c, 4), bytes(&[0x2000_0001, 0x0000_010f, 1, 0xfe00_001c]));
    assert_eq!(read(BASE + 0xb, 1), bytes(&[0x0000_0001, 0x0000_0208, 0xfe00_0008]));
}

/// A doorbell, an 8-byte register, two bytes in the middle of a double word.
#[test]
fn writes_carry_their_data_behind_the_header() {
    let mut root = root();
    let mut write = |address, size, value| root.write(0, address, size, value).unwrap().bytes().to_vec();
    let behind = |header: &[u32], data: &[u8]| [bytes(header), data.to_vec()].concat();
    assert_eq!(
        write(BASE + 0x1000, 4, 0xffff_ffff_1122_3344),
        behind(&[0x4000_0001, 0x0000_000f, 0xfe00_1000], &[0x44, 0x33, 0x22, 0x11])
    );
    assert_eq!(
        write(BASE + 0x28, 8, 0x0102_0304_0506_0708),
        behind(&[0x4000_0002, 0x0000_00ff, 0xfe00_0028], &[8, 7, 6, 5, 4, 3, 2, 1])
    );
    assert_eq!(
        write(BASE + 0x15, 2, 0xabcd),
        behind(&[0x4000_0001, 0x0000_0006, 0xfe00_0014], &[0, 0xcd, 0xab, 0])
    );
}

/// The completions of §2.2.9, typed by hand, and what the host reads then.
#[test]
fn a_completion_ends_the_read_with_its_tag() {
    let mut root = root();
    let mut read = |address, size| root.read(at(0), 0, address, size).unwrap().0;
    let [cap, csts, byte, ur, ca] =
        [read(BASE, 8), read(BASE + 0x1c, 4), read(BASE + 3, 1), read(BASE, 4), read(BASE, 4)];
    assert_eq!(root.take(csts), None);
    root.hear(&bytes(&[0x4a00_0001, 0x0100_0004, 0x0000_011c]), &[1, 2, 3, 4]);
    root.hear(&bytes(&[0x4a00_0002, 0x0100_0008, 0x0000_0000]), &[8, 7, 6, 5, 4, 3, 2, 1]);
    root.hear(&bytes(&[0x4a00_0001, 0x0100_0001, 0x0000_0203]), &[9, 9, 9, 0x77]);
    root.hear(&bytes(&[0x0a00_0000, 0x0100_2004, 0x0000_0300]), &[]);
    root.hear(&bytes(&[0x0a00_0000, 0x0100_8004, 0x0000_0400]), &[]);
    let taken = [cap, csts, byte, ur, ca].map(|number| root.take(number));
    let ones = Some(u64::MAX);
    assert_eq!(taken, [Some(0x0102_0304_0506_0708), Some(0x0403_0201), Some(0x77), ones, ones]);
    assert_eq!(root.errors(), AccessErrors { unsupported: 1, aborted: 1, ..AccessErrors::default() });
    assert_eq!(root.take(cap), ones, "it has been taken");
}

#[test]
fn what_is_no_answer_to_a_read_is_counted() {
    let mut root = root();
    let mut read = || root.read(at(0), 0, BASE, 4).unwrap().0;
    let (poisoned, short) = (read(), read());
    // EP is set; another byte count than asked for; no read has tag 9; another requester's.
    root.hear(&bytes(&[0x4a00_4001, 0x0100_0004, 0x0000_0000]), &[1, 2, 3, 4]);
    root.hear(&bytes(&[0x4a00_0001, 0x0100_0003, 0x0000_0100]), &[1, 2, 3, 4]);
    root.hear(&bytes(&[0x4a00_0001, 0x0100_0004, 0x0000_0900]), &[1, 2, 3, 4]);
    root.hear(&bytes(&[0x4a00_0001, 0x0100_0004, 0x0200_0000]), &[1, 2, 3, 4]);
    root.hear(&bytes(&[0x0000_0001, 0x0000_00ff, 0xfe00_0000]), &[]);
    assert_eq!((root.take(poisoned), root.take(short)), (Some(u64::MAX), Some(u64::MAX)));
    assert_eq!(root.errors(), AccessErrors { aborted: 1, unexpected: 4, ..AccessErrors::default() });
}

/// §2.8. The tag of a read that was given up stays taken until its completion comes.
#[test]
fn a_read_that_nobody_answers_ends_after_ten_milliseconds() {
    let mut root = root();
    let first = root.read(at(0), 0, BASE, 4).unwrap().0;
    let second = root.read(at(1), 0, BASE, 4).unwrap().0;
    assert_eq!(root.next_overdue(), Some(at(10)));
    root.give_overdue_up(at(10) - Duration::from_picos(1));
    assert_eq!(root.take(first), None);
    root.give_overdue_up(at(10));
    assert_eq!((root.take(first), root.take(second)), (Some(u64::MAX), None));
    assert_eq!((root.next_overdue(), root.errors().timed_out), (Some(at(11)), 1));
    let next = root.read(at(10), 0, BASE, 4).unwrap().1;
    assert_eq!(next.bytes()[6], 2, "neither tag is free");
    root.hear(&bytes(&[0x4a00_0001, 0x0100_0004, 0x0000_0000]), &[1, 2, 3, 4]);
    assert_eq!(root.errors().unexpected, 0);
    let next = root.read(at(10), 0, BASE, 4).unwrap().1;
    assert_eq!(next.bytes()[6], 0, "the late answer was for the first");
}

#[test]
fn a_host_has_32_reads_outstanding_and_as_many_answers_kept() {
    let mut root = root();
    let numbers: Vec<u32> = (0..32).map(|_| root.read(at(0), 0, BASE, 4).unwrap().0).collect();
    assert_eq!(root.read(at(0), 0, BASE, 4), None);
    root.hear(&bytes(&[0x4a00_0001, 0x0100_0004, 0x0000_0500]), &[1, 0, 0, 0]);
    let one_more = root.read(at(0), 0, BASE, 4).expect("the answered one made room");
    assert_eq!(one_more.1.bytes()[6], 5);
    assert_eq!(root.take(numbers[5]), Some(u64::MAX), "nobody has taken its answer in time");
    root.give_all_up();
    assert_eq!(root.take(numbers[6]), Some(u64::MAX));
    assert_eq!(root.next_overdue(), None);
    assert_eq!(root.errors(), AccessErrors { not_sent: 1, ..AccessErrors::default() });
}

/// A dropped read is answered by all ones, and its tag is free. A dropped write leaves the read with tag 0
/// alone, which waits for its completion.
#[test]
fn a_dropped_write_answers_no_read() {
    let mut root = root();
    let doorbell = root.write(0, BASE + 0x1000, 4, 1).unwrap();
    let (number, read) = root.read(at(0), 0, BASE + 0x1c, 4).unwrap();
    root.forget(&doorbell);
    assert_eq!(root.take(number), None);
    root.forget(&read);
    assert_eq!(root.take(number), Some(u64::MAX));
}

#[test]
fn an_access_across_four_kibibytes_is_no_packet() {
    let mut root = root();
    assert_eq!(root.read(at(0), 0, BASE + 0xffe, 4), None);
    assert_eq!(root.write(0, BASE + 0xffc, 8, 0), None);
    assert!(root.write(0, BASE + 0xff8, 8, 0).is_some());
    assert_eq!(root.errors().not_sent, 2);
}
