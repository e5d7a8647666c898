//! Costs of encodings for a sample, from which a search for all values takes its order.

use tarsia_codec::{Asked, RegisteredWriter};

/// All values may cost a fifth less than a sample says.
const OVERSTATED_ONE_IN: u128 = 5;

/// Costs of encodings for a sample of the values of a node, and the nodes below.
#[derive(Default)]
pub(crate) struct Node {
    /// The cost of the cheapest tree with each encoding at the node, in picoseconds, without shared buffers, and
    /// the number of the encoding in the registry.
    pub(crate) costs: Vec<(u64, usize)>,
    /// Encodings that are not among them cost at least so much; `None` where that is not known.
    pub(crate) others_ps: Option<u64>,
    /// The nodes of children: number of the encoding, of the child, of its node.
    pub(crate) children: Vec<([usize; 2], usize)>,
}

/// Everything that a sample says of the values of a page.
pub(crate) struct Scouted {
    pub(crate) nodes: Vec<Node>,
    pub(crate) n_values: usize,
    pub(crate) n_sample: usize,
    pub(crate) of_units_ps: u64,
}

/// A node that a sample has.
#[derive(Clone, Copy)]
pub(crate) struct ScoutedNode<'a> {
    all: &'a Scouted,
    node: usize,
}

impl Scouted {
    /// The root.
    pub(crate) fn root(&self) -> ScoutedNode<'_> {
        ScoutedNode { all: self, node: 0 }
    }
}

impl<'a> ScoutedNode<'a> {
    /// A child of an encoding, if the sample has it.
    pub(crate) fn child(self, encoding: usize, child: usize) -> Option<Self> {
        let mut children = self.all.nodes[self.node].children.iter();
        let (_, node) = children.find(|(key, _)| *key == [encoding, child])?;
        Some(Self {
            node: *node,
            ..self
        })
    }

    /// The numbers of the encodings in the order in which to ask them, with what a tree under each costs at least, in
    /// picoseconds.
    pub(crate) fn order(self, writers: &[RegisteredWriter]) -> Vec<(usize, u64)> {
        let node = &self.all.nodes[self.node];
        let others_ps = node.others_ps.unwrap_or(0);
        let noted_ps = |i: usize| {
            let costs = node.costs.iter().filter(|(_, of)| *of == i);
            costs.map(|(cost, _)| *cost).min()
        };
        let mut order = Vec::with_capacity(writers.len());
        for (i, known) in writers.iter().enumerate() {
            let (is_last, sampled_ps) = match (known.writer.asked(), noted_ps(i)) {
                (Asked::First, _) => (false, 0),
                (Asked::BySample | Asked::BySampleOrLast, Some(noted)) => (false, noted),
                (Asked::BySample, None) => (false, others_ps),
                (Asked::BySampleOrLast, None) | (Asked::Last, _) => (true, 0),
            };
            order.push((is_last, sampled_ps, i));
        }
        order.sort_unstable();
        let order = order.into_iter();
        order.map(|(_, ps, i)| (i, self.of_all(ps))).collect()
    }

    /// Returns what all values cost at least, in picoseconds, if the sample costs so much.
    fn of_all(self, sampled_ps: u64) -> u64 {
        let sampled_ps = u128::from(sampled_ps.saturating_sub(self.all.of_units_ps));
        let of_all = sampled_ps * self.all.n_values as u128 / self.all.n_sample as u128;
        u64::try_from(of_all - of_all / OVERSTATED_ONE_IN).unwrap_or(u64::MAX)
    }
}
