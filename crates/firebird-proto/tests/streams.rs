//! What Firebird 3.0.11 really sent, replayed: whole, byte by byte and cut in two at every place, it must mean the same.
//! The files in `streams/` are the server's bytes in hexadecimal, decrypted, after a line that says what was asked. Not a live test.
//! Rule: how a stream is cut changes no event.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tsumugi_firebird_proto::blob::{Reading, segments};
use tsumugi_firebird_proto::describe::{Describe, Progress};
use tsumugi_firebird_proto::events::{self, Events};
use tsumugi_firebird_proto::handshake::{self, Answer};
use tsumugi_firebird_proto::info::{self, Item};
use tsumugi_firebird_proto::values::Padding;
use tsumugi_firebird_proto::{
    CharacterSet, Connection, Event, Expect, FetchEnd, Format, Outcome, Response, Rows, TextRules,
    Value, Violation,
};

macro_rules! stream {
    ($name:literal) => {
        bytes(include_str!(concat!("streams/", $name, ".hex")))
    };
}

fn bytes(text: &str) -> Vec<u8> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let digits: Vec<u8> = lines
        .flat_map(str::chars)
        .filter_map(|digit| u8::try_from(digit.to_digit(16)?).ok())
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

/// One conversation, by letters: `r` a response, `d` a deferred one, `p` one that describes a statement, `s` the answer to an execution
/// without cursor, `f` a batch of rows.
struct Conversation<'a> {
    script: std::str::Chars<'a>,
    rules: TextRules,
    connection: Connection<char>,
    describe: Describe,
    format: Option<Arc<Format>>,
    said: Vec<String>,
}

impl<'a> Conversation<'a> {
    fn new(script: &'a str, rules: TextRules) -> Self {
        Self {
            script: script.chars(),
            rules,
            connection: Connection::new(),
            describe: Describe::new(),
            format: None,
            said: vec![String::new()],
        }
    }

    fn ask(&mut self) {
        if self.connection.awaited() > 0 {
            return;
        }
        let Some(letter) = self.script.next() else {
            return;
        };
        let format = || Arc::clone(self.format.as_ref().expect("described before"));
        let expect = match letter {
            'r' | 'p' => Expect::Response,
            'd' => Expect::Deferred,
            's' => Expect::Sql(format()),
            'f' => Expect::Fetch(format()),
            other => panic!("{other}"),
        };
        self.connection
            .expect(letter, expect)
            .expect("there is room");
    }

    fn take(&mut self, input: &mut BytesMut) -> Result<(), Violation> {
        self.ask();
        while let Some(event) = self.connection.poll(input)? {
            match event {
                Event::Response {
                    token: 'p',
                    outcome,
                } => self.described(&outcome),
                Event::Response { outcome, .. } => self.say(outcome_said(&outcome)),
                Event::Sql { row, outcome, .. } => {
                    let row = row.map(|row| self.rows(&row)).unwrap_or_default();
                    self.say(format!("{row}{}", outcome_said(&outcome)));
                }
                Event::Rows { rows, end, .. } => {
                    let rows = self.rows(&rows);
                    // A batch may come in pieces.
                    *self.said.last_mut().expect("never empty") += &rows;
                    match end {
                        None => {}
                        Some(Ok(FetchEnd::More)) => self.say("more".to_owned()),
                        Some(Ok(FetchEnd::Eof)) => self.say("end".to_owned()),
                        Some(Err(error)) => self.say(format!("! {error}")),
                    }
                }
            }
            self.ask();
        }
        Ok(())
    }

    /// Ends the line.
    fn say(&mut self, word: String) {
        *self.said.last_mut().expect("never empty") += &word;
        self.said.push(String::new());
    }

    fn described(&mut self, outcome: &Outcome) {
        let Ok(Response { data, .. }) = outcome else {
            return self.say(outcome_said(outcome));
        };
        match self.describe.read(data).expect("the server is sound") {
            Progress::More(_) => self.say("and more".to_owned()),
            Progress::Done(statement) => {
                let parameters = statement.parameters.len();
                let names: Vec<&str> = statement.columns.iter().map(|c| &*c.alias).collect();
                self.say(format!(
                    "{:?}({}) {parameters}",
                    statement.kind,
                    names.join(",")
                ));
                self.describe = Describe::new();
                self.format = Some(Arc::new(Format::new(statement.columns).expect("it fits")));
            }
        }
    }

