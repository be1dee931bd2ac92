//! Two processes get a plan as bytes, each runs half of its workers on simulated time, and their
//! records come back as bytes: the document equals that of a run in one process.

use std::path::Path;
use std::process::Command;

use crate::common::{MS, S};
use candor_engine::{Control, drive_part};
use candor_plan::{Arrivals, Load, OpenLoad, Plan, Rate, Segment, Trace};
use candor_record::{RunRecord, Workers, merge, wire};
use candor_report::{Document, Facts};
use candor_testkit::sim::{Link, Reaction, SimReactor, ok_bytes};

const OF: u32 = 4;
/// If this variable is set, the program is one of the two processes; its value is the directory of plan
/// and record.
const CHILD: &str = "CANDOR_TEST_PART";

/// Workers of a run on simulated time. Some requests fail, and the server stalls.
fn run(plan: &Plan, workers: Workers) -> RunRecord {
    let server = |worker: u32| {
        move |at_ns: u64, connection: u64, nth: u64| match (nth * 7
            + connection
            + u64::from(worker))
            % 50
        {
            0 => Reaction::Answer {
                at_ns: at_ns + MS,
                bytes: b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n".to_vec(),
            },
            1 => Reaction::AnswerAndClose { at_ns: at_ns + MS, bytes: ok_bytes() },
            turn => {
                // The last seventh of every 0.7 s is a stall.
                let (since_ns, round_ns) = (at_ns % (700 * MS), 700 * MS);
                let stall_ns = if since_ns > 600 * MS { round_ns - since_ns } else { 0 };
                Reaction::Answer { at_ns: at_ns + stall_ns + turn * MS / 10, bytes: ok_bytes() }
            }
        }
    };
    let reactors = |worker| SimReactor::new(server(worker), Link::default());
    drive_part(plan, workers, reactors, &Control::default())
}

fn plan(load: Load) -> Plan {
    let changed = crate::common::plan(4 * S).with(|parts| {
        parts.load = load;
        parts.connections.count = 10;
        parts.connections.max = 14;
        parts.threads.count = Some(OF);
        parts.recording.trace = Some(Trace::OneIn(10));
    });
    changed.expect("a plan")
}

/// Not a test of its own: the work of a child process.
#[test]
fn the_part_of_a_child() {
    let Ok(directory) = std::env::var(CHILD) else { return };
    let directory = Path::new(&directory);
    let read = |name: &str| std::fs::read(directory.join(name)).unwrap();
    let plan: Plan = wire::from_bytes(&read("plan")).unwrap();
    let workers: Workers = wire::from_bytes(&read("workers")).unwrap();
    std::fs::write(directory.join("record"), wire::to_bytes(&run(&plan, workers))).unwrap();
}

/// The same in a process of its own.
fn run_elsewhere(plan: &Plan, workers: Workers) -> RunRecord {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    std::fs::write(path.join("plan"), wire::to_bytes(plan)).expect("a file");
    std::fs::write(path.join("workers"), wire::to_bytes(&workers)).expect("a file");
    let child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "parts::the_part_of_a_child"])
        .env(CHILD, path)
        .output()
        .expect("a child");
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    wire::from_bytes(&std::fs::read(path.join("record")).expect("its record")).expect("a record")
}

#[test]
fn two_processes_make_the_document_of_one() {
    let hold = |per_s| Segment::Hold { rate: Rate::per_second(per_s), duration_ns: None };
    let ramp = Segment::Ramp {
        from: Rate::per_second(100),
        to: Rate::per_second(900),
        duration_ns: 2_000 * MS,
    };
    let open = |segments, arrivals| {
        Load::Open(OpenLoad { segments, arrivals, shed_after_ns: Some(200 * MS) })
    };
    for load in [
        open(vec![hold(1000)], Arrivals::Constant),
        open(vec![hold(1000)], Arrivals::Poisson),
        open(vec![ramp, hold(500)], Arrivals::Poisson),
        Load::Closed { think_time_ns: 5 * MS },
    ] {
        let is_smooth = matches!(&load, Load::Open(_));
        let plan = plan(load);
        let halves = [
            run_elsewhere(&plan, Workers { first: 2, count: 2, of: OF }),
            run_elsewhere(&plan, Workers { first: 0, count: 2, of: OF }),
        ];
        let merged =
            merge(halves.to_vec(), plan.recording.digits, plan.work.requests().len(), 0).unwrap();
        let whole = run(&plan, Workers::all(OF));
        let facts = Facts::default();
        let document = |record: &RunRecord| Document::new(&facts, &plan, record);
        let (merged, whole) = (document(&merged), document(&whole));
        assert_eq!(merged.machines.len(), 2);
        assert!(whole.ledger.sent > 500 && whole.ledger.balances(), "{:?}", whole.ledger);
        assert!(whole.ledger.errors > 0 && whole.trace.is_some());
        assert_eq!(whole.realised.is_some(), is_smooth, "a simulated document lacks nothing");
        let alike = Document { machines: whole.machines.clone(), ..merged };
        let (merged, whole) =
            (serde_json::to_value(&alike).unwrap(), serde_json::to_value(&whole).unwrap());
        for (field, value) in whole.as_object().unwrap() {
            assert_eq!(&merged[field], value, "{field}");
        }
        assert_eq!(merged, whole);
    }
}
