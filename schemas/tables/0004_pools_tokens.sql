-- Pools with their events, tokens, transfers.
CREATE TABLE IF NOT EXISTS {chain}_dex_pool_events_enriched (
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
  ix_index UInt32,
  event_index UInt32 CODEC(T64, ZSTD(1)),
  event_type Enum8('UNSPECIFIED'=0,'INITIALIZE'=1,'INCREASE_LIQUIDITY'=2,'DECREASE_LIQUIDITY'=3,'SWAP'=4),
  pool_address String CODEC(ZSTD(1)),
  program_address LowCardinality(String),
  protocol_name LowCardinality(String),
  protocol_family LowCardinality(String),
  base_token String CODEC(ZSTD(1)),
  base_decimals Nullable(UInt8),
  base_change Int256 CODEC(ZSTD(1)),
  base_post Nullable(UInt256) CODEC(ZSTD(1)),
  base_price_usd Nullable(Float64) CODEC(ZSTD(1)),
  quote_token String CODEC(ZSTD(1)),
  quote_decimals Nullable(UInt8),
  quote_change Int256 CODEC(ZSTD(1)),
  quote_post Nullable(UInt256) CODEC(ZSTD(1)),
  quote_price_usd Nullable(Float64) CODEC(ZSTD(1)),
  liquidity_usd Nullable(Decimal(38,12)) CODEC(ZSTD(1)),
  liquidity_native Nullable(Decimal(38,12)) CODEC(ZSTD(1)),
  lp_wallet String CODEC(ZSTD(1)),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0,
  INDEX bf_b base_token TYPE bloom_filter(0.01) GRANULARITY 4,
  INDEX bf_q quote_token TYPE bloom_filter(0.01) GRANULARITY 4
) ENGINE=ReplacingMergeTree(_ver, _del)
PARTITION BY toYYYYMMDD(block_time)
ORDER BY (pool_address, block_slot, tx_index, event_index)
SETTINGS {storage}, ttl_only_drop_parts=1;

CREATE TABLE IF NOT EXISTS {chain}_dex_pools (
  pool_address String CODEC(ZSTD(1)),
  token_a String CODEC(ZSTD(1)),
  token_b String CODEC(ZSTD(1)),
  program_address LowCardinality(String),
  protocol_name LowCardinality(String),
  protocol_family LowCardinality(String),
  decimals_a Nullable(UInt8),
  decimals_b Nullable(UInt8),
  base_is_a UInt8,
  reserve_a Nullable(UInt256) CODEC(ZSTD(1)),
  reserve_b Nullable(UInt256) CODEC(ZSTD(1)),
  liquidity_usd Nullable(Decimal(38,12)) CODEC(ZSTD(1)),
  liquidity_native Nullable(Decimal(38,12)) CODEC(ZSTD(1)),
  price_a_to_b Nullable(Float64) CODEC(ZSTD(1)),
  price_b_to_a Nullable(Float64) CODEC(ZSTD(1)),
  curve_progress Nullable(Float64),
  last_updated DateTime64(3,'UTC'),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0
) ENGINE=ReplacingMergeTree(_ver, _del)
ORDER BY pool_address
SETTINGS {storage}, index_granularity=1024;

-- Who made a pool, and when: apart from the current state above, because that row is replaced whole by every event.
CREATE TABLE IF NOT EXISTS {chain}_dex_pool_births (
  pool_address String CODEC(ZSTD(1)),
  created_at DateTime64(3,'UTC'),
  created_tx String CODEC(ZSTD(1)),
  creator String CODEC(ZSTD(1)),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0
) ENGINE=ReplacingMergeTree(_ver, _del)
ORDER BY pool_address
SETTINGS {storage};

CREATE TABLE IF NOT EXISTS {chain}_tokens (
  token_address String CODEC(ZSTD(1)),
  name String,
  symbol String,
  decimals Nullable(UInt8),
  total_supply Nullable(UInt256),
  supply_height UInt64,
  uri String,
  metadata_address String CODEC(ZSTD(1)),
  description String,
  image_url String,
  thumb_url String,
  social Map(LowCardinality(String), String),
  creators Array(Tuple(address String, verified UInt8, share Int32)),
  standard LowCardinality(String),
  program_address LowCardinality(String),
  mint_authority String CODEC(ZSTD(1)),
  freeze_authority String CODEC(ZSTD(1)),
  update_authority String CODEC(ZSTD(1)),
  is_mutable UInt8,
  is_native UInt8,
  launch_program LowCardinality(String),
  launch_family LowCardinality(String),
  launch_name LowCardinality(String),
  migrated_program LowCardinality(String),
  migrated_family LowCardinality(String),
  migrated_pool String CODEC(ZSTD(1)),
  migrated_at Nullable(DateTime64(3,'UTC')),
  created_at DateTime64(3,'UTC'),
  created_slot UInt64,
  created_tx String CODEC(ZSTD(1)),
  dev String CODEC(ZSTD(1)),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0,
  INDEX ng_name lower(name) TYPE ngrambf_v1(3, 65536, 2, 0) GRANULARITY 4,
  INDEX ng_sym lower(symbol) TYPE ngrambf_v1(2, 32768, 2, 0) GRANULARITY 4
) ENGINE=ReplacingMergeTree(_ver, _del)
ORDER BY token_address
SETTINGS {storage}, index_granularity=1024;

CREATE TABLE IF NOT EXISTS {chain}_transfers (
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
  ix_index UInt32,
  call_index UInt32,
  log_index UInt32,
  event_index UInt32 CODEC(T64, ZSTD(1)),
  token_address String CODEC(ZSTD(1)),
  decimals Nullable(UInt8),
  sender String CODEC(ZSTD(1)),
  sender_token_account String CODEC(ZSTD(1)),
  receiver String CODEC(ZSTD(1)),
  receiver_token_account String CODEC(ZSTD(1)),
  amount UInt256 CODEC(ZSTD(1)),
  amount_usd Nullable(Decimal(38,12)) CODEC(ZSTD(1)),
  amount_native Nullable(Decimal(38,12)) CODEC(ZSTD(1)),
  price_usd Nullable(Float64) CODEC(ZSTD(1)),
  price_native Nullable(Float64) CODEC(ZSTD(1)),
  token_id UInt256 CODEC(ZSTD(1)),
  uri String,
  success UInt8,
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0,
  INDEX bf_s sender TYPE bloom_filter(0.01) GRANULARITY 4,
  INDEX bf_r receiver TYPE bloom_filter(0.01) GRANULARITY 4,
  INDEX bf_t tx_hash TYPE bloom_filter(0.01) GRANULARITY 4
) ENGINE=ReplacingMergeTree(_ver, _del)
PARTITION BY toYYYYMMDD(block_time)
ORDER BY (token_address, block_slot, tx_index, event_index)
SETTINGS {storage}, ttl_only_drop_parts=1;
