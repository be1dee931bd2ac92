//! The HTTP/1.1 session against the RFCs, against itself and against other parsers.

mod captures;
mod clauses;
mod generate;
mod memo;
mod oracles;
mod properties;
mod stops;
mod support;
mod transmit;
