-- What a Solana block holds beside trades: filled where the feeds are on.
CREATE TABLE IF NOT EXISTS {chain}_instructions_enriched (
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
  ix_index UInt32 CODEC(T64, ZSTD(1)),
  depth UInt32 CODEC(T64, ZSTD(1)),
  internal_seq UInt32 CODEC(T64, ZSTD(1)),
  program_address String CODEC(ZSTD(1)),
  program_name LowCardinality(Nullable(String)),
  method LowCardinality(Nullable(String)),
  accounts Array(String) CODEC(ZSTD(3)),
  data String CODEC(ZSTD(3)),
  call_path Array(UInt32),
  logs Array(String) CODEC(ZSTD(3)),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0,
  INDEX bf_tx_hash tx_hash TYPE bloom_filter(0.01) GRANULARITY 4
) ENGINE=ReplacingMergeTree(_ver, _del)
PARTITION BY toYYYYMMDD(block_time)
ORDER BY (program_address, block_slot, tx_index, event_index)
SETTINGS {storage}, ttl_only_drop_parts=1;

CREATE TABLE IF NOT EXISTS {chain}_dex_orders (
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
  ix_index UInt32 CODEC(T64, ZSTD(1)),
  event_type LowCardinality(String),
  market_address String CODEC(ZSTD(1)),
  order_id String CODEC(ZSTD(1)),
  buy_side UInt8,
  limit_price Nullable(Float64) CODEC(ZSTD(1)),
  limit_amount Nullable(Float64) CODEC(ZSTD(1)),
  mint String CODEC(ZSTD(1)),
  owner String CODEC(ZSTD(1)),
  account String CODEC(ZSTD(1)),
  payer String CODEC(ZSTD(1)),
  program_address LowCardinality(String),
  protocol_name LowCardinality(String),
  protocol_family LowCardinality(String),
  price_ticks UInt256 CODEC(ZSTD(1)),
  size_lots UInt256 CODEC(ZSTD(1)),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0,
  INDEX bf_owner owner TYPE bloom_filter(0.01) GRANULARITY 4
) ENGINE=ReplacingMergeTree(_ver, _del)
PARTITION BY toYYYYMMDD(block_time)
ORDER BY (market_address, block_slot, tx_index, event_index)
SETTINGS {storage}, ttl_only_drop_parts=1;

CREATE TABLE IF NOT EXISTS {chain}_rewards (
  block_time DateTime64(3,'UTC') CODEC(DoubleDelta, ZSTD(1)),
  block_slot UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_height UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_hash String CODEC(ZSTD(1)),
  event_index UInt32 CODEC(T64, ZSTD(1)),
  address String CODEC(ZSTD(1)),
  amount Int64 CODEC(ZSTD(1)),
  post_balance UInt256 CODEC(ZSTD(1)),
  reward_type LowCardinality(String),
  commission Nullable(UInt8),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0
) ENGINE=ReplacingMergeTree(_ver, _del)
PARTITION BY toYYYYMMDD(block_time)
ORDER BY (address, block_slot, event_index)
SETTINGS {storage}, ttl_only_drop_parts=1;
