import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changesOf } from '../../ingestors/evm/decode/liquidity-changes.ts'
import type { DecodedLiquidityChange, Leg } from '../../ingestors/evm/protocols/types.ts'
import { POOL, TOKEN_A, TOKEN_B } from '../support/builders/dex-logs.ts'

const TOKEN_C = `0x${'0c'.repeat(20)}`
const COINS = [TOKEN_A, TOKEN_B, TOKEN_C]
const change = (amountsRaw: readonly bigint[], legs?: readonly Leg[]): DecodedLiquidityChange => ({
  kind: 'change',
  pool: POOL,
  defaultProtocol: 'curve',
  change: 'increase',
  amountsRaw,
  ...(legs && { legs }),
})
const pairs = (
  said: DecodedLiquidityChange,
  coins: readonly (string | null)[] = COINS,
  reserves?: readonly [bigint, bigint],
) =>
  changesOf(said, {
    coins,
    reserves,
    tokenOf: (leg) =>
      typeof leg === 'number' ? (coins[leg] ?? null) : typeof leg === 'string' ? leg : null,
  })
const one = (
  tokenA: string,
  amountARaw: bigint,
  tokenB: string,
  amountBRaw: bigint,
  more: object = {},
) => ({ kind: 'increase', pool: POOL, tokenA, tokenB, amountARaw, amountBRaw, ...more })

test('a change of two tokens is one pair, with the reserves after it where they are known', () => {
  const two = [TOKEN_A, TOKEN_B]
  assert.deepEqual(pairs(change([1n, 2n]), two), [one(TOKEN_A, 1n, TOKEN_B, 2n)])
  assert.deepEqual(pairs(change([1n, 2n]), two, [8n, 9n]), [
    one(TOKEN_A, 1n, TOKEN_B, 2n, { reserves: [8n, 9n] }),
  ])
})

test('each further token is paired with the first, whose amount counts once', () => {
  assert.deepEqual(pairs(change([1n, 2n, 3n]), COINS, [8n, 9n]), [
    one(TOKEN_A, 1n, TOKEN_B, 2n),
    one(TOKEN_A, 0n, TOKEN_C, 3n),
  ])
})

test('legs name tokens by index or address, in the order of the amounts', () => {
  assert.deepEqual(pairs(change([1n, 2n], [2, TOKEN_A])), [one(TOKEN_C, 1n, TOKEN_A, 2n)])
})

test('a single token is paired with the first other one of its pool', () => {
  assert.deepEqual(pairs(change([5n], [0])), [one(TOKEN_A, 5n, TOKEN_B, 0n)])
  assert.deepEqual(pairs(change([5n], [2])), [one(TOKEN_C, 5n, TOKEN_A, 0n)])
  assert.deepEqual(pairs(change([5n], [TOKEN_C]), [null, TOKEN_B]), [one(TOKEN_C, 5n, TOKEN_B, 0n)])
})

test('a change with an unknown token gives no pair', () => {
  assert.equal(pairs(change([1n, 2n]), [TOKEN_A]), undefined)
  assert.equal(pairs(change([1n, 2n]), [null, TOKEN_B]), undefined)
  assert.equal(pairs(change([1n, 2n], [0])), undefined, 'an amount without a leg')
  assert.equal(pairs(change([1n], [7])), undefined)
  assert.equal(pairs(change([1n], [TOKEN_A]), [TOKEN_A]), undefined, 'no other token')
  assert.equal(pairs(change([])), undefined)
})
