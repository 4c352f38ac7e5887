-- Median of what a block's transactions paid per gas above its base fee; NULL where that is not known.
ALTER TABLE {chain}_blocks
  ADD COLUMN IF NOT EXISTS priority_fee Nullable(UInt256);

-- The part of what was bought and sold whose value is known, in token units: averages are over it. NULL in rows of before.
ALTER TABLE {chain}_wallet_token_pnl
  ADD COLUMN IF NOT EXISTS valued_buy_amount Nullable(Decimal(76,18)) CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS valued_sell_amount Nullable(Decimal(76,18)) CODEC(ZSTD(1));
