//! Selection from a suite by name.

use candor_plan::suggest::did_you_mean;

use crate::error::LabError;

/// The named elements, in that order, each once. `what` is their kind, for errors.
pub(crate) fn pick<'s, T>(
    names: &[String],
    known: &'s [T],
    name_of: impl Fn(&T) -> &String,
    what: &str,
) -> Result<Vec<&'s T>, LabError> {
    let mut all: Vec<&T> = Vec::new();
    for name in names {
        match known.iter().find(|one| name_of(one) == name) {
            Some(_) if all.iter().any(|other| name_of(other) == name) => {}
            Some(one) => all.push(one),
            None => {
                let words: Vec<&str> = known.iter().map(|one| name_of(one).as_str()).collect();
                let hint = did_you_mean(name, words.iter().copied());
                return Err(LabError::Usage(format!(
                    "the suite has no {what} \"{name}\"; it has {}{hint}",
                    words.join(", ")
                )));
            }
        }
    }
    Ok(all)
}
