//! Decodes to bits: for which values a predicate holds.

use alloc::sync::Arc;

use tarsia_codec::toolbox::Holds;
use tarsia_codec::{Decoder, Output, OwnedPredicate, Result, Scratch, Selection, Unit, ValueType};

/// As [`Holds`], with a predicate that it shares.
pub(super) struct Asked<'a> {
    pub(super) values: &'a dyn Decoder,
    pub(super) value_type: ValueType,
    pub(super) predicate: Arc<OwnedPredicate>,
}

impl Decoder for Asked<'_> {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let holds = Holds {
            values: self.values,
            value_type: self.value_type,
            predicate: self.predicate.as_predicate()?,
        };
        holds.decode(unit, selection, scratch, out)
    }
}
