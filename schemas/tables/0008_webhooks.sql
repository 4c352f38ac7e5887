-- What webhooks said and what became of it; of no chain.
CREATE TABLE IF NOT EXISTS webhook_messages (
  id String CODEC(ZSTD(1)),
  channel LowCardinality(String),
  body String CODEC(ZSTD(1)),
  event_time DateTime64(3,'UTC'),
  created_at DateTime64(3,'UTC'),
  chain LowCardinality(String),
  token_address String CODEC(ZSTD(1)),
  tx String CODEC(ZSTD(1)),
  slot UInt64,
  seq UInt64,
  lane UInt16,
  _ver UInt64,
  INDEX created created_at TYPE minmax
) ENGINE=ReplacingMergeTree(_ver)
ORDER BY id
SETTINGS {storage};

CREATE TABLE IF NOT EXISTS webhook_attempts (
  id String CODEC(ZSTD(1)),
  message_id String CODEC(ZSTD(1)),
  endpoint_id String CODEC(ZSTD(1)),
  org_id LowCardinality(String),
  channel LowCardinality(String),
  url String CODEC(ZSTD(1)),
  status LowCardinality(String),
  response_status UInt16,
  response String CODEC(ZSTD(1)),
  duration_ms UInt32,
  error_kind LowCardinality(String),
  error String CODEC(ZSTD(1)),
  trigger LowCardinality(String),
  attempt UInt16,
  at DateTime64(3,'UTC'),
  next_at DateTime64(3,'UTC'),
  _ver UInt64
) ENGINE=ReplacingMergeTree(_ver)
ORDER BY (endpoint_id, at, id)
SETTINGS {storage};