    fn rows(&self, rows: &Rows) -> String {
        assert_eq!(rows.iter().count(), rows.len());
        rows.iter()
            .map(|row| {
                let values: Vec<_> = row.values(self.rules).map(|value| shown(&value)).collect();
                format!("[{}] ", values.join("|"))
            })
            .collect()
    }
}

fn outcome_said(outcome: &Outcome) -> String {
    match outcome {
        Ok(_) => "ok".to_owned(),
        Err(error) => format!("! {error}"),
    }
}

fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Boolean(yes) => yes.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Decimal(number) => number.to_string(),
        Value::Float(number) => format!("{number:e}"),
        Value::Double(number) => format!("{number:e}"),
        Value::Text(text) => text.to_string(),
        Value::Bytes(bytes) => format!("x'{}'", hex(bytes)),
        Value::Date(date) => date.to_string(),
        Value::Time(time) => time.to_string(),
        Value::Timestamp(at) => at.to_string(),
        Value::Blob(_) => "blob".to_owned(),
        other => panic!("{other:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn play<'a>(script: &str, rules: TextRules, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
    let mut conversation = Conversation::new(script, rules);
    let mut input = BytesMut::new();
    for piece in pieces {
        input.extend_from_slice(piece);
        conversation.take(&mut input).expect("the server is sound");
    }
    assert!(input.is_empty(), "{} bytes are left", input.len());
    assert_eq!(conversation.connection.awaited(), 0);
    assert_eq!(conversation.said.pop().as_deref(), Some(""));
    conversation.said
}

fn check_rules(stream: &[u8], script: &str, rules: TextRules, expected: &[&str]) {
    assert_eq!(play(script, rules, [stream].into_iter()), expected);
    assert_eq!(play(script, rules, stream.chunks(1)), expected);
    for at in 1..stream.len() {
        let (head, tail) = stream.split_at(at);
        assert_eq!(
            play(script, rules, [head, tail].into_iter()),
            expected,
            "at {at}"
        );
    }
}

fn check(stream: &[u8], script: &str, expected: &[&str]) {
    check_rules(stream, script, TextRules::default(), expected);
}

/// A query as it was recorded: allocate, prepare, execute, fetch, free, ping.
const QUERY: &str = "dprfdr";

#[test]
fn every_type_has_its_values() {
    check(
        &stream!("types"),
        QUERY,
        &[
            "ok",
            "Select(ID,SI,BI,N42,N94,N18,F,D,C5,V,O,VN,DT,TM,TS,B,T,OK,FSS,W) 0",
            "ok",
            "[1|-32768|-9223372036854775808|-99.99|-99999.9999|-9.223372036854775808|-3.4e38|-1.7976931348623157e308|あいうえお|日本語|x'00ff7f'|日|0001-01-01|00:00:00|0001-01-01 00:00:00|blob|blob|false|日本  |Привет] [2|32767|9223372036854775807|99.99|99999.9999|9.223372036854775807|1.1754944e-38|2.3e-300|ab   ||x'414243'||9999-12-31|23:59:59.9999|9999-12-31 23:59:59.9999|blob|blob|true|a   |] [3|0|0|0.00|0.0000|0.000000000000000000|0e0|0e0|     | x |x'000000'|n|1858-11-16|03:04:05.67|1858-11-16 12:00:00.1|blob|blob|null|    |я] [4|null|null|null|null|null|null|null|null|null|null|null|null|null|null|null|null|null|null|null] end",
            "ok",
            "ok",
        ],
    );
}

#[test]
fn catalogue_query_is_described_with_its_columns() {
    let rules = TextRules {
        padding: Padding::Trim,
        ..TextRules::default()
    };
    check_rules(
        &stream!("relations"),
        QUERY,
        rules,
        &[
            "ok",
            "Select(RDB$VIEW_BLR,RDB$VIEW_SOURCE,RDB$DESCRIPTION,RDB$RELATION_ID,RDB$SYSTEM_FLAG,RDB$DBKEY_LENGTH,RDB$FORMAT,RDB$FIELD_ID,RDB$RELATION_NAME,RDB$SECURITY_CLASS,RDB$EXTERNAL_FILE,RDB$RUNTIME,RDB$EXTERNAL_DESCRIPTION,RDB$OWNER_NAME,RDB$DEFAULT_CLASS,RDB$FLAGS,RDB$RELATION_TYPE) 0",
            "ok",
            "[null|null|null|0|1|8|0|4|RDB$PAGES|SQL$365|null|null|null|SYSDBA|SQL$DEFAULT1|null|0] [null|null|null|1|1|8|0|5|RDB$DATABASE|SQL$366|null|null|null|SYSDBA|SQL$DEFAULT2|null|0] [null|null|null|2|1|8|0|30|RDB$FIELDS|SQL$367|null|blob|null|SYSDBA|SQL$DEFAULT3|null|0] end",
            "ok",
            "ok",
        ],
    );
}

