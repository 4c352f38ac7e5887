import type { CallFrame } from '../../../schemas/block-parts.ts'
import type { Transaction } from '../../../schemas/events.ts'
import { type Fields, fieldsOf, invalid, listOf, orElse } from '../../input/json.ts'
import { addressAt, countOf, hashAt, hexOf, quantityOf } from '../abi/json.ts'
import {
  type BlockTransactions,
  checkComplete,
  eachTraced,
  ownersOf,
  type TraceRequest,
} from './traced-block.ts'

/** Most calls of one block that are read: a hundred times what the fullest blocks of the recorded chains hold. */
const MAX_CALLS = 500_000

/**
 * A `debug_traceBlockByHash` answer of the `callTracer`, one tree of calls per transaction. Source: go-ethereum
 * eth/tracers/native/call.go. Throws `InvalidInput`; reasons: those of the readers in `../../input/json.ts` and `../abi/json.ts`, `no-trace`,
 * `foreign-call`, `call-count`, `too-many-calls`.
 */
export const callsOfFrames = (
  block: BlockTransactions,
  answer: unknown,
  reading: TraceRequest = {},
): CallFrame[] => {
  const calls: CallFrame[] = []
  const take = (tx: Transaction, root: Fields): void => {
    const before = calls.length
    try {
      walkFrames(tx, root, calls)
    } catch (error) {
      calls.length = before
      throw error
    }
  }
  eachTraced(block, answer, take, reading)
  return calls
}

interface OpenFrame {
  readonly raw: Fields
  readonly depth: number
  /** Every call above it stands so far. */
  readonly isEffective: boolean
}

/** In the order in which they were entered, without recursion: a caller may nest a thousand deep. */
const walkFrames = (tx: Transaction, root: Fields, calls: CallFrame[]): void => {
  const open: OpenFrame[] = [{ raw: root, depth: 0, isEffective: tx.success }]
  let index = 0
  for (let frame = open.pop(); frame !== undefined; frame = open.pop()) {
    const { raw, depth } = frame
    if (calls.length >= MAX_CALLS) throw invalid('too-many-calls', 'traces', calls.length)
    const error = errorOf(raw)
    const success = frame.isEffective && error === null
    const { value, gas, gasUsed, input, output } = raw
    calls.push({
      txIndex: tx.index,
      index,
      depth,
      error,
      success,
      type: opcodeOf(raw.type),
      from: addressAt(raw.from, 'call.from'),
      to: orElse(raw.to, 'call.to', { read: addressAt, fallback: null }),
      ...amountsOf({ value, gas, gasUsed }),
      input: orElse(input, 'call.input', { read: hexOf, fallback: '0x' }),
      output: orElse(output, 'call.output', { read: hexOf, fallback: '0x' }),
    })
    index += 1
    const inner = orElse(raw.calls, 'call.calls', { read: listOf, fallback: [] })
    for (const each of inner.toReversed()) {
      open.push({ raw: fieldsOf(each, 'call.calls[]'), depth: depth + 1, isEffective: success })
    }
  }
}

/**
 * A `trace_block` answer: a flat list, each call with the path to it. Rewards in it are not calls. Source: openethereum
 * JSONRPC-trace-module. Throws as `callsOfFrames`, and `wrong-block` for calls of another block.
 */
export const callsOfTraces = (
  block: BlockTransactions,
  answer: unknown,
  reading: TraceRequest = {},
): CallFrame[] => {
  const calls: CallFrame[] = []
  const owners = ownersOf(block, reading)
  const traced = new Set<number>()
  let owner: Transaction | undefined
  let index = 0
  /** Depth of the failed call that the walk is inside of. */
  let failed = Number.POSITIVE_INFINITY
  for (const [place, each] of listOf(answer, 'traces').entries()) {
    const at = `traces[${place}]`
    const raw = fieldsOf(each, at)
    if (hashAt(raw.blockHash, `${at}.blockHash`) !== block.hash) {
      throw invalid('wrong-block', `${at}.blockHash`, raw.blockHash)
    }
    if (raw.type === 'reward' || raw.transactionHash === null) continue
    const tx = owners(raw.transactionHash, at)
    if (tx === undefined) continue
    const depth = listOf(raw.traceAddress, `${at}.traceAddress`).length
    if ((depth === 0) !== (tx !== owner)) throw invalid('call-order', `${at}.traceAddress`, depth)
    if (depth === 0) {
      if (traced.has(tx.index))
        throw invalid('call-count', at, 'a transaction that was traced before')
      traced.add(tx.index)
      ;[owner, index, failed] = [tx, 0, Number.POSITIVE_INFINITY]
    }
    if (calls.length >= MAX_CALLS) throw invalid('too-many-calls', 'traces', calls.length)
    const error = errorOf(raw)
    const isEffective = tx.success && depth <= failed
    if (depth <= failed) failed = error === null ? Number.POSITIVE_INFINITY : depth
    const success = isEffective && error === null
    calls.push({ ...tracedCall(raw, at), txIndex: tx.index, index, depth, error, success })
    index += 1
  }
  checkComplete(block, traced)
  return calls
}

type FrameFields = Omit<CallFrame, 'txIndex' | 'index' | 'depth' | 'error' | 'success'>

const tracedCall = (raw: Fields, at: string): FrameFields => {
  const action = fieldsOf(raw.action, `${at}.action`)
  const result = orElse(raw.result, `${at}.result`, { read: fieldsOf, fallback: {} as Fields })
  const hex = (value: unknown): string => orElse(value, at, { read: hexOf, fallback: '0x' })
  const address = (value: unknown): string | null =>
    orElse(value, at, { read: addressAt, fallback: null })
  const { value, gas } = action
  const amounts = amountsOf({ value, gas, gasUsed: result.gasUsed })
  if (raw.type === 'suicide' || raw.type === 'selfdestruct') {
    return {
      ...amountsOf({ value: action.balance }),
      type: 'SELFDESTRUCT',
      from: addressAt(action.address, `${at}.action.address`),
      to: address(action.refundAddress),
      input: '0x',
      output: '0x',
    }
  }
  const from = addressAt(action.from, `${at}.action.from`)
  if (raw.type === 'create') {
    const type = opcodeOf(action.creationMethod ?? 'create')
    const [input, output] = [hex(action.init), hex(result.code)]
    return { ...amounts, type, from, to: address(result.address), input, output }
  }
  const type = opcodeOf(action.callType ?? raw.type)
  const [input, output] = [hex(action.input), hex(result.output)]
  return { ...amounts, type, from, to: address(action.to), input, output }
}

interface Amounts {
  readonly value?: unknown
  readonly gas?: unknown
  readonly gasUsed?: unknown
}

const amountsOf = ({ value, gas, gasUsed }: Amounts) => ({
  valueRaw: orElse(value, 'call.value', { read: quantityOf, fallback: 0n }),
  gas: orElse(gas, 'call.gas', { read: countOf, fallback: 0 }),
  gasUsed: orElse(gasUsed, 'call.gasUsed', { read: countOf, fallback: 0 }),
})

/** Longest word of a node about a failure that is kept. */
const MAX_ERROR = 200

const errorOf = ({ error }: Fields): string | null =>
  error === undefined || error === null
    ? null
    : (typeof error === 'string' ? error : 'unnamed error').slice(0, MAX_ERROR)

/** An unknown one is kept under its name, and moves nothing. */
const opcodeOf = (value: unknown): string => {
  if (typeof value !== 'string' || !/^[A-Za-z0-9_]{1,24}$/.test(value)) {
    throw invalid('unknown-opcode', 'call.type', value)
  }
  return value.toUpperCase()
}
