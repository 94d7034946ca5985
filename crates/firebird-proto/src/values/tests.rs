//! Values both ways. Types of Firebird 4 and 5 are tested on constructed bytes only: no such server has been asked.

use tsumugi_values as calendar;

use super::*;
use crate::describe::Column;
use crate::row::Field;

fn column(number: i64, length: i64, sub_type: i32, scale: i8) -> Column {
    let mut column = Column::of(number).unwrap().measured(length).unwrap();
    (column.sub_type, column.scale) = (sub_type, scale);
    column
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter_map(|digit| u8::try_from(digit.to_digit(16)?).ok())
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

fn read<'a>(column: &'a Column, bytes: &'a [u8], rules: TextRules) -> Value<'a> {
    let bytes = Some(bytes);
    Field { column, bytes }.value(rules)
}

/// A field of the type `number` with these bytes, as text.
fn check(number: i64, scale: i8, bytes: &str, expected: &str) {
    let column = column(number, 16, 0, scale);
    let bytes = hex(bytes);
    let value = read(&column, &bytes, TextRules::default());
    assert_eq!(shown(&value), expected, "{number}");
}

fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Boolean(yes) => yes.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Decimal(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Double(number) => number.to_string(),
        Value::DecFloat(number) => number.to_string(),
        Value::Text(text) => text.to_string(),
        Value::Date(date) => date.to_string(),
        Value::Time(time) => time.to_string(),
        Value::Timestamp(at) => at.to_string(),
        Value::TimeTz(at) => at.to_string(),
        Value::TimestampTz(at) => at.to_string(),
        other => format!("{other:?}"),
    }
}

#[test]
fn integers_reach_both_ends() {
    check(500, 0, "ffff8000", "-32768");
    check(496, 0, "7fffffff", "2147483647");
    check(580, 0, "8000000000000000", "-9223372036854775808");
}

#[test]
fn numbers_with_a_scale_keep_every_digit() {
    check(500, -2, "0000007d", "1.25");
    check(496, -4, "ffffffff", "-0.0001");
    check(580, -18, "7fffffffffffffff", "9.223372036854775807");
    check(580, -2, "0000000000000096", "1.50");
    check(580, -3, "0000000000000000", "0.000");
    check(496, 2, "00000007", "700");
}

#[test]
fn numbers_of_128_bits_are_exact() {
    check(
        32_752,
        0,
        "80000000000000000000000000000000",
        "-170141183460469231731687303715884105728",
    );
    check(
        32_752,
        -37,
        "7fffffffffffffffffffffffffffffff",
        "17.0141183460469231731687303715884105727",
    );
}

#[test]
fn floating_point_is_ieee() {
    check(482, 0, "3f800000", "1");
    check(480, 0, "0010000000000000", &f64::MIN_POSITIVE.to_string());
    check(480, 0, "7fefffffffffffff", &f64::MAX.to_string());
    check(480, 0, "bfb999999999999a", "-0.1");
}

#[test]
fn decimal_floating_point_has_its_digits() {
    for (bytes, expected) in [
        ("2238000000000000", "0"),
        ("a238000000000000", "-0"),
        ("2238000000000001", "1"),
        ("22340000000000a0", "12.0"),
        ("7800000000000000", "Infinity"),
        ("f800000000000000", "-Infinity"),
        ("7c00000000000000", "NaN"),
        ("77fcff3fcff3fcff", "9.999999999999999E+384"),
        ("0000000000000001", "1E-398"),
    ] {
        let bytes: [u8; 8] = hex(bytes).try_into().unwrap();
        let number = DecFloat::from_decimal64(bytes);
        assert_eq!(number.to_string(), expected);
        assert_eq!(number.to_decimal64(), Some(bytes), "{number}");
    }
    let one: [u8; 16] = hex("22080000000000000000000000000001").try_into().unwrap();
    assert_eq!(DecFloat::from_decimal128(one).to_string(), "1");
    let max: [u8; 16] = hex("77ffcff3fcff3fcff3fcff3fcff3fcff").try_into().unwrap();
    let number = DecFloat::from_decimal128(max);
    assert_eq!(
        number.to_string(),
        "9.999999999999999999999999999999999E+6144"
    );
    assert_eq!(number.to_decimal128(), Some(max));
}

