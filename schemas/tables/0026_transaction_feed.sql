-- What the feed of transactions tells beyond the first columns: who paid, the fee caps it was sent with, and the programs that it called.
ALTER TABLE {chain}_transactions
  ADD COLUMN IF NOT EXISTS fee_payer String CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS max_fee Nullable(UInt256) CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS max_priority_fee Nullable(UInt256) CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS programs Array(String) CODEC(ZSTD(1));
