//! Test tools for tables and for the stores below them. Only tests depend on this crate.
//!
//! | module | job |
//! |---|---|
//! | [`store`] | a store in memory that loses answers, drops and delays requests, lags and refuses |
//! | [`disk`] | a file system that loses power at any call, for `LocalStore` |
//! | [`explore`] | all interleavings of state machines over a store, with faults |
//!
//! Choices are made by seeds: equal seeds make equal runs, so a failing seed is a test.
//!
//! # What this crate does not do
//! It knows nothing of tables. Their models and histories come with them.
#![forbid(unsafe_code)]

pub mod disk;
pub mod explore;
pub mod store;
