//! Everything that a handler in Ruby does with the bytes of a client, at sizes apart: time grows with the bytes, not with their square.
//! The worker runs on the test's own thread, whose CPU time is what is compared.

use std::rc::Rc;
use std::time::Instant;

use http::{HeaderMap, HeaderValue, Method, Version, header};
use tsumugi_http::{Request, RequestBody};
use tsumugi_ruby::{App, Limits, Settings};
use tsumugi_testkit::growth::{Shapes, excess_of_tasks};

/// Answers a request of these bytes to the handler `entry`.
async fn post(app: &Rc<App>, entry: usize, media_type: &'static str, bytes: &[u8]) {
    let mut headers = HeaderMap::new();
    let media_type = HeaderValue::from_static(media_type);
    headers.insert(header::CONTENT_TYPE, media_type);
    let request = Request {
        method: Method::POST,
        uri: format!("/{entry}").parse().unwrap(),
        version: Version::HTTP_11,
        headers: headers.into(),
        body: RequestBody::in_memory(bytes::Bytes::copy_from_slice(bytes)),
        peer: None,
        received_at: Instant::now(),
        number: tsumugi_http::RequestNumber::default(),
        mounted_path: None,
        activity: None,
        scheme: tsumugi_http::RequestScheme::default(),
    };
    let response = app.answer(Box::new(request)).await;
    let status = response.status;
    let body = response.into_parts().body.read_all().await.unwrap();
    // A refusal is an answer; anything else says that the handler never saw the bytes.
    let text = String::from_utf8_lossy(&body);
    assert!(
        [200, 400, 413, 415, 422].contains(&status.as_u16()),
        "{entry}: {status} {}",
        text.get(..400).unwrap_or(&text)
    );
}

