-- What listed contracts said of addresses: filled where the feed is on. Rows never expire; labels are made of those of final blocks.
CREATE TABLE IF NOT EXISTS {chain}_address_label_events (
  block_time DateTime64(3,'UTC') CODEC(DoubleDelta, ZSTD(1)),
  block_slot UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_height UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_hash String CODEC(ZSTD(1)),
  tx_hash String CODEC(ZSTD(1)),
  tx_index UInt32 CODEC(T64, ZSTD(1)),
  event_index UInt32 CODEC(T64, ZSTD(1)),
  log_index UInt32 CODEC(T64, ZSTD(1)),
  contract LowCardinality(String),
  protocol LowCardinality(String),
  action LowCardinality(String),
  address String CODEC(ZSTD(1)),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0
) ENGINE=ReplacingMergeTree(_ver, _del)
ORDER BY (contract, address, block_slot, event_index)
SETTINGS {storage};
