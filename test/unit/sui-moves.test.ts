import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MoveBalanceChange, MoveObject, MoveTransaction } from '../../schemas/events.ts'
import {
  buildMoveEvent,
  buildMoveTransaction,
  decodeMoveTransactions,
  objectIdFor,
  SUI,
  TEST_COIN,
} from '../support/builders/move-block.ts'

const [ANNA, BERT, CARL] = [objectIdFor('sender'), objectIdFor('bert'), objectIdFor('carl')]

const delta = (owner: string, coin: string, deltaRaw: bigint): MoveBalanceChange => ({
  owner,
  coin,
  deltaRaw,
})
const moved = (deltas: readonly MoveBalanceChange[], more: Partial<MoveTransaction> = {}) =>
  decodeMoveTransactions([buildMoveTransaction([], { deltas, ...more })]).transfers.map(
    ({ token, from, to, amountRaw }) => [token, from, to, amountRaw],
  )

test('Sui transfers run from the address whose balance decreased to the one whose balance increased', () => {
  assert.deepEqual(moved([delta(ANNA, TEST_COIN, -10n), delta(BERT, TEST_COIN, 10n)]), [
    [TEST_COIN, ANNA, BERT, 10n],
  ])
  assert.deepEqual(
    moved([delta(ANNA, TEST_COIN, -10n), delta(BERT, TEST_COIN, 4n), delta(CARL, TEST_COIN, 6n)]),
    [
      [TEST_COIN, ANNA, BERT, 4n],
      [TEST_COIN, ANNA, CARL, 6n],
    ],
  )
  assert.deepEqual(
    moved([delta(ANNA, TEST_COIN, -4n), delta(BERT, TEST_COIN, -6n), delta(CARL, TEST_COIN, 10n)]),
    [
      [TEST_COIN, ANNA, CARL, 4n],
      [TEST_COIN, BERT, CARL, 6n],
    ],
  )
})

test('on Sui, amounts that a pool takes or pays are not a transfer', () => {
  assert.deepEqual(moved([delta(ANNA, TEST_COIN, -10n), delta(BERT, TEST_COIN, 4n)]), [
    [TEST_COIN, ANNA, BERT, 4n],
  ])
  assert.deepEqual(moved([delta(ANNA, TEST_COIN, -10n), delta(ANNA, SUI, 5n)]), [])
  assert.deepEqual(
    moved([delta(ANNA, TEST_COIN, -10n), delta(BERT, TEST_COIN, 11n)]),
    [],
    'from elsewhere',
  )
})

test('two senders and two receivers of one Sui coin give no transfers', () => {
  const both = [delta(ANNA, TEST_COIN, -5n), delta(BERT, TEST_COIN, -5n)]
  assert.deepEqual(
    moved([...both, delta(CARL, TEST_COIN, 5n), delta(objectIdFor('dora'), TEST_COIN, 5n)]),
    [],
  )
})

test('the Sui fee is not a transfer, for any payer and also if the rebate is above the fee', () => {
  const sent = [delta(ANNA, SUI, -11_000n), delta(BERT, SUI, 10_000n)]
  assert.deepEqual(moved(sent), [[SUI, ANNA, BERT, 10_000n]])
  const sponsored = { gasOwner: CARL }
  const paid = [delta(ANNA, SUI, -10_000n), delta(BERT, SUI, 10_000n), delta(CARL, SUI, -1_000n)]
  assert.deepEqual(moved(paid, sponsored), [[SUI, ANNA, BERT, 10_000n]])
  const refunded = [delta(ANNA, SUI, -9_000n), delta(BERT, SUI, 10_000n)]
  assert.deepEqual(moved(refunded, { feeRaw: -1_000n }), [[SUI, ANNA, BERT, 10_000n]])
  assert.deepEqual(moved([delta(ANNA, SUI, -1_000n)]), [])
})

test('a failed Sui transaction gives no transfers, and balance changes give no balances', () => {
  const deltas = [delta(ANNA, TEST_COIN, -10n), delta(BERT, TEST_COIN, 10n)]
  assert.deepEqual(moved(deltas, { success: false }), [])
  assert.deepEqual(decodeMoveTransactions([buildMoveTransaction([], { deltas })]).balances, [])
})

test('Sui transfers are indexed after the events of the transaction', () => {
  const deltas = [delta(ANNA, TEST_COIN, -10n), delta(BERT, TEST_COIN, 10n)]
  const said = buildMoveEvent('cetus', 'pool::OtherEvent', {})
  const { transfers } = decodeMoveTransactions([buildMoveTransaction([said, said], { deltas })])
  assert.equal(transfers[0]?.logIndex, 2)
})

const made = (type: string, more: Partial<MoveObject> = {}): MoveObject => ({
  id: objectIdFor(type),
  type,
  change: 'created',
  fields: null,
  ...more,
})
const published: MoveObject = {
  id: objectIdFor('coin'),
  type: '',
  change: 'published',
  fields: null,
}
const born = (objects: readonly MoveObject[]) =>
  decodeMoveTransactions([buildMoveTransaction([], { objects })]).tokenCreations.map(
    ({ metadata: fact, dev, launch }) => [
      ...[fact.address, fact.decimals, fact.name, fact.symbol, dev, launch],
    ],
  )

test('a Sui coin is created in the transaction that publishes its package and creates its treasury cap or metadata', () => {
  const fields = { decimals: 6, name: ' A  coin\u202e ', symbol: 'COIN', icon_url: null }
  assert.deepEqual(
    born([
      published,
      made(`0x2::coin::TreasuryCap<${TEST_COIN}>`),
      made(`0x2::coin::CoinMetadata<${TEST_COIN}>`, { fields }),
    ]),
    [[TEST_COIN, 6, 'A coin', 'COIN', ANNA, null]],
  )
  const registered = made(`0x2::coin_registry::Currency<${TEST_COIN}>`, {
    fields: { ...fields, decimals: 9 },
  })
  assert.deepEqual(born([published, registered]), [[TEST_COIN, 9, 'A coin', 'COIN', ANNA, null]])
  const untold = born([published, made(`0x2::coin::TreasuryCap<${TEST_COIN}>`)])
  assert.deepEqual(untold, [[TEST_COIN, null, null, null, ANNA, null]])
})

test('on Sui, other packages, other objects and changed objects do not create a token', () => {
  const cap = made(`0x2::coin::TreasuryCap<${TEST_COIN}>`)
  assert.deepEqual(born([cap]), [], 'published before')
  assert.deepEqual(born([published, made(`0x2::coin::TreasuryCap<${SUI}>`)]), [])
  assert.deepEqual(born([published, made(`0x2::coin::Coin<${TEST_COIN}>`)]), [])
  assert.deepEqual(
    born([published, made(`${objectIdFor('forger')}::coin::TreasuryCap<${TEST_COIN}>`)]),
    [],
  )
  assert.deepEqual(born([published, { ...cap, change: 'changed' }]), [])
  for (const decimals of [256, -1, 1.5, '6']) {
    const metadata = made(`0x2::coin::CoinMetadata<${TEST_COIN}>`, { fields: { decimals } })
    assert.equal(born([published, metadata])[0]?.[1], null)
  }
})
