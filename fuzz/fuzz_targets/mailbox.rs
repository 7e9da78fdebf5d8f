#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| gasnet_sci::testkit::fuzzing::target("mailbox")(data));
