//! The proofs can fail: with one error in the sources, the proof for that property fails.

use aster_rtl_bench::mutation::{BENCH_MUTATIONS, GATE_MUTATIONS, MUTATIONS};
use aster_rtl_bench::proof::{self, Outcome};
use aster_rtl_bench::{bench, long, rtl};

#[test]
fn every_proof_fails_on_its_mutations() {
    for proof in proof::all(&rtl()) {
        // Proofs that aren't part of this run aren't tried on mutations either.
        let Some(method) = proof.method.or(proof.due()) else { continue };
        let mut mutations = MUTATIONS.iter().filter(|m| m.found_by == proof.name).peekable();
        assert!(mutations.peek().is_some(), "no mutation for {}", proof.name);
        for mutation in mutations.take(if long() { usize::MAX } else { 1 }) {
            let copy = tempfile::tempdir().unwrap();
            mutation.copy(&rtl(), copy.path());
            match proof.run(copy.path(), method) {
                Outcome::Proved(_) => panic!("{} goes through although: {}", proof.name, mutation.name),
                Outcome::Failed(text) => assert!(
                    text.contains("was asserted in frame") || text.contains("BMC failed"),
                    "{} should fail because of: {}. It ended with:\n{text}",
                    proof.name,
                    mutation.name
                ),
            }
        }
    }
}

#[test]
fn every_mutation_belongs_to_a_proof_and_to_the_sources_as_they_are() {
    let proofs = proof::all(&rtl());
    for mutation in MUTATIONS {
        assert!(proofs.iter().any(|p| p.name == mutation.found_by), "{} is no proof", mutation.found_by);
    }
    for mutation in MUTATIONS.iter().chain(BENCH_MUTATIONS).chain(GATE_MUTATIONS) {
        let copy = tempfile::tempdir().unwrap();
        mutation.copy(&rtl(), copy.path());
    }
}

/// The checker watches the channel's bench in SDR, NV-DDR and NV-DDR2. One mutation of each of the latter
/// two is tried every time, and all of them with `ASTER_LONG=1`.
#[test]
fn the_checker_finds_mutations_in_the_channel_bench() {
    for mutation in BENCH_MUTATIONS.iter().filter(|m| long() || ["tCALS", "tRPSTH"].contains(&m.found_by)) {
        let copy = tempfile::tempdir().unwrap();
        mutation.copy(&rtl(), copy.path());
        let output = bench::on_icarus(copy.path(), "channel", "aster_channel_tb");
        let violation = format!("ONFI violation: {} ", mutation.found_by);
        assert!(
            output.text.contains(&violation) && !bench::passed(&output),
            "the bench should tell {} because of: {}. It said:\n{}",
            mutation.found_by,
            mutation.name,
            output.text
        );
    }
}
