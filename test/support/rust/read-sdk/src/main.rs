//! Calls the crate `chainstream-sdk` as it is told on stdin, one JSON object a line, and answers each with one line on stdout.
//!
//! `{"operation": "get_token", "given": {"chain": "sol", "token_address": "..."}}` calls an operation of the REST client.
//! `{"listen": {...}}` subscribes to every channel of the stream client, see `streams.rs`.
//!
//! `operations.rs` is made of the crate's source when this program is compiled: `test/support/rust-operations.ts`.

mod operations;
mod streams;

use std::future::Future;
use std::io::BufRead;

use chainstream_sdk::openapi::{Client, Error, ResponseValue};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Arguments of an operation by their names in the crate.
pub struct Given(Map<String, Value>);

impl Given {
    /// An argument in the type that the operation takes; an operation without one that it requires refuses by itself.
    pub fn take<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Value> {
        let Some(value) = self.0.get(name) else {
            return Ok(None);
        };
        serde_json::from_value(value.clone())
            .map(Some)
            .map_err(|error| json!({ "refused": format!("argument {name}: {error}") }))
    }
}

/// What became of a call: `answered` with the crate's own object, `status` with the body of an error, `unread` with what the
/// crate could not parse, or `refused` where the crate did not send it.
pub async fn outcome<T: Serialize>(
    call: impl Future<Output = Result<ResponseValue<T>, Error<()>>>,
) -> Value {
    match call.await {
        Ok(answer) => json!({ "answered": answer.into_inner() }),
        Err(Error::UnexpectedResponse(answer)) => {
            let status = answer.status().as_u16();
            let text = answer.text().await.unwrap_or_default();
            json!({ "status": status, "text": text })
        }
        Err(Error::InvalidResponsePayload(body, error)) => {
            json!({ "unread": error.to_string(), "text": String::from_utf8_lossy(&body) })
        }
        Err(Error::InvalidRequest(why)) => json!({ "refused": why }),
        Err(error) => json!({ "unread": error.to_string(), "text": "" }),
    }
}

fn client_of(base_url: &str, token: &str) -> Client {
    let mut headers = reqwest::header::HeaderMap::new();
    let bearer = format!("Bearer {token}").parse().expect("a token of visible characters");
    headers.insert(reqwest::header::AUTHORIZATION, bearer);
    let client = reqwest::Client::builder()
        .default_headers(headers)
        .build()
        .expect("a client");
    Client::new_with_client(base_url, reqwest_middleware::ClientBuilder::new(client).build())
}

/// usage: read-sdk BASE_URL TOKEN
#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().collect();
    let client = client_of(&words[1], &words[2]);
    for line in std::io::stdin().lock().lines() {
        let asked: Value = serde_json::from_str(&line.expect("text")).expect("JSON");
        let said = if let Some(listen) = asked.get("listen") {
            streams::listen(listen, &words[2]).await
        } else {
            let given = Given(asked["given"].as_object().cloned().unwrap_or_default());
            let operation = asked["operation"].as_str().unwrap_or_default();
            match operations::call(&client, operation, &given).await {
                Ok(said) | Err(said) => said,
            }
        };
        println!("{said}");
    }
}
