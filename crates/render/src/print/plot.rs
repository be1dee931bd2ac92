//! A chart as a plot in text: the points of one of its series, values upwards, on the chart's own axes.

use crate::page::chart::{Across, Chart};

const COLUMNS: usize = 64;
const ROWS: usize = 12;
/// Signs of marks, in their order.
const MARKS: [char; 2] = ['┆', '│'];

/// The lines of a plot; `None` if the chart wants none, or has fewer than two points for it.
pub(super) fn lines(chart: &Chart) -> Option<Vec<String>> {
    let Chart { x, y, series, .. } = chart;
    let (name, points) = chart.plotted.iter().find_map(|name| {
        let series = series.iter().find(|one| one.name == *name)?;
        let points = series.at.iter().zip(&series.value);
        let points: Vec<_> = points.filter_map(|(at, value)| Some((*at, (*value)?))).collect();
        (points.len() > 1).then_some((name, points))
    })?;
    let place = |share: f64, places: usize| {
        ((share * (places - 1) as f64).round().max(0.0) as usize).min(places - 1)
    };
    let mut grid = [[' '; COLUMNS]; ROWS];
    let marks = chart.marks.iter().filter(|mark| mark.across == Across::Up && mark.at.is_finite());
    let marks: Vec<_> = marks.zip(MARKS).collect();
    for (mark, sign) in &marks {
        grid.iter_mut().for_each(|line| line[place(x.at(mark.at), COLUMNS)] = *sign);
    }
    for (at, value) in points {
        grid[place(y.at(value), ROWS)][place(x.at(at), COLUMNS)] = '●';
    }
    let mut labels = vec![String::new(); ROWS];
    y.whole().for_each(|tick| labels[place(tick.at, ROWS)] = tick.label);
    let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let legend = marks.iter().map(|(mark, sign)| format!(", {sign} {}", mark.label));
    let mut lines = vec![format!("  ● {name}{}", legend.collect::<String>())];
    for (line, label) in grid.iter().zip(&labels).rev() {
        let line: String = line.iter().collect();
        lines.push(format!("  {label:>width$} ┤{}", line.trim_end()));
    }
    lines.push(format!("  {:width$} └{}", "", "─".repeat(COLUMNS)));
    let (left, right) = (x.label(x.low), x.label(x.high));
    let between = COLUMNS.saturating_sub(left.chars().count());
    lines.push(format!("  {:width$}  {left}{right:>between$}", ""));
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::axis::{Axis, Unit};
    use crate::page::chart::{Mark, Series};

    fn plotted(points: &[(f64, f64)], marks: &[f64]) -> Option<Vec<String>> {
        let points = points.iter().map(|&(at, value)| (at, Some(value)));
        let x = Axis::span("", Unit::Rate, 0.0, 63.0);
        let mut chart = Chart::new("c", "t", x, Axis::log("", Unit::Duration, 1.0, 1000.0))
            .series(Series::line("p99", 0, points));
        let mark = |&at: &f64| Mark { across: Across::Up, at, label: "mark".to_owned() };
        chart.marks = marks.iter().map(mark).collect();
        chart.plotted = &["p99.9", "p99"];
        lines(&chart)
    }

    #[test]
    fn points_stand_where_they_belong() {
        let lines = plotted(&[(0.0, 1.0), (63.0, 1000.0)], &[32.0]).unwrap();
        assert_eq!(lines[0], "  ● p99, ┆ mark");
        let place = |line: &str, sign| line.chars().position(|c| c == sign);
        let origin = place(&lines[12], '●').unwrap();
        assert_eq!(place(&lines[1], '●'), Some(origin + 63));
        assert!(lines[1].trim_start().starts_with("1 µs ┤"), "{lines:#?}");
        assert!((1..=12).all(|at| place(&lines[at], '┆') == Some(origin + 32)), "{lines:#?}");
        assert!(lines[14].ends_with("63/s"), "{lines:#?}");
    }

    #[test]
    fn too_little_is_no_plot_and_nothing_is_too_odd() {
        assert_eq!(plotted(&[(1.0, 1.0)], &[]), None);
        assert!(plotted(&[(0.0, 5.0), (0.0, -5.0)], &[f64::NAN, 90.0]).is_some());
    }
}
