//! The tests of this crate, linked as one program.

mod corrupt;
mod golden;
mod laws;
mod propose;

use tarsia_codec::{DecodeCost, Registry, Tree};

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry
        .add_writer(&tarsia_concat::CONCAT, DecodeCost::default())
        .add_writer(&tarsia_bitpack::BITPACK, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    registry
}

fn plain() -> Tree {
    tarsia_concat::tree(tarsia_plain::tree(), tarsia_plain::tree())
}

fn packed() -> Tree {
    tarsia_concat::tree(tarsia_bitpack::tree(), tarsia_bitpack::tree())
}
