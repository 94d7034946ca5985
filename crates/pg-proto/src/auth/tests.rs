//! Known answers and hostile servers. The SCRAM vector is the example of RFC 7677.
//! Rule: whatever a server says, the exchange ends with its proof or with a refusal.

use super::*;
use crate::error::Refusal;
use crate::limits::SCRAM_ITERATIONS_MAX;

const NONCE: &str = "rOprNGfwEbeRWgbNEkqO";
const FIRST: &str =
    "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
const LAST: &str = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";

fn example() -> Scram {
    Scram::with("pencil", "user", NONCE.to_owned(), Binding::Unsupported)
}

#[track_caller]
fn check_refused(first: &str, expected: Refusal) {
    assert_eq!(
        example().answer(first.as_bytes(), SCRAM_ITERATIONS_MAX),
        Err(expected)
    );
}

#[track_caller]
fn check_last(last: &str, expected: Result<(), Refusal>) {
    let mut scram = example();
    scram
        .answer(FIRST.as_bytes(), SCRAM_ITERATIONS_MAX)
        .unwrap();
    assert_eq!(scram.finish(last.as_bytes()), expected);
    assert_eq!(scram.proven(), expected.is_ok());
}

#[test]
fn example_exchange_of_the_standard_is_reproduced() {
    let mut scram = example();
    assert_eq!(scram.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
    assert_eq!(
        scram
            .answer(FIRST.as_bytes(), SCRAM_ITERATIONS_MAX)
            .unwrap(),
        "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    );
    scram.finish(LAST.as_bytes()).unwrap();
    assert!(scram.proven());
}

#[test]
fn nonce_that_does_not_extend_ours_is_refused() {
    for nonce in [
        "",
        "rOprNGfwEbeRWgbNEkqO",
        "sOprNGfwEbeRWgbNEkqO123",
        "rOprNGfwEbeRWgbNEkqO\u{e9}",
    ] {
        check_refused(
            &format!("r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"),
            Refusal::Scram("nonce"),
        );
    }
    let long = format!(
        "r={NONCE}{},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        "x".repeat(2_000)
    );
    check_refused(&long, Refusal::Scram("nonce"));
}

#[test]
fn salt_that_is_not_base64_is_refused() {
    for salt in ["", "!", "W22ZaJ0SNY7soEsUEjb6gQ", &"AAAA".repeat(400)] {
        check_refused(
            &format!("r={NONCE}1,s={salt},i=4096"),
            Refusal::Scram("salt"),
        );
    }
}

#[test]
fn scram_iterations_of_zero_or_beyond_the_limit_are_refused() {
    let max = SCRAM_ITERATIONS_MAX;
    for asked in [0, max + 1, 0x7fff_ffff] {
        let refusal = Refusal::ScramIterations { asked, max };
        assert!(refusal.to_string().contains("scram_iterations_max"));
        check_refused(&format!("r={NONCE}1,s=AAAA,i={asked}"), refusal);
    }
    for count in ["", "-1", "+1", "4294967296", "4x"] {
        check_refused(
            &format!("r={NONCE}1,s=AAAA,i={count}"),
            Refusal::Scram("number of rounds"),
        );
    }
}

#[test]
fn first_message_of_another_form_is_refused() {
    for first in ["", "m=ext,r=x", "s=AAAA,r=x", "e=other-error", "\0"] {
        check_refused(first, Refusal::Scram("nonce"));
    }
    let mut scram = example();
    assert_eq!(
        scram.answer(b"\xff", 1),
        Err(Refusal::Scram("first message"))
    );
    assert_eq!(scram.finish(LAST.as_bytes()), Err(Refusal::Scram("order")));
}

#[test]
fn server_that_proves_nothing_is_refused() {
    check_last(LAST, Ok(()));
    check_last(&format!("{LAST},x=y"), Ok(()));
    check_last("e=invalid-proof", Err(Refusal::ScramRefused));
    check_last("v=", Err(Refusal::ServerUnproven));
    check_last(
        "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G8=",
        Err(Refusal::ServerUnproven),
    );
    for last in ["", "v=!", "x=y", "6rri"] {
        check_last(last, Err(Refusal::Scram("last message")));
    }
}

#[test]
fn channel_binding_is_announced_and_signed() {
    let nonce = &[0; NONCE_BYTES];
    let begun = |binding| Scram::new("pw", nonce, binding);
    let answer = |binding| {
        let mut scram = begun(binding);
        let first = format!("r={}1,s=AAAA,i=1", "A".repeat(24));
        scram.answer(first.as_bytes(), 1).unwrap()
    };
    assert!(
        begun(Binding::Unsupported)
            .first()
            .starts_with("n,,n=,r=AAAA")
    );
    assert!(
        begun(Binding::NotOffered)
            .first()
            .starts_with("y,,n=,r=AAAA")
    );
    assert_eq!(begun(Binding::NotOffered).mechanism(), "SCRAM-SHA-256");
    let bound = || Binding::EndPoint(b"hash".to_vec());
    assert!(
        begun(bound())
            .first()
            .starts_with("p=tls-server-end-point,,n=,r=AAAA")
    );
    assert_eq!(begun(bound()).mechanism(), "SCRAM-SHA-256-PLUS");
    assert!(answer(Binding::NotOffered).starts_with("c=eSws,"));
    // The header and then the hash.
    assert!(answer(bound()).starts_with("c=cD10bHMtc2VydmVyLWVuZC1wb2ludCwsaGFzaA==,"));
}

#[test]
fn password_is_normalised_by_saslprep() {
    let answer = |password| {
        let mut scram = Scram::with(password, "", NONCE.to_owned(), Binding::Unsupported);
        scram
            .answer(FIRST.as_bytes(), SCRAM_ITERATIONS_MAX)
            .unwrap()
    };
    // RFC 4013: a soft hyphen is mapped to nothing, a Roman nine is IX. What is prohibited is used as it is.
    assert_eq!(answer("I\u{ad}X"), answer("IX"));
    assert_eq!(answer("\u{2168}"), answer("IX"));
    assert_ne!(answer("\u{7}"), answer(""));
}

#[test]
fn md5_answer_matches_the_reference() {
    // By hand: md5(md5("pw" || "me") || 01 02 03 04).
    assert_eq!(
        md5_password("me", "pw", [1, 2, 3, 4]),
        "md596a0ef0da7c9c4c77c22c155d8ef42d4"
    );
}

#[test]
fn secrets_are_not_shown() {
    assert!(
        !format!(
            "{:?}",
            Scram::new("pencil", &[0; NONCE_BYTES], Binding::Unsupported)
        )
        .contains("pencil")
    );
}
