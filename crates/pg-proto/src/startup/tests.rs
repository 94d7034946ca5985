//! Start-up against servers made of bytes, sound and hostile. Rule: each stream is fed whole and byte by byte.

use bytes::BufMut;

use super::*;
use crate::Error;
use crate::backend::TransactionStatus;

const NONCE: [u8; NONCE_BYTES] = [0; NONCE_BYTES];

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend(u32::try_from(body.len() + 4).unwrap().to_be_bytes());
    bytes.extend(body);
    bytes
}

fn authentication(method: u32, body: &[u8]) -> Vec<u8> {
    message(b'R', &[&method.to_be_bytes(), body].concat())
}

/// What a server says once it has let us in.
fn greeting() -> Vec<u8> {
    [
        authentication(0, b""),
        message(b'S', b"server_version\x0015.1\0"),
        message(b'N', b"SWARNING\0VWARNING\0C01000\0Mhm\0\0"),
        message(b'K', b"\0\0\0\x07abcd"),
        message(b'Z', b"I"),
    ]
    .concat()
}

fn settings(encryption: Encryption, channel_binding: ChannelBinding) -> StartupSettings {
    StartupSettings {
        password: Some("pencil".to_owned()),
        encryption,
        channel_binding,
        ..StartupSettings::new("me")
    }
}

fn plain() -> StartupSettings {
    settings(Encryption::Off, ChannelBinding::Prefer)
}

/// Opens a connection; the server says `stream` in pieces of `step` bytes whatever we say.
fn open(
    settings: StartupSettings,
    end_point: Option<&[u8]>,
    stream: &[u8],
    step: usize,
) -> (Result<Option<Session>>, BytesMut) {
    let mut out = BytesMut::new();
    let mut startup = Startup::new(settings, NONCE);
    if startup.settings.encryption == Encryption::Direct {
        startup
            .encrypted(end_point.map(<[u8]>::to_vec), &mut out)
            .unwrap();
    } else {
        startup.begin(&mut out).unwrap();
    }
    let mut input = BytesMut::new();
    for piece in stream.chunks(step) {
        input.put_slice(piece);
        loop {
            match startup.poll(&mut input, &mut out) {
                Ok(None) => break,
                Ok(Some(Progress::Ready(session))) => return (Ok(Some(session)), out),
                Ok(Some(Progress::Encrypt)) => {
                    startup
                        .encrypted(end_point.map(<[u8]>::to_vec), &mut out)
                        .unwrap();
                }
                Err(error) => return (Err(error), out),
            }
        }
    }
    (Ok(None), out)
}

#[track_caller]
fn check(settings: StartupSettings, end_point: Option<&[u8]>, stream: &[u8]) -> BytesMut {
    let (opened, sent) = open(settings.clone(), end_point, stream, 1);
    let session = opened.unwrap().expect("the stream opens the connection");
    assert_eq!(session.parameters.value("server_version"), Some("15.1"));
    assert_eq!(
        (session.notices.len(), session.status),
        (1, TransactionStatus::Idle)
    );
    assert_eq!(session.key.unwrap().process_id, 7);
    if settings.encryption == Encryption::Off {
        assert_eq!(open(settings, end_point, stream, usize::MAX).1, sent);
    }
    sent
}

#[track_caller]
fn check_refused(
    settings: StartupSettings,
    end_point: Option<&[u8]>,
    stream: &[u8],
    expected: &str,
) {
    let (opened, sent) = open(settings, end_point, stream, usize::MAX);
    let error = opened.unwrap_err();
    assert!(error.to_string().contains(expected), "{error}");
    assert!(!error.to_string().contains("pencil") && !format!("{error:?}").contains("pencil"));
    assert!(
        !sent.windows(6).any(|bytes| bytes == b"pencil"),
        "the password was sent"
    );
}

/// The server's side of SCRAM for the password `pencil`, with its first message given.
fn scram_stream(binding: Binding, mechanisms: &[u8]) -> Vec<u8> {
    let mut client = Scram::new("pencil", &NONCE, binding);
    let first = format!("r={}server,s=AAAA,i=4096", "A".repeat(24));
    let proof = client.answer(first.as_bytes(), 4_096).unwrap();
    let last = signature(&client, &first, &proof);
    [
        authentication(10, mechanisms),
        authentication(11, first.as_bytes()),
        authentication(12, last.as_bytes()),
        greeting(),
    ]
    .concat()
}

