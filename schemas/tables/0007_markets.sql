-- Where tokens were launched and went; statistics, supplies, prices and documents of tokens.
ALTER TABLE {chain}_tokens
  ADD COLUMN IF NOT EXISTS launch_pool String CODEC(ZSTD(1)) AFTER launch_name,
  ADD COLUMN IF NOT EXISTS migrated_name LowCardinality(String) AFTER migrated_family;

-- By window, as lists of tokens read one window of every token; in small granules, so that the windows of one token are found by few rows each. Chains
-- that had this table before are kept by token, with the same rows to every reader.
CREATE TABLE IF NOT EXISTS {chain}_token_stats (
  token_address String CODEC(ZSTD(1)),
  resolution LowCardinality(String),
  stat_time DateTime64(3,'UTC') CODEC(DoubleDelta, ZSTD(1)),
  open_usd Nullable(Float64) CODEC(ZSTD(1)),
  close_usd Nullable(Float64) CODEC(ZSTD(1)),
  high_usd Nullable(Float64) CODEC(ZSTD(1)),
  low_usd Nullable(Float64) CODEC(ZSTD(1)),
  open_native Nullable(Float64) CODEC(ZSTD(1)),
  close_native Nullable(Float64) CODEC(ZSTD(1)),
  high_native Nullable(Float64) CODEC(ZSTD(1)),
  low_native Nullable(Float64) CODEC(ZSTD(1)),
  buys UInt64,
  sells UInt64,
  buyers UInt64,
  sellers UInt64,
  traders UInt64,
  pools UInt64,
  programs UInt64,
  buy_volume Decimal(76,24) CODEC(ZSTD(1)),
  sell_volume Decimal(76,24) CODEC(ZSTD(1)),
  buy_volume_usd Decimal(38,12) CODEC(ZSTD(1)),
  sell_volume_usd Decimal(38,12) CODEC(ZSTD(1)),
  buy_volume_native Decimal(38,12) CODEC(ZSTD(1)),
  sell_volume_native Decimal(38,12) CODEC(ZSTD(1)),
  volume_change_ratio Nullable(Float64),
  liquidity_usd Nullable(Float64),
  liquidity_change_ratio Nullable(Float64),
  version UInt64
) ENGINE=ReplacingMergeTree(version)
ORDER BY (resolution, token_address)
SETTINGS {storage}, index_granularity=512;

CREATE TABLE IF NOT EXISTS {chain}_token_prices (
  token_address String CODEC(ZSTD(1)),
  price_time DateTime64(3,'UTC') CODEC(DoubleDelta, ZSTD(1)),
  price_usd Nullable(Float64),
  price_native Nullable(Float64),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1))
) ENGINE=ReplacingMergeTree(_ver)
ORDER BY token_address
SETTINGS {storage}, index_granularity=1024;

CREATE TABLE IF NOT EXISTS {chain}_token_markets (
  token_address String CODEC(ZSTD(1)),
  market_time DateTime64(3,'UTC') CODEC(DoubleDelta, ZSTD(1)),
  total_supply Nullable(Decimal(76,24)),
  market_cap_usd Nullable(Float64),
  market_cap_native Nullable(Float64),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1))
) ENGINE=ReplacingMergeTree(_ver)
ORDER BY token_address
SETTINGS {storage}, index_granularity=1024;

CREATE TABLE IF NOT EXISTS {chain}_token_supplies (
  block_time DateTime64(3,'UTC') CODEC(DoubleDelta, ZSTD(1)),
  block_slot UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_height UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_hash String CODEC(ZSTD(1)),
  tx_hash String CODEC(ZSTD(1)),
  tx_index UInt32 CODEC(T64, ZSTD(1)),
  tx_signer String CODEC(ZSTD(1)),
  tx_fee UInt256 CODEC(ZSTD(1)),
  tx_fee_native Decimal(38,12) CODEC(ZSTD(1)),
  tx_fee_usd Nullable(Decimal(38,12)) CODEC(ZSTD(1)),
  tx_status Enum8('UNSPECIFIED'=0,'SUCCESS'=1,'FAILED'=2),
  event_index UInt32 CODEC(T64, ZSTD(1)),
  event_type Enum8('UNSPECIFIED'=0,'INITIALIZE_MINT'=1,'MINT'=2,'BURN'=3,'INITIALIZE_MINT_FROM_RPC'=99),
  token_address String CODEC(ZSTD(1)),
  decimals Nullable(UInt8),
  amount UInt256 CODEC(ZSTD(1)),
  post_supply Nullable(Decimal(76,24)),
  market_cap_usd Nullable(Float64),
  market_cap_native Nullable(Float64),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0
) ENGINE=ReplacingMergeTree(_ver, _del)
PARTITION BY toYYYYMM(block_time)
ORDER BY (token_address, block_slot, tx_index, event_index)
SETTINGS {storage}, ttl_only_drop_parts=1;

CREATE TABLE IF NOT EXISTS {chain}_token_documents (
  token_address String CODEC(ZSTD(1)),
  uri String,
  description String,
  image_url String,
  social Map(LowCardinality(String), String),
  fetched_at DateTime64(3,'UTC')
) ENGINE=ReplacingMergeTree(fetched_at)
ORDER BY token_address
SETTINGS {storage};