#[test]
fn three_digits_in_ten_bits_come_back() {
    for coefficient in 0..1000 {
        for sign in [Sign::Plus, Sign::Minus] {
            let number = DecFloat::Finite {
                sign,
                coefficient: coefficient * 1001,
                exponent: -3,
            };
            assert_eq!(
                DecFloat::from_decimal64(number.to_decimal64().unwrap()),
                number
            );
            assert_eq!(
                DecFloat::from_decimal128(number.to_decimal128().unwrap()),
                number
            );
        }
    }
}

#[test]
fn decimal_floating_point_that_does_not_fit_is_refused() {
    let number = |coefficient, exponent| DecFloat::Finite {
        sign: Sign::Plus,
        coefficient,
        exponent,
    };
    assert_eq!(number(10_u128.pow(16), 0).to_decimal64(), None);
    assert!(number(10_u128.pow(16) - 1, 0).to_decimal64().is_some());
    assert_eq!(number(10_u128.pow(34), 0).to_decimal128(), None);
    for (exponent, fits) in [(369, true), (370, false), (-398, true), (-399, false)] {
        assert_eq!(
            number(1, exponent).to_decimal64().is_some(),
            fits,
            "{exponent}"
        );
    }
    for (exponent, fits) in [(6111, true), (6112, false), (-6176, true), (-6177, false)] {
        assert_eq!(
            number(1, exponent).to_decimal128().is_some(),
            fits,
            "{exponent}"
        );
    }
}

#[test]
fn decimal_floating_point_is_written_as_the_standard_writes_it() {
    let written = |coefficient, exponent| {
        DecFloat::Finite {
            sign: Sign::Plus,
            coefficient,
            exponent,
        }
        .to_string()
    };
    for (coefficient, exponent, expected) in [
        (123, 0, "123"),
        (123, 1, "1.23E+3"),
        (123, 3, "1.23E+5"),
        (123, -1, "12.3"),
        (123, -3, "0.123"),
        (123, -5, "0.00123"),
        (123, -8, "0.00000123"),
        (123, -9, "1.23E-7"),
        (5, -324, "5E-324"),
        (0, 2, "0E+2"),
    ] {
        assert_eq!(written(coefficient, exponent), expected);
    }
}

#[test]
fn dates_and_times_reach_their_ends() {
    check(570, 0, "00000000", "1858-11-17");
    check(570, 0, "fff5a551", "0001-01-01");
    check(570, 0, "002d5f2b", "9999-12-31");
    check(560, 0, "00000000", "00:00:00");
    check(560, 0, "337f97ff", "23:59:59.9999");
    check(560, 0, "06955550", "03:04:05");
    check(510, 0, "ffffffff 06955938", "1858-11-16 03:04:05.1");
    check(32_764, 0, "01", "true");
    check(32_764, 0, "00", "false");
}

#[test]
fn number_outside_of_the_calendar_is_still_shown() {
    check(570, 0, "7fffffff", "day 2147483647");
    check(570, 0, "80000000", "day -2147483648");
    check(560, 0, "ffffffff", "fraction 4294967295");
    check(
        32_754,
        0,
        "7fffffff ffffffff 0000059f",
        "day 2147483647 fraction 4294967295+00:00 (+00:00)",
    );
}

#[test]
fn times_with_a_zone_are_shown_there_and_regions_in_utc() {
    check(32_756, 0, "00000000 000007bb", "09:00:00+09:00");
    check(32_756, 0, "00000000 0000059e", "23:59:00-00:01");
    check(32_756, 0, "00000000 0000ffff", "00:00:00+00:00");
    check(
        32_756,
        0,
        "00000000 0000fffe",
        "00:00:00+00:00 (region 65534)",
    );
    check(
        32_754,
        0,
        "00009e8b 00000000 0000047b",
        "1969-12-31 19:08:00-04:52",
    );
    check(
        32_754,
        0,
        "00009e8b 00000000 fffffffe",
        "1970-01-01 00:00:00+00:00 (region 65534)",
    );
}

