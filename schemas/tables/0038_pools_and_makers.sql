-- Pools by either of their tokens, and tokens by who made them, with what lists and sums by these read: `dex_pools` and `tokens` are kept by their own addresses.
CREATE TABLE IF NOT EXISTS {chain}_token_pools (
  token_address String CODEC(ZSTD(1)),
  pool_address String CODEC(ZSTD(1)),
  protocol_family LowCardinality(String),
  liquidity_usd Nullable(Decimal(38,12)) CODEC(ZSTD(1)),
  liquidity_native Nullable(Decimal(38,12)) CODEC(ZSTD(1)),
  curve_progress Nullable(Float64),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0
) ENGINE=ReplacingMergeTree(_ver, _del)
ORDER BY (token_address, pool_address)
SETTINGS {storage}, index_granularity=1024;

CREATE MATERIALIZED VIEW IF NOT EXISTS {chain}_token_pools_mv TO {chain}_token_pools AS SELECT
  token_address, pool_address, protocol_family, liquidity_usd, liquidity_native, if(token_address = token_a, curve_progress, NULL) AS curve_progress, _ver, _del
FROM {chain}_dex_pools
ARRAY JOIN [token_a, token_b] AS token_address;

-- Pools of before this table; those that the view has meanwhile replace themselves.
INSERT INTO {chain}_token_pools (token_address, pool_address, protocol_family, liquidity_usd, liquidity_native, curve_progress, _ver, _del)
SELECT
  token_address, pool_address, protocol_family, liquidity_usd, liquidity_native, if(token_address = token_a, curve_progress, NULL) AS curve_progress, _ver, _del
FROM {chain}_dex_pools FINAL
ARRAY JOIN [token_a, token_b] AS token_address;

CREATE TABLE IF NOT EXISTS {chain}_tokens_by_dev (
  dev String CODEC(ZSTD(1)),
  token_address String CODEC(ZSTD(1)),
  created_at DateTime64(3,'UTC'),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0
) ENGINE=ReplacingMergeTree(_ver, _del)
ORDER BY (dev, token_address)
SETTINGS {storage}, index_granularity=1024;

CREATE MATERIALIZED VIEW IF NOT EXISTS {chain}_tokens_by_dev_mv TO {chain}_tokens_by_dev AS SELECT
  dev, token_address, created_at, _ver, _del
FROM {chain}_tokens
WHERE dev != '';

-- Tokens of before this table, likewise.
INSERT INTO {chain}_tokens_by_dev (dev, token_address, created_at, _ver, _del)
SELECT
  dev, token_address, created_at, _ver, _del
FROM {chain}_tokens FINAL
WHERE dev != '';
