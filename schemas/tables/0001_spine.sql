-- Blocks and the state of each chain.
CREATE TABLE IF NOT EXISTS {chain}_blocks (
  block_time DateTime64(3,'UTC') CODEC(DoubleDelta, ZSTD(1)),
  block_slot UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_height UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_hash String CODEC(ZSTD(1)),
  parent_hash String CODEC(ZSTD(1)),
  parent_slot UInt64,
  tx_count UInt32,
  rewards_count UInt32,
  coinbase String CODEC(ZSTD(1)),
  gas_limit UInt64,
  gas_used UInt64,
  base_fee UInt256,
  difficulty UInt256,
  nonce UInt64,
  extra String,
  trades_count UInt32,
  trades_by_partition Array(UInt32),
  events_count UInt64,
  commitment Enum8('PROCESSED'=0,'CONFIRMED'=1,'SAFE'=2,'FINALIZED'=3),
  seq UInt64,
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0
) ENGINE=ReplacingMergeTree(_ver, _del)
PARTITION BY toYYYYMM(block_time)
ORDER BY (block_slot, block_hash)
SETTINGS {storage}, ttl_only_drop_parts=1;

CREATE TABLE IF NOT EXISTS {chain}_chain_state (
  key LowCardinality(String),
  final_slot UInt64,
  final_time DateTime64(3,'UTC'),
  hot_from DateTime('UTC'),
  seq UInt64,
  updated_at DateTime64(3,'UTC') DEFAULT now64(3),
  _ver UInt64
) ENGINE=ReplacingMergeTree(_ver)
ORDER BY key
SETTINGS {storage};
