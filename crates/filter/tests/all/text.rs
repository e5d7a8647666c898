//! Conditions as text: what they say, where they are refused, and what no text does.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use tarsia_filter::{Expr, FilterError, Literal, col};

use crate::exprs::exprs;

fn parse(text: &str) -> Result<Expr, String> {
    text.parse().map_err(|error: FilterError| error.to_string())
}

#[track_caller]
fn says(text: &str, expected: Expr) {
    assert_eq!(parse(text), Ok(expected), "{text}");
}

#[test]
fn tests_of_columns() {
    says("user_id = 42", col("user_id").eq(42));
    says(
        "größe\tBetween -1.5e+3 aNd .5",
        col("größe").between(-1500, 0.5),
    );
    says(
        "\"a \"\"b\"\".c\" In('it''s',  '')",
        col("a \"b\".c").is_in(["it's", ""]),
    );
    says("n is NULL", col("n").is_null());
    says("\"and\" IS not \nnull", col("and").is_not_null());
    says("x=X'0aFF'", col("x").eq(vec![10, 255]));
    says("x1=TRUE", col("x1").eq(true));
    says("a != 1", col("a").ne(1));
    says("a <> 1", col("a").ne(1));
    says("a>=+1.50", col("a").gt_eq(1.5));
    says("5 < a", col("a").gt(5));
    says("-5 >= a", col("a").lt_eq(-5));
    says("'x' = a", col("a").eq("x"));
    says("(5) <> (a)", col("a").ne(5));
    says("a NOT IN (-1, 2)", col("a").is_in([-1, 2]).not());
    says("a NOT BETWEEN 1 AND 2", col("a").between(1, 2).not());
    says("a LIKE 'x\\%%'", col("a").like("x\\%%"));
    says("a NOT LIKE '_'", col("a").like("_").not());
    says("a LIKE '1!%\\%' ESCAPE '!'", col("a").like("1\\%\\\\%"));
    says("active", col("active").eq(true));
    says("NOT active", col("active").eq(true).not());
    let is_true = col("a").is_not_null().and(col("a").eq(true));
    says("a IS TRUE", is_true.clone());
    says("a IS NOT TRUE", is_true.not());
    says("day = DATE '2026-01-31'", col("day").eq("2026-01-31"));
    says(
        "date >= timestamp '2026-01-31'",
        col("date").gt_eq("2026-01-31"),
    );
}

#[test]
fn names_of_fields_and_words_that_are_keywords_elsewhere() {
    says("a.b = 1", col("a.b").eq(1));
    says("\"a.b\" = 1", col("a.b").eq(1));
    says("a.\"b c\".in = 1", col("a.b c.in").eq(1));
    says("a . b = 1", col("a.b").eq(1));
    for word in [
        "date",
        "case",
        "interval",
        "cast",
        "array",
        "user",
        "select",
        "exists",
        "escape",
        "x",
        "map",
        "struct",
        "current_date",
        "position",
        "any",
        "all",
        "distinct",
        "values",
        "with",
        "from",
        "end",
        "nan",
    ] {
        says(&format!("{word} = 1"), col(word).eq(1));
        says(&format!("NOT {word} IS NULL"), col(word).is_null().not());
        says(&format!("1 < {word}"), col(word).gt(1));
    }
}

#[test]
fn tests_are_joined_as_in_sql() {
    let [a, b, c] = ["a", "b", "c"].map(|name| col(name).eq(1));
    says(
        "a = 1 AND b = 1 AND c = 1",
        Expr::And(vec![a.clone(), b.clone(), c.clone()]),
    );
    let both = Expr::And(vec![b.clone(), c.clone()]);
    says("a=1 OR b=1 AND c=1", a.clone().or(both.clone()));
    says(
        "a=1 AND (b=1 AND c=1)",
        Expr::And(vec![a.clone(), both.clone()]),
    );
    says(
        "(a=1 OR b=1) AND c=1",
        a.clone().or(b.clone()).and(c.clone()),
    );
    says("NOT a=1 AND b=1", a.clone().not().and(b.clone()));
    says("NOT (a=1 AND b=1)", a.clone().and(b.clone()).not());
    says("NOT NOT a=1", a.clone().not().not());
    says(
        "a BETWEEN 1 AND 2 AND b=1",
        Expr::And(vec![col("a").between(1, 2), b]),
    );
    says("a='b'AND c=1", col("a").eq("b").and(c));
    says("((a IN(1)))", col("a").is_in([1]));
}

