//! Proofs against an independent computation of the same formulas, and what a hostile server may send. Talks to no server.
//! Rule: every number that can begin with zeros does so in one of these.

use super::*;
use crate::error::Error;

const SALT: &str = "63479AD69A090B258277EC8FBA6F99419A2FFB248981510657C944CCD1148E97";

fn bytes<const N: usize>(hexadecimal: &str) -> [u8; N] {
    std::array::from_fn(|at| u8::from_str_radix(&hexadecimal[2 * at..2 * at + 2], 16).unwrap())
}

fn data(salt: &str, key: &str) -> Vec<u8> {
    let mut data = Vec::new();
    for part in [salt, key] {
        data.extend(u16::try_from(part.len()).unwrap().to_le_bytes());
        data.extend(part.bytes());
    }
    data
}

/// One login: our secret and the server's key; both proofs and the key to encrypt with.
struct Login {
    user: &'static str,
    password: &'static str,
    secret: &'static str,
    server: &'static str,
    srp: &'static str,
    srp256: &'static str,
    key: &'static str,
}

fn check(login: &Login) {
    let srp = Srp::new(bytes(login.secret));
    for (plugin, expected) in [(Plugin::Srp, login.srp), (Plugin::Srp256, login.srp256)] {
        let data = data(SALT, login.server);
        let proof = srp
            .prove(plugin, login.user, login.password, &data)
            .unwrap();
        assert_eq!(proof.text, expected);
        assert_eq!(proof.key, bytes(login.key));
    }
}

/// The server's data is refused.
fn refuse(salt: &str, key: &str) {
    let srp = Srp::new([7; 32]);
    let refused = srp.prove(Plugin::Srp, "A", "b", &data(salt, key));
    assert!(matches!(refused, Err(Error::Protocol(_))), "{key}");
}

#[test]
fn login_with_the_right_password_is_proved() {
    check(&Login {
        user: "SYSDBA",
        password: "masterkey",
        secret: "f55ff16f66f43360266b95db6f8fec01d76031054306ae4a4b380598f6cfd114",
        server: "5960BE6B2BBEDF72F4821AA2B6FA1BAE684DF556B9184980F18748D5E41436880EE37B3E2E757A6A1C99CCF3D4E14EC36317DDA50B7EB910E9EF6048CEFF712905B0C1565D6F85DC7F2DCF928530EEDC5C59FCEF82725D18C3C7F247237CB7A108DA92951B80599752C4402021468F60875BB08954D83694D939A63B9905BA65",
        srp: "8800CCBCBCBCE27846BB041193E8933D3232F226",
        srp256: "1A49B8D347C248E6D33B79637BDB43593514DE89D43B5E9596887B9E3AE2A882",
        key: "a538ab78cb0844b1eb12ae62f183cb549f391d51",
    });
}

#[test]
fn our_key_may_begin_with_zeros() {
    check(&Login {
        user: "SYSDBA",
        password: "masterkey",
        secret: "6516f4f2ed7940f670a20a1a324378e2a1a83447935677468034ee2de293b1a6",
        server: "18DB25EBB5A8B8D239705CD5686684557E02E1671941C05EE38B94E79EFF88E7551AEA356773C70955E94B46897E3C09AE135FA610EFD95237EDDA505418568F5058EB45C5121078A6C9B506A3808FD1C1E57784B37BB87D3B8463D4D722879EEB02E1284279C1A83D8ECD465BB297A2BC8AFBC02B661BD8B2AAB20B8B6E1E41",
        srp: "819760737AC083BC9E854E8072D1D49305C94989",
        srp256: "B3203A1C399EDF493AABCDAA8716E9A74A21608710AC6793E179EF16C3A49D35",
        key: "6cb88c6cd9cdaf7f99271ce3973dec631e5ea4d5",
    });
}

