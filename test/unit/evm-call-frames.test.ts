import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InvalidInput } from '../../core/errors.ts'
import { nativeTransfers } from '../../ingestors/evm/normalize/native-transfers.ts'
import { callsOfFrames, callsOfTraces } from '../../ingestors/evm/source/call-frames.ts'
import { recordedBlock } from '../../ingestors/recorded/files.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { EvmBlock } from '../../schemas/events.ts'
import {
  buildSingleTransactionBlock,
  recordedEthereumBlock,
} from '../support/recordings/ethereum.ts'
import {
  recordedBlockWithTraces,
  recordedTraces,
  TRACED_BLOCKS,
} from '../support/recordings/traces.ts'

/** An element of a `trace_block` answer, as far as the walk below reads it. */
interface Trace {
  readonly type: string
  readonly action: { readonly callType?: string; readonly value?: string }
  readonly error?: string
  readonly traceAddress: readonly number[]
  readonly transactionHash: string | null
}

const listed = (name: string): readonly Trace[] => recordedTraces(name).trace_block as Trace[]

/** Failed itself, or inside of something that failed: looked up by path, as nobody else does. */
const failedPaths = (traces: readonly Trace[]): ReadonlySet<string> =>
  new Set(
    traces
      .filter(({ error }) => error !== undefined)
      .map(({ transactionHash, traceAddress }) => [transactionHash, ...traceAddress].join('/')),
  )

const isVoid = (failed: ReadonlySet<string>, { transactionHash, traceAddress }: Trace): boolean =>
  traceAddress.some((_, cut) =>
    failed.has([transactionHash, ...traceAddress.slice(0, cut)].join('/')),
  ) || failed.has([transactionHash, ...traceAddress].join('/'))

for (const name of TRACED_BLOCKS) {
  test(`${name}: every recorded call is decoded at its position`, () => {
    const block = recordedBlockWithTraces(name)
    const traces = listed(name).filter(({ type }) => type !== 'reward')
    const hashes = new Map(block.transactions.map(({ index, hash }) => [index, hash]))
    assert.ok(traces.length > 500)
    assert.deepEqual(
      block.calls?.map(({ txIndex, depth }) => [hashes.get(txIndex), depth]),
      traces.map(({ transactionHash, traceAddress }) => [transactionHash, traceAddress.length]),
    )
    const failed = failedPaths(traces)
    assert.ok(failed.size > 0)
    assert.deepEqual(
      block.calls?.map(({ success }) => success),
      traces.map((trace) => !isVoid(failed, trace)),
    )
  })

  test(`${name}: native transfers come from successful calls, and transaction values are not counted twice`, () => {
    const block = recordedBlockWithTraces(name)
    const traces = listed(name)
    const failed = failedPaths(traces)
    const wanted = traces
      .filter(({ type, action }) => type === 'call' && action.callType === 'call')
      .filter((trace) => !isVoid(failed, trace))
      .map(({ action }) => BigInt(action.value ?? '0x0'))
      .filter((value) => value > 0n)
    const moves = nativeTransfers(block, CHAINS.eth)
    assert.deepEqual(
      moves.map(({ amountRaw }) => amountRaw),
      wanted,
    )
    const sum = (values: readonly bigint[]): bigint => values.reduce((a, b) => a + b, 0n)
    const carried = block.transactions.filter(({ success }) => success).map((tx) => tx.valueRaw)
    const outermost = moves.filter(({ callIndex }) => callIndex === 0).map((move) => move.amountRaw)
    assert.equal(sum(outermost), sum(carried))
    assert.ok(moves.length > outermost.length, 'contracts passed coins on')
  })
}

test('without traces native transfers come from transaction values, followed by withdrawals', () => {
  const block = recordedEthereumBlock('block_18000000.json')
  const { withdrawals = [] } = block
  assert.equal(withdrawals.length, 16)
  const moves = nativeTransfers(block, CHAINS.eth)
  const carried = block.transactions.filter(({ success, valueRaw }) => success && valueRaw > 0n)
  assert.equal(moves.length, carried.length + 16)
  const paid = moves.slice(-16)
  assert.deepEqual(
    paid.map(({ to, amountRaw }) => ({ to, amountRaw })),
    withdrawals,
  )
  const raw = paid[0]?.amountRaw ?? 0n
  assert.ok(raw > 10n ** 15n && raw < 33n * 10n ** 18n, `${raw} wei`)
})

