import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ChainOp } from '../../ingestors/follow/contract.ts'
import { recordedBlock } from '../../ingestors/recorded/files.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { Block } from '../../schemas/events.ts'
import type { Feed } from '../../schemas/feeds.ts'
import { type AppStack, startAppStack } from '../support/app-stack.ts'
import { blockRef, createScriptedSource } from '../support/builders/evm-block.ts'
import { recordedEthereumBlock, recordingJson } from '../support/recordings/ethereum.ts'
import { recordedSolanaBlock } from '../support/recordings/solana.ts'
import { suiRecordingJson } from '../support/recordings/sui.ts'
import { until } from '../support/until.ts'

const NAME = 'block_18000000.json'
const WAIT_MS = 120_000

interface Recorded {
  readonly transactions: readonly {
    readonly hash: string
    readonly from: string
    readonly to: string | null
    readonly value: string
    readonly gas: string
    readonly nonce: string
    readonly type: string
    readonly maxFeePerGas?: string
  }[]
  readonly baseFeePerGas: string
}

interface Receipt {
  readonly gasUsed: string
  readonly effectiveGasPrice: string
  readonly status: string
}

/** What the cube must say of the recorded block, from the node's own words alone. */
const plainRows = () => {
  const json = recordingJson(NAME)
  const { transactions, baseFeePerGas } = json.eth_getBlockByNumber as Recorded
  const receipts = json.eth_getBlockReceipts as readonly Receipt[]
  return transactions.map((tx, index) => {
    const receipt = receipts[index] as Receipt
    const [used, price] = [BigInt(receipt.gasUsed), BigInt(receipt.effectiveGasPrice)]
    return {
      hash: tx.hash,
      index,
      from: tx.from.toLowerCase(),
      to: tx.to?.toLowerCase() ?? null,
      fee: used * price,
      burnt: used * BigInt(baseFeePerGas),
      used: Number(used),
      limit: Number(tx.gas),
      nonce: Number(tx.nonce),
      type: Number(tx.type),
      value: BigInt(tx.value),
      maxFee: tx.maxFeePerGas === undefined ? null : BigInt(tx.maxFeePerGas),
      price,
      success: receipt.status === '0x1',
    }
  })
}

interface Product {
  readonly stack: AppStack
  push(seq: number, op: ChainOp): Promise<void>
}

const start = async (
  chain: 'eth' | 'sol' | 'sui',
  feeds: readonly Feed[],
  folder?: string,
): Promise<Product> => {
  const source = createScriptedSource()
  const row = CHAINS[chain]
  const stack = await startAppStack({
    chain: { row, source },
    overrides: { feeds: [...feeds] },
    ...(folder !== undefined && { folder }),
  })
  return {
    stack,
    push: async (seq, op) => {
      source.push(op)
      await until(
        async () => stack.app.ingestors[0]?.status().seq === seq && (await stack.app.isCaughtUp()),
        `operation ${seq} is processed`,
        WAIT_MS,
      )
    },
  }
}

const storedRows = async <Row>({ app }: AppStack, sql: string): Promise<readonly Row[]> =>
  (await app.warehouse.query<Row>({ sql })).rows

const countOf = async (stack: AppStack, chain: string): Promise<number> => {
  const sql = `SELECT toUInt32(count()) AS n FROM ${chain}_transactions`
  const [row] = await storedRows<{ n: number }>(stack, `${sql} FINAL`)
  return Number(row?.n)
}

interface CubeRow {
  readonly Transaction: Readonly<Record<string, unknown>>
  readonly Fee: Readonly<Record<string, unknown>>
  readonly Receipt: Readonly<Record<string, unknown>>
}

const ROWS = `{ EVM(network: eth) { Transactions(limit: {count: 1000}, orderBy: {ascending: Transaction_Index}) {
  Transaction { Hash Index From To FeePayer ValueRaw Gas Nonce Type Result { Success } }
  Fee { SenderFee BurntRaw SavingsRaw MinerRewardRaw } Receipt { Status GasUsed } } } }`

const cubeRows = async ({ cube }: AppStack) =>
  (await cube<CubeRow>(ROWS)).map(({ Transaction: tx, Fee, Receipt: receipt }) => ({
    ...tx,
    fee: Number(Fee.SenderFee).toPrecision(9),
    burnt: Fee.BurntRaw,
    saved: Fee.SavingsRaw,
    tip: Fee.MinerRewardRaw,
    used: receipt.GasUsed,
    status: receipt.Status,
  }))

/** The fee in coins has twelve places: what is printed is what is stored. */
const inCoins = (raw: bigint): string => (Number(raw / 10n ** 6n) / 1e12).toPrecision(9)

const expectedRows = () =>
  plainRows().map((row) => ({
    Hash: row.hash,
    Index: row.index,
    From: row.from,
    To: row.to,
    FeePayer: row.from,
    ValueRaw: row.value.toString(),
    Gas: row.limit,
    Nonce: row.nonce,
    Type: row.type,
    Result: { Success: row.success },
    fee: inCoins(row.fee),
    burnt: row.burnt.toString(),
    saved: row.maxFee === null ? null : ((row.maxFee - row.price) * BigInt(row.used)).toString(),
    tip: (row.fee - row.burnt).toString(),
    used: row.used,
    status: row.success ? 1 : 0,
  }))

