# Mails: `mail to: "ann@example.org", subject: "…", text: "…"`. Other requests run while one is sent. Where mails go says SMTP_URL, never the
# application; what clients put into a mail cannot begin a header field.
module Mail
  # Every failure. The application may have sent nothing, or the server may have it: see the classes.
  class Error < StandardError; end
  # Nothing was sent. Fix the mail.
  class Invalid < Error; end
  # The server refuses it, and would again.
  class Refused < Error; end
  # No server, no answer in time, or one that asks to come again: another attempt may help. The server may have the mail.
  class Unavailable < Error; end

  OPTIONS = %i[to cc bcc from reply_to subject text html headers attachments]

  # A mail that a test has collected.
  class Collected
    attr_reader :from, :to, :cc, :bcc, :reply_to, :subject, :text, :html, :headers, :attachments

    def initialize(from, to, cc, bcc, reply_to, subject, text, html, headers, files)
      @from = from
      @to = to
      @cc = cc
      @bcc = bcc
      @reply_to = reply_to
      @subject = subject
      @text = text
      @html = html
      @headers = headers.each_with_object({}) { |(name, value), all| all[name] = value }
      @attachments = files.map { |name, type, body| { name: name, type: type, body: body } }
    end

    def inspect = "#<Mail to #{(to + cc + bcc).join(', ')}: #{subject.inspect}>"
  end

  class << self
    # The id of the mail.
    def deliver(mail)
      unknown = mail.keys - OPTIONS
      raise ArgumentError, "a mail has no #{unknown.first}:" unless unknown.empty?

      files = (mail[:attachments] || []).map { |file| attachment(file) }
      headers = (mail[:headers] || {}).map { |name, value| [name.to_s, value.to_s] }
      Tsumugi::Native.mail_send(mail[:from], list(mail[:to]), list(mail[:cc]), list(mail[:bcc]), mail[:reply_to], mail[:subject],
                                mail[:text], mail[:html], headers, files)
    end

    def collected = Tsumugi::Native.mails_collected.map { |parts| Collected.new(*parts) }

    private

    def list(addresses)
      return [] if addresses.nil?

      addresses.is_a?(Array) ? addresses : [addresses]
    end

    def attachment(file)
      unless file.is_a?(Hash) && (file.keys - %i[name type body]).empty? && file[:name]
        raise ArgumentError, "an attachment is a Hash with name:, body: and type:, not #{file.inspect[0, 80]}"
      end

      [file[:name], file[:type] || "application/octet-stream", file[:body]]
    end
  end
end

module Kernel
  # Sends a mail; its id. `to: cc: bcc:` are an address or several, `text:` and `html:` what it says, `attachments:` Hashes of `name: type: body:`.
  def mail(**options) = Mail.deliver(options)
end
