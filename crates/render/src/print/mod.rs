//! A page is printed here: as text, as Markdown, as HTML. Each printer is the one place where text from
//! outside gets into its form, and sees to it that it stays text there.

mod bars;
pub(super) mod html;
pub(super) mod markdown;
mod plot;
pub(super) mod text;