test('the cube of transactions has each recorded transaction once, through reorgs and a restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-transactions-'))
  const block = recordedEthereumBlock(NAME)
  const plain = plainRows()
  try {
    const first = await start('eth', ['transactions'], folder)
    try {
      await first.push(1, { op: 'apply', block })
      assert.deepEqual(await cubeRows(first.stack), expectedRows())
      await assertAggregates(first.stack, plain)
      await first.push(2, { op: 'revert', ref: blockRef(block) })
      assert.deepEqual(await cubeRows(first.stack), [])
      await first.push(3, { op: 'apply', block })
      assert.deepEqual(await cubeRows(first.stack), expectedRows())
    } finally {
      await first.stack.stop()
    }
    const again = await start('eth', ['transactions'], folder)
    try {
      await until(() => again.stack.app.isCaughtUp(), 'the restart is caught up', WAIT_MS)
      assert.equal(await countOf(again.stack, 'eth'), plain.length)
      await again.push(4, { op: 'revert', ref: blockRef(block) })
      assert.equal(await countOf(again.stack, 'eth'), 0)
    } finally {
      await again.stack.stop()
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})

const assertAggregates = async (
  { cube }: AppStack,
  plain: ReturnType<typeof plainRows>,
): Promise<void> => {
  const [busiest = ''] = plain.map(({ to }) => to ?? '')
  const [sums] = await cube<Readonly<Record<string, number>>>(`{ EVM(network: eth) { Transactions {
    count to: count(if: {Transaction: {To: {is: "${busiest}"}}})
    failed: count(if: {Transaction: {Result: {Success: {is: false}}}})
    gas: sum(of: Receipt_GasUsed) senders: uniq(of: Transaction_From) } } }`)
  assert.deepEqual(sums, {
    count: plain.length,
    to: plain.filter(({ to }) => to === busiest).length,
    failed: plain.filter(({ success }) => !success).length,
    gas: plain.reduce((sum, { used }) => sum + used, 0),
    senders: new Set(plain.map(({ from }) => from)).size,
  })
  const [one] = plain
  const found = await cube<{ readonly Transaction: { readonly Hash: string } }>(
    `{ EVM(network: eth) { Transactions(fromAddress: {is: "${one?.from}"}, feePayer: {is: "${one?.from}"}) { Transaction { Hash } } } }`,
  )
  const sent = plain.filter(({ from }) => from === one?.from).map(({ hash }) => hash)
  assert.deepEqual(found.map(({ Transaction }) => Transaction.Hash).sort(), sent.sort())
}

test('without the transactions feed, a chain has no topic, no row and an empty list', async () => {
  const { stack, push } = await start('eth', [])
  try {
    await push(1, { op: 'apply', block: recordedEthereumBlock(NAME) })
    assert.equal((await stack.app.bus.topics('eth.')).includes('eth.transactions'), false)
    assert.equal(await countOf(stack, 'eth'), 0)
    assert.deepEqual(await cubeRows(stack), [])
  } finally {
    await stack.stop()
  }
})

test('Solana: programs, instructions and compute units can be selected', async () => {
  const block = recordedSolanaBlock('yellowstone_block_344556402.json')
  const { stack, push } = await start('sol', ['transactions'])
  try {
    await push(1, { op: 'apply', block })
    const rows =
      await stack.cube<CubeRow>(`{ Solana { Transactions(orderBy: {ascending: Transaction_Index}) {
      Transaction { Signature FeePayer InstructionsCount Programs } Receipt { GasUsed } } } }`)
    assert.deepEqual(
      rows,
      block.transactions.map(({ hash, from, instructions, computeUnits }) => ({
        Transaction: {
          Signature: hash,
          FeePayer: from,
          InstructionsCount: instructions.length,
          Programs: [...new Set(instructions.map(({ program }) => program))],
        },
        Receipt: { GasUsed: computeUnits },
      })),
    )
    const [program = ''] = block.transactions[0]?.instructions.map((each) => each.program) ?? []
    const [called] = await stack.cube<{ readonly count: number }>(
      `{ Solana { Transactions(where: {Transaction: {Programs: {includes: "${program}"}}}) { count } } }`,
    )
    const calling = block.transactions.filter(({ instructions }) =>
      instructions.some((each) => each.program === program),
    )
    assert.equal(called?.count, calling.length)
  } finally {
    await stack.stop()
  }
})

test('Sui: the table holds who paid, the budget and the price', async () => {
  const read = recordedBlock('sui', suiRecordingJson('turbos_swap.json')).block
  const block: Block = { ...read, timeMs: read.timeMs || 1_700_000_000_000 }
  assert.ok(block.vm === 'move')
  const { stack, push } = await start('sui', ['transactions'])
  try {
    await push(1, { op: 'apply', block })
    const rows = await storedRows(
      stack,
      `SELECT tx_hash, fee_payer, toString(gas_limit) AS budget, toString(gas_price) AS price FROM sui_transactions FINAL`,
    )
    assert.deepEqual(
      rows,
      block.transactions.map(({ hash, gasOwner, gas }) => ({
        tx_hash: hash,
        fee_payer: gasOwner,
        budget: String(gas.budgetRaw),
        price: String(gas.priceRaw),
      })),
    )
  } finally {
    await stack.stop()
  }
})
