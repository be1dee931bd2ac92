use super::*;
use proptest::prelude::*;

#[test]
fn durations_are_exact_in_every_unit() {
    let table = [
        ("1ns", 1),
        ("250us", 250_000),
        ("250µs", 250_000),
        ("250μs", 250_000),
        ("1.5ms", 1_500_000),
        ("1.5s", 1_500_000_000),
        ("0.1s", 100_000_000),
        ("1.000000001s", 1_000_000_001),
        ("2m", 120_000_000_000),
        ("0.5m", 30_000_000_000),
        ("1h", 3_600_000_000_000),
        ("1d", 86_400_000_000_000),
        ("30", 30_000_000_000),
        ("0.25", 250_000_000),
        ("0", 0),
        (" 30 s ", 30_000_000_000),
        ("5S", 5_000_000_000),
        ("1.10000000000000000000000000000000000000000s", 1_100_000_000),
    ];
    for (text, ns) in table {
        assert_eq!(parse_duration_ns(text), Ok(ns), "{text}");
    }
}

#[test]
fn durations_that_are_none() {
    use UnitError::*;
    let table = [
        ("", Syntax(Quantity::Duration)),
        ("s", Syntax(Quantity::Duration)),
        (".5s", Syntax(Quantity::Duration)),
        ("5.s", Syntax(Quantity::Duration)),
        ("1.2.3s", Syntax(Quantity::Duration)),
        ("1e3s", Syntax(Quantity::Duration)),
        ("1s2", Syntax(Quantity::Duration)),
        ("5 parsecs", Syntax(Quantity::Duration)),
        ("NaN", Syntax(Quantity::Duration)),
        ("inf", Syntax(Quantity::Duration)),
        ("-1s", Negative(Quantity::Duration)),
        ("0.5ns", TooFine(Quantity::Duration)),
        ("1.0000000001s", TooFine(Quantity::Duration)),
        ("0.00000000000000000000000000000000000000000000000000001s", TooFine(Quantity::Duration)),
        ("367d", TooLarge(Quantity::Duration)),
        ("99999999999999999999999999999999999999999999999", TooLarge(Quantity::Duration)),
    ];
    for (text, error) in table {
        assert_eq!(parse_duration_ns(text), Err(error), "{text}");
    }
}

#[test]
fn counts_and_sizes() {
    assert_eq!(parse_count("0"), Ok(0));
    assert_eq!(parse_count("100"), Ok(100));
    assert_eq!(parse_count("1k"), Ok(1_000));
    assert_eq!(parse_count("1.5k"), Ok(1_500));
    assert_eq!(parse_count("2M"), Ok(2_000_000));
    assert_eq!(parse_count("18446744073709551615"), Ok(u64::MAX));
    assert_eq!(parse_count("18446744073709551616"), Err(UnitError::TooLarge(Quantity::Count)));
    assert_eq!(parse_count("1.5"), Err(UnitError::TooFine(Quantity::Count)));
    assert_eq!(parse_count("-3"), Err(UnitError::Negative(Quantity::Count)));
    assert_eq!(parse_count("5 apples"), Err(UnitError::Syntax(Quantity::Count)));

    assert_eq!(parse_size("512"), Ok(512));
    assert_eq!(parse_size("512B"), Ok(512));
    assert_eq!(parse_size("64k"), Ok(64_000));
    assert_eq!(parse_size("1.5MB"), Ok(1_500_000));
    assert_eq!(parse_size("4KiB"), Ok(4096));
    assert_eq!(parse_size("1Mi"), Ok(1 << 20));
    assert_eq!(parse_size("1GiB"), Ok(1 << 30));
    assert_eq!(parse_size("4iB"), Err(UnitError::Syntax(Quantity::Size)));
    assert_eq!(parse_size("4x"), Err(UnitError::Syntax(Quantity::Size)));
}

#[test]
fn rates_are_exact_fractions() {
    let rate = |events, per_ns| Ok(Rate { events, per_ns });
    assert_eq!(parse_rate("20k"), rate(20_000, NS_PER_S));
    assert_eq!(parse_rate("20k/s"), rate(20_000, NS_PER_S));
    assert_eq!(parse_rate("20k / s"), rate(20_000, NS_PER_S));
    assert_eq!(parse_rate("1.5k"), rate(1_500, NS_PER_S));
    assert_eq!(parse_rate("0.01/s"), rate(1, 100 * NS_PER_S));
    assert_eq!(parse_rate("0.5"), rate(5, 10 * NS_PER_S));
    assert_eq!(parse_rate("30/m"), rate(30, 60 * NS_PER_S));
    assert_eq!(parse_rate("1/h"), rate(1, 3600 * NS_PER_S));
    assert_eq!(parse_rate("1/ms"), rate(1_000, NS_PER_S));
    assert_eq!(parse_rate("1/7ms"), rate(1, 7_000_000));
    assert_eq!(parse_rate("1G"), rate(1_000_000_000, NS_PER_S));
    assert_eq!(parse_rate("1/ns"), rate(1_000_000_000, NS_PER_S));
    assert_eq!(parse_rate_or_zero("0.000"), rate(0, NS_PER_S));
}

