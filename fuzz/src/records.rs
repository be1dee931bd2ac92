//! Bytes that travel between processes: plans, intervals, and the records of parts of a run.

use std::sync::LazyLock;

use candor_plan::Plan;
use candor_plan::options::{Options, ReadFile};
use candor_record::{Interval, RunRecord, merge, wire};
use candor_render::{Depth, compose};
use candor_report::Style;
use candor_report::{Document, Facts};

struct NoFiles;

impl ReadFile for NoFiles {
    fn read(&self, _: &std::path::Path) -> std::io::Result<Vec<u8>> {
        Err(std::io::ErrorKind::NotFound.into())
    }
}

/// The plan of the records in the corpus.
pub(crate) static PLAN: LazyLock<Plan> = LazyLock::new(|| {
    let typed = "url = \"http://127.0.0.1/\"\nrate = \"200/s\"\nthreads = 4\nconnections = 8\n\
                 duration = \"300ms\"\ninterval = \"100ms\"\n";
    let options = Options::from_toml("plan.toml", typed).expect("the plan is right");
    options.build(&NoFiles).expect("the plan is right").0
});

/// Bytes as each of them. A value that was read is written and reads the same; a record is merged
/// like the parts of a result, and the merged record has a report.
pub(crate) fn record(bytes: &[u8]) {
    if let Ok(plan) = wire::from_bytes::<Plan>(bytes) {
        assert_eq!(wire::from_bytes::<Plan>(&wire::to_bytes(&plan)).as_ref(), Ok(&plan));
    }
    if let Ok(interval) = wire::from_bytes::<Interval>(bytes) {
        let again = wire::from_bytes::<Interval>(&wire::to_bytes(&interval));
        assert_eq!(again.as_ref(), Ok(&interval));
        let mut sum = interval.clone();
        sum.merge_later(&interval);
        sum.merge_worker(&interval);
    }
    let Ok(record) = wire::from_bytes::<RunRecord>(bytes) else { return };
    // Every interval by itself is an untrusted claim, too.
    let other = RunRecord {
        of: candor_record::Workers { first: record.of.indices().end, ..record.of },
        ..record.clone()
    };
    for parts in [vec![record.clone()], vec![record, other]] {
        let requests = PLAN.work.requests().len();
        let Ok(merged) = merge(parts, PLAN.recording.digits, requests, 0) else { continue };
        let document = Document::new(&Facts::default(), &PLAN, &merged);
        let _ = compose::run(&document, Depth::Full).text(Style::PLAIN);
    }
}
