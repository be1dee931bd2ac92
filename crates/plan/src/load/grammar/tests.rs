use super::*;
use crate::load::parse_offsets;
use crate::units::NS_PER_S;
use proptest::prelude::*;

const S: u64 = NS_PER_S;

fn segments(text: &str) -> Vec<Segment> {
    text.parse::<Shape>()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .segments(|file| Err(format!("unexpected file {file:?}")))
        .unwrap()
}

fn error(text: &str) -> String {
    text.parse::<Shape>().expect_err(text).to_string()
}

fn hold_for(events: u64, duration_ns: u64) -> Segment {
    Segment::Hold { rate: Rate::per_second(events), duration_ns: Some(duration_ns) }
}

#[test]
fn every_shape() {
    assert_eq!(
        segments("hold 20k"),
        [Segment::Hold { rate: Rate::per_second(20_000), duration_ns: None }]
    );
    assert_eq!(segments("hold 20k for 1m"), [hold_for(20_000, 60 * S)]);
    assert_eq!(
        segments("ramp 1k..20k over 30s"),
        [Segment::Ramp {
            from: Rate::per_second(1_000),
            to: Rate::per_second(20_000),
            duration_ns: 30 * S
        }]
    );
    assert_eq!(
        segments("ramp 0..1k over 5"),
        [Segment::Ramp {
            from: Rate::per_second(0),
            to: Rate::per_second(1_000),
            duration_ns: 5 * S
        }]
    );
    assert_eq!(
        segments("burst 500 every 1s"),
        [Segment::Burst { size: 500, every_ns: S, duration_ns: None }]
    );
    assert_eq!(
        segments("burst 500 every 1s for 30s"),
        [Segment::Burst { size: 500, every_ns: S, duration_ns: Some(30 * S) }]
    );
}

#[test]
fn blanks_and_the_order_of_clauses_do_not_matter() {
    assert_eq!(segments("  ramp 1k .. 20k/s over 30 s ; "), segments("ramp 1k..20k over 30s"));
    assert_eq!(segments("burst 500 for 30s every 1s"), segments("burst 500 every 1s for 30s"));
}

#[test]
fn a_step_visits_both_ends() {
    let steps: Vec<Segment> = (1..=10).map(|k| hold_for(k * 1_000, 5 * S)).collect();
    assert_eq!(segments("step 1k..10k by 1k every 5s"), steps);
    let down: Vec<Segment> = steps.into_iter().rev().collect();
    assert_eq!(segments("step 10k..1k by 1k every 5s"), down);
    assert_eq!(segments("step 5..5 by 1 every 1s"), [hold_for(5, S)]);
}

#[test]
fn the_last_step_is_smaller_if_steps_do_not_divide_the_way() {
    assert_eq!(
        segments("step 1..6 by 2 every 1s"),
        [hold_for(1, S), hold_for(3, S), hold_for(5, S), hold_for(6, S)]
    );
    assert_eq!(segments("step 6..1 by 10 every 1s"), [hold_for(6, S), hold_for(1, S)]);
}

