import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeBlock } from '../../ingestors/decode.ts'
import { PROGRAM } from '../../ingestors/svm/programs.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { type Call, decodeCalls, fields, key, selfCall } from '../support/hand-svm.ts'
import { solBooks, solJson, solRecording } from '../support/sol-recordings.ts'

const SWAP = PROGRAM.pumpSwap
const WSOL = CHAINS.sol.wrappedNative
const SELL = '33e685a4017f83ad'
const SELL_EVENT = '3e2f370aa503dc2a'

const accounts = (places: Readonly<Record<number, string>>): readonly string[] =>
  Array.from({ length: 19 }, (_, index) => places[index] ?? key(`account ${index}`))

const TRADE = accounts({ 0: key('pool'), 1: key('user'), 3: key('base'), 4: WSOL })
const LIQUIDITY = accounts({ 0: key('pool'), 2: key('user'), 3: key('base'), 4: WSOL })

const told = (form: string, list: readonly string[], tag: string, event: Buffer): Call => ({
  program: SWAP,
  accounts: list,
  data: form,
  calls: [selfCall(SWAP, tag, event)],
})

test('what a sale leaves in the vaults is what the next purchase finds there', () => {
  const { tokenBalances } = solRecording('swap_pumpswap_1.json').transactions[0] ?? {}
  const { swaps } = decodeBlock(solRecording('swap_pumpswap_1.json'), solBooks())
  const [sale, purchase] = swaps
  assert.ok(sale && purchase && tokenBalances)
  assert.equal(sale.tokenIn, WSOL, 'the pool calls the wrapped coin its base')
  assert.deepEqual(sale.reservesInOut, [1_422_506_798_604n, 454_160_223_975_773n])
  const found = (account: string | undefined) =>
    tokenBalances.find((balance) => balance.account === account)
  const vault = (account: string | undefined) => found(account)?.postRaw
  assert.deepEqual(sale.reservesBeforeInOut, [
    found(sale.accounts?.vaultIn)?.preRaw,
    found(sale.accounts?.vaultOut)?.preRaw,
  ])
  assert.deepEqual(purchase.reservesBeforeInOut, sale.reservesInOut?.toReversed())
  assert.deepEqual(purchase.reservesInOut, [
    vault(purchase.accounts?.vaultIn),
    vault(purchase.accounts?.vaultOut),
  ])
})

test('the layout of March 2025: what the seller got, and reserves after it', () => {
  const recorded = Buffer.from(
    String(solJson('pumpswap_sell_event_2025_03.json').programDataBase64),
    'base64',
  )
  const event = told(SELL, TRADE, recorded.subarray(0, 8).toString('hex'), recorded.subarray(8))
  const { swaps, pools, dropped } = decodeCalls([event])
  const [swap] = swaps
  assert.deepEqual(dropped, [])
  assert.deepEqual([swap?.amountInRaw, swap?.amountOutRaw], [24_280_378_766n, 8_614_749n])
  assert.deepEqual(swap?.reservesInOut, [
    222_398_710_005_666n + 24_280_378_766n,
    79_114_125_035n - 8_619_068n,
  ])
  assert.deepEqual(
    [pools[0]?.tokenA, pools[0]?.tokenB, pools[0]?.proven],
    [key('base'), WSOL, true],
  )
})

test('pools are opened, filled and emptied', () => {
  const moved = fields(1n, 10n, 0n, 0n, 0n, 0n, 1_000n, 2_000n, 30n, 60n, 9n)
  const created = Buffer.concat([
    fields(1n),
    Buffer.from([0, 0]),
    fields(key('user'), key('base'), WSOL),
    Buffer.from([6, 9]),
    fields(500n, 700n, 500n, 700n),
  ])
  const { poolChanges, dropped } = decodeCalls([
    told('e992d18ecf6840bc', LIQUIDITY, 'b1310cd2a076a774', created),
    told('f223c68952e1f2b6', LIQUIDITY, '78f83d531f8e6b90', moved),
    told('b712469c946da122', LIQUIDITY, '1609851aa02c47c0', moved),
  ])
  assert.deepEqual(dropped, [])
  assert.deepEqual(
    poolChanges.map(({ kind, owner, amountARaw, amountBRaw, reserves }) => [
      kind,
      owner,
      amountARaw,
      amountBRaw,
      reserves,
    ]),
    [
      ['initialize', key('user'), 500n, 700n, [500n, 700n]],
      ['increase', key('user'), 30n, 60n, [1_030n, 2_060n]],
      ['decrease', key('user'), 30n, 60n, [970n, 1_940n]],
    ],
  )
  assert.deepEqual(
    poolChanges.map(({ path }) => path?.outer),
    [0, 1, 2],
  )
})

test('what cannot be taken says why', () => {
  const event = fields(...Array.from({ length: 14 }, () => 5n), ...TRADE.slice(0, 6))
  const reasonOf = (call: Call): string | undefined => {
    const { swaps, dropped } = decodeCalls([call])
    assert.deepEqual(swaps, [])
    return dropped[0]?.reason
  }
  assert.equal(decodeCalls([told(SELL, TRADE, SELL_EVENT, event)]).swaps.length, 1)
  assert.equal(reasonOf(told(SELL, TRADE, SELL_EVENT, event.subarray(1))), 'short-data')
  assert.equal(reasonOf(told(SELL, TRADE.slice(0, 8), SELL_EVENT, event)), 'missing-account')
  assert.equal(reasonOf(told('00'.repeat(8), TRADE, SELL_EVENT, event)), 'unknown-instruction')
  assert.equal(reasonOf(told('f223c68952e1f2b6', TRADE, SELL_EVENT, event)), 'unknown-instruction')
  assert.equal(reasonOf(selfCall(SWAP, SELL_EVENT, event)), 'foreign-event')
  assert.equal(reasonOf(told(SELL, TRADE, SELL_EVENT, Buffer.alloc(304))), 'zero-amount')
})
