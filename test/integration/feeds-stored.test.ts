import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChainOp } from '../../ingestors/follow/contract.ts'
import { recordedBlock } from '../../ingestors/recorded/files.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { Block } from '../../schemas/events.ts'
import { FEED_NAMES, feedTopics } from '../../schemas/feeds.ts'
import { topicName } from '../../schemas/topics.ts'
import { type AppStack, startAppStack } from '../support/app-stack.ts'
import { blockRef, createScriptedSource } from '../support/builders/evm-block.ts'
import { buildEventLog } from '../support/builders/evm-event-log.ts'
import { buildSingleTransactionBlock } from '../support/recordings/ethereum.ts'
import { recordedSolanaBlock } from '../support/recordings/solana.ts'
import { recordedBlockWithTraces, recordedTraces } from '../support/recordings/traces.ts'
import { until } from '../support/until.ts'

const CONDITION = `0x${'c0'.repeat(32)}`
const QUESTION = `0x${'c1'.repeat(32)}`
const WHO = `0x${'3a'.repeat(20)}`
const TOKENS = '0x4d97dcd97ec945f40cf65f87097ace5ea0476045'
const EXCHANGE = '0x4bfb41d5b3570defd03c39a9a4d8de6bd8b8982e'
const USDC = '0x2791bca1f2de4661ed88a30c99a7a9449aa84174'
const ZERO = `0x${'0'.repeat(40)}`
const ROOT = `0x${'0'.repeat(64)}`

/** A market is set up, split into its outcomes and traded. */
const market = (): Block => ({
  ...buildSingleTransactionBlock([
    buildEventLog(
      TOKENS,
      'ConditionPreparation(bytes32 indexed conditionId, address indexed oracle, bytes32 indexed questionId, uint256 outcomeSlotCount)',
      [CONDITION, WHO, QUESTION, 2n],
    ),
    buildEventLog(
      TOKENS,
      'TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values)',
      [WHO, ZERO, WHO, [11n, 12n], [100n, 100n]],
    ),
    buildEventLog(
      TOKENS,
      'PositionSplit(address indexed stakeholder, address collateralToken, bytes32 indexed parentCollectionId, bytes32 indexed conditionId, uint256[] partition, uint256 amount)',
      [WHO, USDC, ROOT, CONDITION, [1n, 2n], 100n],
    ),
    buildEventLog(
      EXCHANGE,
      'OrderFilled(bytes32 indexed orderHash, address indexed maker, address indexed taker, uint256 makerAssetId, uint256 takerAssetId, uint256 makerAmountFilled, uint256 takerAmountFilled, uint256 fee)',
      [QUESTION, WHO, TOKENS, 0n, 12n, 40n, 100n, 3n],
    ),
  ]),
  chain: 'polygon',
  timeMs: 1_700_000_000_000,
})

const SANCTIONS_ORACLE = '0x40c57923924b5c5c5455c48d93317139addac8fb'
const USDC_OF_CIRCLE = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
const HAPPY_RED_PACKET = '0xabbe1101fd8fa5847c452a6d70c8655532b03c33'

/** A red packet is created, claimed from and refunded. */
const packets = (): Block => ({
  ...buildSingleTransactionBlock([
    buildEventLog(
      HAPPY_RED_PACKET,
      'CreationSuccess(uint256 total, bytes32 id, string name, string message, address creator, uint256 creation_time, address token_address, uint256 number, bool ifrandom, uint256 duration)',
      [9n, CONDITION, '', '', WHO, 1_700_000_000n, USDC, 3n, true, 60n],
    ),
    buildEventLog(
      HAPPY_RED_PACKET,
      'ClaimSuccess(bytes32 id, address claimer, uint256 claimed_value, address token_address)',
      [CONDITION, WHO, 4n, USDC],
    ),
    buildEventLog(
      HAPPY_RED_PACKET,
      'RefundSuccess(bytes32 id, address token_address, uint256 remaining_balance)',
      [CONDITION, USDC, 5n],
    ),
  ]),
  timeMs: 1_700_000_000_000,
})