#[test]
fn batch_ends_at_the_requested_size() {
    check(
        &stream!("batches"),
        "dprfffdr",
        &[
            "ok",
            "Select(RDB$TYPE) 0",
            "ok",
            "[14] [7] [8] [9] more",
            "[10] [27] [35] [37] more",
            "[261] [40] end",
            "ok",
            "ok",
        ],
    );
}

#[test]
fn returning_is_a_row_or_none_or_an_error_and_what_comes_next_is_sound() {
    check(
        &stream!("returning"),
        "dpsdpsdpsdprfdr",
        &[
            "ok",
            "ExecuteProcedure(ID,V,BI) 0",
            "[10|ten|null] ok",
            "ok",
            "ExecuteProcedure(ID,V) 0",
            "[null|null] ok",
            "ok",
            "ExecuteProcedure(ID) 0",
            "! unique or primary key INTEG_20 of table TY is violated; the value is (\"ID\" = 10) (23000, 335544665)",
            "ok",
            "Select(V) 0",
            "ok",
            "[ten] end",
            "ok",
            "ok",
        ],
    );
}

#[test]
fn block_that_suspends_is_read_as_a_cursor() {
    check(
        &stream!("block"),
        QUERY,
        &["ok", "Select(N) 0", "ok", "[1] [null] end", "ok", "ok"],
    );
}

#[test]
fn rows_before_an_error_are_kept() {
    check(
        &stream!("error_in_fetch"),
        "dprfdprfdr",
        &[
            "ok",
            "Select(N) 0",
            "ok",
            "[1] [2] [3] [4] [5] ! division by zero; At block line: 1, col: 92 (22012, 335544778)",
            "ok",
            "Select(CONSTANT) 0",
            "ok",
            "[1] end",
            "ok",
            "ok",
        ],
    );
}

#[test]
fn text_that_cannot_be_converted_fails_alone() {
    check(
        &stream!("untranslatable"),
        "dprfdprfdr",
        &[
            "ok",
            "Select(W) 0",
            "ok",
            "! a character does not exist in the other character set (22018, 335544565)",
            "ok",
            "Select(ID) 0",
            "ok",
            "[1] end",
            "ok",
            "ok",
        ],
    );
}

#[test]
fn recorded_errors_are_read() {
    check(
        &stream!("errors"),
        "rrrrrrrrrrrrrrr",
        &[
            "! unexpected word at line 1, column 1: selec (42000, 335544634)",
            "! unknown table: NOPE, at line 1, column 15 (42S02, 335544580)",
            "! unknown column: NOPE, at line 1, column 8 (42S22, 335544578)",
            "! the parameters or columns do not match the statement; error 336003110 (07002, 335544583)",
            "! the parameters or columns do not match the statement; error 336003110 (07002, 335544583)",
            "! unique or primary key INTEG_20 of table TY is violated; the value is (\"ID\" = 10) (23000, 335544665)",
            "! foreign key INTEG_4 of table T2 is violated; the row it names does not exist; the value is (\"ID\" = 77) (23000, 335544466)",
            "! column \"TY\".\"ID\" does not take the value *** null *** (23000, 335544347)",
            "! the text is too long; at most 10, actual 13 (22001, 335544914)",
            "! check constraint INTEG_3 of T1 is violated; At trigger 'CHECK_1' (23000, 335544558)",
            "! exception E_STOCK: 在庫切れ; At block line: 1, col: 24 (HY000, 335544517)",
            "! exception E_PAR: no apple of tree; At block line: 1, col: 24 (HY000, 335544517)",
            "! table TY exists already (42S01, 336068740)",
            "! table NOPE does not exist (42S02, 336397206)",
            "! the SQL ends too early at line 1, column 18 (42000, 335544851)",
        ],
    );
}

