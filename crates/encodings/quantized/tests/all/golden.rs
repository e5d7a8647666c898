//! Frozen bytes, in both directions. `TARSIA_BLESS=1` writes missing files; existing files never change.

use core::num::NonZero;

use tarsia_codec::Tree;
use tarsia_quantized::{Format, page_tree, tree, vector_tree, wide_page_tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

use crate::laws::{doubles, floats, registry};

fn check(name: &str, tree: &Tree, case: &Case) {
    units::check_golden(env!("CARGO_MANIFEST_DIR"), &registry(), tree, name, case);
}

fn halves(numbers: &[f32]) -> Case {
    let bits = |it: &f32| half::f16::from_f32(*it).to_bits().into();
    Case::numbers("", 2, &numbers.iter().map(bits).collect::<Vec<_>>())
}

#[test]
fn frozen_bytes_stay() {
    let plain = tarsia_plain::tree;
    let bitpack = tarsia_bitpack::tree;
    let numbers = [0.0, -0.0, 1.5, -0.25, 448.0, f32::NAN, 0.001953125];
    let wide: Vec<f64> = numbers.iter().map(|it| f64::from(*it)).collect();
    check("none", &tree(Format::Bf16, plain()), &floats(&[]));
    check("f32", &tree(Format::F32, plain()), &doubles(&wide));
    check("f16_floats", &tree(Format::F16, plain()), &floats(&numbers));
    check("f16_doubles", &tree(Format::F16, plain()), &doubles(&wide));
    check(
        "bf16_floats",
        &tree(Format::Bf16, plain()),
        &floats(&numbers),
    );
    check(
        "bf16_doubles",
        &tree(Format::Bf16, plain()),
        &doubles(&wide),
    );
    check(
        "e4m3_halves",
        &tree(Format::E4m3, plain()),
        &halves(&numbers),
    );
    check(
        "e4m3_floats",
        &tree(Format::E4m3, plain()),
        &floats(&numbers),
    );
    check(
        "e4m3_doubles",
        &tree(Format::E4m3, plain()),
        &doubles(&wide),
    );
    let numbers = [1.5, -57344.0, f32::INFINITY, f32::NAN, 2f32.powi(-16)];
    let wide: Vec<f64> = numbers.iter().map(|it| f64::from(*it)).collect();
    check(
        "e5m2_halves",
        &tree(Format::E5m2, plain()),
        &halves(&numbers),
    );
    check(
        "e5m2_floats",
        &tree(Format::E5m2, plain()),
        &floats(&numbers),
    );
    check(
        "e5m2_doubles",
        &tree(Format::E5m2, plain()),
        &doubles(&wide),
    );
    let scale = 0.1f32;
    let integers = [-128.0, 127.0, 0.0, 3.0, -3.0];
    let narrow = integers.map(|it| it * scale);
    let int8 = page_tree(Format::Int8, scale, plain());
    check("int8_page_floats", &int8, &floats(&narrow));
    check("int8_page_halves", &int8, &halves(&narrow));
    let wide = integers.map(|it| f64::from(it) * 0.1);
    let int8 = wide_page_tree(Format::Int8, 0.1, plain());
    check("int8_page_doubles", &int8, &doubles(&wide));
    let integers = [-8.0, 7.0, 0.0, 3.0, -3.0, 1.0];
    let narrow = integers.map(|it| it * scale);
    let int4 = page_tree(Format::Int4, scale, bitpack());
    check("int4_page_floats", &int4, &floats(&narrow));
    let triples = NonZero::new(3).unwrap();
    let vectors = [127.0, -3.0, 1.0, 0.0, 0.0, 0.0, 63.5, -0.5, 0.0];
    let int8 = vector_tree(Format::Int8, triples, plain(), plain());
    check("int8_vectors_floats", &int8, &floats(&vectors));
    check("int8_vectors_halves", &int8, &halves(&vectors));
    check(
        "int8_vectors_doubles",
        &int8,
        &doubles(&vectors.map(f64::from)),
    );
    let vectors = [7.0, -3.0, 1.0, 0.0, 0.0, 0.0, 0.5, -3.5, 0.0];
    let int4 = vector_tree(Format::Int4, triples, bitpack(), plain());
    check("int4_vectors_floats", &int4, &floats(&vectors));
    check("int4_no_vectors", &int4, &floats(&[]));
}
