//! A plot of a few points in text: values upwards on a logarithmic axis, what they depend on to
//! the right on a linear one.

use super::super::lines::Lines;

const COLUMNS: usize = 64;
const ROWS: usize = 12;

/// A plot, or nothing if there are fewer than two points above zero. `marks` are places on the
/// lower axis, each with the sign of a line upwards.
pub(super) fn log_y(
    title: &str,
    points: &[(f64, f64)],
    marks: &[(f64, char)],
    y_label: &dyn Fn(f64) -> String,
    x_label: &dyn Fn(f64) -> String,
) -> Option<Lines> {
    let points: Vec<(f64, f64)> =
        points.iter().copied().filter(|(x, y)| x.is_finite() && *y > 0.0).collect();
    if points.len() < 2 {
        return None;
    }
    let ends = |values: &dyn Fn(&(f64, f64)) -> f64| {
        let all = || points.iter().map(values);
        let low = all().min_by(f64::total_cmp).unwrap_or(0.0);
        (low, all().max_by(f64::total_cmp).unwrap_or(0.0))
    };
    let (low, high) = ends(&|(_, y)| y.ln());
    // All marks are on the plot, also those beyond the last point.
    let marked = marks.iter().map(|(x, _)| *x).filter(|x| x.is_finite());
    let right = marked.fold(ends(&|(x, _)| *x).1, f64::max).max(f64::MIN_POSITIVE);
    let column =
        |x: f64| ((x / right * (COLUMNS - 1) as f64).round().max(0.0) as usize).min(COLUMNS - 1);
    let row = |y: f64| match high > low {
        true => (((y.ln() - low) / (high - low)) * (ROWS - 1) as f64).round() as usize,
        false => 0,
    };
    let mut grid = vec![vec![' '; COLUMNS]; ROWS];
    for &(x, sign) in marks.iter().filter(|(x, _)| x.is_finite()) {
        grid.iter_mut().for_each(|line| line[column(x)] = sign);
    }
    for &(x, y) in &points {
        grid[row(y).min(ROWS - 1)][column(x)] = '●';
    }
    let label_of = |at: usize| {
        let share = at as f64 / (ROWS - 1) as f64;
        y_label((low + (high - low) * share).exp())
    };
    let labelled = |at: usize| at.is_multiple_of(4) || at == ROWS - 1;
    let width =
        (0..ROWS).filter(|&at| labelled(at)).map(|at| label_of(at).chars().count()).max()?;
    let mut out = Lines::default();
    out.line(format!("  {title}"));
    for at in (0..ROWS).rev() {
        let label = if labelled(at) { label_of(at) } else { String::new() };
        let line: String = grid[at].iter().collect();
        let blanks = " ".repeat(width - label.chars().count());
        out.line(format!("  {blanks}{label} ┤{line}").trim_end());
    }
    out.line(format!("  {} └{}", " ".repeat(width), "─".repeat(COLUMNS)));
    let (left, right) = (x_label(0.0), x_label(right));
    let between = COLUMNS.saturating_sub(left.chars().count() + right.chars().count());
    out.line(format!("  {}  {left}{}{right}", " ".repeat(width), " ".repeat(between)));
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::{Lines, log_y};

    fn plotted(points: &[(f64, f64)], marks: &[(f64, char)]) -> Option<String> {
        log_y("title", points, marks, &|y| format!("{y:.0}"), &|x| format!("{x:.0}"))
            .map(Lines::finish)
    }

    #[test]
    fn points_stand_where_they_belong() {
        let text = plotted(&[(0.0, 1.0), (63.0, 1000.0)], &[(32.0, '│')]).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "  title");
        let place = |line: &str, sign| line.chars().position(|c| c == sign);
        let origin = place(lines[12], '●').unwrap();
        assert_eq!(place(lines[1], '●'), Some(origin + 63));
        assert!(lines[1].trim_start().starts_with("1000 ┤"), "{text}");
        assert!((1..=12).all(|at| place(lines[at], '│') == Some(origin + 32)), "{text}");
        assert!(lines[14].ends_with("63"), "{text}");
    }

    #[test]
    fn too_little_is_no_plot_and_nothing_is_too_odd() {
        assert_eq!(plotted(&[(1.0, 1.0)], &[]), None);
        assert_eq!(plotted(&[(1.0, 0.0), (2.0, -1.0), (3.0, 4.0)], &[]), None);
        assert!(plotted(&[(0.0, 5.0), (0.0, 5.0)], &[(f64::NAN, 'x'), (9.0, 'y')]).is_some());
    }
}
