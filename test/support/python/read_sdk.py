"""Reads a running demo with chainstream-sdk: every subscription that it has and we serve, and the REST operations that we serve.
One JSON object on stdout.

usage: read_sdk.py DEMO_JSON SECONDS WANTED...
Listens until all wanted subscriptions, each named by its chain and itself, called back, or the seconds are over.
"""

import asyncio
import json
import sys
import time
import urllib.request

from chainstream import ChainStreamClient, ChainStreamClientOptions
from chainstream.openapi_client import ApiClient, Configuration
from chainstream.openapi_client.api import TokenApi, WebhookApi
from chainstream.stream import Resolution

# The names of the demo's chains as the SDK writes them.
CHAINS = {"sol": "sol", "ethereum": "eth"}


def token_of(demo):
    words = {
        "grant_type": "client_credentials",
        "client_id": demo["clientId"],
        "client_secret": demo["clientSecret"],
        "audience": demo["audience"],
    }
    request = urllib.request.Request(
        demo["tokenUrl"], json.dumps(words).encode(), {"content-type": "application/json"}
    )
    return json.load(urllib.request.urlopen(request, timeout=10))["access_token"]


def subscriptions(stream, chain, example):
    token = {"chain": chain, "token_address": example["token"]}
    pool = {"chain": chain, "pool_address": example["pool"]}
    wallet = {"chain": chain, "wallet_address": example["wallet"]}
    return {
        "token_candles": (stream.subscribe_token_candles, {**token, "resolution": Resolution.S1}),
        "pool_candles": (stream.subscribe_pool_candles, {**pool, "resolution": Resolution.M1}),
        "token_stats": (stream.subscribe_token_stats, token),
        "token_trade": (stream.subscribe_token_trade, token),
        "token_holders": (stream.subscribe_token_holders, token),
        "token_supply": (stream.subscribe_token_supply, token),
        "token_max_liquidity": (stream.subscribe_token_max_liquidity, token),
        "token_total_liquidity": (stream.subscribe_token_total_liquidity, token),
        "dex_pool_balance": (stream.subscribe_dex_pool_balance, pool),
        "new_token": (stream.subscribe_new_token, {"chain": chain}),
        "new_tokens": (stream.subscribe_new_tokens, {"chain": chain}),
        "wallet_balance": (stream.subscribe_wallet_balance, wallet),
        "wallet_pnl": (stream.subscribe_wallet_pnl, wallet),
    }


async def listen(demo, wanted, seconds):
    """The newest object of each subscription that called back."""
    options = ChainStreamClientOptions(base_url=demo["baseUrl"], stream_url=demo["wsUrl"])
    client = ChainStreamClient(token_of(demo), options)
    heard = {}

    def listener(name):
        def hear(said):
            heard[name] = str(said)

        return hear

    for chain, example in demo["examplesByChain"].items():
        for name, (subscribe, args) in subscriptions(client.stream, CHAINS[chain], example).items():
            await subscribe(**args, callback=listener(f"{chain} {name}"))
    end = time.monotonic() + seconds
    while time.monotonic() < end and not wanted <= heard.keys():
        await asyncio.sleep(0.2)
    await client.close()
    return heard


def operations(tokens, webhooks, chain, example):
    token, pool = example["token"], example["pool"]
    return {
        "get_token": lambda: tokens.get_token(chain, token),
        "get_candles": lambda: tokens.get_candles(chain, token, resolution="1m"),
        "get_pool_candles": lambda: tokens.get_pool_candles(chain, pool, resolution="1m"),
        "get_holders": lambda: tokens.get_holders(chain, token),
        "get_top_holders": lambda: tokens.get_top_holders(chain, token),
        "get_stats": lambda: tokens.get_stats(chain, token),
        "get_stats_multi": lambda: tokens.get_stats_multi(chain, token_addresses=token),
        "get_market_data": lambda: tokens.get_market_data(chain, token),
        "get_market_data_multi": lambda: tokens.get_market_data_multi(chain, token_addresses=token),
        "search": lambda: tokens.search(q=token, chains=[chain]),
        "list_endpoints": lambda: webhooks.list_endpoints(),
    }


async def ask(demo):
    """What the operations answered, and how they failed."""
    answered, failed = {}, {}
    configuration = Configuration(host=demo["baseUrl"])
    async with ApiClient(configuration, "X-API-KEY", demo["apiKey"]) as client:
        for chain, example in demo["examplesByChain"].items():
            named = operations(TokenApi(client), WebhookApi(client), CHAINS[chain], example)
            for name, operation in named.items():
                try:
                    answered[f"{chain} {name}"] = str(await operation())
                except Exception as error:
                    failed[f"{chain} {name}"] = repr(error)
    return answered, failed


def main(demo_file, seconds, *wanted):
    with open(demo_file, encoding="utf8") as file:
        demo = json.load(file)
    heard = asyncio.run(listen(demo, set(wanted), float(seconds)))
    answered, failed = asyncio.run(ask(demo))
    print(json.dumps({"heard": heard, "answered": answered, "failed": failed}))


main(*sys.argv[1:])
