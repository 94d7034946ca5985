//! Packets of the handshake as an older server could send them; what a real one sent is replayed in `tests/`.

use super::*;
use crate::Error;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|byte| u8::try_from(char::from(byte).to_digit(16).unwrap()).unwrap())
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

/// Reads `packet` byte by byte and returns what it was.
fn read(packet: &str) -> Result<Option<Answer>> {
    let mut input = BytesMut::new();
    let packet = hex(packet);
    for (at, byte) in packet.iter().enumerate() {
        input.extend_from_slice(&[*byte]);
        match answer(&mut input, None) {
            Ok(None) => {}
            other => {
                assert_eq!(at + 1, packet.len(), "nothing is taken before all is there");
                assert!(other.is_err() || input.is_empty());
                return other;
            }
        }
    }
    Ok(None)
}

fn accept(packet: &str) -> Accept {
    match read(packet) {
        Ok(Some(Answer::Accept(accept))) => accept,
        other => panic!("{other:?}"),
    }
}

#[test]
fn acceptance_without_data_ends_the_handshake() {
    let accept = accept("00000003 ffff800f 00000001 00000105");
    assert_eq!(accept.version, Version::V15);
    assert_eq!(accept.compression, Compression::Zlib);
    assert_eq!(accept.demand, Demand::Attachment);
}

#[test]
fn acceptance_with_data_says_when_the_proof_is_due() {
    let rest = "ffff800d 00000001 00000005 00000003 61626300 00000003 53727000";
    for (op, authenticated, expected) in [
        ("0000005e", "00000000", Demand::Proof),
        ("00000062", "00000000", Demand::Rounds),
        ("00000062", "00000001", Demand::Attachment),
    ] {
        let accept = accept(&format!("{op} {rest} {authenticated} 00000001 7a000000"));
        assert_eq!(accept.demand, expected);
        assert_eq!(accept.turn.data, "abc");
        assert_eq!(accept.turn.plugin, "Srp");
        assert_eq!(accept.turn.keys, "z");
    }
}

#[test]
fn dummy_packet_in_a_handshake_is_skipped() {
    let mut input = BytesMut::from(&hex("00000047 00000061 00000001 78000000 00000000")[..]);
    let found = answer(&mut input, None).unwrap();
    assert_eq!(found, Some(Answer::KeyCallback(Bytes::from_static(b"x"))));
}

#[test]
fn many_dummy_packets_in_a_handshake_are_skipped() {
    let mut input = BytesMut::from(&hex("00000047").repeat(300_000)[..]);
    assert_eq!(answer(&mut input, None), Ok(None));
    assert!(input.is_empty());
}

#[test]
fn first_servers_leave_out_the_room_for_a_key() {
    let mut input = BytesMut::from(&hex("00000061 00000001 78000000")[..]);
    assert_eq!(answer(&mut input, None), Ok(None));
    let found = answer(&mut input, Some(Version::V13)).unwrap();
    assert!(matches!(found, Some(Answer::KeyCallback(_))));
}

#[test]
fn rejection_names_the_versions() {
    assert_eq!(read("00000004"), Err(Error::Refused(Refusal::Version)));
}

#[test]
fn packet_outside_of_the_handshake_is_refused() {
    assert!(matches!(
        read("00000042"),
        Err(Error::Protocol(Violation::Unexpected { op: 66, .. }))
    ));
    assert!(matches!(
        read("00000003 0000000a 00000001 00000005"),
        Err(Error::Protocol(Violation::Value { value: 10, .. }))
    ));
    assert!(matches!(
        read("00000003 0000800d 00000001 00000002"),
        Err(Error::Protocol(Violation::Value { value: 2, .. }))
    ));
    assert!(matches!(
        read("0000005c 7fffffff"),
        Err(Error::Protocol(Violation::Length { .. }))
    ));
}
