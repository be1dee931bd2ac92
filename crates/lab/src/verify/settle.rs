//! Doing an experiment again until its lines can be told.
//!
//! A line that depends on time and says no may say so of Candor, or of a machine whose noise no witness saw. Candor's
//! fault is there in every run, so the experiment tells them apart when it is done again. Exact lines are not asked
//! twice: one no of theirs is the answer.

use super::line::{Answer, Line};
use crate::error::LabError;

/// The most runs of an experiment: it is done again at most three times.
const MOST_RUNS: usize = 4;

/// The lines of an experiment: each with the answer that its runs come to. `run` makes it and judges it.
pub(super) fn settled(
    mut run: impl FnMut() -> Result<Vec<Line>, LabError>,
) -> Result<Vec<Line>, LabError> {
    let mut runs: Vec<Vec<Line>> = Vec::with_capacity(MOST_RUNS);
    while runs.len() < MOST_RUNS {
        let lines = run()?;
        if lines.iter().any(Line::is_contradiction) {
            return Ok(lines);
        }
        runs.push(lines);
        let all = settle(&runs);
        if Line::worst(&all) == Answer::Yes {
            return Ok(all);
        }
    }
    Ok(settle(&runs))
}

/// A line holds if it did in one of the runs. It does not hold if it did not in most of them, and never held.
fn settle(runs: &[Vec<Line>]) -> Vec<Line> {
    let latest = runs.last().map_or(&[][..], Vec::as_slice);
    let of_line = |line: &Line| {
        let is_it = |other: &&Line| other.what == line.what;
        let all: Vec<&Line> = runs.iter().filter_map(|lines| lines.iter().find(is_it)).collect();
        let with = |answer| all.iter().rev().find(|one| one.answer == answer).copied();
        let noes = all.iter().filter(|one| one.answer == Answer::No).count();
        let is_no = with(Answer::No).filter(|_| 2 * noes > runs.len());
        let settled = with(Answer::Yes).or(is_no).or_else(|| with(Answer::CannotTell));
        Line { runs: runs.len() as u32, ..settled.unwrap_or(line).clone() }
    };
    latest.iter().map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::super::line::Unit;
    use super::*;

    /// What runs with these answers come to, and how many of them were made.
    fn settled_on(answers: &[Answer]) -> (Answer, u32) {
        let mut left = answers.iter();
        let run = || {
            let line = match left.next().unwrap() {
                Answer::Yes => Line::at_most("p99", Unit::Ns, 1.0, 1.0),
                Answer::No => Line::at_most("p99", Unit::Ns, 1.0, 9.0),
                Answer::CannotTell => Line::at_most("p99", Unit::Ns, 1.0, 9.0).cannot_tell(),
            };
            Ok(vec![Line::exactly("requests", 3, 3), line])
        };
        let lines = settled(run).unwrap();
        (lines[1].answer, lines[1].runs)
    }

    #[test]
    fn an_experiment_is_done_again_until_it_holds_or_is_over() {
        use Answer::{CannotTell, No, Yes};
        assert_eq!(settled_on(&[Yes]), (Yes, 1));
        assert_eq!(settled_on(&[No, Yes]), (Yes, 2));
        assert_eq!(settled_on(&[CannotTell, No, CannotTell, Yes]), (Yes, 4));
        assert_eq!(settled_on(&[No, No, No, No]), (No, 4));
        assert_eq!(settled_on(&[No, CannotTell, No, No]), (No, 4));
        assert_eq!(settled_on(&[No, CannotTell, CannotTell, No]), (CannotTell, 4));
        assert_eq!(settled_on(&[CannotTell; 4]), (CannotTell, 4));
    }

    #[test]
    fn each_line_holds_by_a_run_of_its_own() {
        let mut run = 0;
        let both = settled(|| {
            run += 1;
            let one = Line::at_most("one", Unit::Ns, 1.0, f64::from(run));
            let other = Line::at_most("other", Unit::Ns, 1.0, f64::from(3 - run));
            Ok(vec![one, other])
        });
        let both = both.unwrap();
        assert_eq!(
            both.iter().map(|line| (line.answer, line.measured)).collect::<Vec<_>>(),
            [(Answer::Yes, 1.0), (Answer::Yes, 1.0)]
        );
    }

    #[test]
    fn an_exact_line_is_asked_once() {
        let mut runs = 0;
        let lines = settled(|| {
            runs += 1;
            Ok(vec![Line::exactly("requests", 3, 2), Line::at_most("p99", Unit::Ns, 1.0, 9.0)])
        });
        assert_eq!(Line::worst(&lines.unwrap()), Answer::No);
        assert_eq!(runs, 1);
    }
}
