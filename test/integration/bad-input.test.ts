import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  type DeadLetterEntry,
  listDeadLetters,
  replayDeadLetters,
} from '../../cli/app/dead-letters.ts'
import { base58Decode, base58Encode } from '../../core/base58.ts'
import { CHAINS, type ChainRow } from '../../schemas/chains.ts'
import type { TradeEvent } from '../../schemas/wire.ts'
import { readBlockEvents, readDataRecords } from '../support/read-ingest-topics.ts'
import { solanaRecordingJson } from '../support/recordings/solana.ts'
import type { Json } from '../support/replay/contract.ts'
import {
  assertCompleteLog,
  canonicalBlocks,
  type ParallelChains,
  startParallelChains,
} from '../support/replay/parallel-chains.ts'
import { type ReplaceResult, type ReplayServer, startServer } from '../support/replay/servers.ts'
import { until } from '../support/until.ts'

/** First height, and the one that is waited for; no multiples of 7, which Solana skips. */
const FROM = 700_001
const TO = FROM + 11
const LIMIT_MS = 60_000

/** A chain whose node spoils some of its blocks, followed to its head. */
const followed = async (
  row: ChainRow,
  spoil: ReplaceResult,
): Promise<{ readonly server: ReplayServer; readonly run: ParallelChains }> => {
  const server = await startServer(row, { head: TO, headMs: Date.now(), lateMs: 1_000, spoil })
  const run = await startParallelChains({
    servers: [server],
    from: FROM,
    rpcTimeoutMs: 1_000,
    mapSizeBytes: 128 << 20,
  })
  await until(() => run.height(row.id) >= TO, `${row.id} reaches ${TO}`, LIMIT_MS)
  server.produce()
  await until(() => run.height(row.id) > TO, `${row.id} continues`, LIMIT_MS)
  return { server, run }
}

const lettersOf = async (
  { bus }: ParallelChains,
  reason: string,
): Promise<readonly DeadLetterEntry[]> => {
  const found: DeadLetterEntry[] = []
  for await (const letter of listDeadLetters({ bus, limit: 1_000 })) {
    if (letter.error === `InvalidInput ${reason}` || letter.message === reason) found.push(letter)
  }
  return found
}

/** The letter is listed, its replay comes to `outcome`, twice, and the metric has counted the reason. */
const assertLetter = async (
  run: ParallelChains,
  reason: string,
  outcome: 'failed-again' | 'superseded',
): Promise<void> => {
  const letters = await lettersOf(run, reason)
  assert.ok(letters.length > 0, `a letter says ${reason}`)
  for (const _time of [1, 2]) {
    const { rerun, published } = await replayDeadLetters({ bus: run.bus, limit: 1_000 })
    assert.equal(published, 0)
    const results = rerun.filter(({ deadLetter: letter }) =>
      letters.some(({ partition, offset, group }) => {
        return letter.partition === partition && letter.offset === offset && letter.group === group
      }),
    )
    const found = results.filter(({ result }) => result.outcome === outcome)
    assert.ok(found.length > 0, `${reason}: ${JSON.stringify(results)}`)
    if (outcome === 'failed-again') {
      for (const { result } of found) assert.equal(result.detail, reason)
    }
  }
  const { values } = await run.metrics.ingestDropped.get()
  const counted = values.filter(({ labels }) => labels.reason === reason)
  assert.ok(counted.length > 0 && counted.every(({ value }) => value > 0), `${reason} is counted`)
}

/** Hashes of transactions of a block that moved tokens. */
const movedIn = async (run: ParallelChains, chain: string, height: number): Promise<number> => {
  const records = await readDataRecords(run.bus, run.codec, chain)
  return records.filter(({ family, meta }) => family === 'transfers' && meta.height === height)
    .length
}

const tradesIn = async (
  run: ParallelChains,
  chain: string,
  height: number,
): Promise<readonly TradeEvent[]> =>
  (await readDataRecords(run.bus, run.codec, chain))
    .filter(({ family, meta }) => family === 'trades' && meta.height === height)
    .flatMap(({ events }) => events as readonly TradeEvent[])

const SWAP_V2 = '0xd78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822'
const SWAP_V3 = '0x19b47279256b2a23a1665c810c8d55a1758940ee09377d4f8d26497a3577dc83'
const NAME = '0x06fdde03'
const MAX = 'f'.repeat(64)
const word = (value: number): string => value.toString(16).padStart(64, '0')

/** Heights of what is wrong once, and of what stays wrong. */
const AT = {
  header: FROM + 2,
  mismatch: FROM + 3,
  receipts: FROM + 4,
  amount: FROM + 5,
  negative: FROM + 6,
  order: FROM + 7,
} as const

/** Receipts with the logs of a topic changed. */
const changedLogs = (
  receipts: unknown,
  topic: string,
  change: (log: Json) => Json,
): readonly Json[] =>
  (receipts as readonly Json[]).map((receipt) => ({
    ...receipt,
    logs: (receipt.logs as readonly Json[]).map((log) =>
      (log.topics as readonly string[])[0] === topic ? change(log) : log,
    ),
  }))

