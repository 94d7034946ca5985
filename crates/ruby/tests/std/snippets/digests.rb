# Digests, HMAC and random values, as CRuby has them. Not what differs on purpose. Every line of output is compared.
require "digest"
require "openssl"
require "securerandom"
p Digest::MD5.hexdigest("abc"), Digest::SHA1.hexdigest("abc"), Digest::SHA256.hexdigest("abc"), Digest::SHA384.hexdigest("abc"), Digest::SHA512.hexdigest("あ"), Digest::SHA256.base64digest(""), Digest::MD5.digest("x").bytes.size
d = Digest::SHA256.new
d << "a"
d.update("bc")
p d.hexdigest, d.to_s
p OpenSSL::HMAC.hexdigest("sha256", "key", "data"), OpenSSL::HMAC.hexdigest("SHA1", "key", "data"), OpenSSL::HMAC.digest("SHA512", "key", "data").bytes.first(4), OpenSSL::HMAC.hexdigest(OpenSSL::Digest.new("SHA256"), "k" * 200, "")
p SecureRandom.hex.size, SecureRandom.hex(4).size, SecureRandom.uuid.match?(/\A\h{8}-\h{4}-4\h{3}-[89ab]\h{3}-\h{12}\z/), SecureRandom.urlsafe_base64.match?(/\A[\w-]{22}\z/), SecureRandom.random_bytes(5).bytesize, (1..200).all? { (0...6).include?(SecureRandom.random_number(6)) }, SecureRandom.random_number.between?(0, 1), SecureRandom.alphanumeric(7).match?(/\A[A-Za-z0-9]{7}\z/), SecureRandom.random_number(3..5).between?(3, 5), SecureRandom.base64(3).size, SecureRandom.hex != SecureRandom.hex
