# Sessions, and the check of forms against forged requests. In a signed cookie the client can read a session, not change it: no
# secrets in it. In a key-value store the client has only an id. A session is stored when it is written to, at that line; changing an
# object inside it stores nothing.
module Tsumugi
  class Session
    include Enumerable

    # Where the token of forms is kept; not shown.
    TOKEN = "_csrf"

    def initialize(context)
      @context = context
      text = Native.session_read(context)
      @data = text ? JSON.parse(text) : {}
    end

    # Values come back as JSON has them: Symbols are Strings, and so are the keys of Hashes.
    def [](key) = @data[key.to_s]
    def key?(key) = @data.key?(key.to_s)
    def to_h = @data.reject { |key, _| key == TOKEN }
    def empty? = to_h.empty?

    def each(&block)
      to_h.each(&block)
      self
    end

    # Raises ArgumentError when the cookie gets larger than browsers keep (4,096 bytes).
    def []=(key, value)
      change({ key.to_s => value })
      value
    end

    def update(values)
      change(values.each_with_object({}) { |(key, value), changed| changed[key.to_s] = value })
      self
    end

    def delete(key)
      key = key.to_s
      return nil unless @data.key?(key)

      was = @data[key]
      change({}, key)
      was
    end

    # Ends the session. Do it at a login too, before the user is stored, so that nothing from before remains.
    def clear
      store({})
      self
    end

    # Goes on as a new session with the same content: at a login or whenever a user may do more than before. What a store kept under
    # the old id is gone; an old cookie that holds its session by itself stays readable until it expires. Forms that are open are too old.
    def renew
      store(to_h)
      self
    end

    # Whether there is one, in the cookie or in the store.
    def stored? = !@data.empty?

    def csrf_token
      self[TOKEN] = Native.csrf_new unless @data[TOKEN]
      Native.csrf_mask(@data[TOKEN]) || raise("the session's token is damaged: clear the session")
    end

    def csrf_token?(sent) = !sent.nil? && !@data[TOKEN].nil? && Native.csrf_valid?(@data[TOKEN], sent)

    private

    def change(values, removed = nil) = store(changed(@data, values, removed))

    # A token that is there already stays, or forms that show it would be too old.
    def changed(data, values, removed)
      data = data.merge(values) { |key, there, value| key == TOKEN ? there : value }
      data.delete(removed) if removed
      data
    end

    def store(data)
      data.empty? ? Native.session_end(@context) : Native.session_write(@context, data)
      @data = data
    end
  end

  # A session whose content is in a key-value store. An id that the store does not know begins no session: a new one gets a new id.
  #
  # Requests that overlap change their own keys and leave each other's alone. When another one ended or renewed the session meanwhile,
  # what this one writes to it is not stored, nor is its cookie sent: `clear` or `renew` begin a new one.
  class StoredSession < Session
    # How often a change is tried again while other requests change the same session.
    TRIES_MAX = 64

    class << self
      attr_reader :kv, :max_age

      def keep(kv, max_age)
        @kv = kv
        @max_age = max_age
      end
    end

    def initialize(context)
      @context = context
      @id = Native.session_id(context)
      @lost = false
      take_up(@id && kv.get(Native.session_key(@id)))
      @id = nil unless @text
    end

    def stored? = !@id.nil?

    def clear
      kv.delete(Native.session_key(@id)) if @id
      @id = nil
      @lost = false
      take_up(nil)
      Native.session_end(@context)
      self
    end

    def renew
      try_while_kept do
        content = to_h
        return clear if content.empty?

        id = Native.session_id_new
        text = JSON.generate(content)
        next false unless replaced?(id, text)

        keep(id, text, content)
        return self
      end
      # What this request alone wrote goes on, of what was ended nothing does.
      @lost = false
      begin_with(to_h) unless empty?
      self
    end

    private

    def kv = StoredSession.kv

    def change(values, removed = nil)
      return @data = changed(@data, values, removed) if @lost
      return begin_with(changed(@data, values, removed)) unless @id

      try_while_kept do
        data = changed(@data, values, removed)
        text = data.empty? ? nil : JSON.generate(data)
        next false unless kv.cas(Native.session_key(@id), @text, text, ttl: StoredSession.max_age)

        text ? keep(@id, text, data) : clear
        return
      end
      @data = changed(@data, values, removed)
    end

    # Runs the block, which leaves once it has stored something, on what the store has, until that is gone.
    def try_while_kept
      tries = 0
      while @id
        yield
        tries += 1
        raise KV::Error, "other requests change this session all the time: try again" if tries == TRIES_MAX

        take_up(kv.get(Native.session_key(@id)))
        lose unless @text
      end
    end

    def replaced?(id, text)
      old, new = Native.session_key(@id), Native.session_key(id)
      kv.cas_multi({ old => @text }, { old => nil, new => text }, ttl: StoredSession.max_age)
    end

    def begin_with(data)
      return clear if data.empty?

      id = Native.session_id_new
      text = JSON.generate(data)
      kv.set(Native.session_key(id), text, ttl: StoredSession.max_age)
      keep(id, text, data)
    end

    def keep(id, text, data)
      Native.session_id_write(@context, id)
      @id = id
      @text = text
      @data = data
    end

    def lose
      Native.session_id_withdraw(@context)
      @id = nil
      @lost = true
    end

    def take_up(text)
      @text = text
      @data = text ? JSON.parse(text) : {}
    end
  end

  class Context
    # `session[:user_id] = 1`. The application's file must say `sessions`.
    def session = @session ||= (StoredSession.kv ? StoredSession : Session).new(self)

    # For the header x-csrf-token, or a field of the name _csrf. Another text each time, all valid as long as the session.
    def csrf_token = session.csrf_token

    # The field for a form, as HTML that a template does not escape.
    def csrf_field = raw("<input type=\"hidden\" name=\"_csrf\" value=\"#{csrf_token}\">")

    def __check_csrf
      return unless session.stored?

      sent = headers["x-csrf-token"] || (body.form? ? body["_csrf"] : nil)
      return if sent.is_a?(String) && session.csrf_token?(sent)

      raise Refused.new(403, "this form does not come from a page of this site, or that page is too old: load it again. " \
                             "(For its author: the form needs <%= csrf_field %>, or the request the header x-csrf-token.)")
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
    raise KV::Unsupported, "sessions expire, and a store behind a service knows no time to live: open one in this process" if kv.is_a?(KV::Remote)

    Tsumugi::StoredSession.keep(kv, max_age)
    Tsumugi::Native.sessions({ stored: !kv.nil?, name: name, same_site: same_site, max_age: max_age, secure: secure, csrf: csrf, path: path, domain: domain })
  end
end
