import assert from 'node:assert/strict'
import { test } from 'node:test'
import { localCodec } from '../../core/codec/local-codec.ts'
import { normalizeBlock } from '../../ingestors/evm/normalize/block.ts'
import { recordedBlock } from '../../ingestors/recorded/files.ts'
import { transactionEvents } from '../../ingestors/to-wire/transactions.ts'
import { blockMapping } from '../../ingestors/vm/block-mapping.ts'
import { enabledFeedSinks, FEED_SINKS } from '../../processors/sinks/feed-sinks.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { Block, MoveBlock } from '../../schemas/events.ts'
import type * as Wire from '../../schemas/wire.ts'
import { chainRecordingJson } from '../support/recordings/evm-chains.ts'
import { recordedSolanaBlock, solanaRecordingJson } from '../support/recordings/solana.ts'
import { parseSuiRecording, suiRecordingJson } from '../support/recordings/sui.ts'

type Hex = string | null | undefined

interface RecordedTransaction {
  readonly hash: string
  readonly from: string
  readonly to: string | null
  readonly value: string
  readonly gas: string
  readonly gasPrice?: string
  readonly nonce: string
  readonly type?: string
  readonly maxFeePerGas?: string
  readonly maxPriorityFeePerGas?: string
}

interface RecordedReceipt {
  readonly transactionIndex: string
  readonly status: string
  readonly gasUsed: string
  readonly cumulativeGasUsed: string
  readonly effectiveGasPrice?: string
  readonly l1Fee?: string
  readonly contractAddress: string | null
}

const decimal = (hex: Hex): string =>
  hex === null || hex === undefined ? '' : BigInt(hex).toString()

const DEPOSIT = '0x7e'

/** A transaction as the node's own answer tells it; `burnt` is the chain's rule. */
const plainEvent = (
  transaction: RecordedTransaction,
  receipt: RecordedReceipt,
  burnt: (price: bigint, used: bigint, fee: bigint) => string,
) => {
  const isDeposit = transaction.type === DEPOSIT
  const used = BigInt(receipt.gasUsed)
  const price = BigInt(receipt.effectiveGasPrice ?? transaction.gasPrice ?? '0x0')
  const fee = isDeposit ? 0n : used * price + BigInt(receipt.l1Fee ?? '0x0')
  return {
    tx_hash: transaction.hash,
    tx_index: Number(receipt.transactionIndex),
    tx_signer: transaction.from.toLowerCase(),
    tx_fee: fee.toString(),
    tx_status: receipt.status === '0x1' ? 'STATUS_SUCCESS' : 'STATUS_FAILED',
    fee_payer: transaction.from.toLowerCase(),
    to_address: transaction.to?.toLowerCase() ?? '',
    contract_address: receipt.contractAddress?.toLowerCase() ?? '',
    value: decimal(transaction.value),
    gas_limit: decimal(transaction.gas),
    gas_used: used.toString(),
    cumulative_gas_used: decimal(receipt.cumulativeGasUsed),
    gas_price: isDeposit ? '' : price.toString(),
    max_fee: decimal(transaction.maxFeePerGas),
    max_priority_fee: decimal(transaction.maxPriorityFeePerGas),
    nonce: decimal(transaction.nonce),
    tx_type: transaction.type === undefined ? 0 : Number(transaction.type),
    burnt: isDeposit ? '' : burnt(price, used, fee),
  }
}

/** Whole recorded blocks, and what their chain burns. */
const WHOLE = [
  ['ethereum/block_17148268.json', 'eth', 121],
  ['ethereum/block_18000000.json', 'eth', 94],
  ['avalanche/block_31878202.json', 'avalanche', 1],
  ['base/block_2000000.json', 'base', 15],
  ['arbitrum/block_150000000.json', 'arbitrum', 5],
] as const

