//! Tests of the placement of segments.

use super::*;
use crate::topology;

/// The contract's scheduler: two masters that read, two slaves that write, three queues at these positions.
pub fn scheduler(queues: [usize; 3]) -> String {
    let mut accesses = [String::new(), String::new()];
    for (process, part) in [(0, 0), (1, 0), (2, 1), (3, 1)] {
        for (segment, count) in [300, 200, 100].into_iter().enumerate() {
            let comma = if accesses[part].is_empty() { "" } else { "," };
            accesses[part] +=
                &format!(r#"{comma}{{"process":{process},"segment":{segment},"count":{count},"bytes":2048}}"#);
        }
    }
    let named = queues.map(|at| format!(r#"{{"name":"queue","at":{at}}}"#)).join(",");
    format!(
        r#"{{"format":"gasnet-sci segments","version":1,"processes":[{{"name":"M0"}},{{"name":"M1"}},{{"name":"S0"}},{{"name":"S1"}}],
        "segments":[{named}],"reads":[{}],"writes":[{}]}}"#,
        accesses[0], accesses[1]
    )
}

fn sums(model: &str, queues: [usize; 3]) -> [f64; 2] {
    let machine = topology::of("ring:4", Some(model), 4).unwrap();
    let input = Input::parse(&scheduler(queues)).unwrap();
    Sums::new(&input, &machine).bill(&input.present(4).unwrap()).sums()
}

fn close(got: f64, expected: f64) {
    assert!((got - expected).abs() < 0.1, "{got} instead of {expected}");
}

#[test]
fn the_worked_example_comes_out_to_a_tenth_of_a_ns() {
    for (queues, writes, reads, both, d312) in [
        ([2, 3, 2], 103132745.5, 369496581.8, 472629327.3, 987.7),
        ([0, 3, 2], 154676018.2, 277122436.4, 431798454.5, 753.0),
        ([0, 1, 0], 206245690.9, 184748290.9, 390993981.8, 518.2),
        ([0, 0, 0], 206232490.9, 184748290.9, 390980781.8, 518.2),
        ([2, 2, 2], 103145945.5, 369496581.8, 472642527.3, 987.7),
    ] {
        let [w, r] = sums("scipos", queues);
        close(w, writes);
        close(r, reads);
        close(w + r, both);
        close(sums("d312", queues).iter().sum::<f64>() / 1e6, d312);
    }
}

#[test]
fn of_all_64_placements_the_best_is_proposed() {
    let machine = topology::of("ring:4", Some("scipos"), 4).unwrap();
    let all = (0..64).map(|at| sums("scipos", [at / 16, at / 4 % 4, at % 4]).iter().sum::<f64>());
    let (least, most) =
        all.fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), cost| (least.min(cost), most.max(cost)));
    close(least, 390980781.8);
    close(most, 472642527.3);
    let input = Input::parse(&scheduler([2, 3, 2])).unwrap();
    let sums = Sums::new(&input, &machine);
    let present = input.present(4).unwrap();
    let found = sums.best(&present, Free::Segments, 1).unwrap();
    close(sums.bill(&found.placement).cost(), 390980781.8);
    let placement = Placement { processes: vec![0, 1, 2, 3], segments: vec![0, 0, 0] };
    assert_eq!(found, Found { placement, proved: true, tried: 1 });
}

// 24 or 120 arrangements of processes, each with 64 or 125 of segments.
#[test]
fn few_arrangements_of_processes_are_all_tried_and_the_answer_is_proved() {
    for (ring, n, arrangements) in [("ring:4", 4, 24), ("ring:5", 5, 120)] {
        for room in [None, Some(1), Some(2)] {
            let machine = topology::of(ring, Some("d339"), 4).unwrap();
            let mut input = Input::parse(&scheduler([0, 1, 2])).unwrap();
            input.room = room;
            let sums = Sums::new(&input, &machine);
            let found = sums.best(&input.present(n).unwrap(), Free::Both, 1).unwrap();
            assert_eq!((found.proved, found.tried), (true, arrangements));
            let (mut least, mut all) = (f64::INFINITY, 0);
            arrange(n, 4, &mut Vec::new(), &mut |processes| {
                for at in 0..n * n * n {
                    let segments = vec![at / n / n, at / n % n, at % n];
                    let held = |p: &usize| segments.iter().filter(|q| *q == p).count();
                    if segments.iter().all(|p| held(p) <= room.unwrap_or(3)) {
                        least = least.min(sums.bill(&Placement { processes: processes.into(), segments }).cost());
                    }
                }
                all += 1;
            });
            assert_eq!(all, arrangements);
            close(sums.bill(&found.placement).cost(), least);
        }
    }
}

#[test]
fn what_is_too_much_to_try_is_not_proved_and_says_how_much_was_tried() {
    let best = |topology: &str, input: &Input| {
        let machine = topology::of(topology, Some("scipos"), 4).unwrap();
        Sums::new(input, &machine).best(&input.present(machine.positions()).unwrap(), Free::Both, 1).unwrap()
    };
    let mut input = Input::parse(&scheduler([0, 1, 2])).unwrap();
    // 16! / 12! = 43,680 and 17! / 13! = 57,120.
    let found = best("ring:16", &input);
    assert_eq!((found.proved, found.tried), (true, 43_680));
    let found = best("ring:17", &input);
    assert!(!found.proved && found.tried > BEGINNINGS, "{found:?}");
    // Few arrangements, but each takes long.
    input.reads = vec![input.reads[0].clone(); 2000];
    let found = best("ring:12", &input);
    assert!(!found.proved && found.tried > BEGINNINGS, "{found:?}");
}

