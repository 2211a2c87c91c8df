//! The OpenAPI document and the server agree on what clients may send. All requests here are made
//! from the document, so a new field or limit is tested without a change of the tests.

mod samples;
mod schema;

use axum::http::{Method, StatusCode};
use conformance_suite::effort;
use http_body_util::BodyExt as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use serde_json::Value;

use crate::support::{Client, encoded};
use schema::{Document, Keywords, keywords, list, text};

/// The paths of the series, whose wire formats have tests of their own.
const SERIES: [&str; 3] = ["/api/", "/series/", "/write"];

/// The length of a value that is changed again, as JSON.
const MAX_CHANGED: usize = 2000;

/// JSON that clients send: a body, or a parameter in the query string.
#[derive(Debug)]
struct Input {
    method: Method,
    path: String,
    parameter: Option<String>,
    schema: Value,
}

impl Input {
    async fn send(&self, client: &Client, value: &Value) -> (StatusCode, Value) {
        let json = value.to_string();
        let (path, body) = match &self.parameter {
            Some(name) => (
                format!("{}?{name}={}", self.path, encoded(&json)),
                String::new(),
            ),
            None => (self.path.clone(), json),
        };
        send(client, &self.method, &path, body).await
    }

    /// Whether the value breaks a rule that the document states only in words.
    fn breaks_another_rule(&self, value: &Value) -> bool {
        // The token must name the namespace; the samples' token names `x`.
        let is_create = value[0] == "ns.create";
        let other_token = is_create && value[2]["token"].is_string() && value[1] != "x";
        // All projectors of the samples have the same id.
        let projectors = value["projectors"].as_array().map_or(0, Vec::len);
        // A stream's name has a hyphen.
        let is_of_stream = value[0]
            .as_str()
            .is_some_and(|name| name.starts_with("stream."));
        let is_category = value[1].as_str().is_some_and(|name| !name.contains('-'));
        // The members of a consumer group are numbered from 0.
        let group = &value[2]["consumerGroup"];
        let is_no_member = group["member"].as_u64() >= group["size"].as_u64().or(Some(u64::MAX));
        other_token || projectors > 1 || (is_of_stream && is_category) || is_no_member
    }
}

/// Sends a request. Returns the error's body, and `null` for a success, which may be endless.
async fn send(client: &Client, method: &Method, path: &str, body: String) -> (StatusCode, Value) {
    let request = client.request(method.clone(), path);
    let response = client.open_with(request, body).await;
    let status = response.status();
    if status.is_success() {
        return (status, Value::Null);
    }
    let body = response.into_body().collect().await;
    let body = body.expect("the error is complete").to_bytes();
    (
        status,
        serde_json::from_slice(&body).expect("the error is JSON"),
    )
}

/// The operations of all interfaces but the series.
fn operations(document: &Document) -> Vec<(Method, String, &Value)> {
    let mut operations = Vec::new();
    for (path, item) in keywords(&document.0["paths"]) {
        for (method, operation) in keywords(item) {
            if SERIES.iter().any(|series| path.starts_with(series)) {
                continue;
            }
            let method = method.to_uppercase().parse().expect("it is a method");
            operations.push((method, path.clone(), operation));
        }
    }
    operations
}

/// Everything that the document describes by a schema for JSON.
fn inputs(document: &Document) -> Vec<Input> {
    let mut inputs = Vec::new();
    for (method, path, operation) in operations(document) {
        let input = |parameter: Option<&str>, content: &Value| Input {
            method: method.clone(),
            path: path.clone(),
            parameter: parameter.map(str::to_owned),
            schema: content["schema"].clone(),
        };
        for content in keywords_of(&operation["requestBody"]["content"]).map(|(_, content)| content)
        {
            inputs.push(input(None, content));
        }
        for parameter in parameters(operation) {
            if let Some(content) = parameter.get("content") {
                let name = Some(text(&parameter["name"]));
                inputs.push(input(name, &content["application/json"]));
            }
        }
    }
    inputs
}

