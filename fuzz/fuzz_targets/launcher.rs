#![no_main]
#![allow(dead_code)]

#[path = "../../src/bin/gasnetrun_sci/cli.rs"]
mod cli;
#[path = "../../src/bin/gasnetrun_sci/fuzzing.rs"]
mod fuzzing;
#[path = "../../src/bin/gasnetrun_sci/options.rs"]
mod options;
#[path = "../../src/bin/gasnetrun_sci/stop.rs"]
mod stop;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzing::run(data));