/** Two megabytes of a control character as a contract returns them. */
const hugeName = (): string => `0x${word(32)}${word(2 << 20)}${'01'.repeat(2 << 20)}`

const spoilEvm = (): ReplaceResult => {
  const seen = new Set<string>()
  const once = (what: string): boolean => {
    if (seen.has(what)) return false
    seen.add(what)
    return true
  }
  return ({ method, params }, right) => {
    const height = Number((right as Json | null)?.number ?? Number.NaN)
    if (method === 'eth_getBlockByNumber' && params[1] === true) {
      const block = right as Json
      if (height === AT.header && once('header')) return { ...block, hash: '0xzz' }
      const parentHash = `0x${'ab'.repeat(32)}`
      if (height === AT.mismatch && once('parent-mismatch')) return { ...block, parentHash }
    }
    if (params[0] === 'finalized' && once('finality')) {
      return { ...(right as Json), number: `0x${(height + 1_000_000).toString(16)}` }
    }
    if (method === 'eth_getBlockReceipts') return spoilReceipts(right, once)
    const call = params[0] as Json
    return method === 'eth_call' && call.data === NAME ? hugeName() : undefined
  }
}

const spoilReceipts = (right: unknown, once: (what: string) => boolean): unknown => {
  const [first] = right as readonly Json[]
  switch (Number(first?.blockNumber)) {
    case AT.receipts:
      return once('receipts') ? (right as readonly Json[]).slice(1) : undefined
    case AT.amount:
      return changedLogs(right, SWAP_V2, (log) => ({
        ...log,
        data: `0x${MAX}${word(0)}${word(0)}${word(5)}`,
      }))
    case AT.negative:
      return changedLogs(right, SWAP_V3, (log) => ({
        ...log,
        data: `0x${MAX}${MAX}${String(log.data).slice(2 + 128)}`,
      }))
    case AT.order:
      return (right as readonly Json[]).map((receipt, index) =>
        index === 0
          ? { ...receipt, logs: (receipt.logs as readonly Json[]).toReversed() }
          : receipt,
      )
    default:
      return undefined
  }
}

describe('bad input of an EVM chain', () => {
  let server: ReplayServer
  let run: ParallelChains
  before(async () => {
    const started = await followed(CHAINS.bsc, spoilEvm())
    server = started.server
    run = started.run
  })
  after(async () => {
    await run?.stop()
    await server?.stop()
  })

  test('the log has every operation of the EVM chain', async () => {
    await assertCompleteLog(run, server, { from: FROM, to: TO })
  })

  for (const [what, reason] of [
    ['a block that does not parse', 'bad-header'],
    ['a hash that does not chain', 'parent-mismatch'],
    ['a receipt count that does not match', 'receipt-count'],
    ['an endpoint that lies about finality', 'finality-above-head'],
  ] as const) {
    test(`${what} becomes a dead letter, and the chain continues behind it`, () =>
      assertLetter(run, reason, 'superseded'))
  }

  test('final heights of the block records stay below the head', async () => {
    for (const { final_height: final } of await readBlockEvents(run.bus, run.codec, 'bsc')) {
      assert.ok(final <= TO + 1, `${final}`)
    }
  })

  test('an amount of 2^256-1 is dropped, the other transactions of its block are not', async () => {
    await assertLetter(run, 'impossible-amount', 'failed-again')
    const sound = await tradesIn(run, 'bsc', FROM)
    const there = await tradesIn(run, 'bsc', AT.amount)
    assert.ok(there.length > 0 && there.length < sound.length)
  })

  test('amounts that are both negative are dropped, the other transactions are not', async () => {
    await assertLetter(run, 'zero-amount', 'failed-again')
    const there = await tradesIn(run, 'bsc', AT.negative)
    assert.ok(there.length > 0 && there.length < (await tradesIn(run, 'bsc', FROM)).length)
  })

  test('logs out of order leave their transaction out, the block continues without it', async () => {
    await assertLetter(run, 'log-order', 'failed-again')
    const block = canonicalBlocks(await readBlockEvents(run.bus, run.codec, 'bsc')).find(
      ({ meta }) => meta.height === AT.order,
    )
    assert.ok(block)
    assert.ok((await movedIn(run, 'bsc', AT.order)) > 0)
    assert.ok((await movedIn(run, 'bsc', AT.order)) < (await movedIn(run, 'bsc', FROM)))
  })

  test('a token name of two megabytes of control characters is stored as null and gives a small dead letter', async () => {
    await assertLetter(run, 'bad-name', 'failed-again')
    const records = await readDataRecords(run.bus, run.codec, 'bsc')
    const named = records.filter(({ family }) => family === 'tokenMetadata')
    assert.ok(named.length > 0)
    assert.ok(JSON.stringify(named).length < 100_000)
    assert.ok((await tradesIn(run, 'bsc', FROM)).length > 0, 'its trades are taken')
  })
})

