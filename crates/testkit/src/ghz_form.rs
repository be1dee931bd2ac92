//! The form of ghz's summaries: lines without their figures, so that a real one and ours can be compared line by line.

/// A real summary, without its command line: `ghz-ok`, or `ghz-errors` with two statuses beside OK.
///
/// # Panics
/// If there is no output of that name.
pub fn transcript(name: &str) -> &'static str {
    let text = match name {
        "ghz-ok" => include_str!("../transcripts/ghz-ok.txt"),
        "ghz-errors" => include_str!("../transcripts/ghz-errors.txt"),
        other => panic!("no transcript of the name {other}"),
    };
    text.split_once('\n').map_or("", |(_, rest)| rest)
}

/// The form of each line: a figure becomes `#`, a unit of time `T`, a bar goes. ghz's statuses have no order, so lines
/// of a table of them are sorted.
pub fn form(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(line).collect();
    let is_row = |line: &String| line.starts_with("  [");
    let mut from = 0;
    for rows in lines.clone().chunk_by(|a, b| is_row(a) == is_row(b)) {
        if rows.first().is_some_and(is_row) {
            lines[from..from + rows.len()].sort_unstable();
        }
        from += rows.len();
    }
    lines
}

fn line(line: &str) -> String {
    let mut form = String::new();
    for c in line.chars() {
        match c {
            '0'..='9' | '.' if form.ends_with('#') => {}
            '0'..='9' => form.push('#'),
            '∎' => {}
            c => form.push(c),
        }
    }
    ["ms", "ns", "s"].into_iter().fold(form, |form, unit| form.replace(&format!("# {unit}"), "# T"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_go_and_words_stay() {
        assert_eq!(line("  Slowest:\t13.05 ms"), line("  Slowest:\t1 ns"));
        assert_eq!(line("  0.236 [1]\t|∎∎"), line("  1.518 [80]\t|"));
        assert_ne!(line("  0.236 [1]\t|∎∎"), line("  1.518 [80]|"));
        assert_eq!(form("a\n  [B]   1\n  [A]   22\nc"), ["a", "  [A]   #", "  [B]   #", "c"]);
    }
}
