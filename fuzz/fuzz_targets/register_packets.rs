#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| aster_tests::fuzz::run("register_packets", bytes));
