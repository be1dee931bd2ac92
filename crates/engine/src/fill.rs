//! The values of requests that have holes: rows of data files, counters and random numbers.
//!
//! Every value but the time is a pure function of the plan and the request's index, so that the requests of a run are
//! the same for any number of threads and machines. Files are opened and checked before the run; while it goes on a
//! thread reads rows of its own accord, and a file that changes meanwhile ends the run.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use candor_data::{Fault, Rows, Selection, Table};
use candor_pace::{below, draw};
use candor_plan::template::{Names, Template, Value};
use candor_plan::url::HttpUrl;
use candor_plan::{DataOrder, Plan};
use candor_protocol::made::{Form, Made, Values};

use crate::error::EngineError;

/// The data sets of a plan, opened. All threads share them.
#[derive(Debug)]
pub(crate) struct Tables {
    sets: Vec<Arc<Table>>,
    /// Rows are given out once, and there are fewer than requests: this many.
    pub(crate) limit: Option<u64>,
}

impl Tables {
    /// Opens and checks every file.
    pub(crate) fn open(plan: &Plan) -> Result<Self, EngineError> {
        let open = |set| {
            let table = Table::open(set)?;
            match table.site() {
                Some(site) if !is_target(site, plan) => Err(EngineError::Site {
                    file: set.file.display().to_string(),
                    site: site.shown(),
                    target: plan.secrets.url(&plan.target.url),
                }),
                _ => Ok(Arc::new(table)),
            }
        };
        let sets = plan.data.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let once = plan.data.iter().zip(&sets).filter(|(set, _)| set.order == DataOrder::Once);
        let rows = once.map(|(_, table)| table.rows()).min();
        let limit = rows.filter(|rows| plan.stop.count.is_none_or(|count| count > *rows));
        Ok(Tables { sets, limit })
    }

    /// Files with lines that cannot be used, and how many.
    pub(crate) fn unusable<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = (&'a Path, u64)> {
        let sets = plan.data.iter().zip(&self.sets);
        let all = sets.map(|(set, table)| (set.file.as_path(), table.unusable_lines()));
        all.filter(|(_, lines)| *lines > 0)
    }

    /// The plan, which ends when the rows are used.
    pub(crate) fn limited<'a>(&self, plan: &'a Plan) -> Result<Cow<'a, Plan>, EngineError> {
        match self.limit {
            None => Ok(Cow::Borrowed(plan)),
            Some(rows) => Ok(Cow::Owned(plan.with(|parts| parts.stop.count = Some(rows))?)),
        }
    }
}

/// Whether URLs of `site` are the target's. Where connections go is the plan's affair.
fn is_target(site: &HttpUrl, plan: &Plan) -> bool {
    HttpUrl::parse(&plan.target.url).is_ok_and(|target| {
        let is_host = target.host.eq_ignore_ascii_case(&site.host);
        is_host && (target.port, target.is_https) == (site.port, site.is_https)
    })
}

/// Keeps the choice of rows independent of the values of holes, whose numbers are below.
const DATA_STREAM: u64 = u64::MAX;

/// What one thread fills requests with.
pub(crate) struct Filling {
    /// Of each request of the plan, if it has holes.
    forms: Vec<Option<Form>>,
    row: Row,
}

impl Filling {
    /// `None` where no request has holes.
    pub(crate) fn new(plan: &Plan, tables: &Tables) -> Option<Self> {
        let names = Names { data: &plan.data, environment: &plan.environment };
        let form = |(number, request): (usize, &candor_plan::Request)| {
            // The plan's check has compiled it.
            let template =
                Template::compile(request, number, names).ok().filter(|_| request.holes)?;
            Some(Form::new(template, request, number as u32, &plan.target.authority))
        };
        let forms: Vec<_> = plan.requests.list.iter().enumerate().map(form).collect();
        forms.iter().any(Option::is_some).then(|| {
            // Two files with as many rows are not in the same order.
            let seed = |number: usize| draw(plan.seed, DATA_STREAM, number as u64);
            let sets = plan.data.iter().zip(&tables.sets).enumerate();
            let sets = sets.map(|(number, (set, table))| Set {
                rows: Rows::new(Arc::clone(table)),
                selection: Selection::new(set.order, table.rows(), seed(number)),
                present: None,
            });
            let row = Row { sets: sets.collect(), seed: plan.seed, index: 0, fault: None };
            Filling { forms, row }
        })
    }

    /// Whether this request of the plan has holes.
    #[inline]
    pub(crate) fn has(&self, request: u32) -> bool {
        self.forms[request as usize].is_some()
    }

