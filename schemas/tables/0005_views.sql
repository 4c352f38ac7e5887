-- Rolled-up minutes below the watermark plus raw rows above it.
CREATE VIEW IF NOT EXISTS {chain}_ohlc_mv AS WITH (SELECT argMax(hot_from, _ver) FROM {chain}_chain_state
  WHERE key='rollup') AS w SELECT token_address, side_token, pool_address, b AS bucket, argMinMerge(o) AS open,
  max(h) AS high, min(l) AS low, argMaxMerge(cl) AS close, sum(v) AS volume, sum(vu) AS volume_usd, sum(vn) AS
  volume_native, sum(n) AS trades, sum(nb) AS buys, sum(ns) AS sells, max(ib) AS is_base
  FROM ( SELECT token_address, side_token,
  pool_address, bucket AS b, open AS o, close AS cl, high AS h, low AS l, volume AS v, volume_usd AS vu,
  volume_native AS vn, trades AS n, buys AS nb, sells AS ns, is_base AS ib FROM {chain}_ohlc_1m WHERE bucket < w UNION ALL
  SELECT token_address, side_token, pool_address, toStartOfMinute(block_time) AS b,
  argMinState(assumeNotNull(price_usd), bitShiftLeft(block_slot, 24)+event_index) AS o,
  argMaxState(assumeNotNull(price_usd), bitShiftLeft(block_slot, 24)+event_index) AS cl,
  max(assumeNotNull(price_usd)) AS h, min(assumeNotNull(price_usd)) AS l, sum(amount) AS v,
  sum(assumeNotNull(amount_usd)) AS vu, sum(ifNull(amount_native, 0)) AS vn, count() AS n, countIf(side='BUY')
  AS nb, countIf(side='SELL') AS ns, max(is_base) AS ib FROM {chain}_dex_trades_enriched FINAL WHERE block_time >= w AND
  is_suspect=0 AND price_usd>0 GROUP BY token_address, side_token, pool_address, b ) GROUP BY token_address,
  side_token, pool_address, bucket;

CREATE VIEW IF NOT EXISTS {chain}_token_trade_stats_mv AS WITH (SELECT argMax(hot_from, _ver) FROM
  {chain}_chain_state WHERE key='rollup') AS w SELECT token_address, b AS bucket, sum(n) AS trades, sum(nb) AS
  buys, sum(ns) AS sells, sum(v) AS volume, sum(bv) AS buy_volume, sum(sv) AS sell_volume, sum(vu) AS
  volume_usd, sum(bvu) AS buy_volume_usd, sum(svu) AS sell_volume_usd, uniqCombined64Merge(12)(ub) AS buyers,
  uniqCombined64Merge(12)(us) AS sellers, uniqCombined64Merge(12)(ut) AS traders, uniqMerge(up) AS pools,
  uniqMerge(ug) AS programs FROM ( SELECT token_address, bucket AS b, trades AS n, buys AS nb, sells AS ns,
  volume AS v, buy_volume AS bv, sell_volume AS sv, volume_usd AS vu, buy_volume_usd AS bvu, sell_volume_usd AS
  svu, buyers AS ub, sellers AS us, traders AS ut, pools AS up, programs AS ug FROM {chain}_token_trade_stats_1m
  WHERE bucket < w UNION ALL SELECT token_address, toStartOfMinute(block_time) AS b, count() AS n,
  countIf(side='BUY') AS nb, countIf(side='SELL') AS ns, sum(amount) AS v, sumIf(amount, side='BUY') AS bv,
  sumIf(amount, side='SELL') AS sv, sum(ifNull(amount_usd, 0)) AS vu, sumIf(ifNull(amount_usd, 0), side='BUY')
  AS bvu, sumIf(ifNull(amount_usd, 0), side='SELL') AS svu, uniqCombined64StateIf(12)(owner, side='BUY') AS ub,
  uniqCombined64StateIf(12)(owner, side='SELL') AS us, uniqCombined64State(12)(owner) AS ut,
  uniqState(pool_address) AS up, uniqState(CAST(program_address, 'String')) AS ug FROM
  {chain}_dex_trades_enriched FINAL WHERE block_time >= w GROUP BY token_address, b ) GROUP BY token_address,
  bucket;
