//! The generated code beside `proto/`: equal to what is generated from it now. `UPDATE_GENERATED=1` writes it anew.
//! It is kept, so that neither the generator nor a compiler of protobuf is built with the server.
//! Bytes stay pieces of the buffer they arrived in; the client is written by hand, so none is generated.

use std::fs;
use std::path::Path;

use prost::Message as _;

/// Writes messages, services and their description from the files in `proto` into a folder.
fn generate(folder: &Path) {
    let proto = Path::new(env!("CARGO_MANIFEST_DIR")).join("proto");
    let mut files = protox::compile(["tkrzw_rpc.proto", "tsumugi_kv.proto"], [proto]).unwrap();
    fs::write(folder.join("services.bin"), files.encode_to_vec()).unwrap();
    // The calls of one message and one answer are served without the generated service (`src/server/unary.rs`).
    let files_of_service = files.file.iter_mut().flat_map(|file| &mut file.service);
    for service in files_of_service {
        let methods = &mut service.method;
        methods.retain(|method| method.client_streaming() || method.server_streaming());
    }
    tonic_prost_build::configure()
        .build_client(false)
        .build_transport(false)
        .codec_path("crate::server::SmallBuffers")
        .server_mod_attribute(".", "#[cfg(feature = \"service\")]")
        .bytes(".")
        .out_dir(folder)
        .compile_fds(files)
        .unwrap();
}

#[test]
fn generated_code_is_what_the_protocol_files_make() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("generated");
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        fs::create_dir_all(&kept).unwrap();
        generate(&kept);
    }
    let made = tempfile::tempdir().unwrap();
    generate(made.path());
    let names = |folder: &Path| {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&kept), names(made.path()));
    for name in names(&kept) {
        let equal =
            fs::read(kept.join(&name)).unwrap() == fs::read(made.path().join(&name)).unwrap();
        assert!(
            equal,
            "generated/{} is out of date: UPDATE_GENERATED=1 cargo test --package tsumugi-rpc --test proto_files",
            name.display()
        );
    }
}
