//! Renderings of a document. Each is a function of the document alone and writes nothing anywhere: what
//! comes out is a string, and whoever calls puts it where it belongs.
//!
//! What people read is a [`Page`]: composed once for each kind of document ([`compose`]), printed as text,
//! Markdown or HTML. What programs read has a module for each form.

pub mod compose;
pub mod csv;
pub mod h2load;
pub mod hgrm;
pub mod hlog;
#[cfg(test)]
mod hostile;
pub mod json;
mod page;
mod print;
mod style;
pub mod trace;
pub mod v1;
mod visible;
pub mod wrk;

pub use page::{Depth, Page};
pub use style::Style;
/// Texts from outside.
pub use visible::{visible, visible_lines, visible_styled};

/// At most `limit` characters of `text`, the last one an ellipsis if some are missing.
pub fn shorten(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(limit.saturating_sub(1)).collect();
    short.push('…');
    short
}
