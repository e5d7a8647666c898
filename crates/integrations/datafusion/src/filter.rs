//! Conditions of the engine as conditions of Tarsia: exactly, or not at all.

use std::sync::Arc;

use arrow_schema::{DataType, Schema};
use datafusion::common::ScalarValue;
use datafusion::functions::core::getfield::GetFieldFunc;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr,
    Literal, NotExpr,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use tarsia::filter::{Column as TarsiaColumn, Comparison, Expr, Literal as TarsiaLiteral, col};

/// A condition that is evaluated by a scan.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Native {
    /// It is true of all rows.
    Always,
    /// It is true of no row.
    Never,
    /// It is true of the rows that pass this.
    Filter(Expr),
}

/// The condition as one that a file of this schema evaluates alike for every row, or `None`.
pub(crate) fn translate(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Native> {
    if let Some(literal) = expr.downcast_ref::<Literal>() {
        return match literal.value() {
            ScalarValue::Boolean(Some(true)) => Some(Native::Always),
            // Rows pass only if it is true.
            ScalarValue::Boolean(_) | ScalarValue::Null => Some(Native::Never),
            _ => None,
        };
    }
    let filter = Translator { schema }.condition(expr)?;
    // What a file refuses is left to the engine.
    filter.bind(schema).ok()?;
    Some(Native::Filter(filter))
}

/// A condition that is true of every row for which `expr` is, and of others, maybe; `None` if none is known that rules
/// out a row.
///
/// A join whose rows are in partitions by a hash asks for the partition of a row first: `CASE hash % 2 WHEN 0 THEN …`.
/// The hash is the engine's own, but a row that passes fulfils one of the branches.
pub(crate) fn implied(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Native> {
    if let Some(exact) = translate(expr, schema) {
        return (exact != Native::Always).then_some(exact);
    }
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        let sides = [binary.left(), binary.right()].map(|side| implied(side, schema));
        return match binary.op() {
            Operator::And => all_of(sides),
            Operator::Or => any_of(sides),
            _ => None,
        };
    }
    let case = expr.downcast_ref::<CaseExpr>()?;
    // Without an ELSE it is null, of which no row passes.
    let branches = case.when_then_expr().iter().map(|(_, then)| then);
    any_of(
        branches
            .chain(case.else_expr())
            .map(|then| implied(then, schema)),
    )
}

/// Returns the condition that follows if all of these are true; of `None` nothing follows.
fn all_of(parts: impl IntoIterator<Item = Option<Native>>) -> Option<Native> {
    let mut all = Vec::new();
    for part in parts {
        match part {
            Some(Native::Filter(part)) => all.push(part),
            Some(Native::Never) => return Some(Native::Never),
            Some(Native::Always) | None => {}
        }
    }
    (!all.is_empty()).then(|| Native::Filter(joined(all, Expr::And)))
}

/// Returns the condition that follows if one of these is true.
fn any_of(parts: impl IntoIterator<Item = Option<Native>>) -> Option<Native> {
    let mut any = Vec::new();
    for part in parts {
        match part? {
            Native::Filter(part) => any.push(part),
            Native::Always => return None,
            Native::Never => {}
        }
    }
    Some(match any.is_empty() {
        true => Native::Never,
        false => Native::Filter(joined(any, Expr::Or)),
    })
}

/// One condition of several; a single one stays as it is.
fn joined(mut parts: Vec<Expr>, join: fn(Vec<Expr>) -> Expr) -> Expr {
    match parts.len() {
        1 => parts.remove(0),
        _ => join(parts),
    }
}

/// The path of a column's field, and its type.
struct Place {
    name: String,
    data_type: DataType,
}

struct Translator<'a> {
    schema: &'a Schema,
}

