# Base64, URI, CGI and HTML escaping, as CRuby has them. Not what differs on purpose. Every line of output is compared.
require "base64"
require "uri"
require "cgi"
require "erb"
p Base64.encode64("x" * 50), Base64.strict_encode64("héllo?>"), Base64.urlsafe_encode64("héllo?>"), Base64.urlsafe_encode64("a", padding: false), Base64.decode64("aGVs\nbG8="), Base64.strict_decode64("aGVsbG8="), Base64.urlsafe_decode64("aGVsbG8"), Base64.decode64("aG!Vs"), Base64.encode64("")
begin; Base64.strict_decode64("a"); rescue ArgumentError => e; puts e.message; end
p URI.encode_www_form_component("a b&c=é/~*-._"), URI.decode_www_form_component("a+b%26%E3%81%82"), URI.encode_www_form({ a: 1, b: ["x y", 2], "c" => nil }), URI.encode_www_form(q: "é"), URI.decode_www_form("a=1&b=%20x&c"), URI.encode_www_form([["k", "v"]])
p CGI.escape("a b&é~*'"), CGI.unescape("a+b%26"), CGI.escapeHTML("<a href='x'>\"&é</a>"), CGI.unescapeHTML("&lt;a&gt;&amp;&quot;&#39;&#x3042;&nope;"), ERB::Util.h("<&>"), ERB::Util.html_escape("'"), ERB::Util.url_encode("a b/é~")
u = URI.parse("https://user:pw@Example.com:8443/a/b?x=1&y=2#frag")
p u.scheme, u.host, u.port, u.path, u.query, u.fragment, u.userinfo, u.user, u.password, u.to_s, u.request_uri, u.class
u = URI.parse("http://example.com")
p u.port, u.path, u.query, u.request_uri, u.to_s, URI.parse("/x?y").path, URI.parse("/x?y").host, URI.parse("http://[::1]:3000/").hostname, URI.parse("mailto:a@b").scheme, URI.join("http://h/a/b", "c").to_s, URI.join("http://h/a/b", "/d").to_s, URI.join("http://h/a/b/", "../c").to_s
begin; URI.parse("http://a b"); rescue URI::InvalidURIError => e; puts e.class; end
u = URI("http://h:81/p?q=1")
p u.host, u.port, u.request_uri, URI(u).equal?(u)
begin; URI(nil); rescue ArgumentError => e; puts e.message; end
begin; URI("a b"); rescue URI::InvalidURIError => e; puts e.class; end