#[test]
fn rates_that_are_none() {
    use UnitError::*;
    let table = [
        ("fast", Syntax(Quantity::Rate)),
        ("", Syntax(Quantity::Rate)),
        ("5/", Syntax(Quantity::Rate)),
        ("/s", Syntax(Quantity::Rate)),
        ("5/x", Syntax(Quantity::Rate)),
        ("5/0s", Syntax(Quantity::Rate)),
        ("5/2", Syntax(Quantity::Rate)),
        ("5/s/s", Syntax(Quantity::Rate)),
        ("NaN", Syntax(Quantity::Rate)),
        ("inf", Syntax(Quantity::Rate)),
        ("0", Zero(Quantity::Rate)),
        ("0/s", Zero(Quantity::Rate)),
        ("-5", Negative(Quantity::Rate)),
        ("2G", TooLarge(Quantity::Rate)),
        ("1.000000001G", TooLarge(Quantity::Rate)),
        ("2/ns", TooLarge(Quantity::Rate)),
        ("0.0000000001/s", TooFine(Quantity::Rate)),
    ];
    for (text, error) in table {
        assert_eq!(parse_rate(text), Err(error), "{text}");
    }
}

#[test]
fn errors_name_the_remedy() {
    assert_eq!(
        parse_rate("fast").unwrap_err().to_string(),
        "not a rate; write events per time, such as 20k, 20k/s, 30/m or 0.01/s"
    );
    assert_eq!(
        parse_rate("0").unwrap_err().to_string(),
        "a rate must be above zero; write events per time, such as 20k, 20k/s, 30/m or 0.01/s"
    );
    assert_eq!(
        parse_duration_ns("1000d").unwrap_err().to_string(),
        "too large; a duration can be at most 366d"
    );
}

#[test]
fn durations_for_people() {
    let table = [
        (0, "0 ns"),
        (117, "117 ns"),
        (999, "999 ns"),
        (1_000, "1 µs"),
        (1_234, "1.23 µs"),
        (99_960, "100 µs"),
        (1_053_000, "1.05 ms"),
        (999_600, "1.00 ms"),
        (1_500_000_000, "1.5 s"),
        (1_500_000_001, "1.50 s"),
        (10_049_000_000, "10.0 s"),
        (30_000_000_000, "30 s"),
        (90_000_000_000, "90 s"),
        (60_000_000_000, "1 m"),
        (600_000_000_000, "10 m"),
        (601_000_000_000, "601 s"),
        (3_600_000_000_000, "1 h"),
        (u64::MAX, "5,124,095 h"),
    ];
    for (ns, text) in table {
        assert_eq!(fmt_duration_ns(ns), text, "{ns}");
    }
}

#[test]
fn counts_bytes_and_rates_for_people() {
    assert_eq!(fmt_count(0), "0");
    assert_eq!(fmt_count(999), "999");
    assert_eq!(fmt_count(1_000), "1,000");
    assert_eq!(fmt_count(1_234_567), "1,234,567");
    assert_eq!(fmt_bytes(512), "512 B");
    assert_eq!(fmt_bytes(1_500_000), "1.5 MB");
    assert_eq!(fmt_bytes(999_999), "1.00 MB");
    assert_eq!(fmt_rate(Rate::per_second(20_000)), "20,000/s");
    assert_eq!(fmt_rate(parse_rate("0.01/s").unwrap()), "0.01/s");
    assert_eq!(fmt_rate(parse_rate("1234.5/s").unwrap()), "1,234.5/s");
    assert_eq!(fmt_rate(parse_rate("30/m").unwrap()), "30/m");
    assert_eq!(fmt_rate(parse_rate("1/7ms").unwrap()), "142.9/s");
    assert_eq!(fmt_per_second(160_123.4), "160,123/s");
    assert_eq!(fmt_per_second(999.97), "1,000/s");
    assert_eq!(fmt_per_second(99.93), "99.93/s");
    assert_eq!(fmt_per_second(99.9), "99.9/s");
    assert_eq!(fmt_per_second(100.0), "100/s");
    assert_eq!(fmt_per_second(12.0), "12/s");
    assert_eq!(fmt_per_second(0.01), "0.01/s");
    assert_eq!(fmt_per_second(0.010_000_1), "0.0100/s");
    assert_eq!(fmt_per_second(0.0), "0/s");
    assert_eq!(fmt_per_second(f64::NAN), "–");
    assert_eq!(fmt_plural(0, "thread"), "0 threads");
    assert_eq!(fmt_plural(1, "thread"), "1 thread");
    assert_eq!(fmt_plural(1000, "thread"), "1,000 threads");
}

