//! Listens with the stream client of the crate.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chainstream_sdk::openapi::types::Resolution;
use chainstream_sdk::stream::RankingType;
use chainstream_sdk::{ChainStreamClient, ChainStreamClientOptions, ChainStreamError};
use serde_json::{Value, json};

/// The newest object of each subscription, as the crate prints it.
type Heard = Arc<Mutex<BTreeMap<String, String>>>;

fn hear<T: Debug>(heard: &Heard, name: &str) -> impl Fn(T) + Send + Sync + 'static {
    let (heard, name) = (heard.clone(), name.to_string());
    move |said| {
        heard.lock().unwrap().insert(name.clone(), format!("{said:?}"));
    }
}

/// Subscribes to everything that the crate has about an example of one chain, as `CHAIN SUBSCRIPTION`.
async fn subscribe(
    client: &ChainStreamClient,
    heard: &Heard,
    example: &Value,
) -> Result<(), ChainStreamError> {
    let word = |name: &str| example[name].as_str().unwrap_or_default();
    let [chain, token, pool, wallet] = ["chain", "token", "pool", "wallet"].map(word);
    let pair = &format!("{token}-{}", word("quote"));
    let stream = &client.stream;
    let (second, minute) = (Resolution::X1s, Resolution::X1m);
    let name = |subscription: &str| format!("{chain} {subscription}");
    stream.subscribe_token_candles(chain, token, second, hear(heard, &name("token_candles")), None, None).await?;
    stream.subscribe_pool_candles(chain, pool, minute, hear(heard, &name("pool_candles")), None, None).await?;
    stream.subscribe_pair_candles(chain, pair, minute, hear(heard, &name("pair_candles")), None, None).await?;
    stream.subscribe_token_stats(chain, token, hear(heard, &name("token_stats")), None).await?;
    stream.subscribe_token_trade(chain, token, hear(heard, &name("token_trade")), None).await?;
    stream.subscribe_token_holders(chain, token, hear(heard, &name("token_holders")), None).await?;
    stream.subscribe_token_supply(chain, token, hear(heard, &name("token_supply")), None).await?;
    stream.subscribe_token_max_liquidity(chain, token, hear(heard, &name("token_max_liquidity")), None).await?;
    stream.subscribe_token_total_liquidity(chain, token, hear(heard, &name("token_total_liquidity")), None).await?;
    stream.subscribe_dex_pool_balance(chain, pool, hear(heard, &name("dex_pool_balance")), None).await?;
    stream.subscribe_new_token(chain, hear(heard, &name("new_token")), None).await?;
    stream.subscribe_new_tokens(chain, hear(heard, &name("new_tokens"))).await?;
    stream.subscribe_new_tokens_metadata(chain, hear(heard, &name("new_tokens_metadata"))).await?;
    stream.subscribe_wallet_balance(chain, wallet, hear(heard, &name("wallet_balance")), None).await?;
    stream.subscribe_wallet_pnl(chain, wallet, hear(heard, &name("wallet_pnl")), None).await?;
    let ranking = hear(heard, &name("ranking_tokens_list"));
    stream.subscribe_ranking_tokens_list(chain, RankingType::New, ranking, None).await?;
    Ok(())
}

/// `{url, examples, wanted, seconds}`: what called back on one connection once all of `wanted` did, or the seconds are over, and whether
/// the connection is still open then.
pub async fn listen(asked: &Value, token: &str) -> Value {
    let options = ChainStreamClientOptions {
        stream_url: asked["url"].as_str().map(String::from),
        ..Default::default()
    };
    let client = ChainStreamClient::new(token, Some(options));
    let heard = Heard::default();
    for example in asked["examples"].as_array().into_iter().flatten() {
        if let Err(error) = subscribe(&client, &heard, example).await {
            return json!({ "refused": error.to_string() });
        }
    }
    let end = Instant::now() + Duration::from_secs(asked["seconds"].as_u64().unwrap_or(30));
    let wanted: Vec<&str> = asked["wanted"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let has_all = || wanted.iter().all(|name| heard.lock().unwrap().contains_key(*name));
    while Instant::now() < end && (wanted.is_empty() || !has_all()) {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let open = client.stream.is_connected();
    client.close().await;
    let heard = heard.lock().unwrap().clone();
    json!({ "heard": heard, "open": open })
}