#[test]
fn short_room_makes_segments_share_out_the_positions() {
    let machine = topology::of("ring:4", Some("scipos"), 4).unwrap();
    let mut input = Input::parse(&scheduler([1, 2, 3])).unwrap();
    input.room = Some(1);
    let sums = Sums::new(&input, &machine);
    let present = input.present(4).unwrap();
    let best = sums.best(&present, Free::Segments, 1).unwrap().placement;
    let cost = |at: [usize; 3]| sums.bill(&Placement { segments: at.into(), ..present.clone() }).cost();
    let distinct = (0..64).map(|at| [at / 16, at / 4 % 4, at % 4]).filter(|[a, b, c]| a != b && b != c && a != c);
    close(sums.bill(&best).cost(), distinct.map(cost).fold(f64::INFINITY, f64::min));
    // Without `at` the segments begin where there is room, and room for all is no limit.
    let text = r#"{"format":"gasnet-sci segments","version":1,"processes":[{"name":"a"}],"room":1,
        "segments":[{"name":"x"},{"name":"y","at":0},{"name":"z"}],
        "reads":[{"process":0,"segment":0,"count":1,"bytes":8}]}"#;
    let mut fresh = Input::parse(text).unwrap();
    assert_eq!(fresh.present(4).unwrap().segments, [1, 0, 2]);
    assert!(fresh.present(2).unwrap_err().contains("no room"));
    let best = |fresh: &Input| Sums::new(fresh, &machine).segments(&[0], &[1, 0, 2]);
    assert_eq!(best(&fresh)[0], 0);
    fresh.room = Some(3);
    let with_room = best(&fresh);
    fresh.room = None;
    assert_eq!((fresh.present(4).unwrap().segments, with_room), (vec![0, 0, 0], best(&fresh)));
    input.room = Some(0);
    assert!(Sums::new(&input, &machine).best(&present, Free::Segments, 1).unwrap_err().contains("no room"));
}

#[test]
fn what_does_not_fit_is_refused() {
    let with = |from: &str, to: &str| Input::parse(&scheduler([0, 1, 2]).replacen(from, to, 1));
    assert!(with(r#""process":3"#, r#""process":4"#).unwrap_err().contains("process 4 to segment 0"));
    assert!(with("segments\",\"version\":1", "matrix\",\"version\":1").unwrap_err().contains("--segments reads"));
    let input = with(r#""at":2"#, r#""at":7"#).unwrap();
    assert!(input.present(4).unwrap_err().contains("queue is at position 7; there are 4"));
    let input = with(r#""name":"M1""#, r#""name":"M1","at":0"#).unwrap();
    assert!(input.present(4).unwrap_err().contains("two processes are at position 0"));
}

// Four processes in a ring of messages, and a segment that the first one reads.
fn senders() -> Input {
    let text = r#"{"format":"gasnet-sci segments","version":1,
        "processes":[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"}],"segments":[{"name":"s","at":3}],
        "reads":[{"process":0,"segment":0,"count":2,"bytes":64}],
        "messages":[{"from":0,"to":2,"count":9,"bytes":2048},{"from":3,"to":3,"count":5,"bytes":8},
            {"from":2,"to":1,"count":7,"bytes":100}]}"#;
    Input::parse(text).unwrap()
}

#[test]
fn messages_are_writes_to_where_the_other_process_is() {
    let machine = topology::of("ring:4", Some("scipos"), 4).unwrap();
    let input = senders();
    let sums = Sums::new(&input, &machine);
    let bill = sums.bill(&Placement { processes: vec![0, 1, 2, 3], segments: vec![0] });
    let write = |bytes: f64, p: usize, q: usize| machine.access(false, bytes)[machine.level(p, q)];
    assert_eq!(bill.nodes, [[9.0 * write(2048.0, 0, 2), 0.0], [0.0; 2], [7.0 * write(100.0, 2, 1), 0.0], [0.0; 2]]);
    // The way from 2 to 1 goes round.
    assert_eq!(bill.loads[0], 9.0 * 2048.0 + 7.0 * 100.0);
    let json = sums.to_json(&[]);
    assert_eq!((json["accesses"].as_array().unwrap().len(), json["messages"][2]["to"].as_u64()), (1, Some(1)));
}

#[test]
fn processes_that_send_are_placed_by_trying_all() {
    let machine = topology::of("ring:4", Some("scipos"), 4).unwrap();
    let input = senders();
    let sums = Sums::new(&input, &machine);
    let found = sums.best(&input.present(4).unwrap(), Free::Both, 1).unwrap();
    assert!(found.proved);
    let best = sums.bill(&found.placement).cost();
    arrange(4, 4, &mut Vec::new(), &mut |processes| {
        for segment in 0..4 {
            let other = Placement { processes: processes.to_vec(), segments: vec![segment] };
            assert!(sums.bill(&other).cost() >= best * LESS);
        }
    });
}

#[test]
fn messages_to_nobody_are_refused() {
    let text = r#"{"format":"gasnet-sci segments","version":1,"processes":[{"name":"a"}],"segments":[],
        "messages":[{"from":0,"to":1,"count":1,"bytes":1}]}"#;
    assert!(Input::parse(text).unwrap_err().contains("a message of process 0 to process 1"));
}
