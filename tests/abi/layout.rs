//! C and Rust agree on every constant, size and offset: what clang makes of the headers (read by bindgen) against
//! what the library was compiled with, in the two extreme configurations of a client.

use super::clang::{read, reader, root};
use bindgen::callbacks::{IntKind, ParseCallbacks};
use gasnet_sci::am::region;
use gasnet_sci::api::ex::{am::*, atomic::*, job::*, team::*};
use gasnet_sci::api::g1::{init::*, query::*};
use gasnet_sci::api::shared::reach::{GASNETI_SCI_FAR, gasneti_sci_reach_t};
use gasnet_sci::api::shared::{am::*, constants::*, direct::*, hsl::*, objects::*, srcdesc::*, start::*, vis::*};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_int, c_void};
use std::mem::{align_of, offset_of, size_of};
use std::sync::{Arc, Mutex};

const CONFIGURATIONS: [&[&str]; 2] =
    [&["-DGASNET_SEQ"], &["-DGASNET_PAR", "-DGASNET_DEBUG", "-DGASNET_SEGMENT_EVERYTHING", "-pthread"]];

/// What clang knows of the headers in one configuration.
struct Header {
    constants: BTreeMap<String, i64>,
    declarations: String,
}

#[derive(Clone, Debug, Default)]
struct Collect(Arc<Mutex<BTreeMap<String, i64>>>);

impl ParseCallbacks for Collect {
    fn int_macro(&self, name: &str, value: i64) -> Option<IntKind> {
        self.0.lock().unwrap().insert(name.into(), value);
        None
    }
}

impl Header {
    fn read(flags: &[&str]) -> Header {
        let collect = Collect::default();
        let client = concat!(
            "#include <gasnet.h>\n#include <gasnet_tools.h>\n#include <gasnet_vis.h>\n",
            "#include <gasnet_coll.h>\n#include <gasnet_ratomic.h>\n#include <gasnet_mk.h>\n"
        );
        let reader =
            reader(client, flags).formatter(bindgen::Formatter::None).parse_callbacks(Box::new(collect.clone()));
        let declarations = read(reader);
        let constants = std::mem::take(&mut *collect.0.lock().unwrap());
        Header { constants, declarations }
    }

    fn constant(&self, name: &str) -> i64 {
        *self.constants.get(name).unwrap_or_else(|| panic!("{name} is no integer constant in C"))
    }

    // bindgen writes its findings as assertions: ["Size of NAME"] [... - 16usize].
    fn layout(&self, what: &str) -> usize {
        let label = format!("[\"{what}\"]");
        let at = self.declarations.find(&label).unwrap_or_else(|| panic!("clang knows nothing of: {what}"));
        let rest = &self.declarations[at + label.len()..];
        let number = &rest[rest.find('-').unwrap() + 1..rest.find("usize").unwrap()];
        number.trim().parse().unwrap_or_else(|_| panic!("{what}: {number}"))
    }

    // Functions and variables that the headers declare.
    fn symbols(&self) -> BTreeSet<String> {
        let after = |start: &'static str| {
            let rest = self.declarations.split(start).skip(1);
            rest.map(|rest| rest.split(['(', ' ', ':']).find(|word| !word.is_empty() && *word != "mut").unwrap().into())
        };
        after("pub fn ").chain(after("pub static ")).collect()
    }

    // How C declares the alias `name`, without spaces.
    fn alias(&self, name: &str) -> String {
        let start = format!("pub type {name} =");
        let at = self.declarations.find(&start).unwrap_or_else(|| panic!("{name} is no type in C"));
        let rest = &self.declarations[at + start.len()..];
        rest[..rest.find(';').unwrap()].replace(' ', "")
    }
}

fn everywhere(test: impl Fn(&Header)) {
    for flags in CONFIGURATIONS {
        test(&Header::read(flags));
    }
}

macro_rules! constants {
    ($($name:ident),* $(,)?) => { [$((stringify!($name), $name as i64)),*] };
}

