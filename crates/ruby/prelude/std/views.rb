# Templates and layouts: `render "users/show", user: user` in a handler answers views/users/show.erb as HTML, escaped by default.
# `<%= text %>` escapes, `<%== html %>` and `raw(html)` do not. A template is a method of the handler's object: it may wait.
module Tsumugi
  module Views
    # HTML that needs no escaping.
    class Safe
      def initialize(text)
        @text = text
      end

      def to_s = @text
      alias to_str to_s
      alias html_safe itself
      def +(other) = Safe.new(@text + Views.text(other))
      def empty? = @text.empty?
      def inspect = "raw(#{@text.inspect})"
    end

    # What `<%= %>` writes.
    def self.text(value) = Native.html_text(value)

    DEPTH_MAX = Native.render_depth_max

    # Methods made of templates.
    module Compiled; end

    @compiled = {}
    @layout = nil

    class << self
      attr_accessor :layout

      def folder=(folder)
        @folder = Files.beside(Native.source_main, folder)
      end

      def folder = @folder ||= Files.beside(Native.source_main, "views")

      # The method of a template for locals of these names. Reading it parks; in production it is read once.
      def method_of(name, locals)
        known = Native.view_known(name, locals)
        return known if known

        file, _, text = Native.source_read(candidates(name))
        names = locals.keys
        key = [name, names]
        found = @compiled[key]
        return found[0] if found && found[1] == text

        method = found ? found[0] : :"__view_#{@compiled.size}"
        Tsumugi.run_program(Native.source_compile(file, program(file, text, method, names), text))
        @compiled[key] = [method, text]
        Native.view_learn(name, locals, method)
        method
      end

      private

      def candidates(name)
        raise ArgumentError, "#{name.inspect} is no template: a name has no .. and does not begin with /" if name.start_with?("/") || name.split("/").include?("..")

        path = folder == "." ? name : "#{folder}/#{name}"
        ["#{path}.erb", "#{path}.html.erb", path]
      end

      # On the template's own lines.
      def program(file, text, method, names)
        locals = names.map { |local| "#{local} = __locals[:#{local}]; " }.join
        body = Native.template_translate(file, text)
        "module Tsumugi::Views::Compiled; def #{method}(__locals); #{locals}__html = ::Tsumugi::Native; __out = __html.page; #{body}\n__out; end; end"
      end
    end

    # What handlers call.
    module Methods
      # Answers a template. Inside a template: its text, to be written with `<%= %>`. `layout: "name"` puts it where that
      # template says `yield`; `layout: false` leaves the application's own layout out.
      def render(name, layout: Views.layout, status: nil, type: "text/html; charset=utf-8", **locals)
        return Views::Safe.new(Native.page_string(__view(name, locals))) if @__rendering

        page = __page(name, layout, locals)
        Native.status(self, status) if status
        Native.text(self, page, type)
        RESPONDED
      end

      # The text of a template.
      def render_to_string(name, layout: Views.layout, **locals) = Native.page_string(__page(name, layout, locals))

      # Marks HTML as such.
      def raw(html) = Views::Safe.new(html.to_s)
      def h(text) = Views.text(text)

      # In its layout.
      def __page(name, layout, locals)
        outer = @__rendering
        @__rendering = 0
        page = __view(name, locals)
        return page unless layout

        page = Views::Safe.new(Native.page_string(page))
        __view(layout, locals) { |part = nil| part ? nil : page }
      ensure
        @__rendering = outer
      end

      def __view(name, locals, &block)
        @__rendering += 1
        raise ArgumentError, "templates render templates deeper than render_depth_max (#{DEPTH_MAX}): #{name}" if @__rendering > DEPTH_MAX

        number = Native.span_begin("template", name.to_s) if Native.is_observed
        __send__(Views.method_of(name.to_s, locals), locals, &block)
      ensure
        Native.span_end(number, nil) if number
        @__rendering -= 1
      end
    end
  end

  class Context
    include Views::Compiled
    include Views::Methods
  end

  class TimerContext
    include Views::Compiled
    include Views::Methods
  end
end

class << self
  # Where templates are, from the application's folder, and the layout that pages are put in: `views "pages", layout: "frame"`.
  def views(folder, layout: nil)
    Tsumugi::Views.folder = folder
    Tsumugi::Views.layout = layout
    nil
  end
end
