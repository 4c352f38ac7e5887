-- Balances by change, by token and by wallet; holder counts by hour; profit and loss by wallet and token, and by trade.
-- Prices of tokens other than quote assets are joined when read, so that no row depends on when it was written.
CREATE TABLE IF NOT EXISTS {chain}_balance_updates (
  block_time DateTime64(3,'UTC') CODEC(DoubleDelta, ZSTD(1)),
  block_slot UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_height UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_hash String CODEC(ZSTD(1)),
  tx_hash String CODEC(ZSTD(1)),
  tx_index UInt32 CODEC(T64, ZSTD(1)),
  tx_signer String CODEC(ZSTD(1)),
  tx_fee UInt256 CODEC(ZSTD(1)),
  tx_fee_native Decimal(38,12) CODEC(ZSTD(1)),
  tx_fee_usd Nullable(Decimal(38,12)) CODEC(ZSTD(1)),
  tx_status Enum8('UNSPECIFIED'=0,'SUCCESS'=1,'FAILED'=2),
  ix_index UInt32,
  event_index UInt32 CODEC(T64, ZSTD(1)),
  token_address String CODEC(ZSTD(1)),
  decimals Nullable(UInt8),
  token_account String CODEC(ZSTD(1)),
  owner String CODEC(ZSTD(1)),
  pre_balance UInt256 CODEC(ZSTD(1)),
  post_balance UInt256 CODEC(ZSTD(1)),
  owner_balance UInt256 CODEC(ZSTD(1)),
  pre_balance_usd Nullable(Decimal(38,12)) CODEC(ZSTD(1)),
  post_balance_usd Nullable(Decimal(38,12)) CODEC(ZSTD(1)),
  pre_balance_native Nullable(Decimal(38,12)) CODEC(ZSTD(1)),
  post_balance_native Nullable(Decimal(38,12)) CODEC(ZSTD(1)),
  price_usd Nullable(Float64) CODEC(ZSTD(1)),
  lifecycle Enum8('UNSPECIFIED'=0,'NEW'=1,'EXISTING'=2,'CLOSED'=3),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0,
  INDEX bf_t token_address TYPE bloom_filter(0.01) GRANULARITY 4
) ENGINE=ReplacingMergeTree(_ver, _del)
PARTITION BY toYYYYMMDD(block_time)
ORDER BY (owner, token_address, block_slot, tx_index, event_index)
SETTINGS {storage}, ttl_only_drop_parts=1;

-- One row per token and owner over all of its token accounts; zero balances stay, readers leave them out.
CREATE TABLE IF NOT EXISTS {chain}_token_holders (
  token_address String CODEC(ZSTD(1)),
  holder String CODEC(ZSTD(1)),
  decimals Nullable(UInt8),
  balance UInt256 CODEC(ZSTD(1)),
  first_seen DateTime64(3,'UTC'),
  last_seen DateTime64(3,'UTC'),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0
) ENGINE=ReplacingMergeTree(_ver, _del)
ORDER BY (token_address, holder)
SETTINGS {storage}, index_granularity=1024;

CREATE TABLE IF NOT EXISTS {chain}_wallet_balances (
  token_address String CODEC(ZSTD(1)),
  holder String CODEC(ZSTD(1)),
  decimals Nullable(UInt8),
  balance UInt256 CODEC(ZSTD(1)),
  first_seen DateTime64(3,'UTC'),
  last_seen DateTime64(3,'UTC'),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0
) ENGINE=ReplacingMergeTree(_ver, _del)
ORDER BY (holder, token_address)
SETTINGS {storage}, index_granularity=1024;

-- State of a token's holders at the end of each hour in which it changed. Groups that are not known have no entry.
CREATE TABLE IF NOT EXISTS {chain}_token_holdings (
  token_address String CODEC(ZSTD(1)),
  hour DateTime('UTC'),
  changed_at DateTime64(3,'UTC'),
  holders UInt64,
  top10_holders UInt64,
  top10_amount UInt256,
  top10_ratio Nullable(Float64),
  top50_holders UInt64,
  top50_amount UInt256,
  top50_ratio Nullable(Float64),
  top100_holders UInt64,
  top100_amount UInt256,
  top100_ratio Nullable(Float64),
  groups Map(LowCardinality(String), Tuple(count UInt64, amount UInt256, ratio Float64)),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0
) ENGINE=ReplacingMergeTree(_ver, _del)
PARTITION BY toYYYYMM(hour)
ORDER BY (token_address, hour)
SETTINGS {storage};

-- Moving average cost by wallet and base token. Amounts in token units; null without decimals.
CREATE TABLE IF NOT EXISTS {chain}_wallet_token_pnl (
  wallet String CODEC(ZSTD(1)),
  token_address String CODEC(ZSTD(1)),
  buy_amount Nullable(Decimal(76,18)) CODEC(ZSTD(1)),
  buy_amount_usd Decimal(38,12) CODEC(ZSTD(1)),
  buys UInt64,
  sell_amount Nullable(Decimal(76,18)) CODEC(ZSTD(1)),
  sell_amount_usd Decimal(38,12) CODEC(ZSTD(1)),
  sells UInt64,
  realized_usd Decimal(38,12) CODEC(ZSTD(1)),
  total_realized_usd Decimal(38,12) CODEC(ZSTD(1)),
  position_amount Nullable(Decimal(76,18)) CODEC(ZSTD(1)),
  position_cost_usd Decimal(38,12) CODEC(ZSTD(1)),
  last_price_usd Nullable(Float64) CODEC(ZSTD(1)),
  open_time DateTime64(3,'UTC'),
  close_time DateTime64(3,'UTC'),
  first_time DateTime64(3,'UTC'),
  last_time DateTime64(3,'UTC'),
  wins UInt64,
  losses UInt64,
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0,
  INDEX bf_t token_address TYPE bloom_filter(0.01) GRANULARITY 4
) ENGINE=ReplacingMergeTree(_ver, _del)
ORDER BY (wallet, token_address)
SETTINGS {storage}, index_granularity=1024;

-- What each trade did to its wallet's position; `unknown_amount` is the sold part whose cost is not known.
CREATE TABLE IF NOT EXISTS {chain}_wallet_pnl_trades (
  block_time DateTime64(3,'UTC') CODEC(DoubleDelta, ZSTD(1)),
  block_slot UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_height UInt64 CODEC(DoubleDelta, ZSTD(1)),
  block_hash String CODEC(ZSTD(1)),
  tx_hash String CODEC(ZSTD(1)),
  event_index UInt32 CODEC(T64, ZSTD(1)),
  wallet String CODEC(ZSTD(1)),
  token_address String CODEC(ZSTD(1)),
  side Enum8('BUY'=1,'SELL'=2),
  amount Nullable(Decimal(76,18)) CODEC(ZSTD(1)),
  amount_usd Nullable(Decimal(38,12)) CODEC(ZSTD(1)),
  realized_usd Decimal(38,12) CODEC(ZSTD(1)),
  cost_usd Decimal(38,12) CODEC(ZSTD(1)),
  unknown_amount Nullable(Decimal(76,18)) CODEC(ZSTD(1)),
  position_amount Nullable(Decimal(76,18)) CODEC(ZSTD(1)),
  position_cost_usd Decimal(38,12) CODEC(ZSTD(1)),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0,
  INDEX bf_t token_address TYPE bloom_filter(0.01) GRANULARITY 4
) ENGINE=ReplacingMergeTree(_ver, _del)
PARTITION BY toYYYYMMDD(block_time)
ORDER BY (wallet, block_slot, event_index)
SETTINGS {storage}, ttl_only_drop_parts=1;
