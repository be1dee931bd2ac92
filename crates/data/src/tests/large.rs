//! What is read from the file is what would be held in memory.

use std::sync::Arc;

use candor_plan::{DataFormat, DataOrder};
use proptest::prelude::*;

use super::{Row, SMALL, file, row, rows_within, set_of};
use crate::table::{Limits, Store};
use crate::{Fault, Rows, Selection, Table};

/// Bytes that look like a file of some format, whole or broken.
fn content() -> impl Strategy<Value = (DataFormat, Vec<u8>)> {
    let of = |format, pattern: &str| {
        let text = proptest::string::string_regex(pattern).unwrap();
        text.prop_map(move |text| (format, text.into_bytes()))
    };
    prop_oneof![
        of(DataFormat::Csv, "a,b\n((x{0,3}|\"(x|\"\"|[\r\n,]){0,4}\"),x{0,9}(\n|\r\n)|\n){1,40}"),
        of(DataFormat::Csv, "a,b\n([x,\"\r\n ]{0,4}\n){0,6}"),
        of(
            DataFormat::JsonLines,
            "(\\{\"a\":(\"(x|\\\\n)*\"|[0-9]|null|\\[\\[\\]\\]), \"b\":\"y*\"\\}\r?\n|\n){1,30}"
        ),
        of(DataFormat::JsonLines, "([{}\"ab:,1]{0,12}\n){0,6}"),
        of(DataFormat::Urls, "((GET )?(http://h)?/x{0,9}\r?\n|#x{0,5}\n|\n){1,40}"),
        of(DataFormat::Urls, "(\\[\\] \"(GET /x{0,9}|-)\" 200\n){1,30}"),
        of(DataFormat::Urls, "([/:x#? h]|http://){0,6}\n"),
        (
            prop_oneof![Just(DataFormat::Csv), Just(DataFormat::JsonLines), Just(DataFormat::Urls)],
            prop::collection::vec(any::<u8>(), 0..40),
        ),
    ]
}

/// All rows, read from the file in order and then in another order.
fn rows_of_file(format: DataFormat, bytes: &[u8], limits: Limits) -> Result<Vec<Row>, Fault> {
    let file = file(bytes);
    let set = set_of(format, &file, bytes);
    let table = Arc::new(Table::open_within(&set, limits, &|| false)?);
    assert!(matches!(table.store, Store::Filed(..)));
    let mut rows = Rows::new(Arc::clone(&table));
    let columns = set.columns.len();
    let all: Vec<Row> = (0..table.rows()).map(|number| row(&mut rows, number, columns)).collect();
    let shuffle = Selection::new(DataOrder::Shuffle, table.rows(), 1);
    for index in 0..3 * table.rows() {
        let number = shuffle.row(index).unwrap();
        assert_eq!(row(&mut rows, number, columns), all[number as usize]);
        assert!(rows.value(columns).is_empty());
    }
    // The strides of 2 and 3 threads.
    for number in (0..table.rows()).step_by(2).chain((0..table.rows()).step_by(3)) {
        assert_eq!(row(&mut rows, number, columns), all[number as usize]);
    }
    Ok(all)
}

/// A fault without the name of the temporary file.
fn nameless<T>(outcome: Result<T, Fault>) -> Result<T, Fault> {
    outcome.map_err(|fault| Fault { file: None, ..fault })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn neither_place_nor_block_nor_index_changes_a_row(
        (format, bytes) in content(),
        entries in 0..9usize,
        block_bytes in 0..70usize,
    ) {
        let filed = Limits { held_bytes: 0, entries, block_bytes };
        let held = nameless(rows_within(format, &bytes, SMALL));
        let read = nameless(rows_of_file(format, &bytes, filed));
        prop_assert_eq!(held, read);
    }
}

#[test]
fn a_file_whose_decoded_rows_are_too_large_is_not_held() {
    let text = "a\n".to_owned() + &"1\n".repeat(1000);
    let file = file(text.as_bytes());
    let set = set_of(DataFormat::Csv, &file, text.as_bytes());
    // A row needs 1 byte of text and 4 for its end.
    for (held_bytes, is_held) in [(2001, false), (4999, false), (5000, true)] {
        let table = Table::open_within(&set, Limits { held_bytes, ..SMALL }, &|| false).unwrap();
        assert_eq!(matches!(table.store, Store::Held(_)), is_held, "{held_bytes}");
        assert_eq!(table.rows(), 1000);
    }
}

#[test]
fn the_values_are_empty_before_and_after_the_rows() {
    for held_bytes in [0, SMALL.held_bytes] {
        let text = b"a,b\n1,2\n3,4\n";
        let file = file(text);
        let set = set_of(DataFormat::Csv, &file, text);
        let table =
            Arc::new(Table::open_within(&set, Limits { held_bytes, ..SMALL }, &|| false).unwrap());
        let mut rows = Rows::new(table);
        assert_eq!([rows.value(0), rows.value(1), rows.value(2)], [b"", b"", b""]);
        rows.go_to(0).unwrap();
        assert_eq!([rows.value(0), rows.value(1), rows.value(2)], [&b"1"[..], b"2", b""]);
        let fault = rows.go_to(2).unwrap_err().to_string();
        let sentence = ": row 2 does not exist: the file has 2 rows; use a row below that number";
        assert_eq!(fault, file.path().display().to_string() + sentence);
        assert_eq!([rows.value(0), rows.value(1)], [b"", b""]);
        rows.go_to(1).unwrap();
        assert_eq!([rows.value(0), rows.value(1)], [b"3", b"4"]);
    }
}

#[test]
fn threads_share_a_table() {
    let text: String = (0..5000).map(|number| format!("/{number}\n")).collect();
    let file = file(text.as_bytes());
    let set = set_of(DataFormat::Urls, &file, text.as_bytes());
    let limits = Limits { held_bytes: 0, entries: 100, block_bytes: 256 };
    let table = Arc::new(Table::open_within(&set, limits, &|| false).unwrap());
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let mut rows = Rows::new(Arc::clone(&table));
            scope.spawn(move || {
                for number in (worker..5000).step_by(4) {
                    rows.go_to(number).unwrap();
                    assert_eq!(rows.value(1), format!("/{number}").as_bytes());
                }
            });
        }
    });
}
