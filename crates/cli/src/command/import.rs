//! `candor import`: plans from curl commands, recordings of browsers, descriptions of interfaces, and logs.
//!
//! Crate import makes the plan out of bytes. This module reads them, within the bound of the format, and
//! writes the plan. Nothing is sent, and no script of an input is run.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use candor_import::{AccessLog, Format, ImportError, Imported, Options};
use candor_plan::words::quoted;
use candor_plan::{Out, Place};
use clap::{Args, ValueEnum};

use crate::exit::{Exit, UserError};
use crate::{console, outputs, refusals, remedy};

pub(crate) const EXAMPLES: &str = "\
Examples:
  candor import curl 'curl https://localhost:8443/items -H \"Accept: text/html\"' -o plan.toml
      The request of a command, as a browser copies it (\"Copy as cURL\").
  candor import har shop.har -o shop.toml
      The requests that a browser recorded to one host become the steps of a journey.
  candor import har shop.har --hosts api.shop.example,cdn.shop.example -o shop.toml
      Those to further hosts too, each a target of the plan.
  candor import har shop.har --host api.localhost --url http://localhost:8080 -o api.toml
      The requests to another host of the recording, for a server of your own.
  candor import openapi petstore.yaml > petstore.toml
      A request for each operation of a description; values come from its examples.
  candor import postman shop.postman_collection.json -o shop.toml
      The requests of a collection, in order.
  zcat access.log.*.gz | candor import access-log - --url http://localhost:8080 -o log.toml
      The most frequent requests of a log, with weights.

A plan has comments where the import had to guess; the standard error has the same. Secrets are
moved to variables of the environment. docs/import.md describes what becomes of each format.";

/// Bytes of a log that are read at once.
const PIECE: usize = 256 * 1024;

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// The format of the input
    #[arg(value_name = "FORMAT")]
    format: Form,
    /// The file to import, or - for the standard input; for curl also a command, as one argument
    ///
    /// Other users of this machine can see the arguments of commands: give one that has secrets on the standard input.
    #[arg(value_name = "FILE|-")]
    input: String,
    /// Write the plan to a file [default: the standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The server to write in the plan, instead of that of the input
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The host whose requests are imported from a HAR file [default: the most frequent one]
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Further hosts whose requests are imported from a HAR file, as targets of their own; `all`: every host
    #[arg(long, value_name = "HOST[,HOST]|all", value_delimiter = ',')]
    hosts: Vec<String>,
    /// Keep requests for images, styles, scripts and fonts of a HAR file
    #[arg(long)]
    static_files: bool,
    /// The most requests in the plan [default: 200, and 30 of a log]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    max_requests: Option<u32>,
}

/// The formats, as they are typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Commands of curl
    Curl,
    /// A recording of a browser
    Har,
    /// A description of an interface: OpenAPI 3 or Swagger 2.0, JSON or YAML
    #[value(name = "openapi")]
    OpenApi,
    /// A collection of Postman, v2.0 or v2.1
    Postman,
    /// A log in the Common or Combined Log Format
    AccessLog,
}

impl Form {
    fn format(self) -> Format {
        match self {
            Form::Curl => Format::Curl,
            Form::Har => Format::Har,
            Form::OpenApi => Format::OpenApi,
            Form::Postman => Format::Postman,
            Form::AccessLog => Format::AccessLog,
        }
    }
}

pub(crate) fn import(arguments: &ImportArguments) -> Result<ExitCode, UserError> {
    if arguments.format != Form::Har {
        let of_har = [
            ("host", arguments.host.is_some()),
            ("hosts", !arguments.hosts.is_empty()),
            ("static-files", arguments.static_files),
        ];
        if let Some((option, _)) = of_har.into_iter().find(|(_, is_given)| *is_given) {
            return Err(refusals::has_no("import", option, "that is for har"));
        }
    }
    let place = match &arguments.output {
        Some(path) => Out::new("", path.clone()).place,
        None => Place::Stdout,
    };
    outputs::check_paths(place.file())?;
    let options = Options {
        url: arguments.url.clone(),
        host: arguments.host.clone(),
        hosts: arguments.hosts.clone(),
        static_files: arguments.static_files,
        max_requests: arguments.max_requests.map(|most| most as usize),
    };
    let mut made = imported(arguments, &options)?;
    note_missing(&mut made, place.file().map(PathBuf::as_path));
    let Imported { plan, notes, .. } = made;
    outputs::write(&place, &plan)?;
    for note in notes {
        console::say(format_args!("candor import: {note}"));
    }
    if let Some(plan) = place.file() {
        let plan = quoted(&plan.to_string_lossy());
        console::say(format_args!(
            "candor import: try it once before you run it: candor try {plan}"
        ));
    }
    Ok(Exit::Fine.into())
}

