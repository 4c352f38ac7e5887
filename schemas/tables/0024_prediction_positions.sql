-- Positions in outcome tokens of prediction markets: filled where the feed is on, from `prediction.positions`. Rows never expire.
-- `quantity` and `cost` are what a change added to the position, below zero what it took; `collateral_amount` is null where it is not known.
CREATE TABLE IF NOT EXISTS {chain}_prediction_position_changes (
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
  event_index UInt32 CODEC(T64, ZSTD(1)),
  log_index UInt32 CODEC(T64, ZSTD(1)),
  protocol_family LowCardinality(String),
  condition_id String CODEC(ZSTD(1)),
  outcome LowCardinality(String),
  outcome_token String CODEC(ZSTD(1)),
  wallet String CODEC(ZSTD(1)),
  change_type LowCardinality(String),
  quantity Int256 CODEC(ZSTD(1)),
  collateral_amount Nullable(UInt256) CODEC(ZSTD(1)),
  cost Int256 CODEC(ZSTD(1)),
  realized Int256 CODEC(ZSTD(1)),
  traded_amount UInt256 CODEC(ZSTD(1)),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0
) ENGINE=ReplacingMergeTree(_ver, _del)
PARTITION BY toYYYYMM(block_time)
ORDER BY (wallet, block_slot, event_index)
SETTINGS {storage}, ttl_only_drop_parts=1;

-- The newest state of each position, once in the order of conditions and once in that of wallets.
CREATE TABLE IF NOT EXISTS {chain}_prediction_positions (
  condition_id String CODEC(ZSTD(1)),
  outcome_token String CODEC(ZSTD(1)),
  wallet String CODEC(ZSTD(1)),
  outcome LowCardinality(String),
  quantity UInt256 CODEC(ZSTD(1)),
  known_quantity UInt256 CODEC(ZSTD(1)),
  cost UInt256 CODEC(ZSTD(1)),
  bought UInt256 CODEC(ZSTD(1)),
  paid UInt256 CODEC(ZSTD(1)),
  sold UInt256 CODEC(ZSTD(1)),
  received UInt256 CODEC(ZSTD(1)),
  redeemed UInt256 CODEC(ZSTD(1)),
  volume UInt256 CODEC(ZSTD(1)),
  realized Int256 CODEC(ZSTD(1)),
  entries UInt64,
  first_paid UInt256 CODEC(ZSTD(1)),
  changes UInt64,
  first_time DateTime64(3,'UTC'),
  last_time DateTime64(3,'UTC'),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0
) ENGINE=ReplacingMergeTree(_ver, _del)
ORDER BY (condition_id, outcome_token, wallet)
SETTINGS {storage};

CREATE TABLE IF NOT EXISTS {chain}_prediction_wallet_positions (
  wallet String CODEC(ZSTD(1)),
  outcome_token String CODEC(ZSTD(1)),
  condition_id String CODEC(ZSTD(1)),
  outcome LowCardinality(String),
  quantity UInt256 CODEC(ZSTD(1)),
  known_quantity UInt256 CODEC(ZSTD(1)),
  cost UInt256 CODEC(ZSTD(1)),
  bought UInt256 CODEC(ZSTD(1)),
  paid UInt256 CODEC(ZSTD(1)),
  sold UInt256 CODEC(ZSTD(1)),
  received UInt256 CODEC(ZSTD(1)),
  redeemed UInt256 CODEC(ZSTD(1)),
  volume UInt256 CODEC(ZSTD(1)),
  realized Int256 CODEC(ZSTD(1)),
  entries UInt64,
  first_paid UInt256 CODEC(ZSTD(1)),
  changes UInt64,
  first_time DateTime64(3,'UTC'),
  last_time DateTime64(3,'UTC'),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0
) ENGINE=ReplacingMergeTree(_ver, _del)
ORDER BY (wallet, outcome_token)
SETTINGS {storage};

-- What a wallet did in all markets: ever, and by day (days since the epoch, UTC).
CREATE TABLE IF NOT EXISTS {chain}_prediction_wallets (
  wallet String CODEC(ZSTD(1)),
  realized Int256 CODEC(ZSTD(1)),
  volume UInt256 CODEC(ZSTD(1)),
  changes UInt64,
  last_time DateTime64(3,'UTC'),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0
) ENGINE=ReplacingMergeTree(_ver, _del)
ORDER BY wallet
SETTINGS {storage};

CREATE TABLE IF NOT EXISTS {chain}_prediction_wallet_days (
  day UInt32 CODEC(DoubleDelta, ZSTD(1)),
  wallet String CODEC(ZSTD(1)),
  realized Int256 CODEC(ZSTD(1)),
  volume UInt256 CODEC(ZSTD(1)),
  changes UInt64,
  last_time DateTime64(3,'UTC'),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0
) ENGINE=ReplacingMergeTree(_ver, _del)
ORDER BY (day, wallet)
SETTINGS {storage};

-- Collateral of a million base units at the last trade of an outcome token.
CREATE TABLE IF NOT EXISTS {chain}_prediction_prices (
  outcome_token String CODEC(ZSTD(1)),
  price UInt256 CODEC(ZSTD(1)),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1)),
  _del UInt8 DEFAULT 0
) ENGINE=ReplacingMergeTree(_ver, _del)
ORDER BY outcome_token
SETTINGS {storage};