#[test]
fn timestamps_and_those_of_the_calendar_convert() {
    let at = Timestamp {
        date: Date::from_ymd(2024, 2, 29).unwrap(),
        time: Time::from_hms(12, 0, 0, 5).unwrap(),
    };
    let calendar = at.calendar().unwrap();
    assert_eq!(calendar.unix_micros(), Some(1_709_208_000_000_500));
    assert_eq!(Timestamp::from_calendar(calendar), Some(at));
    let before = calendar::Timestamp::from_unix_micros(-1).unwrap();
    let before = Timestamp::from_calendar(before).unwrap();
    assert_eq!(before.to_string(), "1969-12-31 23:59:59.9999");
    let infinity = calendar::Timestamp::INFINITY;
    assert_eq!(Timestamp::from_calendar(infinity), None);
    assert_eq!(Date::from_ymd(2023, 2, 29), None);
    assert_eq!(Date::from_ymd(0, 1, 1), None);
    assert_eq!(Date::from_ymd(10_000, 1, 1), None);
    assert_eq!(Time::from_hms(24, 0, 0, 0), None);
    assert_eq!(Zone::from_offset(1440), None);
    assert_eq!(Zone::from_offset(-90).unwrap().to_string(), "-01:30");
}

#[test]
fn decimals_are_read_as_they_are_written() {
    for text in [
        "0",
        "-0.01",
        "1.50",
        "170141183460469231731687303715884105727",
        "-12",
    ] {
        assert_eq!(text.parse::<Decimal>().unwrap().to_string(), text);
    }
    assert_eq!("+7.".parse(), Ok(Decimal::from(7)));
    for text in [
        "",
        ".",
        "-",
        "1e5",
        "1.2.3",
        "--1",
        "+-1",
        "999999999999999999999999999999999999999",
    ] {
        assert_eq!(text.parse::<Decimal>(), Err(NoDecimal), "{text}");
    }
}

/// A text field of the type `number` and the character set `set`, of `length` bytes at most.
fn check_text(number: i64, set: i32, length: i64, bytes: &[u8], rules: TextRules, expected: &str) {
    let column = column(number, length, set, 0);
    let value = read(&column, bytes, rules);
    let found = match &value {
        Value::Text(text) => text.to_string(),
        Value::Bytes(bytes) => format!("bytes {}", bytes.escape_ascii()),
        other => format!("{other:?}"),
    };
    assert_eq!(found, expected);
}

const PLAIN: TextRules = TextRules {
    none: None,
    padding: Padding::Keep,
};
const TRIM: TextRules = TextRules {
    none: None,
    padding: Padding::Trim,
};

#[test]
fn char_has_as_many_characters_as_its_column() {
    check_text(452, 4, 20, b"abc                 ", PLAIN, "abc  ");
    check_text(452, 4, 20, "日本語     ".as_bytes(), PLAIN, "日本語  ");
    check_text(452, 4, 12, "日本語".as_bytes(), PLAIN, "日本語");
    check_text(452, 3, 12, "日a          ".as_bytes(), PLAIN, "日a  ");
    check_text(452, 52, 4, b"ab  ", PLAIN, "ab  ");
    check_text(452, 4, 20, b"abc                 ", TRIM, "abc");
    check_text(452, 4 | 1 << 8, 4, b"a   ", PLAIN, "a");
    check_text(448, 4, 20, b"ab ", TRIM, "ab ");
    check_text(448, 4, 20, b"", PLAIN, "");
}

#[test]
fn bytes_stay_bytes_and_texts_without_a_set_are_tried() {
    check_text(452, 1, 4, b"ab\0\xff", PLAIN, r"bytes ab\x00\xff");
    check_text(448, 0, 9, "日".as_bytes(), PLAIN, "日");
    check_text(448, 0, 9, b"\x93\xfa", PLAIN, r"bytes \x93\xfa");
    check_text(452, 0, 4, "é  ".as_bytes(), PLAIN, "é  ");
    let rules = TextRules {
        none: CharacterSet::by_name("sjis_0208"),
        ..PLAIN
    };
    check_text(448, 0, 9, b"\x93\xfa", rules, "日");
    check_text(448, 4, 9, b"\xff", PLAIN, r"bytes \xff");
    check_text(448, 200, 9, b"a", PLAIN, "a");
}