#[test]
fn errors_name_the_character() {
    for (text, what) in [
        ("", "character 1: the end instead of a column's name"),
        ("  ", "character 3: the end instead of a column's name"),
        ("a =", "character 4: the end instead of a column's name"),
        (
            "a = 1 AND",
            "character 10: the end instead of a column's name",
        ),
        (
            "a = 1 b = 2",
            "character 7: `b` instead of an operator, AND or OR",
        ),
        (
            "a == 1",
            "character 3: `==` is no operator; one `=` compares",
        ),
        ("a = 1 = 2", "character 1: no column's name"),
        ("in = 1", "character 1: `in` instead of a column's name"),
        ("NOT in = 1", "character 5: `in` instead of a column's name"),
        (
            "a = 1 AND OR b",
            "character 11: `OR` instead of a column's name",
        ),
        ("1 = 2", "character 5: no column's name"),
        ("1", "character 1: no test of a column"),
        ("TRUE", "character 1: no test of a column"),
        (
            "a = b",
            "character 5: `b` instead of a number, 'text', true or false; text stands in single quotes",
        ),
        (
            "a = \"b\"",
            "character 5: `\"b\"` instead of a number, 'text', true or false; text stands",
        ),
        (
            "a = t.b",
            "character 5: `t.b` instead of a number, 'text', true or false; no column",
        ),
        (
            "a = null",
            "character 5: `null` instead of a number, 'text', true or false; nothing equals null",
        ),
        ("a IN (1, NULL)", "character 10: `NULL` instead of"),
        (
            "a = NaN",
            "character 5: `NaN` instead of a number, 'text', true or false; only finite",
        ),
        ("a = -inf", "character 5: `-` instead of a number"),
        ("a = 1x", "character 5: `1x` is no number"),
        ("a = 1.2.3", "character 5: `1.2.3` is no number"),
        ("a = 1e", "character 5: `1e` is no number"),
        ("a = 0x1f", "character 5: `0x1f` is no number"),
        (
            "a = 1-2",
            "character 6: `-` instead of an operator, AND or OR; a condition cannot calculate",
        ),
        ("a + 1 = 2", "character 3: `+` instead of an operator"),
        ("a * 2 = 2", "character 3: `*` cannot stand here"),
        ("a = 1 --2", "character 7: `--2` is a comment"),
        ("a = /* 1 */ 2", "character 5: `/* 1 */` is a comment"),
        ("a = ++1", "character 5: `+` instead of a number"),
        ("a = 'it", "character 5: no closing '"),
        ("a = 'it''", "character 5: no closing '"),
        ("\"a = 1", "character 1: no closing \""),
        ("a = X'0'", "character 5: no bytes"),
        ("a = X'0g'", "character 5: no bytes"),
        (
            "a = E'x'",
            "character 5: `E'x'` is no literal; text stands in single quotes",
        ),
        ("a = 'x' 'y'", "character 9: `'y'` instead of an operator"),
        ("a IN ()", "character 7: `)` instead of a number"),
        ("a IN (1", "character 8: the end instead of )"),
        ("a IN (1 2)", "character 9: `2` instead of an operator"),
        ("a IN (1,)", "character 9: `)` instead of a number"),
        ("a IN 1", "character 6: `1` instead of ("),
        ("a IN (b)", "character 7: `b` instead of a number"),
        (
            "a IN (SELECT 1)",
            "character 14: `1` instead of an operator",
        ),
        ("a BETWEEN 1 OR 2", "character 13: `OR` instead of AND"),
        ("a BETWEEN 1", "character 12: the end instead of AND"),
        ("a IS 1", "character 6: `1` instead of [NOT] NULL"),
        ("a IS NOT", "character 9: the end instead of [NOT] NULL"),
        (
            "a ILIKE 'x'",
            "character 3: `ILIKE` is not there; LIKE tests text",
        ),
        ("a LIKE 5", "character 8: `5` instead of a pattern"),
        (
            "a LIKE 'x' ESCAPE 'ab'",
            "character 19: `'ab'` instead of one character",
        ),
        ("upper(a) = 'x'", "character 1: `upper` is a function"),
        ("a = cast(1)", "character 5: `cast` is a function"),
        ("a::int = 1", "character 2: `::` cannot stand here"),
        ("a = 1 AND [1]", "character 11: `[` cannot stand here"),
        (
            "`a` = 1",
            "character 1: ``a`` is no name: it stands in double quotes",
        ),
        ("(a = 1", "character 7: the end instead of )"),
        ("a = 1)", "character 6: `)` instead of AND or OR"),
        ("(a, b) = 1", "character 2: no column's name"),
        ("ä = 'ö' ; 1", "character 9: `;` cannot stand here"),
        (
            "ä = 'ö'\r\nAND\n  ß = ü",
            "character 20: `ü` instead of a number",
        ),
    ] {
        let found = parse(text).unwrap_err();
        assert!(found.starts_with(what), "{text}: {found}");
    }
    let long = parse(&format!("a = {}x", "1".repeat(1 << 20))).unwrap_err();
    assert!(long.len() < 200, "{}", long.len());
}