    /// The request with the values of an index; `None`: a row cannot be read, and nothing may be sent.
    pub(crate) fn fill(&mut self, request: u32, index: u64) -> Option<Made<'_>> {
        let form = self.forms[request as usize].as_mut()?;
        self.row.index = index;
        let made = form.fill(&mut self.row);
        self.row.fault.is_none().then_some(made)
    }

    /// Whether a row could not be read.
    pub(crate) fn has_failed(&self) -> bool {
        self.row.fault.is_some()
    }
}

/// The values of one index.
struct Row {
    sets: Vec<Set>,
    seed: u64,
    index: u64,
    fault: Option<Fault>,
}

struct Set {
    rows: Rows,
    selection: Selection,
    /// The index whose row it is at.
    present: Option<u64>,
}

impl Row {
    fn column(&mut self, set: usize, column: usize) -> Result<&[u8], Fault> {
        let Set { rows, selection, present } = &mut self.sets[set];
        if *present != Some(self.index) {
            // There is a row for every index of the load: the run ends before.
            rows.go_to(selection.row(self.index).unwrap_or_default())?;
            *present = Some(self.index);
        }
        Ok(rows.value(column))
    }

    /// One of `count` numbers from 0 on, for this hole.
    fn one_of(&self, hole: u64, count: u128) -> u64 {
        below(count, draw(self.seed, hole, self.index))
    }
}

impl Values for Row {
    fn write(&mut self, value: &Value, out: &mut Vec<u8>) {
        // Writing to memory does not fail.
        let _ = match value {
            Value::Index => write!(out, "{}", self.index),
            Value::UnixMs => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                write!(out, "{}", now.as_millis())
            }
            Value::Random { low, high, draw } => {
                let count = u128::from(high.abs_diff(*low)) + 1;
                write!(out, "{}", low.wrapping_add_unsigned(self.one_of(*draw, count)))
            }
            Value::Choice { of, draw } => {
                let which = self.one_of(*draw, of.len() as u128) as usize;
                out.extend_from_slice(of[which].as_bytes());
                Ok(())
            }
            Value::Uuid { draw: hole } => {
                uuid(draw(self.seed, *hole, self.index), draw(!self.seed, *hole, self.index), out)
            }
            Value::Column { set, column } => {
                match self.column(*set, *column) {
                    Ok(value) => out.extend_from_slice(value),
                    Err(fault) => self.fault = Some(fault),
                }
                Ok(())
            }
            Value::Group(_) => Ok(()),
        };
    }
}

/// Appends a UUID of version 4 (RFC 9562 5.4) made of these bits.
fn uuid(high: u64, low: u64, out: &mut Vec<u8>) -> std::io::Result<()> {
    let (a, b, c) = (high >> 32, high >> 16 & 0xffff, high & 0xfff);
    let (d, e) = (low >> 48 & 0x3fff | 0x8000, low & 0xffff_ffff_ffff);
    write!(out, "{a:08x}-{b:04x}-4{c:03x}-{d:04x}-{e:012x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_its_version_and_variant() {
        let mut out = Vec::new();
        uuid(0, 0, &mut out).unwrap();
        out.push(b' ');
        uuid(u64::MAX, u64::MAX, &mut out).unwrap();
        let expected = "00000000-0000-4000-8000-000000000000 ffffffff-ffff-4fff-bfff-ffffffffffff";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn random_numbers_stay_in_their_range_and_reach_its_ends() {
        let mut row = Row { sets: Vec::new(), seed: 1, index: 0, fault: None };
        let mut number = |low, high, index| {
            row.index = index;
            let mut out = Vec::new();
            row.write(&Value::Random { low, high, draw: 1 }, &mut out);
            String::from_utf8(out).unwrap().parse::<i64>().unwrap()
        };
        let drawn: Vec<i64> = (0..1000).map(|index| number(-1, 2, index)).collect();
        for one in -1..=2 {
            let count = drawn.iter().filter(|drawn| **drawn == one).count();
            // 250 expected; 4σ is 55.
            assert!((195..=305).contains(&count), "{one}: {count}");
        }
        assert_eq!(number(7, 7, 3), 7);
        let wide: Vec<i64> = (0..100).map(|index| number(i64::MIN, i64::MAX, index)).collect();
        assert!(
            wide.iter().any(|one| *one < i64::MIN / 2)
                && wide.iter().any(|one| *one > i64::MAX / 2)
        );
    }
}
