//! The leaf columns of an Arrow type, and what stands above each.

use arrow_schema::{DataType, Field, FieldRef};
use tarsia_codec::ValueType;
use tarsia_codec::limits::SCHEMA_DEPTH_MAX;

use tarsia_structure::LevelForm;

use crate::types::{logical_type, value_type};

/// A leaf column of a field: what is stored, and how it is reached from the field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeafPath {
    pub(super) steps: Vec<Step>,
    forms: Vec<LevelForm>,
    names: Vec<String>,
    data_type: DataType,
    value_type: Option<ValueType>,
    nullable: bool,
}

/// One step down. Dictionaries and run-end arrays on the way are read by logical value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) kind: StepKind,
    /// Whether the field that is left may be null.
    pub(super) nullable: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepKind {
    /// To a struct's field of this index.
    Field(usize),
    /// To the items of a list of any kind; to the entries of a map.
    Items,
    /// To the items of a fixed-size list.
    FixedItems,
    /// To the values that a union chose of the child with this type id.
    Chosen(i8),
    /// To a union's type ids.
    TypeIds,
    /// From a dictionary of unions to the values of keys that are not null: unions cannot be null themselves.
    Keys,
}

impl LeafPath {
    /// Whether the field is this one column, and an item of it a row.
    pub fn is_flat(&self) -> bool {
        self.steps.is_empty()
    }

    /// The levels above the items, outermost first; empty for flat columns, and for the type ids of a top-level union.
    pub fn forms(&self) -> &[LevelForm] {
        &self.forms
    }

    /// The numbers of the structs' fields that lead to it, outermost first, if there are only structs on the way: then
    /// a row has at most one item. None lead to a flat column. Dictionaries and runs of structs count as structs.
    pub fn fields_of_structs(&self) -> Option<Vec<usize>> {
        let fields = self.steps.iter().map(|step| match step.kind {
            StepKind::Field(number) => Some(number),
            _ => None,
        });
        fields.collect()
    }

    /// The Arrow type of the items; type Int8 for the type ids of a union.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// The names of the fields below the top-level one, down to the leaf.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether items may be null.
    pub fn nullable(&self) -> bool {
        self.nullable
    }

    /// Returns the type of the values that the pages hold; `None` for a column of type Null that is no part of another,
    /// which has no pages.
    pub fn value_type(&self) -> Option<ValueType> {
        self.value_type
    }
}

/// The leaf columns of a field, in the order of the schema's leaves.
///
/// # Errors
/// A type that is not stored.
pub fn leaf_paths(data_type: &DataType, nullable: bool) -> Result<Vec<LeafPath>, DataType> {
    let mut paths = Vec::new();
    Walk::default().node(data_type, nullable, &mut paths)?;
    Ok(paths)
}

/// Where the walk over a type is.
#[derive(Default)]
struct Walk {
    steps: Vec<Step>,
    forms: Vec<LevelForm>,
    names: Vec<String>,
}

impl Walk {
    fn leaf(&self, data_type: &DataType, value_type: ValueType, nullable: bool) -> LeafPath {
        LeafPath {
            steps: self.steps.clone(),
            forms: self.forms.clone(),
            names: self.names.clone(),
            data_type: data_type.clone(),
            value_type: Some(value_type),
            nullable,
        }
    }

    /// Walks the type behind one step.
    fn down(
        &mut self,
        step: Step,
        levels: &[LevelForm],
        child: &FieldRef,
        paths: &mut Vec<LeafPath>,
    ) -> Result<(), DataType> {
        let n_forms = self.forms.len();
        self.steps.push(step);
        self.forms.extend_from_slice(levels);
        self.names.push(child.name().clone());
        let done = self.node(child.data_type(), child.is_nullable(), paths);
        self.names.pop();
        self.forms.truncate(n_forms);
        self.steps.pop();
        done
    }