/// Runs every entry, a program that finds the bytes in `s`, with every shape.
fn check(media_type: &'static str, shapes: Shapes, entries: &[&str]) {
    let routes = entries.iter().enumerate().map(|(number, entry)| {
        format!(
            "post('/{number}') {{ begin; s = body.text; {entry}; rescue NameError; raise; rescue StandardError, NoMemoryError, SystemStackError; end; '' }}\n"
        )
    });
    let program: String = routes.collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app.rb");
    std::fs::write(&file, program).unwrap();
    let settings = Settings {
        app: file,
        limits: Limits {
            request_ms_max: 3_600_000,
            ..Limits::default()
        },
        ..Settings::default()
    };
    let limits = tsumugi_worker::WorkerLimits {
        turn_cpu_ms_max: 3_600_000,
        ..tsumugi_worker::WorkerLimits::default()
    };
    let found = tsumugi_worker::alone(limits, async move |worker| {
        let app = App::load(&worker, Rc::new(settings)).await;
        let app = app.unwrap_or_else(|error| panic!("{error}"));
        let mut found = Vec::new();
        for (number, entry) in entries.iter().enumerate() {
            let answer = async |bytes: &[u8]| post(&app, number, media_type, bytes).await;
            let lines = excess_of_tasks(entry, shapes, answer).await;
            for line in &lines {
                eprintln!("{line}");
            }
            found.extend(lines);
        }
        found
    })
    .expect("a worker starts");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn time_to_read_a_body_grows_with_its_bytes() {
    check(
        "application/json",
        Shapes::All,
        &["body.data", "JSON.parse(s)", "body.require(a: Integer)"],
    );
    check(
        "application/x-www-form-urlencoded",
        Shapes::All,
        &["body.data", "body.list(:a)", "body.to_h"],
    );
    check(
        "multipart/form-data; boundary=cut",
        Shapes::All,
        &["body.data"],
    );
}

/// What reads a text as something else.
const PARSED: &[&str] = &[
    "s.to_i",
    "s.to_i(16)",
    "s.hex",
    "s.oct",
    "s.to_f",
    "Integer(s)",
    "Float(s)",
    "Rational(s)",
    "Time.parse(s)",
    "Time.iso8601(s)",
    "DB::Decimal.new(s)",
    "DB::Date.parse(s)",
    "DB::Date.new(s)",
    "s.to_json",
    "[s, {s => s}].to_json",
    "JSON.pretty_generate(JSON.parse(s))",
    "URI.decode_www_form(s)",
    "URI.decode_www_form_component(s)",
    "URI.parse(s)",
    "URI.join('http://example.org/a/b', s)",
    "CGI.escapeHTML(s)",
    "CGI.unescapeHTML(s)",
    "Base64.decode64(s)",
    "Base64.strict_decode64(s)",
    "Base64.urlsafe_decode64(s)",
];

/// What writes bytes as other bytes.
const ENCODED: &[&str] = &[
    "JSON.generate(s.bytes)",
    "URI.encode_www_form_component(s)",
    "URI.encode_uri_component(s)",
    "CGI.escape(s)",
    "CGI.unescape(s)",
    "ERB::Util.url_encode(s)",
    "Base64.encode64(s)",
    "Digest::SHA256.hexdigest(s)",
    "OpenSSL::HMAC.hexdigest('SHA256', 'key', s)",
    "s.unpack('C*')",
    "s.unpack('a*')",
    "s.unpack('m')",
    "s.unpack('U*')",
    "s.unpack('w*')",
    "s.unpack('H*')",
    "s.unpack('N*')",
    "s.unpack('Z*')",
    "[s].pack('m')",
    "[s].pack('H*')",
    "[s].pack('u')",
];

/// What cuts and compares.
const CUT: &[&str] = &[
    "s.split",
    "s.split(',')",
    "s.split('&').map { |p| p.split('=', 2) }",
    "s.split(/,/)",
    "s.split('')",
    "s.split(s[0, 1])",
    "s.split(s[0, s.bytesize / 2])",
    "s.partition('=')",
    "s.rpartition('=')",
    "s.rpartition(s[0, s.size / 2])",
    "s.lines",
    "s.each_line { |l| l }",
    "s.chars",
    "s.each_char { |c| c }",
    "s.each_char.with_index { |c, i| i }",
    "s.each_byte { |b| b }",
    "s.bytes",
    "s.codepoints",
    "s.index(s[0, s.size / 2] + 'x')",
    "s.rindex('x' + s[0, s.size / 2])",
    "s.rindex(s[0, 1], -2)",
    "s.rindex(/x/)",
    "s.rindex(/\\A./)",
    "s.rpartition(/[^\\W]x/)",
    "s.byteindex('x')",
    "s.include?('abc')",
    "s.start_with?(s)",
    "s.end_with?(s)",
    "s == s + 'x'",
    "s <=> s.dup",
    "s.eql?(s.dup)",
    "s.hash",
    "s.sum",
    "s.casecmp(s.dup)",
    "s.casecmp?(s.dup)",
    "s.count('a-z')",
    "s.count(s[0, 1000])",
    "s.size",
    "s[-1]",
    "s[s.size / 2, 10]",
    "s[0..-2]",
    "s.slice(1, 2)",
    "s.byteslice(1, 2)",
    "s.inspect",
    "s.dump",
    "s.to_sym.inspect if s.size < 0",
    "s.valid_encoding?",
    "{s => 1}[s.dup]",
    "[s, s.dup].uniq",
    "[s, s.dup].sort",
    "s.split(',').uniq",
    "s.split(',').tally",
    "s.split(',').sort",
    "s.split(',').group_by(&:size)",
    "s.lines.map(&:strip)",
];

/// What works on an Array of as many elements.
const ARRAYS: &[&str] = &[
    "s.bytes.uniq",
    "s.bytes.each_slice(3).to_a",
    "s.bytes.each_cons(3).to_a",
    "s.bytes.inject(:+)",
    "s.bytes.sum",
    "s.bytes.tally",
    "s.bytes.flatten",
    "s.bytes.rotate(3)",
    "s.bytes.reverse",
    "s.bytes.map(&:to_s).join(',')",
    "s.bytes.zip(s.bytes)",
    "s.bytes.each_with_index.to_a",
    "s.bytes.partition(&:even?)",
    "s.bytes.inspect",
    "s.bytes - [1, 2]",
    "s.bytes | s.bytes",
    "s.bytes & s.bytes",
    "s.bytes.each_with_object({}) { |b, h| h[b] = 1 }",
    "s.bytes.to_set",
    "s.bytes.chunk_while { |a, b| a == b }.to_a",
    "s.bytes.slice_when { |a, b| a != b }.to_a",
    "s.bytes.first(10)",
    "s.bytes.last(10)",
    "s.bytes.compact",
    "s.bytes.pack('C*')",
    "s.bytes.pack('U*')",
];

/// What makes another text.
const CHANGED: &[&str] = &[
    "s.upcase",
    "s.downcase",
    "s.capitalize",
    "s.swapcase",
    "s.reverse",
    "s.succ",
    "s.next",
    "s.strip",
    "s.lstrip",
    "s.rstrip",
    "s.chomp",
    "s.chop",
    "s.squeeze",
    "s.squeeze('a')",
    "s.tr('a-z', 'A-Z')",
    "s.tr('^a-z', '-')",
    "s.tr(s[0, 100], 'x')",
    "s.tr_s('a', 'b')",
    "s.delete('a-f')",
    "s.delete('^a-f')",
    "s.delete_prefix(s[0, 10])",
    "s.delete_suffix(s[0, 10])",
    "s.insert(1, s.dup)",
    "s.prepend('x')",
    "s * 2",
    "s + s",
    "s << s",
    "s.ljust(s.size + 100)",
    "s.rjust(s.size * 2, 'ab')",
    "s.center(s.size * 2, '日本')",
    "s.replace('x')",
    "s.scrub",
    "s.encode('UTF-8')",
    "s.force_encoding('UTF-8')",
    "'%s' % s",
    "'%10s|%-10s' % [s, s]",
    "format('%d', s.to_i)",
    "\"#{s}-#{s}\"",
    "s.dup.freeze",
    "s.each_line.map(&:chomp).join(' ')",
    "s.tr('a', '日')",
    "s.slice!(0, 5)",
    "s.upto(s) { }",
    "s.setbyte(0, 65)",
    "s[0] = 'xyz'",
    "s.unpack1('a10')",
    "s.ord",
    "s.between?('a', 'b')",
    "Tsumugi.secure_compare(s, s.dup)",
];

/// What looks for patterns.
const MATCHED: &[&str] = &[
    "s.sub('a', 'b')",
    "s.sub(s[0, s.size / 2], 'b')",
    "s.gsub('a', 'bb')",
    "s.gsub(s[0, 1], 'xx')",
    "s.gsub(/[a-z]/) { |c| c.upcase }",
    "s.gsub(/\\W/, '')",
    "s.gsub(/(.)(.)/, '\\2\\1')",
    "s.gsub(/a|b/, 'a' => '1')",
    "s.scan(/./)",
    "s.scan(/\\w+/)",
    "s.scan('a')",
    "s.match?(/(a+)+$/)",
    "s.match?(/^(([a-z])+.)+[A-Z]([a-z])+$/)",
    "s[/\\d+/]",
    "s.start_with?(/\\w+/)",
    "Regexp.escape(s)",
    "Regexp.union(s[0, 100], s[0, 10]).match?(s)",
];

#[test]
fn time_to_parse_grows_with_the_bytes() {
    check("text/plain", Shapes::All, PARSED);
}

#[test]
fn time_to_encode_grows_with_the_bytes() {
    check("text/plain", Shapes::Text, ENCODED);
}

#[test]
fn time_to_cut_and_compare_grows_with_the_bytes() {
    check("text/plain", Shapes::Text, CUT);
}

#[test]
fn time_over_arrays_grows_with_the_elements() {
    check("text/plain", Shapes::Text, ARRAYS);
}

#[test]
fn time_to_change_grows_with_the_bytes() {
    check("text/plain", Shapes::Text, CHANGED);
}

#[test]
fn time_to_match_grows_with_the_bytes() {
    check("text/plain", Shapes::Text, MATCHED);
}