#[test]
fn servers_key_may_have_an_odd_number_of_digits() {
    check(&Login {
        user: "SYSDBA",
        password: "masterkey",
        secret: "1820920d9f82a36b1b122b39801dbf63e6e47602d82e13c40bf36e762737c6b6",
        server: "4E593B540DDB13CBD4D08039BBA676B3060222F684E3D4E9A7F94E7B7669CC512ABECE4DCDF9954CB3BFD913E0064F2BD35C9A8A45DFE37C18F6BF2878BAF33CCD2A28F8EEE347E375D6796E736ED19AC45895E14171C42F0A051692A47C0EA744D0159255839DDDD3D3AA0E774733C62EE476DDB2F7CFED968E1FDB926A8CC",
        srp: "DCC3A3821A5E3E08845F8F6FF6CC1090D57C2D7A",
        srp256: "EFD70FA992A69CDABF794F4358CC11EC8692A8B022FB4750314160BFB5BA3954",
        key: "ab9b74fa914c9cab9733045e4e84f75935244e70",
    });
}

#[test]
fn servers_key_may_begin_with_a_zero_byte() {
    check(&Login {
        user: "SYSDBA",
        password: "masterkey",
        secret: "d55bc512f80aceee2dd1746370b6f268170492614f16412189995e0ccf4b4d66",
        server: "859D1D7E0D2A9F5D8067F0296EBEE180E53B52139C19D681858E628FC9BDC441A3000517DCC68AA2D1E102A200AA41EEC8ADA1C0C8E14B9B136FABD4D3CDE7F16646322579842A1390FB5B850E8B904983A260F3E94477BECAF6F2962C0FA9F8881EA586BEEB23E3C97026463628AF15FFBEBE05374A795890EC0D48B8357B",
        srp: "5F332723B9F07DFA71D75E2B4CAB655CE8E784FB",
        srp256: "AF2BE72DCD2CF4A5CE0CB9D41D0FCE3EB5FCE1DBED3A05E50294DD219505D2C8",
        key: "5465350fe82b0142702bf33c058d41f2238d2450",
    });
}

#[test]
fn hash_of_a_name_may_begin_with_a_zero_byte() {
    check(&Login {
        user: "U206",
        password: "leading zero",
        secret: "f55ff16f66f43360266b95db6f8fec01d76031054306ae4a4b380598f6cfd114",
        server: "739F115DCBB544A3970B54FB9AF7CC79321F758337D3C9153F45B5C972E40FF7ED2E8FD5BB613143343D8398338A72D0A233C45D1685F637C9582FF9673B81175D330A8A64298D22D212F4B2E731A4FCB96E3123C0F16CB7B2BCC91F217894EE3DCFEB0F81522E8A35A4A72BF167D7925DC79D23414B358D94CBCA23D1547770",
        srp: "8FFA2DF6D573F50AA1313C6FFAE0107CF49ED070",
        srp256: "AD1F9B2F4CFD28975EB63B630AF2D912D84D29DC186E51FAE485EF716FC093C5",
        key: "d2a7515a03373a998503081ff324abc6addd4e77",
    });
}

#[test]
fn password_beyond_ascii_is_proved() {
    check(&Login {
        user: "JAPANESE",
        password: "秘密の言葉",
        secret: "f55ff16f66f43360266b95db6f8fec01d76031054306ae4a4b380598f6cfd114",
        server: "989CD0488E82CE15170E0D88F99B0147DEF8183DF755CDB604ADB2B6FD9C693ECA9939C7C4D2879B914DAACF2D35241A13AFB0E994FF306CB92D610D3E216EFC0D251C717C1B97117EF417504C08E303728DB6DA59A63DB2E7685FB954783B296727DB0794C6DD61E0D2416798AD827A72CDB91A8DA44A6E99010F8D0E5A8CFE",
        srp: "2D6EF94AB68904331280DC6C949F733798092918",
        srp256: "A61F4663B78875BA9FB41B479723E8C0092515253FDC3B1E6520BA4DDBA553F6",
        key: "8ed8d78bc83e719d0e7842e7e4d198c148dc94f3",
    });
}

