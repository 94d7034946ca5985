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

    # What was rendered, as text.
    def self.string(page) = page.is_a?(String) ? page : Native.page_string(page)

    DEPTH_MAX = Native.render_depth_max

    # What a keyword is that the caller has left out.
    UNSET = Object.new

    # No locals: words of the language, and what templates are made with.
    WORDS = %i[
      __ENCODING__ __FILE__ __LINE__ __html __locals __out BEGIN END alias and begin break case class def do else elsif end ensure false for if in
      module next nil not or redo rescue retry return self super then true undef unless until when while yield
    ]

    # Methods made of templates.
    module Compiled; end

    @compiled = {}
    @layout = nil

    class << self
      attr_accessor :layout

      def folder=(folder)
        path = Files.beside(Native.source_main, folder.to_s)
        wrong = Native.folder_missing(path)
        raise ArgumentError, "views #{folder.to_s.inspect}: cannot read #{path}: #{wrong}" if wrong

        @folder = path
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

        names.each { |local| check_local(local) }
        method = found ? found[0] : :"__view_#{@compiled.size}"
        Tsumugi.run_program(Native.source_compile(file, program(file, text, method, names), text))
        @compiled[key] = [method, text]
        Native.view_learn(name, locals, method)
        method
      end

      # Parts are named with _ in front: `render "users/_row"` has no layout.
      def part?(name) = name.split("/").last.to_s.start_with?("_")

      # What a template calls the value of a collection that it is rendered for: `user` in users/_user.
      def local_of(name)
        local = name.split("/").last.to_s
        local = local[1..-1] while local.start_with?("_")
        raise ArgumentError, "#{name.inspect} is no name of a local variable: say as: :name" unless local =~ /\A[a-z_][A-Za-z0-9_]*\z/

        local.to_sym
      end

      # Refuses what Ruby takes for something else in front of `=`.
      def check_local(name)
        return unless WORDS.include?(name)

        raise ArgumentError, "#{name} is a word of Ruby and no name of a local variable: give the template another one, in a collection with as: :name"
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
      # template says `yield`; `layout: false` leaves the application's own layout out. A template named with _ in front (`_row`) has none unless
      # `layout:` says one. `collection: users` renders it for each of them, as the local of its own name or of `as:`, without a layout.
      def render(name, layout: Views::UNSET, collection: Views::UNSET, as: Views::UNSET, status: nil, type: "text/html; charset=utf-8", **locals)
        return Views::Safe.new(Views.string(__parts(name.to_s, collection, as, locals))) if @__rendering

        page = __page(name.to_s, layout, collection, as, locals)
        Native.status(self, status) if status
        Native.text(self, page, type)
        RESPONDED
      end

      # The text of a template.
      def render_to_string(name, layout: Views::UNSET, collection: Views::UNSET, as: Views::UNSET, **locals)
        Views.string(__page(name.to_s, layout, collection, as, locals))
      end

      # Marks HTML as such.
      def raw(html) = Views::Safe.new(html.to_s)
      def h(text) = Views.text(text)

      # In its layout, unless it is a part.
      def __page(name, layout, collection, as, locals)
        is_part = Views.part?(name) || !Views::UNSET.equal?(collection)
        layout = is_part ? nil : Views.layout if Views::UNSET.equal?(layout)
        outer = @__rendering
        @__rendering = 0
        page = __parts(name, collection, as, locals)
        return page unless layout

        page = Views::Safe.new(Views.string(page))
        __view(layout, locals) { |part = nil| part ? nil : page }
      ensure
        @__rendering = outer
      end

      # A template, or the text of one for each value of a collection.
      def __parts(name, collection, as, locals)
        names_local = !Views::UNSET.equal?(as)
        if Views::UNSET.equal?(collection)
          raise ArgumentError, "as: names the local of collection:, which is not given" if names_local

          return __view(name, locals)
        end
        raise ArgumentError, "collection: takes what has each, not #{collection.inspect}" unless collection.respond_to?(:each)

        local = names_local && as ? as.to_sym : Views.local_of(name)
        parts = []
        method = nil
        collection.each do |value|
          all = locals.merge(local => value)
          method ||= Views.method_of(name, all)
          parts << Native.page_string(__view(name, all, method))
        end
        parts.join
      end

      def __view(name, locals, method = nil, &block)
        @__rendering += 1
        raise ArgumentError, "templates render templates deeper than render_depth_max (#{DEPTH_MAX}): #{name}" if @__rendering > DEPTH_MAX

        number = Native.span_begin("template", name.to_s) if Native.is_observed
        __send__(method || Views.method_of(name.to_s, locals), locals, &block)
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
  # Where templates are, from the application's folder, where it must be, and the layout that pages are put in: `views "pages", layout: "frame"`.
  def views(folder, layout: nil)
    Tsumugi::Views.folder = folder
    Tsumugi::Views.layout = layout
    nil
  end
end
