import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { nodeSource } from '../../cli/app/node-source.ts'
import { ConfigError } from '../../core/config/errors.ts'
import { InvalidInput } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import type { ChainOp } from '../../ingestors/follow/contract.ts'
import { normalizeBlock } from '../../ingestors/svm/normalize/block.ts'
import { ALL_PROGRAMS } from '../../ingestors/svm/programs/programs.ts'
import { openSvmSource, type SvmSourceOptions } from '../../ingestors/svm/source/solana-source.ts'
import { toGetBlockFields } from '../../ingestors/svm/source/yellowstone.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { SvmBlock } from '../../schemas/events.ts'
import {
  buildSimulatedSvmBlocks,
  toRpcTransactions,
} from '../support/builders/simulated-svm-blocks.ts'
import { canonicalBlocks, collectOperations, reachedHeight } from '../support/follow-source.ts'
import { type SvmNode, startSvmNode } from '../support/nodes/solana.ts'
import {
  solanaDecodeContext,
  solanaRecordingJson,
  solanaRecordingNames,
} from '../support/recordings/solana.ts'
import { REPLAY_FAULTS, type ReplayFault } from '../support/replay/faults.ts'
import {
  startYellowstoneNode,
  type YellowstoneNode,
  type YellowstoneOptions,
} from '../support/replay/yellowstone-node.ts'
import { until } from '../support/until.ts'

type Json = Record<string, unknown>

/** Blocks of a simulated chain, each with its transactions as a node prints them. */
const MADE = buildSimulatedSvmBlocks(
  { seed: 3, ratePerSecond: 5, genesisMs: 1_735_689_600_000 },
  30,
)
  .blocks.map(toRpcTransactions)
  .filter((transactions) => transactions.length > 0)

/** What lies in the blocks of the slots. */
const transactionsAt = (slot: number): readonly unknown[] => MADE[slot % MADE.length] ?? []

/** Bytes as text, whatever kind of array they came in. */
const plain = (block: SvmBlock): unknown => ({
  ...block,
  transactions: block.transactions.map((tx) => ({
    ...tx,
    instructions: tx.instructions.map((each) => ({
      ...each,
      data: each.data && Buffer.from(each.data).toString('hex'),
    })),
  })),
})

