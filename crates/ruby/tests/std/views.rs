//! Templates: escaping, layouts, partials, waiting inside, errors on the template's lines.

use std::fs;

use crate::rig::{page, with_app};

/// Writes files, loads app.rb of them and compares the page `/`.
fn check(files: &[(&str, &str)], expected: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("the folder is made");
        fs::write(path, text).expect("the file is written");
    }
    let found = with_app(&folder.path().join("app.rb"), async |app| {
        page(&app, "/").await
    });
    let found = found.unwrap_or_else(|error| error);
    let shown = found.replace(folder.path().to_str().expect("UTF-8"), "");
    assert_eq!(shown, expected);
}

#[test]
fn values_are_escaped_unless_marked() {
    check(
        &[
            (
                "app.rb",
                "get('/') { render 'page', text: '<b>&\"', html: raw('<i>') }",
            ),
            (
                "views/page.erb",
                "<%= text %>|<%= html %>|<%== text %>|<%= nil %>|<%= 1 %>|<%# no %><%% x",
            ),
        ],
        "&lt;b&gt;&amp;&quot;|<i>|<b>&\"||1|<% x",
    );
}

#[test]
fn template_is_rendered_for_each_value_of_a_collection() {
    let files = |app: &'static str| {
        [
            ("app.rb", app),
            ("views/frame.erb", "(<%= yield %>)"),
            (
                "views/page.erb",
                "<%= render 'parts/_item', collection: items, mark: '!' %>|<%= render 'row', collection: items, as: :item %>",
            ),
            ("views/parts/_item.erb", "[<%= item %><%= mark %>]"),
            ("views/row.erb", "<<%= item %>>"),
        ]
    };
    let check = |app, expected| check(&files(app), expected);
    check(
        "views 'views', layout: 'frame'\nget('/') { render 'page', items: ['a', '<'] }",
        "([a!][&lt;!]|<a><&lt;>)",
    );
    check(
        "views 'views', layout: 'frame'\nget('/') { render 'parts/_item', collection: [1, 2].each, mark: '.' }",
        "[1.][2.]",
    );
    check(
        "views 'views', layout: 'frame'\nget('/') { render 'row', collection: [1], as: :item, layout: 'frame' }",
        "(<1>)",
    );
    check(
        "views 'views', layout: 'frame'\nget('/') { render_to_string('row', collection: [1], as: 'item') + render_to_string('page', items: []) }",
        "<1>(|)",
    );
    check(
        "get('/') { begin; render 'row', collection: nil; rescue ArgumentError => e; e.message; end }",
        "collection: takes what has each, not nil",
    );
    check(
        "get('/') { begin; render 'not-a-name', collection: [1]; rescue ArgumentError => e; e.message; end }",
        "\"not-a-name\" is no name of a local variable: say as: :name",
    );
    check(
        "get('/') { begin; render 'row', item: 1, as: :item; rescue ArgumentError => e; e.message; end }",
        "as: names the local of collection:, which is not given",
    );
}

#[test]
fn word_of_the_language_is_no_local_of_a_template() {
    let check = |app| {
        let files = [("app.rb", app), ("views/_class.erb", "?")];
        check(
            &files,
            "class is a word of Ruby and no name of a local variable: give the template another one, in a collection with as: :name",
        );
    };
    check(
        "get('/') { begin; render '_class', collection: [1]; rescue ArgumentError => e; e.message; end }",
    );
    check(
        "get('/') { begin; render '_class', class: 1; rescue ArgumentError => e; e.message; end }",
    );
}

#[test]
fn part_has_no_layout_unless_it_asks_for_one() {
    let files = |app: &'static str| {
        [
            ("app.rb", app),
            ("views/frame.erb", "(<%= yield %>)"),
            ("views/parts/_item.erb", "[<%= item %>]"),
        ]
    };
    let check = |app, expected| check(&files(app), expected);
    check(
        "views 'views', layout: 'frame'\nget('/') { render 'parts/_item', item: 1 }",
        "[1]",
    );
    check(
        "views 'views', layout: 'frame'\nget('/') { render 'parts/_item', item: 1, layout: 'frame' }",
        "([1])",
    );
}

#[test]
fn folder_of_views_that_cannot_be_read_is_an_error_of_the_line_with_the_path() {
    let check = |folder: &str, reason: &str| {
        let app = format!("views '{folder}'\nget('/') {{ 'x' }}");
        let expected = format!(
            "/app.rb:1: ArgumentError: views \"{folder}\": cannot read /{folder}: {reason}"
        );
        check(&[("app.rb", &app)], &expected);
    };
    check("nothere", "No such file or directory (os error 2)");
    check("app.rb", "Not a directory (os error 20)");
}

