//! Every proof of `rtl/*/formal` goes through.

use aster_rtl_bench::proof::{self, Outcome};
use aster_rtl_bench::rtl;

#[test]
fn every_proof_goes_through() {
    let proofs = proof::all(&rtl());
    assert!(!proofs.is_empty(), "no proofs in rtl/*/formal");
    let mut failed = Vec::new();
    for proof in proofs {
        let Some(due) = proof.due() else { continue };
        match proof.run(&rtl(), due) {
            Outcome::Proved(took) => println!("{} {}: {due:?}, {took:.1?}", proof.block, proof.name),
            Outcome::Failed(text) => {
                let end: Vec<&str> = text.lines().rev().take(12).collect();
                failed.push(format!("{} {} ({due:?}):\n{}", proof.block, proof.name, end.join("\n")));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// A reader finds each proof, its method and its assumptions in one table.
#[test]
fn the_page_of_proofs_names_every_proof() {
    let page = std::fs::read_to_string(rtl().join("../docs/rtl-proofs.md")).unwrap();
    for proof in proof::all(&rtl()) {
        assert!(
            page.contains(&format!("`{}`", proof.name)),
            "docs/rtl-proofs.md doesn't name {}",
            proof.name
        );
    }
}
