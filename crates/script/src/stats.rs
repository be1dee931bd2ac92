//! `summary`, `latency` and `requests`, as `done` gets them.

use candor_record::{ErrorKind, RunRecord};
use mlua::{Lua, MetaMethod, Table, UserData, UserDataFields, UserDataMethods, Value};

/// Distinct values with their counts, ascending, and what they come to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Stats {
    values: Vec<(f64, u64)>,
    total: u64,
    mean: f64,
    stdev: f64,
}

impl Stats {
    /// Of values with counts, in ascending order.
    pub(crate) fn new(values: Vec<(f64, u64)>) -> Self {
        let total: u64 = values.iter().map(|(_, count)| count).sum();
        let sum = |f: &dyn Fn(f64) -> f64| -> f64 {
            values.iter().map(|&(value, count)| f(value) * count as f64).sum()
        };
        let mean = if total == 0 { 0.0 } else { sum(&|value| value) / total as f64 };
        // Of a sample: n - 1.
        let stdev = if total < 2 {
            0.0
        } else {
            (sum(&|value| (value - mean).powi(2)) / (total - 1) as f64).sqrt()
        };
        Stats { values, total, mean, stdev }
    }

    /// Response times in µs.
    pub(crate) fn latency(record: &RunRecord) -> Self {
        let hdr = record.total.latencies.response.hdr();
        let values = hdr.iter_recorded();
        Stats::new(
            values
                .map(|one| (one.value_iterated_to() as f64 / 1e3, one.count_at_value()))
                .collect(),
        )
    }

    /// Requests per second of a thread, sampled: each interval's answers, shared by the threads.
    pub(crate) fn requests(record: &RunRecord) -> Self {
        let threads = record.workers.len().max(1) as f64;
        let end_ns = record.warm_up_ns + record.window_ns;
        let mut rates: Vec<f64> = record
            .intervals
            .iter()
            .filter(|one| one.start_ns < end_ns && one.end_ns > one.start_ns)
            .map(|one| {
                let length_s = (one.end_ns - one.start_ns) as f64 / 1e9;
                (one.answered as f64 / length_s / threads).round()
            })
            .collect();
        rates.sort_by(f64::total_cmp);
        let mut values: Vec<(f64, u64)> = Vec::new();
        for rate in rates {
            match values.last_mut() {
                Some((value, count)) if *value == rate => *count += 1,
                _ => values.push((rate, 1)),
            }
        }
        Stats::new(values)
    }

    /// The smallest value that at least `percent` of all do not exceed.
    fn percentile(&self, percent: f64) -> f64 {
        let rank = (percent / 100.0 * self.total as f64).ceil().max(1.0) as u64;
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
        let end = |one: Option<&(f64, u64)>| one.map_or(0.0, |(value, _)| *value);
        fields.add_field_method_get("min", move |_, this| Ok(end(this.values.first())));
        fields.add_field_method_get("max", move |_, this| Ok(end(this.values.last())));
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

/// `summary`: times in µs.
pub(crate) fn summary(lua: &Lua, record: &RunRecord) -> mlua::Result<Table> {
    let ledger = &record.total.ledger;
    let of = |kinds: &[ErrorKind]| -> u64 { kinds.iter().map(|kind| ledger.error(*kind)).sum() };
    let errors = lua.create_table()?;
    let connect = record.total.connections.failed.total();
    errors.set("connect", connect)?;
    errors.set("read", of(&READ))?;
    errors.set("write", 0)?;
    errors.set("status", of(&[ErrorKind::Status]))?;
    errors.set("timeout", of(&[ErrorKind::Timeout]))?;
    let summary = lua.create_table()?;
    summary.set("duration", record.window_ns / 1000)?;
    summary.set("requests", record.answered_in_window)?;
    summary.set("bytes", record.total.bytes_received)?;
    summary.set("errors", errors)?;
    Ok(summary)
}

/// What wrk counts as read errors: answers that broke off, or were none.
const READ: [ErrorKind; 5] = [
    ErrorKind::Closed,
    ErrorKind::Truncated,
    ErrorKind::Malformed,
    ErrorKind::Reset,
    ErrorKind::Aborted,
];

#[cfg(test)]
mod tests {
    use super::Stats;

    #[test]
    fn statistics_of_five_values() {
        let stats = Stats::new(vec![(1.0, 2), (3.0, 1), (10.0, 2)]);
        assert_eq!((stats.total, stats.mean), (5, 5.0));
        // Deviations -4, -4, -2, 5, 5: squares sum up to 86.
        assert!((stats.stdev - (86.0f64 / 4.0).sqrt()).abs() < 1e-12);
        let percentiles = [0.0, 40.0, 41.0, 60.0, 99.9, 100.0].map(|p| stats.percentile(p));
        assert_eq!(percentiles, [1.0, 1.0, 3.0, 3.0, 10.0, 10.0]);
        assert_eq!(stats.at(2), Some((3.0, 1)));
        assert_eq!((stats.at(0), stats.at(4), stats.at(i64::MIN)), (None, None, None));
        let none = Stats::new(Vec::new());
        assert_eq!((none.mean, none.stdev, none.percentile(50.0)), (0.0, 0.0, 0.0));
    }
}
