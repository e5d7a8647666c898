//! The laws that Tarsia's own encodings are held to.

use tarsia_codec::{DecodeCost, Registry, Tree, ValueType};
use tarsia_testkit::laws::{cases, check_cases};

#[test]
fn linear_obeys_the_laws() {
    let mut registry: Registry = tarsia_encodings::registry();
    registry.add_writer(&example_linear::LINEAR, DecodeCost::default());
    for child in ["tarsia.bitpack", "tarsia.plain"] {
        let version = tarsia_codec::Version::new(1, 0);
        let tree = example_linear::tree(Tree::leaf(child, version, &[]));
        check_cases(&registry, &tree, &cases(ValueType::Fixed(8)));
    }
}