const SHARED: &[(&str, i64)] = &constants![
    GASNETI_SCI_OK,
    GASNETI_SCI_ERR_NOT_INIT,
    GASNETI_SCI_ERR_RESOURCE,
    GASNETI_SCI_ERR_BAD_ARG,
    GASNETI_SCI_ERR_NOT_READY,
    GASNETI_SCI_ERR_BARRIER_MISMATCH,
    GASNETI_SCI_BARRIERFLAG_ANONYMOUS,
    GASNETI_SCI_BARRIERFLAG_MISMATCH,
    GASNETI_SCI_BARRIERFLAG_IMAGES,
    GASNETI_SCI_BARRIERFLAG_UNNAMED,
    GASNETI_SCI_WAIT_SPIN,
    GASNETI_SCI_WAIT_BLOCK,
    GASNETI_SCI_WAIT_SPINBLOCK,
    GASNETI_SCI_FAR,
    GASNETI_SCI_SLOT_BYTES,
    GASNETI_SCI_LINE_WORDS,
    GASNETI_SCI_CLAIM_BATCH,
    GASNETI_SCI_META_SEQUENCE,
    GASNETI_SCI_FIRST_CLIENT,
    GASNETI_SCI_META_HANDLER,
    GASNETI_SCI_META_NUMARGS,
    GASNETI_SCI_ANSWERED,
    GASNETI_SCI_MAX_ARGS,
    GASNETI_SCI_MAX_MEDIUM,
    GASNETI_SCI_MAX_LONG,
    GASNETI_SCI_PAGESIZE,
    GASNETI_SCI_MAXNODES,
    GASNETI_SCI_MODE_SEQ,
    GASNETI_SCI_MODE_PARSYNC,
    GASNETI_SCI_MODE_PAR,
    GASNETI_SCI_MODE_FAST,
    GASNETI_SCI_MODE_LARGE,
    GASNETI_SCI_MODE_EVERYTHING,
    GASNETI_SCI_MODE_DEBUG,
    GASNETI_SCI_MODE_NDEBUG,
    GASNETI_SCI_MODE_GUEST,
    GASNETI_SCI_VIS_BLOCKING,
    GASNETI_SCI_VIS_NB,
    GASNETI_SCI_VIS_NBI,
    GASNETI_SCI_FLAG_BULK,
    GASNETI_SCI_FLAG_VALUE,
    GASNETI_SCI_FLAG_EX,
    GASNETI_SCI_RULE_NO_HANDLER,
    GASNETI_SCI_RULE_NO_LOCK,
    GASNETI_SCI_RULE_NO_NIS,
    GASNETI_SCI_RULE_ATTACHED,
    GASNETI_SCI_RULE_IN_HANDLER,
    GASNETI_SCI_RULE_OUTSIDE,
    GASNETI_SCI_HSL_STATIC,
    GASNETI_SCI_HSL_INIT,
    GASNETI_SCI_CLIENT_MAGIC,
    GASNETI_SCI_EP_MAGIC,
    GASNETI_SCI_SEGMENT_MAGIC,
    GASNETI_SCI_TM_MAGIC,
    GASNETI_SCI_AD_MAGIC,
    GASNETI_SCI_USES_GASNET1,
    GASNETI_SCI_DEFER_THREADS,
    GASNETI_SCI_AM_NOW,
    GASNETI_SCI_AM_EX,
    GASNETI_SCI_NPAM_REQUEST,
    GASNETI_SCI_NPAM_REPLY,
    GASNETI_SCI_NPAM_MEDIUM,
    GASNETI_SCI_NPAM_LONG,
    GASNETI_SCI_VIS_CHECKED,
    GASNETI_SCI_VIS_G1,
];

#[test]
fn shared_constants_have_one_value() {
    everywhere(|c| {
        for &(name, value) in SHARED {
            assert_eq!(c.constant(name), value, "{name}");
        }
    });
}

#[test]
fn no_shared_constant_is_left_out_here() {
    let text = std::fs::read_to_string(root().join("include/gasnet_sci_abi.h")).unwrap();
    let defined = text.lines().filter_map(|line| line.strip_prefix("#define ")?.split_once(' '));
    let shared: BTreeSet<&str> = defined.map(|(name, _)| name).collect();
    let listed: BTreeSet<&str> = SHARED.iter().map(|&(name, _)| name).collect();
    assert_eq!(shared, listed);
}

// The headers write these by hand, because clients test them in #if before anything is included.
#[test]
fn client_names_have_the_librarys_values() {
    everywhere(|c| {
        for (name, value) in SHARED {
            let Some(tail) = name.strip_prefix("GASNETI_SCI_") else { panic!("{name} lacks the prefix") };
            let client = format!("GASNET_{tail}");
            if let Some(&given) = c.constants.get(&client)
                && !tail.starts_with("HSL")
            {
                assert_eq!(given, *value, "{client}");
            }
        }
        for name in ["OK", "ERR_BARRIER_MISMATCH", "BARRIERFLAG_UNNAMED", "WAIT_SPINBLOCK", "MAXNODES", "PAGESIZE"] {
            assert!(c.constants.contains_key(&format!("GASNET_{name}")), "GASNET_{name} is missing");
        }
        assert_eq!(c.constant("SIZEOF_GASNET_REGISTER_VALUE_T"), size_of::<usize>() as i64);
        assert_eq!(c.constant("GASNETI_SCI_MAX_ARGS"), region::MAX_ARGS as i64);
        assert_eq!(c.constant("GEX_AM_INDEX_BASE"), c.constant("GASNETI_SCI_FIRST_CLIENT"));
        assert_eq!(c.constant("GASNETI_SCI_MAX_MEDIUM"), region::MAX_MEDIUM as i64);
        assert_eq!(c.constant("GASNETI_SCI_MAX_LONG"), region::MAX_LONG as i64);
    });
}

