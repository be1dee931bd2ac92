//! The HTTP/1.1 session against the RFCs, against itself and against other parsers.

mod calls;
mod captures;
mod clauses;
mod events;
mod generate;
mod memo;
mod oracles;
mod pauses;
mod properties;
mod support;
mod transmit;
