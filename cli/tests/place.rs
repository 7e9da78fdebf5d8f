//! `gasnet-sci place`, as a user calls it: what it prints, the files it writes, what it refuses.

mod folder;

use folder::Folder;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn read(folder: &Folder, name: &str) -> String {
    fs::read_to_string(folder.path(name)).unwrap()
}

fn place(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gasnet-sci")).arg("place").args(arguments).output().unwrap()
}

fn text(arguments: &[&str]) -> String {
    let output = place(arguments);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn answer(arguments: &[&str]) -> Value {
    serde_json::from_str(&text(&[arguments, &["--json", "-"]].concat())).unwrap()
}

fn refusal(arguments: &[&str]) -> String {
    let output = place(arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len(), error.lines().count()), (Some(1), 0, 1), "{error}");
    error
}

/// The contract's example: in four pairs of neighbours each writes 64 bytes to the other one.
fn exchanges(places: &str) -> String {
    let pairs = [(0, 1), (1, 0), (2, 3), (3, 2), (4, 5), (5, 4), (6, 7), (7, 6)];
    let rows: Vec<Value> = pairs.iter().map(|(from, to)| json!({"from": from, "to": to, "put": [1, 64]})).collect();
    format!(
        r#"{{"format":"gasnet-sci matrix","version":1,"nodes":8,"program":"prog","places":[{places}],"rows":{}}}"#,
        Value::from(rows)
    )
}