#[test]
fn figures_of_tables_have_three_digits() {
    let cases = [
        (307_123.0, "307 k"),
        (20_444.0, "20.4 k"),
        (6_912.0, "6.91 k"),
        (980.4, "980"),
        (24.7, "24.7"),
        (1_234_567.0, "1.23 M"),
        (999.7, "1.00 k"),
        (f64::NAN, "–"),
    ];
    for (value, text) in cases {
        assert_eq!(fmt_short(value), text);
    }
}

#[test]
fn shares() {
    assert_eq!(parse_share("50%"), Ok(0.5));
    assert_eq!(parse_share("0.1 %"), Ok(0.001));
    assert_eq!(parse_share("0.001"), Ok(0.001));
    assert_eq!(parse_share("1"), Ok(1.0));
    assert_eq!(parse_share("250%"), Ok(2.5));
    assert_eq!(parse_share("99"), Err(UnitError::TooLarge(Quantity::Share)));
    assert_eq!(parse_share("1%%"), Err(UnitError::Syntax(Quantity::Share)));
    assert_eq!(parse_share("-1%"), Err(UnitError::Negative(Quantity::Share)));
}

#[test]
fn shares_are_never_rounded_to_all_or_nothing() {
    for (share, text) in [
        (0.0, "0 %"),
        (0.000_001, "<0.001 %"),
        (0.0004, "0.040 %"),
        (0.05, "5.00 %"),
        (0.5, "50.0 %"),
        (0.995, "99.50 %"),
        (0.999_999, ">99.99 %"),
        (1.0, "100 %"),
        (1.02, "102.0 %"),
        (17.901, "1,790.1 %"),
        (f64::NAN, "–"),
    ] {
        assert_eq!(fmt_share(share), text);
    }
}

#[test]
fn digits_are_as_many_below_zero_and_thousands_have_commas() {
    let shown = [9.876, 32.14, 181.4, 1790.1, -9.876, -32.14, -1790.1].map(fmt_digits);
    assert_eq!(shown, ["9.88", "32.1", "181", "1,790", "-9.88", "-32.1", "-1,790"]);
    let written = ["-1234.50", "+1000", "12", "inf"].map(with_commas);
    assert_eq!(written, ["-1,234.50", "+1,000", "12", "inf"]);
}

fn same(a: Rate, b: Rate) -> bool {
    u128::from(a.events) * u128::from(b.per_ns) == u128::from(b.events) * u128::from(a.per_ns)
}

proptest! {
    #[test]
    fn a_printed_duration_parses_to_itself(ns in 0..=MAX_DURATION_NS) {
        prop_assert_eq!(parse_duration_ns(&print_duration_ns(ns)), Ok(ns));
    }

    #[test]
    fn short_durations_too(ns in 0..10_000_000u64, tens in 0..9u32) {
        let ns = ns * 10u64.pow(tens);
        prop_assert_eq!(parse_duration_ns(&print_duration_ns(ns)), Ok(ns));
    }

    #[test]
    fn a_printed_rate_parses_to_itself(events in 1..1_000_000_000u64, per in 0..5usize, tens in 0..5u32) {
        let per_ns = [NS_PER_S, 60 * NS_PER_S, 3600 * NS_PER_S, 7_000_000_000, 1_000_000_007][per] * 10u64.pow(tens);
        let rate = Rate { events, per_ns };
        let parsed = parse_rate(&print_rate(rate));
        prop_assert!(parsed.is_ok_and(|parsed| same(parsed, rate)), "{} → {:?}", print_rate(rate), parsed);
    }

    #[test]
    fn a_typed_rate_prints_as_typed(whole in 1..100_000u64, fraction in 1..1000u32, per in "[smh]") {
        let digits = format!("{fraction:03}");
        let text = format!("{whole}.{}/{per}", digits.trim_end_matches('0'));
        prop_assert_eq!(print_rate(parse_rate(&text).unwrap()), text);
    }

    #[test]
    fn no_text_panics(text in ".{0,60}", numeric in "[-0-9.kKmMgGiBnus/ ]{0,60}") {
        for text in [text, numeric] {
            let _ = (parse_duration_ns(&text), parse_count(&text), parse_size(&text));
            let _ = (parse_rate(&text), parse_share(&text));
        }
    }

    #[test]
    fn no_number_panics(number in any::<u64>(), float in any::<f64>(), per in 1..u64::MAX) {
        let _ = (fmt_duration_ns(number), fmt_bytes(number), fmt_count(number), fmt_per_second(float), fmt_share(float));
        let _ = (fmt_rate(Rate { events: number, per_ns: per }), print_rate(Rate { events: number, per_ns: per }));
        prop_assert!(!print_duration_ns(number).is_empty());
    }
}
