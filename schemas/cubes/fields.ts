import { isLeaf, type Leaf, type Lookup, type ScalarLeafType, type Tree } from './types.ts'

/** Row limits of every cube. */
export const ROW_LIMIT = { default: 25, max: 10_000 } as const

/** A leaf that this installation cannot know: null in every row. */
export const unknownLeaf = (type: ScalarLeafType, about: string): Leaf => ({
  sql: unknownSql(type),
  type,
  about,
})

/** SQL of a value that is not known. */
const unknownSql = (type: ScalarLeafType): string => {
  const column = { Int: 'Int64', Float: 'Float64', Boolean: 'Bool', String: 'String' } as const
  const name = type === 'DateTime' || type === 'Date' ? 'DateTime' : column[type]
  return `CAST(NULL, 'Nullable(${name})')`
}

/** Leaf of a text column, null where it is empty. */
export const textLeaf = (column: string, about: string): Leaf => ({
  sql: `nullIf(${column}, '')`,
  type: 'String',
  about,
})

/** Leaf of an address or hash that every row has. */
export const addressLeaf = (sql: string, about: string): Leaf => ({
  sql,
  type: 'String',
  address: true,
  about,
})

/** Leaf of an address or hash that is null where the column is empty. */
export const optionalAddressLeaf = (column: string, about: string): Leaf => ({
  ...textLeaf(column, about),
  address: true,
})

/** Leaf of a whole number. */
export const countLeaf = (sql: string, about: string): Leaf => ({ sql, type: 'Int', about })

/** Leaf of a USD value of twelve places. */
export const usdLeaf = (sql: string, about: string): Leaf => ({
  sql,
  type: 'Float',
  exact: true,
  about,
})

/** Decimal places of the native token of every EVM chain. */
const NATIVE_PLACES = '18'

/** Leaf of a column in base units of an EVM chain's native token, in whole native tokens. */
export const nativeLeaf = (column: string, about: string): Leaf =>
  unitsLeaf(column, NATIVE_PLACES, about)

/** Leaf of base units as text, every digit. */
export const rawLeaf = (column: string, about = 'Base units, every digit.'): Leaf => ({
  sql: `toString(${column})`,
  type: 'String',
  about,
})

const rawTwin = ({ exactUnits, rollup, needs, about }: Leaf): Leaf => ({
  ...rawLeaf(exactUnits?.raw ?? '', `${about} In base units, every digit.`),
  ...(needs && { needs }),
  ...(rollup && { rollup: `toString(sum(${exactUnits?.raw}))` }),
})

/** The same fields, and beside each amount that is printed from base units those as text: `Amount` and `AmountRaw`. */
export const withRawTwins = (fields: Tree): Tree =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, node]): readonly (readonly [string, Tree[string]])[] => {
      const twin = `${name}Raw`
      if (!isLeaf(node) || !node.exactUnits || twin in fields) return [[name, node]]
      return [
        [name, node],
        [twin, rawTwin(node)],
      ]
    }),
  )

const slotLeaf: Leaf = {
  sql: 'block_slot',
  type: 'Int',
  about: 'Block number, on Solana the slot.',
}

const timeLeaf: Leaf = {
  sql: 'block_time',
  type: 'DateTime',
  bucket: 'start',
  about: 'Block time, UTC. `interval` gives the start of its bucket.',
}

/** «Blk» of a table with the block columns. */
export const BLOCK_FIELDS: Tree = {
  Time: { ...timeLeaf, rank: 'block_slot' },
  Date: {
    sql: 'toDate(block_time)',
    type: 'Date',
    bucket: 'start',
    about: 'Day of the block, UTC.',
  },
  Slot: slotLeaf,
  Number: slotLeaf,
  Height: { sql: 'block_height', type: 'Int', about: 'Block height; on EVM equal to Number.' },
  Hash: { sql: 'block_hash', type: 'String', address: true, about: 'Block hash.' },
}

/** The same of rows of several chains, whose slots do not compare. */
export const CROSS_CHAIN_BLOCK_FIELDS: Tree = { ...BLOCK_FIELDS, Time: timeLeaf }

/** «Blk» of a row that stands for no single block: its time only. */
export const bucketBlockFields = (time: Leaf, date: Leaf, about: string): Tree => ({
  Time: time,
  Date: date,
  Slot: unknownLeaf('Int', about),
  Number: unknownLeaf('Int', about),
  Height: unknownLeaf('Int', about),
  Hash: unknownLeaf('String', about),
})

