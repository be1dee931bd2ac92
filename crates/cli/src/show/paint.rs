//! From one picture to the next: the bytes that update the changed cells of a terminal.

use std::fmt::Write;

use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::style::{Color, Modifier};

/// The bytes that change a terminal from `before` to `after`.
pub(super) fn changes(before: &Buffer, after: &Buffer) -> String {
    let mut out = String::new();
    let mut style = None;
    // The position of the cursor, if known.
    let mut cursor = None;
    for (x, y, cell) in before.diff(after) {
        // Writing to a string cannot fail, here and below.
        if cursor != Some((x, y)) {
            let _ = write!(out, "\x1b[{};{}H", y + 1, x + 1);
        }
        let wanted = (cell.fg, cell.modifier);
        if style != Some(wanted) {
            set_style(&mut out, cell);
            style = Some(wanted);
        }
        out.push_str(cell.symbol());
        // After a wide character or the end of a line, the cursor's position is uncertain.
        let is_narrow = cell.symbol().is_ascii();
        cursor = is_narrow.then_some((x + 1, y)).filter(|(x, _)| *x < after.area.right());
    }
    if style.is_some() {
        out.push_str("\x1b[0m");
    }
    out
}

/// The bytes that clear a terminal.
pub(super) const CLEAR: &str = "\x1b[0m\x1b[2J";

fn set_style(out: &mut String, cell: &Cell) {
    out.push_str("\x1b[0");
    for (modifier, code) in [(Modifier::BOLD, 1), (Modifier::DIM, 2)] {
        if cell.modifier.contains(modifier) {
            let _ = write!(out, ";{code}");
        }
    }
    let colour = match cell.fg {
        Color::Red => Some(31),
        Color::Green => Some(32),
        Color::Yellow => Some(33),
        Color::Cyan => Some(36),
        _ => None,
    };
    if let Some(code) = colour {
        let _ = write!(out, ";{code}");
    }
    out.push('m');
}

#[cfg(test)]
mod tests {
    use ratatui_core::layout::Rect;
    use ratatui_core::style::Style;

    use super::*;

    #[test]
    fn only_what_differs_is_written() {
        let area = Rect::new(0, 0, 8, 2);
        let (mut before, mut after) = (Buffer::empty(area), Buffer::empty(area));
        assert_eq!(changes(&before, &after), "");
        before.set_string(0, 0, "same", Style::default());
        after.set_string(0, 0, "same", Style::default());
        after.set_string(5, 0, "ab", Style::default());
        after.set_string(0, 1, "x", Style::default().fg(Color::Red).add_modifier(Modifier::BOLD));
        assert_eq!(changes(&before, &after), "\x1b[1;6H\x1b[0mab\x1b[2;1H\x1b[0;1;31mx\x1b[0m");
    }

    #[test]
    fn behind_what_may_be_wide_the_cursor_is_put_anew() {
        let area = Rect::new(0, 0, 8, 1);
        let mut after = Buffer::empty(area);
        after.set_string(0, 0, "日本x", Style::default());
        let text = changes(&Buffer::empty(area), &after);
        assert!(text.ends_with("\x1b[1;1H\x1b[0m日\x1b[1;3H本\x1b[1;5Hx\x1b[0m"), "{text:?}");
    }
}
