-- Gifts that several addresses share: filled where the feed is on. Rows never expire.
CREATE TABLE IF NOT EXISTS {chain}_redpackets (
  block_time DateTime64(3,'UTC') CODEC(DoubleDelta, ZSTD(1)),
  block_slot UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_height UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_hash String CODEC(ZSTD(1)),
  tx_hash String CODEC(ZSTD(1)),
  tx_index UInt32 CODEC(T64, ZSTD(1)),
  event_index UInt32 CODEC(T64, ZSTD(1)),
  log_index UInt32 CODEC(T64, ZSTD(1)),
  contract LowCardinality(String),
  protocol_family LowCardinality(String),
  packet_id String CODEC(ZSTD(1)),
  share_id String CODEC(ZSTD(1)),
  mint String CODEC(ZSTD(1)),
  creator String CODEC(ZSTD(1)),
  total_amount UInt256 CODEC(ZSTD(1)),
  max_claims UInt32,
  is_random UInt8,
  memo String CODEC(ZSTD(3)),
  claim_authority String CODEC(ZSTD(1)),
  created_at DateTime64(3,'UTC') CODEC(DoubleDelta, ZSTD(1)),
  expiration_seconds UInt32,
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0,
  INDEX bf_share_id share_id TYPE bloom_filter(0.01) GRANULARITY 4,
  INDEX bf_creator creator TYPE bloom_filter(0.01) GRANULARITY 4
) ENGINE=ReplacingMergeTree(_ver, _del)
ORDER BY packet_id
SETTINGS {storage};

CREATE TABLE IF NOT EXISTS {chain}_redpacket_claims (
  block_time DateTime64(3,'UTC') CODEC(DoubleDelta, ZSTD(1)),
  block_slot UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_height UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_hash String CODEC(ZSTD(1)),
  tx_hash String CODEC(ZSTD(1)),
  tx_index UInt32 CODEC(T64, ZSTD(1)),
  event_index UInt32 CODEC(T64, ZSTD(1)),
  log_index UInt32 CODEC(T64, ZSTD(1)),
  contract LowCardinality(String),
  protocol_family LowCardinality(String),
  packet_id String CODEC(ZSTD(1)),
  share_id String CODEC(ZSTD(1)),
  mint String CODEC(ZSTD(1)),
  claimer String CODEC(ZSTD(1)),
  amount UInt256 CODEC(ZSTD(1)),
  claim_index UInt32,
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0,
  INDEX bf_claimer claimer TYPE bloom_filter(0.01) GRANULARITY 4
) ENGINE=ReplacingMergeTree(_ver, _del)
ORDER BY (packet_id, block_slot, tx_index, event_index)
SETTINGS {storage};

CREATE TABLE IF NOT EXISTS {chain}_redpacket_refunds (
  block_time DateTime64(3,'UTC') CODEC(DoubleDelta, ZSTD(1)),
  block_slot UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_height UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_hash String CODEC(ZSTD(1)),
  tx_hash String CODEC(ZSTD(1)),
  tx_index UInt32 CODEC(T64, ZSTD(1)),
  event_index UInt32 CODEC(T64, ZSTD(1)),
  log_index UInt32 CODEC(T64, ZSTD(1)),
  contract LowCardinality(String),
  protocol_family LowCardinality(String),
  packet_id String CODEC(ZSTD(1)),
  share_id String CODEC(ZSTD(1)),
  mint String CODEC(ZSTD(1)),
  amount Nullable(UInt256) CODEC(ZSTD(1)),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0
) ENGINE=ReplacingMergeTree(_ver, _del)
ORDER BY (packet_id, block_slot, tx_index, event_index)
SETTINGS {storage};
