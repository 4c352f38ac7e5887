-- What lists of a token's traders are in the order of, by token: `wallet_token_pnl` is kept by wallet, and has the rest.
CREATE TABLE IF NOT EXISTS {chain}_token_traders (
  token_address String CODEC(ZSTD(1)),
  wallet String CODEC(ZSTD(1)),
  buy_amount_usd Decimal(38,12) CODEC(ZSTD(1)),
  sell_amount_usd Decimal(38,12) CODEC(ZSTD(1)),
  total_realized_usd Decimal(38,12) CODEC(ZSTD(1)),
  position_amount Nullable(Decimal(76,18)) CODEC(ZSTD(1)),
  position_cost_usd Decimal(38,12) CODEC(ZSTD(1)),
  first_time DateTime64(3,'UTC') CODEC(ZSTD(1)),
  last_time DateTime64(3,'UTC') CODEC(ZSTD(1)),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0
) ENGINE=ReplacingMergeTree(_ver, _del)
ORDER BY (token_address, wallet)
SETTINGS {storage};

CREATE MATERIALIZED VIEW IF NOT EXISTS {chain}_token_traders_mv TO {chain}_token_traders AS SELECT
  token_address, wallet, buy_amount_usd, sell_amount_usd, total_realized_usd, position_amount, position_cost_usd, first_time, last_time, _ver, _del
FROM {chain}_wallet_token_pnl;

-- Positions of before this table; those that the view has meanwhile replace themselves.
INSERT INTO {chain}_token_traders (token_address, wallet, buy_amount_usd, sell_amount_usd, total_realized_usd, position_amount, position_cost_usd,
  first_time, last_time, _ver, _del)
SELECT
  token_address, wallet, buy_amount_usd, sell_amount_usd, total_realized_usd, position_amount, position_cost_usd, first_time, last_time, _ver, _del
FROM {chain}_wallet_token_pnl FINAL;
