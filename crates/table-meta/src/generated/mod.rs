//! The FlatBuffers of `fbs/`, as `cargo xtask codegen` makes them. Only safe, verifying entry points are used.
#![allow(
    missing_docs,
    unsafe_code,
    unused_imports,
    dead_code,
    unreachable_pub,
    mismatched_lifetime_syntaxes,
    unsafe_op_in_unsafe_fn,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    reason = "written by flatc"
)]

pub(crate) mod table;
