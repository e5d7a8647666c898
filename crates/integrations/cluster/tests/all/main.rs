//! Statements in a cluster of processes give what they give on one machine.

mod cluster;
mod codecs;
mod statements;
mod tpch;
