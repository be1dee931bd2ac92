//! Every file that this program makes, so that no other user of the machine can choose its content
//! or its place.
//!
//! There are three kinds. An *output* has a path that the user named ([`output`]): it is written
//! whole or not at all, and no link is followed in a directory that other users can write. A
//! *temporary* file has a path that no other user can know or enter ([`private`]). A file *kept*
//! for later commands is in a directory of the user's own, and bounded ([`store`]). This crate does
//! not interpret the files.
#![forbid(unsafe_code)]

pub mod output;
pub mod private;
pub mod store;
mod trust;

pub use output::{
    Draft, WriteError, append, check, create, create_directory, open, write_atomically,
};
pub use private::{InUse, Private, give_up, is_private, private, refuge};
pub use store::{Limits, Store};
