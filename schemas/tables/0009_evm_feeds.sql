-- What an EVM block holds beside trades: filled where the feeds are on.
CREATE TABLE IF NOT EXISTS {chain}_traces_enriched (
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
  call_index UInt32 CODEC(T64, ZSTD(1)),
  depth UInt32 CODEC(T64, ZSTD(1)),
  from_address String CODEC(ZSTD(1)),
  to_address String CODEC(ZSTD(1)),
  opcode LowCardinality(String),
  gas UInt64 CODEC(ZSTD(1)),
  gas_used UInt64 CODEC(ZSTD(1)),
  input String CODEC(ZSTD(3)),
  output String CODEC(ZSTD(3)),
  value UInt256 CODEC(ZSTD(1)),
  sig_name LowCardinality(Nullable(String)),
  signature LowCardinality(Nullable(String)),
  success UInt8,
  error Nullable(String) CODEC(ZSTD(1)),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0,
  INDEX bf_tx_hash tx_hash TYPE bloom_filter(0.01) GRANULARITY 4
) ENGINE=ReplacingMergeTree(_ver, _del)
PARTITION BY toYYYYMMDD(block_time)
ORDER BY (to_address, block_slot, tx_index, call_index)
SETTINGS {storage}, ttl_only_drop_parts=1;

CREATE TABLE IF NOT EXISTS {chain}_logs_enriched (
  block_time DateTime64(3,'UTC') CODEC(DoubleDelta, ZSTD(1)),
  block_slot UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_height UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_hash String CODEC(ZSTD(1)),
  event_index UInt32 CODEC(T64, ZSTD(1)),
  tx_hash String CODEC(ZSTD(1)),
  tx_index UInt32 CODEC(T64, ZSTD(1)),
  tx_from String CODEC(ZSTD(1)),
  tx_to String CODEC(ZSTD(1)),
  log_index UInt32 CODEC(T64, ZSTD(1)),
  contract String CODEC(ZSTD(1)),
  topic0 String CODEC(ZSTD(1)),
  topics Array(String) CODEC(ZSTD(1)),
  data String CODEC(ZSTD(3)),
  sig_name LowCardinality(Nullable(String)),
  signature LowCardinality(Nullable(String)),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0,
  INDEX bf_tx_hash tx_hash TYPE bloom_filter(0.01) GRANULARITY 4
) ENGINE=ReplacingMergeTree(_ver, _del)
PARTITION BY toYYYYMMDD(block_time)
ORDER BY (contract, topic0, block_slot, log_index)
SETTINGS {storage}, ttl_only_drop_parts=1;

CREATE TABLE IF NOT EXISTS {chain}_miner_rewards (
  block_time DateTime64(3,'UTC') CODEC(DoubleDelta, ZSTD(1)),
  block_slot UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_height UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_hash String CODEC(ZSTD(1)),
  event_index UInt32 CODEC(T64, ZSTD(1)),
  miner String CODEC(ZSTD(1)),
  total_reward UInt256 CODEC(ZSTD(1)),
  burnt_fees UInt256 CODEC(ZSTD(1)),
  dynamic_reward UInt256 CODEC(ZSTD(1)),
  static_reward UInt256 CODEC(ZSTD(1)),
  tx_fees UInt256 CODEC(ZSTD(1)),
  uncle_reward UInt256 CODEC(ZSTD(1)),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0
) ENGINE=ReplacingMergeTree(_ver, _del)
PARTITION BY toYYYYMMDD(block_time)
ORDER BY (miner, block_slot)
SETTINGS {storage}, ttl_only_drop_parts=1;

CREATE TABLE IF NOT EXISTS {chain}_uncles (
  block_time DateTime64(3,'UTC') CODEC(DoubleDelta, ZSTD(1)),
  block_slot UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_height UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_hash String CODEC(ZSTD(1)),
  event_index UInt32 CODEC(T64, ZSTD(1)),
  uncle_index UInt32 CODEC(T64, ZSTD(1)),
  uncle_hash String CODEC(ZSTD(1)),
  uncle_parent_hash String CODEC(ZSTD(1)),
  miner String CODEC(ZSTD(1)),
  difficulty UInt256 CODEC(ZSTD(1)),
  uncle_number UInt64 CODEC(ZSTD(1)),
  gas_limit UInt64 CODEC(ZSTD(1)),
  gas_used UInt64 CODEC(ZSTD(1)),
  uncle_time DateTime64(3,'UTC') CODEC(DoubleDelta, ZSTD(1)),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0
) ENGINE=ReplacingMergeTree(_ver, _del)
PARTITION BY toYYYYMMDD(block_time)
ORDER BY (block_slot, uncle_index)
SETTINGS {storage}, ttl_only_drop_parts=1;
