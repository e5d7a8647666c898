//! Which tables belong together.

use crate::speed::{Speed, Table, random_access};

/// Whether a table is one of some.
pub(super) type IsOne = fn(&Table) -> bool;

/// Which tables the summaries are of.
pub(super) const GROUPS: [(&str, IsOne); 4] = [
    ("Flat tables", |t| !is_for_random_access(t) && is_flat(t)),
    (
        "Flat tables that no script has made (without `ml_*` and `generated_*`)",
        |t| !is_for_random_access(t) && is_flat(t) && !is_generated(t),
    ),
    ("Tables with columns of lists and structs", |t| {
        !is_for_random_access(t) && !is_flat(t)
    }),
    (
        "The tables of one column for random access",
        is_for_random_access,
    ),
];

/// All but those of very many columns.
pub(super) fn not_wide(speed: &Speed) -> impl Iterator<Item = &Table> {
    speed.tables.iter().filter(|t| !t.wide)
}

/// Returns the tables that the criteria of whole tables are about.
pub(super) fn ordinary(speed: &Speed) -> impl Iterator<Item = &Table> {
    not_wide(speed).filter(|t| !is_for_random_access(t))
}

pub(super) fn is_flat(t: &Table) -> bool {
    t.nested_columns == 0
}

/// Made for the section on random access, and in no median of other tables.
pub(super) fn is_for_random_access(t: &Table) -> bool {
    t.table.starts_with(random_access::PREFIX)
}

/// Made by a script, not found in the world.
pub(super) fn is_generated(t: &Table) -> bool {
    t.table.starts_with("ml_") || t.table.starts_with("generated_")
}