impl Translator<'_> {
    fn condition(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Expr> {
        if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
            return self.binary(binary);
        }
        if let Some(not) = expr.downcast_ref::<NotExpr>() {
            return Some(self.condition(not.arg())?.not());
        }
        if let Some(is_null) = expr.downcast_ref::<IsNullExpr>() {
            return Some(col(self.place(is_null.arg())?.name).is_null());
        }
        if let Some(is_not_null) = expr.downcast_ref::<IsNotNullExpr>() {
            return Some(col(self.place(is_not_null.arg())?.name).is_not_null());
        }
        if let Some(in_list) = expr.downcast_ref::<InListExpr>() {
            return self.in_list(in_list);
        }
        if let Some(like) = expr.downcast_ref::<LikeExpr>() {
            return self.like(like);
        }
        // A column of truth values.
        let place = self.place(expr)?;
        (place.data_type == DataType::Boolean).then(|| col(place.name).eq(true))
    }

    fn binary(&self, binary: &BinaryExpr) -> Option<Expr> {
        let comparison = match binary.op() {
            Operator::And | Operator::Or => {
                let (left, right) = (
                    self.condition(binary.left())?,
                    self.condition(binary.right())?,
                );
                return Some(match binary.op() {
                    Operator::And => left.and(right),
                    _ => left.or(right),
                });
            }
            Operator::Eq => Comparison::Equal,
            Operator::NotEq => Comparison::NotEqual,
            Operator::Lt => Comparison::Less,
            Operator::LtEq => Comparison::LessOrEqual,
            Operator::Gt => Comparison::Greater,
            Operator::GtEq => Comparison::GreaterOrEqual,
            _ => return None,
        };
        if let Some(literal) = binary.right().downcast_ref::<Literal>() {
            return self.compare(binary.left(), comparison, literal.value());
        }
        let literal = binary.left().downcast_ref::<Literal>()?;
        self.compare(binary.right(), turned(comparison), literal.value())
    }

    fn compare(
        &self,
        column: &Arc<dyn PhysicalExpr>,
        comparison: Comparison,
        value: &ScalarValue,
    ) -> Option<Expr> {
        let place = self.compared(column, &value.data_type())?;
        match zeros(value) {
            Some(zeros) => compared_with_zeros(col(place.name), comparison, &zeros),
            None => Some(col(place.name).compare(comparison, literal(value)?)),
        }
    }

    fn in_list(&self, in_list: &InListExpr) -> Option<Expr> {
        let values = in_list.list().iter();
        let values = values.map(|value| Some(value.downcast_ref::<Literal>()?.value()));
        let values: Vec<&ScalarValue> = values.collect::<Option<_>>()?;
        let first = values.iter().find(|value| !value.is_null())?;
        let place = self.compared(in_list.expr(), &first.data_type())?;
        let is_alike = |value: &&ScalarValue| {
            value.is_null() || are_compared(&place.data_type, &value.data_type())
        };
        // Lists tell zeros, and NaNs, apart; comparisons do not tell zeros apart.
        let is_number = |value: &&ScalarValue| zeros(value).is_none() && !is_nan(value);
        if !values.iter().all(is_alike) || !values.iter().all(is_number) {
            return None;
        }
        let literals = values.into_iter().map(literal);
        let found = col(place.name).is_in(literals.collect::<Option<Vec<_>>>()?);
        Some(match in_list.negated() {
            true => found.not(),
            false => found,
        })
    }

    fn like(&self, like: &LikeExpr) -> Option<Expr> {
        let pattern = like.pattern().downcast_ref::<Literal>()?;
        let pattern = pattern.value().try_as_str()??;
        // Engines do not agree on what escapes what.
        if like.case_insensitive() || pattern.contains('\\') {
            return None;
        }
        let place = self.compared(like.expr(), &DataType::Utf8View)?;
        let found = col(place.name).like(pattern);
        Some(match like.negated() {
            true => found.not(),
            false => found,
        })
    }

    /// The column behind an expression whose values are compared with values of this type.
    fn compared(&self, expr: &Arc<dyn PhysicalExpr>, with: &DataType) -> Option<Place> {
        if let Some(place) = self.place(expr) {
            return are_compared(&place.data_type, with).then_some(place);
        }
        let cast = expr.downcast_ref::<CastExpr>()?;
        let place = self.place(cast.expr())?;
        let is_exact = are_compared(cast.cast_type(), with)
            && keeps_values(&place.data_type, cast.cast_type());
        is_exact.then_some(place)
    }

    /// The column, or the field of structs, that the expression is.
    fn place(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Place> {
        let (column, path) = path_of(expr)?;
        let field = self.schema.field_with_name(column.name()).ok()?;
        let mut data_type = field.data_type();
        let mut name = column.name().to_owned();
        let mut is_nullable = field.is_nullable();
        // Names with dots lead to columns alone.
        if !path.is_empty() && name.contains('.') {
            return None;
        }
        for step in path {
            let DataType::Struct(fields) = data_type else {
                return None;
            };
            let (_, field) = fields.find(step)?;
            // Below a struct that is null, engines see the field's value, and a scan sees null: fields that may be
            // null are null there.
            if step.contains('.') || is_nullable && !field.is_nullable() {
                return None;
            }
            is_nullable = field.is_nullable();
            name = format!("{name}.{step}");
            data_type = field.data_type();
        }
        let is_of_column = self.schema.field_with_name(&name).is_ok();
        if is_of_column && name != column.name() {
            return None;
        }
        Some(Place {
            name,
            data_type: data_type.clone(),
        })
    }
}