#[test]
fn no_text_takes_a_stack_or_long() {
    let mb = 1 << 20;
    let repeated = |start: &str, what: &str, end: &str| {
        format!("{start}{}{end}", what.repeat(mb / what.len()))
    };
    for text in [
        repeated("", "a=1 AND ", "a=1"),
        repeated("", "a=1 OR ", "a=1"),
        repeated("", "a=1 AND b=1 OR ", "a=1"),
        repeated("", "(", "a"),
        repeated("a IN ", "(", "1"),
        repeated("a IN (", "(1),", "1)"),
        repeated("", "NOT ", "a"),
        repeated("a = ", "-", "1"),
        repeated("a", "::int", ""),
        repeated("1", "+1", ""),
        repeated("a", ".a", " ="),
        repeated("a", " = a", ""),
        repeated("a", " IS NULL", ""),
        repeated("a", " BETWEEN 1 AND", ""),
        repeated("", "f(", ""),
        repeated("", "case when ", ""),
        repeated("", "interval ", ""),
        repeated("", "array<", ""),
        repeated("", "[", ""),
        repeated("", "{", ""),
        repeated("", "$", ""),
        repeated("", "$a", ""),
        repeated("", "'", ""),
        repeated("", "' '", ""),
        repeated("", "\"a\".", ""),
        repeated("", "/*", ""),
        repeated("", "--", ""),
        repeated("", "U&'\\", ""),
        repeated("", "\n", ""),
        repeated("a = 1", "e1", ""),
        repeated("a LIKE '", "%_", "' ESCAPE"),
    ] {
        let start = Instant::now();
        let found = parse(&text);
        assert!(found.is_err(), "{}", &text[..20]);
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "{}: {:?}",
            &text[..20],
            start.elapsed()
        );
    }
    // Operators are counted, literals are not.
    let list = format!("a IN ({}-1)", "-1, ".repeat(100_000));
    assert!(parse(&list).is_ok());
    let terms = |n: usize| format!("{}a=1", "a=1 AND ".repeat(n));
    assert!(matches!(parse(&terms(499)), Ok(Expr::And(all)) if all.len() == 500));
    let at = 8 * 500 + 2;
    let found = parse(&terms(500)).unwrap_err();
    assert_eq!(
        found,
        format!("character {at}: more than 1000 operators, keywords and parentheses")
    );
    let nested = |n: usize| parse(&format!("{}a=1{}", "(".repeat(n), ")".repeat(n)));
    assert_eq!(nested(40), Ok(col("a").eq(1)));
    assert_eq!(
        nested(60),
        Err("too many parentheses and operators inside of each other".to_owned())
    );
}

#[test]
fn literals_without_a_text_of_their_own_are_shown() {
    let all = Expr::And(vec![
        col("a").eq(Literal::null()),
        col("Größe").lt(f64::NAN),
        col("a.b c").eq(vec![0, 255]),
    ]);
    assert_eq!(
        all.to_string(),
        "a = NULL AND \"Größe\" < NaN AND \"a.b c\" = X'00ff'"
    );
    assert_eq!(Expr::And(vec![]).to_string(), "TRUE");
    assert_eq!(Expr::Or(vec![]).not().to_string(), "NOT (FALSE)");
    assert_eq!(
        col("a").between(1, 2).not().to_string(),
        "a NOT BETWEEN 1 AND 2"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn what_is_written_is_read_back(expr in exprs(4)) {
        prop_assert_eq!(parse(&expr.to_string()), Ok(expr.clone()), "{}", expr);
    }

    #[test]
    fn no_text_panics(text in "[a-z'\"=(),.<>!0-9eEX +-]{0,24}|\\PC{0,12}") {
        let _ = parse(&text);
    }

    #[test]
    fn no_words_panic(words in prop::collection::vec(word(), 0..16)) {
        let text = words.join(" ");
        if let Ok(expr) = parse(&text) {
            prop_assert_eq!(parse(&expr.to_string()), Ok(expr), "{}", text);
        }
    }
}

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "a",
        "\"b c\"",
        ".",
        "1",
        "-",
        "'x%'",
        "X'00'",
        "=",
        "<",
        ">=",
        "<>",
        "(",
        ")",
        ",",
        "AND",
        "OR",
        "NOT",
        "IN",
        "BETWEEN",
        "IS",
        "NULL",
        "LIKE",
        "ESCAPE '!'",
        "TRUE",
        "FALSE",
        "DATE",
        "'2026-01-31'",
        "\n",
        "ä",
        "::",
        "case",
    ])
}
