//! gRPC's health service tells whether the store answers.

use dcb_core::EventStore as _;
use tonic::Streaming;
use tonic::transport::Channel;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use crate::support::{Log, Served};

const SERVICES: [&str; 2] = ["", "umadb.v1.DCB"];

async fn client(served: &Served) -> HealthClient<Channel> {
    HealthClient::new(served.endpoint().connect().await.unwrap())
}

fn about(service: &str) -> HealthCheckRequest {
    let service = service.to_owned();
    HealthCheckRequest { service }
}

/// The health of a service now.
pub(crate) async fn health(served: &Served, service: &str) -> ServingStatus {
    let answer = client(served).await.check(about(service)).await;
    answer.unwrap().into_inner().status()
}

async fn watch(served: &Served, service: &str) -> Streaming<HealthCheckResponse> {
    let watching = client(served).await.watch(about(service)).await;
    watching.unwrap().into_inner()
}

/// The next health that a watcher hears of; `None` when the server has ended the stream.
async fn next(watching: &mut Streaming<HealthCheckResponse>) -> Option<ServingStatus> {
    let message = watching.message().await.unwrap();
    message.map(|message| message.status())
}

#[tokio::test(flavor = "multi_thread")]
async fn follows_the_store() {
    let served = Served::new(Log::sqlite().await).await;
    for service in SERVICES {
        assert_eq!(health(&served, service).await, ServingStatus::Serving);
    }
    let mut watching = watch(&served, SERVICES[1]).await;
    assert_eq!(next(&mut watching).await, Some(ServingStatus::Serving));
    served.store.close().await;
    assert_eq!(next(&mut watching).await, Some(ServingStatus::NotServing));
    for service in SERVICES {
        assert_eq!(health(&served, service).await, ServingStatus::NotServing);
    }
    drop(watching);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn watchers_end_with_the_server() {
    let served = Served::new(Log::memory().await).await;
    let mut watching = Vec::new();
    for service in SERVICES {
        watching.push(watch(&served, service).await);
    }
    for watching in &mut watching {
        assert_eq!(next(watching).await, Some(ServingStatus::Serving));
    }
    let stopping = served.begin_stop().await;
    for watching in &mut watching {
        assert_eq!(next(watching).await, Some(ServingStatus::NotServing));
        assert_eq!(next(watching).await, None);
    }
    stopping.await.unwrap().unwrap();
}
