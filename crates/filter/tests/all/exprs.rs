//! Random conditions.

use proptest::prelude::*;
use tarsia_filter::{Expr, Literal, col};

/// Conditions of any columns and literals that have a text, of at most this depth.
pub(crate) fn exprs(depth: u32) -> impl Strategy<Value = Expr> {
    let leaf = (names(), tests()).prop_map(|(name, test)| {
        let column = col(name);
        match test {
            Test::Compare(0, it) => column.eq(it),
            Test::Compare(1, it) => column.ne(it),
            Test::Compare(2, it) => column.lt(it),
            Test::Compare(3, it) => column.lt_eq(it),
            Test::Compare(4, it) => column.gt(it),
            Test::Compare(_, it) => column.gt_eq(it),
            Test::Between(low, high) => column.between(low, high),
            Test::In(all) => column.is_in(all),
            Test::IsNull => column.is_null(),
            Test::Like(pattern) => column.like(pattern),
        }
    });
    leaf.prop_recursive(depth, 24, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Expr::And),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Expr::Or),
            inner.prop_map(Expr::not),
        ]
    })
}

#[derive(Debug, Clone)]
enum Test {
    Compare(u8, Literal),
    Between(Literal, Literal),
    In(Vec<Literal>),
    IsNull,
    Like(String),
}

fn names() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z_][a-z0-9_]{0,3}(\\.[a-z]{1,3})?",
        prop::sample::select(vec![
            "and", "Null", "date", "case", "x'0", "a\"b", "", "1", "ä.b", "a..b"
        ])
        .prop_map(str::to_owned),
        "\\PC{0,4}",
    ]
}

fn tests() -> impl Strategy<Value = Test> {
    prop_oneof![
        4 => (0_u8..6, literals()).prop_map(|(op, it)| Test::Compare(op, it)),
        1 => (literals(), literals()).prop_map(|(low, high)| Test::Between(low, high)),
        1 => prop::collection::vec(literals(), 1..4).prop_map(Test::In),
        1 => Just(Test::IsNull),
        1 => "[a%_\\\\ä']{0,5}".prop_map(Test::Like),
    ]
}

fn literals() -> impl Strategy<Value = Literal> {
    prop_oneof![
        any::<bool>().prop_map(Literal::from),
        any::<i64>().prop_map(Literal::from),
        (-9_i64..9).prop_map(Literal::from),
        any::<f64>()
            .prop_filter("no text", |it| it.is_finite())
            .prop_map(Literal::from),
        "[a'\\\\%ä\n]{0,4}".prop_map(Literal::from),
        prop::collection::vec(any::<u8>(), 0..3).prop_map(Literal::from),
    ]
}
