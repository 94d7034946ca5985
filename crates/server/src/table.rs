//! Rows of text as columns that are as wide as their widest entry, as a terminal shows them. Decides nothing about what is in them.

use unicode_width::UnicodeWidthStr as _;

/// A line for each row. The last column is as wide as it is, and one with nothing in it takes no room.
pub fn aligned<R: AsRef<[C]>, C: AsRef<str>>(rows: &[R]) -> String {
    let columns = rows.iter().map(|row| row.as_ref().len()).max().unwrap_or(0);
    let width = |column: usize| {
        let entries = rows.iter().filter_map(|row| row.as_ref().get(column));
        let widths = entries.map(|entry| entry.as_ref().width());
        widths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (entry, width) in row.as_ref().iter().zip(&widths) {
            if *width == 0 {
                continue;
            }
            let entry = entry.as_ref();
            line.push_str(entry);
            line.extend(std::iter::repeat_n(' ', width - entry.width() + 2));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The same with the columns' names and a line below them.
pub fn titled(columns: &[String], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let entries = rows.iter().filter_map(|row| row.get(column));
        let widths = entries
            .chain(columns.get(column))
            .map(|entry| entry.width());
        widths.max().unwrap_or(0)
    };
    let lines = (0..columns.len()).map(|column| "-".repeat(width(column)));
    let mut all = vec![columns.to_vec(), lines.collect()];
    all.extend(rows.iter().cloned());
    aligned(&all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_entry() {
        let rows = [
            ["GET", "/", "", "app.rb:1"],
            ["DELETE", "/users/:id", "id: Integer", "app.rb:1"],
        ];
        let expected = "GET     /                        app.rb:1\n\
                        DELETE  /users/:id  id: Integer  app.rb:1\n";
        assert_eq!(aligned(&rows), expected);
        assert_eq!(aligned::<[&str; 2], &str>(&[]), "");
    }

    #[test]
    fn letters_of_double_width_are_counted_so() {
        let row = |of: [&str; 2]| of.map(str::to_owned).to_vec();
        let rows = [row(["1", "糸"]), row(["紡ぎ", "x"])];
        let columns = row(["id", "name"]);
        let expected = "id    name\n----  ----\n1     糸\n紡ぎ  x\n";
        assert_eq!(titled(&columns, &rows), expected);
    }
}