test('on a chain whose contract logs native transfers they come from its logs, inner ones included', () => {
  const { block } = recordedBlock('polygon', recordedTraces('polygon_50000000.json'))
  assert.ok(block.vm === 'evm')
  const moves = nativeTransfers(block, CHAINS.polygon)
  assert.equal(moves.length, 31)
  const carried = block.transactions.filter(({ success, valueRaw }) => success && valueRaw > 0n)
  assert.equal(carried.length, 20)
  for (const { index, from, to, valueRaw } of carried) {
    const same = moves.filter((move) => move.txIndex === index && move.amountRaw === valueRaw)
    assert.ok(
      same.some((move) => move.from === from && move.to === to),
      `transaction ${index}`,
    )
  }
})

test('a chain whose native token logs its transfers has no native transfers from calls', () => {
  const block = recordedBlockWithTraces('block_17148268.json')
  assert.ok(nativeTransfers(block, CHAINS.eth).length > 0)
  assert.deepEqual(nativeTransfers(block, CHAINS.zksync), [])
})

/** A node's tree of calls as a plain recursion counts it. */
interface Frame {
  readonly type: string
  readonly error?: string
  readonly value?: string
  readonly calls?: readonly Frame[]
}

const flat = (frame: Frame, stands = true): readonly (readonly [string, boolean])[] => {
  const success = stands && frame.error === undefined
  return [[frame.type, success], ...(frame.calls ?? []).flatMap((call) => flat(call, success))]
}

const one = (): EvmBlock => buildSingleTransactionBlock([])

for (const [name, count] of [
  ['calltracer_delegatecall.json', 21],
  ['calltracer_multi_contracts.json', 162],
  ['calltracer_tx_partial_failed.json', 2],
] as const) {
  test(`${name}: a tree of calls in the order in which they ran`, () => {
    const recorded = recordedTraces(name)
    const block = one()
    const calls = callsOfFrames(block, [recorded])
    assert.deepEqual(
      calls.map(({ type, success }) => [type, success]),
      flat(recorded.result as Frame),
    )
    assert.equal(calls.length, count)
    assert.deepEqual(
      calls.map(({ index }) => index),
      calls.map((_, index) => index),
    )
  })
}

test('a failed call discards the transfers of its inner calls; other calls are kept', () => {
  const from = `0x${'aa'.repeat(20)}`
  const frame = (value: string, more: object = {}) => ({
    type: 'CALL',
    from,
    to: `0x${'bb'.repeat(20)}`,
    gas: '0x1',
    gasUsed: '0x1',
    input: '0x',
    value,
    ...more,
  })
  const result = frame('0x1', {
    calls: [
      frame('0x2', { error: 'execution reverted', calls: [frame('0x4'), frame('0x8')] }),
      frame('0x10', { type: 'DELEGATECALL', calls: [frame('0x20')] }),
      frame('0x40', { type: 'CALLCODE' }),
      frame('0x80', { type: 'SELFDESTRUCT' }),
      frame('0x100', { type: 'CREATE2' }),
    ],
  })
  const block = one()
  const calls = callsOfFrames(block, [{ result }])
  const moves = nativeTransfers({ ...block, calls }, CHAINS.eth)
  assert.deepEqual(
    moves.map(({ amountRaw }) => amountRaw),
    [0x1n, 0x20n, 0x80n, 0x100n],
  )
  const failed = {
    ...block,
    transactions: block.transactions.map((tx) => ({ ...tx, success: false })),
  }
  assert.deepEqual(
    nativeTransfers({ ...failed, calls: callsOfFrames(failed, [{ result }]) }, CHAINS.eth),
    [],
  )
})

test('a trace response for another block is rejected with its reason', () => {
  const block = recordedBlockWithTraces('block_17148268.json')
  const traces = listed('block_17148268.json')
  const reasonOf = (work: () => unknown): string => {
    try {
      work()
    } catch (error) {
      if (error instanceof InvalidInput) return error.reason
      throw error
    }
    return 'taken'
  }
  const [first, second] = traces
  const cases: readonly (readonly [string, unknown])[] = [
    ['taken', traces],
    ['not-a-list', { traces }],
    ['call-count', traces.slice(0, -3)],
    ['wrong-block', traces.map((trace) => ({ ...trace, blockHash: `0x${'00'.repeat(32)}` }))],
    ['foreign-call', [{ ...first, transactionHash: `0x${'00'.repeat(32)}` }]],
    ['call-order', [second]],
  ]
  for (const [reason, answer] of cases) {
    assert.equal(
      reasonOf(() => callsOfTraces(block, answer)),
      reason,
    )
  }
  assert.equal(
    reasonOf(() => callsOfFrames(block, [{ error: 'timeout' }])),
    'no-trace',
  )
  assert.equal(
    reasonOf(() => callsOfFrames(block, [{ result: { type: 'CALL' } }])),
    'bad-hex',
  )
  assert.equal(
    reasonOf(() => callsOfFrames(block, [])),
    'call-count',
  )
})
