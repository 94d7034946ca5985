//! Generates messages, services and descriptor from the files in proto/ into Cargo's own folder. Needs no protoc.
//! Bytes stay pieces of the buffer they arrived in; the client is written by hand, so none is generated.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use prost::Message as _;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let mut files = protox::compile(["tkrzw_rpc.proto", "tsumugi_kv.proto"], ["proto"])?;
    let folder = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(folder.join("services.bin"), files.encode_to_vec())?;
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
        .bytes(".")
        .compile_fds(files)?;
    Ok(())
}
