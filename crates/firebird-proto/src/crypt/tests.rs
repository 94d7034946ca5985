//! Published vectors, the server's words about its ciphers, and streams cut anywhere. Talks to no server.
//! Rule: what is checked whole is also checked in pieces.

use bytes::BytesMut;

use super::*;

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

const KEY: [u8; 20] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19,
];

/// What the cipher makes of 80 zeros begins so, wherever they are cut in two.
fn check(cipher: Cipher, start: &[u8], expected: &str) {
    for cut in 0..=80 {
        let mut stream = cipher.keystream(&KEY, start).unwrap();
        let mut bytes = [0; 80];
        let (first, second) = bytes.split_at_mut(cut);
        stream.apply(first).unwrap();
        stream.apply(second).unwrap();
        assert_eq!(hexadecimal(&bytes[..expected.len() / 2]), expected);
        let mut back = cipher.keystream(&KEY, start).unwrap();
        back.apply(&mut bytes).unwrap();
        assert_eq!(bytes, [0; 80]);
    }
}

#[test]
fn arc4_matches_the_rc4_vector() {
    check(
        Cipher::Arc4,
        &[],
        "5e9740e23708b69e4ad4509c357605ddfced9d3b5675c6406a64717b98df2a490afd25d834283636abcbcd1ff6729377f988c21e62a2963ab68eb1f43d0d7bd2",
    );
}

#[test]
fn chacha_begins_at_the_servers_counter() {
    check(
        Cipher::ChaCha,
        b"0123456789ab\x00\x00\x01\x02",
        "86a036cfa6575bf9e70707fd7b91d7fc56a3483a42e84a51f66c25e18c405f9e5583d77f73b460ac9b83a1e914dde2d007f0b3856850686db30a9a7058531d354b46984e950550cef6ee782d945a125b",
    );
}

#[test]
fn chacha64_matches_the_vector_with_counter_zero() {
    check(
        Cipher::ChaCha64,
        b"01234567",
        "23826d14e1dd4df63583a5587fc2bfd9be6c7b77e51e0727190fdd71ad0ba69acfffa535116ed32be59f731c525c7d67cd3258bfe52f8844a016ee52824bd4e4d2bad72d47fe65c25b3184e8b8713f91",
    );
}

#[test]
fn keystream_with_a_nonce_of_wrong_length_is_refused() {
    for (cipher, length) in [
        (Cipher::ChaCha, 12),
        (Cipher::ChaCha, 17),
        (Cipher::ChaCha, 0),
        (Cipher::ChaCha64, 12),
        (Cipher::ChaCha64, 0),
    ] {
        assert!(cipher.keystream(&KEY, &vec![0; length]).is_err());
    }
}

/// The clumplets, and what is chosen.
fn choose(keys: &[(u8, &[u8])], expected: Option<(Cipher, &[u8])>) {
    let mut bytes = Vec::new();
    for (tag, value) in keys {
        bytes.extend([*tag, u8::try_from(value.len()).unwrap()]);
        bytes.extend(*value);
    }
    assert_eq!(ServerKeys::new(&bytes).choose(), expected);
    for end in 0..bytes.len() {
        let _ = ServerKeys::new(&bytes[..end]).choose();
    }
}

#[test]
fn best_cipher_that_both_have_is_chosen() {
    let symmetric = (0, b"Symmetric".as_slice());
    choose(&[symmetric, (1, b"Arc4")], Some((Cipher::Arc4, b"")));
    let all = (1, b"ChaCha64 ChaCha Arc4".as_slice());
    let chacha = (3, b"ChaCha\x000123456789abcdef".as_slice());
    let chacha64 = (3, b"ChaCha64\x0001234567".as_slice());
    choose(
        &[symmetric, all, chacha, chacha64],
        Some((Cipher::ChaCha64, b"01234567")),
    );
    choose(
        &[symmetric, all, chacha],
        Some((Cipher::ChaCha, b"0123456789abcdef")),
    );
    choose(&[symmetric, all], Some((Cipher::Arc4, b"")));
    choose(&[(0, b"Asymmetric"), (1, b"Arc4")], None);
    choose(&[symmetric, (1, b"Arc5")], None);
    choose(&[], None);
}

#[test]
fn compressed_stream_inflates_whole_wherever_it_is_cut() {
    let pieces: Vec<Vec<u8>> = (1..6_u32)
        .map(|number| (0..number * 9000).map(|at| (at * at / 77) as u8).collect())
        .collect();
    let mut deflate = Deflate::default();
    let mut sent = BytesMut::new();
    let mut ends = Vec::new();
    for piece in &pieces {
        deflate.compress(piece, &mut sent).unwrap();
        ends.push(sent.len());
    }
    let whole = pieces.concat();
    for step in [1, 7, 1000, sent.len()] {
        let (mut inflate, mut came) = (Inflate::default(), BytesMut::new());
        for part in sent.chunks(step) {
            let mut rest = part;
            while !rest.is_empty() {
                let used = inflate.decompress(rest, 4096, &mut came).unwrap();
                rest = &rest[used..];
            }
        }
        let mut last = 0;
        while came.len() > last {
            last = came.len();
            inflate.decompress(&[], 4096, &mut came).unwrap();
        }
        assert_eq!(came, whole, "{step}");
    }
    // Each piece can be read as soon as it was sent.
    let (mut inflate, mut came) = (Inflate::default(), BytesMut::new());
    inflate
        .decompress(&sent[..ends[0]], 1 << 20, &mut came)
        .unwrap();
    assert_eq!(came, pieces[0]);
}

#[test]
fn few_bytes_become_no_more_than_the_limit_at_once() {
    let mut sent = BytesMut::new();
    Deflate::default()
        .compress(&vec![0; 10 << 20], &mut sent)
        .unwrap();
    assert!(sent.len() < 1_000_000);
    let mut came = BytesMut::new();
    let mut inflate = Inflate::default();
    inflate.decompress(&sent, 50_000, &mut came).unwrap();
    assert_eq!(came.len(), 50_000);
    assert!(inflate.decompress(&[0xff; 9], 0, &mut came).is_ok());
    assert!(
        Inflate::default()
            .decompress(b"not zlib", 9, &mut came)
            .is_err()
    );
}
