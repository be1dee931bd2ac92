//! Bars in text: a line for each, as long as its share of the longest.

use crate::page::bars::Bars;
use candor_report::shorten;

const COLUMNS: f64 = 40.0;
/// Characters of a name at most.
const NAME: usize = 28;

/// The lines: of each group its name, and its bars.
pub(super) fn lines(bars: &Bars) -> Vec<String> {
    let names = bars.groups.iter().flat_map(|one| &one.bars).map(|bar| shorten(&bar.name, NAME));
    let width = names.map(|name| name.chars().count()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for group in &bars.groups {
        if !group.name.is_empty() {
            lines.push(format!("  {}", group.name));
        }
        for bar in &group.bars {
            let length = (group.at(bar.value) * COLUMNS).round().max(1.0) as usize;
            let name = shorten(&bar.name, NAME);
            lines.push(format!("    {name:width$}  {} {}", "█".repeat(length), bar.label));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::bars::{Bar, Group};

    #[test]
    fn bars_are_as_long_as_their_share_and_never_nothing() {
        let bar = |name: &str, value: f64| Bar {
            name: name.to_owned(),
            colour: 0,
            value,
            ends: None,
            label: format!("{value}/s"),
        };
        let bars = vec![bar("a", 100.0), bar("long", 50.0), bar("b", 0.1), bar("c", f64::NAN)];
        let group = Group { name: "hello".to_owned(), bars };
        let lines = lines(&Bars {
            id: String::new(),
            title: String::new(),
            about: String::new(),
            groups: vec![group],
        });
        assert_eq!(lines[0], "  hello");
        assert_eq!(lines[1], format!("    a     {} 100/s", "█".repeat(40)));
        assert_eq!(lines[2], format!("    long  {} 50/s", "█".repeat(20)));
        assert_eq!(lines[3], "    b     █ 0.1/s");
        assert_eq!(lines[4], "    c     █ NaN/s");
    }
}
