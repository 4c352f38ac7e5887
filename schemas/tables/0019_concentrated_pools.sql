-- What a concentrated pool prices with, beside what it holds. Unknown for pools of other kinds.
ALTER TABLE {chain}_dex_pools
  ADD COLUMN IF NOT EXISTS sqrt_price_x96 Nullable(UInt256) CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS range_liquidity Nullable(UInt256) CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS tick Nullable(Int32),
  ADD COLUMN IF NOT EXISTS fee_pips Nullable(UInt32),
  ADD COLUMN IF NOT EXISTS is_complete UInt8 DEFAULT 0,
  ADD COLUMN IF NOT EXISTS depth_usd Nullable(Decimal(38,12)) CODEC(ZSTD(1));

-- Liquidity by range of ticks: summed over a pool's life these are its ticks, so they do not expire.
CREATE TABLE IF NOT EXISTS {chain}_dex_pool_positions (
  pool_address String CODEC(ZSTD(1)),
  block_time DateTime64(3,'UTC') CODEC(DoubleDelta, ZSTD(1)),
  block_slot UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_height UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_hash String CODEC(ZSTD(1)),
  tx_index UInt32 CODEC(T64, ZSTD(1)),
  event_index UInt32 CODEC(T64, ZSTD(1)),
  tick_lower Int32,
  tick_upper Int32,
  liquidity_change Int256 CODEC(ZSTD(1)),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0
) ENGINE=ReplacingMergeTree(_ver, _del)
ORDER BY (pool_address, block_slot, tx_index, event_index)
SETTINGS {storage};
