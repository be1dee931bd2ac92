//! The session, clause by clause (RFC 9113).

mod answers;
mod beginning;
mod frames;
mod streams;
mod windows;
