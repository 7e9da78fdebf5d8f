#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| sisci::fuzzing::run(data));
