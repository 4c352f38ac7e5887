-- Creations of red packets, each with a row of its own: an address of Solana is used again once its packet was withdrawn, and a creation that a
-- reorg takes back leaves the one before it as it was.
CREATE TABLE IF NOT EXISTS {chain}_redpacket_creations (
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
ORDER BY (packet_id, block_slot, tx_index, event_index)
SETTINGS {storage};

-- Rows come by the table of packets, also from processes of an older build that run beside this one.
CREATE MATERIALIZED VIEW IF NOT EXISTS {chain}_redpacket_creations_mv TO {chain}_redpacket_creations AS
  SELECT * FROM {chain}_redpackets;

-- What that table still holds, retractions included; rows that are copied twice replace themselves.
INSERT INTO {chain}_redpacket_creations SELECT * FROM {chain}_redpackets;
