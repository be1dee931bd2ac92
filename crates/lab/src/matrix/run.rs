//! Measures a matrix: the order of cells, the trials that exist already, and the fate of every
//! trial.
//!
//! Each round measures its cells in a random order, so that drift of the machine affects all alike.
//! A failed trial is recorded in the document, and the others continue; a server or client is given
//! up after repeated failures. A value of [`Trials`] makes, saves and enters a trial; this module
//! starts nothing by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::{Duration, Instant};

use candor_report::experiment::matrix::FailedTrial;
use candor_stats::bootstrap::Random;

use crate::compare::order;
use crate::error::LabError;
use crate::trial::Outcome;

/// Observes a matrix. `T` describes a finished trial.
pub trait Watcher<T> {
    /// A trial begins: its name, its number, the number of all trials, and the estimated time for
    /// the remaining ones.
    fn begins(&mut self, trial: &str, number: u64, of: u64, left: Duration) {
        let _ = (trial, number, of, left);
    }

    /// The trial is over.
    fn done(&mut self, trial: &str, made: &T) {
        let _ = (trial, made);
    }

    /// The trial failed.
    fn failed(&mut self, trial: &str, why: &str) {
        let _ = (trial, why);
    }

    /// A remark.
    fn note(&mut self, line: &str) {
        let _ = line;
    }
}

/// No observer.
impl<T> Watcher<T> for () {}

/// Why a trial was not made.
#[derive(Debug)]
pub enum Trouble {
    /// This cell could not be measured; others may be.
    Cell(String),
    /// What is measured in it works, and is not what this cell needs: it is no reason to give it up.
    Wrong(String),
    /// What is measured in it is not installed here: all of its cells are left out.
    Absent(String),
    /// Nothing more can be measured.
    Everything(LabError),
}

/// The trials of a matrix, by the places of their cells and their rounds.
pub(crate) trait Trials {
    /// The thing measured: `server`, `client`.
    const WHAT: &'static str;
    /// It is given up after this number of failures in a row.
    const GIVE_UP_AFTER: u32;
    /// The assumed cost of a trial beyond its own length, until trials have been timed.
    const FIRST_OVERHEAD: Duration;

    /// The document of the whole.
    type Document;
    /// The inputs of a trial besides its cell.
    type Needs;
    /// The description of a finished trial.
    type Made;

    /// Cells, in the order of the document; the later ones come last.
    fn cells(&self) -> Vec<Cell>;

    /// Enters a trial saved by an earlier run; returns whether there is one.
    fn take_up(&mut self, cell: usize, round: u64) -> bool;

    /// The inputs of a trial, or why it cannot be made.
    fn needs(&mut self, cell: usize, round: u64) -> Result<Self::Needs, String>;

    /// Whether the thing measured in this cell is not installed here, as an earlier trial found out.
    fn is_absent(&self, cell: usize) -> bool {
        let _ = cell;
        false
    }

    /// Makes a trial, saves it and enters it.
    fn make(&mut self, cell: usize, round: u64, needs: Self::Needs) -> Result<Self::Made, Trouble>;

    /// Enters a failed trial.
    fn fail(&mut self, failure: FailedTrial);

    /// Writes the current document.
    fn save(&mut self, is_complete: bool) -> Result<(), LabError>;

    /// The final document.
    fn document(self) -> Self::Document;
}

/// The properties of a cell that decide the order of trials.
pub(crate) struct Cell {
    /// Its name.
    pub(crate) name: String,
    /// The server or client measured in it, which is given up after repeated failures.
    pub(crate) who: String,
    /// The length of its trials.
    pub(crate) planned: Duration,
    /// How often it is measured.
    pub(crate) rounds: u64,
    /// Whether it is measured after all rounds of the other cells.
    pub(crate) is_later: bool,
}

/// Measures the missing trials, the cells of each round in an order drawn from `seed`.
pub(crate) fn run<T: Trials>(
    seed: u64,
    mut trials: T,
    watcher: &mut dyn Watcher<T::Made>,
) -> Result<Outcome<T::Document>, LabError> {
    let cells = trials.cells();
    let mut run = Run {
        seed,
        cells: &cells,
        trials: &mut trials,
        watcher,
        made: vec![BTreeSet::new(); cells.len()],
        in_vain: vec![0; cells.len()],
        failed: BTreeMap::new(),
        pace: Pace::default(),
    };
    run.take_up();
    run.trials.save(false)?;
    let stopped = run.measure().err();
    run.trials.save(stopped.is_none())?;
    Ok(Outcome { document: trials.document(), stopped })
}

struct Run<'a, T: Trials> {
    seed: u64,
    cells: &'a [Cell],
    trials: &'a mut T,
    watcher: &'a mut dyn Watcher<T::Made>,
    /// Rounds that have a trial, by cell.
    made: Vec<BTreeSet<u64>>,
    /// Failed and skipped trials, by cell.
    in_vain: Vec<u64>,
    /// Failures in a row, by server or client.
    failed: BTreeMap<&'a str, u32>,
    pace: Pace,
}

