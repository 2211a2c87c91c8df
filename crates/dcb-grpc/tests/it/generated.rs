//! The generated code is that of `proto/dcb.proto`.

use std::path::Path;

use protox::Compiler;

#[test]
fn generated_code_is_current() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut compiler = Compiler::new([package.join("proto")]).unwrap();
    let file = compiler.include_source_info(true).open_file("dcb.proto");
    let files = file.unwrap().file_descriptor_set();
    let folder = tempfile::tempdir().unwrap();
    tonic_prost_build::configure()
        // A client brings its own channel.
        .build_transport(false)
        .out_dir(folder.path())
        .compile_fds(files)
        .unwrap();
    let current = std::fs::read_to_string(folder.path().join("umadb.v1.rs")).unwrap();
    let committed = package.join("src/generated.rs");
    if std::env::var_os("DCB_GRPC_GENERATE").is_some() {
        std::fs::write(&committed, &current).unwrap();
    }
    let committed = std::fs::read_to_string(committed).unwrap();
    assert!(
        committed == current,
        "src/proto.rs has the command that generates the code again"
    );
}
