//! Loads of a suite file, and the loads whose peaks they are shares of.

use candor_plan::Options;
use candor_plan::suggest::did_you_mean;
use candor_plan::units::parse_share;

use super::super::model::{Load, Scenario};
use super::tables::LoadTable;
use crate::error::LabError;
use crate::matrix::file::Reader;

impl Reader<'_> {
    /// The loads; the load of the whole suite if there are none, open if `is_open`, else closed.
    /// Loads that need a peak come last.
    pub(super) fn loads(
        &self,
        tables: Vec<LoadTable>,
        is_open: bool,
        known: &[Scenario],
    ) -> Result<Vec<Load>, LabError> {
        let names: Vec<String> = tables.iter().map(|one| one.name.get_ref().clone()).collect();
        let first =
            tables.iter().find(|one| one.of_peak.is_empty()).map(|one| one.name.get_ref().clone());
        let mut loads: Vec<Load> = Vec::new();
        for one in tables {
            self.check_name(&one.name, "load", loads.iter().map(|known| known.name.as_str()))?;
            let mut of_peak = Vec::new();
            for share in &one.of_peak {
                match parse_share(share.get_ref()) {
                    Ok(parsed) if parsed > 0.0 && parsed <= 2.0 => of_peak.push(parsed),
                    _ => {
                        let message = format!(
                            "of-peak: \"{}\" is not a share; write e.g. \"90%\"",
                            share.get_ref()
                        );
                        return Err(self.wrong(share, message));
                    }
                }
            }
            let peak_load = match (&one.peak_load, of_peak.is_empty()) {
                (Some(name), false) if names.contains(name.get_ref()) => {
                    Some(name.get_ref().clone())
                }
                (Some(name), false) => {
                    let hint = did_you_mean(name.get_ref(), names.iter().map(String::as_str));
                    return Err(
                        self.wrong(name, format!("there is no load \"{}\"{hint}", name.get_ref()))
                    );
                }
                (Some(name), true) => {
                    return Err(
                        self.wrong(name, "peak-load is for loads with of-peak; leave it out")
                    );
                }
                (None, true) => None,
                (None, false) => match &first {
                    Some(first) => Some(first.clone()),
                    None => {
                        return Err(self.wrong(
                            &one.name,
                            "shares of a peak need a load that finds it; write a [[load]] without of-peak",
                        ));
                    }
                },
            };
            if !of_peak.is_empty() && (one.run.load.rate.is_some() || one.run.load.load.is_some()) {
                return Err(self.wrong(
                    &one.name,
                    "of-peak is the rate of this load; leave `rate` and `load` out",
                ));
            }
            let rounds = one.rounds.as_ref().map(|rounds| self.rounds(rounds)).transpose()?;
            let scenarios =
                one.scenarios.as_ref().map(|names| self.named(names, known)).transpose()?;
            loads.push(Load {
                scenarios,
                name: one.name.into_inner(),
                run: self.found(one.run),
                of_peak,
                peak_load,
                rounds,
            });
        }
        if loads.is_empty() {
            let run = Options::default();
            loads.push(Load {
                name: if is_open { "open" } else { "closed" }.to_owned(),
                run,
                of_peak: Vec::new(),
                peak_load: None,
                rounds: None,
                scenarios: None,
            });
        }
        loads.sort_by_key(|one| !one.of_peak.is_empty());
        Ok(loads)
    }
}
