//! What is proved can fail: with one thing wrong in the sources the proof that is there for it doesn't go through.

use aster_rtl_bench::mutation::MUTATIONS;
use aster_rtl_bench::proof::{self, Outcome};
use aster_rtl_bench::{long, rtl};

#[test]
fn every_proof_fails_on_its_mutations() {
    for proof in proof::all(&rtl()) {
        let mut mutations = MUTATIONS.iter().filter(|m| m.proof == proof.name).peekable();
        assert!(mutations.peek().is_some(), "no mutation for {}", proof.name);
        for mutation in mutations.take(if long() { usize::MAX } else { 1 }) {
            let copy = tempfile::tempdir().unwrap();
            mutation.copy(&rtl(), copy.path());
            match proof.run(copy.path(), proof.method) {
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
        assert!(proofs.iter().any(|p| p.name == mutation.proof), "{} is no proof", mutation.proof);
        let copy = tempfile::tempdir().unwrap();
        mutation.copy(&rtl(), copy.path());
    }
}
