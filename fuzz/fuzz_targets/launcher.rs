#![no_main]
#![allow(dead_code)]

#[path = "../../cli/src/gasnetrun_sci/cli.rs"]
mod cli;
#[path = "../../cli/src/gasnetrun_sci/fuzzing.rs"]
mod fuzzing;
#[path = "../../cli/src/gasnetrun_sci/hosts.rs"]
mod hosts;
#[path = "../../cli/src/gasnetrun_sci/options.rs"]
mod options;
#[path = "../../cli/src/gasnetrun_sci/place.rs"]
mod place;
#[path = "../../cli/src/gasnetrun_sci/stop.rs"]
mod stop;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzing::run(data));
