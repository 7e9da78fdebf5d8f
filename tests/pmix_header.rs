//! Our declarations of PMIx against its header. Debian: libpmix-dev and pkg-config. Without them it says so and passes, unless
//! `CI_TEST_PMIX` demands it (ci/test and ci/pmix set it).

#![allow(clippy::disallowed_methods)] // a variable of the test's own

use gasnet_sci::boot::pmix::abi;
use std::fmt::Write as _;
use std::mem::offset_of;
use std::process::Command;

/// Functions with their types in C, as `abi.rs` has them in Rust.
const FUNCTIONS: &[&str] = &[
    "pmix_status_t (*init)(pmix_proc_t *, pmix_info_t *, size_t) = PMIx_Init;",
    "pmix_status_t (*finalize)(const pmix_info_t *, size_t) = PMIx_Finalize;",
    "pmix_status_t (*put)(pmix_scope_t, const char *, pmix_value_t *) = PMIx_Put;",
    "pmix_status_t (*commit)(void) = PMIx_Commit;",
    "pmix_status_t (*fence)(const pmix_proc_t *, size_t, const pmix_info_t *, size_t) = PMIx_Fence;",
    "pmix_status_t (*get)(const pmix_proc_t *, const char *, const pmix_info_t *, size_t, pmix_value_t **) = PMIx_Get;",
    "pmix_status_t (*end)(int, const char *, pmix_proc_t *, size_t) = PMIx_Abort;",
    "const char *(*text)(pmix_status_t) = PMIx_Error_string;",
    "void (*handler)(size_t, pmix_status_t, const pmix_proc_t *, pmix_info_t *, size_t, pmix_info_t *, size_t, \
     pmix_event_notification_cbfunc_fn_t, void *); pmix_notification_fn_t *taken = &handler;",
    "pmix_status_t (*add)(pmix_status_t *, size_t, pmix_info_t *, size_t, pmix_notification_fn_t, \
     pmix_hdlr_reg_cbfunc_t, void *) = PMIx_Register_event_handler;",
];

fn program() -> String {
    let mut text = String::from("#include <pmix.h>\n#include <stddef.h>\n");
    let mut same = |what: &str, ours: i128| writeln!(text, "_Static_assert({what} == {ours}, \"{what}\");").unwrap();
    for (what, ours) in [
        ("sizeof(pmix_proc_t)", size_of::<abi::Proc>()),
        ("offsetof(pmix_proc_t, rank)", offset_of!(abi::Proc, rank)),
        ("sizeof(pmix_byte_object_t)", size_of::<abi::Bytes>()),
        ("offsetof(pmix_byte_object_t, size)", offset_of!(abi::Bytes, size)),
        ("sizeof(pmix_value_t)", size_of::<abi::Value>()),
        ("offsetof(pmix_value_t, data)", offset_of!(abi::Value, data)),
        ("_Alignof(pmix_value_t)", align_of::<abi::Value>()),
        ("sizeof(pmix_info_t)", size_of::<abi::Info>()),
        ("offsetof(pmix_info_t, flags)", offset_of!(abi::Info, flags)),
        ("offsetof(pmix_info_t, value)", offset_of!(abi::Info, value)),
        ("sizeof(pmix_status_t)", size_of::<abi::Status>()),
        ("sizeof(pmix_scope_t)", size_of_val(&abi::GLOBAL)),
        ("sizeof(pmix_data_type_t)", size_of_val(&abi::BOOL)),
        ("sizeof(pmix_rank_t)", size_of_val(&abi::WILDCARD)),
        ("PMIX_MAX_NSLEN", abi::NAMESPACE_LEN),
        ("PMIX_MAX_KEYLEN", abi::KEY_LEN),
        ("sizeof(PMIX_JOB_SIZE)", abi::JOB_SIZE.len() + 1),
        ("sizeof(PMIX_COLLECT_DATA)", abi::COLLECT_DATA.len() + 1),
    ] {
        same(what, ours as i128);
    }
    for (what, ours) in [
        ("PMIX_SUCCESS", abi::SUCCESS.into()),
        ("PMIX_ERR_LOST_CONNECTION", abi::LOST_CONNECTION.into()),
        ("(PMIX_RANK_WILDCARD)", abi::WILDCARD.into()),
        ("PMIX_GLOBAL", abi::GLOBAL.into()),
        ("PMIX_BOOL", abi::BOOL.into()),
        ("PMIX_STRING", abi::STRING.into()),
        ("PMIX_UINT32", abi::UINT32.into()),
        ("PMIX_BYTE_OBJECT", abi::BYTES.into()),
    ] {
        same(what, ours);
    }
    FUNCTIONS.iter().for_each(|function| writeln!(text, "{function}").unwrap());
    text
}

#[test]
fn our_declarations_are_the_headers() {
    let found = Command::new("pkg-config").args(["--cflags", "pmix"]).output();
    let Some(found) = found.ok().filter(|found| found.status.success()) else {
        assert!(
            std::env::var_os("CI_TEST_PMIX").is_none(),
            "no pmix.pc, or no pkg-config: install libpmix-dev and pkg-config"
        );
        println!("skipped: libpmix-dev is not installed");
        return;
    };
    let flags = String::from_utf8(found.stdout).unwrap();
    let source = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("pmix_header.c");
    std::fs::write(&source, program()).unwrap();
    let compile = |options: &[&str]| {
        let mut compiler = Command::new("cc");
        let done = compiler.args(options).args(flags.split_whitespace()).arg(&source).output().expect("cc");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    compile(&["-std=gnu11", "-fsyntax-only", "-Werror=incompatible-pointer-types"]);
    let names = "#include <pmix.h>\njob_size PMIX_JOB_SIZE\ncollect_data PMIX_COLLECT_DATA\n";
    std::fs::write(&source, names).unwrap();
    let names = compile(&["-E", "-P"]);
    for (what, ours) in [("job_size", abi::JOB_SIZE), ("collect_data", abi::COLLECT_DATA)] {
        assert!(names.contains(&format!("{what} \"{ours}\"")), "{what}");
    }
}
