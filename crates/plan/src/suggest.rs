//! "Did you mean": the accepted word nearest to one that was not understood.
//!
//! Used by every grammar of this crate and by suites; knows nothing about any of them.

/// The candidate nearest to `word`, as the half sentence `; did you mean "…"?`, or nothing if
/// none is near.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(word, candidates) {
        Some(near) => format!("; did you mean \"{near}\"?"),
        None => String::new(),
    }
}

/// Whether `known` is what was meant by `word`: few of the letters differ, or one is the other's beginning.
pub fn is_near(word: &str, known: &str) -> bool {
    known.starts_with(word)
        || word.starts_with(known)
        || word.len() <= 64 && strsim::normalized_damerau_levenshtein(word, known) >= 0.6
}

fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A long word would be slow to compare, and it cannot be a typing error.
    if word.len() > 64 {
        return None;
    }
    let word = word.to_lowercase().replace('_', "-");
    candidates
        .into_iter()
        .map(|one| (strsim::normalized_damerau_levenshtein(&word, one), one))
        .filter(|(likeness, _)| *likeness >= 0.5)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, one)| one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_near_and_another_word_is_not() {
        for (word, known) in
            [("duratoin", "duration"), ("conn", "connections"), ("rates", "rate"), ("tine", "time")]
        {
            assert!(is_near(word, known), "{word}");
        }
        for (word, known) in [("metrics", "strict"), ("vus", "users"), ("output", "out-of")] {
            assert!(!is_near(word, known), "{word}");
        }
    }

    #[test]
    fn a_near_word_is_suggested_and_a_far_one_is_not() {
        let words = ["hold", "ramp", "burst"];
        assert_eq!(did_you_mean("rmap", words), "; did you mean \"ramp\"?");
        assert_eq!(did_you_mean("HOLD", words), "; did you mean \"hold\"?");
        assert_eq!(did_you_mean("zzz", words), "");
        assert_eq!(did_you_mean("", words), "");
        assert_eq!(did_you_mean(&"hold".repeat(100), words), "");
    }
}
