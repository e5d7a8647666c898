//! Trees of all encodings of a registry, made of their samples
//! ([`EncodingWriter::samples`](tarsia_codec::EncodingWriter::samples)), for tests that name no encoding.

use tarsia_codec::{
    Node, NodeSpec, OwnedValues, Registry, Sample, Tree, ValueType, Values, limits,
};

use crate::cases::Case;
use crate::rng::Rng;

/// Turns any values of a type into values that the root of a tree holds. `None` if the root holds any values.
pub type Fit = Option<fn(Values<'_>) -> OwnedValues>;

/// The values of a case, changed so that a tree with this fit holds them.
pub fn fitted(case: &Case, fit: Fit) -> Case {
    let (Some(fit), false) = (fit, case.is_empty()) else {
        return Case::copy_of(&case.name, case.values());
    };
    let values = fit(case.values());
    Case::copy_of(
        &format!("fitted {}", case.name),
        values.as_values().expect("whole values"),
    )
}

/// One node without its children: an encoding of the registry, and one of its samples.
struct Candidate {
    node: Tree,
    sample: Sample,
    spec: NodeSpec,
}

/// All nodes that hold values of the type. A sample of another width is used if the encoding accepts it for this one.
fn candidates(registry: &Registry, value_type: ValueType) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = vec![];
    for known in registry.writers() {
        for sample in known.writer.samples() {
            let node = Tree::leaf(known.writer.id(), known.version_max, &sample.params);
            let as_seen = Node {
                value_type,
                version: node.version,
                params: &sample.params,
            };
            let Ok(spec) = known.writer.check(&as_seen) else {
                continue;
            };
            let is_new = found.iter().all(|other| other.node != node);
            let is_same_kind = matches!(
                (sample.value_type, value_type),
                (ValueType::Bits, ValueType::Bits)
                    | (ValueType::Fixed(_), ValueType::Fixed(_))
                    | (ValueType::Bytes, ValueType::Bytes)
            );
            if is_new && is_same_kind {
                found.push(Candidate { node, sample, spec });
            }
        }
    }
    found
}

/// A random tree of the registry's encodings of at most this depth, its shared buffers numbered. It need not hold the
/// values, not even those that `fit` makes: a child may not hold what its parent makes of them. `None` if no encoding
/// of this depth holds the type. A tree of too many nodes is given up for one of a level less.
pub fn random_tree(
    registry: &Registry,
    value_type: ValueType,
    depth: u32,
    rng: &mut Rng,
) -> Option<(Tree, Fit)> {
    let (mut tree, fit) = random_node(registry, value_type, depth, rng)?;
    if tree.n_nodes() > limits::TREE_NODES_MAX {
        return random_tree(registry, value_type, depth - 1, rng);
    }
    let numbered = registry.number_shared(&mut tree, value_type, &mut 0);
    numbered.ok().map(|()| (tree, fit))
}

fn random_node(
    registry: &Registry,
    value_type: ValueType,
    depth: u32,
    rng: &mut Rng,
) -> Option<(Tree, Fit)> {
    let mut left = candidates(registry, value_type);
    if depth == 0 {
        return None;
    }
    // Inner nodes make trees; a leaf ends them soon enough.
    if depth > 1 && rng.percent(60) && left.iter().any(|it| !it.spec.children.is_empty()) {
        left.retain(|it| !it.spec.children.is_empty());
    }
    // Below another node, encodings that hold any values are preferred.
    if rng.percent(60) && left.iter().any(|it| it.sample.holds_any) {
        left.retain(|it| it.sample.holds_any);
    }
    while !left.is_empty() {
        let chosen = left.swap_remove(rng.below(left.len()));
        let types = chosen.spec.children.iter();
        let children: Option<Vec<Tree>> = types
            .map(|it| random_node(registry, *it, depth - 1, rng).map(|(child, _)| child))
            .collect();
        if let Some(children) = children {
            let tree = Tree {
                children,
                ..chosen.node
            };
            return Some((tree, chosen.sample.fit));
        }
    }
    None
}

/// The first tree that holds any values of the type, without shared buffers: the fallback.
pub fn any_tree(registry: &Registry, value_type: ValueType) -> Option<Tree> {
    candidates(registry, value_type)
        .into_iter()
        .filter(|it| it.sample.holds_any && it.spec.shared.is_empty())
        // Of its own type a child may have a child again, and so on.
        .filter(|it| !it.spec.children.contains(&value_type))
        .find_map(|it| {
            let types = it.spec.children.iter();
            let children: Option<Vec<Tree>> =
                types.map(|child| any_tree(registry, *child)).collect();
            Some(Tree {
                children: children?,
                ..it.node
            })
        })
}

/// Each node that holds values of the type, in the order of the registry: over children that hold any values, and with
/// each of its children in turn replaced by every other leaf. Shared buffers are numbered.
///
/// # Panics
/// For an encoding whose children no encoding of the registry can encode.
pub fn sample_trees(registry: &Registry, value_type: ValueType) -> Vec<(Tree, Fit)> {
    let mut trees = vec![];
    for it in candidates(registry, value_type) {
        let any = |child: &ValueType| {
            any_tree(registry, *child)
                .unwrap_or_else(|| panic!("{} over {child:?}: nothing holds those", it.node.id))
        };
        let children: Vec<Tree> = it.spec.children.iter().map(any).collect();
        let mut variants = vec![children.clone()];
        for (i, child_type) in it.spec.children.iter().enumerate() {
            let leaves = candidates(registry, *child_type).into_iter();
            for leaf in leaves.filter(|leaf| leaf.spec == NodeSpec::LEAF) {
                let mut variant = children.clone();
                variant[i] = leaf.node;
                if !variants.contains(&variant) {
                    variants.push(variant);
                }
            }
        }
        for children in variants {
            let mut tree = Tree {
                children,
                ..it.node.clone()
            };
            let numbered = registry.number_shared(&mut tree, value_type, &mut 0);
            numbered.unwrap_or_else(|error| panic!("{tree}: {error}"));
            trees.push((tree, it.sample.fit));
        }
    }
    trees
}