/** Two addresses on a list, one frozen. */
const labelled = (): Block => ({
  ...buildSingleTransactionBlock([
    buildEventLog(SANCTIONS_ORACLE, 'SanctionedAddressesAdded(address[] addrs)', [[WHO, USDC]]),
    buildEventLog(USDC_OF_CIRCLE, 'Blacklisted(address indexed _account)', [WHO]),
  ]),
  timeMs: 1_700_000_000_000,
})

/** A recorded block with an uncle by hand: since the merge there are none. */
const mined = (): Block => {
  const block = recordedBlockWithTraces('block_17148268.json')
  const uncle = {
    index: 0,
    hash: block.parentHash,
    parentHash: block.hash,
    miner: WHO,
    height: block.height - 1,
    difficultyRaw: 2n ** 200n,
    gasLimit: 5,
    gasUsed: 4,
    timeMs: block.timeMs - 1_000,
  }
  return { ...block, uncles: [uncle], uncleHashes: [uncle.hash] }
}

/** Tables of a chain's feeds, and how many rows a block leaves in each. */
interface Stored {
  readonly chain: 'eth' | 'sol' | 'polygon'
  readonly block: () => Block
  readonly rows: Readonly<Record<string, number>>
}

const ROWS: readonly Stored[] = [
  {
    chain: 'eth',
    block: mined,
    rows: { traces_enriched: 891, logs_enriched: 322, miner_rewards: 2, uncles: 1 },
  },
  {
    chain: 'sol',
    block: () => recordedSolanaBlock('yellowstone_block_344556402.json'),
    rows: { instructions_enriched: 18, rewards: 1 },
  },
  {
    chain: 'sol',
    block: () => {
      const { block } = recordedBlock('sol', recordedTraces('sol_phoenix_orders.json'))
      return { ...block, timeMs: 1_700_000_000_000 }
    },
    rows: { dex_orders: 34 },
  },
  {
    chain: 'polygon',
    block: market,
    rows: {
      prediction_trades: 1,
      prediction_managements: 1,
      prediction_settlements: 1,
      prediction_position_changes: 6,
      prediction_positions: 3,
      prediction_wallet_positions: 3,
      prediction_wallets: 2,
      prediction_wallet_days: 2,
      prediction_prices: 1,
    },
  },
  {
    chain: 'eth',
    block: packets,
    rows: { redpackets: 1, redpacket_creations: 1, redpacket_claims: 1, redpacket_refunds: 1 },
  },
  { chain: 'eth', block: labelled, rows: { address_label_events: 3 } },
]

const countsOf = async (
  { app }: AppStack,
  { chain, rows }: Stored,
): Promise<Readonly<Record<string, number>>> => {
  const counts: Record<string, number> = {}
  for (const table of Object.keys(rows)) {
    const sql = `SELECT toUInt32(count()) AS count FROM ${chain}_${table} FINAL`
    const found = await app.warehouse.query<{ count: number }>({ sql })
    counts[table] = Number(found.rows[0]?.count)
  }
  return counts
}

for (const stored of ROWS) {
  const { chain, rows } = stored
  test(`${chain}: ${Object.keys(rows).join(', ')} are filled, and rows of a reverted block are removed`, async () => {
    const source = createScriptedSource()
    const row = CHAINS[chain]
    const product = await startAppStack({
      chain: { row, source },
      overrides: { feeds: [...FEED_NAMES] },
    })
    const { app } = product
    const push = async (seq: number, op: ChainOp): Promise<void> => {
      source.push(op)
      await until(
        async () => app.ingestors[0]?.status().seq === seq && (await app.isCaughtUp()),
        `operation ${seq} is processed`,
      )
    }
    try {
      const topics = new Set(await app.bus.topics(`${chain}.`))
      for (const topic of feedTopics(row, FEED_NAMES))
        assert.ok(topics.has(topicName(topic, chain)))
      const block = stored.block()
      await push(1, { op: 'apply', block })
      assert.deepEqual(await countsOf(product, stored), rows)
      const letters = await app.bus.topics('dlq.')
      for (const topic of letters) {
        assert.ok(
          (await app.bus.ends(topic)).every(({ low, end }) => low === end),
          topic,
        )
      }
      await push(2, { op: 'revert', ref: blockRef(block) })
      const none = Object.fromEntries(Object.keys(rows).map((table) => [table, 0]))
      assert.deepEqual(await countsOf(product, stored), none)
    } finally {
      await product.stop()
    }
  })
}
