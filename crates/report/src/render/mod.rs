//! Renderings of a document. Each is a function of the document alone and writes nothing
//! anywhere: what comes out is a string, and whoever calls puts it where it belongs.

pub mod csv;
pub mod hgrm;
pub mod hlog;
pub mod json;
pub mod progress;
mod style;
pub mod text;

pub use style::Style;
