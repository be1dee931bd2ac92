//! What is too large, and broken rows far into a file.

use candor_plan::DataFormat::{self, Csv, JsonLines, Urls};

use super::{fault, file, set_of};
use crate::{HEAD_BYTES, MOST_COLUMNS, MOST_ROW_BYTES, Table, columns};

const LONG: &str = "the row is longer than 1 MiB; remove it, or look for a missing line break or \
                    quote";
const OPEN: &str = "a quote opens here and does not close; close it, or double it if it is part of \
                    the value";

#[test]
fn a_broken_row_is_named_at_line_one_million() {
    let row = "user,secret\n";
    let text = "name,password\n".to_owned() + &row.repeat(999_998) + "broken\n" + row;
    assert_eq!(
        fault(Csv, text.as_bytes()),
        "FILE:1000000: the row has 1 field, and the header has 2; put values with a comma or line \
         break in quotes"
    );
    // With values of two lines, half as many rows.
    let text = "name,password\n".to_owned() + &"u,\"\n\"\n".repeat(499_999) + "1,\"\n" + row;
    assert_eq!(fault(Csv, text.as_bytes()), format!("FILE:1000000: {OPEN}"));
    let text = "{\"a\":1}\n".repeat(999_999) + "{\"a\":1\n";
    assert!(fault(JsonLines, text.as_bytes()).starts_with("FILE:1000000: the line is not valid"));
    let text = "/a\n".repeat(999_999) + "a\n";
    assert!(fault(Urls, text.as_bytes()).starts_with("FILE:1000000: \"a\" is neither"));
}

#[test]
fn rows_may_be_one_mebibyte_long() {
    let whole = |format: DataFormat, length: usize| -> Vec<u8> {
        let (before, after): (&str, &str) = match format {
            Csv => ("1,\"", "\"\n"),
            JsonLines => ("{\"a\":1,\"b\":\"", "\"}\n"),
            Urls => ("/", "\n"),
        };
        let middle = "x".repeat(length - before.len() - after.len());
        format!("{before}{middle}{after}").into_bytes()
    };
    for (format, header) in [(Csv, "a,b\n1,2\n"), (JsonLines, "{\"a\":1,\"b\":2}\n"), (Urls, "/\n")]
    {
        for (length, is_fine) in [(MOST_ROW_BYTES, true), (MOST_ROW_BYTES + 1, false)] {
            let mut text = header.as_bytes().to_vec();
            text.extend(whole(format, length));
            text.extend(header.lines().last().unwrap().as_bytes());
            let file = file(&text);
            match is_fine {
                true => drop(Table::open(&set_of(format, &file, &text), &|| false).unwrap()),
                false => {
                    let line = header.lines().count() + 1;
                    assert_eq!(fault(format, &text), format!("FILE:{line}: {LONG}"));
                }
            }
        }
    }
}

#[test]
fn what_does_not_end_is_refused() {
    let endless = vec![b'x'; HEAD_BYTES + 100];
    assert_eq!(fault(Csv, &endless), format!("FILE:1: {LONG}"));
    let path = [b"/", &endless[..]].concat();
    assert_eq!(fault(Urls, &path), format!("FILE:1: {LONG}"));
    let object = [b"{\"a\":\"", &endless[..]].concat();
    assert_eq!(fault(JsonLines, &object), format!("FILE:1: {LONG}"));
    let quote = [b"a,b\n1,2\n\"1\n\",\"\n", &endless[..]].concat();
    assert_eq!(fault(Csv, &quote), format!("FILE:4: {OPEN}"));
    let header = [b"\na,\"\n", &endless[..]].concat();
    assert_eq!(fault(Csv, &header), format!("FILE:2: {OPEN}"));
}

#[test]
fn columns_are_bounded() {
    let csv = |count: usize| (1..=count).map(|n| format!("c{n}")).collect::<Vec<_>>().join(",");
    assert_eq!(columns(Csv, csv(MOST_COLUMNS).as_bytes()).unwrap().len(), MOST_COLUMNS);
    let sentence = "line 1: the file has more than 10000 columns; keep only columns that requests \
                    use";
    for count in [MOST_COLUMNS + 1, 100_000] {
        assert_eq!(columns(Csv, csv(count).as_bytes()).unwrap_err().to_string(), sentence);
    }
    let json: String = (0..=MOST_COLUMNS).map(|n| format!(",\"c{n}\":0")).collect();
    let json = format!("{{\"c\":0{json}}}");
    assert_eq!(columns(JsonLines, json.as_bytes()).unwrap_err().to_string(), sentence);
    // Of a row with a million fields only the number is wanted.
    let row = "a,b\n".to_owned() + &",".repeat(1_000_000) + "\n";
    assert!(fault(Csv, row.as_bytes()).starts_with("FILE:2: the row has 1000001 fields, and"));
}

#[test]
fn nesting_is_no_recursion() {
    let deep = format!("{{\"a\":1}}\n{{\"a\":{}1{}}}\n", "[".repeat(400_000), "]".repeat(400_000));
    let file = file(deep.as_bytes());
    assert_eq!(
        Table::open(&set_of(JsonLines, &file, deep.as_bytes()), &|| false).unwrap().rows(),
        2
    );
    let open = format!("{{\"a\":1}}\n{{\"b\":{}\n", "[".repeat(1_000_000));
    assert!(fault(JsonLines, open.as_bytes()).starts_with("FILE:2: the line is not valid JSON"));
}

/// A comment or a blank line of any length is no row, and lines before the first row may be many.
#[test]
fn a_long_beginning_without_rows() {
    let text = "#\n".repeat(HEAD_BYTES) + "/a\n";
    let file = file(text.as_bytes());
    assert_eq!(
        Table::open(&set_of(Urls, &file, &text.as_bytes()[..HEAD_BYTES]), &|| false)
            .unwrap()
            .rows(),
        1
    );
}
