//! A draft to a plan: moves secrets out, gives names, gathers what all requests share, and writes it.
//!
//! The last step of every importer.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use candor_plan::units::fmt_plural;

use crate::Imported;
use crate::draft::{Draft, Step, slug};
use crate::secrets::Secrets;
use crate::write;

/// Writes the plan.
pub(crate) fn finish(mut draft: Draft, mut secrets: Secrets) -> Imported {
    secrets.move_out(&mut draft);
    without_upgrade(&mut draft);
    let variables = Secrets::variables(&mut draft);
    if !variables.is_empty() {
        let them = if variables.len() == 1 { "it" } else { "them" };
        draft.remark(format!(
            "Secrets are read from the environment; set {them} before the run: {}",
            variables.join(", ")
        ));
    }
    name_steps(&mut draft);
    gather_header(&mut draft);
    let mut files: Vec<PathBuf> = Vec::new();
    for file in draft.steps_mut().flat_map(|step| step.files()) {
        if !files.contains(&file) {
            files.push(file);
        }
    }
    if !files.is_empty() {
        let names: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
        // An input may come from anybody.
        let names = names.join(", ");
        draft.remark(format!("Files that it sends, seen from the folder of the plan: {names}"));
    }
    let plan = write::plan(&draft);
    let remarks = draft.remarks.iter().cloned().chain(of_requests(&draft));
    let notes = remarks.map(|remark| write::one_line(&remark)).collect();
    Imported { plan, notes, files }
}

/// The remarks that stand beside journeys and requests, each once, with the name of what it is about, or how many there are.
fn of_requests(draft: &Draft) -> Vec<String> {
    const MOST: usize = 12;
    let journeys = draft.journeys.iter().map(|one| (&one.name, &one.remarks));
    let steps = draft.requests.iter().chain(draft.journeys.iter().flat_map(|one| &one.steps));
    let all = journeys.chain(steps.map(|one| (&one.name, &one.remarks)));
    let mut said: Vec<(&str, &str, usize)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (name, remark) in all.flat_map(|(name, all)| all.iter().map(move |one| (name, one))) {
        let place = *places.entry(remark).or_insert(said.len());
        match said.get_mut(place) {
            Some((.., count)) => *count += 1,
            None => said.push((name, remark, 1)),
        }
    }
    let more = said.len().saturating_sub(MOST);
    let told = said.iter().take(MOST).map(|&(name, text, count)| match count {
        1 => format!("{name}: {text}"),
        _ => format!("{name} and {}: {text}", fmt_plural(count as u64 - 1, "other")),
    });
    let more = fmt_plural(more as u64, "more sentence");
    let rest = (said.len() > MOST).then(|| format!("{more} beside the requests of the plan"));
    told.chain(rest).collect()
}

/// A plan has an upgrade to HTTP/2 for fixed requests only.
fn without_upgrade(draft: &mut Draft) {
    let has_holes = !draft.journeys.is_empty() || draft.steps_mut().any(Step::has_holes);
    let is_written = draft.settings.iter().any(|(key, _)| ["auth", "location"].contains(key));
    let before = draft.settings.len();
    let is_made = has_holes || is_written;
    draft.settings.retain(|(key, _)| !(is_made && *key == "h2c-upgrade"));
    if draft.settings.len() < before {
        draft.remark("Left out: an upgrade to HTTP/2, which fixed requests have only; use h2 if the server speaks it");
    }
}

/// Each name once: reports have a row for each.
fn name_steps(draft: &mut Draft) {
    let mut taken = HashSet::new();
    let mut counts: HashMap<String, usize> = HashMap::new();
    for step in draft.steps_mut() {
        let name = match step.name.is_empty() {
            true => step.name_of_target(),
            false => slug(&step.name),
        };
        let count = counts.entry(name.clone()).or_default();
        step.name = loop {
            *count += 1;
            let numbered = if *count == 1 { name.clone() } else { format!("{name}-{count}") };
            if taken.insert(numbered.clone()) {
                break numbered;
            }
        };
    }
}

/// Header fields with one value in every request move to the top.
fn gather_header(draft: &mut Draft) {
    let mut steps = draft.steps_mut();
    let (Some(first), Some(second)) = (steps.next(), steps.next()) else { return };
    let (first, second) = (first.header.clone(), second.header.clone());
    drop(steps);
    let mut shared: Vec<_> = first.into_iter().filter(|one| second.contains(one)).collect();
    // A content type belongs to a body.
    shared.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
    for step in draft.steps_mut() {
        shared.retain(|one| {
            let same = step.header.iter().filter(|(name, _)| name.eq_ignore_ascii_case(&one.0));
            step.header.contains(one) && same.count() == 1
        });
    }
    for step in draft.steps_mut() {
        step.header.retain(|one| !shared.contains(one));
    }
    draft.header.extend(shared);
}