impl<T: Trials> Run<'_, T> {
    /// Enters the existing trials.
    fn take_up(&mut self) {
        for (cell, made) in self.made.iter_mut().enumerate() {
            let rounds = 1..=self.cells[cell].rounds;
            made.extend(rounds.filter(|&round| self.trials.take_up(cell, round)));
        }
        let (made, all) = self.progress();
        if made > 0 {
            self.watcher.note(&format!("{made} of {all} trials exist already"));
        }
    }

    fn measure(&mut self) -> Result<(), LabError> {
        let cells = self.cells;
        let later_from = cells.iter().take_while(|cell| !cell.is_later).count();
        for phase in [0..later_from, later_from..cells.len()] {
            let rounds = cells[phase.clone()].iter().map(|cell| cell.rounds).max().unwrap_or(0);
            for round in 1..=rounds {
                for cell in order_of(&phase, self.seed, round) {
                    if round <= cells[cell].rounds && !self.made[cell].contains(&round) {
                        self.trial(cell, round)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// One trial. An error here ends everything; a failed trial does not.
    fn trial(&mut self, cell: usize, round: u64) -> Result<(), LabError> {
        if self.trials.is_absent(cell) {
            self.in_vain[cell] += 1;
            return Ok(());
        }
        let Cell { name, who, planned, .. } = &self.cells[cell];
        let name = format!("{name} round {round}");
        let is_given_up = self.failed.get(&**who).is_some_and(|n| *n >= T::GIVE_UP_AFTER);
        let needs = match self.trials.needs(cell, round) {
            Ok(_) if is_given_up => {
                Err(format!("its {} was given up after repeated failures", T::WHAT))
            }
            other => other,
        };
        let needs = match needs {
            Ok(needs) => needs,
            Err(why) => {
                self.fail(cell, &name, why);
                return Ok(());
            }
        };
        let (made, all) = self.progress();
        let number = made + self.in_vain.iter().sum::<u64>() + 1;
        self.watcher.begins(&name, number, all, self.left());
        let begun = Instant::now();
        match self.trials.make(cell, round, needs) {
            Ok(made) => {
                self.failed.remove(&**who);
                self.pace.learn(*planned, begun.elapsed());
                self.made[cell].insert(round);
                self.watcher.done(&name, &made);
                self.trials.save(false)
            }
            Err(Trouble::Everything(why)) => Err(why),
            Err(Trouble::Absent(why)) => {
                self.in_vain[cell] += 1;
                self.watcher.note(&format!("left out: {why}"));
                Ok(())
            }
            Err(Trouble::Cell(why)) => {
                *self.failed.entry(who).or_default() += 1;
                self.fail(cell, &name, why);
                Ok(())
            }
            Err(Trouble::Wrong(why)) => {
                self.failed.remove(&**who);
                self.fail(cell, &name, why);
                Ok(())
            }
        }
    }

    fn fail(&mut self, cell: usize, name: &str, why: String) {
        self.in_vain[cell] += 1;
        self.watcher.failed(name, &why);
        self.trials.fail(FailedTrial { trial: name.to_owned(), why });
    }

    /// The number of existing trials, and of all trials.
    fn progress(&self) -> (u64, u64) {
        let made = self.made.iter().map(|rounds| rounds.len() as u64).sum();
        (made, self.cells.iter().map(|cell| cell.rounds).sum())
    }

    /// Estimates the time for the missing trials.
    fn left(&self) -> Duration {
        let overhead = self.pace.overhead().unwrap_or(T::FIRST_OVERHEAD);
        let cells = self.cells.iter().zip(&self.made).zip(&self.in_vain);
        let left = cells.map(|((cell, made), in_vain)| {
            let missing = cell.rounds.saturating_sub(made.len() as u64 + in_vain);
            let missing = u32::try_from(missing).unwrap_or(u32::MAX);
            (cell.planned + overhead).saturating_mul(missing)
        });
        left.fold(Duration::ZERO, Duration::saturating_add)
    }
}

/// The cells of a phase in the order of this round.
fn order_of(phase: &Range<usize>, seed: u64, round: u64) -> Vec<usize> {
    let mut cells: Vec<usize> = phase.clone().collect();
    let mixed = order::mix(seed, round ^ ((phase.start as u64) << 32));
    order::shuffle(&mut cells, &mut Random::new(mixed));
    cells
}

/// The cost of trials beyond their length, from the finished ones.
#[derive(Debug, Default)]
struct Pace {
    trials: u32,
    beside: Duration,
}

impl Pace {
    fn learn(&mut self, planned: Duration, took: Duration) {
        self.trials += 1;
        self.beside += took.saturating_sub(planned);
    }

    fn overhead(&self) -> Option<Duration> {
        self.beside.checked_div(self.trials)
    }
}
