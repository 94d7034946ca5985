//! Rows of every layout, measured and taken apart; what a real server sent is replayed in `tests/`.

use super::*;
use crate::describe::{Column, Kind};
use crate::error::{Misuse, Violation};
use crate::limits::COLUMNS_MAX;
use crate::wire::{Reader, Stop};

fn column(number: i64, length: i64, scale: i8) -> Column {
    let mut column = Column::of(number).unwrap().measured(length).unwrap();
    column.scale = scale;
    column
}

/// The fields of `bytes`, which must be exactly one row.
fn fields(columns: Vec<Column>, bytes: &[u8]) -> Vec<Option<Vec<u8>>> {
    let format = Format::new(columns).unwrap();
    let row = Row::of(&format, bytes).expect("one row");
    row.fields()
        .map(|field| field.bytes.map(<[u8]>::to_vec))
        .collect()
}

/// One value of the type `number` and of `length` bytes: what lies on the wire and what the server is told.
fn check(number: i64, length: i64, scale: i8, wire: &[u8], value: &[u8], blr: &[u8]) {
    let columns = vec![column(number, length, scale)];
    let format = Format::new(columns.clone()).unwrap();
    let inner = &format.blr()[6..format.blr().len() - 4];
    assert_eq!(inner, blr, "{number}");
    assert_eq!(
        fields(columns, &[&[0; 4], wire].concat()),
        [Some(value.to_vec())],
        "{number}"
    );
    for cut in 0..wire.len() + 4 {
        let bytes = [&[0; 4], wire].concat();
        let found = format.skip(&mut Reader::new(&bytes[..cut]));
        assert!(
            matches!(found, Err(Stop::Missing(_))),
            "{number} cut at {cut}"
        );
    }
}

#[test]
fn every_type_has_its_place_and_its_description() {
    check(452, 5, 0, b"abcde\0\0\0", b"abcde", &[14, 5, 0]);
    check(449, 300, 0, b"\0\0\0\x02ab\0\0", b"ab", &[37, 44, 1]);
    check(448, 5, 0, b"\0\0\0\0", b"", &[37, 5, 0]);
    check(500, 2, -2, &[0, 0, 0, 125], &[0, 0, 0, 125], &[7, 0xfe]);
    check(497, 4, 0, &[1; 4], &[1; 4], &[8, 0]);
    check(580, 8, -4, &[1; 8], &[1; 8], &[16, 0xfc]);
    check(32_752, 16, -9, &[1; 16], &[1; 16], &[26, 0xf7]);
    check(482, 4, 0, &[1; 4], &[1; 4], &[10]);
    check(480, 8, 0, &[1; 8], &[1; 8], &[27]);
    check(530, 8, 0, &[1; 8], &[1; 8], &[27]);
    check(32_760, 8, 0, &[1; 8], &[1; 8], &[24]);
    check(32_762, 16, 0, &[1; 16], &[1; 16], &[25]);
    check(570, 4, 0, &[1; 4], &[1; 4], &[12]);
    check(560, 4, 0, &[1; 4], &[1; 4], &[13]);
    check(510, 8, 0, &[1; 8], &[1; 8], &[35]);
    check(32_756, 8, 0, &[1; 8], &[1; 8], &[28]);
    check(32_754, 12, 0, &[1; 12], &[1; 12], &[29]);
    check(32_764, 1, 0, &[1, 0, 0, 0], &[1], &[23]);
    check(520, 8, 4, &[1; 8], &[1; 8], &[9, 0]);
    check(540, 8, 0, &[1; 8], &[1; 8], &[9, 0]);
    check(32_766, 0, 0, &[], &[], &[14, 0, 0]);
}

#[test]
fn char_of_wide_characters_travels_without_the_room_it_does_not_need() {
    for (set, blr) in [
        (4, [37, 20, 0]),
        (3, [37, 20, 0]),
        (0, [14, 20, 0]),
        (52, [14, 20, 0]),
    ] {
        let mut column = column(452, 20, 0);
        column.sub_type = set;
        let format = Format::new(vec![column]).unwrap();
        assert_eq!(format.blr()[6..9], blr);
    }
}

#[test]
fn bitmap_grows_by_four_bytes_for_32_columns() {
    for (count, bitmap) in [
        (1, 4),
        (8, 4),
        (9, 4),
        (17, 4),
        (32, 4),
        (33, 8),
        (64, 8),
        (65, 12),
    ] {
        let columns = vec![column(497, 4, 0); count];
        // The last one is not NULL.
        let mut row = vec![0xff; bitmap];
        row[(count - 1) / 8] &= !(1 << ((count - 1) % 8));
        row.extend([0, 0, 0, 7]);
        let fields = fields(columns, &row);
        assert_eq!(fields.len(), count);
        assert!(fields[..count - 1].iter().all(Option::is_none));
        assert_eq!(fields[count - 1], Some(vec![0, 0, 0, 7]));
    }
}

#[test]
fn row_kept_as_bytes_must_be_exactly_one() {
    let format = Format::new(vec![column(497, 4, 0)]).unwrap();
    assert!(Row::of(&format, &[0; 8]).is_some());
    assert!(Row::of(&format, &[0; 7]).is_none());
    assert!(Row::of(&format, &[0; 9]).is_none());
    assert!(Row::of(&format, &[1, 0, 0, 0]).is_some());
}

#[test]
fn message_counts_a_flag_with_each_value() {
    let format = Format::new(vec![column(496, 4, 0); 3]).unwrap();
    assert_eq!(
        format.blr()[..],
        [
            5, 2, 4, 0, 6, 0, 8, 0, 7, 0, 8, 0, 7, 0, 8, 0, 7, 0, 255, 76
        ]
    );
}

#[test]
fn form_that_is_too_big_is_refused() {
    let too_many = vec![column(496, 4, 0); COLUMNS_MAX + 1];
    assert!(matches!(
        Format::new(too_many),
        Err(Misuse::RowTooBig { .. })
    ));
    let too_long = vec![column(448, 65_535, 0); 300];
    assert!(matches!(
        Format::new(too_long),
        Err(Misuse::RowTooBig { .. })
    ));
}

#[test]
fn length_beyond_the_column_is_refused() {
    let format = Format::new(vec![column(448, 3, 0)]).unwrap();
    let found = format.skip(&mut Reader::new(&[0, 0, 0, 0, 0, 0, 0, 4]));
    assert!(matches!(
        found,
        Err(Stop::Wrong(Violation::Length { length: 4, .. }))
    ));
}

#[test]
fn type_that_is_not_known_is_refused() {
    assert!(Column::of(600).is_err());
    assert!(Column::of(-1).is_err());
    assert_eq!(Column::of(581).unwrap().kind, Kind::Int64);
}
