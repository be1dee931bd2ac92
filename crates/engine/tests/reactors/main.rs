//! The real reactors against real sockets. Every behaviour is tested on each: epoll; the one that takes times
//! of arrival from stamps; io_uring as a run uses it; io_uring with cooperative task work, as on older kernels;
//! and io_uring with so few and small buffers that it runs out of them all the time.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a panic is a failing test")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/server.rs"]
mod server;

/// A behaviour on each reactor. Where the kernel forbids io_uring those tests say so, and pass.
macro_rules! on_each_reactor {
    ($($name:ident)*) => {
        on_each_reactor!(@module on_epoll On::Epoll, $($name)*);
        on_each_reactor!(@module on_dozing On::Dozing, $($name)*);
        on_each_reactor!(@module on_uring On::Uring, $($name)*);
        on_each_reactor!(@module on_uring_cooperative On::Cooperative, $($name)*);
        on_each_reactor!(@module on_uring_few_buffers On::FewBuffers, $($name)*);
    };
    (@module $module:ident $on:expr, $($name:ident)*) => {
        mod $module {
            use super::On;
            $(#[test] fn $name() { if $on.is_possible() { super::$name($on) } })*
        }
    };
}

mod dozing;
mod failures;
mod halves;
mod harness;
mod keys;
mod queued;
mod runs;
mod sends;
mod talk;
