//! Requests that differ only in a number: `each = "0..99"` and `{i}` or `{i+456}` in their text.

use std::path::PathBuf;

use candor_plan::options::RequestOptions;
use candor_plan::values::RequestPath;

/// The most requests: more would swamp the report.
const MOST: u64 = 10_000;

/// Repeats each request for every number of the range, both ends included.
pub(crate) fn repeat(
    range: &str,
    requests: &[RequestOptions],
) -> Result<Vec<RequestOptions>, String> {
    let (first, last) = range
        .split_once("..")
        .and_then(|(first, last)| Some((first.trim().parse().ok()?, last.trim().parse().ok()?)))
        .filter(|(first, last): &(u64, u64)| first <= last)
        .ok_or("write two numbers, e.g. 0..99; the last one is included")?;
    if last - first >= MOST {
        return Err(format!("these are more than {MOST} requests; take fewer"));
    }
    let mut all = Vec::new();
    for i in first..=last {
        for one in requests {
            all.push(of_number(one, i)?);
        }
    }
    Ok(all)
}

fn of_number(request: &RequestOptions, i: u64) -> Result<RequestOptions, String> {
    let mut one = request.clone();
    if let Some(path) = one.path.take() {
        let path = replaced(&path.into_string(), i)?;
        one.path = Some(path.parse::<RequestPath>().map_err(|error| error.to_string())?);
    }
    for text in [&mut one.name, &mut one.body].into_iter().flatten() {
        *text = replaced(text, i)?;
    }
    let of_form = one.form.iter_mut().filter_map(|field| field.file.as_mut());
    for file in [&mut one.body_file, &mut one.expect_body].into_iter().flatten().chain(of_form) {
        if let Some(text) = file.to_str() {
            *file = PathBuf::from(replaced(text, i)?);
        }
    }
    Ok(one)
}

/// `{i}` becomes the number, `{i+N}` the sum.
fn replaced(text: &str, i: u64) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("{i") {
        let end = rest[at..].find('}').ok_or_else(|| format!("{{i is not closed in {text}"))? + at;
        let inner = &rest[at + 2..end];
        let more = match inner.strip_prefix('+') {
            None if inner.is_empty() => 0,
            Some(number) => number
                .parse()
                .map_err(|_| format!("{{i{inner}}} is not a sum; write e.g. {{i+456}}"))?,
            None => return Err(format!("{{i{inner}}} is not known; write {{i}} or {{i+456}}")),
        };
        out.push_str(&rest[..at]);
        out.push_str(&i.saturating_add(more).to_string());
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_where_they_belong() {
        assert_eq!(replaced("/a?b={i}&c={i+456}", 5).unwrap(), "/a?b=5&c=461");
        assert_eq!(replaced("{x} {}", 5).unwrap(), "{x} {}");
        for wrong in ["{i", "{i-1}", "{i+x}"] {
            assert!(replaced(wrong, 1).is_err(), "{wrong}");
        }
        let request =
            RequestOptions { path: Some("/r/{i}".parse().unwrap()), ..Default::default() };
        let all = repeat("8..10", &[request]).unwrap();
        let paths: Vec<_> = all.into_iter().map(|one| one.path.unwrap().into_string()).collect();
        assert_eq!(paths, ["/r/8", "/r/9", "/r/10"]);
        for wrong in ["5", "9..8", "a..b", "0..10000"] {
            assert!(repeat(wrong, &[]).is_err(), "{wrong}");
        }
    }
}