#[test]
fn the_contracts_torus_is_solved_and_the_answer_computes_itself() {
    let folder = Folder::new("place-torus");
    let matrix = folder.write("m.json", &exchanges(""));
    let answer = answer(&[&matrix, "--topology", "torus:4x2", "--map", &folder.path("map")]);
    let mappings = answer["mappings"].as_array().unwrap();
    let names: Vec<&str> = mappings.iter().map(|mapping| mapping["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["identity", "present", "proposal"]);
    for (mapping, cost, busiest) in [(&mappings[0], 43480.73, 128.0), (&mappings[2], 43216.73, 64.0)] {
        assert!((mapping["cost"].as_f64().unwrap() - cost).abs() < 0.01);
        assert_eq!(mapping["busiest"]["bytes"], busiest);
    }
    assert_eq!((&answer["answer"]["verdict"], &answer["answer"]["proved"]), (&json!("move"), &json!(true)));

    // What a page does: costs and loads of each mapping from the tables alone.
    let machine = &answer["machine"];
    for mapping in mappings {
        let at = |rank: &Value| mapping["at"][rank.as_u64().unwrap() as usize].as_u64().unwrap() as usize;
        let (mut cost, mut loads) = (0.0, vec![0.0; machine["links"].as_array().unwrap().len()]);
        for row in answer["matrix"]["rows"].as_array().unwrap() {
            let (p, q) = (at(&row["from"]), at(&row["to"]));
            let level = machine["level"][p][q].as_u64().unwrap() as usize;
            for amount in row["amounts"].as_array().unwrap() {
                let classes = machine["classes"].as_array().unwrap();
                let class = classes.iter().position(|class| *class == amount["class"]).unwrap();
                let (count, bytes) = (amount["count"].as_f64().unwrap(), amount["bytes"].as_f64().unwrap());
                let of = |pair: &Value| count * pair[0].as_f64().unwrap() + bytes * pair[1].as_f64().unwrap();
                cost += of(&machine["costs"][class][level]);
                for part in ["way", "back"] {
                    for link in machine["routes"][p][q][part].as_array().unwrap() {
                        loads[link.as_u64().unwrap() as usize] += of(&machine["loads"][class][part]);
                    }
                }
            }
        }
        assert!((cost - mapping["cost"].as_f64().unwrap()).abs() < 1e-6);
        assert_eq!(json!(loads), mapping["links"]);
    }

    let map = read(&folder, "map");
    let lines: Vec<&str> = map.lines().filter(|line| !line.starts_with('#')).collect();
    let proposal = mappings[2]["at"].as_array().unwrap();
    let expected: Vec<String> = proposal.iter().enumerate().map(|(rank, at)| format!("{rank} pos:{at}")).collect();
    assert_eq!(lines, expected);

    // With the proposal as the present mapping there is nothing to win.
    let again = text(&[&matrix, "--topology", "torus:4x2", "--from", &folder.path("map")]);
    assert!(again.contains("\nstay: ") && again.contains("proved: no mapping is better"), "{again}");
}

#[test]
fn recorded_positions_are_the_present_mapping_and_equal_costs_are_said() {
    let folder = Folder::new("place-recorded");
    let places: Vec<String> = (0..8).map(|rank| format!(r#"{{"rank":{rank},"position":{}}}"#, 7 - rank)).collect();
    let matrix = folder.write("m.json", &exchanges(&places.join(",")));
    let with = answer(&[&matrix, "--topology", "ring:8"]);
    assert_eq!(with["mappings"][1]["at"], json!([7, 6, 5, 4, 3, 2, 1, 0]));
    assert_eq!((&with["answer"]["verdict"], &with["mappings"][2]["at"]), (&json!("equal"), &with["mappings"][1]["at"]));
    assert!(text(&[&matrix, "--topology", "ring:8"]).contains("all equal"));
    let fixed = answer(&[&matrix, "--topology", "torus:4x2", "--fix", "0=5,7=0", "--objective", "cost+0.5*link"]);
    assert_eq!((&fixed["mappings"][2]["at"][0], &fixed["mappings"][2]["at"][7]), (&json!(5), &json!(0)));
}

#[test]
fn the_same_seed_prints_the_same_answer() {
    let folder = Folder::new("place-seed");
    let matrix = folder.write("m.json", &exchanges(""));
    let arguments = [&matrix, "--topology", "torus:4x4", "--iterations", "3000", "--seed", "7", "--model", "d339"];
    assert_eq!(text(&arguments), text(&arguments));
}

// A copy of /sys/devices/system: two packages of two cores.
#[test]
fn heavy_pairs_of_a_host_come_to_lie_in_one_package() {
    let folder = Folder::new("place-host");
    folder.write("sys/cpu/online", "0-3\n");
    folder.write("sys/node/online", "0\n");
    folder.write("sys/node/node0/cpulist", "0-3\n");
    for cpu in 0..4 {
        folder.write(&format!("sys/cpu/cpu{cpu}/topology/physical_package_id"), &format!("{}\n", cpu / 2));
        folder.write(&format!("sys/cpu/cpu{cpu}/topology/core_cpus_list"), &format!("{cpu}\n"));
    }
    let topology = folder.write("host.json", &json!({"kind": "host", "sys": folder.path("sys")}).to_string());
    let rows = json!([{"from": 0, "to": 2, "short": [1000, 0]}, {"from": 3, "to": 1, "get": [10, 1 << 20]}]);
    let matrix = format!(r#"{{"format":"gasnet-sci matrix","version":1,"nodes":4,"rows":{rows}}}"#);
    let matrix = folder.write("m.json", &matrix);
    let answer = answer(&[&matrix, "--topology", &topology, "--map", &folder.path("map")]);
    assert_eq!(answer["machine"]["drawing"]["kind"], "tree");
    let package = |rank: usize| answer["mappings"][2]["at"][rank].as_u64().unwrap() / 2;
    assert!(package(0) == package(2) && package(1) == package(3) && package(0) != package(1));
    assert!(read(&folder, "map").contains("\n0 cpu:"));
    let bound = |cpu| folder.write("from", &format!("0 cpu:0\n1 cpu:{cpu}\n2 cpu:2\n3 cpu:3\n"));
    text(&[&matrix, "--topology", &topology, "--from", &bound(1)]);
    assert!(refusal(&[&matrix, "--topology", &topology, "--from", &bound(9)]).contains("line 2: cpu:9 is no position"));
}

#[test]
fn published_problems_are_proved() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join("data/tai12a.dat");
    let out = text(&["--qaplib", file.to_str().unwrap(), "--exact"]);
    assert!(out.contains("identity   339684\n") && out.contains("found      224416   proved best\n"), "{out}");
}

#[test]
fn segments_are_placed_as_the_worked_example_says() {
    let folder = Folder::new("place-segments");
    let accesses = |processes: [usize; 2]| -> Value {
        let of = |process: usize| {
            let one =
                move |(segment, count)| json!({"process": process, "segment": segment, "count": count, "bytes": 2048});
            [300, 200, 100].into_iter().enumerate().map(one)
        };
        processes.into_iter().flat_map(of).collect()
    };
    let input = json!({"format": "gasnet-sci segments", "version": 1,
        "processes": [{"name": "M0"}, {"name": "M1"}, {"name": "S0"}, {"name": "S1"}],
        "segments": [{"name": "high", "at": 2}, {"name": "middle", "at": 3}, {"name": "low", "at": 2}],
        "reads": accesses([0, 1]), "writes": accesses([2, 3])});
    let file = folder.write("s.json", &input.to_string());
    let answer = answer(&[&file, "--segments", "--topology", "ring:4"]);
    for (mapping, cost) in [(1, 472629327.3), (2, 390980781.8)] {
        assert!((answer["mappings"][mapping]["cost"].as_f64().unwrap() - cost).abs() < 0.1);
    }
    assert_eq!(answer["segments"]["mappings"][2]["at"], json!([0, 0, 0]));
    assert!(answer["answer"]["proved"] == true);
    assert!(text(&[&file, "--segments", "--topology", "ring:4"]).contains("no mapping is better (the processes stay)"));
    let shown = text(&[&file, "--segments=both", "--topology", "ring:4"]);
    assert!(shown.contains("middle") && shown.contains("pos:3"), "{shown}");
    // 4! arrangements are few, 20! / 16! are not.
    let proof = "\nproved: no mapping is better (all 24 arrangements of the processes tried)\n";
    assert!(shown.contains(proof), "{shown}");
    let shown = text(&[&file, "--segments=both", "--topology", "ring:20"]);
    assert!(
        shown.contains("\nnot proved best (") && shown.contains(" arrangements of the processes tried)"),
        "{shown}"
    );
}

#[test]
fn a_file_of_processes_brings_its_machines_along_and_messages_count() {
    let folder = Folder::new("place-machines");
    let machines = json!({"kind": "links", "machines": ["left", "right"],
        "links": [{"name": "cable", "ends": [0, 1], "alpha": 100, "beta": 0.5}]});
    let input = json!({"format": "gasnet-sci segments", "version": 1, "topology": machines,
        "processes": [{"name": "a"}, {"name": "b"}], "segments": [{"name": "s", "at": 1}],
        "writes": [{"process": 0, "segment": 0, "count": 3, "bytes": 8}],
        "messages": [{"from": 1, "to": 0, "count": 5, "bytes": 80}]});
    let file = folder.write("s.json", &input.to_string());
    let costs = |arguments: &[&str]| {
        let answer = answer(arguments);
        ["present", "proposal"].map(|name| {
            answer["mappings"].as_array().unwrap().iter().find(|m| m["name"] == name).unwrap()["cost"].as_f64().unwrap()
        })
    };
    // The message stays what it is, and the segment goes to its writer.
    assert_eq!(costs(&[&file, "--segments"]), [3.0 * 104.0 + 5.0 * 140.0, 5.0 * 140.0]);
    let alone = folder.write("machines.json", &machines.to_string());
    assert_eq!(costs(&[&file, "--segments", "--topology", &alone]), costs(&[&file, "--segments"]));
    assert!(costs(&[&file, "--segments", "--topology", "ring:2"])[0] > 1e4);
}

#[test]
fn a_page_may_begin_empty() {
    let folder = Folder::new("place-empty");
    for more in [&[][..], &["--topology", "torus:4x2", "--model", "d339"]] {
        let page = folder.path("page.html");
        assert_eq!(text(&[&["--empty", "--html", &page][..], more].concat()), "");
        let html = read(&folder, "page.html");
        assert!(html.contains("nothing is here yet") && !html.contains("<section id=\"mappings\""));
    }
    for (arguments, what) in
        [(&["--empty"][..], "--html"), (&["--empty", "--html", "x", "--segments"], "cannot be used with")]
    {
        let output = place(arguments);
        assert!(
            output.status.code() == Some(2) && String::from_utf8_lossy(&output.stderr).contains(what),
            "{output:?}"
        );
    }
}

#[test]
fn a_map_says_where_segments_go_in_comments_that_readers_pass_over() {
    let folder = Folder::new("place-segments-map");
    let matrix = folder.write("m.json", r#"{"format":"gasnet-sci matrix","version":1,"nodes":2,"rows":[]}"#);
    let segments = |room: usize| {
        json!({"format": "gasnet-sci segments", "version": 1, "room": room,
            "processes": [{"name": "a"}, {"name": "b"}],
            "segments": [{"name": "one\n9 pos:9", "at": 2}, {"name": "two words", "at": 3}],
            "writes": [{"process": 1, "segment": 0, "count": 9, "bytes": 64},
                {"process": 0, "segment": 1, "count": 5, "bytes": 64}]})
    };
    let file = folder.write("s.json", &segments(2).to_string());
    let map = folder.path("map");
    let lines = |arguments: &[&str]| -> Vec<String> {
        text(&[&[&file, "--topology", "ring:4", "--map", &map], arguments].concat());
        read(&folder, "map").lines().skip(1).map(String::from).collect()
    };
    let moved = ["0 pos:0", "1 pos:1", "# segment one 9 pos:9 at pos:1", "# segment two words at pos:0"];
    assert_eq!(lines(&["--segments"]), moved);
    let read = answer(&[&matrix, "--topology", "ring:4", "--from", &map]);
    assert_eq!(read["mappings"][1]["at"], json!([0, 1]));
    // Where moving does not pay, they stay.
    let stay = ["0 pos:0", "1 pos:1", "# segment one 9 pos:9 at pos:2", "# segment two words at pos:3"];
    assert_eq!(lines(&["--segments", "--min-gain", "101"]), stay);
}

#[test]
fn a_file_of_another_format_is_named() {
    let folder = Folder::new("place-formats");
    let matrix = folder.write("m.json", &exchanges(""));
    let map = folder.write("map", "0 pos:1\n1 pos:0\n");
    let placement = folder.path("placement.json");
    text(&[&matrix, "--topology", "ring:8", "--json", &placement]);
    let data = |name: &str| format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    let topology = folder.write("t.json", r#"{"kind":"ring","nodes":8}"#);
    let costs = folder.write("costs.json", r#"{"alpha":[[0]],"beta":[[0]]}"#);
    let model = folder.write("model.json", r#"{"profile":"d339","setup":"12us"}"#);
    let files = [
        (data("bench.json"), "results of measurements (gasnet-sci bench --json)"),
        (matrix.clone(), "a traffic matrix (gasnetrun_sci --matrix)"),
        (data("segments.json"), "processes and segments (gasnet-sci place --segments)"),
        (placement, "a placement (gasnet-sci place --json)"),
        (costs, "costs of pairs, alpha and beta (gasnet-sci place --topology)"),
        (topology, "a topology (gasnet-sci place --topology)"),
        (model, "a model of links (gasnet-sci place --model)"),
        (map, "a map of ranks (gasnet-sci place --map)"),
        (data("tai12a.dat"), "a quadratic assignment problem (gasnet-sci place --qaplib)"),
    ];
    let [results, traffic, segments, _, costs, topology, model, map, qaplib] = files.each_ref().map(|(_, name)| *name);
    for (file, name) in &files {
        // Topologies and models are files by a / in their names.
        let readers: [(&[&str], &str, &str); 7] = [
            (&["place", file, "--topology", "ring:8"], "gasnet-sci place", traffic),
            (&["place", file, "--topology", "ring:8", "--segments"], "--segments", segments),
            (&["place", &matrix, "--topology", file], "--topology", topology),
            (&["place", &matrix, "--topology", "ring:8", "--model", file], "--model", model),
            (&["place", &matrix, "--topology", "ring:8", "--from", file], "--from", map),
            (&["place", "--qaplib", file], "--qaplib", qaplib),
            (&["page", file], "gasnet-sci page", results),
        ];
        for (arguments, reader, wanted) in readers {
            if *name == wanted || (reader == "--topology" && *name == costs) {
                continue;
            }
            let output = Command::new(env!("CARGO_BIN_EXE_gasnet-sci")).args(arguments).output().unwrap();
            let error = String::from_utf8(output.stderr).unwrap();
            assert_eq!((output.status.code(), output.stdout.len(), error.lines().count()), (Some(1), 0, 1), "{error}");
            let expected = format!(" {file}: it holds {name}, and {reader} reads {wanted}\n");
            assert!(error.starts_with("gasnet-sci: ") && error.ends_with(&expected), "{arguments:?}: {error}");
        }
    }
}

#[test]
fn what_is_wrong_is_named_in_one_line() {
    let folder = Folder::new("place-wrong");
    let matrix = folder.write("m.json", &exchanges(""));
    let points =
        folder.write("points.json", &json!({"alpha": vec![vec![1; 8]; 8], "beta": vec![vec![1; 8]; 8]}).to_string());
    let note = folder.write("note", "nothing that is known\n");
    let cases: [(&[&str], &str); 13] = [
        (&["/nonexistent.json", "--topology", "ring:8"], "/nonexistent.json"),
        (&[&matrix], "--topology must say"),
        (&[&matrix, "--topology", "ring:4"], "8 ranks need as many positions, it has 4"),
        (&[&matrix, "--topology", "mesh:8"], "'mesh:8' is not ring:N"),
        (&[&matrix, "--topology", "ring:8", "--model", "d340"], "'d340' is not off, count"),
        (&[&matrix, "--topology", "host", "--model", "d339"], "--model is for ring, torus and switch"),
        (&[&matrix, "--topology", "ring:8", "--objective", "speed"], "'speed' is no objective"),
        (&[&matrix, "--topology", "ring:8", "--objective", "link", "--exact"], "--exact is for"),
        (&[&matrix, "--topology", &points, "--objective", "link"], "nothing is known of the links"),
        (&[&matrix, "--topology", "ring:8", "--fix", "9=0"], "--fix 9=0"),
        (&[&matrix, "--topology", "ring:8", "--from", &note], "line 1: "),
        (&[&matrix, "--topology", "ring:8", "--segments"], "--segments reads"),
        (&["--qaplib", &note], "is no whole number"),
    ];
    for (arguments, what) in cases {
        let error = refusal(arguments);
        assert!(error.starts_with("gasnet-sci: ") && error.contains(what), "{error}");
    }
}

#[test]
fn the_page_is_one_file_with_tables_and_the_whole_answer() {
    let folder = Folder::new("place-page");
    let matrix = folder.write(
        "m.json",
        r#"{"format":"gasnet-sci matrix","version":1,"nodes":3,"program":"a</script><b>","rows":[
            {"from":0,"to":2,"put":[10,640]},{"from":2,"to":0,"put":[10,640]},{"from":1,"to":0,"get":[1,8]}]}"#,
    );
    let arguments = [matrix.as_str(), "--topology", "torus:3x2"];
    text(&[&arguments[..], &["--html", &folder.path("page.html")]].concat());
    let page = read(&folder, "page.html");
    // Names end neither the data nor a table.
    let [_, data] = page.split("id=\"placement\">").collect::<Vec<_>>()[..] else { panic!("{page}") };
    let data = data.split("</script>").next().unwrap();
    assert_eq!(serde_json::from_str::<Value>(data).unwrap(), answer(&arguments));
    assert!(!page.contains("<b>, ") && page.contains("of a&lt;/script&gt;&lt;b&gt;"));
    // 6 positions have 12 links, one of each kind from each.
    let rows = |table: &str| {
        let section = page.split(&format!("<section id=\"{table}\">")).nth(1).unwrap();
        section.split("</section>").next().unwrap().matches("<tr>").count() - 1
    };
    assert_eq!(["mappings", "ranks", "links", "pairs"].map(rows), [3, 3, 12, 2]);
    assert!(page.contains("default-src 'none'") && !page.contains("http:") && !page.contains("https:"));
    assert!(
        refusal(&[&matrix, "--topology", "ring:513", "--html", "x"]).contains("--html is for 512 positions at most")
    );
}

#[test]
fn atomic_operations_count_and_unknown_kinds_are_told() {
    let folder = Folder::new("place-kinds");
    let rows = json!([{"from": 0, "to": 1, "atomic": [100000, 800000]}, {"from": 1, "to": 0, "later": [1, 2]}]);
    let matrix = format!(r#"{{"format":"gasnet-sci matrix","version":1,"nodes":8,"rows":{rows}}}"#);
    let matrix = folder.write("m.json", &matrix);
    let arguments = [matrix.as_str(), "--topology", "torus:4x2", "--model", "d339"];
    assert_eq!(answer(&arguments)["mappings"][0]["reads"], json!(100000.0 * 27000.0));
    assert!(text(&arguments).contains("\nnote: the matrix counts 'later'"));
}

#[test]
fn recorded_cpus_are_looked_for_on_their_own_host() {
    let folder = Folder::new("place-homes");
    folder.write("sys/cpu/online", "0-1\n");
    for cpu in 0..2 {
        folder.write(&format!("sys/cpu/cpu{cpu}/topology/core_cpus_list"), &format!("{cpu}\n"));
    }
    let host = |name: &str| json!({"name": name, "sys": folder.path("sys")});
    let hosts = folder.write("h.json", &json!({"kind": "hosts", "hosts": [host("a"), host("b")]}).to_string());
    let one = folder.write("one.json", &json!({"kind": "host", "sys": folder.path("sys")}).to_string());
    let matrix = |name: &str, places: &[(&str, &str)]| {
        let place = |(rank, (host, cpus)): (usize, &(&str, &str))| json!({"rank": rank, "host": host, "cpus": cpus});
        let places: Vec<Value> = places.iter().enumerate().map(place).collect();
        let value = json!({"format": "gasnet-sci matrix", "version": 1, "nodes": places.len(), "places": places,
            "rows": [{"from": 0, "to": 1, "put": [10, 100]}]});
        folder.write(name, &value.to_string())
    };
    let all = matrix("all", &[("b", "0"), ("b", "1"), ("a", "0"), ("a", "1")]);
    assert_eq!(answer(&[&all, "--topology", &hosts])["mappings"][1]["at"], json!([2, 3, 0, 1]));
    let both = matrix("both", &[("b", "1"), ("b", "0")]);
    assert_eq!(answer(&[&both, "--topology", &hosts])["mappings"][1]["at"], json!([3, 2]));
    assert_eq!(answer(&[&both, "--topology", &one])["mappings"][1]["at"], json!([1, 0]));
    assert!(!text(&[&both, "--topology", &hosts]).contains("note: "));

    let note = "note: the recorded places are not positions of ";
    let apart = matrix("apart", &[("a", "1"), ("b", "0")]);
    for (matrix, topology) in
        [(&apart, one.as_str()), (&matrix("far", &[("c", "0"), ("c", "1")]), &hosts), (&both, "ring:2")]
    {
        let arguments = [matrix.as_str(), "--topology", topology];
        assert_eq!(answer(&arguments)["mappings"][1]["at"], json!([0, 1]));
        assert!(text(&arguments).contains(note), "{topology}");
    }
}

#[test]
fn what_would_never_end_is_refused() {
    let folder = Folder::new("place-endless");
    let rows = json!([{"from": 0, "to": 1, "put": [1000, 8]}]);
    let matrix = format!(
        r#"{{"format":"gasnet-sci matrix","version":1,"nodes":2,"places":[{{"rank":0,"cpus":"0-18446744073709551615"}}],"rows":{rows}}}"#
    );
    let matrix = folder.write("m.json", &matrix);
    assert!(text(&[&matrix, "--topology", "host"]).contains("recorded places"));
    let model = folder.path("loop.json");
    folder.write("loop.json", &json!(model).to_string());
    let costs = folder.write("costs.json", r#"{"alpha":[[0,1e308],[1e307,0]],"beta":[[0,0],[0,0]]}"#);
    let qap = folder.write("huge.dat", "2\n0 1e200 1e200 0\n0 1e200 1e200 0\n");
    let segments = json!({"format": "gasnet-sci segments", "version": 1, "processes": [{"name": "p"}],
        "segments": [{"name": "s"}], "reads": [{"process": 0, "segment": 0, "count": 9, "bytes": 8}]});
    let segments = folder.write("s.json", &segments.to_string());
    let slow = format!("d339,link=0.{}1", "0".repeat(300));
    for (arguments, what) in [
        (&[&matrix, "--topology", "ring:2", "--model", &model][..], "is not one JSON object"),
        (&[&matrix, "--topology", "ring:2", "--model", "d339,read=1e300,latency=1e300"], "read=1e300"),
        (&[&matrix, "--topology", "ring:2", "--model", &slow], "too slow"),
        (&[&matrix, "--topology", &costs], "too large"),
        (&[&segments, "--segments", "--topology", &costs], "too large"),
        (&["--qaplib", &qap], "too large"),
    ] {
        let error = refusal(arguments);
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn a_map_moves_ranks_only_if_that_pays_or_is_fixed() {
    let folder = Folder::new("place-verdicts");
    let matrix = folder.write("m.json", &exchanges(""));
    let best = folder.write(
        "best",
        &[0, 4, 1, 5, 2, 6, 3, 7].iter().enumerate().map(|(r, p)| format!("{r} pos:{p}\n")).collect::<String>(),
    );
    let out = folder.path("out");
    let with = |more: &[&str]| {
        let arguments = [&[&matrix, "--topology", "torus:4x2", "--map", &out], more].concat();
        let verdict = answer(&arguments)["answer"]["verdict"].as_str().unwrap().to_string();
        let out = read(&folder, "out");
        let lines: Vec<String> = out.lines().filter(|line| !line.starts_with('#')).map(String::from).collect();
        (verdict, lines, text(&arguments))
    };
    let identity: Vec<String> = (0..8).map(|rank| format!("{rank} pos:{rank}")).collect();
    // The gain is below one in a hundred.
    let (verdict, lines, _) = with(&["--min-gain", "5"]);
    assert_eq!((verdict.as_str(), lines), ("stay", identity.clone()));
    let (verdict, ..) = with(&["--from", &best, "--min-gain", "0"]);
    assert_eq!(verdict, "stay");
    let (verdict, lines, _) = with(&["--min-gain", "5", "--fix", "0=7"]);
    assert_eq!((verdict.as_str(), lines[0].as_str()), ("move", "0 pos:7"));
    // Neighbours are kept apart by force.
    let (verdict, lines, said) = with(&["--from", &best, "--fix", "0=0,1=3,2=1"]);
    assert_eq!(
        (verdict.as_str(), &lines[..3]),
        ("fixed", &["0 pos:0".to_string(), "1 pos:3".into(), "2 pos:1".into()][..])
    );
    assert!(
        said.contains("the fixed ranks cost ")
            && said.contains("no mapping with these fixed ranks is better")
            && !said.contains("-0."),
        "{said}"
    );
}

#[test]
fn seconds_are_a_cap_for_everything() {
    let folder = Folder::new("place-cap");
    let n = 1024;
    let rows: Vec<Value> = (0..n)
        .flat_map(|i| [1, 7, 50, 333].map(|step| json!({"from": i, "to": (i * step + 1) % n, "put": [9, 100 * step]})))
        .collect();
    let matrix = json!({"format": "gasnet-sci matrix", "version": 1, "nodes": n, "rows": rows});
    let matrix = folder.write("m.json", &matrix.to_string());
    let told = answer(&[&matrix, "--topology", "torus:32x32", "--model", "d339", "--seconds", "0.001"]);
    assert_eq!((&told["answer"]["cut"], &told["answer"]["iterations"]), (&json!(true), &json!(0)));
}