    fn node(
        &mut self,
        data_type: &DataType,
        nullable: bool,
        paths: &mut Vec<LeafPath>,
    ) -> Result<(), DataType> {
        if self.steps.len() > SCHEMA_DEPTH_MAX {
            return Err(data_type.clone());
        }
        match data_type {
            DataType::Struct(fields) if !fields.is_empty() => {
                let mut fields = fields.iter().enumerate();
                fields.try_for_each(|(index, field)| {
                    let step = Step {
                        kind: StepKind::Field(index),
                        nullable,
                    };
                    self.down(step, &[LevelForm::Validity], field, paths)
                })
            }
            DataType::List(item)
            | DataType::LargeList(item)
            | DataType::ListView(item)
            | DataType::LargeListView(item)
            | DataType::Map(item, _) => {
                let levels = [LevelForm::Validity, LevelForm::Lengths];
                let step = Step {
                    kind: StepKind::Items,
                    nullable,
                };
                self.down(step, &levels, item, paths)
            }
            DataType::FixedSizeList(item, length) => {
                let length = u32::try_from(*length).map_err(|_| data_type.clone())?;
                let levels = [LevelForm::Validity, LevelForm::ConstantLength(length)];
                let step = Step {
                    kind: StepKind::FixedItems,
                    nullable,
                };
                self.down(step, &levels, item, paths)
            }
            DataType::Union(fields, _) => {
                let mut ids = self.leaf(&DataType::Int8, ValueType::Fixed(1), false);
                ids.steps.push(Step {
                    kind: StepKind::TypeIds,
                    nullable: false,
                });
                paths.push(ids);
                fields.iter().try_for_each(|(type_id, field)| {
                    // Not to be chosen is no null.
                    let step = Step {
                        kind: StepKind::Chosen(type_id),
                        nullable: true,
                    };
                    self.down(step, &[LevelForm::Validity], field, paths)
                })
            }
            DataType::RunEndEncoded(_, values) => {
                let nullable = nullable || values.is_nullable();
                self.resolved(values.data_type(), data_type, nullable, paths)
            }
            DataType::Dictionary(key, value) if key.is_dictionary_key_type() => {
                match value.as_ref() {
                    DataType::Dictionary(..) => Err(data_type.clone()),
                    // A null key would be a null run, and unions have no nulls.
                    DataType::RunEndEncoded(..) if runs_of_unions(value) => Err(data_type.clone()),
                    DataType::Union(..) => {
                        let values = Field::new("values", value.as_ref().clone(), false);
                        let step = Step {
                            kind: StepKind::Keys,
                            nullable,
                        };
                        self.down(step, &[LevelForm::Validity], &values.into(), paths)
                    }
                    value => self.resolved(value, data_type, nullable, paths),
                }
            }
            flat => {
                let stored = value_type(flat)?;
                let mut leaf = self.leaf(flat, stored.unwrap_or(ValueType::Fixed(0)), nullable);
                // A column of nulls alone stores nothing, unless it is below something that is stored.
                if leaf.is_flat() {
                    leaf.value_type = stored;
                }
                paths.push(leaf);
                Ok(())
            }
        }
    }

    /// A dictionary or run-end type `whole` of `values`: a leaf of its own where the values are flat.
    fn resolved(
        &mut self,
        values: &DataType,
        whole: &DataType,
        nullable: bool,
        paths: &mut Vec<LeafPath>,
    ) -> Result<(), DataType> {
        match value_type(whole) {
            Ok(stored) => {
                let stored = stored.unwrap_or(ValueType::Fixed(0));
                paths.push(self.leaf(logical_type(whole), stored, nullable));
                Ok(())
            }
            Err(_) => self.node(values, nullable, paths),
        }
    }
}

fn runs_of_unions(data_type: &DataType) -> bool {
    match data_type {
        DataType::RunEndEncoded(_, values) => runs_of_unions(values.data_type()),
        other => matches!(other, DataType::Union(..)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::{UnionFields, UnionMode};
    use std::sync::Arc;

    fn field(data_type: DataType) -> FieldRef {
        Arc::new(Field::new("f", data_type, true))
    }

    #[test]
    fn leaves_come_in_the_schema_s_order_with_their_levels() {
        use LevelForm::{ConstantLength, Lengths, Validity};
        let list = DataType::List(field(DataType::Int64));
        let union = UnionFields::from_fields([
            Field::new("a", list.clone(), true),
            Field::new("b", DataType::Struct(Default::default()), true),
        ]);
        let data_type = DataType::Struct(
            vec![
                field(DataType::Utf8),
                field(DataType::Union(union, UnionMode::Sparse)),
                field(DataType::FixedSizeList(field(DataType::Float32), 3)),
            ]
            .into(),
        );
        let paths = leaf_paths(&data_type, true).unwrap();
        let forms: Vec<_> = paths.iter().map(|path| path.forms().to_vec()).collect();
        assert_eq!(
            forms,
            [
                vec![Validity],
                vec![Validity],
                vec![Validity, Validity, Validity, Lengths],
                vec![Validity, Validity],
                vec![Validity, Validity, ConstantLength(3)],
            ]
        );
        let fields: Vec<_> = paths.iter().map(LeafPath::fields_of_structs).collect();
        assert_eq!(fields, [Some(vec![0]), None, None, None, None]);
        let types: Vec<_> = paths.iter().map(LeafPath::value_type).collect();
        assert_eq!(types[1], Some(ValueType::Fixed(1)));
        assert_eq!(types[3], Some(ValueType::Fixed(0)));
        assert_eq!(
            leaf_paths(&DataType::Null, true).unwrap()[0].value_type(),
            None
        );
        let nulls = DataType::List(field(DataType::Null));
        assert_eq!(
            leaf_paths(&nulls, true).unwrap()[0].value_type(),
            Some(ValueType::Fixed(0))
        );
    }

    #[test]
    fn deep_types_are_refused() {
        let deep = |n: usize| (0..n).fold(DataType::Int8, |inner, _| DataType::List(field(inner)));
        assert!(leaf_paths(&deep(64), true).is_ok());
        assert!(leaf_paths(&deep(66), true).is_err());
    }
}
