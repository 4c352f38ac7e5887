"""Reads JSON bodies with the SDK's models: a file of [model, body] pairs; prints what each prints again."""
import json
import sys

from chainstream.openapi_client import models

with open(sys.argv[1]) as file:
    pairs = json.load(file)
print(json.dumps([getattr(models, name).from_dict(body).to_dict() for name, body in pairs], default=str))
