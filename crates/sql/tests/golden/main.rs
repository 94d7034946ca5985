//! What the writer makes of each method in each dialect, as text files beside this one: a case is its name and three statements.
//! Not whether databases take it. Rule: `BLESS=1 cargo test` writes the files anew; whoever does that reads the difference.

mod changing;
mod conditions;
mod pages;
mod reading;
mod schema;

use std::fmt::Write;
use std::path::PathBuf;

use tsumugi_sql::{Dialect, FIREBIRD, POSTGRES, Result, SQLITE, Statement};

/// The cases of one file.
struct Golden {
    name: &'static str,
    text: String,
}

impl Golden {
    fn of(name: &'static str) -> Self {
        let text = String::new();
        Self { name, text }
    }

    /// One statement in each dialect.
    fn case(&mut self, title: &str, statement: impl Fn(&'static Dialect) -> Result<Statement>) {
        self.cases(title, |dialect| Ok(vec![statement(dialect)?]));
    }

    /// Several statements in each dialect.
    fn cases(&mut self, title: &str, of: impl Fn(&'static Dialect) -> Result<Vec<Statement>>) {
        writeln!(self.text, "# {title}").unwrap();
        for dialect in [&SQLITE, &POSTGRES, &FIREBIRD] {
            let name = dialect.name;
            match of(dialect) {
                Ok(statements) if statements.is_empty() => {
                    writeln!(self.text, "{name:<10} nothing").unwrap();
                }
                Ok(statements) => {
                    for Statement { sql, binds } in statements {
                        write!(self.text, "{name:<10} {sql}").unwrap();
                        if !binds.is_empty() {
                            write!(self.text, "  <- {}", shown(&binds)).unwrap();
                        }
                        self.text.push('\n');
                    }
                }
                Err(error) => writeln!(self.text, "{name:<10} refused: {error}").unwrap(),
            }
        }
        self.text.push('\n');
    }

    #[track_caller]
    fn check(self) {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("tests/goldens")
            .join(format!("{}.txt", self.name));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &self.text).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap();
        for (line, (is, wanted)) in self.text.lines().zip(expected.lines()).enumerate() {
            assert_eq!(is, wanted, "{}:{}", path.display(), line + 1);
        }
        assert_eq!(self.text.lines().count(), expected.lines().count());
    }
}

fn shown(binds: &[tsumugi_sql::Value]) -> String {
    use tsumugi_sql::Value;
    let each = binds.iter().map(|bind| match bind {
        Value::Null => "null".to_owned(),
        Value::Boolean(of) => of.to_string(),
        Value::Integer(of) => of.to_string(),
        Value::Real(of) => format!("{of:?}"),
        Value::Text(of) => format!("{of:?}"),
        other => format!("{other:?}"),
    });
    each.collect::<Vec<_>>().join(", ")
}
