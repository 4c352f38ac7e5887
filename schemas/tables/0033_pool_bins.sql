-- What a pool of Liquidity Book prices with beside its bins, and what all of its bins hold. Unknown for pools of other kinds.
ALTER TABLE {chain}_dex_pools
  ADD COLUMN IF NOT EXISTS token_x String CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS bin_step Nullable(UInt16),
  ADD COLUMN IF NOT EXISTS active_bin Nullable(UInt32),
  ADD COLUMN IF NOT EXISTS fee_terms Array(UInt32) CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS volatility UInt32 DEFAULT 0,
  ADD COLUMN IF NOT EXISTS volatility_reference UInt32 DEFAULT 0,
  ADD COLUMN IF NOT EXISTS bin_reference Nullable(UInt32),
  ADD COLUMN IF NOT EXISTS volatility_at UInt64 DEFAULT 0,
  ADD COLUMN IF NOT EXISTS bins_x Int256 DEFAULT 0 CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS bins_y Int256 DEFAULT 0 CODEC(ZSTD(1));

-- Tokens X and Y by bin: summed over a pool's life these are what its bins hold, so they do not expire.
CREATE TABLE IF NOT EXISTS {chain}_dex_pool_bins (
  pool_address String CODEC(ZSTD(1)),
  block_time DateTime64(3,'UTC') CODEC(DoubleDelta, ZSTD(1)),
  block_slot UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_height UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_hash String CODEC(ZSTD(1)),
  tx_index UInt32 CODEC(T64, ZSTD(1)),
  event_index UInt32 CODEC(T64, ZSTD(1)),
  bin UInt32,
  x_change Int256 CODEC(ZSTD(1)),
  y_change Int256 CODEC(ZSTD(1)),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0
) ENGINE=ReplacingMergeTree(_ver, _del)
ORDER BY (pool_address, block_slot, tx_index, event_index, bin)
SETTINGS {storage};