const bucketLeaf: Leaf = {
  sql: 'bucket',
  type: 'DateTime',
  bucket: 'start',
  about: 'Start of the bucket, UTC.',
}

/** Groups of a cube of one-minute buckets with a column `bucket`: Block, Interval and the bare start. */
export const BUCKET_FIELDS: Tree = {
  Block: bucketBlockFields(
    bucketLeaf,
    { sql: 'toDate(bucket)', type: 'Date', bucket: 'start', about: 'Day of the bucket.' },
    'A bucket has no single block.',
  ),
  Interval: {
    Time: {
      leaf: 'Start',
      tree: {
        Start: bucketLeaf,
        End: {
          sql: 'bucket + 60',
          type: 'DateTime',
          bucket: 'end',
          about: 'End of the bucket, exclusive.',
        },
        Duration: {
          sql: 'toInt64(60)',
          type: 'Int',
          bucket: 'duration',
          about: 'Length of the bucket in seconds.',
        },
      },
    },
  },
  TimeMinute: bucketLeaf,
}

/** A token by its address column, with the name and symbol that a lookup finds. */
export const tokenFields = (lookup: string, address: string): Tree => ({
  Address: addressLeaf(address, 'Token address.'),
  ...tokenNameFields(lookup),
})

/** Name and symbol of the token that a lookup finds. */
export const tokenNameFields = (lookup: string): Tree => ({
  Symbol: { ...textLeaf(`${lookup}_symbol`, 'Token symbol.'), needs: lookup },
  Name: { ...textLeaf(`${lookup}_name`, 'Token name.'), needs: lookup },
})

const hashLeaf: Leaf = {
  sql: 'tx_hash',
  type: 'String',
  address: true,
  about: 'Transaction hash or signature.',
}
const signerLeaf: Leaf = {
  sql: 'tx_signer',
  type: 'String',
  address: true,
  about: 'First signer; on EVM the sender.',
}
const feeLeaf: Leaf = {
  sql: 'tx_fee_native',
  type: 'Float',
  exact: true,
  about: 'Fee in whole native tokens.',
}

/** «Tx» of a table with the transaction columns. */
export const TRANSACTION_FIELDS: Tree = {
  Hash: hashLeaf,
  Signature: hashLeaf,
  Signer: signerLeaf,
  From: signerLeaf,
  To: unknownLeaf('String', 'Called address; not stored with trades.'),
  FeePayer: signerLeaf,
  Fee: feeLeaf,
  FeeInNative: feeLeaf,
  FeeInUSD: { sql: 'tx_fee_usd', type: 'Float', exact: true, about: 'Fee in USD.' },
  Index: { sql: 'tx_index', type: 'Int', about: 'Index of the transaction in its block.' },
  Result: {
    Success: { sql: `tx_status = 'SUCCESS'`, type: 'Boolean', about: 'Transaction succeeded.' },
  },
}

const senderLeaf = optionalAddressLeaf('tx_from', 'Sender.')

/** «Tx» of the table of logs, which holds the ends of a transaction and nothing of its fee. */
export const LOG_TRANSACTION_FIELDS: Tree = {
  ...TRANSACTION_FIELDS,
  Signer: senderLeaf,
  From: senderLeaf,
  FeePayer: senderLeaf,
  To: optionalAddressLeaf('tx_to', 'Called address; null where a contract was made.'),
  Fee: unknownLeaf('Float', 'Not stored with logs.'),
  FeeInNative: unknownLeaf('Float', 'Not stored with logs.'),
  FeeInUSD: unknownLeaf('Float', 'Not stored with logs.'),
  Result: {
    Success: { sql: 'true', type: 'Boolean', about: 'A transaction that failed has no logs.' },
  },
}

/** «Cur»: a token by its address column, with name and symbol from the token table. */
export const currencyFields = (lookup: string, address: string, decimals: string): Tree => {
  const mint = addressLeaf(address, 'Token address.')
  return {
    MintAddress: mint,
    SmartContract: mint,
    ...tokenNameFields(lookup),
    Decimals: { sql: decimals, type: 'Int', about: 'Decimal places of the token.' },
  }
}

const programLeaf: Leaf = {
  sql: 'program_address',
  type: 'String',
  address: true,
  about: 'Program or factory of the DEX.',
}

