//! Renderings of a document. Each is a pure function from the document to a string, which the caller
//! writes to its place.
//!
//! For people there are [`Page`]s: composed once for each kind of document ([`compose`]), and printed as
//! text, Markdown or HTML. Each form for programs has a module.

pub mod compose;
pub mod csv;
pub mod ghz;
pub mod h2load;
pub mod hgrm;
pub mod hlog;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod identities;
pub mod json;
mod page;
mod print;
mod style;
pub mod trace;
pub mod v1;
mod visible;
pub mod wrk;

pub use page::{Depth, Page};
pub use style::{Style, Tone};
/// Texts from outside.
pub use visible::{visible, visible_lines, visible_styled};

/// At most `limit` characters of `text`, with an ellipsis if some are missing.
pub fn shorten(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(limit.saturating_sub(1)).collect();
    short.push('…');
    short
}