#[test]
fn steps_of_mixed_units_stay_exact() {
    let rates: Vec<f64> = segments("step 30/m..2/s by 0.5/s every 1s")
        .into_iter()
        .map(|one| match one {
            Segment::Hold { rate, .. } => rate.per_s_f64(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(rates, [0.5, 1.0, 1.5, 2.0]);
}

#[test]
fn parts_are_joined_and_files_are_read_in_place() {
    let shape: Shape = "hold 5 for 1s; replay day one.txt; hold 6".parse().unwrap();
    assert!(shape.has_replay());
    let all = shape
        .segments(|file| {
            assert_eq!(file, Path::new("day one.txt"));
            Ok::<_, ()>(Segment::replay([1, 2]))
        })
        .unwrap();
    assert_eq!(all.len(), 3);
    assert_eq!(all[1], Segment::replay([1, 2]));
}

#[test]
fn errors_name_the_part_and_what_was_meant() {
    let table = [
        ("", "part 1 is empty; write a shape such as `hold 20k for 1m`"),
        ("hold 5 for 1s;; hold 6", "part 2 is empty; write a shape such as `hold 20k for 1m`"),
        (
            "hold 5 for 1s; rmap 1..2 over 5s",
            "part 2: unknown shape \"rmap\"; write one of hold, ramp, step, burst, replay; \
             did you mean \"ramp\"?",
        ),
        ("20k", "part 1: unknown shape \"20k\"; write one of hold, ramp, step, burst, replay"),
        (
            "hold 20k fro 1m",
            "part 1: unknown word \"fro\"; write `hold RATE [for DURATION]`; did you mean \"for\"?",
        ),
        ("hold", "part 1: no value is given; write `hold RATE [for DURATION]`"),
        ("hold 20k for", "part 1: nothing stands after `for`; write `hold RATE [for DURATION]`"),
        (
            "hold 20k over 1s",
            "part 1: `over` does not belong here, or stands twice; write `hold RATE [for DURATION]`",
        ),
        (
            "hold 20k for 1s for 2s",
            "part 1: `for` does not belong here, or stands twice; write `hold RATE [for DURATION]`",
        ),
        (
            "hold 0",
            "part 1: \"0\": a rate must be above zero; write events per time, such as 20k, \
             20k/s, 30/m or 0.01/s",
        ),
        (
            "hold 5 for 0s",
            "part 1: \"0s\": a duration must be above zero; write a number and a unit, such \
             as 250us, 10ms, 1.5s, 30 or 2m",
        ),
        ("ramp 1k over 30s", "part 1: \"1k\" is no range; write `ramp RATE..RATE over DURATION`"),
        ("ramp 1k..2k", "part 1: `over` is missing; write `ramp RATE..RATE over DURATION`"),
        ("ramp 0..0 over 5s", "part 1: a ramp from 0 to 0 sends nothing; raise one end"),
        (
            "ramp 1k..fast over 5s",
            "part 1: \"fast\": not a rate; write events per time, such as 20k, 20k/s, 30/m or \
             0.01/s",
        ),
        (
            "step 1..2 every 1s",
            "part 1: `by` is missing; write `step RATE..RATE by RATE every DURATION`",
        ),
        ("step 1..1G by 1 every 1s", "part 1: more than 10,000 steps; take larger ones, or a ramp"),
        ("burst 5 every 1ns", "part 1: more than 1G/s; make the burst smaller or rarer"),
        (
            "burst 0 every 1s",
            "part 1: \"0\": a count must be above zero; write a whole number such as 100, 1k \
             or 2M",
        ),
        ("replay", "part 1: no file is named; write `replay FILE`"),
        (
            "hold 5; hold 6",
            "part 1 has no end, so part 2 would never begin; add `for DURATION` to it",
        ),
    ];
    for (text, message) in table {
        assert_eq!(error(text), message, "{text}");
    }
}

#[test]
fn offsets_are_seconds_or_have_a_unit() {
    let text = b"# due\n0\n\n0.25   # a quarter\n 300ms\r\n300ms\n1.5\n2m";
    let offsets = parse_offsets("due.txt", text).unwrap();
    assert_eq!(*offsets, [0, S / 4, 300_000_000, 300_000_000, S + S / 2, 120 * S]);
}

#[test]
fn bad_offsets_name_file_and_line() {
    let table: [(&[u8], &str); 5] = [
        (b"", "due.txt: no due offset; write one on each line, in seconds"),
        (b"# none\n\n", "due.txt: no due offset; write one on each line, in seconds"),
        (
            b"1\n2\nsoon\n",
            "due.txt:3: \"soon\": not a duration; write a number and a unit, such as 250us, 10ms, \
             1.5s, 30 or 2m",
        ),
        (b"1\n\n0.5\n", "due.txt:3: 500ms is before 1s in the line above; sort the offsets"),
        (b"1\n\xff\n", "due.txt:2: not UTF-8 text; write one due offset on each line, in seconds"),
    ];
    for (bytes, message) in table {
        assert_eq!(parse_offsets("due.txt", bytes).unwrap_err().to_string(), message);
    }
}

proptest! {
    #[test]
    fn steps_begin_and_end_where_asked(from in 1..5_000u64, to in 1..5_000u64, by in 1..5_000u64) {
        let all = segments(&format!("step {from}..{to} by {by} every 1s"));
        prop_assert_eq!(all.first(), Some(&hold_for(from, S)));
        prop_assert_eq!(all.last(), Some(&hold_for(to, S)));
        prop_assert_eq!(all.len() as u64, from.abs_diff(to).div_ceil(by) + 1);
    }

    #[test]
    fn no_load_panics(
        text in ".{0,80}",
        words in proptest::collection::vec("(hold|ramp|step|burst|replay|for|over|by|every|;|\\.\\.|[0-9.]{1,22}[kMG/smh]{0,2})", 0..14),
    ) {
        let _ = text.parse::<Shape>();
        let _ = words.join(" ").parse::<Shape>();
    }

    #[test]
    fn no_file_of_offsets_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in "[0-9.\nsmu#]{0,100}") {
        let _ = parse_offsets("due.txt", &bytes);
        if let Ok(offsets) = parse_offsets("due.txt", text.as_bytes()) {
            prop_assert!(offsets.is_sorted());
        }
    }
}
