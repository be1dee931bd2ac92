//! Files that change after they were opened: an error, and never another row.

use std::fs::{File, FileTimes};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use candor_plan::DataFormat;
use tempfile::NamedTempFile;

use super::{SMALL, file, set_of};
use crate::table::Limits;
use crate::{Problem, Rows, Table};

const TEXT: &[u8] = b"a,b\n1,2\n3,4\n5,6\n7,8\n";

/// What a change to the file makes of reading row 2, if its time of modification stays.
fn after(change: impl Fn(&File), limits: Limits) -> Result<(), Problem> {
    let file = file(TEXT);
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let keep = |file: &NamedTempFile| {
        file.as_file().set_times(FileTimes::new().set_modified(then)).unwrap();
    };
    keep(&file);
    let set = set_of(DataFormat::Csv, &file, TEXT);
    let mut rows = Rows::new(Arc::new(Table::open_within(&set, limits, &|| false).unwrap()));
    rows.go_to(0).unwrap();
    change(file.as_file());
    keep(&file);
    let outcome = rows.go_to(2);
    if outcome.is_err() {
        assert_eq!([rows.value(0), rows.value(1)], [b"", b""]);
        assert_eq!(rows.go_to(2), outcome);
    }
    outcome.map_err(|fault| {
        assert_eq!((fault.file.as_deref(), fault.line), (Some(file.path()), None));
        fault.problem
    })
}

/// Each row is read on its own.
const BY_ROW: Limits = Limits { held_bytes: 0, entries: 100, block_bytes: 1 };

#[test]
fn a_changed_file_is_found_out() {
    let write =
        |at: u64, text: &'static [u8]| move |file: &File| file.write_all_at(text, at).unwrap();
    let changed = Err(Problem::Changed);
    assert_eq!(after(|_| {}, BY_ROW), Ok(()));
    // The row is shorter, has a field more, ends elsewhere, is open.
    for text in [&b"5\n6\n"[..], b"5,,\n", b"5,67", b"\"5,6"] {
        assert_eq!(after(write(12, text), BY_ROW), changed, "{text:?}");
    }
    // The row before is longer.
    let two = Limits { entries: 2, ..BY_ROW };
    assert_eq!(after(write(9, b",44\n,"), two), changed);
    for length in [0, 1, 12, 15, 21, 1000] {
        assert_eq!(after(|file| file.set_len(length).unwrap(), BY_ROW), changed, "{length}");
    }
    // What is in memory stays as it was.
    assert_eq!(after(|file| file.set_len(0).unwrap(), SMALL), Ok(()));
}

#[test]
fn a_later_time_of_modification_is_found_out() {
    let file = file(TEXT);
    let set = set_of(DataFormat::Csv, &file, TEXT);
    let mut rows = Rows::new(Arc::new(Table::open_within(&set, BY_ROW, &|| false).unwrap()));
    rows.go_to(3).unwrap();
    let later = file.as_file().metadata().unwrap().modified().unwrap() + Duration::from_nanos(1);
    file.as_file().set_times(FileTimes::new().set_modified(later)).unwrap();
    let fault = rows.go_to(0).unwrap_err();
    let sentence = ": the file changed after it was opened; copy the file, and use the copy, if \
                    something still writes it";
    assert_eq!(fault.to_string(), file.path().display().to_string() + sentence);
}

#[test]
fn a_header_that_is_not_the_plans_is_refused() {
    let file = file(TEXT);
    let mut set = set_of(DataFormat::Csv, &file, TEXT);
    set.columns.swap(0, 1);
    let fault = Table::open(&set, &|| false).unwrap_err();
    let sentence = ": the columns are no longer those that the plan was made with; do not change \
                    the file while a run starts";
    assert_eq!(fault.to_string(), file.path().display().to_string() + sentence);
}

#[test]
fn reading_stops_within_a_few_hundred_kilobytes() {
    let text = format!("a,b\n{}", "first,second\n".repeat(200_000));
    let file = file(text.as_bytes());
    let set = set_of(DataFormat::Csv, &file, text.as_bytes());
    let looks = std::cell::Cell::new(0);
    let stops_after = |most: u32| {
        looks.set(0);
        let table = Table::open(&set, &|| {
            looks.set(looks.get() + 1);
            looks.get() > most
        });
        table.map(|table| table.rows()).map_err(|fault| fault.problem)
    };
    // 2.6 MB, and a look every 256 KiB.
    assert_eq!((stops_after(u32::MAX), looks.get()), (Ok(200_000), 10));
    assert_eq!((stops_after(3), looks.get()), (Err(Problem::Stopped), 4));
    assert_eq!((stops_after(0), looks.get()), (Err(Problem::Stopped), 1));
}
