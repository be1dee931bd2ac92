//! The form of h2load's outputs: lines without their figures, so that a real output and ours can
//! be compared line by line.

/// A real output, without its command line: `h2load-h1`, `h2load-h2` or `h2load-usage`.
///
/// # Panics
/// If there is no output of that name.
pub fn transcript(name: &str) -> &'static str {
    let text = match name {
        "h2load-h1" => include_str!("../transcripts/h2load-h1.txt"),
        "h2load-h2" => include_str!("../transcripts/h2load-h2.txt"),
        "h2load-usage" => include_str!("../transcripts/h2load-usage.txt"),
        other => panic!("no transcript of the name {other}"),
    };
    text.split_once('\n').map_or("", |(_, rest)| rest)
}

/// The form of each line, lines of the same form after one another taken together: so there may be
/// any number of progress lines and of threads.
pub fn form(text: &str) -> Vec<String> {
    let mut forms: Vec<String> = text.lines().map(line).collect();
    forms.dedup();
    forms
}

/// The form of one line: each figure is replaced by its kind (`N` a whole number, `F` one with two
/// decimals, `T` a duration, `B` a number of bytes), and in the table also by where it ends.
pub fn line(line: &str) -> String {
    let is_table = line.starts_with("time ") || line.starts_with("req/s ");
    let mut form = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        let end = from.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(from.len());
        // A dot that ends a sentence is not part of the figure.
        let end = if from[..end].ends_with('.') { end - 1 } else { end };
        let figure = &from[..end];
        let unit = from[end..].find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(from.len() - end);
        let unit = &from[end..end + unit];
        let decimals = figure.split_once('.').map(|(_, decimals)| decimals.len());
        // A digit within a word, as in h2c, 2xx and 1st, is not a figure.
        let in_word = before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '/' || c == '.');
        let kind = match (in_word, decimals, unit) {
            (false, None, "") => Some(("N", 0)),
            (false, Some(2), "") => Some(("F", 0)),
            (false, None, "us") | (false, Some(2), "ms" | "s") => Some(("T", unit.len())),
            // Whole seconds, as they were asked for.
            (false, None, "s") => Some(("Ns", 1)),
            (false, None, "B") | (false, Some(2), "KB" | "MB" | "GB") => Some(("B", unit.len())),
            _ => None,
        };
        match kind {
            None => {
                form.push_str(before);
                form.push_str(&from[..end]);
                rest = &from[end..];
            }
            Some((kind, unit)) if is_table => {
                rest = &from[end + unit..];
                form.push_str(before.trim_end());
                form.push_str(&format!(" {kind} to {}", line.len() - rest.len()));
            }
            Some((kind, unit)) => {
                form.push_str(before);
                form.push_str(kind);
                rest = &from[end + unit..];
            }
        }
    }
    form + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_go_and_words_and_columns_stay() {
        assert_eq!(line("progress: 10% done"), line("progress: 100% done"));
        assert_eq!(line("Application protocol: h2c"), "Application protocol: h2c");
        assert_eq!(
            line("status codes: 1000 2xx, 0 3xx, 0 4xx, 0 5xx"),
            "status codes: N 2xx, N 3xx, N 4xx, N 5xx"
        );
        assert_eq!(
            line("finished in 7.84ms, 127616.13 req/s, 19.47MB/s"),
            line("finished in 4.00s, 1.13 req/s, 870B/s")
        );
        assert_ne!(line("finished in 7.8ms, "), line("finished in 7.84ms, "));
        let [a, b] = [
            "time for request:       37us       206us        70us        20us    75.90%",
            "time for request:       19us      6.97ms       826us       309us    84.67%",
        ];
        assert_eq!(line(a), line(b));
        assert_ne!(
            line(a),
            line("time for request:        37us      206us        70us        20us    75.90%")
        );
        assert_eq!(
            line("spawning thread #0: 10 total client(s). 1000 total requests"),
            "spawning thread #N: N total client(s). N total requests"
        );
        assert_eq!(line("Stopping thread #3. Now"), "Stopping thread #N. Now");
    }
}