#[test]
fn recorded_description_in_pieces_is_joined() {
    check(
        &stream!("describe"),
        "dpppppppp",
        &[
            "ok",
            "and more",
            "and more",
            "and more",
            "and more",
            "and more",
            "and more",
            "and more",
            "Select(COLUMN_1,COLUMN_2,COLUMN_3,COLUMN_4,COLUMN_5,COLUMN_6,COLUMN_7,COLUMN_8,COLUMN_9,COLUMN_10,COLUMN_11,COLUMN_12,COLUMN_13,COLUMN_14,COLUMN_15,COLUMN_16,COLUMN_17,COLUMN_18,COLUMN_19,COLUMN_20,COLUMN_21,COLUMN_22,COLUMN_23,COLUMN_24,COLUMN_25,COLUMN_26,COLUMN_27,COLUMN_28,COLUMN_29,COLUMN_30,COLUMN_31,COLUMN_32,COLUMN_33,COLUMN_34,COLUMN_35,COLUMN_36,COLUMN_37,COLUMN_38,COLUMN_39,COLUMN_40) 3",
        ],
    );
}

#[test]
fn seven_requests_in_one_write_get_seven_answers() {
    check(
        &stream!("one_write"),
        "rdprrdr",
        &[
            "ok",
            "ok",
            "! unexpected word at line 1, column 1: selec (42000, 335544634)",
            "! the statement was not prepared (HY007, 335544711)",
            "! the cursor is not open (24000, 335544834)",
            "ok",
            "ok",
        ],
    );
}

#[test]
fn null_test_parameter_has_no_value() {
    check(
        &stream!("null_question"),
        "dprf",
        &["ok", "Select(ID) 1", "ok", "[1] [2] more"],
    );
}

#[test]
fn connection_in_utf8_reads_every_character_set() {
    check(
        &stream!("charsets_utf8"),
        QUERY,
        &[
            "ok",
            "Select(ID,U,N,W,S,E,O) 0",
            "ok",
            "[1|日本語テキスト|日本|Привет|日本語|日本語|x'00ff10'] end",
            "ok",
            "ok",
        ],
    );
}

#[test]
fn connection_without_a_character_set_reads_raw_bytes() {
    check(
        &stream!("charsets_none"),
        QUERY,
        &[
            "ok",
            "Select(ID,U,N,W,S,E,O) 0",
            "ok",
            "[1|日本語テキスト|日本|Привет|日本語|日本語|x'00ff10'] end",
            "ok",
            "ok",
        ],
    );
}

#[test]
fn bitmap_grows_with_the_columns() {
    for (stream, count) in [
        (stream!("columns_1"), 1),
        (stream!("columns_8"), 8),
        (stream!("columns_9"), 9),
        (stream!("columns_17"), 17),
        (stream!("columns_33"), 33),
        (stream!("columns_65"), 65),
    ] {
        let said = play(QUERY, TextRules::default(), [&stream[..]].into_iter());
        let mut row: Vec<String> = (1..count).map(|number| number.to_string()).collect();
        row.push("null".to_owned());
        assert_eq!(said[3], format!("[{}] end", row.join("|")));
        assert_eq!(play(QUERY, TextRules::default(), stream.chunks(1)), said);
    }
}

#[test]
fn chosen_character_set_reads_columns_without_one() {
    let rules = TextRules {
        none: CharacterSet::by_name("SJIS_0208"),
        ..TextRules::default()
    };
    let said = play(QUERY, rules, [&stream!("charsets_none")[..]].into_iter());
    // The column without a character set holds UTF-8: what the caller says it is, is believed. The others say what they are.
    assert_eq!(
        said[3],
        "[1|日本語テキスト|譌･譛ｬ|Привет|日本語|日本語|x'00ff10'] end"
    );
}

/// Plays to the end and returns what was said last.
fn last_response(stream: &[u8], count: usize) -> Vec<Response> {
    let mut input = BytesMut::from(stream);
    let mut connection = Connection::new();
    let mut responses = Vec::new();
    for _ in 0..count {
        connection.expect((), Expect::Response).unwrap();
        match connection.poll(&mut input) {
            Ok(Some(Event::Response {
                outcome: Ok(response),
                ..
            })) => responses.push(response),
            other => panic!("{other:?}"),
        }
    }
    assert!(input.is_empty());
    responses
}

#[test]
fn update_reports_its_affected_rows() {
    let responses = last_response(&stream!("affected"), 5);
    let affected = info::affected(&responses[3].data).unwrap();
    assert_eq!((affected.updated, affected.changed()), (3, 3));
    let mut found = Vec::new();
    for item in info::items(&responses[4].data) {
        match item.unwrap() {
            Item::Value {
                tag: info::database::FIREBIRD_VERSION,
                bytes,
            } => {
                found.push(info::version(bytes).unwrap());
            }
            Item::Value { tag, bytes } => {
                found.push(format!("{tag}={}", info::number(bytes).unwrap()));
            }
            Item::Truncated => panic!("it fits"),
        }
    }
    assert_eq!(
        found,
        ["14=8192", "32=12", "62=3", "LI-V3.0.11.33637 Firebird 3.0"]
    );
}