for (const [name, chain, count] of WHOLE) {
  test(`${name}: every transaction equals the response of its node, fee and gas too`, () => {
    const json = chainRecordingJson(name)
    const block = json.eth_getBlockByNumber as {
      readonly transactions: readonly RecordedTransaction[]
      readonly baseFeePerGas: string
    }
    const receipts = json.eth_getBlockReceipts as readonly RecordedReceipt[]
    const base = BigInt(block.baseFeePerGas)
    const burnt = (price: bigint, used: bigint, fee: bigint): string => {
      if (chain === 'avalanche') return fee.toString()
      return chain === 'eth' ? ((price < base ? price : base) * used).toString() : ''
    }
    const events = eventsOf(recordedBlock(chain, json).block)
    assert.equal(events.length, count)
    const plain = block.transactions.map((each, index) =>
      plainEvent(each, receipts[index] as RecordedReceipt, burnt),
    )
    assert.deepEqual(
      events.map(({ event }) => {
        const { block_height: _, event_index: at, priority_fee: tip, ...own } = event
        assert.equal(at, own.tx_index)
        if (own.gas_price === '') assert.equal(tip, '')
        else if (chain === 'avalanche') assert.equal(tip, '0', 'no one gets it')
        else {
          const above = BigInt(own.gas_price ?? '') - base
          assert.equal(tip, String(above > 0n ? above : 0n))
        }
        return { ...own, tx_type: own.tx_type ?? 0 }
      }),
      plain,
    )
    for (const { key, event } of events) assert.equal(key, event.tx_signer)
  })
}

const eventsOf = (block: Block) => transactionEvents({ block, mapping: blockMapping(block) })

test('a recording gives the same transactions as the node', () => {
  const name = 'ethereum/block_18000000.json'
  const { eth_getBlockByNumber: block, eth_getBlockReceipts: receipts } = chainRecordingJson(name)
  const told = normalizeBlock('eth', block, receipts, { withGas: true })
  const { block: recorded } = recordedBlock('eth', chainRecordingJson(name))
  assert.deepEqual(eventsOf(recorded), eventsOf(told))
})

test('without the feed transactions have no gas fields', () => {
  const { eth_getBlockByNumber: block, eth_getBlockReceipts: receipts } = chainRecordingJson(
    'ethereum/block_18000000.json',
  )
  const { transactions } = normalizeBlock('eth', block, receipts)
  assert.ok(transactions.every((tx) => !('gas' in tx)))
})

const VOTE = 'Vote111111111111111111111111111111111111111'

test('Solana transactions in the feed have fee, compute units, instructions and programs, also failed ones', () => {
  const name = 'block_structure_100000000_jsonparsed.json'
  const json = solanaRecordingJson(name) as {
    readonly transactions: {
      readonly transaction: {
        readonly signatures: readonly string[]
        readonly message: {
          readonly accountKeys: readonly { readonly pubkey: string }[]
          readonly instructions: readonly { readonly programId: string }[]
        }
      }
      readonly meta: {
        readonly fee: number
        err: unknown
        readonly computeUnitsConsumed?: number
        readonly innerInstructions: readonly {
          readonly instructions: readonly { readonly programId: string }[]
        }[]
      }
    }[]
  }
  const { transactions } = json
  const last = transactions.findLast(({ transaction }) => {
    return transaction.message.instructions[0]?.programId !== VOTE
  })
  assert.ok(last)
  last.meta.err = { InstructionError: [0, { Custom: 1 }] }
  const plain = transactions.flatMap(({ transaction, meta }, index) => {
    const { accountKeys, instructions } = transaction.message
    const signer = accountKeys[0]?.pubkey
    if (instructions.length === 1 && instructions[0]?.programId === VOTE) return []
    const failed = meta.err !== null
    const called = [
      ...instructions,
      ...meta.innerInstructions.flatMap((inner) => inner.instructions),
    ].map(({ programId }) => programId)
    return [
      {
        tx_hash: transaction.signatures[0],
        tx_index: index,
        tx_signer: signer,
        fee_payer: signer,
        tx_fee: String(meta.fee),
        tx_status: failed ? 'STATUS_FAILED' : 'STATUS_SUCCESS',
        gas_used: String(meta.computeUnitsConsumed ?? ''),
        instructions_count: failed ? 0 : called.length,
        programs: failed ? [] : [...new Set(called)].sort(),
      },
    ]
  })
  const events = eventsOf(recordedBlock('sol', json).block)
  assert.ok(plain.some(({ tx_status: status }) => status === 'STATUS_FAILED'))
  assert.equal(plain.length, 4)
  assert.deepEqual(
    events.map(({ event: { block_height: _, event_index: __, programs = [], ...own } }) => ({
      ...own,
      programs: programs.toSorted(),
    })),
    plain,
  )
})