/// What a server that knows the password signs.
fn signature(client: &Scram, first: &str, proof: &str) -> String {
    use base64::Engine;
    use ring::{hmac, pbkdf2};
    let mut salted = [0; 32];
    let rounds = 4_096.try_into().unwrap();
    pbkdf2::derive(
        pbkdf2::PBKDF2_HMAC_SHA256,
        rounds,
        &[0; 3],
        b"pencil",
        &mut salted,
    );
    let key = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &salted), b"Server Key");
    let bare = client.first();
    let bare = bare.split_once(",,").unwrap().1;
    let without_proof = proof.rsplit_once(",p=").unwrap().0;
    let signed = format!("{bare},{first},{without_proof}");
    let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_ref());
    let tag = hmac::sign(&key, signed.as_bytes());
    format!(
        "v={}",
        base64::engine::general_purpose::STANDARD.encode(tag)
    )
}

const PLAIN: &[u8] = b"SCRAM-SHA-256\0\0";
const BOTH: &[u8] = b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";

#[test]
fn trust_authentication_completes_the_start_up() {
    let sent = check(plain(), None, &greeting());
    assert_eq!(
        &sent[..],
        b"\0\0\0\x26\0\x03\0\0user\0me\0client_encoding\0UTF8\0\0"
    );
}

#[test]
fn passwords_are_sent_in_the_requested_form() {
    let sent = check(
        plain(),
        None,
        &[authentication(3, b""), greeting()].concat(),
    );
    assert!(sent.ends_with(b"p\0\0\0\x0bpencil\0"));
    let sent = check(
        plain(),
        None,
        &[authentication(5, b"salt"), greeting()].concat(),
    );
    assert!(
        sent.ends_with(
            format!("p\0\0\0\x28{}\0", md5_password("me", "pencil", *b"salt")).as_bytes()
        )
    );
}

#[test]
fn scram_completes_with_and_without_channel_binding() {
    let hash = &b"hash"[..];
    let bound = || scram_stream(Binding::EndPoint(hash.to_vec()), BOTH);
    check(plain(), None, &scram_stream(Binding::Unsupported, BOTH));
    for mode in [ChannelBinding::Prefer, ChannelBinding::Require] {
        let sent = check(settings(Encryption::Direct, mode), Some(hash), &bound());
        assert!(
            sent.windows(20)
                .any(|bytes| bytes == b"p=tls-server-end-poi")
        );
    }
    let direct = |mode| settings(Encryption::Direct, mode);
    let unoffered = scram_stream(Binding::NotOffered, PLAIN);
    check(direct(ChannelBinding::Prefer), Some(hash), &unoffered);
    let unwanted = scram_stream(Binding::Unsupported, BOTH);
    check(direct(ChannelBinding::Disable), Some(hash), &unwanted);
    check(direct(ChannelBinding::Prefer), None, &unwanted);
}

#[test]
fn required_channel_binding_cannot_be_downgraded() {
    let direct = || settings(Encryption::Direct, ChannelBinding::Require);
    let expected = "require channel binding";
    let hash = Some(&b"hash"[..]);
    for stream in [
        greeting(),
        authentication(3, b""),
        authentication(5, b"salt"),
        authentication(10, PLAIN),
    ] {
        check_refused(direct(), hash, &stream, expected);
    }
    check_refused(direct(), None, &authentication(10, BOTH), expected);
    let clear = settings(Encryption::Off, ChannelBinding::Require);
    check_refused(clear, None, &authentication(10, BOTH), expected);
}