fn keywords_of(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn parameters(operation: &Value) -> impl Iterator<Item = &Value> {
    let all = operation["parameters"].as_array().into_iter().flatten();
    all.filter(|parameter| parameter["in"] == "query")
}

async fn started() -> (Client, Document) {
    let client = Client::start().await;
    let document = Document(client.get("/openapi.json").await.ok());
    (client, document)
}

/// The name without one of its letters, as in `limt`.
fn misspelt(name: &str) -> String {
    let middle = name.len() / 2;
    [&name[..middle], &name[middle + 1..]].concat()
}

/// The value with each field of each object misspelt once, and the wrong name.
fn misspellings(document: &Document, schema: &Value, value: &Value) -> Vec<(String, Value)> {
    let concrete = document.concrete(schema, value);
    match value {
        Value::Object(members) => misspelt_members(document, concrete, members),
        Value::Array(entries) => {
            let prefix = concrete
                .get("prefixItems")
                .map_or(&[][..], |prefix| list(prefix));
            let schemas = prefix.iter().chain(std::iter::repeat(&concrete["items"]));
            let mut all = Vec::new();
            for (index, (entry, schema)) in entries.iter().zip(schemas).enumerate() {
                for (name, entry) in misspellings(document, schema, entry) {
                    let mut entries = entries.clone();
                    entries[index] = entry;
                    all.push((name, entries.into()));
                }
            }
            all
        }
        _ => Vec::new(),
    }
}

fn misspelt_members(
    document: &Document,
    schema: &Value,
    members: &Keywords,
) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    let Some(properties) = schema.get("properties") else {
        return all;
    };
    assert!(
        schema.get("additionalProperties").is_some(),
        "the schema does not tell whether it has other fields: {schema}"
    );
    for (name, schema) in keywords(properties) {
        let mut wrong = members.clone();
        let value = wrong
            .remove(name)
            .unwrap_or_else(|| document.sample(schema));
        let wrong_name = misspelt(name);
        wrong.insert(wrong_name.clone(), value.clone());
        all.push((wrong_name, wrong.into()));
        for (wrong_name, value) in misspellings(document, schema, &value) {
            let mut members = members.clone();
            members.insert(name.clone(), value);
            all.push((wrong_name, members.into()));
        }
    }
    all
}

/// A misspelt condition once was ignored, and its append succeeded without it.
#[tokio::test]
async fn misspelt_field_is_refused_by_its_name() {
    let (client, document) = started().await;
    let mut tried = 0;
    for input in inputs(&document) {
        for sample in document.samples(&input.schema) {
            for (name, value) in misspellings(&document, &input.schema, &sample) {
                let (status, error) = input.send(&client, &value).await;
                assert_eq!(status, StatusCode::BAD_REQUEST, "{input:?} {value}");
                let error = error.to_string();
                assert!(error.contains(&name), "{input:?} {value}: {error}");
                tried += 1;
            }
        }
    }
    assert!(tried > 70, "only {tried} fields");
    client.stop().await;
}

#[tokio::test]
async fn misspelt_parameter_is_refused_by_its_name() {
    let (client, document) = started().await;
    for (method, path, operation) in operations(&document) {
        let names = parameters(operation).map(|parameter| text(&parameter["name"]));
        let mut names: Vec<&str> = names.filter(|name| *name != "token").collect();
        if operation.get("requestBody").is_some() {
            names.push("unknown");
        }
        for name in names.into_iter().map(misspelt) {
            let path = format!("{path}?{name}=x");
            let (status, error) = send(&client, &method, &path, String::new()).await;
            assert_eq!(status, StatusCode::BAD_REQUEST, "{path}");
            assert!(error.to_string().contains(&name), "{path}: {error}");
        }
    }
    client.stop().await;
}

/// The server refuses what the document does not allow, and nothing else.
#[tokio::test]
async fn document_and_server_allow_the_same() {
    let (client, document) = started().await;
    for input in compared(&document) {
        for sample in document.samples(&input.schema) {
            assert!(
                document.allows(&input.schema, &sample),
                "{input:?} {sample}"
            );
            compare(&client, &document, &input, &sample).await;
            for value in document.changes(&input.schema, &sample) {
                compare(&client, &document, &input, &value).await;
            }
        }
    }
    client.stop().await;
}

/// Two changes at random places of the same value.
#[tokio::test]
async fn document_and_server_agree_on_random_values() {
    let (client, document) = started().await;
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let inputs = compared(&document);
    for _ in 0..effort(300) {
        let input = inputs.choose(&mut random).expect("there are inputs");
        let samples = document.samples(&input.schema);
        let mut value = samples[random.random_range(0..samples.len())].clone();
        for _ in 0..2 {
            // All changes of a long list are too many.
            if value.to_string().len() < MAX_CHANGED {
                let changes = document.changes(&input.schema, &value);
                value = changes[random.random_range(0..changes.len())].clone();
            }
        }
        compare(&client, &document, input, &value).await;
    }
    client.stop().await;
}

/// The inputs whose values the two tests above compare.
fn compared(document: &Document) -> Vec<Input> {
    let mut inputs = inputs(document);
    // An import tells its errors in the events of its answer; a rush of 500 students and a sale take seconds.
    inputs.retain(|input| {
        !["/import", "/demo/rush", "/demo/decisions"].contains(&input.path.as_str())
    });
    inputs
}

async fn compare(client: &Client, document: &Document, input: &Input, value: &Value) {
    let is_allowed = document.allows(&input.schema, value);
    if is_allowed && input.breaks_another_rule(value) {
        return;
    }
    let (status, error) = input.send(client, value).await;
    let shown: String = value.to_string().chars().take(500).collect();
    let place = format!("{} {} {:?}", input.method, input.path, input.parameter);
    assert!(
        !status.is_server_error(),
        "{place} {shown}: {status} {error}"
    );
    // An unknown method has another status.
    let is_unknown = error["error"]["code"] == "METHOD_NOT_FOUND";
    let is_refused = status == StatusCode::BAD_REQUEST || is_unknown;
    assert_ne!(is_refused, is_allowed, "{place} {shown}: {status} {error}");
}