test('Solana transactions in the feed have compute units where the recording has them', () => {
  const { block } = solanaRecordingJson('yellowstone_block_344556402.json') as {
    readonly block: { readonly transactions: readonly { readonly meta: object }[] }
  }
  const text = JSON.stringify(block.transactions.map(({ meta }) => meta))
  const units = [...text.matchAll(/"computeUnitsConsumed":"?(\d+)/g)].map(([, value]) => value)
  const events = eventsOf(recordedSolanaBlock('yellowstone_block_344556402.json'))
  assert.ok(events.length > 0)
  for (const { event } of events) assert.ok(units.includes(event.gas_used ?? 'none'))
})

test('Sui transactions in the feed have payer, budget, price and computation; a rebate above the fee gives no negative fee', () => {
  const file = suiRecordingJson('turbos_swap.json') as { readonly result: unknown }
  const { transaction, effects } = file.result as {
    readonly transaction: {
      readonly data: {
        readonly sender: string
        readonly gasData: {
          readonly owner: string
          readonly budget: string
          readonly price: string
        }
      }
    }
    readonly effects: { readonly gasUsed: Readonly<Record<string, string>> }
  }
  const [first] = eventsOf(parseSuiRecording(file).block)
  const { gasData, sender } = transaction.data
  const { computationCost = '', storageCost = '', storageRebate = '' } = effects.gasUsed
  const fee = BigInt(computationCost) + BigInt(storageCost) - BigInt(storageRebate)
  assert.deepEqual(
    [first?.event.fee_payer, first?.event.gas_limit, first?.event.gas_price, first?.event.gas_used],
    [gasData.owner, gasData.budget, gasData.price, computationCost],
  )
  assert.deepEqual([first?.key, first?.event.tx_fee], [sender, String(fee > 0n ? fee : 0n)])
  const block: MoveBlock = parseSuiRecording(file).block
  const [tx] = block.transactions
  assert.ok(tx)
  const [paidBack] = eventsOf({ ...block, transactions: [{ ...tx, feeRaw: -5n }] })
  assert.equal(paidBack?.event.tx_fee, '0')
})

const rowOf = (event: Partial<Wire.TransactionEvent>): Readonly<Record<string, unknown>> => {
  const sink = FEED_SINKS.find(({ topic }) => topic === 'transactions')
  const codec = localCodec()
  const bytes = codec.encode('transaction.TransactionEvents', {
    meta: { chain: 'bsc', op: 'OP_APPLY', seq: 3, height: 9, block_time: 1_700_000_000_000 },
    events: [{ block_height: 9, tx_hash: '0xaa', tx_fee: '21000', ...event }],
  })
  const { tables } = sink?.map(codec, bytes) ?? { tables: [] }
  assert.equal(tables[0]?.table, 'transactions')
  return tables[0]?.rows[0] ?? {}
}

test('a transactions row has null for unknown or too large values and keeps a gas limit of 2^63 - 1', () => {
  const largest = String(2n ** 63n - 1n)
  const row = rowOf({ gas_limit: largest, nonce: String(2n ** 64n), burnt: '', max_fee: '7' })
  assert.deepEqual(
    [row.gas_limit, row.nonce, row.burnt, row.max_fee, row.tx_type, row.value],
    [largest, null, null, '7', null, null],
  )
  assert.deepEqual([row.tx_fee, row.tx_hash, row.programs], ['21000', '0xaa', []])
})

test('every chain has the transactions feed if it is enabled, and no chain has it otherwise', () => {
  for (const chain of Object.values(CHAINS)) {
    const topics = enabledFeedSinks(chain, ['transactions']).map(({ topic }) => topic)
    assert.deepEqual(topics, ['transactions'])
    assert.deepEqual(enabledFeedSinks(chain, []), [])
  }
})
