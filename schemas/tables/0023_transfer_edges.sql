-- Who sent how much to whom, per minute of final blocks, once for each end. A minute that is summed again replaces itself.
CREATE TABLE IF NOT EXISTS {chain}_transfer_edges (
  side Enum8('received'=1,'sent'=2),
  address String CODEC(ZSTD(1)),
  counterparty String CODEC(ZSTD(1)),
  minute DateTime('UTC') CODEC(DoubleDelta, ZSTD(1)),
  usd Decimal(38,12) CODEC(ZSTD(1)),
  transfers UInt64 CODEC(T64, ZSTD(1)),
  _ver UInt64 CODEC(DoubleDelta, ZSTD(1))
) ENGINE=ReplacingMergeTree(_ver)
ORDER BY (side, address, counterparty, minute)
SETTINGS {storage};
