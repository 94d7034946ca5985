# Sessions, and the check of forms against forged requests. In a signed cookie the client can read a session, not change it: no
# secrets in it. In a key-value store the client has only an id. A session is stored when it is written to, at that line; changing an
# object inside it stores nothing. Requests that overlap change their own keys and leave each other's alone. When another one ended or
# renewed the session meanwhile, what this one writes to it is not stored, nor is its cookie sent: `clear` or `renew` begin a new one.
module Tsumugi
  class Session
    include Enumerable

    # Where the token of forms is kept; not shown.
    TOKEN = "_csrf"

    class << self
      # Kept, so that the store stays among those that are open.
      attr_accessor :kv
    end

    def initialize(context)
      @context = context
    end

    # Values come back as JSON has them: Symbols are Strings, and so are the keys of Hashes.
    def [](key) = data[key.to_s]
    def key?(key) = data.key?(key.to_s)
    def to_h = data.reject { |key, _| key == TOKEN }
    def empty? = to_h.empty?

    def each(&block)
      to_h.each(&block)
      self
    end

    # Raises ArgumentError when the cookie gets larger than browsers keep (4,096 bytes).
    def []=(key, value)
      update({ key => value })
      value
    end

    def update(values)
      values = values.each_with_object({}) { |(key, value), changed| changed[key.to_s] = value }
      changing { Native.session_change(@context, values, nil) }
      self
    end

    def delete(key)
      key = key.to_s
      return nil unless data.key?(key)

      was = data[key]
      changing { Native.session_change(@context, {}, key) }
      was
    end

    # Ends the session. Do it at a login too, before the user is stored, so that nothing from before remains.
    def clear
      changing { Native.session_clear(@context) }
      self
    end

    # Goes on as a new session with the same content: at a login or whenever a user may do more than before. What a store kept under
    # the old id is gone; an old cookie that holds its session by itself stays readable until it expires. Forms that are open are too old.
    def renew
      changing { Native.session_renew(@context) }
      self
    end

    # Whether there is one, in the cookie or in the store.
    def stored? = Native.session_stored?(@context)

    def csrf_token = changing { Native.csrf_token(@context) }

    def csrf_token?(sent) = !sent.nil? && Native.csrf_valid?(@context, sent)

    private

    def data = @data ||= JSON.parse(Native.session_content(@context))

    # What the block has stored is read again when it is asked for.
    def changing
      yield
    ensure
      @data = nil
    end
  end

  class Context
    # `session[:user_id] = 1`. The application's file must say `sessions`.
    def session = @session ||= Session.new(self)

    # For the header x-csrf-token, or a field of the name _csrf. Another text each time, all valid as long as the session.
    def csrf_token = session.csrf_token

    # The field for a form, as HTML that a template does not escape.
    def csrf_field = raw("<input type=\"hidden\" name=\"_csrf\" value=\"#{csrf_token}\">")

    def __check_csrf
      return unless session.stored?

      sent = headers["x-csrf-token"] || (body.form? ? body["_csrf"] : nil)
      return if sent.is_a?(String) && session.csrf_token?(sent)

      raise Refused.new(403, Native.csrf_refusal)
    end
  end

  # A request with a session whose form another site may have sent: checked before its handler, then handled as ever.
  class Guarded
    def initialize(context)
      @context = context
    end

    def __run
      @context.__check_csrf
      @context.__run
    end

    def __failed(exception) = @context.__failed(exception)
  end
end

class << self
  # Gives handlers `session`, kept in a cookie for +max_age+ seconds after it was last written. Needs TSUMUGI_SECRET outside
  # development. With `kv: KV.open("data/sessions")` it is kept there, the cookie has only a random id, and no secret is needed.
  # `secure:` sends it over TLS only (the default outside development). Forms of requests with a session are checked for `csrf_field`
  # unless `csrf: false`.
  def sessions(name: "session", same_site: :lax, max_age: 1_209_600, secure: !Tsumugi.development?, csrf: true, path: "/", domain: nil, kv: nil)
    raise TypeError, "kv: is a store, as KV.open answers it, not #{kv.class}" unless kv.nil? || kv.is_a?(KV)

    Tsumugi::Session.kv = kv
    Tsumugi::Native.sessions({ kv: kv, name: name, same_site: same_site, max_age: max_age, secure: secure, csrf: csrf, path: path, domain: domain })
  end
end
