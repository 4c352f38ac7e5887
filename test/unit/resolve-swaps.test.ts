/** What becomes of a decoded swap or change at the end of its transaction: its trader, its pool, its tokens. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyDecodedBlock } from '../../ingestors/decode/contract.ts'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import { resolveSwaps, type Waiting } from '../../ingestors/evm/decode/resolve-swaps.ts'
import type { PoolMetadata, Transfer } from '../../schemas/events.ts'
import { type ProtocolRow, protocolRow } from '../../schemas/protocols.ts'
import {
  buildPoolMetadata,
  POOL,
  ROUTER,
  TOKEN_A,
  TOKEN_B,
  USER,
  v2SwapLog,
} from '../support/builders/dex-logs.ts'
import { buildSingleTransactionBlock } from '../support/recordings/ethereum.ts'

const SWAP = {
  kind: 'swap',
  pool: POOL,
  defaultProtocol: 'uniswap_v2',
  tokenIn: 0,
  tokenOut: 1,
  amountInRaw: 10n,
  amountOutRaw: 7n,
} as const
const CHANGE = {
  kind: 'change',
  change: 'decrease',
  pool: POOL,
  defaultProtocol: 'uniswap_v2',
  amountsRaw: [10n, 7n],
} as const

const waiting = (
  decoded: Waiting['decoded'],
  logIndex = 3,
  holder: ProtocolRow | undefined = undefined,
): Waiting => ({ family: 'uniswap_v2', logIndex, decoded, reserves: undefined, holder })

const transfer = (token: string, from: string, to: string, amountRaw: bigint): Transfer => ({
  kind: 'transfer',
  txIndex: 0,
  logIndex: 0,
  token,
  from,
  to,
  amountRaw,
  wrap: false,
})

interface Given {
  readonly pool?: PoolMetadata | undefined
  readonly verification?: 'facts' | 'evidence'
  readonly transfers?: readonly Transfer[]
  readonly firstTransfer?: number
  readonly operations?: readonly { readonly sender: string; readonly logIndex: number }[]
}

const resolved = (items: readonly Waiting[], given: Given = {}) => {
  const [tx] = buildSingleTransactionBlock([v2SwapLog([10n, 0n, 0n, 7n])], {
    from: ROUTER,
  }).transactions
  assert.ok(tx)
  const out = emptyDecodedBlock()
  out.transfers.push(...(given.transfers ?? []))
  const protocols = protocolRegistry('eth')
  const { verification = 'facts', operations = [], firstTransfer = 0 } = given
  const pool = 'pool' in given ? given.pool : buildPoolMetadata('uniswap_v2')
  const context = { verification, protocols, pool: () => pool }
  resolveSwaps(
    { tx, out, context, protocols, made: new Map(), prices: new Map() },
    { waiting: items, operations, firstTransfer },
  )
  return { ...out, reasons: out.dropped.map(({ reason }) => reason) }
}

test('the trader is the one of the event, else the sender of the ERC-4337 operation, else the signer', () => {
  const [first, second] = [`0x${'51'.repeat(20)}`, `0x${'52'.repeat(20)}`]
  const operations = [
    { sender: first, logIndex: 2 },
    { sender: second, logIndex: 4 },
  ]
  const items = [1, 3, 5].map((logIndex) => waiting(SWAP, logIndex))
  const named = waiting({ ...SWAP, trader: USER }, 6)
  assert.deepEqual(
    resolved([...items, named], { operations }).swaps.map(({ trader }) => trader),
    [first, second, ROUTER, USER],
  )
  const changes = [1, 3, 5].map((logIndex) => waiting(CHANGE, logIndex))
  assert.deepEqual(
    resolved(changes, { operations }).poolChanges.map(({ owner }) => owner),
    [first, second, ROUTER],
  )
})

test('transfers of an earlier transaction do not confirm a swap', () => {
  const transfers = [transfer(TOKEN_A, USER, POOL, 10n), transfer(TOKEN_B, POOL, USER, 7n)]
  const given = { verification: 'evidence', pool: undefined, transfers } as const
  assert.equal(resolved([waiting(SWAP)], given).swaps.length, 1)
  assert.deepEqual(resolved([waiting(SWAP)], { ...given, firstTransfer: 2 }).reasons, [
    'no-matching-transfers',
  ])
})

test('a pool of an unknown protocol is not verified, whatever its factory', () => {
  const pool = { ...buildPoolMetadata('uniswap_v2'), protocol: null }
  assert.deepEqual(resolved([waiting(SWAP)], { pool }).reasons, ['unverified-pool'])
})

test('an unknown pool needs no verification where a listed contract logs its event and names every token', () => {
  const holder = protocolRow('uniswap_v2')
  assert.ok(holder)
  const named = { ...SWAP, tokenIn: TOKEN_A, tokenOut: TOKEN_B }
  const legs = [TOKEN_A, TOKEN_B]
  const cases: readonly (readonly [
    string,
    Waiting['decoded'],
    ProtocolRow | undefined,
    boolean,
  ])[] = [
    ['a swap that names both', named, holder, true],
    ['a swap that names both, by the pool itself', named, undefined, false],
    ['a swap that names what went in', { ...named, tokenOut: 1 }, holder, false],
    ['a swap that names what went out', { ...named, tokenIn: 0 }, holder, false],
    ['a change that names both', { ...CHANGE, legs }, holder, true],
    ['a change that names both, by the pool itself', { ...CHANGE, legs }, undefined, false],
    ['a change that names one', { ...CHANGE, legs: [TOKEN_A, 1] }, holder, false],
    ['a change that names none', CHANGE, holder, false],
  ]
  for (const [subject, decoded, by, taken] of cases) {
    const { swaps, poolChanges, reasons } = resolved([waiting(decoded, 3, by)], { pool: undefined })
    assert.equal(swaps.length + poolChanges.length, taken ? 1 : 0, subject)
    assert.deepEqual(reasons, taken ? [] : ['unknown-pool'], subject)
  }
})

test('a withdrawal without a token name takes the pool token that left in this amount', () => {
  const paid = { ...CHANGE, amountsRaw: [7n], legs: [{ paidOutRaw: 7n }] }
  const changed = (token: string) => {
    const { poolChanges, reasons } = resolved([waiting(paid)], {
      transfers: [transfer(token, POOL, USER, 7n)],
    })
    return [poolChanges.map(({ tokenA }) => tokenA), reasons]
  }
  assert.deepEqual(changed(TOKEN_B), [[TOKEN_B], []])
  assert.deepEqual(changed(ROUTER), [[], ['unknown-token']])
})

test('a swap has the pool fields of its event, and no others', () => {
  const said = {
    vault: ROUTER,
    reservesInOut: [1n, 2n],
    sqrtPriceX96: 3n,
    liquidityRaw: 4n,
    tick: -5,
  } as const
  const swap = {
    kind: 'swap',
    txIndex: 0,
    logIndex: 3,
    pool: POOL,
    protocol: 'uniswap_v2',
    trader: ROUTER,
    tokenIn: TOKEN_A,
    tokenOut: TOKEN_B,
    amountInRaw: 10n,
    amountOutRaw: 7n,
  }
  assert.deepEqual(resolved([waiting({ ...SWAP, ...said })]).swaps, [{ ...swap, ...said }])
  assert.deepEqual(resolved([waiting(SWAP)]).swaps, [swap])
  const [change] = resolved([waiting(CHANGE)]).poolChanges
  assert.equal(change && 'vault' in change, false)
})

test('a token index beyond the tokens of the pool is an unknown token', () => {
  assert.deepEqual(resolved([waiting({ ...SWAP, tokenOut: 7 })]).reasons, ['unknown-token'])
  const { swaps } = resolved([waiting({ ...SWAP, tokenOut: 7 })], { verification: 'evidence' })
  assert.equal(swaps[0]?.tokenOut, null)
})
