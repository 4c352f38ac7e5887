-- Tokens are looked up by who made them, pools by their tokens and by when they were made.
ALTER TABLE {chain}_tokens ADD INDEX IF NOT EXISTS bf_dev dev TYPE bloom_filter(0.01) GRANULARITY 4;
ALTER TABLE {chain}_dex_pools
  ADD INDEX IF NOT EXISTS bf_a token_a TYPE bloom_filter(0.01) GRANULARITY 4,
  ADD INDEX IF NOT EXISTS bf_b token_b TYPE bloom_filter(0.01) GRANULARITY 4;
ALTER TABLE {chain}_dex_pool_births ADD INDEX IF NOT EXISTS mm_created created_at TYPE minmax GRANULARITY 4;
