-- What a pool prices with where that differs from what lies in its vaults, and its fee. Unknown for pools that do not prove it.
ALTER TABLE {chain}_dex_pools
  ADD COLUMN IF NOT EXISTS priced_reserve_a Nullable(UInt256) CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS priced_reserve_b Nullable(UInt256) CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS priced_fees Array(UInt32) CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS fee_token String CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS is_doubted UInt8 DEFAULT 0;