#[test]
fn shared_secret_may_begin_with_a_zero_byte() {
    check(&Login {
        user: "SYSDBA",
        password: "masterkey",
        secret: "27209186af53fc08b2dc8be4e83e087b3ca52cc81bed5e5710f00259e5cd5ed9",
        server: "57F2156A14992F4B11EBC098322075C1A1BE8DCBDEB82750A9B7557DCCAC4BD1023A319CA1E70EF337648F6EEDAADF4C9C3ED06A88E433C162C925996D77483E011B4A064B4F459D902739D651DFBF859B52E2EEB650D5CD743081628A63BA7DA06590E0F26D75447AAB9631E7332DDCADCCB21FFC04FC68411B5EC7B6CE78CD",
        srp: "9F49BE0D2893DF2C88C5FF3B8CB2D1B665ACB610",
        srp256: "62658CFC272D59EECF8A50F1A01598AD301D82FFF86EAC1DFFE18B1ADC108E1F",
        key: "3a3eeb3b3532ccedf43866bcf14f5a320461b190",
    });
}

#[test]
fn our_key_is_sent_without_leading_zeros() {
    let short = Srp::new(bytes(
        "6516f4f2ed7940f670a20a1a324378e2a1a83447935677468034ee2de293b1a6",
    ));
    assert_eq!(short.public_text().len(), 254);
    assert_eq!(Srp::new([0; 32]).public_text(), "1");
}

#[test]
fn server_key_that_reveals_the_secret_is_refused() {
    let prime = "E67D2E994B2F900C3F41F08F5BB2627ED0D49EE1FE767A52EFCD565CD6E768812C3E1E9CE8F0A8BEA6CB13CD29DDEBF7A96D4A93B55D488DF099A15C89DCB0640738EB2CBDD9A8F7BAB561AB1B0DC1C6CDABF303264A08D1BCA932D1F1EE428B619D970F342ABA9A65793B8B2F041AE5364350C16F735F56ECBCA87BD57B29E7";
    for key in ["", "0", "1", "0001", prime, &prime.replace("29E7", "29E8")] {
        refuse(SALT, key);
    }
}

#[test]
fn data_that_is_none_is_refused() {
    refuse(SALT, "12XY");
    refuse(SALT, &"1".repeat(257));
    refuse(&"1".repeat(65), "12");
    let srp = Srp::new([7; 32]);
    let whole = data(SALT, "1234");
    for end in 0..whole.len() {
        assert!(srp.prove(Plugin::Srp, "A", "b", &whole[..end]).is_err());
    }
}

#[test]
fn legacy_hash_equals_that_of_crypt() {
    for (password, expected) in [
        ("masterkey", "QP3LMZ/MJh."),
        ("masterke", "QP3LMZ/MJh."),
        ("eight ch", "sjf/3zwpraU"),
        ("abc", "44bJtAnBQ2M"),
        ("", "retK2Kk/GLk"),
    ] {
        assert_eq!(legacy_hash(password), expected);
    }
}

#[test]
fn name_is_in_capitals_unless_it_is_quoted() {
    for (user, expected) in [
        ("sysdba", "SYSDBA"),
        ("U206", "U206"),
        ("\"Mixed Case\"", "Mixed Case"),
        ("\"a\"\"b\"", "a\"b"),
        ("\"", "\""),
        ("ユーザーa", "ユーザーA"),
    ] {
        assert_eq!(login_name(user), expected);
    }
}

#[test]
fn plugins_are_known_by_their_names() {
    for plugin in Plugin::ALL {
        assert_eq!(Plugin::from_name(plugin.name().as_bytes()), Some(plugin));
    }
    assert_eq!(Plugin::from_name(b"Win_Sspi"), None);
}
