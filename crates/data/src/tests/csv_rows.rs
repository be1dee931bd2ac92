//! Comma-separated values.

use candor_plan::DataFormat::Csv;

use super::{fault, texts};

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
