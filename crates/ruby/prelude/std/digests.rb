# SecureRandom, Digest, HMAC as in CRuby, and Password. Hashing a password parks: it is slow on purpose.
module SecureRandom
  LETTERS = ("A".."Z").to_a + ("a".."z").to_a + ("0".."9").to_a

  class << self
    def random_bytes(count = nil) = Tsumugi::Native.random_bytes(count || 16)
    alias bytes random_bytes
    def hex(count = nil) = random_bytes(count).unpack("H*")[0]
    def base64(count = nil) = Base64.strict_encode64(random_bytes(count))
    def urlsafe_base64(count = nil, padding = false) = Base64.urlsafe_encode64(random_bytes(count), padding: padding)

    def uuid
      digits = hex(16)
      digits = "#{digits[0, 12]}4#{digits[13, 3]}#{'89ab'[digits[16].to_i(16) & 3]}#{digits[17..-1]}"
      [digits[0, 8], digits[8, 4], digits[12, 4], digits[16, 4], digits[20, 12]].join("-")
    end

    # An Integer below +limit+ or within a Range, each as likely as the other; without a limit a Float below 1.
    def random_number(limit = 0)
      if limit.is_a?(Range)
        last = limit.exclude_end? ? limit.end - 1 : limit.end
        return limit.begin + random_number(last - limit.begin + 1)
      end
      return (hex(7).to_i(16) >> 3) / 9_007_199_254_740_992.0 if limit.nil? || limit == 0
      return random_number * limit if limit.is_a?(Float)

      bytes = (limit.bit_length + 7) / 8
      range = 256**bytes
      while true
        number = hex(bytes).to_i(16)
        return number % limit if number < range - range % limit
      end
    end
    alias rand random_number

    def alphanumeric(count = nil) = Array.new(count || 16) { LETTERS[random_number(LETTERS.size)] }.join
    def choose(from, count) = Array.new(count) { from[random_number(from.size)] }.join
  end
end

module Digest
  class Base
    class << self
      def digest(data) = Tsumugi::Native.digest(name.split("::")[-1], data)
      def hexdigest(data) = digest(data).unpack("H*")[0]
      def base64digest(data) = Base64.strict_encode64(digest(data))
    end

    def initialize
      @data = ""
    end

    def update(data)
      @data << data
      self
    end
    alias << update

    def digest = self.class.digest(@data)
    def hexdigest = self.class.hexdigest(@data)
    def base64digest = self.class.base64digest(@data)
    alias to_s hexdigest

    def reset
      @data = ""
      self
    end
  end

  class MD5 < Base; end
  class SHA1 < Base; end
  class SHA256 < Base; end
  class SHA384 < Base; end
  class SHA512 < Base; end

  # `Digest::SHA2.hexdigest(data)` is SHA-256.
  SHA2 = SHA256
end

module OpenSSL
  # A digest's name as an object: `OpenSSL::Digest.new("SHA256")`.
  class Digest
    attr_reader :name

    def initialize(name)
      @name = name.to_s.upcase.delete("-")
    end
    alias to_s name
  end

  class HMAC
    class << self
      def digest(algorithm, key, data) = Tsumugi::Native.hmac(algorithm.to_s.upcase.delete("-"), key, data)
      def hexdigest(algorithm, key, data) = digest(algorithm, key, data).unpack("H*")[0]
      def base64digest(algorithm, key, data) = Base64.strict_encode64(digest(algorithm, key, data))
    end
  end

  def self.secure_compare(a, b) = Tsumugi.secure_compare(a, b)
  def self.fixed_length_secure_compare(a, b) = Tsumugi.secure_compare(a, b)
end
HMAC = OpenSSL::HMAC

module Tsumugi
  # Equality in a time that does not depend on where two secrets differ.
  def self.secure_compare(a, b) = Native.secure_compare(a, b)
end

# Passwords as argon2id hashes: `Password.create("secret")` -> text for the database, `Password.verify("secret", text)`.
module Password
  def self.create(password) = Tsumugi::Native.password_create(password)
  def self.verify(password, hash) = Tsumugi::Native.password_verify(password, hash)
end
