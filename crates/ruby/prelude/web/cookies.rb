# Cookies as a Hash of what the client sent and of what this response sets. Not the encoding, which is Rust's.
# Cookies that are set are HttpOnly, SameSite=Lax, for all paths, and (outside development) only sent over TLS.
module Tsumugi
  class Cookies
    include Enumerable

    def initialize(context)
      @context = context
    end

    # The value, or nil. What this request has set already counts.
    def [](name) = all[name.to_s]
    def key?(name) = all.key?(name.to_s)
    def to_h = all.dup

    def each(&block)
      all.each(&block)
      self
    end

    # A cookie that ends with the browser's session; more by `set`.
    def []=(name, value)
      set(name, value)
      value
    end

    # Lasts +max_age+ seconds or until +expires+ (a Time). `domain:` adds the subdomains, `same_site:` is :lax, :strict or :none.
    def set(name, value, path: "/", domain: nil, max_age: nil, expires: nil, secure: !Tsumugi.development?, http_only: true, same_site: :lax)
      name = name.to_s
      value = value.to_s
      Native.set_cookie(@context, name, value,
                        { path: path, domain: domain, max_age: max_age, expires: expires && expires.to_i, secure: secure,
                          http_only: http_only, same_site: same_site })
      all[name] = value
      nil
    end

    # Answers what it was. A cookie is found by path and domain: give those it was set with.
    def delete(name, path: "/", domain: nil)
      was = self[name]
      set(name, "", path: path, domain: domain, max_age: 0)
      all.delete(name.to_s)
      was
    end

    # Cookies the client can read but not change: `cookies.signed[:id] = 7`, `cookies.signed[:id]` is "7", or nil when it is forged
    # or has expired. The key is TSUMUGI_SECRET.
    def signed = @signed ||= Signed.new(self)

    class Signed
      def initialize(cookies)
        @cookies = cookies
      end

      def [](name)
        text = @cookies[name]
        text && Native.open_cookie(name.to_s, text)
      end

      def []=(name, value)
        set(name, value)
        value
      end

      # The end of +max_age+ or +expires+ is signed as well.
      def set(name, value, max_age: nil, expires: nil, **options)
        ends = max_age ? Time.now.to_i + max_age : expires && expires.to_i
        @cookies.set(name, Native.sign_cookie(name.to_s, value.to_s, ends), max_age: max_age, expires: expires, **options)
      end

      def delete(name, **options)
        was = self[name]
        @cookies.delete(name, **options)
        was
      end
    end

    private

    def all = @all ||= Native.cookies(@context)
  end
end
