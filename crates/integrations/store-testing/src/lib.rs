//! Servers for tests of what reads and writes object stores.
//!
//! | item | job |
//! |---|---|
//! | [`Server`], [`Fault`], [`Request`] | HTTP and enough of S3's dialect on loopback; slow, and failing where a test wants it to |
//! | [`Moto`] | `moto_server` of PyPI, which speaks S3's dialect as others understand it |
//! | [`quick`], [`pattern`] | short waits, and bytes that say where they are |
#![forbid(unsafe_code)]

mod dialect;
mod moto;
mod server;
mod state;

pub use moto::Moto;
pub use server::{Server, pattern, quick};
pub use state::{Fault, Request};
