//! Days of the proleptic Gregorian calendar, counted from 1970-01-01.

/// Days of 400 years.
const ERA_DAYS: i128 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: i128 = 719_468;

/// The year and the month, from 1, of a day.
///
/// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
pub(crate) fn year_and_month(day: i128) -> (i128, i128) {
    let shifted = day + EPOCH_DAYS;
    let era = shifted.div_euclid(ERA_DAYS);
    let of_era = shifted.rem_euclid(ERA_DAYS);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Months from March, so that the leap day is the last one of its year.
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    (year_of_era + era * 400 + i128::from(month <= 2), month)
}

/// The first day of a month, from 1, of a year.
pub(crate) fn first_day(year: i128, month: i128) -> i128 {
    let shifted = year - i128::from(month <= 2);
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * from_march + 2) / 5;
    let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
    era * ERA_DAYS + of_era - EPOCH_DAYS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_as_everybody_does() {
        for (day, year, month) in [
            (0, 1970, 1),
            (-1, 1969, 12),
            (30, 1970, 1),
            (31, 1970, 2),
            (11_016, 2000, 2),
            (11_017, 2000, 3),
            (-719_468, 0, 3),
            (20_574, 2026, 5),
        ] {
            assert_eq!(year_and_month(day), (year, month), "{day}");
        }
        assert_eq!(first_day(2026, 5), 20_574);
    }

    #[test]
    fn every_day_lies_in_its_month() {
        for day in -800_000..800_000 {
            let (year, month) = year_and_month(day);
            let next = if month == 12 {
                (year + 1, 1)
            } else {
                (year, month + 1)
            };
            assert!(
                first_day(year, month) <= day && day < first_day(next.0, next.1),
                "{day}"
            );
        }
    }
}
