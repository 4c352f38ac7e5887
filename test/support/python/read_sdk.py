"""Reads a running demo with chainstream-sdk: every subscription that it has and we serve, and every REST operation.
One JSON object on stdout.

usage: read_sdk.py DEMO_JSON SECONDS WANTED...
Listens until all wanted subscriptions, each named by its chain and itself, called back, or the seconds are over.
"""

import asyncio
import inspect
import json
import sys
import time
import urllib.request

from chainstream import ChainStreamClient, ChainStreamClientOptions
from chainstream.openapi_client import ApiClient, Configuration, api, models
from chainstream.openapi_client.exceptions import ApiException
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


# By the account of private key 1 for Ethereum, and of 32 bytes of 17 for Solana; nothing is sent, because the demo has no node.
SIGNED_TX = {
    "eth": "AvhqAYCEO5rKAIR3NZQAglIIlBERERERERERERERERERERERERERgIDAgKCuwnZQjbv1Q6MsgGVQFbQ8QVjC8+qSUR23Mwbqm5SmoKAVmDDF2v9mx+vCHQg1etdIU8orfz7arBZVeQVhpeUU7g==",
    "sol": "AcpDteAb1ehjNmphfJSwIQWAtK4QgAbiQYdH2nX0x7XdVsSL5hVn5x6gqC2X9qwO1vbLwZAEAEE2Ae02pun/RACAAQABAtBKsjJ0K7SrOhNovUYV5ObQIkq3GgFrr4UgozLJd4c3AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEBAgABDAIAAAABAAAAAAAAAAA=",
}


def given_dex(chain):
    """The word of the SDK for whichever venue is best."""
    return "jupiter" if chain == "sol" else "kyberswap"


def example_arguments(chain, example):
    """Arguments of operations by their names in the SDK."""
    token, pool, wallet = example["token"], example["pool"], example["wallet"]
    return {
        "chain": chain,
        **{"token_address": token, "token_addresses": token, "pair": f"{token}-{example['quote']}"},
        **{"pool_address": pool, "wallet_address": wallet, "wallet_addresses": wallet},
        **{"dev_address": example["creator"], "resolution": "1m", "timestamp": int(time.time() * 1000)},
        **{"duration": "1h", "ranking_type": "new-pool"},
        **{"dex": given_dex(chain), "amount": "1000000000000", "input_mint": token},
        **{"output_mint": example["quote"], "exact_in": True, "slippage": 1},
        # Of operations that are not offered: what they name does not matter.
        **{"id": "x", "address": wallet, "wallet": "0x" + "a1" * 20},
        "send_tx_input": models.SendTxInput(signedTx=SIGNED_TX[chain]),
        "red_packet_send_tx_request": models.RedPacketSendTxRequest(signedTx=SIGNED_TX[chain]),
        # The demo has no chain with prediction markets: no condition is known.
        **{"event_slug": "x", "condition_id": "0x" + "c0" * 32},
    }


# Operations whose resolution is another kind of window.
OTHER_WORDS = {
    "get_pnl_details": {"resolution": "all"},
    "claim_redpacket": {
        "claim_red_packet_request": models.ClaimRedPacketRequest(claimer="0x" + "11" * 20, shareId="7TqVxm3Kfa")
    },
    "create_redpacket": {
        "create_red_packet_request": models.CreateRedPacketRequest(
            creator="0x" + "11" * 20, mint="0x" + "0" * 40, maxClaims=1, totalAmount="10"
        )
    },
    "get_gas_limit": {
        "estimate_gas_limit_input": models.EstimateGasLimitInput.from_dict(
            {"from": "0x" + "11" * 20, "to": "0x" + "22" * 20, "data": "0x"}
        )
    },
}


def arguments_of(operation, examples):
    """Examples for the required parameters of an operation; a body without content where it takes one."""
    parameters = inspect.signature(operation).parameters.values()
    required = [one for one in parameters if one.default is one.empty and one.name != "self"]

    def value_of(parameter):
        if parameter.name in examples:
            return examples[parameter.name]
        return parameter.annotation.model_construct()

    return {one.name: value_of(one) for one in required}


def operations_of(client, chain, example):
    """Every operation of the SDK but those on webhooks and risk, by its group and name."""
    examples = example_arguments(chain, example)
    for group, kind in vars(api).items():
        if not (inspect.isclass(kind) and group.endswith("Api")) or group in ("WebhookApi", "KYTApi"):
            continue
        for name, operation in vars(kind).items():
            if name.startswith("_") or name.endswith(("_with_http_info", "_without_preload_content")):
                continue
            given = arguments_of(operation, {**examples, **OTHER_WORDS.get(name, {})})
            if name == "route":
                given["swap_route_input"] = models.SwapRouteInput(
                    dex=given_dex(chain), userAddress=example["wallet"], amount="1000000000000", swapMode="ExactIn",
                    slippage=1, inputMint=example["token"], outputMint=example["quote"],
                )
            if name == "swap":
                given["swap_input"] = models.SwapInput(
                    dex=given_dex(chain), userAddress=example["wallet"], amount="1000000000000", swapMode="ExactIn",
                    slippage=1, poolAddress=example["pool"], inputMint=example["token"], outputMint=example["quote"],
                )
            if name == "create_token":
                given["create_token_input"] = models.CreateTokenInput(
                    dex="pumpfun", userAddress=example["wallet"], name="Lucky Otter", symbol="OTTER", uri="ipfs://Qm",
                    extra={"buyAmount": "100000000", "slippage": 1},
                )
            if name == "search":
                given = {"q": example["token"], "chains": [chain]}
            yield f"{group[:-3]} {name}", getattr(kind(client), name), given


