//! The table of built-in types against the server's own.

use tsumugi_pg_proto::types::{Kind, Type};

/// One row: oid, name, array type, type of bounds or ranges.
fn rows() -> impl Iterator<Item = (u32, &'static str, u32, u32)> {
    include_str!("pg_type.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let parts: Vec<&str> = line.split('\t').collect();
            let number = |index: usize| parts[index].parse().unwrap();
            (number(0), parts[1], number(2), number(3))
        })
}

#[test]
fn every_type_of_the_server_is_there_under_its_name() {
    for (oid, name, _, _) in rows() {
        let ty = Type::from_oid(oid).unwrap_or_else(|| panic!("{name} ({oid}) is missing"));
        assert_eq!((ty.oid(), ty.name()), (oid, name));
    }
}

#[test]
fn arrays_ranges_and_multiranges_name_their_parts() {
    for (oid, name, array, part) in rows() {
        let ty = Type::from_oid(oid).unwrap();
        if array != 0 {
            let Kind::Array(element) = Type::from_oid(array).unwrap().kind() else {
                panic!("{array} is no array of {name}");
            };
            assert_eq!(element.oid(), oid);
            assert_eq!(Type::array_of(oid).map(Type::oid), Some(array));
        }
        match ty.kind() {
            Kind::Range(below) | Kind::Multirange(below) => assert_eq!(below.oid(), part, "{name}"),
            _ => assert_eq!(part, 0, "{name}"),
        }
    }
}

#[test]
fn unknown_number_is_no_type() {
    assert_eq!(Type::from_oid(0), None);
    assert_eq!(Type::from_oid(16_384), None);
}
