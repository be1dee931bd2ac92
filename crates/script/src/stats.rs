//! `summary`, `latency` and `requests`: the arguments of `done`.

use candor_plan::{Load, Plan};
use candor_record::{ErrorKind, Quantile, RunRecord};
use mlua::{Lua, MetaMethod, Table, UserData, UserDataFields, UserDataMethods, Value};

/// Distinct values with their counts, ascending, and their sums.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Stats {
    values: Vec<(f64, u64)>,
    total: u64,
    min: f64,
    max: f64,
    mean: f64,
    stdev: f64,
}

impl Stats {
    /// Latencies in µs: as in the report, from when a request was due in an open load, and from
    /// when it was sent in a closed one.
    pub(crate) fn latency(plan: &Plan, record: &RunRecord) -> Self {
        let latencies = &record.total.latencies;
        let chosen = match plan.load {
            Load::Closed { .. } => &latencies.service,
            _ => &latencies.response,
        };
        let us = |ns: u64| ns as f64 / 1e3;
        let (min, max) = (chosen.min_ns().map_or(0.0, us), chosen.max_ns().map_or(0.0, us));
        let hdr = chosen.hdr();
        let steps = hdr.iter_recorded();
        Stats {
            values: steps
                .map(|one| (us(one.value_iterated_to()).clamp(min, max), one.count_at_value()))
                .collect(),
            total: chosen.count(),
            min,
            max,
            mean: chosen.mean_ns().unwrap_or(0.0) / 1e3,
            stdev: chosen.stdev_ns().unwrap_or(0.0) / 1e3,
        }
    }

    /// Requests per second of single threads, sampled in each tenth of a second.
    pub(crate) fn requests(record: &RunRecord) -> Self {
        let rates = &record.total.rates;
        let values: Vec<(f64, u64)> = rates.steps().collect();
        Stats {
            total: rates.count(),
            min: values.first().map_or(0.0, |(value, _)| *value),
            max: rates.max_per_s().unwrap_or(0.0),
            mean: rates.mean_per_s().unwrap_or(0.0),
            stdev: rates.stdev_per_s().unwrap_or(0.0),
            values,
        }
    }

    /// The smallest value that at least `percent` of all do not exceed.
    fn percentile(&self, percent: f64) -> f64 {
        let rank = Quantile::nearest(percent / 100.0).rank(self.total);
        let mut seen = 0;
        for &(value, count) in &self.values {
            seen += count;
            if seen >= rank {
                return value;
            }
        }
        self.values.last().map_or(0.0, |(value, _)| *value)
    }

    /// The `index`-th distinct value, from 1.
    fn at(&self, index: i64) -> Option<(f64, u64)> {
        self.values.get(usize::try_from(index.checked_sub(1)?).ok()?).copied()
    }
}

impl UserData for Stats {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("min", |_, this| Ok(this.min));
        fields.add_field_method_get("max", |_, this| Ok(this.max));
        fields.add_field_method_get("mean", |_, this| Ok(this.mean));
        fields.add_field_method_get("stdev", |_, this| Ok(this.stdev));
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("percentile", |_, this, percent: f64| Ok(this.percentile(percent)));
        methods.add_meta_method(MetaMethod::Len, |_, this, ()| Ok(this.values.len()));
        methods.add_meta_method(MetaMethod::Call, |_, this, index: i64| match this.at(index) {
            Some((value, count)) => Ok((Some(value), Some(count))),
            None => Ok((None, None)),
        });
        methods.add_meta_method(MetaMethod::Index, |_, this, key: Value| {
            Ok(key.as_i64().and_then(|index| this.at(index)).map(|(value, _)| value))
        });
    }
}

/// `summary`: times in µs, errors in wrk's five words.
pub(crate) fn summary(lua: &Lua, record: &RunRecord) -> mlua::Result<Table> {
    let total = &record.total;
    let of =
        |kinds: &[ErrorKind]| -> u64 { kinds.iter().map(|kind| total.ledger.error(*kind)).sum() };
    let refused = total.statuses.iter().filter(|one| one.status > 399);
    let end_ns = record.warm_up_ns + record.window_ns;
    let in_window = record.intervals.iter().filter(|one| one.start_ns < end_ns);
    let errors = lua.create_table()?;
    errors.set("connect", total.connections.failed.total())?;
    errors.set("read", of(&READ))?;
    errors.set("write", of(&[ErrorKind::Write]))?;
    errors.set("status", refused.map(|one| one.count).sum::<u64>())?;
    errors.set("timeout", of(&[ErrorKind::Timeout, ErrorKind::IdleTimeout]))?;
    let summary = lua.create_table()?;
    summary.set("duration", record.window_ns / 1000)?;
    summary.set("requests", record.answered_in_window)?;
    summary.set("bytes", in_window.map(|one| one.bytes_received).sum::<u64>())?;
    summary.set("errors", errors)?;
    Ok(summary)
}

/// wrk's read errors: responses that were truncated, invalid, or given up.
const READ: [ErrorKind; 7] = [
    ErrorKind::Closed,
    ErrorKind::Truncated,
    ErrorKind::Malformed,
    ErrorKind::BodyLimit,
    ErrorKind::StreamCut,
    ErrorKind::Reset,
    ErrorKind::Aborted,
];

#[cfg(test)]
mod tests {
    use super::Stats;

    #[test]
    fn ranks_of_five_values() {
        let values = vec![(1.0, 2), (3.0, 1), (10.0, 2)];
        let stats = Stats { values, total: 5, max: 10.0, ..Stats::default() };
        let percentiles = [0.0, 40.0, 41.0, 60.0, 99.9, 100.0].map(|p| stats.percentile(p));
        assert_eq!(percentiles, [1.0, 1.0, 3.0, 3.0, 10.0, 10.0]);
        assert_eq!(stats.at(2), Some((3.0, 1)));
        assert_eq!((stats.at(0), stats.at(4), stats.at(i64::MIN)), (None, None, None));
        let none = Stats::default();
        assert_eq!((none.mean, none.stdev, none.percentile(50.0)), (0.0, 0.0, 0.0));
    }
}
