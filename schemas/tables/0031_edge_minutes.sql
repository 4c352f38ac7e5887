-- What the sums of a minute were made of: a hash over its transfers. A minute whose stored transfers differ is summed again.
CREATE TABLE IF NOT EXISTS {chain}_edge_minutes (
  minute DateTime('UTC') CODEC(DoubleDelta, ZSTD(1)),
  fingerprint UInt64,
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1))
) ENGINE=ReplacingMergeTree(_ver)
ORDER BY minute
SETTINGS {storage};