/** «Dex» of a table with the protocol columns. */
export const DEX_FIELDS: Tree = {
  ProgramAddress: programLeaf,
  SmartContract: programLeaf,
  ProtocolName: {
    sql: 'protocol_name',
    type: 'String',
    folds: true,
    about: 'Name of the DEX, such as Uniswap V3.',
  },
  ProtocolFamily: {
    sql: 'protocol_family',
    type: 'String',
    folds: true,
    about: 'Family whose contracts it uses.',
  },
  ProtocolVersion: {
    sql: `nullIf(extract(protocol_name, '[Vv]([0-9]+)$'), '')`,
    type: 'String',
    about: 'Version, where the name ends in one.',
  },
}

/** «Acct»: wallet, and the token account where the chain has such. */
export const accountFields = (owner: string, tokenAccount?: string): Tree => ({
  Owner: { sql: owner, type: 'String', address: true, about: 'Wallet.' },
  Address: {
    sql: tokenAccount ? `if(${tokenAccount} = '', ${owner}, ${tokenAccount})` : owner,
    type: 'String',
    address: true,
    about: 'Token account on Solana, elsewhere the wallet.',
  },
})

/** Base units and decimals as token units, right to the last digit of a double; null where the decimals are unknown. */
export const unitsSql = (raw: string, decimals: string): string =>
  `toFloat64(concat(toString(${raw}), 'e-', toString(${decimals})))`

/** The same by division: much cheaper, and the last digit may differ. */
export const approximateUnitsSql = (raw: string, decimals: string): string =>
  `toFloat64(${raw}) / exp10(${decimals})`

/** Leaf of a column in base units, in token units: rows print every digit. */
export const unitsLeaf = (raw: string, decimals: string, about = 'Token units.'): Leaf => ({
  sql: unitsSql(raw, decimals),
  fast: approximateUnitsSql(raw, decimals),
  exactUnits: { raw, places: decimals },
  type: 'Float',
  about,
})

/** Amount leaf in token units with its exact twin in base units. */
export const amountFields = (raw: string, decimals: string): Tree => ({
  Amount: unitsLeaf(raw, decimals),
  AmountRaw: rawLeaf(raw),
})

/** What a balance changed by, of a table with a balance before and after; `name` and its twin in base units. */
export const balanceChangeFields = (name: string): Tree =>
  changeFields(name, 'toInt256(post_balance) - toInt256(pre_balance)', 'Post less pre')

/** A signed number of base units, in token units and beside it as text, every digit. */
export const changeFields = (
  name: string,
  raw: string,
  about: string,
  decimals = 'decimals',
): Tree => ({
  [name]: unitsLeaf(raw, decimals, `${about}, token units.`),
  [`${name}Raw`]: rawLeaf(raw, `${about}, base units, every digit.`),
})

/** Name of a call or an event, its text, and the bytes that stand for it. */
export const signatureFields = (hash: string, about: string): Tree => ({
  Name: { sql: 'sig_name', type: 'String', about: 'Name; null where it is not known.' },
  Signature: { sql: 'signature', type: 'String', about: 'Name and types of its arguments.' },
  SignatureHash: { sql: hash, type: 'String', address: true, about },
})

/** Program of an instruction, and what it was asked to do. */
export const instructionProgramFields = (sql: string, needs?: string): Tree => {
  const at = needs === undefined ? {} : { needs }
  const address: Leaf = { ...addressLeaf(sql, 'Program.'), ...at }
  const known = 'null where the program is not in the table of known ones.'
  return {
    Address: address,
    Id: address,
    Name: { sql: 'program_name', ...at, type: 'String', about: `Name; ${known}` },
    Method: { sql: 'method', ...at, type: 'String', about: `Method; ${known}` },
  }
}

/** USD of the chain's native token by the candle of the minute: columns `coin_minute` and `coin_usd`. */
export const nativePriceLookup = (candles: string): Lookup => ({
  select: `SELECT bucket AS coin_minute, toNullable(close) AS coin_usd FROM ${candles} WHERE token_address = '{coin}'`,
  on: 'coin_minute = toStartOfMinute(block_time)',
})

/** Suspect flag of a trade. */
export const SUSPECT_LEAF: Leaf = {
  sql: 'is_suspect',
  type: 'Boolean',
  about: 'The price failed a sanity check.',
}

/** Place of the swap in its block: with Block.Slot and Transaction.Index the order key of trades. */
export const TRADE_INDEX_LEAF: Leaf = {
  sql: 'event_index',
  type: 'Int',
  about: 'Event index: (Block.Slot, Transaction.Index, Trade.Index) orders trades.',
}

/** Leaf of a number that need not be whole. */
export const numberLeaf = (sql: string, about: string): Leaf => ({ sql, type: 'Float', about })
