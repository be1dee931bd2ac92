//! Data sets, and the variables of the environment that templates name.

use std::collections::HashSet;

use super::Files;
use crate::error::{PlanError, value};
use crate::holes;
use crate::options::Options;
use crate::work::{DataFormat, DataSet, Request, Variable};

/// The name of the set that a list of URLs is.
pub(super) const URLS: &str = "urls";

pub(super) fn data(options: &Options, files: &Files<'_>) -> Result<Vec<DataSet>, PlanError> {
    let named = options
        .requests
        .data
        .iter()
        .map(|one| (one.name.as_str(), &one.file, one.file.format(), "--data"));
    let urls = options.requests.urls.iter().map(|file| (URLS, file, DataFormat::Urls, "--urls"));
    let mut all: Vec<DataSet> = Vec::new();
    for (name, file, format, option) in named.chain(urls) {
        let refuse = |problem| Err(value(option, problem));
        if all.iter().any(|one| one.name == name) {
            return refuse(format!(
                "two data sets are named {name:?}; give one of them another name"
            ));
        }
        let columns = match files.files.columns(&file.file, format) {
            Ok(columns) => columns,
            Err(problem) => return refuse(problem),
        };
        all.push(DataSet {
            name: name.to_owned(),
            file: file.file.clone(),
            format,
            order: file.order,
            columns,
            content: None,
        });
    }
    Ok(all)
}

/// Whether a request has a value of the list of URLs.
pub(super) fn takes_urls(request: &Request) -> bool {
    let names = |text: &str| text.contains("urls.");
    let headers = request.headers.iter().map(|(_, value)| value.as_str());
    let of_body = || request.body.whole().utf8_chunks().any(|chunk| names(chunk.valid()));
    let texts = [request.path.as_str(), request.method.as_str()];
    request.holes && (texts.into_iter().chain(headers).any(names) || of_body())
}

/// Those that `requests` name and the environment has.
pub(super) fn environment(requests: &[Request], files: &Files<'_>) -> Vec<Variable> {
    let texts = requests.iter().filter(|one| one.holes).flat_map(|one| {
        // What is sent as it is has no holes, and of a form the files have none.
        let body = if one.literal_body { &[] } else { one.body.whole() };
        let headers = one.headers.iter().map(|(_, value)| value.as_str());
        let texts = body.utf8_chunks().map(|chunk| chunk.valid());
        headers.chain([one.path.as_str()]).chain(texts)
    });
    of_texts(texts, files)
}

/// Those that `texts` name and the environment has.
pub(super) fn of_texts<'t>(
    texts: impl Iterator<Item = &'t str>,
    files: &Files<'_>,
) -> Vec<Variable> {
    let mut known = HashSet::new();
    let names = texts.flat_map(holes::variables).filter(|name| known.insert(*name));
    let named = |name: &str| {
        let value = files.files.variable(name)?.into_bytes().into();
        Some(Variable { name: name.to_owned(), value })
    };
    names.filter_map(named).collect()
}
