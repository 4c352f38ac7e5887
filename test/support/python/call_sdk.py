"""Calls operations of chainstream-sdk, one after the other. One JSON list on stdout: what the SDK made of each answer.

usage: call_sdk.py BASE_URL API_KEY CALLS
CALLS is a JSON list of [group, operation, arguments]; an argument whose name is that of a model's file becomes the model.
"""

import asyncio
import inspect
import json
import sys

from chainstream.openapi_client import ApiClient, Configuration, api


def arguments_of(operation, given):
    """The arguments with those that the operation takes as a model made of their fields."""
    kinds = {one.name: one.annotation for one in inspect.signature(operation).parameters.values()}
    return {
        name: kinds[name].from_dict(value) if hasattr(kinds[name], "from_dict") else value
        for name, value in given.items()
    }


async def call(base_url, api_key, calls):
    async with ApiClient(Configuration(host=base_url), "X-API-KEY", api_key) as client:
        answers = []
        for group, name, given in calls:
            operation = getattr(getattr(api, group)(client), name)
            answer = await operation(**arguments_of(operation, given))
            answers.append(answer.to_dict())
        return answers


base_url, api_key, calls = sys.argv[1:]
print(json.dumps(asyncio.run(call(base_url, api_key, json.loads(calls)))))
