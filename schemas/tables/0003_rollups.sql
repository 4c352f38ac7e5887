-- Fan-out of finalized minutes to candles and token statistics.
CREATE TABLE IF NOT EXISTS {chain}_trades_final (
  block_time DateTime64(3,'UTC'),
  block_slot UInt64,
  block_height UInt64,
  block_hash String,
  tx_hash String,
  tx_index UInt32,
  tx_signer String,
  tx_fee UInt256,
  tx_fee_native Decimal(38,12),
  tx_fee_usd Nullable(Decimal(38,12)),
  tx_status Enum8('UNSPECIFIED'=0,'SUCCESS'=1,'FAILED'=2),
  event_index UInt32,
  is_base UInt8,
  side Enum8('BUY'=1,'SELL'=2),
  token_address String,
  decimals Nullable(UInt8),
  amount UInt256,
  amount_usd Nullable(Decimal(38,12)),
  amount_native Nullable(Decimal(38,12)),
  price_usd Nullable(Float64) CODEC(ZSTD(1)),
  price_native Nullable(Float64) CODEC(ZSTD(1)),
  owner String,
  side_token String,
  side_decimals Nullable(UInt8),
  side_amount UInt256,
  side_amount_usd Nullable(Decimal(38,12)),
  side_price_usd Nullable(Float64) CODEC(ZSTD(1)),
  program_address LowCardinality(String),
  protocol_name LowCardinality(String),
  protocol_family LowCardinality(String),
  pool_address String,
  is_suspect UInt8
) ENGINE=Null;

CREATE TABLE IF NOT EXISTS {chain}_ohlc_1s (
  token_address String CODEC(ZSTD(1)),
  side_token String CODEC(ZSTD(1)),
  pool_address String CODEC(ZSTD(1)),
  bucket DateTime64(3,'UTC') CODEC(DoubleDelta, ZSTD(1)),
  open AggregateFunction(argMin, Float64, UInt64),
  close AggregateFunction(argMax, Float64, UInt64),
  high SimpleAggregateFunction(max, Float64),
  low SimpleAggregateFunction(min, Float64),
  open_native AggregateFunction(argMin, Float64, UInt64),
  close_native AggregateFunction(argMax, Float64, UInt64),
  high_native SimpleAggregateFunction(max, Float64),
  low_native SimpleAggregateFunction(min, Float64),
  volume SimpleAggregateFunction(sum, UInt256),
  volume_usd SimpleAggregateFunction(sum, Decimal(38,12)),
  volume_native SimpleAggregateFunction(sum, Decimal(38,12)),
  trades SimpleAggregateFunction(sum, UInt64),
  buys SimpleAggregateFunction(sum, UInt64),
  sells SimpleAggregateFunction(sum, UInt64),
  is_base SimpleAggregateFunction(max, UInt8)
) ENGINE=AggregatingMergeTree()
PARTITION BY toYYYYMM(bucket)
ORDER BY (token_address, side_token, pool_address, bucket)
SETTINGS {storage}, ttl_only_drop_parts=1;

CREATE MATERIALIZED VIEW IF NOT EXISTS {chain}_ohlc_1s_mv TO {chain}_ohlc_1s AS SELECT token_address,
  side_token, pool_address, toStartOfSecond(block_time) AS bucket, argMinState(assumeNotNull(price_usd),
  bitShiftLeft(block_slot, 24)+event_index) AS open, argMaxState(assumeNotNull(price_usd),
  bitShiftLeft(block_slot, 24)+event_index) AS close, max(assumeNotNull(price_usd)) AS high,
  min(assumeNotNull(price_usd)) AS low, argMinState(ifNull(price_native, 0), if(price_native > 0,
  bitShiftLeft(block_slot, 24)+event_index, 18446744073709551615)) AS open_native, argMaxState(ifNull(price_native, 0), if(price_native > 0,
  bitShiftLeft(block_slot, 24)+event_index, 0)) AS close_native, max(ifNull(price_native, 0)) AS high_native,
  min(if(price_native > 0, assumeNotNull(price_native), inf)) AS low_native, sum(amount) AS volume, sum(assumeNotNull(amount_usd)) AS volume_usd, sum(ifNull(amount_native, 0))
  AS volume_native, count() AS trades, countIf(side='BUY') AS buys, countIf(side='SELL') AS sells,
  max(is_base) AS is_base FROM {chain}_trades_final WHERE is_suspect=0 AND price_usd>0 GROUP BY token_address, side_token, pool_address,
  bucket;

