//! The form of wrk's and wrk2's outputs, for comparing ours with theirs: what stays of a text when
//! its figures are taken out but not their places.
//!
//! `transcripts/` holds real outputs; each begins with its command line.

/// A real output, without its command line: `wrk-latency`, `wrk2-u_latency` and so on.
///
/// # Panics
/// If there is none of that name.
pub fn transcript(name: &str) -> &'static str {
    let text = match name {
        "wrk-errors" => include_str!("../transcripts/wrk-errors.txt"),
        "wrk-latency" => include_str!("../transcripts/wrk-latency.txt"),
        "wrk-refused" => include_str!("../transcripts/wrk-refused.txt"),
        "wrk-usage" => include_str!("../transcripts/wrk-usage.txt"),
        "wrk2-errors" => include_str!("../transcripts/wrk2-errors.txt"),
        "wrk2-latency" => include_str!("../transcripts/wrk2-latency.txt"),
        "wrk2-no-rate" => include_str!("../transcripts/wrk2-no-rate.txt"),
        "wrk2-refused" => include_str!("../transcripts/wrk2-refused.txt"),
        "wrk2-u_latency" => include_str!("../transcripts/wrk2-u_latency.txt"),
        "wrk2-usage" => include_str!("../transcripts/wrk2-usage.txt"),
        other => panic!("no transcript of the name {other}"),
    };
    text.split_once('\n').map_or("", |(_, rest)| rest)
}

/// The form of each line, lines of the same form after one another taken together: so tables of
/// any length are the same.
pub fn form(text: &str) -> Vec<String> {
    let mut forms: Vec<String> = text.lines().map(line).collect();
    forms.dedup();
    forms
}

/// The form of one line. Each number becomes its decimals and, where it stands in a column, the
/// column in which it ends; the unit behind it goes, and the address of the server. `-nan` is a
/// figure too.
pub fn line(line: &str) -> String {
    // A share of no samples at all stands where a figure would.
    let line = &line.replace("-nan%", "0.00%");
    if line.starts_with("Running ") {
        let (before, _) = line.split_once('@').unwrap_or((line, ""));
        return figures(before, false) + "@ URL";
    }
    if line.starts_with("Transfer/sec:") {
        // Right-aligned with its unit, which may be missing.
        let words: Vec<_> = line.split_whitespace().map(|word| figures(word, false)).collect();
        return format!("{} to column {}", words.join(" "), line.len());
    }
    let words = [" threads and ", "calibration", " requests in ", "Socket errors", "Non-2xx"];
    figures(line, !words.iter().any(|word| line.contains(word)))
}

fn figures(line: &str, in_columns: bool) -> String {
    let mut form = String::new();
    let bytes = line.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        // A digit within a word, as in Non-2xx and 1/(1-Percentile), is no figure.
        let begins = bytes[at].is_ascii_digit()
            && (at == 0 || bytes[at - 1] == b' ' || bytes[at - 1] == b'=');
        if !begins || line[at..].starts_with("1/(") {
            form.push(bytes[at] as char);
            at += 1;
            continue;
        }
        let end = at
            + bytes[at..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
        let decimals = line[at..end].split_once('.').map_or(0, |(_, rest)| rest.len());
        if in_columns {
            form.truncate(form.trim_end_matches(' ').len());
            form.push_str(&format!(" <{decimals} decimals to {end}>"));
        } else {
            form.push_str(&format!("<{decimals} decimals>"));
        }
        let unit = bytes[end..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        at = end + unit;
    }
    form.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_and_figures_go_and_columns_stay() {
        let [a, b] = [
            "    Latency     6.46ms    1.93ms  12.34ms   67.66%",
            "    Latency    63.66ms  223.37ms   1.42s    93.67%",
        ];
        assert_eq!(line(a), line(b));
        assert_ne!(line(a), line("    Latency    6.46ms    1.93ms  12.34ms   67.66%"));
        assert_ne!(line(a), line("    Latency     6.4ms     1.93ms  12.34ms   67.66%"));
        assert_eq!(
            line("  9 requests in 30.01s, 19.81MB read"),
            line("  60017 requests in 1.00m, 871.00B read")
        );
        assert_ne!(line("  Non-2xx or 3xx responses: 7"), line("  Non-2xx or 3xx response: 7"));
        assert_eq!(line("Transfer/sec:     18.22MB"), line("Transfer/sec:     870.00B"));
    }

    #[test]
    fn tables_of_any_length_have_one_form() {
        let long = form(transcript("wrk2-latency"));
        assert_eq!(long.iter().filter(|line| line.contains("<6 decimals")).count(), 2);
        let (table, _totals) = long.split_at(long.len() - 3);
        assert!(form(transcript("wrk2-u_latency")).starts_with(table));
    }
}