/// The column of an expression that looks into structs (`column['a']['b']`), and the names of the fields.
pub(crate) fn path_of(expr: &Arc<dyn PhysicalExpr>) -> Option<(&Column, Vec<&str>)> {
    if let Some(column) = expr.downcast_ref::<Column>() {
        return Some((column, Vec::new()));
    }
    let function = ScalarFunctionExpr::try_downcast_func::<GetFieldFunc>(expr.as_ref())?;
    let (of, names) = function.args().split_first()?;
    let (column, mut path) = path_of(of)?;
    for name in names {
        path.push(name.downcast_ref::<Literal>()?.value().try_as_str()??);
    }
    Some((column, path))
}

/// Both zeros of the value's type, the negative one first, if the value is a floating-point zero.
fn zeros(value: &ScalarValue) -> Option<[ScalarValue; 2]> {
    match value {
        ScalarValue::Dictionary(_, value) => zeros(value),
        ScalarValue::Float16(Some(it)) if it.to_f32() == 0.0 => {
            let negative = if it.is_sign_negative() { *it } else { -*it };
            let zeros = [negative, -negative];
            Some(zeros.map(|it| ScalarValue::Float16(Some(it))))
        }
        ScalarValue::Float32(Some(it)) if *it == 0.0 => {
            Some([-0.0, 0.0].map(|it| ScalarValue::Float32(Some(it))))
        }
        ScalarValue::Float64(Some(it)) if *it == 0.0 => {
            Some([-0.0, 0.0].map(|it| ScalarValue::Float64(Some(it))))
        }
        _ => None,
    }
}

fn is_nan(value: &ScalarValue) -> bool {
    match value {
        ScalarValue::Dictionary(_, value) => is_nan(value),
        ScalarValue::Float16(Some(it)) => it.is_nan(),
        ScalarValue::Float32(Some(it)) => it.is_nan(),
        ScalarValue::Float64(Some(it)) => it.is_nan(),
        _ => false,
    }
}

/// A comparison with zero: for engines both zeros are equal, for files the negative one is below the other.
fn compared_with_zeros(
    column: TarsiaColumn,
    comparison: Comparison,
    zeros: &[ScalarValue; 2],
) -> Option<Expr> {
    let [low, high] = zeros;
    let (low, high) = (literal(low)?, literal(high)?);
    Some(match comparison {
        Comparison::Equal => column.between(low, high),
        Comparison::NotEqual => column.between(low, high).not(),
        Comparison::Less | Comparison::GreaterOrEqual => column.compare(comparison, low),
        Comparison::LessOrEqual | Comparison::Greater => column.compare(comparison, high),
    })
}

/// The comparison that holds for `b, a` where this one holds for `a, b`.
fn turned(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        same => same,
    }
}

fn literal(value: &ScalarValue) -> Option<TarsiaLiteral> {
    match value {
        ScalarValue::Dictionary(_, value) => literal(value),
        value if value.is_null() => Some(TarsiaLiteral::null()),
        value => Some(TarsiaLiteral::array(value.to_array().ok()?)),
    }
}

/// Whether values of the two types are compared as Tarsia compares a column with a literal.
fn are_compared(column: &DataType, value: &DataType) -> bool {
    let (column, value) = (values_of(column), values_of(value));
    (is_text(column) && is_text(value))
        || (is_bytes(column) && is_bytes(value))
        || (column == value && is_plain(column))
}

