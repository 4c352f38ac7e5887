-- One row per transaction: filled where the feed is on. What a chain does not have is NULL.
CREATE TABLE IF NOT EXISTS {chain}_transactions (
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
  to_address String CODEC(ZSTD(1)),
  contract_address String CODEC(ZSTD(1)),
  value Nullable(UInt256) CODEC(ZSTD(1)),
  gas_limit Nullable(UInt64) CODEC(ZSTD(1)),
  gas_used Nullable(UInt64) CODEC(ZSTD(1)),
  cumulative_gas_used Nullable(UInt64) CODEC(ZSTD(1)),
  gas_price Nullable(UInt256) CODEC(ZSTD(1)),
  priority_fee Nullable(UInt256) CODEC(ZSTD(1)),
  burnt Nullable(UInt256) CODEC(ZSTD(1)),
  nonce Nullable(UInt64) CODEC(ZSTD(1)),
  tx_type Nullable(UInt8),
  instructions_count Nullable(UInt32),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0,
  INDEX bf_tx_hash tx_hash TYPE bloom_filter(0.01) GRANULARITY 4,
  INDEX bf_signer tx_signer TYPE bloom_filter(0.01) GRANULARITY 4,
  INDEX bf_to to_address TYPE bloom_filter(0.01) GRANULARITY 4
) ENGINE=ReplacingMergeTree(_ver, _del)
PARTITION BY toYYYYMMDD(block_time)
ORDER BY (block_slot, tx_index)
SETTINGS {storage}, ttl_only_drop_parts=1;
