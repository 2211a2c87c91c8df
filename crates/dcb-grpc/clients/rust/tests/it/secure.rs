use std::path::Path;
use std::process::Command;

use umadb_client::{ServingStatus, UmaDbClient};
use umadb_dcb::{DcbError, DcbEventStoreAsync as _, DcbResult};

use crate::events::made;
use crate::server::{Backend, Server};

/// Makes a certificate for `localhost` that signs itself.
fn make_certificate(certificate: &Path, key: &Path) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-nodes", "-days", "2", "-newkey", "ec"])
        .args([
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-subj",
            "/CN=localhost",
        ])
        .args(["-addext", "subjectAltName=DNS:localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(key)
        .arg("-out")
        .arg(certificate)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
}

fn is_refused<T>(answer: DcbResult<T>) -> bool {
    matches!(answer, Err(DcbError::AuthenticationError(_)))
}

pub(crate) async fn tls_and_key(backend: Backend) {
    let folder = tempfile::tempdir().unwrap();
    let [certificate, key] = ["server.pem", "server.key"].map(|name| folder.path().join(name));
    make_certificate(&certificate, &key);
    let [certificate, key] = [&certificate, &key].map(|path| path.to_str().unwrap());
    let options = [
        "--grpc-key",
        "secret",
        "--grpc-cert",
        certificate,
        "--grpc-tls-key",
        key,
    ];
    let server = Server::with(backend, &options);
    let trusting = || UmaDbClient::new(server.secure_url()).ca_path(certificate.to_owned());

    let client = trusting().api_key("secret".to_owned());
    let client = client.connect_async().await.unwrap();
    assert_eq!(client.append(vec![made(&[])], None, None).await.unwrap(), 1);
    let mut subscription = client.subscribe(None, None).await.unwrap();
    assert_eq!(subscription.next_batch().await.unwrap().len(), 1);

    for wrong in [None, Some(""), Some("secre"), Some("secret2")] {
        let client = match wrong {
            Some(key) => trusting().api_key(key.to_owned()),
            None => trusting(),
        };
        let client = client.connect_async().await.unwrap();
        assert!(is_refused(client.append(vec![made(&[])], None, None).await));
        assert!(is_refused(client.read(None, None, false, None).await));
        assert!(is_refused(client.subscribe(None, None).await));
        assert!(is_refused(client.head().await));
        assert!(is_refused(client.get_tracking_info("upstream").await));
        // Health needs no key.
        assert_eq!(
            client.check_health("").await.unwrap(),
            ServingStatus::Serving
        );
    }
    assert_eq!(client.head().await.unwrap(), Some(1));

    // A client that does not know the certificate, and one without TLS.
    let stranger = UmaDbClient::new(server.secure_url()).connect_async().await;
    assert!(matches!(stranger, Err(DcbError::TransportError(_))));
    let plain = UmaDbClient::new(server.url()).connect_async().await;
    if let Ok(plain) = plain {
        plain.head().await.unwrap_err();
    }
}