#[test]
fn character_sets_convert_both_ways() {
    for (set, text, bytes) in [
        ("WIN1251", "Привет", "cff0e8e2e5f2"),
        ("SJIS_0208", "日本", "93fa967b"),
        ("EUCJ_0208", "日本", "c6fccbdc"),
        ("ISO8859_1", "Äÿ", "c4ff"),
        ("ISO8859_9", "ĞışÄ", "d0fdfec4"),
        ("WIN1252", "€", "80"),
        ("KOI8R", "я", "d1"),
        ("GB18030", "日", "c8d5"),
        ("KSC_5601", "한", "c7d1"),
        ("BIG_5", "日", "a4e9"),
        ("ASCII", "abc", "616263"),
        ("UTF8", "é", "c3a9"),
    ] {
        let set = CharacterSet::by_name(set).unwrap();
        assert_eq!(CharacterSet::by_id(set.id()), Some(set));
        assert_eq!(
            set.encode(text).as_deref(),
            Some(&hex(bytes)[..]),
            "{set:?}"
        );
        assert_eq!(set.decode(&hex(bytes)).as_deref(), Some(text), "{set:?}");
    }
}

#[test]
fn character_missing_in_a_set_is_an_error() {
    for (set, text, bytes) in [
        ("WIN1251", "日", None),
        ("ASCII", "é", Some(&b"\xe9"[..])),
        ("ISO8859_1", "€", None),
        ("ISO8859_9", "Ð", None),
        ("DOS437", "é", Some(b"\x82")),
        ("SJIS_0208", "한", Some(b"\x93")),
        ("UTF8", "", Some(b"\xff")),
    ] {
        let set = CharacterSet::by_name(set).unwrap();
        assert!(text.is_empty() || set.encode(text).is_none(), "{set:?}");
        assert!(
            bytes.is_none_or(|bytes| set.decode(bytes).is_none()),
            "{set:?}"
        );
    }
}

/// The types and the row of one value for a parameter of the type `number`.
fn check_parameter(number: i64, value: Value<'_>, blr: &[u8], row: &[u8]) {
    let described = [column(number, 16, 4, 0)];
    let parameters = Parameters::new(&described, &[value], CharacterSet::UTF8).unwrap();
    let message = parameters.message();
    assert_eq!(message.blr[..6], [5, 2, 4, 0, 2, 0]);
    let (types, end) = message.blr[6..].split_at(message.blr.len() - 10);
    assert_eq!(types, blr);
    assert_eq!(end, [7, 0, 255, 76]);
    assert_eq!(message.row, row);
}

#[test]
fn value_is_sent_in_its_own_type() {
    let quad = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7];
    check_parameter(496, Value::Integer(7), &[16, 0], &quad);
    check_parameter(
        580,
        Value::Decimal("0.7".parse().unwrap()),
        &[16, 0xff],
        &quad,
    );
    check_parameter(520, Value::Blob(7), &[9, 0], &quad);
    check_parameter(496, Value::Null, &[14, 0, 0], &[1, 0, 0, 0]);
    check_parameter(
        448,
        Value::Text("é".into()),
        &[37, 2, 0],
        b"\0\0\0\0\0\0\0\x02\xc3\xa9\0\0",
    );
    check_parameter(
        448,
        Value::Bytes(b"\xff"),
        &[38, 1, 0, 1, 0],
        b"\0\0\0\0\0\0\0\x01\xff\0\0\0",
    );
    check_parameter(
        32_764,
        Value::Boolean(true),
        &[23],
        &[0, 0, 0, 0, 1, 0, 0, 0],
    );
    check_parameter(
        480,
        Value::Double(1.0),
        &[27],
        &hex("00000000 3ff0000000000000"),
    );
    check_parameter(482, Value::Float(1.0), &[10], &hex("00000000 3f800000"));
    check_parameter(570, Value::Date(Date(-1)), &[12], &hex("00000000 ffffffff"));
    check_parameter(560, Value::Time(Time(5)), &[13], &hex("00000000 00000005"));
    let at = Timestamp {
        date: Date(1),
        time: Time(2),
    };
    check_parameter(
        510,
        Value::Timestamp(at),
        &[35],
        &hex("00000000 00000001 00000002"),
    );
    let zone = Zone::from_offset(0).unwrap();
    let with_zone = Value::TimestampTz(TimestampTz { utc: at, zone });
    check_parameter(
        32_754,
        with_zone,
        &[29],
        &hex("00000000 00000001 00000002 0000059f"),
    );
    let with_zone = Value::TimeTz(TimeTz { utc: Time(5), zone });
    check_parameter(32_756, with_zone, &[28], &hex("00000000 00000005 0000059f"));
}