#[test]
fn server_that_skips_its_proof_is_refused() {
    let first = format!("r={}server,s=AAAA,i=4096", "A".repeat(24));
    let begun = [
        authentication(10, PLAIN),
        authentication(11, first.as_bytes()),
    ]
    .concat();
    let proof = "did not prove";
    check_refused(
        plain(),
        None,
        &[authentication(10, PLAIN), greeting()].concat(),
        proof,
    );
    check_refused(plain(), None, &[begun.clone(), greeting()].concat(), proof);
    let wrong = authentication(12, b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    check_refused(plain(), None, &[begun, wrong].concat(), proof);
}

#[test]
fn encryption_request_is_sent_first() {
    let prefer = || settings(Encryption::Prefer, ChannelBinding::Prefer);
    let require = || settings(Encryption::Require, ChannelBinding::Prefer);
    let sent = check(prefer(), None, &[b"N".to_vec(), greeting()].concat());
    assert!(sent.starts_with(b"\0\0\0\x08\x04\xd2\x16\x2f\0\0\0\x26\0\x03"));
    for settings in [prefer(), require()] {
        check(settings, None, &[b"S".to_vec(), greeting()].concat());
    }
    check_refused(require(), None, b"N", "does not offer TLS");
    check_refused(prefer(), None, b"E\0\0\0\x10SFATAL", "with an error");
    check_refused(prefer(), None, b"X", "unknown message X");
}

#[test]
fn bytes_after_the_answer_to_encryption_are_refused() {
    for answer in [b"S", b"N"] {
        let stream = [answer.to_vec(), greeting()].concat();
        let prefer = settings(Encryption::Prefer, ChannelBinding::Prefer);
        check_refused(prefer, None, &stream, "bytes came with the answer");
    }
}

#[test]
fn authentication_without_password_or_of_unknown_kind_is_refused() {
    let nobody = || StartupSettings {
        encryption: Encryption::Off,
        ..StartupSettings::new("me")
    };
    for stream in [
        authentication(3, b""),
        authentication(5, b"salt"),
        authentication(10, PLAIN),
    ] {
        check_refused(nobody(), None, &stream, "none was given");
    }
    check_refused(plain(), None, &authentication(7, b""), "GSSAPI");
    check_refused(plain(), None, &authentication(99, b""), "unknown way");
    check_refused(
        plain(),
        None,
        &authentication(10, b"OTHER\0\0"),
        "SASL mechanisms",
    );
    check_refused(
        plain(),
        None,
        &authentication(10, b"SCRAM-SHA-256-PLUS\0\0"),
        "SASL mechanisms",
    );
    check_refused(plain(), None, &message(b'v', b"\0\x03\0\0\0\0\0\0"), "3.0");
}

#[test]
fn server_error_during_start_up_is_returned() {
    let refused = message(
        b'E',
        b"SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed\0\0",
    );
    let (opened, _) = open(plain(), None, &refused, 1);
    assert!(
        matches!(opened, Err(Error::Server(error)) if error.code == crate::SqlState::INVALID_PASSWORD)
    );
}

#[test]
fn message_out_of_turn_is_a_violation() {
    let ok = authentication(0, b"");
    for stream in [
        message(b'Z', b"I"),
        message(b'S', b"a\0b\0"),
        message(b'K', b"\0\0\0\x07abcd"),
        message(b'D', b"\0\0"),
        authentication(11, b"r="),
        authentication(12, b"v="),
        [ok.clone(), ok.clone()].concat(),
        [ok.clone(), authentication(3, b"")].concat(),
        [ok, message(b'D', b"\0\0")].concat(),
    ] {
        check_refused(plain(), None, &stream, "came unasked");
    }
    let (opened, _) = open(plain(), None, &authentication(3, b"").repeat(2), 1);
    assert!(matches!(
        opened,
        Err(Error::Protocol(Violation::Unsolicited(b'R')))
    ));
}

#[test]
fn messages_before_authentication_are_bounded_in_memory() {
    let long = message(b'E', &vec![b'x'; PREAUTH_BYTES_MAX]);
    check_refused(plain(), None, &long[..5], "impossible length");
    let many: Vec<u8> = (0..=crate::limits::SETTINGS_MAX)
        .flat_map(|number| message(b'S', format!("{number}\0\0").as_bytes()))
        .collect();
    check_refused(
        plain(),
        None,
        &[authentication(0, b""), many].concat(),
        "more than 256 settings",
    );
}

#[test]
fn call_out_of_turn_is_misuse() {
    let (mut input, mut out) = (BytesMut::new(), BytesMut::new());
    let mut startup = Startup::new(plain(), NONCE);
    assert!(startup.poll(&mut input, &mut out).is_err());
    assert!(startup.encrypted(None, &mut out).is_err());
    startup.begin(&mut out).unwrap();
    assert!(startup.begin(&mut out).is_err());
    assert!(!startup.is_encrypted());
    assert!(!format!("{startup:?}").contains("pencil"));
}
