//! libFuzzer glue; the body is in `tarsia_fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tarsia_fuzz::run_named("meta_blooms", bytes));
