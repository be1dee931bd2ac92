//! A page is printed here: as text, as Markdown, as HTML. Each printer is the one place where text from
//! outside gets into its form, and sees to it that it stays text there.

mod bars;
pub(super) mod html;
mod markdown;
mod plot;
pub(super) mod text;

use candor_report::Style;

use super::page::Page;

impl Page {
    /// For a terminal, as wide as `style` says where words can be wrapped: without charts
    /// but for those that are plotted.
    pub fn text(&self, style: Style) -> String {
        text::print(self, style)
    }

    /// Markdown as GitHub reads it: without charts but for those that are plotted.
    pub fn markdown(&self) -> String {
        markdown::print(self)
    }

    /// One file of HTML that needs nothing else.
    pub fn html(&self) -> String {
        html::print(self)
    }
}