CREATE TABLE IF NOT EXISTS {chain}_ohlc_1m (
  token_address String CODEC(ZSTD(1)),
  side_token String CODEC(ZSTD(1)),
  pool_address String CODEC(ZSTD(1)),
  bucket DateTime('UTC') CODEC(DoubleDelta, ZSTD(1)),
  open AggregateFunction(argMin, Float64, UInt64),
  close AggregateFunction(argMax, Float64, UInt64),
  high SimpleAggregateFunction(max, Float64),
  low SimpleAggregateFunction(min, Float64),
  open_native AggregateFunction(argMin, Float64, UInt64),
  close_native AggregateFunction(argMax, Float64, UInt64),
  high_native SimpleAggregateFunction(max, Float64),
  low_native SimpleAggregateFunction(min, Float64),
  volume SimpleAggregateFunction(sum, UInt256),
  volume_usd SimpleAggregateFunction(sum, Decimal(38,12)),
  volume_native SimpleAggregateFunction(sum, Decimal(38,12)),
  trades SimpleAggregateFunction(sum, UInt64),
  buys SimpleAggregateFunction(sum, UInt64),
  sells SimpleAggregateFunction(sum, UInt64),
  is_base SimpleAggregateFunction(max, UInt8)
) ENGINE=AggregatingMergeTree()
PARTITION BY toYYYYMM(bucket)
ORDER BY (token_address, side_token, pool_address, bucket)
SETTINGS {storage}, ttl_only_drop_parts=1;

CREATE MATERIALIZED VIEW IF NOT EXISTS {chain}_ohlc_1m_mv TO {chain}_ohlc_1m AS SELECT token_address,
  side_token, pool_address, toStartOfMinute(block_time) AS bucket, argMinState(assumeNotNull(price_usd),
  bitShiftLeft(block_slot, 24)+event_index) AS open, argMaxState(assumeNotNull(price_usd),
  bitShiftLeft(block_slot, 24)+event_index) AS close, max(assumeNotNull(price_usd)) AS high,
  min(assumeNotNull(price_usd)) AS low, argMinState(ifNull(price_native, 0), if(price_native > 0,
  bitShiftLeft(block_slot, 24)+event_index, 18446744073709551615)) AS open_native, argMaxState(ifNull(price_native, 0), if(price_native > 0,
  bitShiftLeft(block_slot, 24)+event_index, 0)) AS close_native, max(ifNull(price_native, 0)) AS high_native,
  min(if(price_native > 0, assumeNotNull(price_native), inf)) AS low_native, sum(amount) AS volume, sum(assumeNotNull(amount_usd)) AS volume_usd, sum(ifNull(amount_native, 0))
  AS volume_native, count() AS trades, countIf(side='BUY') AS buys, countIf(side='SELL') AS sells,
  max(is_base) AS is_base FROM {chain}_trades_final WHERE is_suspect=0 AND price_usd>0 GROUP BY token_address, side_token, pool_address,
  bucket;

