//! Comma-separated values.

use candor_plan::DataFormat::Csv;
use csv::{QuoteStyle, ReaderBuilder, Terminator, WriterBuilder};
use proptest::prelude::*;

use super::{SMALL, fault, rows_within, texts};

#[test]
fn rows_are_as_rfc_4180_has_them() {
    let table: [(&str, &[&[&str]]); 11] = [
        ("a,b\n1,2\n", &[&["1", "2"]]),
        ("a,b\r\n1,2\r\n3,4\r\n", &[&["1", "2"], &["3", "4"]]),
        ("a,b\n1,2", &[&["1", "2"]]),
        ("a,b\r\n1,2\r", &[&["1", "2"]]),
        ("\u{feff}a,b\n1,2\n", &[&["1", "2"]]),
        ("a,b\n\"1,\n2\",\"say \"\"hi\"\"\"\n", &[&["1,\n2", "say \"hi\""]]),
        ("a,b\n,\n\"\",\"\"\n", &[&["", ""], &["", ""]]),
        ("\n\r\na,b\n\n\n1,2\n\r\n3,4\n\n", &[&["1", "2"], &["3", "4"]]),
        ("a\n 1 \n\"\"\n", &[&[" 1 "], &[""]]),
        ("a,b\n1,\"2\r\n\"\r\n", &[&["1", "2\r\n"]]),
        (" a , b\n1,2\n", &[&["1", "2"]]),
    ];
    for (text, rows) in table {
        assert_eq!(texts(Csv, text), rows, "{text:?}");
    }
}

#[test]
fn broken_rows_are_named_with_their_line() {
    let table = [
        (
            "a,b\n1,2\n1,2,3\n",
            "FILE:3: the row has 3 fields, and the header has 2; put values with a comma or line \
             break in quotes",
        ),
        (
            "a,b\n\"1\n\n\",2\n\n1\n",
            "FILE:6: the row has 1 field, and the header has 2; put values with a comma or line \
             break in quotes",
        ),
        (
            "a,b\n\"1\n\n\",2\n1,\"\n\n",
            "FILE:5: a quote opens here and does not close; close it, or double it if it is part \
             of the value",
        ),
        (
            "a,b\n\"1\n\n\",2\"3\n",
            "FILE:4: a field has a quote but does not begin with one; put the whole value in \
             quotes and double each quote inside it",
        ),
        (
            "a,b\n1, \"2\"\n",
            "FILE:2: a field has a quote but does not begin with one; put the whole value in \
             quotes and double each quote inside it",
        ),
        (
            "a,b\n1,\"2\"3\n",
            "FILE:2: text follows a closing quote; put the whole value in quotes and double each \
             quote inside it",
        ),
        (
            "a,b\n1,2\r3\n",
            "FILE:2: a field without quotes has a carriage return; put the whole value in quotes \
             and double each quote inside it",
        ),
        ("", "FILE: the file has no row; add one"),
        ("\n\n", "FILE: the file has no row; add one"),
        ("a,b\n", "FILE: the file has a header, but no row; add one"),
    ];
    for (text, sentence) in table {
        assert_eq!(fault(Csv, text.as_bytes()), sentence, "{text:?}");
    }
}

#[test]
fn columns_that_cannot_be_used_are_named() {
    let names = "use letters, digits, `_`, `-`, `.`, and blanks between them";
    let table = [
        ("\na,,b\n1,2,3\n", "FILE:2: column 2 has no name; name it in the first row".to_owned()),
        ("a, \n1,2\n", "FILE:1: column 2 has no name; name it in the first row".to_owned()),
        (
            "a,b,a\n1,2,3\n",
            "FILE:1: columns 1 and 3 are both named \"a\"; rename one of them".to_owned(),
        ),
        (
            "a,b}\n1,2\n",
            format!("FILE:1: the name of column 2, \"b}}\", has the character '}}'; {names}"),
        ),
        (
            "a,\"b\x1b[2J\"\n1,2\n",
            format!(
                "FILE:1: the name of column 2, \"b\\u{{1b}}[2J\", has the character \
                 '\\u{{1b}}'; {names}"
            ),
        ),
        (
            "name;password\n1;2\n",
            "FILE:1: the name of column 1, \"name;password\", has the character ';'; separate \
             columns by commas"
                .to_owned(),
        ),
    ];
    for (text, sentence) in table {
        assert_eq!(fault(Csv, text.as_bytes()), sentence, "{text:?}");
    }
    let utf16: Vec<u8> = "\u{feff}a,b\n1,2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let sentence = "FILE: the file is encoded in UTF-16; convert it to UTF-8";
    assert_eq!(fault(Csv, &utf16), sentence);
    let fault = crate::columns(Csv, b"").unwrap_err();
    assert_eq!(fault.to_string(), "the file has no row; add one");
    let fault = crate::columns(Csv, b"a,").unwrap_err();
    assert_eq!(fault.to_string(), "line 1: column 2 has no name; name it in the first row");
    assert!(fault.of("x.csv".as_ref()).to_string().starts_with("x.csv:1: column 2"));
    let columns = crate::columns(Csv, "First Name,größe,a.b-c_d2\n".as_bytes()).unwrap();
    assert_eq!(columns, ["First Name", "größe", "a.b-c_d2"]);
}

/// What makes a difference to CSV, and some other bytes.
fn value() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        3 => Just(b'x'), 1 => Just(b','), 1 => Just(b'"'), 1 => Just(b'\n'), 1 => Just(b'\r'),
        1 => Just(b' '), 1 => any::<u8>(),
    ];
    prop::collection::vec(byte, 0..6)
}

proptest! {
    #[test]
    fn a_written_file_is_read_back(
        rows in (1..4usize).prop_flat_map(|columns| {
            prop::collection::vec(prop::collection::vec(value(), columns), 1..20)
        }),
        (always, crlf) in any::<(bool, bool)>(),
    ) {
        let mut writer = WriterBuilder::new()
            .quote_style(if always { QuoteStyle::Always } else { QuoteStyle::Necessary })
            .terminator(if crlf { Terminator::CRLF } else { Terminator::Any(b'\n') })
            .from_writer(Vec::new());
        writer.write_record(["a", "b", "c"].iter().take(rows[0].len())).unwrap();
        for row in &rows {
            writer.write_record(row).unwrap();
        }
        let bytes = writer.into_inner().unwrap();
        prop_assert_eq!(rows_within(Csv, &bytes, SMALL), Ok(rows));
    }

    #[test]
    fn other_readers_agree_on_the_files_that_are_accepted(text in "(a,b\n)?([x,\"\r\n ]{0,5}\n){0,4}[x,\"\r]{0,3}") {
        if let Ok(rows) = rows_within(Csv, text.as_bytes(), SMALL) {
            let mut reader = ReaderBuilder::new().from_reader(text.as_bytes());
            let expected: Vec<Vec<Vec<u8>>> = reader
                .byte_records()
                .map(|record| record.unwrap().iter().map(<[u8]>::to_vec).collect())
                .collect();
            prop_assert_eq!(rows, expected);
        }
    }
}
