#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| gasnet_sci::fuzzing::target("regions")(data));
