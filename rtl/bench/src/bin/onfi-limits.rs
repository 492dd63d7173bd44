//! Writes the checker's limits for benches, `rtl/checker/rtl/onfi_limits.svh`.
#![forbid(unsafe_code)]

fn main() -> std::io::Result<()> {
    std::fs::write(
        aster_rtl_bench::rtl().join("checker/rtl/onfi_limits.svh"),
        aster_rtl_bench::limits::verilog(),
    )
}
