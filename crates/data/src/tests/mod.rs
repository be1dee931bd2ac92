//! Tests of what crosses the modules: files in, rows or a fault out.

mod bounds;
mod changes;
mod csv_rows;
mod json_rows;
mod large;
mod select;
mod special;
mod url_rows;

use std::io::Write;
use std::sync::Arc;

use candor_plan::{DataFormat, DataOrder, DataSet};
use tempfile::NamedTempFile;

use crate::table::Limits;
use crate::{Fault, Rows, Table, columns};

/// What a small file meets.
const SMALL: Limits = Limits { held_bytes: 8 << 20, entries: 1 << 19, block_bytes: 64 << 10 };

/// A file with these bytes.
fn file(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// The set of a file with its own columns; some column if it has none.
fn set_of(format: DataFormat, file: &NamedTempFile, bytes: &[u8]) -> DataSet {
    let columns = columns(format, bytes).unwrap_or_else(|_| vec!["none".to_owned()]);
    let (file, order) = (file.path().to_owned(), DataOrder::Rotation);
    DataSet { name: "set".to_owned(), file, format, order, columns, content: None }
}

/// All rows of a file with these bytes, in order.
fn rows_within(format: DataFormat, bytes: &[u8], limits: Limits) -> Result<Vec<Row>, Fault> {
    let file = file(bytes);
    let set = set_of(format, &file, bytes);
    let table = Arc::new(Table::open_within(&set, limits, &|| false)?);
    let mut rows = Rows::new(Arc::clone(&table));
    Ok((0..table.rows()).map(|number| row(&mut rows, number, set.columns.len())).collect())
}

type Row = Vec<Vec<u8>>;

fn row(rows: &mut Rows, number: u64, columns: usize) -> Row {
    rows.go_to(number).unwrap();
    (0..columns).map(|column| rows.value(column).to_vec()).collect()
}

/// The rows as text.
fn texts(format: DataFormat, text: &str) -> Vec<Vec<String>> {
    let rows = rows_within(format, text.as_bytes(), SMALL);
    let rows = rows.unwrap_or_else(|fault| panic!("{text:?}: {fault}"));
    let as_text = |value: Vec<u8>| String::from_utf8(value).unwrap();
    rows.into_iter().map(|row| row.into_iter().map(as_text).collect()).collect()
}

/// The fault of opening a file with these bytes, its path shortened to `FILE`.
fn fault(format: DataFormat, bytes: &[u8]) -> String {
    let file = file(bytes);
    let fault = Table::open(&set_of(format, &file, bytes), &|| false).expect_err("no fault");
    let text = fault.to_string();
    let path = file.path().display().to_string();
    text.strip_prefix(&path).map(|rest| format!("FILE{rest}")).unwrap_or(text)
}
