-- Changes of liquidity without the swaps between them: each once for the chain, for its wallet, and for both of its tokens.
CREATE TABLE IF NOT EXISTS {chain}_liquidity_changes (
  subject_kind Enum8('CHAIN'=1,'WALLET'=2,'BASE'=3,'QUOTE'=4),
  subject String CODEC(ZSTD(1)),
  block_time DateTime64(3,'UTC') CODEC(DoubleDelta, ZSTD(1)),
  block_slot UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_height UInt64 CODEC(DoubleDelta, ZSTD(1)),
  tx_hash String CODEC(ZSTD(1)),
  tx_index UInt32 CODEC(T64, ZSTD(1)),
  tx_fee UInt256 CODEC(ZSTD(1)),
  tx_fee_native Decimal(38,12) CODEC(ZSTD(1)),
  tx_fee_usd Nullable(Decimal(38,12)) CODEC(ZSTD(1)),
  tx_status Enum8('UNSPECIFIED'=0,'SUCCESS'=1,'FAILED'=2),
  event_index UInt32 CODEC(T64, ZSTD(1)),
  event_type Enum8('UNSPECIFIED'=0,'INITIALIZE'=1,'INCREASE_LIQUIDITY'=2,'DECREASE_LIQUIDITY'=3,'SWAP'=4),
  pool_address String CODEC(ZSTD(1)),
  program_address LowCardinality(String),
  protocol_family LowCardinality(String),
  base_token String CODEC(ZSTD(1)),
  base_decimals Nullable(UInt8),
  base_change Int256 CODEC(ZSTD(1)),
  base_price_usd Nullable(Float64) CODEC(ZSTD(1)),
  quote_token String CODEC(ZSTD(1)),
  quote_decimals Nullable(UInt8),
  quote_change Int256 CODEC(ZSTD(1)),
  quote_price_usd Nullable(Float64) CODEC(ZSTD(1)),
  lp_wallet String CODEC(ZSTD(1)),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0
) ENGINE=ReplacingMergeTree(_ver, _del)
PARTITION BY toYYYYMMDD(block_time)
ORDER BY (subject_kind, subject, block_slot, tx_index, event_index, pool_address)
SETTINGS {storage}, ttl_only_drop_parts=1;

CREATE MATERIALIZED VIEW IF NOT EXISTS {chain}_liquidity_changes_mv TO {chain}_liquidity_changes AS SELECT
  s.1 AS subject_kind, s.2 AS subject, block_time, block_slot, block_height, tx_hash, tx_index, tx_fee, tx_fee_native, tx_fee_usd, tx_status,
  event_index, event_type, pool_address, program_address, protocol_family, base_token, base_decimals, base_change, base_price_usd,
  quote_token, quote_decimals, quote_change, quote_price_usd, lp_wallet, _ver, _del
FROM {chain}_dex_pool_events_enriched
ARRAY JOIN [('CHAIN', ''), ('WALLET', lp_wallet), ('BASE', base_token), ('QUOTE', quote_token)] AS s
WHERE event_type != 'SWAP';

-- Events of before this table; those that the view has meanwhile replace themselves.
INSERT INTO {chain}_liquidity_changes (subject_kind, subject, block_time, block_slot, block_height, tx_hash, tx_index, tx_fee, tx_fee_native,
  tx_fee_usd, tx_status, event_index, event_type, pool_address, program_address, protocol_family, base_token, base_decimals, base_change,
  base_price_usd, quote_token, quote_decimals, quote_change, quote_price_usd, lp_wallet, _ver, _del)
SETTINGS max_partitions_per_insert_block=0
SELECT
  s.1 AS subject_kind, s.2 AS subject, block_time, block_slot, block_height, tx_hash, tx_index, tx_fee, tx_fee_native, tx_fee_usd, tx_status,
  event_index, event_type, pool_address, program_address, protocol_family, base_token, base_decimals, base_change, base_price_usd,
  quote_token, quote_decimals, quote_change, quote_price_usd, lp_wallet, _ver, _del
FROM {chain}_dex_pool_events_enriched
ARRAY JOIN [('CHAIN', ''), ('WALLET', lp_wallet), ('BASE', base_token), ('QUOTE', quote_token)] AS s
WHERE event_type != 'SWAP';
