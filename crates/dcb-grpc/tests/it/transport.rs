//! Keys, TLS and the old path.

use std::fs;

use dcb_core::EventStore as _;
use dcb_grpc::proto::dcb_client::DcbClient;
use dcb_grpc::proto::error_response::ErrorType;
use dcb_grpc::proto::{
    AppendRequest, AppendResponse, HeadRequest, ReadRequest, SubscribeRequest, TrackingRequest,
};
use dcb_grpc::{ServeError, Server};
use http::uri::PathAndQuery;
use local_postgres::Certificates;
use tonic::transport::{Certificate, Channel, ClientTlsConfig};
use tonic::{Code, Request, Status};
use tonic_health::pb::health_check_response::ServingStatus;

use crate::health::health;
use crate::support::{Log, Served, append, error_type, event};

/// The results of all calls with this value of the header `authorization`.
async fn calls(
    client: &mut DcbClient<Channel>,
    authorization: Option<&str>,
) -> [Result<(), Status>; 5] {
    fn with<T>(message: T, authorization: Option<&str>) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(value) = authorization {
            let value = value.parse().unwrap();
            request.metadata_mut().insert("authorization", value);
        }
        request
    }
    let key = authorization;
    let events = append(event("Made", &[]));
    [
        client.head(with(HeadRequest {}, key)).await.map(drop),
        client.append(with(events, key)).await.map(drop),
        client
            .read(with(ReadRequest::default(), key))
            .await
            .map(drop),
        client
            .subscribe(with(SubscribeRequest::default(), key))
            .await
            .map(drop),
        client
            .get_tracking_info(with(TrackingRequest::default(), key))
            .await
            .map(drop),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn each_call_needs_the_key() {
    let log = Log::memory().await;
    let served = Served::with(log, |server| server.key("secret")).await;
    let mut client = served.client().await;
    for wrong in [
        None,
        Some("Bearer"),
        Some("Bearer "),
        Some("Bearer secre"),
        Some("Bearer secret "),
        Some("Bearer secreT"),
        Some("Bearer secretsecret"),
        Some("Basic secret"),
        Some("secret"),
    ] {
        for answer in calls(&mut client, wrong).await {
            let status = answer.unwrap_err();
            assert_eq!(status.code(), Code::Unauthenticated, "{wrong:?}");
            assert_eq!(error_type(&status), ErrorType::Authentication);
        }
    }
    assert_eq!(served.store.head().await.unwrap(), None);
    for answer in calls(&mut client, Some("Bearer secret")).await {
        answer.unwrap();
    }
    // Health needs none.
    assert_eq!(health(&served, "").await, ServingStatus::Serving);
    drop(client);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_encrypts() {
    let certificates = Certificates::make();
    let [certificate, key] = certificates.server().map(|file| fs::read(file).unwrap());
    let log = Log::memory().await;
    let served = Served::with(log, |server| server.tls(&certificate, &key).unwrap()).await;
    let root = Certificate::from_pem(fs::read(certificates.root()).unwrap());
    let tls = ClientTlsConfig::new()
        .ca_certificate(root)
        .domain_name("localhost");
    let url = format!("https://{}", served.address);
    let endpoint = Channel::from_shared(url).unwrap().tls_config(tls).unwrap();
    let mut client = DcbClient::new(endpoint.connect().await.unwrap());
    client.append(append(event("Made", &[]))).await.unwrap();
    // A client without TLS gets nothing.
    let mut plain = DcbClient::new(served.endpoint().connect_lazy());
    plain.head(HeadRequest {}).await.unwrap_err();
    drop((client, plain));
    served.stop().await;
}

#[tokio::test]
async fn unusable_certificates_are_refused() {
    let server = Server::new(dcb_core::MemoryStore::new());
    assert!(matches!(
        server.tls(b"not PEM", b"not PEM"),
        Err(ServeError::Tls(_))
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn old_path_leads_to_the_service() {
    let served = Served::new(Log::memory().await).await;
    let mut client = tonic::client::Grpc::new(served.endpoint().connect().await.unwrap());
    client.ready().await.unwrap();
    let path = PathAndQuery::from_static("/umadb.UmaDBService/Append");
    let codec = tonic_prost::ProstCodec::<AppendRequest, AppendResponse>::default();
    let request = Request::new(append(event("Made", &[])));
    let answer = client.unary(request, path, codec).await.unwrap();
    assert_eq!(answer.into_inner().position, 1);

    client.ready().await.unwrap();
    let path = PathAndQuery::from_static("/umadb.UmaDBService/NoSuchCall");
    let codec = tonic_prost::ProstCodec::<AppendRequest, AppendResponse>::default();
    let status = client
        .unary(Request::new(append([])), path, codec)
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::Unimplemented);
    drop(client);
    served.stop().await;
}
