//! Names in suite files: of scenarios and sets, of protocols, and of files. The error for an unknown name
//! suggests the nearest known one.

use std::path::Path;

use candor_plan::Options;
use candor_plan::suggest::did_you_mean;
use toml::Spanned;

use super::super::content;
use super::super::model::{Protocol, Scenario};
use crate::error::LabError;
use crate::matrix::file::Reader;

/// All scenarios, as a set.
pub(super) const ALL: &str = "all";

/// The scenarios of a name: the scenario itself, or all of a set.
pub(crate) fn of_name(name: &str, known: &[Scenario]) -> Vec<String> {
    known
        .iter()
        .filter(|one| one.name == name || name == ALL || one.sets.iter().any(|set| set == name))
        .map(|one| one.name.clone())
        .collect()
}

/// The error for an unknown scenario, named at `place`.
pub(crate) fn unknown_scenario(place: String, name: &str, known: &[Scenario]) -> LabError {
    let mut words: Vec<&str> = known.iter().map(|one| one.name.as_str()).collect();
    words.extend(known.iter().flat_map(|one| &one.sets).map(String::as_str));
    words.push(ALL);
    let hint = did_you_mean(name, words.iter().copied());
    LabError::UnknownScenario { place, name: name.to_owned(), hint }
}

pub(crate) fn unknown_protocol(name: &str) -> String {
    let names = Protocol::ALL.map(Protocol::name);
    let hint = did_you_mean(name, names);
    format!("there is no protocol \"{name}\"; write {}{hint}", names.join(", "))
}

impl Reader<'_> {
    /// Names of scenarios, with sets replaced by their members.
    pub(super) fn named(
        &self,
        names: &[Spanned<String>],
        known: &[Scenario],
    ) -> Result<Vec<String>, LabError> {
        let mut all: Vec<String> = Vec::new();
        for name in names {
            let found = of_name(name.get_ref(), known);
            if found.is_empty() {
                return Err(unknown_scenario(self.place(name), name.get_ref(), known));
            }
            all.extend(found);
        }
        Ok(all)
    }

    pub(super) fn protocols(&self, names: &[Spanned<String>]) -> Result<Vec<Protocol>, LabError> {
        names
            .iter()
            .map(|name| {
                Protocol::of_name(name.get_ref())
                    .ok_or_else(|| self.wrong(name, unknown_protocol(name.get_ref())))
            })
            .collect()
    }

    /// Files are found from the suite's own directory, as those of a plan are from the plan's.
    pub(super) fn found(&self, mut run: Options) -> Options {
        let directory = Path::new(self.name).parent().unwrap_or(Path::new(""));
        for file in run.files_mut().filter(|file| content::is_a_file(file)) {
            *file = directory.join(&*file);
        }
        run
    }
}
