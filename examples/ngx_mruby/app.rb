# Handlers as they are written for ngx_mruby v2, whose author's demonstrations these are. Each location is a route;
# the code inside is unchanged. Run: tsumugi serve examples/ngx_mruby/app.rb

# curl http://127.0.0.1:8080/sleep    three of them at once: each about 3 s, not 3, 6 and 9
get "/sleep" do
  Nginx::Async.sleep 3000
  Nginx.rputs "body"
  Nginx.return Nginx::HTTP_OK
end

# 01234 after 2.5 s
get "/loop" do
  5.times do |s|
    Nginx::Async.sleep 500
    Nginx.rputs s
  end
end

# curl "http://127.0.0.1:8080/return?stop=1"
get "/return" do
  Nginx.rputs "foo"
  Nginx.return Nginx::HTTP_OK
  return if Nginx::Var.new.arg_stop
  Nginx.rputs "bar"
end

# hoge
get "/hoge" do
  Nginx.rputs"hoge"
  return if true
  Nginx.rputs "foo"
end

get "/hello" do
  Nginx.echo "hello #{Nginx.module_name} #{Nginx.module_version}"
end

get "/request" do
  r = Nginx::Request.new
  r.headers_out["X-Method"] = r.method
  r.content_type = "text/plain"
  Nginx.echo "#{r.request_line} from #{Nginx::Connection.new.remote_ip}"
end

get "/old" do
  Nginx.redirect "http://127.0.0.1:8080/hello", Nginx::HTTP_MOVED_PERMANENTLY
end

# An access handler is a `before`.
scope "/private" do
  before do
    unless Nginx::Request.new.headers_in["Authorization"]
      Nginx.errlogger Nginx::LOG_NOTICE, "refused"
      Nginx.return Nginx::HTTP_UNAUTHORIZED
      halt "who are you?\n"
    end
  end
  get { Nginx.echo "welcome" }
end