CREATE TABLE IF NOT EXISTS {chain}_ohlc_1h (
  token_address String CODEC(ZSTD(1)),
  side_token String CODEC(ZSTD(1)),
  pool_address String CODEC(ZSTD(1)),
  bucket DateTime('UTC') CODEC(DoubleDelta, ZSTD(1)),
  open AggregateFunction(argMin, Float64, UInt64),
  close AggregateFunction(argMax, Float64, UInt64),
  high SimpleAggregateFunction(max, Float64),
  low SimpleAggregateFunction(min, Float64),
  open_native AggregateFunction(argMin, Float64, UInt64),
  close_native AggregateFunction(argMax, Float64, UInt64),
  high_native SimpleAggregateFunction(max, Float64),
  low_native SimpleAggregateFunction(min, Float64),
  volume SimpleAggregateFunction(sum, UInt256),
  volume_usd SimpleAggregateFunction(sum, Decimal(38,12)),
  volume_native SimpleAggregateFunction(sum, Decimal(38,12)),
  trades SimpleAggregateFunction(sum, UInt64),
  buys SimpleAggregateFunction(sum, UInt64),
  sells SimpleAggregateFunction(sum, UInt64),
  is_base SimpleAggregateFunction(max, UInt8)
) ENGINE=AggregatingMergeTree()
PARTITION BY toYYYYMM(bucket)
ORDER BY (token_address, side_token, pool_address, bucket)
SETTINGS {storage}, ttl_only_drop_parts=1;

CREATE MATERIALIZED VIEW IF NOT EXISTS {chain}_ohlc_1h_mv TO {chain}_ohlc_1h AS SELECT token_address,
  side_token, pool_address, toStartOfHour(block_time) AS bucket, argMinState(assumeNotNull(price_usd),
  bitShiftLeft(block_slot, 24)+event_index) AS open, argMaxState(assumeNotNull(price_usd),
  bitShiftLeft(block_slot, 24)+event_index) AS close, max(assumeNotNull(price_usd)) AS high,
  min(assumeNotNull(price_usd)) AS low, argMinState(ifNull(price_native, 0), if(price_native > 0,
  bitShiftLeft(block_slot, 24)+event_index, 18446744073709551615)) AS open_native, argMaxState(ifNull(price_native, 0), if(price_native > 0,
  bitShiftLeft(block_slot, 24)+event_index, 0)) AS close_native, max(ifNull(price_native, 0)) AS high_native,
  min(if(price_native > 0, assumeNotNull(price_native), inf)) AS low_native, sum(amount) AS volume, sum(assumeNotNull(amount_usd)) AS volume_usd, sum(ifNull(amount_native, 0))
  AS volume_native, count() AS trades, countIf(side='BUY') AS buys, countIf(side='SELL') AS sells,
  max(is_base) AS is_base FROM {chain}_trades_final WHERE is_suspect=0 AND price_usd>0 GROUP BY token_address, side_token, pool_address,
  bucket;

CREATE TABLE IF NOT EXISTS {chain}_ohlc_1d (
  token_address String CODEC(ZSTD(1)),
  side_token String CODEC(ZSTD(1)),
  pool_address String CODEC(ZSTD(1)),
  bucket DateTime('UTC') CODEC(DoubleDelta, ZSTD(1)),
  open AggregateFunction(argMin, Float64, UInt64),
  close AggregateFunction(argMax, Float64, UInt64),
  high SimpleAggregateFunction(max, Float64),
  low SimpleAggregateFunction(min, Float64),
  open_native AggregateFunction(argMin, Float64, UInt64),
  close_native AggregateFunction(argMax, Float64, UInt64),
  high_native SimpleAggregateFunction(max, Float64),
  low_native SimpleAggregateFunction(min, Float64),
  volume SimpleAggregateFunction(sum, UInt256),
  volume_usd SimpleAggregateFunction(sum, Decimal(38,12)),
  volume_native SimpleAggregateFunction(sum, Decimal(38,12)),
  trades SimpleAggregateFunction(sum, UInt64),
  buys SimpleAggregateFunction(sum, UInt64),
  sells SimpleAggregateFunction(sum, UInt64),
  is_base SimpleAggregateFunction(max, UInt8)
) ENGINE=AggregatingMergeTree()
PARTITION BY toYYYYMM(bucket)
ORDER BY (token_address, side_token, pool_address, bucket)
SETTINGS {storage}, ttl_only_drop_parts=1;

