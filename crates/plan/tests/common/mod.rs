//! Files in memory and a command line, as the binary has them.
#![allow(dead_code, reason = "each test uses a part")]

use std::collections::HashMap;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

use candor_plan::{DataFormat, Options, Outputs, Plan, PlanError, ReadFile};
use clap::Parser;

/// A service of each kind of method.
pub(crate) const PROTO: &str = "syntax = 'proto3'; package a; message M { int64 id = 1; string s = 2; M m = 3; }
    message Other { bool unused = 1; }
    service S { rpc One(M) returns (M); rpc Many(stream M) returns (M); rpc Watch(M) returns (stream M); }
    service T { rpc Two(Other) returns (Other); }";

#[derive(Default)]
pub(crate) struct Memory(HashMap<PathBuf, Vec<u8>>);

impl Memory {
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        Memory(files.iter().map(|(name, text)| (name.into(), text.as_bytes().to_vec())).collect())
    }

    pub(crate) fn bytes(files: &[(&str, &[u8])]) -> Self {
        Memory(files.iter().map(|(name, bytes)| (name.into(), bytes.to_vec())).collect())
    }
}

impl ReadFile for Memory {
    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        self.0.get(path).cloned().ok_or_else(|| Error::new(ErrorKind::NotFound, "no such file"))
    }

    /// The first line, whatever the format.
    fn columns(&self, path: &Path, _: DataFormat) -> std::result::Result<Vec<String>, String> {
        let bytes = self.read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let text = String::from_utf8(bytes).map_err(|error| error.to_string())?;
        Ok(text.lines().next().unwrap_or_default().split(',').map(str::to_owned).collect())
    }

    fn origin(&self, path: &Path) -> std::result::Result<Option<String>, String> {
        let text = self.read(path).map_err(|error| error.to_string())?;
        let text = String::from_utf8(text).map_err(|error| error.to_string())?;
        let first = text.lines().nth(1).unwrap_or_default();
        Ok(first.find("/a").map(|end| first[..end].to_owned()))
    }

    fn variable(&self, name: &str) -> Option<String> {
        match name {
            "TOKEN" => Some("hunter2".to_owned()),
            "QUOTED" => Some("a\"b\\".to_owned()),
            _ => None,
        }
    }
}

/// A command as the binary defines it.
#[derive(Parser)]
#[command(name = "candor", about = "The command's own description", after_long_help = candor_plan::options::EXAMPLES)]
pub(crate) struct Command {
    #[command(flatten)]
    pub(crate) options: Options,
}

pub(crate) fn flags(arguments: &[&str]) -> std::result::Result<Options, clap::Error> {
    Command::try_parse_from([&["candor"], arguments].concat()).map(|command| command.options)
}

pub(crate) fn try_build(arguments: &[&str]) -> std::result::Result<(Plan, Outputs), PlanError> {
    build(flags(arguments).unwrap_or_else(|error| panic!("{error}")))
}

pub(crate) fn build(options: Options) -> std::result::Result<(Plan, Outputs), PlanError> {
    options.build(&Memory::with(&[
        ("due.txt", "0\n0.5\n1.5\n"),
        ("body", "from a file"),
        ("a.proto", PROTO),
        ("-", "from stdin"),
    ]))
}

pub(crate) fn plan(arguments: &[&str]) -> Plan {
    try_build(arguments).unwrap_or_else(|error| panic!("{error}")).0
}
