-- What addresses are known for, and the imports that said so; of no chain. An empty chain: every chain that has the address.
CREATE TABLE IF NOT EXISTS address_labels (
  chain LowCardinality(String),
  address String CODEC(ZSTD(1)),
  category LowCardinality(String),
  entity String CODEC(ZSTD(1)),
  source LowCardinality(String),
  confidence Float64,
  evidence_url String CODEC(ZSTD(1)),
  valid_from DateTime64(3,'UTC'),
  valid_to Nullable(DateTime64(3,'UTC')),
  version UInt64
) ENGINE=ReplacingMergeTree(version)
ORDER BY (address, chain, category, source, valid_from)
SETTINGS {storage};

CREATE TABLE IF NOT EXISTS label_imports (
  version UInt64,
  source LowCardinality(String),
  format LowCardinality(String),
  added UInt64,
  closed UInt64,
  imported_at DateTime64(3,'UTC')
) ENGINE=ReplacingMergeTree()
ORDER BY version
SETTINGS {storage};