#[test]
fn numbers_that_only_newer_servers_know_go_to_others_as_text() {
    let big = Value::Decimal("9223372036854775808".parse().unwrap());
    let row = [&[0; 4][..], &9_223_372_036_854_775_808_i128.to_be_bytes()].concat();
    check_parameter(32_752, big.clone(), &[26, 0], &row);
    check_parameter(
        580,
        big,
        &[37, 19, 0],
        b"\0\0\0\0\0\0\0\x139223372036854775808\0",
    );
    let one = DecFloat::Finite {
        sign: Sign::Plus,
        coefficient: 1,
        exponent: 0,
    };
    let row = [&[0; 4][..], &one.to_decimal128().unwrap()].concat();
    check_parameter(32_762, Value::DecFloat(one), &[25], &row);
    check_parameter(
        480,
        Value::DecFloat(one),
        &[37, 1, 0],
        b"\0\0\0\0\0\0\0\x011\0\0\0",
    );
}

#[test]
fn null_test_parameter_sends_the_bitmap_only() {
    check_parameter(32_766, Value::Integer(7), &[14, 0, 0], &[0; 4]);
    check_parameter(32_766, Value::Null, &[14, 0, 0], &[1, 0, 0, 0]);
}

#[test]
fn nulls_are_bits_and_take_no_room() {
    let described = vec![column(496, 4, 0, 0); 9];
    let mut values = vec![Value::Null; 9];
    values[1] = Value::Boolean(false);
    let parameters = Parameters::new(&described, &values, CharacterSet::UTF8).unwrap();
    assert_eq!(parameters.message().row, [0xfd, 1, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn statement_without_parameters_has_no_message() {
    let parameters = Parameters::new(&[], &[], CharacterSet::UTF8).unwrap();
    assert!(parameters.message().blr.is_empty() && parameters.message().row.is_empty());
}

#[test]
fn value_that_cannot_be_sent_is_named() {
    let described = vec![column(448, 16, 4, 0); 2];
    let refused = |value: Value<'_>, set| {
        Parameters::new(&described, &[Value::Null, value], set).unwrap_err()
    };
    let long = "x".repeat(65_534);
    assert_eq!(
        refused(Value::Text((&*long).into()), CharacterSet::UTF8),
        EncodeError::TooLong {
            number: 2,
            length: 65_534
        }
    );
    assert_eq!(
        refused(Value::Bytes(long.as_bytes()), CharacterSet::UTF8),
        EncodeError::TooLong {
            number: 2,
            length: 65_534
        }
    );
    let cyrillic = CharacterSet::by_name("WIN1251").unwrap();
    assert_eq!(
        refused(Value::Text("日".into()), cyrillic),
        EncodeError::Character {
            number: 2,
            set: "WIN1251"
        }
    );
    let huge = DecFloat::Finite {
        sign: Sign::Plus,
        coefficient: 1,
        exponent: 7000,
    };
    assert_eq!(
        refused(Value::DecFloat(huge), CharacterSet::UTF8),
        EncodeError::DecFloat { number: 2 }
    );
    assert_eq!(
        Parameters::new(&described, &[], CharacterSet::UTF8),
        Err(EncodeError::Count {
            given: 0,
            expected: 2
        })
    );
}
