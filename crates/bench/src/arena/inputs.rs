//! What the profiles of the suite arena read: the dataset, the files, the table, a certificate. Made here, the same for every program.
//! Rule: the files have no compressed copies beside them, so that no program sends what another one has to make.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::programs::find;
use crate::psql::Psql;
use crate::stop::StopFlag;

/// Items of the dataset.
pub const ITEMS: usize = 50;
/// Rows of the table `items`.
pub const ROWS: usize = 100_000;
/// Prices of rows and items are from 1 to this.
const PRICE_MAX: usize = 500;
const CATEGORIES: [&str; 5] = ["electronics", "tools", "office", "books", "garden"];
const TAGS: [&str; 6] = ["new", "sale", "popular", "light", "steel", "wireless"];

/// The static files: name, bytes, media type.
pub const FILES: [(&str, usize, &str); 20] = [
    ("reset.css", 8_192, "text/css"),
    ("layout.css", 25_600, "text/css"),
    ("theme.css", 18_432, "text/css"),
    ("components.css", 204_800, "text/css"),
    ("utilities.css", 61_440, "text/css"),
    ("analytics.js", 12_288, "application/javascript"),
    ("helpers.js", 22_528, "application/javascript"),
    ("app.js", 204_800, "application/javascript"),
    ("vendor.js", 307_200, "application/javascript"),
    ("router.js", 35_840, "application/javascript"),
    ("header.html", 122_880, "text/html"),
    ("footer.html", 56_320, "text/html"),
    ("regular.woff2", 18_432, "font/woff2"),
    ("bold.woff2", 22_528, "font/woff2"),
    ("logo.svg", 15_344, "image/svg+xml"),
    ("icon-sprite.svg", 71_680, "image/svg+xml"),
    ("hero.webp", 46_080, "image/webp"),
    ("thumb1.webp", 8_192, "image/webp"),
    ("thumb2.webp", 6_144, "image/webp"),
    ("manifest.json", 2_883, "application/json"),
];

/// The inputs in a folder.
pub struct ArenaInputs {
    /// The items as JSON.
    pub dataset: PathBuf,
    /// The items as a constant in Ruby, for an application beside it.
    pub dataset_ruby: PathBuf,
    /// The folder of the static files.
    pub files: PathBuf,
    /// A certificate for localhost, in PEM.
    pub certificate: PathBuf,
    /// The private key of the certificate, in PEM.
    pub key: PathBuf,
    /// The table `items`, if there is a database.
    pub database: Option<String>,
}

impl ArenaInputs {
    /// Writes them into `folder`, and the table into the database.
    pub fn write(folder: &Path, database: Option<String>, stop: &StopFlag) -> Result<ArenaInputs> {
        let inputs = ArenaInputs {
            dataset: folder.join("dataset.json"),
            dataset_ruby: folder.join("dataset.rb"),
            files: folder.join("static"),
            certificate: folder.join("server.crt"),
            key: folder.join("server.key"),
            database,
        };
        let items: Vec<Value> = (0..ITEMS).map(item).collect();
        let items = Value::Array(items).to_string();
        fs::write(&inputs.dataset, &items)?;
        // JSON without null is Ruby as well; its keys are Symbols there.
        fs::write(&inputs.dataset_ruby, format!("ITEMS = {items}.freeze\n"))?;
        fs::create_dir_all(&inputs.files)?;
        for (name, bytes, _) in FILES {
            fs::write(inputs.files.join(name), content(name, bytes))?;
        }
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
        fs::write(&inputs.certificate, made.cert.pem())?;
        fs::write(&inputs.key, made.signing_key.serialize_pem())?;
        if let Some(url) = &inputs.database {
            let program = find("psql").context("there is no psql: install postgresql-client")?;
            let psql = Psql::new(program, url);
            psql.ask("drop table if exists items", stop)?;
            psql.ask(&table(), stop)?;
            psql.ask("vacuum analyze items", stop)?;
        }
        Ok(inputs)
    }
}

/// An item of the dataset.
fn item(number: usize) -> Value {
    let tags: Vec<&str> = (0..=number % 4)
        .map(|at| TAGS[(number + at) % TAGS.len()])
        .collect();
    json!({
        "id": number + 1,
        "name": format!("Alpha Item {}", number + 1),
        "category": CATEGORIES[number % CATEGORIES.len()],
        "price": (number * 37 + 11) % PRICE_MAX + 1,
        "quantity": (number * 13 + 5) % 97 + 1,
        "active": !number.is_multiple_of(3),
        "tags": tags,
        "rating": { "score": number * 7 % 50 + 1, "count": number * 29 % 300 + 1 },
    })
}

/// So many bytes that look like what the name says: words for texts, noise for fonts and images.
fn content(name: &str, bytes: usize) -> Vec<u8> {
    const WORDS: [&str; 8] = [
        "margin",
        "display",
        "function",
        "return",
        "container",
        "padding",
        "border",
        "value",
    ];
    let is_text = !name.ends_with(".woff2") && !name.ends_with(".webp");
    let mut state = name.bytes().fold(1_469_598_103_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211)
    });
    let mut made = Vec::with_capacity(bytes + 16);
    while made.len() < bytes {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        match is_text {
            true => {
                let word = WORDS[(state % 8) as usize];
                made.extend_from_slice(
                    format!("{word}-{}: {};\n", state % 97, state % 1_009).as_bytes(),
                );
            }
            false => made.extend_from_slice(&state.to_le_bytes()),
        }
    }
    made.truncate(bytes);
    made
}

/// The table and its rows. Prices have no index: a query by price reads the table.
fn table() -> String {
    let list = |words: &[&str]| format!("array['{}']", words.join("','"));
    let (categories, tags) = (list(&CATEGORIES), list(&TAGS));
    format!(
        "create table items (id integer primary key, name text not null, category text not null, price integer not null, \
           quantity integer not null, active boolean not null, tags jsonb not null, rating_score integer not null, \
           rating_count integer not null); \
         insert into items select n, 'Item ' || n, ({categories})[1 + n % {}], 1 + n * 7919 % {PRICE_MAX}, 1 + n * 31 % 1000, n % 2 = 0, \
           to_jsonb(({tags})[1 + n % 3 : 2 + n % 5]), 1 + n % 50, 1 + n % 500 from generate_series(1, {ROWS}) n",
        CATEGORIES.len(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_announced_bytes_and_differ() {
        let made: Vec<Vec<u8>> = FILES.map(|(name, bytes, _)| content(name, bytes)).to_vec();
        assert!(
            made.iter()
                .zip(FILES)
                .all(|(made, (_, bytes, _))| made.len() == bytes)
        );
        assert_ne!(made[16][..64], made[17][..64]);
    }

    #[test]
    fn items_have_what_the_profiles_read() {
        for number in 0..ITEMS {
            let item = item(number);
            let price = item["price"].as_u64().unwrap();
            assert!((1..=PRICE_MAX as u64).contains(&price), "{item}");
            assert!(item["tags"].as_array().is_some_and(|tags| !tags.is_empty()));
            assert!(item["rating"]["score"].is_u64());
        }
    }
}