macro_rules! same_layout {
    ($c:expr, $name:literal, $rust:ty { $($field:ident),* $(,)? }) => {
        assert_eq!($c.layout(concat!("Size of ", $name)), size_of::<$rust>(), concat!("size of ", $name));
        assert_eq!($c.layout(concat!("Alignment of ", $name)), align_of::<$rust>(), concat!("alignment of ", $name));
        $(assert_eq!(
            $c.layout(concat!("Offset of field: ", $name, "::", stringify!($field))),
            offset_of!($rust, $field),
            concat!($name, "::", stringify!($field)),
        );)*
        // A field that is missing above would go unchecked.
        let fields = $c.declarations.matches(concat!("\"Offset of field: ", $name, "::")).count();
        assert_eq!(fields, [$(stringify!($field)),*].len(), concat!("number of fields of ", $name));
    };
}

#[test]
fn structs_have_one_layout() {
    everywhere(|c| {
        same_layout!(c, "gasnet_seginfo_t", gasnet_seginfo_t { addr, size });
        same_layout!(c, "gasnet_nodeinfo_t", gasnet_nodeinfo_t { host, supernode, offset });
        same_layout!(
            c,
            "gasnet_hsl_t",
            gasnet_hsl_t {
                gasneti_state,
                gasneti_magic,
                gasneti_self,
                gasneti_holder,
                gasneti_below,
                gasneti_since,
                gasneti_file,
                gasneti_line
            }
        );
        same_layout!(
            c,
            "gasneti_sci_client_t",
            gasneti_sci_client_t { modes, config, max_segsize, idents, max_segsize_str }
        );
        same_layout!(c, "gasneti_sci_handlerentry_t", gasneti_sci_handlerentry_t { index, fnptr });
        same_layout!(c, "gasneti_sci_reach_t", gasneti_sci_reach_t { window, mapped, offset, whole });
        same_layout!(c, "gasneti_sci_direct_t", gasneti_sci_direct_t { ways, answer, watch, nodes });
        same_layout!(
            c,
            "gasneti_sci_way_t",
            gasneti_sci_way_t { slots, ready, bell, ends, head, sent, retired, mask, shift, room, heard, lock }
        );
        same_layout!(c, "gasneti_sci_answer_t", gasneti_sci_answer_t { slot, way, sequence, count, answered });
        same_layout!(
            c,
            "gasneti_sci_watch_t",
            gasneti_sci_watch_t { left, pauses, spins, request_sequence, reply_sequence, request, reply, gap }
        );
        // The client's own type for the same table: it has a function pointer where the library takes any pointer.
        same_layout!(c, "gasnet_handlerentry_t", gasneti_sci_handlerentry_t { index, fnptr });
    });
}

#[test]
fn structs_of_ex_have_one_layout() {
    everywhere(|c| {
        same_layout!(c, "gasneti_sci_client_object_t", gasneti_sci_client_object_t { magic, flags, name, cdata });
        same_layout!(c, "gasneti_sci_ep_t", gasneti_sci_ep_t { magic, flags, index, client, segment, cdata });
        same_layout!(
            c,
            "gasneti_sci_segment_t",
            gasneti_sci_segment_t { magic, flags, client, addr, size, cdata, owned }
        );
        same_layout!(
            c,
            "gasneti_sci_tm_t",
            gasneti_sci_tm_t { magic, flags, rank, size, jobranks, ep, cdata, team, scratch, scratch_size }
        );
        same_layout!(c, "gasneti_sci_ad_t", gasneti_sci_ad_t { magic, flags, dt, ops, tm, jobranks, cdata });
        same_layout!(c, "gasneti_sci_srcdesc_t", gasneti_sci_srcdesc_t { addr, size });
        // The library's types for what clients name gex_…: pointers of other types, the same bytes.
        same_layout!(c, "gasneti_sci_ep_location_t", gasneti_sci_ep_location_t { gex_rank, gex_ep_index });
        same_layout!(c, "gex_EP_Location_t", gasneti_sci_ep_location_t { gex_rank, gex_ep_index });
        same_layout!(c, "gasneti_sci_rank_info_t", gasneti_sci_rank_info_t { gex_jobrank });
        same_layout!(
            c,
            "gasneti_sci_am_entry_t",
            gasneti_sci_am_entry_t { gex_index, gex_fnptr, gex_flags, gex_nargs, gex_cdata, gex_name }
        );
        same_layout!(
            c,
            "gex_AM_Entry_t",
            gasneti_sci_am_entry_t { gex_index, gex_fnptr, gex_flags, gex_nargs, gex_cdata, gex_name }
        );
        same_layout!(
            c,
            "gasneti_sci_token_info_t",
            gasneti_sci_token_info_t { gex_srcrank, gex_is_req, gex_is_long, gex_ep, gex_entry }
        );
        same_layout!(
            c,
            "gex_Token_Info_t",
            gasneti_sci_token_info_t { gex_srcrank, gex_is_req, gex_is_long, gex_ep, gex_entry }
        );
    });
}

