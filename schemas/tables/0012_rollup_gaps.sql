-- Minutes that were rolled up without all of their trades: what their blocks announced, what was stored, and why it was not waited for.
CREATE TABLE IF NOT EXISTS {chain}_rollup_gaps (
  minute DateTime('UTC'),
  announced_trades UInt64,
  stored_trades UInt64,
  reason LowCardinality(String),
  closed_at DateTime64(3,'UTC') DEFAULT now64(3),
  _ver UInt64,
  _del UInt8 DEFAULT 0
) ENGINE=ReplacingMergeTree(_ver, _del)
ORDER BY minute
SETTINGS {storage};