#[test]
fn blob_is_read_in_pieces_up_to_its_end() {
    let responses = last_response(&stream!("blob"), 11);
    let figures: Vec<_> = info::items(&responses[5].data)
        .map(|item| match item.unwrap() {
            Item::Value { bytes, .. } => info::number(bytes).unwrap(),
            Item::Truncated => panic!("it fits"),
        })
        .collect();
    // Segments, the longest, bytes, not a stream.
    assert_eq!(figures, [3, 20, 23, 0]);
    let mut text = Vec::new();
    let mut states = Vec::new();
    for response in &responses[6..10] {
        states.push(Reading::of(response).unwrap());
        for piece in segments(response.data.clone()) {
            text.extend_from_slice(&piece.unwrap());
        }
    }
    assert_eq!(text, b"onetwenty bytes of text");
    use Reading::{End, Partial, Whole};
    assert_eq!(states, [Partial, Whole, End, End]);
}

#[test]
fn events_are_counted_from_where_counting_begins() {
    let stream = stream!("events");
    let address = stream!("event_address");
    assert_eq!(
        events::port(&address).unwrap(),
        u16::from_be_bytes([address[2], address[3]])
    );
    for chunk in 1..=stream.len() {
        let mut events = Events::new(["one", "two"]).unwrap();
        let mut input = BytesMut::new();
        let mut said = Vec::new();
        for piece in stream.chunks(chunk) {
            input.extend_from_slice(piece);
            while let Some(report) = events::next_report(&mut input).unwrap() {
                let posted = events.record(&report).unwrap();
                said.push(
                    posted
                        .iter()
                        .map(|p| format!("{}:{}", p.name, p.times))
                        .collect::<Vec<_>>()
                        .join(" "),
                );
            }
        }
        assert_eq!(said, ["", "one:2 two:1"]);
    }
}

/// What the server said during a handshake, in words.
fn check_handshake(stream: &[u8], expected: &[&str]) {
    for cut in 1..=stream.len() {
        let mut input = BytesMut::new();
        let mut version = None;
        let mut said = Vec::new();
        for piece in stream.chunks(cut) {
            input.extend_from_slice(piece);
            while let Some(answer) = handshake::answer(&mut input, version).unwrap() {
                said.push(match answer {
                    Answer::Accept(accept) => {
                        version = Some(accept.version);
                        let (demand, turn) = (accept.demand, accept.turn);
                        format!(
                            "{:?} {demand:?} {}",
                            accept.version,
                            said_turn(&turn.data, &turn.plugin)
                        )
                    }
                    Answer::Continue(turn) => {
                        format!("more {}", said_turn(&turn.data, &turn.plugin))
                    }
                    Answer::Response(Ok(response)) => {
                        format!("ok {}", response.data.escape_ascii())
                    }
                    Answer::Response(Err(error)) => format!("! {error}"),
                    other => panic!("{other:?}"),
                });
            }
        }
        assert!(input.is_empty());
        assert_eq!(said, expected, "in pieces of {cut}");
    }
}

fn said_turn(data: &Bytes, plugin: &Bytes) -> String {
    format!("{} with {} bytes", plugin.escape_ascii(), data.len())
}

#[test]
fn login_takes_a_round_trip_and_a_key() {
    check_handshake(
        &stream!("handshake_srp"),
        &[
            "V15 Rounds Srp with 0 bytes",
            "more Srp with 324 bytes",
            r"ok \x00\tSymmetric\x01\x04Arc4",
            "ok ",
            "ok ",
        ],
    );
}

#[test]
fn proof_is_sent_with_the_attachment() {
    check_handshake(
        &stream!("handshake_proof"),
        &["V15 Proof Srp with 324 bytes", "ok "],
    );
}

#[test]
fn refused_login_says_why() {
    check_handshake(
        &stream!("handshake_wrong"),
        &[
            "V15 Rounds Srp with 0 bytes",
            "more Srp with 324 bytes",
            "! the user name or the password is wrong (28000, 335544472)",
        ],
    );
    let plugin = "! the login failed; the server's log says why (no common authentication plugin, for one) (08006, 335545106)";
    check_handshake(&stream!("handshake_plugin"), &[plugin]);
    let plain = "! the server and the client do not agree on encryption (28000, 335545064)";
    check_handshake(&stream!("handshake_plain"), &[plain]);
}