const SOL_AT = { plain: FROM + 1, tail: FROM + 2, cut: FROM + 3, shape: FROM + 4 } as const
/** What an Anchor program's event begins with when it calls itself. Source: coral-xyz/anchor lang/src/event.rs. */
const EVENT = 'e445a52e51cb9a1d'

/** A recorded swap, its events changed. */
const swapWith = (change: (data: Buffer) => Buffer): Json => {
  const { transaction, meta, version } = solanaRecordingJson('swap_pumpswap_1.json')
    .getTransactionJson as Json
  const inner = ((meta as Json).innerInstructions as readonly Json[]).map((group) => ({
    ...group,
    instructions: (group.instructions as readonly Json[]).map((each) => {
      const data = Buffer.from(base58Decode(String(each.data)) ?? [])
      const isEvent = data.toString('hex').startsWith(EVENT)
      return isEvent ? { ...each, data: base58Encode(change(data)) } : each
    }),
  }))
  return { transaction, version, meta: { ...(meta as Json), innerInstructions: inner } }
}

const spoilSol: ReplaceResult = ({ method, params }, right) => {
  if (method !== 'getBlock' || (params[1] as Json).transactionDetails === 'none') return undefined
  const block = right as Json | null
  if (block === null) return undefined
  const [, ...others] = block.transactions as readonly Json[]
  switch (params[0]) {
    case SOL_AT.plain:
      return { ...block, transactions: [swapWith((data) => data)] }
    case SOL_AT.tail:
      return {
        ...block,
        transactions: [swapWith((data) => Buffer.concat([data, Buffer.alloc(40, 9)]))],
      }
    case SOL_AT.cut:
      return { ...block, transactions: [swapWith((data) => data.subarray(0, 20)), ...others] }
    case SOL_AT.shape:
      return {
        ...block,
        transactions: [{ meta: {}, transaction: { signatures: ['0'] } }, ...others],
      }
    default:
      return undefined
  }
}

describe('bad input of Solana', () => {
  let server: ReplayServer
  let run: ParallelChains
  before(async () => {
    const started = await followed(CHAINS.sol, spoilSol)
    server = started.server
    run = started.run
  })
  after(async () => {
    await run?.stop()
    await server?.stop()
  })

  test('the log has every operation of Solana', async () => {
    await assertCompleteLog(run, server, { from: FROM, to: TO })
  })

  test('a truncated instruction becomes a dead letter, the other transactions of its block are decoded', async () => {
    await assertLetter(run, 'truncated-data', 'failed-again')
    assert.ok((await movedIn(run, 'sol', SOL_AT.cut)) > 0)
  })

  test('instruction data with an unknown tail is decoded as far as its layout is known', async () => {
    const [plain] = await tradesIn(run, 'sol', SOL_AT.plain)
    const [tail] = await tradesIn(run, 'sol', SOL_AT.tail)
    assert.ok(plain?.trade)
    assert.deepEqual(tail?.trade?.user_a_amount, plain.trade.user_a_amount)
    assert.deepEqual(tail?.trade?.pool_address, plain.trade.pool_address)
  })

  test('a transaction that cannot be decoded is skipped with a dead letter', async () => {
    await assertLetter(run, 'not-an-object', 'failed-again')
    assert.ok((await movedIn(run, 'sol', SOL_AT.shape)) > 0)
  })
})

test('a block without a valid response halts its chain, which continues once a valid one comes', async () => {
  const chain = 'avalanche'
  let isBroken = true
  const server = await startServer(CHAINS.avalanche, {
    head: TO,
    headMs: Date.now(),
    lateMs: 1_000,
    spoil: ({ method }, right) => {
      const [first] = method === 'eth_getBlockReceipts' ? (right as readonly Json[]) : []
      return isBroken && Number(first?.blockNumber) === FROM + 2 ? [] : undefined
    },
  })
  const run = await startParallelChains({
    servers: [server],
    from: FROM,
    rpcTimeoutMs: 1_000,
    mapSizeBytes: 128 << 20,
  })
  try {
    const status = () => run.ingestors.get(chain)?.status()
    await until(() => status()?.state === 'halted', 'it says that it stands still', LIMIT_MS)
    assert.equal(status()?.reason, 'receipt-count')
    assert.equal(run.height(chain), FROM + 1)
    const outcomes = async (): Promise<readonly string[]> => {
      const { rerun } = await replayDeadLetters({
        bus: run.bus,
        limit: 100,
        group: `ingest.${chain}`,
      })
      return rerun.map(({ result }) => result.outcome)
    }
    const standing = (await outcomes()).filter((outcome) => outcome === 'still-blocked')
    assert.equal(standing.length, 1)
    isBroken = false
    await until(() => run.height(chain) >= TO, 'it continues by itself', LIMIT_MS)
    assert.notEqual(status()?.state, 'halted')
    assert.ok((await outcomes()).every((outcome) => outcome === 'superseded'))
    await assertCompleteLog(run, server, { from: FROM, to: TO })
  } finally {
    await run.stop()
    await server.stop()
  }
})
