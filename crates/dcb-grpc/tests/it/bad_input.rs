//! Requests that no client of UmaDB sends. Each gets a status, and the server goes on.

use dcb_grpc::proto::{AppendResponse, HeadRequest, ReadRequest};
use http::uri::PathAndQuery;
use prost::Message as _;
use prost::bytes::{Buf as _, BufMut as _, Bytes};
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::{Code, Request, Status};

use crate::support::{Log, Served, append, event};

/// Sends bytes as they are, and receives an `AppendResponse`.
#[derive(Clone, Copy, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = AppendResponse;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.put(message);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = AppendResponse;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<AppendResponse>, Status> {
        let bytes = from.copy_to_bytes(from.remaining());
        Ok(Some(AppendResponse::decode(bytes).unwrap()))
    }
}

async fn append_raw(served: &Served, message: impl Into<Bytes>) -> Result<u64, Status> {
    let mut client = tonic::client::Grpc::new(served.endpoint().connect().await.unwrap());
    client.ready().await.unwrap();
    let path = PathAndQuery::from_static("/umadb.v1.DCB/Append");
    let answer = client.unary(Request::new(message.into()), path, Raw).await;
    Ok(answer?.into_inner().position)
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_messages_are_refused() {
    let served = Served::new(Log::memory().await).await;
    // A length beyond the message; a text that is not UTF-8; a group that does not end; a varint
    // without end.
    let malformed: [&[u8]; 4] = [
        b"\x0a\x7f",
        b"\x0a\x04\x0a\x02\xff\xfe",
        b"\x0b",
        b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    ];
    for message in malformed {
        let status = append_raw(&served, message).await.unwrap_err();
        assert_eq!(status.code(), Code::Internal, "{message:?}: {status:?}");
        assert!(status.details().is_empty());
    }
    // Every cut of a message is a message, or is refused.
    let whole = append(event("Made", &["a"])).encode_to_vec();
    for end in 0..whole.len() {
        let _ = append_raw(&served, whole[..end].to_vec()).await;
    }
    let appended = append_raw(&served, whole).await.unwrap();
    let head = served.client().await.head(HeadRequest {}).await.unwrap();
    assert_eq!(head.into_inner().position, Some(appended));
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_fields_are_passed_over() {
    let served = Served::new(Log::memory().await).await;
    let mut message = append(event("Made", &[])).encode_to_vec();
    // Field 15, a text.
    message.extend(b"\x7a\x03new");
    assert_eq!(append_raw(&served, message).await.unwrap(), 1);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_more_than_4_mib_are_refused() {
    let served = Served::new(Log::memory().await).await;
    let mut client = served.client().await;
    let mut quarter = event("Large", &[]);
    quarter.data = vec![0; 1_000_000];
    let events = vec![quarter.clone(); 4];
    assert_eq!(
        client
            .append(append(events))
            .await
            .unwrap()
            .into_inner()
            .position,
        4
    );
    quarter.data = vec![0; 5 << 18];
    let status = client
        .append(append(vec![quarter.clone(); 4]))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::OutOfRange, "{status:?}");
    assert!(status.details().is_empty());
    // Within the message, but larger than the store allows.
    let status = client.append(append(quarter)).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
    let head = client.head(HeadRequest {}).await.unwrap();
    assert_eq!(head.into_inner().position, Some(4));
    drop(client);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn read_does_not_subscribe() {
    let served = Served::new(Log::memory().await).await;
    #[expect(deprecated, reason = "old clients set it")]
    let request = ReadRequest {
        subscribe: Some(true),
        ..ReadRequest::default()
    };
    let mut client = served.client().await;
    let status = client.read(request).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("Subscribe"));
    drop(client);
    served.stop().await;
}
