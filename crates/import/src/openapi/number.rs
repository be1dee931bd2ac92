//! Numbers of schemas: within their bounds, and multiples of what they ask for.

use serde_json::Number;

use super::check::{bounds, float, is_multiple};
use crate::json::Json;
use crate::template::Template;

/// Random within the bounds, or one number if few are there, or if it has a number itself.
pub(super) fn number(list: &[&Json], is_integer: bool, variant: Option<usize>) -> Json<Template> {
    let all = || list.iter().map(|part| bounds(part));
    // Of two equal bounds the one that excludes itself holds.
    let low =
        all().filter_map(|[low, _]| low).max_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let high =
        all().filter_map(|[_, high]| high).min_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let steps: Vec<f64> =
        list.iter().filter_map(|part| float(part, "multipleOf")).filter(|one| *one > 0.0).collect();
    let is_within = |number: f64| {
        low.is_none_or(|(low, excludes)| number > low || number == low && !excludes)
            && high.is_none_or(|(high, excludes)| number < high || number == high && !excludes)
            && steps.iter().all(|step| is_multiple(number, *step))
            && (!is_integer || number.fract() == 0.0)
    };
    let written = |number: f64| match is_integer {
        true => Json::Number((number as i64).into()),
        false => Number::from_f64(number).map_or(Json::Null, Json::Number),
    };
    let step = steps.iter().copied().fold(0.0, f64::max);
    let step = if step == 0.0 { 1.0 } else { step };
    if is_integer && steps.is_empty() && variant.is_none() {
        return integer(low, high);
    }
    let from = match (low, high) {
        (Some((low, _)), _) => (low / step).ceil(),
        (None, Some((high, _))) => (high / step).floor().min(1.0),
        (None, None) => 1.0,
    };
    let mut skip = variant.unwrap_or(0);
    // Without a lower bound there are more below.
    let below = (1..1000).map(|count: i32| -count).filter(|_| low.is_none());
    for count in (0..1000).chain(below) {
        let number = (from + f64::from(count)) * step;
        // Others divide, and look whether the result is whole.
        let is_exact = steps.iter().all(|step| (number / step).fract() == 0.0);
        if is_within(number) && (is_exact || count.abs() > 100) {
            if skip == 0 {
                return written(number);
            }
            skip -= 1;
        }
    }
    // No whole step is between the bounds.
    match (low, high) {
        (Some((low, _)), Some((high, _))) => {
            let part =
                (variant.unwrap_or(0) + 1) as f64 / (variant.map_or(2, |one| one + 2)) as f64;
            let middle = low + (high - low) * part;
            let rounded = (middle * 1e6).round() / 1e6;
            written(if is_within(rounded) { rounded } else { middle })
        }
        (Some((low, _)), None) => written(low),
        (_, high) => written(high.map_or(1.0, |(high, _)| high)),
    }
}

/// A random whole number within bounds.
fn integer(low: Option<(f64, bool)>, high: Option<(f64, bool)>) -> Json<Template> {
    // Exact as a float, and far enough for every identifier.
    const MOST: f64 = 9_007_199_254_740_991.0;
    let low = low.map(|(low, excludes)| if excludes { low.floor() + 1.0 } else { low.ceil() });
    let high = high.map(|(high, excludes)| if excludes { high.ceil() - 1.0 } else { high.floor() });
    // A lower bound that is only that of the type says nothing.
    let low = low.filter(|low| *low > f64::from(i32::MIN));
    let high = high.filter(|high| *high < f64::from(i32::MAX) || low.is_some_and(|low| low > 0.0));
    let from = low.unwrap_or_else(|| high.map_or(1.0, |high| high.min(1.0)));
    let from = from.clamp(-MOST, MOST);
    let to = high.unwrap_or(from.max(0.0) + 99.0).clamp(-MOST, MOST);
    match from < to {
        true => Json::Raw(Template::hole(format!("random {}..{}", from as i64, to as i64))),
        false => Json::Number((from as i64).into()),
    }
}
