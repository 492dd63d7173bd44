use super::*;
use alloc::vec::Vec;
use aster_units::mix64;

fn packet(class: Class, data: u32, what: u64) -> WirePacket<u64> {
    WirePacket { class, header: 12, data, what }
}

const NS: fn(u64) -> Instant = |ns| Instant::ZERO + Duration::from_nanos(ns);

#[test]
fn a_packet_occupies_the_wire_with_header_data_and_framing_and_then_travels() {
    let config =
        WireConfig { bytes_per_second: 1_000_000_000, latency: Duration::from_nanos(300), framing: 10 };
    let mut wire = TlpWire::new(config, [Credit::default(); 3]);
    wire.push(packet(Class::Posted, 256, 1));
    wire.push(packet(Class::NonPosted, 0, 2));
    let mut times = Vec::new();
    while wire.send(NS(0), |_, sent| {
        times.push((sent.begins, sent.ends));
        Instant::ZERO
    }) {}
    assert_eq!(times, [(NS(0), NS(278)), (NS(278), NS(300))]);
    assert_eq!(wire.next_arrival(), Some(NS(578)));
    assert!(wire.arrived(NS(577)).is_none());
    assert_eq!(wire.arrived(NS(578)).map(|p| p.what), Some(1));
    assert_eq!(wire.next_arrival(), Some(NS(600)));
    assert_eq!(wire.arrived(NS(600)).map(|p| p.what), Some(2));
}

#[test]
fn what_arrives_later_than_the_wire_brings_it_holds_back_what_is_behind_it() {
    let mut wire = TlpWire::new(WireConfig::default(), [Credit::default(); 3]);
    wire.push(packet(Class::Posted, 64, 1));
    wire.push(packet(Class::Posted, 64, 2));
    assert!(wire.send(NS(0), |_, _| NS(50)) && wire.send(NS(0), |_, sent| sent.ends));
    assert!(wire.arrived(NS(49)).is_none());
    assert_eq!([wire.arrived(NS(50)), wire.arrived(NS(50))].map(|p| p.map(|p| p.what)), [Some(1), Some(2)]);
}

/// May a packet of class `late` go before one of class `early` that waits before it? PCIe 4.0 table 2-40,
/// typed by its rows: a posted request (A), a read request (B), a completion (D).
fn may_pass(late: Class, early: Class) -> bool {
    match (late, early) {
        // A2, B2, D2a: nothing passes a posted request.
        (_, Class::Posted) => false,
        // A3, A5, D3: posted requests and completions pass requests that wait for credits.
        (Class::Posted | Class::Completion, Class::NonPosted) => true,
        // A5b, B5: completions may be passed by requests.
        (_, Class::Completion) => late != Class::Completion,
        (Class::NonPosted, Class::NonPosted) => false,
    }
}

/// Random packets of all classes against a receiver with as little room as PCIe allows, which frees it in
/// any order and sometimes stops taking non-posted requests. The checker knows nothing of queues: it looks
/// at pairs of numbers in the order in which they came out.
#[test]
fn whatever_comes_goes_out_in_an_order_that_the_table_allows_and_all_of_it() {
    for seed in 0..40u64 {
        // The least initial credits (PCIe 4.0 table 2-43) for payloads of 256 bytes.
        let least = [(1, 16), (1, 1), (1, 16)].map(|(headers, data)| Credit { headers, data });
        let mut wire = TlpWire::new(WireConfig::default(), least);
        let mut sent: Vec<Class> = Vec::new();
        let (mut order, mut held) = (Vec::new(), Vec::new());
        let (mut passed_on_credit, mut posted_meanwhile) = (0u32, 0u32);
        for step in 0..4_000u64 {
            let dice = mix64(seed << 32 | step);
            if dice & 1 == 0 && sent.len() < 1_500 {
                let class = Class::ALL[(dice >> 8) as usize % 3];
                let data = if class == Class::NonPosted { 0 } else { (dice >> 24) as u32 % 257 };
                wire.push(packet(class, data, sent.len() as u64));
                sent.push(class);
            }
            // For a while the receiver keeps all non-posted requests: posted ones must go on.
            let stuck = (step / 200) % 2 == 1;
            while wire.send(NS(step), |_, sent| sent.ends) {}
            while let Some(packet) = wire.arrived(NS(step)) {
                posted_meanwhile += u32::from(stuck && packet.class == Class::Posted);
                order.push(packet.what);
                held.push((packet.class, packet.needs()));
            }
            held.retain(|&(class, needs)| {
                let frees = mix64(dice ^ class.index() as u64) & 3 == 0;
                if !frees || stuck && class == Class::NonPosted {
                    return true;
                }
                wire.grant(class, needs);
                false
            });
        }
        // All that is left comes out once the receiver takes everything.
        while wire.waiting() > 0 || !held.is_empty() {
            let before = (wire.waiting(), held.len());
            held.drain(..).for_each(|(class, needs)| wire.grant(class, needs));
            while wire.send(NS(9_999), |_, sent| sent.ends) {}
            while let Some(packet) = wire.arrived(NS(9_999)) {
                order.push(packet.what);
                held.push((packet.class, packet.needs()));
            }
            assert_ne!(before, (wire.waiting(), held.len()), "seed {seed}: nothing moves any more");
        }
        for (at, &late) in order.iter().enumerate() {
            for &early in &order[at + 1..] {
                if early < late {
                    let (class, other) = (sent[late as usize], sent[early as usize]);
                    assert!(may_pass(class, other), "seed {seed}: {late} {class:?} before {early} {other:?}");
                    passed_on_credit += 1;
                }
            }
        }
        let mut all = order.clone();
        all.sort_unstable();
        assert!(all.iter().copied().eq(0..sent.len() as u64), "seed {seed}: each one once");
        assert!(posted_meanwhile > 150, "seed {seed}: {posted_meanwhile} posted beside stuck requests");
        assert!(passed_on_credit > 100, "seed {seed}: {passed_on_credit} packets passed others");
        // Every credit is back: the next packets find the initial grant, and no more.
        for class in Class::ALL {
            let most = packet(class, if class == Class::NonPosted { 0 } else { 256 }, 0);
            wire.push(most);
            assert!(wire.send(NS(10_000), |_, sent| sent.ends), "{class:?}");
            wire.push(most);
            assert!(!wire.send(NS(10_000), |_, sent| sent.ends), "{class:?}");
            wire.grant(class, most.needs());
            assert!(wire.send(NS(10_000), |_, sent| sent.ends), "{class:?}");
        }
    }
}
