//! The files that the page and the explorer load.

use std::collections::HashSet;
use std::process::Command;

use axum::http::{StatusCode, header};
use serde_json::Value;

use super::assert_refused;
use crate::support::Client;

#[tokio::test]
async fn page_loads_only_files_of_this_server() {
    let client = Client::start().await;
    let mut waiting = vec!["/".to_owned()];
    let mut seen = HashSet::new();
    while let Some(path) = waiting.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        let answer = client.get(&path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
        let policy = &answer.headers[header::CONTENT_SECURITY_POLICY];
        let policy = policy.to_str().expect("it is UTF-8");
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"));
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert_eq!(answer.headers[header::REFERRER_POLICY], "no-referrer");
        let text = answer.text();
        let elsewhere = text.replace("http://www.w3.org/2000/svg", "");
        assert!(
            !elsewhere.contains("http:") && !elsewhere.contains("https:"),
            "{path}"
        );
        let quoted = text.split(['"', '\'']);
        waiting.extend(quoted.filter_map(|part| match part.strip_prefix("./") {
            Some(module) => Some(format!("/page/{module}")),
            None => part.starts_with("/page/").then(|| part.to_owned()),
        }));
    }
    assert_eq!(seen.len(), 13, "{seen:?}");
    client.stop().await;
}

#[tokio::test]
async fn explorer_loads_only_its_own_files() {
    let client = Client::start().await;
    let mut waiting = vec![String::new()];
    let mut seen = HashSet::new();
    while let Some(file) = waiting.pop() {
        if !seen.insert(file.clone()) {
            continue;
        }
        let answer = client.get(&format!("/explorer/{file}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{file}");
        let policy = &answer.headers[header::CONTENT_SECURITY_POLICY];
        assert!(
            policy
                .to_str()
                .is_ok_and(|policy| !policy.contains("unsafe"))
        );
        let wanted = match file.rsplit_once('.') {
            Some((_, "js")) => "text/javascript; charset=utf-8",
            Some((_, "css")) => "text/css; charset=utf-8",
            Some(_) => "image/svg+xml",
            None => "text/html; charset=utf-8",
        };
        assert_eq!(answer.headers[header::CONTENT_TYPE], wanted, "{file}");
        let text = answer.text();
        let elsewhere = text.replace("http://www.w3.org/2000/svg", "");
        assert!(
            !elsewhere.contains("http:") && !elsewhere.contains("https:"),
            "{file}"
        );
        let is_file = |part: &str| {
            let (name, kind) = part.rsplit_once('.').unwrap_or_default();
            ["js", "css", "svg"].contains(&kind)
                && name.bytes().all(|byte| byte.is_ascii_lowercase())
        };
        let quoted = text
            .split(['"', '\''])
            .map(|part| part.trim_start_matches("./"));
        waiting.extend(quoted.filter(|part| is_file(part)).map(str::to_owned));
    }
    assert_eq!(seen.len(), 11, "{seen:?}");
    let missing = client.get("/explorer/nothing.js").await;
    assert_refused(&missing, StatusCode::NOT_FOUND, "NOT_FOUND");
    let moved = client.get("/explorer?token=a%20b").await;
    assert_eq!(moved.status, StatusCode::PERMANENT_REDIRECT);
    assert_eq!(moved.headers[header::LOCATION], "explorer/?token=a%20b");
    client.stop().await;
}

/// The link to the API's documentation once dropped the token.
#[tokio::test]
async fn links_to_other_pages_keep_the_token() {
    let client = Client::start().await;
    let main = client.get("/page/main.js").await.text();
    for page in ["docs", "explorer"] {
        let link = format!("byId('{page}').href = withToken('/{page}/');");
        assert!(main.contains(&link), "{main}");
    }
    let module = Value::from(client.get("/page/api.js").await.text());
    client.stop().await;
    for (search, link) in [("?token=a%20b", "/docs/?token=a+b"), ("", "/docs/")] {
        let script = format!(
            "globalThis.location = {{ search: '{search}' }};\n\
             const module = 'data:text/javascript,' + encodeURIComponent({module});\n\
             const {{ withToken }} = await import(module);\n\
             console.log(withToken('/docs/'));"
        );
        let mut node = Command::new("node");
        let ran = node
            .args(["--input-type=module", "--eval", &script])
            .output();
        let Some(ran) = unmet::need("node", ran.ok()) else {
            return;
        };
        let errors = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(
            String::from_utf8_lossy(&ran.stdout).trim(),
            link,
            "{errors}"
        );
    }
}

#[tokio::test]
async fn page_files_have_their_content_types() {
    let client = Client::start().await;
    for (path, wanted) in [
        ("/", "text/html; charset=utf-8"),
        ("/page/style.css", "text/css; charset=utf-8"),
        ("/page/main.js", "text/javascript; charset=utf-8"),
        ("/page/icon.svg", "image/svg+xml"),
    ] {
        let answer = client.get(path).await;
        assert_eq!(answer.headers[header::CONTENT_TYPE], wanted, "{path}");
    }
    assert_refused(
        &client.get("/page/other.js").await,
        StatusCode::NOT_FOUND,
        "NOT_FOUND",
    );
    let posted = client.post("/", &Value::Null).await;
    assert_refused(
        &posted,
        StatusCode::METHOD_NOT_ALLOWED,
        "METHOD_NOT_ALLOWED",
    );
    client.stop().await;
}
