"""Listens to channels with centrifuge-python. One JSON object on stdout.

usage: listen_centrifuge.py URL TOKEN json|protobuf fossil|none WANTED CHANNEL...
Prints "subscribed" when all channels are, then listens until every channel had as many publications as wanted. The object
holds the data of connect, and the publications of each channel.
"""

import asyncio
import json
import sys

from centrifuge import (
    Client,
    ClientEventHandler,
    DeltaType,
    SubscriptionEventHandler,
)


def value_of(data):
    """Protobuf carries the text of JSON."""
    return json.loads(data) if isinstance(data, (bytes, str)) else data


async def main(url, token, encoding, delta, wanted, channels):
    heard = {channel: [] for channel in channels}
    said = {}
    done = asyncio.Event()

    class OfClient(ClientEventHandler):
        async def on_connected(self, context):
            said["connect"] = value_of(context.data)

        async def on_error(self, context):
            said.setdefault("errors", []).append(str(context.error))

    class OfSubscription(SubscriptionEventHandler):
        def __init__(self, channel):
            self.channel = channel

        async def on_publication(self, context):
            heard[self.channel].append(value_of(context.pub.data))
            if all(len(publications) >= wanted for publications in heard.values()):
                done.set()

    client = Client(url, events=OfClient(), token=token, use_protobuf=encoding == "protobuf", timeout=30)
    await client.connect()
    for channel in channels:
        subscription = client.new_subscription(
            channel,
            events=OfSubscription(channel),
            delta=DeltaType.FOSSIL if delta == "fossil" else None,
        )
        await subscription.subscribe()
        await subscription.ready(60)
    print("subscribed", flush=True)
    await asyncio.wait_for(done.wait(), 30)
    await client.disconnect()
    print(json.dumps({**said, "heard": heard}))


url, token, encoding, delta, wanted, *channels = sys.argv[1:]
asyncio.run(main(url, token, encoding, delta, int(wanted), channels))