/// Says which files of the plan are not there, seen from where it will stand.
fn note_missing(made: &mut Imported, plan: Option<&Path>) {
    let folder = plan.and_then(Path::parent).unwrap_or(Path::new(""));
    let is_missing = |file: &&PathBuf| **file != Path::new("-") && !folder.join(file).is_file();
    let missing = made.files.iter().filter(is_missing).map(|file| file.display().to_string());
    let missing: Vec<String> = missing.collect();
    if !missing.is_empty() {
        made.note(&format!(
            "Missing files, which a run would not find from the folder of the plan: {}",
            missing.join(", ")
        ));
    }
}

fn imported(arguments: &ImportArguments, options: &Options) -> Result<Imported, UserError> {
    let input = &arguments.input;
    let is_command = arguments.format == Form::Curl && input.trim_start().starts_with("curl ");
    let name = match input.as_str() {
        _ if is_command => "the command",
        "-" => "the standard input",
        path => path,
    };
    let cannot_read = |error: io::Error| UserError::usage(format!("cannot read {name}: {error}"));
    let source: Box<dyn Read> = match input.as_str() {
        _ if is_command => Box::new(input.as_bytes()),
        "-" => Box::new(io::stdin().lock()),
        path => Box::new(File::open(path).map_err(cannot_read)?),
    };
    let made = match arguments.format {
        Form::AccessLog => log(source, options),
        form => bytes(source, form.format()).map(|bytes| match form {
            Form::Curl => candor_import::curl(&bytes, options),
            Form::Har => candor_import::har(&bytes, options),
            Form::OpenApi => match input.as_str() {
                "-" => candor_import::openapi(&bytes, options),
                path => candor_import::openapi_of_files(&bytes, options, &below(Path::new(path))),
            },
            _ => candor_import::postman(&bytes, options),
        }),
    };
    made.map_err(cannot_read)?.map_err(|error| match error {
        ImportError::Url(_) | ImportError::Credentials => {
            UserError::usage(remedy::told_of_import(&error))
        }
        error => UserError::could_not_run(format!(
            "cannot import {name}: {}",
            remedy::told_of_import(&error)
        )),
    })
}

/// The whole of it, or one byte more than the format allows, which refuses it.
fn bytes(source: impl Read, format: Format) -> io::Result<Vec<u8>> {
    let most = format.most_bytes().unwrap_or(usize::MAX - 1);
    let mut bytes = Vec::new();
    source.take(most as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads files below the folder of a description. A link out of it is no way to read another file: the description may
/// come from anybody.
fn below(description: &Path) -> impl Fn(&str, usize) -> io::Result<Vec<u8>> + use<> {
    let folder = match description.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    move |path, most| {
        let folder = folder.canonicalize()?;
        let path = folder.join(path).canonicalize()?;
        if !path.starts_with(&folder) || !path.is_file() {
            let problem = "it is not a file below the folder of the description";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
        }
        let mut bytes = Vec::new();
        File::open(path)?.take(most as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

fn log(mut source: impl Read, options: &Options) -> io::Result<Result<Imported, ImportError>> {
    let mut log = AccessLog::default();
    let mut piece = vec![0; PIECE];
    loop {
        match source.read(&mut piece) {
            Ok(0) => return Ok(log.finish(options)),
            Ok(length) => log.feed(&piece[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_of_a_description_are_below_its_folder() {
        let outer = tempfile::tempdir().expect("a folder");
        let folder = outer.path().join("spec");
        fs::create_dir_all(folder.join("models")).expect("a folder");
        for (name, text) in [("../secret.yml", "secret"), ("a.yml", "a"), ("models/b.yml", "long")]
        {
            fs::write(folder.join(name), text).expect("a file");
        }
        symlink("../secret.yml", folder.join("link.yml")).expect("a link");
        symlink("..", folder.join("up")).expect("a link");
        symlink("models/b.yml", folder.join("inner.yml")).expect("a link");
        let read = below(&folder.join("openapi.yml"));
        let found = |path: &str, most: usize| read(path, most).ok();
        assert_eq!(found("a.yml", 9).as_deref(), Some(&b"a"[..]));
        assert_eq!(found("inner.yml", 9).as_deref(), Some(&b"long"[..]));
        // One byte more than is of use says that the file is longer.
        assert_eq!(found("models/b.yml", 2).as_deref(), Some(&b"lon"[..]));
        for refused in
            ["../secret.yml", "link.yml", "up/secret.yml", "/etc/passwd", "models", "none.yml"]
        {
            assert_eq!(found(refused, 9), None, "{refused}");
        }
    }
}
