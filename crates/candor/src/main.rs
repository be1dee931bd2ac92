//! The binary `candor`. All of it is in crate cli, which is built small; what is linked is optimised as this crate is.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    candor_cli::main()
}