/// The type of the values of a dictionary.
fn values_of(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

fn is_text(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

fn is_bytes(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView
    )
}

fn is_plain(data_type: &DataType) -> bool {
    data_type.is_integer()
        || data_type.is_floating()
        || matches!(
            data_type,
            DataType::Boolean
                | DataType::Date32
                | DataType::Date64
                | DataType::Time32(_)
                | DataType::Time64(_)
                | DataType::Timestamp(..)
                | DataType::Decimal32(..)
                | DataType::Decimal64(..)
                | DataType::Decimal128(..)
                | DataType::Decimal256(..)
                | DataType::FixedSizeBinary(_)
        )
}

/// Whether a cast gives every value as it is: then a number can be compared before the cast.
pub(crate) fn keeps_values(from: &DataType, to: &DataType) -> bool {
    let (from, to) = (values_of(from), values_of(to));
    if is_text(from) && is_text(to) || is_bytes(from) && is_bytes(to) {
        return true;
    }
    if let (Some([p, s]), Some([q, t])) = (decimal(from), decimal(to)) {
        return t >= s && q - t >= p - s;
    }
    let (Some(narrow), Some(wide)) = (from.primitive_width(), to.primitive_width()) else {
        return false;
    };
    match (from.is_signed_integer(), to.is_signed_integer()) {
        (true, true) => wide >= narrow,
        (false, true) => from.is_unsigned_integer() && wide > narrow,
        (false, false) => from.is_unsigned_integer() && to.is_unsigned_integer() && wide >= narrow,
        (true, false) => false,
    }
}

/// Precision and scale.
fn decimal(data_type: &DataType) -> Option<[i16; 2]> {
    match data_type {
        DataType::Decimal32(p, s)
        | DataType::Decimal64(p, s)
        | DataType::Decimal128(p, s)
        | DataType::Decimal256(p, s) => Some([i16::from(*p), i16::from(*s)]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::Field;
    use datafusion::common::DFSchema;
    use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
    use datafusion::logical_expr::{Expr as Logical, cast, col as column, lit};
    use datafusion::physical_expr::create_physical_expr;
    use datafusion::physical_expr::execution_props::ExecutionProps;

    use super::*;

    fn schema() -> Schema {
        let inner = vec![
            Field::new("a", DataType::Int32, true),
            Field::new("b", DataType::Int32, false),
        ];
        Schema::new(vec![
            Field::new("n", DataType::Int32, true),
            Field::new("x", DataType::Float32, true),
            Field::new("t", DataType::Utf8View, true),
            Field::new("ok", DataType::Boolean, true),
            Field::new("d", DataType::Decimal128(9, 2), true),
            Field::new("s", DataType::Struct(inner.into()), true),
        ])
    }

    fn physical(expr: &Logical) -> Arc<dyn PhysicalExpr> {
        let of = DFSchema::try_from(schema()).unwrap();
        let (properties, context) = (ExecutionProps::new(), PhysicalPlanningContext::default());
        create_physical_expr(expr, &of, &properties, &context).unwrap()
    }

    fn translated(expr: Logical) -> Option<Native> {
        translate(&physical(&expr), &schema())
    }

    fn text_of(text: &str) -> Logical {
        lit(ScalarValue::Utf8View(Some(text.to_owned())))
    }

    fn text_of_native(condition: Native) -> String {
        match condition {
            Native::Filter(filter) => filter.to_string(),
            _ => "constant".to_owned(),
        }
    }

    fn text(expr: Logical) -> Option<String> {
        translated(expr).map(text_of_native)
    }

    #[test]
    fn conditions_keep_their_meaning() {
        assert_eq!(text(column("n").lt(lit(3_i32))).unwrap(), "n < 3");
        assert_eq!(text(lit(3_i32).lt(column("n"))).unwrap(), "n > 3");
        let both = column("n").gt(lit(3_i32)).and(column("ok"));
        assert_eq!(text(both).unwrap(), "n > 3 AND ok = TRUE");
        let list = column("n").in_list(vec![lit(1_i32), lit(2_i32)], true);
        assert_eq!(text(list).unwrap(), "n NOT IN (1, 2)");
        assert_eq!(
            text(column("t").like(text_of("a%"))).unwrap(),
            "t LIKE 'a%'"
        );
        let widened = cast(column("n"), DataType::Int64).gt_eq(lit(1_i64 << 40));
        assert_eq!(text(widened).unwrap(), "n >= 1099511627776");
        assert_eq!(text(column("t").is_null()).unwrap(), "t IS NULL");
    }

    #[test]
    fn what_follows_from_a_condition_leaves_out_what_is_not_known() {
        let unknown = || (column("n") + lit(1_i32)).gt(lit(1_i32));
        let n = |least: i32| column("n").gt_eq(lit(least));
        // As the filter of a join by partitions.
        let case = |first: Logical, second: Logical, otherwise: Logical| {
            let mut case = datafusion::logical_expr::case(column("n") % lit(2_i32));
            let mut case = case.when(lit(0_i32), first).when(lit(1_i32), second);
            case.otherwise(otherwise).unwrap()
        };
        let both = Some("n >= 1 OR n >= 5");
        let found = [
            (n(1), Some("n >= 1")),
            (n(1).and(unknown()), Some("n >= 1")),
            (n(1).or(unknown()), None),
            (unknown(), None),
            (lit(true), None),
            (case(n(1), n(5), lit(false)), both),
            (case(n(1).and(unknown()), n(5), lit(false)), both),
            (case(n(1), unknown(), lit(false)), None),
            (case(n(1), n(5), lit(true)), None),
            (case(n(1), lit(false), lit(false)), Some("n >= 1")),
            (case(lit(false), lit(false), lit(false)), Some("constant")),
        ];
        for (expr, expected) in found {
            let implied = implied(&physical(&expr), &schema()).map(text_of_native);
            assert_eq!(implied.as_deref(), expected, "{expr}");
        }
    }

    #[test]
    fn zeros_are_equal() {
        let x = || column("x");
        let texts = [
            (x().eq(lit(0.0_f32)), "x BETWEEN -0.0 AND 0.0"),
            (x().not_eq(lit(-0.0_f32)), "x NOT BETWEEN -0.0 AND 0.0"),
            (x().lt(lit(0.0_f32)), "x < -0.0"),
            (x().lt_eq(lit(-0.0_f32)), "x <= 0.0"),
            (x().gt(lit(-0.0_f32)), "x > 0.0"),
            (x().gt_eq(lit(0.0_f32)), "x >= -0.0"),
        ];
        for (expr, expected) in texts {
            assert_eq!(text(expr).unwrap(), expected);
        }
        let list = |of: f32| x().in_list(vec![lit(of), lit(1.0_f32)], false);
        assert!(text(list(2.0)).is_some());
        assert!(text(list(0.0)).is_none());
        assert!(text(list(f32::NAN)).is_none());
    }

    #[test]
    fn constants_are_known() {
        assert_eq!(translated(lit(true)), Some(Native::Always));
        assert_eq!(translated(lit(false)), Some(Native::Never));
        let unknown = lit(ScalarValue::Boolean(None));
        assert_eq!(translated(unknown), Some(Native::Never));
    }

    #[test]
    fn whatever_might_differ_is_left_to_the_engine() {
        // A cast that rounds, another type of number, an escape, no literal, a struct.
        let refused = [
            cast(column("x"), DataType::Float64).gt(lit(0.1)),
            cast(column("x"), DataType::Int32).gt(lit(1_i32)),
            column("t").like(text_of("a\\%")),
            column("t").ilike(text_of("a%")),
            column("n").gt(column("n")),
            (column("n") + lit(1_i32)).gt(lit(1_i32)),
            column("s").is_null(),
            column("n").in_list(vec![column("n")], false),
        ];
        for expr in refused {
            assert_eq!(text(expr.clone()), None, "{expr}");
        }
    }

    #[test]
    fn casts_that_keep_values() {
        let keeps = |from, to| keeps_values(&from, &to);
        assert!(keeps(DataType::Int8, DataType::Int64));
        assert!(keeps(DataType::UInt8, DataType::Int16));
        assert!(!keeps(DataType::UInt32, DataType::Int32));
        assert!(!keeps(DataType::Int8, DataType::UInt8));
        assert!(!keeps(DataType::Int64, DataType::Int32));
        assert!(!keeps(DataType::Int32, DataType::Float64));
        assert!(!keeps(DataType::Boolean, DataType::Int32));
        assert!(!keeps(DataType::Date32, DataType::Int32));
        assert!(keeps(
            DataType::Decimal128(9, 2),
            DataType::Decimal128(15, 4)
        ));
        assert!(!keeps(
            DataType::Decimal128(9, 2),
            DataType::Decimal128(9, 4)
        ));
        assert!(keeps(DataType::Utf8, DataType::Utf8View));
    }
}