def emptiness(answer):
    """Whether an answer holds nothing: an empty list or map, or a page without rows."""
    rows = getattr(answer, "data", answer)
    return isinstance(rows, (list, dict)) and len(rows) == 0


async def ask_webhooks(client, answered):
    """The life of an endpoint, by every operation on webhooks."""
    webhooks = api.WebhookApi(client)

    async def call(name, *given):
        answer = await getattr(webhooks, name)(*given)
        answered[f"Webhook {name}"] = {"text": str(answer), "empty": emptiness(answer)}
        return answer

    url = "http://127.0.0.1:39999/hook"
    made = await call(
        "create_endpoint", models.CreateWebhookRequest(url=url, channels=["sol.token.created"])
    )
    await call("list_endpoints")
    await call("get_endpoint", made.id)
    await call("get_endpoint_secret", made.id)
    await call("rotate_endpoint_secret", made.id)
    await call("update_endpoint", models.UpdateWebhookRequest(endpointId=made.id, url=url))
    await call("delete_endpoint", made.id)


async def ask_risk(client, wallet, answered):
    """Registrations and their results, by every operation on risk."""
    risk = api.KYTApi(client)

    async def call(name, *given):
        answer = await getattr(risk, name)(*given)
        answered[f"KYT {name}"] = {"text": str(answer), "empty": emptiness(answer)}
        return answer

    await call("register_address", models.KYTRegisterAddressInput(address=wallet))
    for _ in range(60):
        if (await call("get_address_risk", wallet)).status == "COMPLETE":
            break
        await asyncio.sleep(0.5)
    of_all = {"network": "ethereum", "asset": "ETH"}
    reference = f"0x{'1' * 64}:{wallet}"
    transfer = await call(
        "register_transfer",
        models.KYTRegisterTransferInput(**of_all, transferReference=reference, direction="received"),
    )
    for name in ("summary", "alerts", "direct_exposure", "network_identifications"):
        await call(f"get_transfer_{name}", transfer.external_id)
    attempt = {"assetAmount": "1.5", "attemptTimestamp": "2026-01-01T00:00:00Z"}
    withdrawal = await call(
        "register_withdrawal",
        models.KYTRegisterWithdrawalInput(**of_all, **attempt, address=wallet),
    )
    for _ in range(60):
        if (await call("get_withdrawal_fraud_assessment", withdrawal.external_id)).alterya_identifications:
            break
        await asyncio.sleep(0.5)
    for name in ("summary", "alerts", "direct_exposure", "network_identifications", "address_identifications"):
        await call(f"get_withdrawal_{name}", withdrawal.external_id)


async def holding_wallet(client, chain, example):
    """The example's wallet, or if it has sold all it had the trader of one of the token's newest trades that still holds something."""
    trades = await api.TradeApi(client).get_trades(chain, token_address=example["token"], limit=50)
    for wallet in dict.fromkeys([example["wallet"], *(one.account_owner_address for one in trades.data)]):
        if (await api.WalletApi(client).get_tokens_balance(chain, wallet)).data:
            return wallet
    return example["wallet"]


async def completed(client, chain, example):
    """An example with a wallet that holds something, the other token of its pool, and who made the token."""
    pool = await api.DexPoolApi(client).get_dexpool(chain, example["pool"])
    token = await api.TokenApi(client).get_token(chain, example["token"])
    sides = {pool.token_a_address, pool.token_b_address} - {example["token"]}
    creators = [one.address for one in token.token_creators or [] if one.address]
    wallet = await holding_wallet(client, chain, example)
    return {**example, "wallet": wallet, "quote": sides.pop(), "creator": (creators or [wallet])[0]}


# The error of a chain that is still catching up.
CHAIN_SYNC_ERROR = 50003


async def when_caught_up(operation, given):
    """The answer of an operation; one that needs the newest blocks is asked again while a loaded machine catches up."""
    for _ in range(60):
        try:
            return await operation(**given)
        except ApiException as error:
            if error.status != 503 or json.loads(error.body)["code"] != CHAIN_SYNC_ERROR:
                raise
        await asyncio.sleep(2)
    return await operation(**given)


async def ask(demo):
    """What the operations answered, and how they failed: by status where the server refused."""
    answered, failed = {}, {}
    configuration = Configuration(host=demo["baseUrl"])
    async with ApiClient(configuration, "X-API-KEY", demo["apiKey"]) as client:
        for chain, example in demo["examplesByChain"].items():
            whole = await completed(client, CHAINS[chain], example)
            for name, operation, given in operations_of(client, CHAINS[chain], whole):
                try:
                    answer = await when_caught_up(operation, given)
                    text = str(answer)
                    answered[f"{chain} {name}"] = {"text": text, "empty": emptiness(answer)}
                except ApiException as error:
                    failed[f"{chain} {name}"] = {"status": error.status, "text": str(error.body)}
                except Exception as error:
                    failed[f"{chain} {name}"] = {"status": 0, "text": repr(error)}
        await ask_webhooks(client, answered)
        await ask_risk(client, demo["examplesByChain"]["ethereum"]["wallet"], answered)
    return answered, failed


def main(demo_file, seconds, *wanted):
    with open(demo_file, encoding="utf8") as file:
        demo = json.load(file)
    heard = asyncio.run(listen(demo, set(wanted), float(seconds)))
    answered, failed = asyncio.run(ask(demo))
    print(json.dumps({"heard": heard, "answered": answered, "failed": failed}))


main(*sys.argv[1:])