#[test]
fn scalar_types_are_what_the_exports_take() {
    everywhere(|c| {
        for (name, c_type) in [
            ("gasnet_node_t", "u32"),
            ("gasnet_handler_t", "u8"),
            ("gasnet_handlerarg_t", "i32"),
            ("gasnet_register_value_t", "u64"),
            ("gasnet_image_t", "u32"),
            ("gasnet_valget_handle_t", "u64"),
            ("gasnet_handle_t", "gex_Event_t"),
            ("gex_Event_t", "*mut_gex_Event_s"),
            ("gex_Rank_t", "u32"),
            ("gex_EP_Index_t", "u16"),
            ("gex_Flags_t", "u32"),
            ("gex_DT_t", "u32"),
            ("gex_OP_t", "u32"),
            ("gex_TI_t", "::std::os::raw::c_uint"),
            ("gex_TM_t", "*mutgasneti_sci_tm_t"),
            ("gex_EP_t", "*mutgasneti_sci_ep_t"),
            ("gex_Client_t", "*mutgasneti_sci_client_object_t"),
            ("gex_Segment_t", "*mutgasneti_sci_segment_t"),
            ("gex_AD_t", "*mutgasneti_sci_ad_t"),
            ("gex_AM_SrcDesc_t", "*mutgasneti_sci_srcdesc_t"),
            ("gasnet_token_t", "*mut::std::os::raw::c_void"),
            ("gasnet_threadinfo_t", "*mut::std::os::raw::c_void"),
        ] {
            assert_eq!(c.alias(name), c_type, "{name}");
        }
    });
    // Handles cross as words: the library's `usize` and `u64` are what the client's types hold.
    assert_eq!(size_of::<usize>(), size_of::<*mut c_void>(), "gex_Event_t");
    assert_eq!((size_of::<c_int>(), size_of::<*mut c_void>()), (4, 8), "what the headers assume of C");
}

/// Exported variables, and their types as C declares them.
const VARIABLES: [(&str, &str); 5] = [
    ("gasnet_client_attach_hook", "::std::option::Option<"),
    ("gasnet_frozen", "::std::os::raw::c_int"),
    ("gasnet_max_segsize", "u64"),
    ("gasnet_max_segsize_str", "*const::std::os::raw::c_char"),
    ("gasneti_sci_reach", "gasneti_sci_reach_t"),
];

#[test]
fn what_is_exported_is_declared_and_the_reverse() {
    let symbols = std::fs::read_to_string(root().join("ci/symbols.txt")).unwrap();
    let exported: BTreeSet<String> = symbols.lines().map(str::to_owned).collect();
    // Some are declared in debug builds only, or without.
    let mut declared: BTreeSet<String> =
        CONFIGURATIONS.iter().flat_map(|flags| Header::read(flags).symbols()).collect();
    declared.insert("gasnett_linkconfig_idiotcheck_LITE".into()); // by tools-only clients that ask for it
    for own in ["gasneti_sci_ops", "gasneti_sci_tick_factor", "gasneti_sci_tick_native"] {
        assert!(declared.remove(own), "{own}: static in the headers, each object's own");
    }
    // Those of mail boxes have a header of their own.
    let mail = std::fs::read_to_string(root().join("include/deck.h")).unwrap();
    let name = |before: &str| before.rsplit(|c: char| !c.is_ascii_lowercase() && c != '_').next().map(str::to_owned);
    declared.extend(mail.split('(').filter_map(name).filter(|name| name.starts_with("deck_")));
    let missing = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).cloned().collect::<Vec<_>>();
    assert_eq!(missing(&exported, &declared), [""; 0], "exported, not declared");
    assert_eq!(missing(&declared, &exported), [""; 0], "declared, not exported");
}

#[test]
fn every_exported_variable_is_declared_with_its_type() {
    everywhere(|c| {
        for (name, c_type) in VARIABLES {
            let start = format!("pub static mut {name} : ");
            let at = c.declarations.find(&start).unwrap_or_else(|| panic!("{name} is no variable in C"));
            let rest = c.declarations[at + start.len()..].split_once(';').unwrap().0.replace(' ', "");
            assert!(rest.starts_with(c_type), "{name}: {rest}");
        }
    });
}
