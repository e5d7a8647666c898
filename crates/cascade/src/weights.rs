//! Weights of a search, and the presets.

/// The aim of a writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Objective {
    /// Cheapest to write and read.
    Fast,
    /// Small where it costs little reading time.
    #[default]
    Balanced,
    /// Smallest.
    Compact,
}

/// Weights of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weights {
    /// Picoseconds that a stored byte is worth: 1,000 where bytes come at 1 GB/s and cost nothing else, 5,000 at the
    /// 200 MB/s of a network.
    pub byte_ps: u64,
    /// The most bytes that a shared buffer of values of fixed width is worth. Up to 64 KiB it stays in the search
    /// cache.
    pub shared_bytes_max: u64,
    /// Levels of a tree, the root counted.
    pub depth_max: u32,
    /// Whether encodings are tried that make values smaller at the cost of much time ([`Tried::ForSize`]).
    ///
    /// [`Tried::ForSize`]: tarsia_codec::Tried::ForSize
    pub for_size: bool,
    /// Whether encodings that learn from values, such as tokens from text, spend little time on it.
    pub for_speed: bool,
    /// Only trees under which the survivors of an erasure always fit their old place.
    pub must_fit: bool,
    /// Only encodings whose parameters hold no values of the page
    /// ([`EncodingWriter::keeps_values`](tarsia_codec::EncodingWriter::keeps_values)): an erasure leaves parameters as
    /// they are. A page whose tree does not suit what an erasure would leave gets a spare one.
    pub erasable: bool,
    /// Only trees that hold any values, without shared buffers.
    pub any_values: bool,
}

impl Objective {
    /// The weights that the preset stands for.
    pub fn weights(self) -> Weights {
        let balanced = Weights {
            byte_ps: 5_000,
            shared_bytes_max: 64 << 10,
            depth_max: 4,
            for_size: false,
            for_speed: false,
            must_fit: false,
            erasable: false,
            any_values: false,
        };
        match self {
            Self::Fast => Weights {
                byte_ps: 200,
                for_speed: true,
                ..balanced
            },
            Self::Balanced => balanced,
            Self::Compact => Weights {
                byte_ps: 10_000,
                shared_bytes_max: 1 << 20,
                for_size: true,
                ..balanced
            },
        }
    }
}
