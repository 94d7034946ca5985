//! Parameters of a query and request headers: how they are found, what they are converted to, and how wrong ones are answered.

use crate::rig::Rig;

/// What a handler of `line` answers to a request with this query.
fn check(line: &str, query: &str, expected: &str) {
    let rig = Rig::serve(&format!("get('/') {{ ({line}).inspect }}"));
    let answer = rig.get(&format!("/?{query}"));
    assert_eq!(answer.text(), expected, "{line} {query}");
}

#[test]
fn values_are_found_by_a_string_or_a_symbol() {
    let query = "a=1&b=&a=2&%C3%A9=%2B+x&c";
    for (line, expected) in [
        (
            "[query[:a], query['a'], query[:b], query[:c], query[:d]]",
            r#"["1", "1", "", "", nil]"#,
        ),
        ("query['é']", r#""+ x""#),
        ("[query.key?(:b), query.key?('d')]", "[true, false]"),
        ("[query.list(:a), query.list('d')]", r#"[["1", "2"], []]"#),
        ("query.to_h", r#"{"a"=>"1", "b"=>"", "é"=>"+ x", "c"=>""}"#),
        ("query.to_a.first(2)", r#"[["a", "1"], ["b", ""]]"#),
        (
            "query.map { |name, value| name + value }.first(3)",
            r#"["a1", "b", "a2"]"#,
        ),
        (
            "[query.empty?, query.class, query.equal?(query)]",
            "[false, Tsumugi::Parameters, true]",
        ),
        ("[query[nil], query[7]]", "[nil, nil]"),
    ] {
        check(line, query, expected);
    }
    check(
        "[query.empty?, query.to_a, query.to_h]",
        "",
        "[true, [], {}]",
    );
    check("query[7]", "7=x", r#""x""#);
}

#[test]
fn values_are_converted_or_the_default() {
    for (line, query, expected) in [
        ("query.int(:n)", "n=-12", "-12"),
        (
            "query.int('n', 5)",
            "n=9223372036854775807",
            "9223372036854775807",
        ),
        ("query.int(:n, 5)", "n=", "5"),
        ("query.int(:n, 5)", "", "5"),
        ("query.int(:n)", "", "nil"),
        ("query.int(:n, 5, in: 1..100)", "n=100", "100"),
        ("query.int(:n, 500, in: 1..100)", "", "500"),
        ("query.int(:n, in: [1, 3])", "n=3", "3"),
        ("query.int(:n, 5, in: nil)", "n=3", "3"),
        ("query.float(:f)", "f=0.1", "0.1"),
        ("query.float(:f)", "f=-7", "-7.0"),
        ("query.float(:f)", "f=1e3", "1000.0"),
        ("query.float(:f, 1.5, in: 0.0..1.0)", "f=0.5", "0.5"),
        ("query.float(:f, 1.5)", "f=", "1.5"),
        (
            "[query.bool(:t), query.bool(:u), query.bool(:v, true), query.bool(:w)]",
            "t=yes&u=0",
            "[true, false, true, nil]",
        ),
    ] {
        check(line, query, expected);
    }
}

#[test]
fn wrong_values_answer_400_with_the_parameters_name() {
    let rig = Rig::serve(
        "get('/int') { query.int(:n, 1, in: 1..100).to_s }
         get('/float') { query.float('f', in: 0.0..1.0).to_s }
         get('/bool') { query.bool(:t).to_s }
         get('/many') { query.int(:n, 1, 2, in: 1..2) }
         get('/none') { query.int }",
    );
    for (path, text) in [
        ("/int?n=x", "parameter n must be an integer\n"),
        ("/int?n=1.0", "parameter n must be an integer\n"),
        (
            "/int?n=99999999999999999999",
            "parameter n must be an integer\n",
        ),
        ("/int?n=0", "parameter n must be in 1..100\n"),
        ("/float?f=x", "parameter f must be a number\n"),
        ("/float?f=2", "parameter f must be in 0.0..1.0\n"),
        ("/bool?t=maybe", "parameter t must be true or false\n"),
    ] {
        let answer = rig.get(path);
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (400, text),
            "{path}"
        );
    }
    for (path, given) in [("/many", 3), ("/none", 0)] {
        let answer = rig.get(path);
        let message = format!("wrong number of arguments (given {given}, expected 1..2)");
        assert_eq!(answer.status, 500, "{path}");
        assert!(answer.text().contains(&message), "{}", answer.text());
    }
}

#[test]
fn headers_are_found_in_any_case_and_several_are_joined() {
    let rig = Rig::serve(
        "get('/') { [headers[:user_agent], headers['X-Two'], headers[:cookie], headers['none'], headers['é b'],
                     headers.key?(:host), headers.key?('none')].inspect }",
    );
    let sent = [
        "user-agent: me",
        "x-two: 1",
        "x-two: 2",
        "cookie: a=1",
        "cookie: b=2",
    ];
    assert_eq!(
        rig.send("GET", "/", &sent, b"").text(),
        r#"["me", "1, 2", "a=1; b=2", nil, nil, true, false]"#
    );
}

#[test]
fn captures_reach_the_parameters_of_the_block() {
    let rig = Rig::serve(
        "get('/none/:a/:b') { captures.inspect }
         get('/one/:a/:b', a: Integer) { |a| a.inspect }
         get('/two/:a/:b', a: Integer, b: Float) { |a, b| [a, b].inspect }
         get('/all/:a/*b') { |*all| all.inspect }
         scope('/in') do
           before { @before = 'x' }
           get('/:a/:b') { |a, b| @before + a + b }
         end",
    );
    for (path, text) in [
        ("/none/1/2", r#"{:a=>"1", :b=>"2"}"#),
        ("/one/1/2", "1"),
        ("/two/1/2.5", "[1, 2.5]"),
        ("/all/1/2/3", r#"["1", "2/3"]"#),
        ("/in/1/2", "x12"),
    ] {
        assert_eq!(rig.get(path).text(), text, "{path}");
    }
}
