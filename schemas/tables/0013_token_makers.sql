-- Tokens are looked up by who made them.
ALTER TABLE {chain}_tokens ADD INDEX IF NOT EXISTS bf_dev dev TYPE bloom_filter(0.01) GRANULARITY 4;
