//! A Ruby application below a prefix: its files are found, and what it sends clients to has the prefix. Knows no database.

use http::Method;
use tsumugi::{Router, Ruby, trial};

/// Status and `Location` of the answer to a GET.
fn check(cases: &[(&str, u16, Option<&str>)]) {
    let directory = tempfile::tempdir().unwrap();
    let app = directory.path().join("app.rb");
    std::fs::write(&app, "public\npublic 'public', at: '/files'\n").unwrap();
    for folder in ["public", "public/sub"] {
        std::fs::create_dir(directory.path().join(folder)).unwrap();
        std::fs::write(directory.path().join(folder).join("index.html"), folder).unwrap();
    }
    let routes = || Router::<()>::new().mount("/old", Ruby::new(&app));
    trial::run(routes, async |client| {
        for (path, status, location) in cases {
            for method in [Method::GET, Method::HEAD] {
                let reply = client.request(method.clone(), path).await;
                assert_eq!(
                    (reply.status.as_u16(), reply.header("location")),
                    (*status, *location),
                    "{method} {path}"
                );
            }
        }
    });
}

#[test]
fn folder_below_a_prefix_redirects_to_itself() {
    check(&[
        ("/old/sub", 308, Some("/old/sub/")),
        ("/old/sub?x=1", 308, Some("/old/sub/?x=1")),
        ("/old/files", 308, Some("/old/files/")),
        ("/old/files/sub", 308, Some("/old/files/sub/")),
        ("/old/sub/", 200, None),
        ("/old/", 200, None),
        ("/old/none", 404, None),
    ]);
}

#[test]
fn prefix_itself_redirects_to_the_folder_below_it() {
    check(&[
        ("/old", 308, Some("/old/")),
        ("/old?x=1", 308, Some("/old/?x=1")),
    ]);
}