CREATE MATERIALIZED VIEW IF NOT EXISTS {chain}_ohlc_1d_mv TO {chain}_ohlc_1d AS SELECT token_address,
  side_token, pool_address, toStartOfDay(block_time) AS bucket, argMinState(assumeNotNull(price_usd),
  bitShiftLeft(block_slot, 24)+event_index) AS open, argMaxState(assumeNotNull(price_usd),
  bitShiftLeft(block_slot, 24)+event_index) AS close, max(assumeNotNull(price_usd)) AS high,
  min(assumeNotNull(price_usd)) AS low, argMinState(ifNull(price_native, 0), if(price_native > 0,
  bitShiftLeft(block_slot, 24)+event_index, 18446744073709551615)) AS open_native, argMaxState(ifNull(price_native, 0), if(price_native > 0,
  bitShiftLeft(block_slot, 24)+event_index, 0)) AS close_native, max(ifNull(price_native, 0)) AS high_native,
  min(if(price_native > 0, assumeNotNull(price_native), inf)) AS low_native, sum(amount) AS volume, sum(assumeNotNull(amount_usd)) AS volume_usd, sum(ifNull(amount_native, 0))
  AS volume_native, count() AS trades, countIf(side='BUY') AS buys, countIf(side='SELL') AS sells,
  max(is_base) AS is_base FROM {chain}_trades_final WHERE is_suspect=0 AND price_usd>0 GROUP BY token_address, side_token, pool_address,
  bucket;

CREATE TABLE IF NOT EXISTS {chain}_token_trade_stats_1m (
  token_address String CODEC(ZSTD(1)),
  bucket DateTime('UTC') CODEC(DoubleDelta, ZSTD(1)),
  trades SimpleAggregateFunction(sum, UInt64),
  buys SimpleAggregateFunction(sum, UInt64),
  sells SimpleAggregateFunction(sum, UInt64),
  volume SimpleAggregateFunction(sum, UInt256),
  buy_volume SimpleAggregateFunction(sum, UInt256),
  sell_volume SimpleAggregateFunction(sum, UInt256),
  volume_usd SimpleAggregateFunction(sum, Decimal(38,12)),
  buy_volume_usd SimpleAggregateFunction(sum, Decimal(38,12)),
  sell_volume_usd SimpleAggregateFunction(sum, Decimal(38,12)),
  buyers AggregateFunction(uniqCombined64(12), String),
  sellers AggregateFunction(uniqCombined64(12), String),
  traders AggregateFunction(uniqCombined64(12), String),
  pools AggregateFunction(uniq, String),
  programs AggregateFunction(uniq, String)
) ENGINE=AggregatingMergeTree()
PARTITION BY toYYYYMM(bucket)
ORDER BY (token_address, bucket)
SETTINGS {storage}, ttl_only_drop_parts=1;

CREATE MATERIALIZED VIEW IF NOT EXISTS {chain}_token_trade_stats_1m_mv TO {chain}_token_trade_stats_1m AS
  SELECT token_address, toStartOfMinute(block_time) AS bucket, count() AS trades, countIf(side='BUY') AS buys,
  countIf(side='SELL') AS sells, sum(amount) AS volume, sumIf(amount, side='BUY') AS buy_volume, sumIf(amount,
  side='SELL') AS sell_volume, sum(ifNull(amount_usd, 0)) AS volume_usd, sumIf(ifNull(amount_usd, 0),
  side='BUY') AS buy_volume_usd, sumIf(ifNull(amount_usd, 0), side='SELL') AS sell_volume_usd,
  uniqCombined64StateIf(12)(owner, side='BUY') AS buyers, uniqCombined64StateIf(12)(owner, side='SELL') AS
  sellers, uniqCombined64State(12)(owner) AS traders, uniqState(pool_address) AS pools,
  uniqState(CAST(program_address, 'String')) AS programs FROM {chain}_trades_final GROUP BY token_address,
  bucket;
