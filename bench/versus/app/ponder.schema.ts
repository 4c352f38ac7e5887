import { onchainTable, primaryKey } from 'ponder'

/** One row per transfer of a token. */
export const transfer = onchainTable('transfer', (t) => ({
  id: t.text().primaryKey(),
  block: t.bigint().notNull(),
  timestamp: t.bigint().notNull(),
  transaction: t.hex().notNull(),
  token: t.hex().notNull(),
  from: t.hex().notNull(),
  to: t.hex().notNull(),
  amount: t.bigint().notNull(),
}))

/** One row per swap of a pair. */
export const swap = onchainTable('swap', (t) => ({
  id: t.text().primaryKey(),
  block: t.bigint().notNull(),
  logIndex: t.integer().notNull(),
  timestamp: t.bigint().notNull(),
  transaction: t.hex().notNull(),
  pair: t.hex().notNull(),
  to: t.hex().notNull(),
  amount0In: t.bigint().notNull(),
  amount1In: t.bigint().notNull(),
  amount0Out: t.bigint().notNull(),
  amount1Out: t.bigint().notNull(),
  price: t.doublePrecision().notNull(),
}))

/** Newest reserves of a pair. */
export const reserves = onchainTable('reserves', (t) => ({
  pair: t.hex().primaryKey(),
  block: t.bigint().notNull(),
  reserve0: t.bigint().notNull(),
  reserve1: t.bigint().notNull(),
}))

/** What an owner holds of a token. */
export const balance = onchainTable(
  'balance',
  (t) => ({
    token: t.hex().notNull(),
    owner: t.hex().notNull(),
    amount: t.bigint().notNull(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.token, table.owner] }) }),
)