#[test]
fn layouts_hold_pages_and_pages_hold_partials() {
    check(
        &[
            (
                "app.rb",
                "views 'pages', layout: 'frame'\nhelpers { def shout(s) = s.upcase }\nget('/') { @title = 'T'; render 'list', names: %w[a <] }",
            ),
            (
                "pages/frame.erb",
                "<title><%= @title %></title><%= yield %>.",
            ),
            (
                "pages/list.html.erb",
                "<% names.each do |name| -%>\n<%= render 'parts/item', name: name %>\n<% end -%>\n",
            ),
            ("pages/parts/item.erb", "[<%= shout name %>]"),
        ],
        "<title>T</title>[A]\n[&lt;]\n.",
    );
}

#[test]
fn output_of_a_value_comes_before_its_text() {
    check(
        &[
            ("app.rb", "get('/') { render 'page' }"),
            (
                "views/page.erb",
                "<% bold = ->(s) { %><b><%= s %></b><% nil } %>a<%= bold.call('x') %>c",
            ),
        ],
        "a<b>x</b>c",
    );
}

#[test]
fn locals_of_other_names_are_another_method() {
    check(
        &[
            (
                "app.rb",
                "get('/') { [render_to_string('page', a: 1), render_to_string('page', b: 2), render_to_string('page', a: 3)].join }",
            ),
            (
                "views/page.erb",
                "<%= a rescue 'no' %> <%= b rescue 'none' %>;",
            ),
        ],
        "1 none;no 2;3 none;",
    );
}

#[test]
fn template_may_wait() {
    check(
        &[
            ("app.rb", "get('/') { render 'page' }"),
            (
                "views/page.erb",
                "a<% sleep 0.001 %>b<%= (sleep 0.001; 1) %>",
            ),
        ],
        "ab1",
    );
}

#[test]
fn errors_name_the_line_of_the_template() {
    check(
        &[
            (
                "app.rb",
                "get('/') { render 'page' }\nerror { |e| text \"#{e.message} at #{e.backtrace[0][/[^\\/]*:\\d+/]}\" }",
            ),
            (
                "views/page.erb",
                "a\nb\n<% if true -%>\n<%= raise 'oops' %>\n<% end %>",
            ),
        ],
        "500 oops at page.erb:4",
    );
    check(
        &[
            (
                "app.rb",
                "get('/') { begin; render 'page'; rescue SyntaxError => e; e.message; end }",
            ),
            ("views/page.erb", "a\n<% 1 + ] %>\n"),
        ],
        "/views/page.erb:2: syntax error, unexpected ']'\n    <% 1 + ] %>",
    );
}

#[test]
fn name_stays_in_the_folder() {
    check(
        &[(
            "app.rb",
            "get('/') { begin; render '../app.rb'; rescue ArgumentError => e; e.message; end }",
        )],
        "\"../app.rb\" is no template: a name has no .. and does not begin with /",
    );
}

#[test]
fn endless_nesting_is_an_error() {
    check(
        &[
            (
                "app.rb",
                "get('/') { render 'page' }\nerror(ArgumentError) { |e| text e.message }",
            ),
            ("views/page.erb", "<%= render 'page' %>"),
        ],
        "500 templates render templates deeper than render_depth_max (64): page",
    );
}

#[test]
fn files_are_required_once_and_relative_to_the_requiring_file() {
    check(
        &[
            (
                "app.rb",
                "$log = []\nrequire_relative 'lib/a'\nrequire_relative 'lib/a.rb'\nrequire 'b'\nload 'lib/b.rb'\n\
                 begin; require_relative 'nope'; rescue LoadError => e; $log << e.class; end\n\
                 begin; require_relative 'bad'; rescue SyntaxError => e; $log << e.message.split(' ')[-1]; end\n\
                 get('/') { [$log, A::HERE.split('/').last, require('json')].inspect }",
            ),
            (
                "lib/a.rb",
                "require_relative './b'\nsleep 0.001\n$log << :a\nmodule A; HERE = __dir__; end",
            ),
            ("lib/b.rb", "require_relative 'a'\n$log << :b"),
            ("bad.rb", "x = (\ny = ]\n"),
        ],
        "[[:b, :a, :b, LoadError, \"]\"], \"lib\", false]",
    );
}

#[test]
fn libraries_of_cruby_that_are_not_here_are_named_with_what_to_use() {
    check(
        &[
            (
                "app.rb",
                "$log = []\n%w[date nothing].each { |name| begin; require name; rescue LoadError => e; $log << e.message; end }\n\
                 require 'yaml'\n\
                 get('/') { [$log[0], $log[1].include?('use'), $yaml].inspect }",
            ),
            ("lib/yaml.rb", "$yaml = :own"),
        ],
        "[\"date is not here; use Time, or DB::Date for days of a database\", false, :own]",
    );
}
