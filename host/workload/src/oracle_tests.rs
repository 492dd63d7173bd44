use super::*;
use proptest::prelude::*;

#[test]
fn a_block_is_empty_until_written_and_after_a_trim() {
    let mut oracle = Oracle::new(3_000);
    assert_eq!(oracle.acceptable(2_999), [0]);
    oracle.written(1_000, 100, 7);
    assert_eq!((oracle.acceptable(999), oracle.acceptable(1_050)), (vec![0], vec![7]));
    oracle.deallocated(1_050, 1);
    assert_eq!((oracle.acceptable(1_050), oracle.acceptable(1_051)), (vec![0], vec![7]));
}

#[test]
fn a_write_in_flight_may_be_there_or_not() {
    let mut oracle = Oracle::new(10);
    oracle.written(0, 10, 1);
    let write = oracle.begin_write(3, 2, 2);
    assert_eq!((oracle.acceptable(3), oracle.acceptable(5)), (vec![1, 2], vec![1]));
    oracle.complete_write(write);
    assert_eq!(oracle.acceptable(4), [2]);
}

#[test]
fn either_of_two_overlapping_writes_may_last_and_a_later_one_replaces_both() {
    let mut oracle = Oracle::new(1);
    let a = oracle.begin_write(0, 1, 1);
    let b = oracle.begin_write(0, 1, 2);
    oracle.complete_write(a);
    assert_eq!(oracle.acceptable(0), [1, 2], "what was there before is gone");
    oracle.complete_write(b);
    assert_eq!(oracle.acceptable(0), [1, 2]);
    oracle.written(0, 1, 3);
    assert_eq!(oracle.acceptable(0), [3]);
    assert!(oracle.contested.is_empty(), "nothing is kept beyond the version");
}

#[test]
fn a_write_that_ended_before_another_began_cannot_come_back() {
    let mut oracle = Oracle::new(1);
    let long = oracle.begin_write(0, 1, 1);
    oracle.written(0, 1, 2);
    oracle.written(0, 1, 3);
    assert_eq!(oracle.acceptable(0), [1, 3]);
    oracle.complete_write(long);
    assert_eq!(oracle.acceptable(0), [1, 3]);
}

#[test]
fn a_lost_write_leaves_either_and_reading_decides() {
    let mut oracle = Oracle::new(2);
    oracle.written(0, 2, 1);
    oracle.begin_write(0, 2, 2);
    oracle.abandon_all();
    assert_eq!(oracle.acceptable(0), [1, 2]);
    let read = oracle.begin_read(0, 2);
    assert_eq!(oracle.complete_read(read, &[2, 1]), Ok(()));
    assert_eq!((oracle.acceptable(0), oracle.acceptable(1)), (vec![2], vec![1]));
    let read = oracle.begin_read(0, 1);
    let unexpected = Unexpected { block: 0, found: 1, acceptable: vec![2] };
    assert_eq!(oracle.complete_read(read, &[1]), Err(unexpected));
}

#[test]
fn a_read_may_see_what_was_replaced_while_it_was_in_flight() {
    let mut oracle = Oracle::new(1);
    oracle.written(0, 1, 1);
    let early = oracle.begin_read(0, 1);
    let early_too = oracle.begin_read(0, 1);
    oracle.written(0, 1, 2);
    let late = oracle.begin_read(0, 1);
    assert_eq!(oracle.complete_read(early, &[1]), Ok(()));
    assert_eq!(oracle.complete_read(early_too, &[2]), Ok(()));
    assert!(oracle.complete_read(late, &[1]).is_err());
}

/// What happens to one block, for the comparison with every possible order.
#[derive(Clone, Copy, Debug)]
struct Span {
    begin: usize,
    end: usize,
}

fn spans() -> impl Strategy<Value = Vec<Span>> {
    proptest::collection::vec((0usize..12, 1usize..6), 1..5)
        .prop_map(|v| v.into_iter().map(|(begin, length)| Span { begin, end: begin + length }).collect())
}

proptest! {
    /// The last write can be any for which no other began after it had ended: worked out from the definition.
    #[test]
    fn the_set_at_rest_is_that_of_all_possible_orders(spans in spans()) {
        let mut oracle = Oracle::new(1);
        let mut tokens = vec![None; spans.len()];
        for time in 0..20 {
            // Ends come before begins of the same time, so that touching spans do not overlap.
            for (i, span) in spans.iter().enumerate() {
                if span.end == time {
                    oracle.complete_write(tokens[i].take().expect("begun"));
                }
            }
            for (i, span) in spans.iter().enumerate() {
                if span.begin == time {
                    tokens[i] = Some(oracle.begin_write(0, 1, i as u32 + 1));
                }
            }
        }
        let last: Vec<u32> = (0..spans.len())
            .filter(|&i| !spans.iter().any(|other| other.begin >= spans[i].end))
            .map(|i| i as u32 + 1)
            .collect();
        prop_assert_eq!(oracle.acceptable(0), last);
        prop_assert!(oracle.writes.is_empty());
    }
}
