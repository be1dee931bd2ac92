//! Paths that are no regular file.

use std::os::unix::net::UnixListener;
use std::path::Path;

use candor_plan::{DataFormat, DataOrder, DataSet};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::Table;

fn fault(file: &Path) -> String {
    let (file, order) = (file.to_owned(), DataOrder::Rotation);
    let columns = vec!["a".to_owned()];
    let set = DataSet {
        name: "set".to_owned(),
        file,
        format: DataFormat::Csv,
        order,
        columns,
        content: None,
    };
    Table::open(&set, &|| false).expect_err("no fault").to_string()
}

#[test]
fn only_regular_files_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    mknodat(CWD, path("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let _listener = UnixListener::bind(path("socket")).unwrap();
    std::fs::write(path("bad\x1b[2J\nname"), "a,\n1,2").unwrap();
    let special = "and not a regular file; save the rows to a regular file";
    let missing = "the file cannot be read: No such file or directory (os error 2); check the \
                   path and its permissions";
    let no_length = "the system reports no length for this file; save the rows to a regular file";
    let name = directory.path().display();
    let table = [
        (
            Path::new("-").to_owned(),
            "-: standard input cannot be read more than once; save it to a file and name that"
                .to_owned(),
        ),
        (directory.path().to_owned(), format!("{name}: this is a directory {special}")),
        (path("pipe"), format!("{name}/pipe: this is a pipe {special}")),
        (path("socket"), format!("{name}/socket: this is a socket {special}")),
        ("/dev/null".into(), format!("/dev/null: this is a device {special}")),
        ("/proc/self/status".into(), format!("/proc/self/status: {no_length}")),
        (path("none"), format!("{name}/none: {missing}")),
        (
            path("bad\x1b[2J\nname"),
            format!(
                "{name}/bad\\u{{1b}}[2J\\nname:1: column 2 has no name; name it in the first row"
            ),
        ),
    ];
    for (path, sentence) in table {
        assert_eq!(fault(&path), sentence);
    }
}