describe('Yellowstone streams beside a Solana node', () => {
  let node: SvmNode
  let stop: AbortController
  let plugins: YellowstoneNode[]
  const started = async (options: Partial<YellowstoneOptions> = {}): Promise<YellowstoneNode> => {
    const plugin = await startYellowstoneNode({ blocks: node.blocks, ...options })
    plugins.push(plugin)
    return plugin
  }
  const optionsOf = (urls: readonly string[], more: Partial<SvmSourceOptions> = {}) => ({
    chain: { ...CHAINS.sol, blockTimeMs: 100 },
    urls,
    concurrency: 8,
    timeoutMs: 1_000,
    from: null,
    metrics: makeMetrics(),
    log: makeSilentLogger(),
    signal: stop.signal,
    ...more,
  })
  const canonical = (from: number): readonly string[] =>
    [...node.blocks]
      .filter(([slot]) => slot >= from)
      .sort(([a], [b]) => a - b)
      .map(([, { blockhash }]) => blockhash)
  const blocksOf = (ops: readonly ChainOp[]): readonly SvmBlock[] =>
    ops.flatMap((op) => (op.op === 'apply' && op.block.vm === 'svm' ? [op.block] : []))
  /** Slots whose blocks were asked for as a whole. */
  const askedWhole = (): readonly unknown[] =>
    node.asked
      .filter(
        ({ method, params }) =>
          method === 'getBlock' && (params[1] as Json).transactionDetails === 'full',
      )
      .map(({ params }) => params[0])
  /** Follows from slot 3 on; after every block the next one is made, told and followed, up to a slot. */
  const followed = async (
    urls: readonly string[],
    to: number,
    each: (slot: number) => void = (slot) => {
      for (const plugin of plugins) plugin.announce(slot)
    },
  ): Promise<readonly ChainOp[]> => {
    const source = await openSvmSource(optionsOf(urls))
    await until(() => plugins.some((plugin) => plugin.streams() > 0), 'a stream')
    let next = 4
    return collectOperations(source, (seen) => {
      if (seen.at(-1)?.op === 'apply' && next <= to) {
        node.produce(next, transactionsAt(next))
        each(next)
        next += next % 5 === 0 ? 2 : 1
      }
      return reachedHeight(to)(seen)
    })
  }

  beforeEach(async () => {
    stop = new AbortController()
    plugins = []
    node = await startSvmNode()
    node.produce(3)
  })
  afterEach(async () => {
    stop.abort()
    for (const plugin of plugins) await plugin.stop()
    await node.stop()
  })

  test('the Yellowstone source delivers the blocks of the stream, equal to those of the node', async () => {
    const plugin = await started()
    const ops = await followed([node.url, plugin.url.replace('//', '//a%20token@')], 45)
    assert.deepEqual(canonicalBlocks(ops), canonical(3))
    const whole = askedWhole()
    assert.ok(whole.length < ops.length / 3, `${whole.length} of ${ops.length} were asked for`)
    for (const block of blocksOf(ops)) {
      const said = node.blocks.get(block.height)
      const reading = { chain: 'sol', slot: block.height, programs: ALL_PROGRAMS }
      assert.deepEqual(plain(block), plain(normalizeBlock(said, reading)))
    }
    assert.ok(blocksOf(ops).some(({ transactions }) => transactions.length > 3))
    const [{ request, token }] = plugin.asked as [YellowstoneNode['asked'][number]]
    assert.equal(token, 'a token')
    assert.equal(request.commitment, 'CONFIRMED')
    assert.equal(request.fromSlot, undefined)
  })

  test('recorded blocks and transactions decode the same over a stream', async () => {
    const { block: update } = solanaRecordingJson('yellowstone_block_344556402.json')
    const { transactions } = toGetBlockFields(update) as {
      readonly transactions: readonly unknown[]
    }
    const recorded = solanaRecordingNames().flatMap((name) => {
      const { getTransactionJson } = solanaRecordingJson(name)
      return getTransactionJson === undefined ? [] : [getTransactionJson]
    })
    assert.ok(recorded.length >= 8)
    const plugin = await started()
    const source = await openSvmSource(optionsOf([node.url, plugin.url]))
    await until(() => plugin.streams() > 0, 'a stream')
    let next = 4
    const ops = await collectOperations(source, (seen) => {
      if (seen.at(-1)?.op === 'apply' && next <= 20) {
        node.produce(next, next === 20 ? [...transactions, ...recorded] : [])
        plugin.announce(next)
        next += 1
      }
      return reachedHeight(20)(seen)
    })
    assert.ok(!askedWhole().includes(20), 'the recorded block came over the stream')
    const last = blocksOf(ops).at(-1)
    assert.ok(last)
    const reading = { chain: 'sol', slot: 20, programs: ALL_PROGRAMS }
    const told = normalizeBlock(node.blocks.get(20), reading)
    assert.deepEqual(plain(last), plain(told))
    const { swaps } = decodeBlock(last, solanaDecodeContext())
    assert.ok(swaps.length >= 8)
    assert.deepEqual(swaps, decodeBlock(told, solanaDecodeContext()).swaps)
  })

  for (const fault of REPLAY_FAULTS) {
    test(`${fault}: every block once, in order`, async () => {
      const due = new Set([3, 6, 7, 12])
      let told = 0
      let made = 0
      const faults = (method: string): ReplayFault | undefined => {
        if (method !== 'Subscribe') return undefined
        told += 1
        if (!due.has(told)) return undefined
        made += 1
        return fault
      }
      const plugin = await started({ faults })
      const ops = await followed([node.url, plugin.url], 60, (slot) => {
        const before = [...node.blocks.keys()].filter((each) => each < slot).at(-1) ?? slot
        plugin.announce(before, slot)
      })
      assert.deepEqual(canonicalBlocks(ops), canonical(3))
      assert.equal(made, due.size)
    })
  }

  test('a stream of another chain is closed for good, one of this chain continues', async () => {
    const other = await startSvmNode()
    try {
      for (let slot = 1; slot < 70; slot += 1) other.produce(slot, transactionsAt(1))
      const foreign = await started({ blocks: other.blocks })
      const plugin = await started()
      const ops = await followed([node.url, foreign.url, plugin.url], 60)
      assert.deepEqual(canonicalBlocks(ops), canonical(3))
      await until(() => foreign.streams() === 0, 'the foreign stream ends')
      assert.equal(foreign.asked.length, 1)
    } finally {
      await other.stop()
    }
  })

  test('a reconnected stream starts behind the newest slot, and without a start slot where that is refused', async () => {
    let refused = 0
    const plugin = await started({
      faults: (method) => {
        if (method === 'from_slot' && refused === 0) {
          refused += 1
          return 'wrong'
        }
        return method === 'Subscribe' && node.blocks.has(20) && refused === 0
          ? 'disconnect'
          : undefined
      },
    })
    const ops = await followed([node.url, plugin.url], 20)
    await until(() => plugin.asked.length >= 3, 'the stream is opened again')
    const [first, second, third] = plugin.asked.map(({ request }) => request.fromSlot)
    assert.equal(first, undefined)
    assert.ok(Number(second) > 4 && Number(second) <= 20, `from slot ${second}`)
    assert.equal(third, undefined)
    assert.deepEqual(canonicalBlocks(ops), canonical(3))
  })

  test('pings are answered', async () => {
    const plugin = await started()
    await openSvmSource(optionsOf([node.url, plugin.url]))
    await until(() => plugin.streams() > 0, 'a stream')
    plugin.ping()
    await until(() => plugin.pongs() === 1, 'the answer')
  })

  test('a stream token that is not a valid header value is refused, without its text in the error', async () => {
    for (const token of ['%zz', '%0A']) {
      await assert.rejects(
        openSvmSource(optionsOf([node.url, `grpc://${token}secret@stream.example`])),
        (error) => error instanceof InvalidInput && !/secret/.test(error.message),
      )
    }
  })

  test('URLs with an unsupported scheme for their chain are refused', async () => {
    const base = optionsOf([])
    const refused = (chain: keyof typeof CHAINS, url: string) =>
      assert.rejects(
        nodeSource({
          ...base,
          chain: CHAINS[chain],
          urls: [url],
          config: {
            rpcConcurrency: 2,
            rpcPerSecond: 0,
            rpcTimeoutMs: 500,
            chainExtra: {},
            feeds: [],
          },
        }),
        ConfigError,
      )
    await refused('sol', 'grpcs://stream.example')
    await refused('eth', 'grpc://node.example')
    await refused('sui', 'wss://node.example')
  })
})
