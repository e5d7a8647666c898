//! Sizes of interleaved groups.

/// Sizes of interleaved groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    Of1024,
    Of256,
    Of64,
}

impl Group {
    /// A shift: dividing by a number of lanes known only at run time takes longer than the rest of a lookup.
    #[inline(always)]
    pub(crate) fn values_log2(self) -> u32 {
        match self {
            Self::Of1024 => 10,
            Self::Of256 => 8,
            Self::Of64 => 6,
        }
    }

    #[inline(always)]
    pub(crate) fn values(self) -> usize {
        1 << self.values_log2()
    }
}
