import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DecodeContext } from '../../ingestors/decode/contract.ts'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import { addressLabelEvents } from '../../ingestors/evm/to-wire/address-labels.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { isVenue, labelCategory, PROTOCOLS } from '../../schemas/protocols.ts'
import {
  buildEventLog,
  dropReasons,
  type LogWithoutIndex,
  withDataWord,
  withoutLastByte,
} from '../support/builders/evm-event-log.ts'
import { buildSingleTransactionBlock } from '../support/recordings/ethereum.ts'

const ORACLE = '0x40c57923924b5c5c5455c48d93317139addac8fb'
const USDT = '0xdac17f958d2ee523a2206206994597c13d831ec7'
const USDC = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
const STRANGER = `0x${'0d'.repeat(20)}`
const ALICE = `0x${'a1'.repeat(20)}`
const BOB = `0x${'b0'.repeat(20)}`
const ZERO = `0x${'0'.repeat(40)}`

const books: DecodeContext = {
  verification: 'facts',
  protocols: protocolRegistry('eth'),
  pool: () => undefined,
}
const blockOf = (...logs: readonly LogWithoutIndex[]) => buildSingleTransactionBlock(logs)
const decode = (...logs: readonly LogWithoutIndex[]) => decodeBlock(blockOf(...logs), books)

const listed = (by: string, addresses: readonly string[]) =>
  buildEventLog(by, 'SanctionedAddressesAdded(address[] addrs)', [addresses])

/** Events about one account as the issuers' sources write them, with what they do to its label. */
const ONE_ACCOUNT = [
  [USDT, 'AddedBlackList(address _user)', 'added'],
  [USDT, 'RemovedBlackList(address _user)', 'removed'],
  [USDT, 'DestroyedBlackFunds(address _blackListedUser, uint256 _balance)', 'seized'],
  [USDT, 'BlockPlaced(address indexed _user)', 'added'],
  [USDT, 'BlockReleased(address indexed _user)', 'removed'],
  [USDT, 'DestroyedBlockedFunds(address indexed _blockedUser, uint256 _balance)', 'seized'],
  [USDC, 'Blacklisted(address indexed _account)', 'added'],
  [USDC, 'UnBlacklisted(address indexed _account)', 'removed'],
] as const

const aboutAccount = (by: string, signature: string, account = ALICE): LogWithoutIndex =>
  buildEventLog(by, signature, signature.includes('uint256') ? [account, 5n] : [account])

test('the oracle of sanctions adds and removes many addresses at once', () => {
  const removed = buildEventLog(ORACLE, 'SanctionedAddressesRemoved(address[] addrs)', [[BOB]])
  const { labelChanges, dropped } = decode(listed(ORACLE, [ALICE, BOB]), removed)
  const shared = {
    kind: 'addresses-labelled',
    txIndex: 0,
    contract: ORACLE,
    protocol: 'chainalysis_oracle',
  }
  assert.deepEqual(labelChanges, [
    { ...shared, action: 'added', addresses: [ALICE, BOB], logIndex: 0 },
    { ...shared, action: 'removed', addresses: [BOB], logIndex: 1 },
  ])
  assert.deepEqual(dropped, [])
})

for (const [by, signature, action] of ONE_ACCOUNT) {
  test(`${signature} of an issuer is ${action}`, () => {
    const { labelChanges, dropped } = decode(aboutAccount(by, signature))
    assert.deepEqual(
      labelChanges.map((change) => [change.action, change.addresses, change.protocol]),
      [[action, [ALICE], by === USDT ? 'usdt_freezes' : 'usdc_freezes']],
    )
    assert.deepEqual(dropped, [])
  })
}

test('a log of TetherToken as Ethereum has it: the address stands in the data', () => {
  const log = {
    address: USDT,
    topics: ['0x42e160154868087d6bfdc0ca23d96a1c1cfa32f1b72ba9ba27b69b98a0d819dc'],
    data: `0x${'0'.repeat(24)}${ALICE.slice(2)}`,
  }
  assert.deepEqual(
    decode(log).labelChanges,
    decode(aboutAccount(USDT, ONE_ACCOUNT[0][1])).labelChanges,
  )
})

test('what other contracts log gives no label: strangers, and a listed contract of another kind', () => {
  const result = decode(
    listed(STRANGER, [ALICE]),
    listed(USDT, [ALICE]),
    ...ONE_ACCOUNT.flatMap(([, signature]) => [
      aboutAccount(STRANGER, signature),
      aboutAccount(ORACLE, signature),
    ]),
  )
  assert.deepEqual([result.labelChanges, result.dropped], [[], []])
})

test('an oracle of one chain is not one of another', () => {
  const base = { ...books, protocols: protocolRegistry('base') }
  const onBase = decodeBlock({ ...blockOf(listed(ORACLE, [ALICE])), chain: 'base' }, base)
  assert.deepEqual(onBase.labelChanges, [])
  const own = '0x3a91a31cb3dc49b4db9ce721f50a9d076c8d739b'
  assert.equal(
    decodeBlock({ ...blockOf(listed(own, [ALICE])), chain: 'base' }, base).labelChanges.length,
    1,
  )
})

test('a question about an address changes nothing', () => {
  const asked = buildEventLog(ORACLE, 'SanctionedAddress(address indexed addr)', [ALICE])
  assert.deepEqual([decode(asked).labelChanges, decode(asked).dropped], [[], []])
})

const many = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => `0x${(at + 1).toString(16).padStart(40, '0')}`)

test('hostile logs are dropped with their reason, and what follows is read', () => {
  const list = listed(ORACLE, [ALICE, BOB])
  const frozen = aboutAccount(USDT, 'AddedBlackList(address _user)')
  const placed = aboutAccount(USDT, 'BlockPlaced(address indexed _user)')
  const dirtyTopic = { ...placed, topics: [placed.topics[0] ?? '', `0x${'f'.repeat(64)}`] }
  const cases: readonly (readonly [LogWithoutIndex, string])[] = [
    [listed(ORACLE, many(10_000)), 'bad-array'],
    [withDataWord(list, 0, 7n), 'bad-array'],
    [withDataWord(list, 0, 1n << 200n), 'bad-array'],
    [withDataWord(list, 1, 3n), 'bad-array'],
    [withDataWord(list, 1, (1n << 256n) - 1n), 'bad-array'],
    [withDataWord(list, 2, 1n << 160n), 'bad-address'],
    [{ ...list, data: '0x' }, 'truncated-data'],
    [withoutLastByte(list), 'bad-array'],
    [withoutLastByte(frozen), 'truncated-data'],
    [withDataWord(frozen, 0, 1n << 255n), 'bad-address'],
    [aboutAccount(USDT, 'AddedBlackList(address _user)', ZERO), 'bad-address'],
    [dirtyTopic, 'bad-address'],
  ]
  for (const [log, reason] of cases) {
    const result = decode(log, frozen)
    assert.deepEqual(dropReasons(result), [reason])
    assert.deepEqual(
      result.labelChanges.map(({ logIndex }) => logIndex),
      [1],
    )
  }
})

test('a list may be as long as a block can hold; the zero address is left out', () => {
  const [change] = decode(listed(ORACLE, [ZERO, ...many(4_095)])).labelChanges
  assert.deepEqual(change?.addresses, many(4_095))
  assert.deepEqual(decode(listed(ORACLE, [ZERO])).labelChanges, [])
  assert.deepEqual(decode(listed(ORACLE, [])).dropped, [])
})

test('each address is an event of its own, keyed by the contract and numbered through the block', () => {
  const block = blockOf(listed(ORACLE, [ALICE, BOB]), aboutAccount(USDT, ONE_ACCOUNT[2][1]))
  const events = addressLabelEvents(block, decodeBlock(block, books).labelChanges)
  assert.deepEqual(
    events.map(({ key, event }) => [key, event.event_index, event.log_index, event.address]),
    [
      [ORACLE, 0, 0, ALICE],
      [ORACLE, 1, 0, BOB],
      [USDT, 2, 1, ALICE],
    ],
  )
  const [first, , last] = events.map(({ event }) => event)
  assert.deepEqual(
    [first?.tx_hash, first?.protocol, first?.contract, last?.action],
    [block.transactions[0]?.hash, 'chainalysis_oracle', ORACLE, 'seized'],
  )
})

test('contracts that list addresses trade nothing and lie on EVM chains', () => {
  const lists = PROTOCOLS.filter(({ id }) => labelCategory(id) !== undefined)
  assert.deepEqual(
    lists.map(({ id }) => [id, labelCategory(id), isVenue({ family: 'issuer_freezes' })]),
    [
      ['chainalysis_oracle', 'sanctions', false],
      ['usdt_freezes', 'issuer_frozen', false],
      ['usdc_freezes', 'issuer_frozen', false],
    ],
  )
  for (const { factories } of lists)
    for (const [chain, addresses] of Object.entries<readonly string[]>(factories)) {
      const row = Object.values(CHAINS).find(({ id }) => id === chain)
      assert.equal(row?.vm, 'evm', chain)
      for (const address of addresses) assert.match(address, /^0x[0-9a-f]{40}$/)
    }
  assert.deepEqual([labelCategory('uniswap_v2'), labelCategory('unknown')], [undefined, undefined])
  assert.equal(isVenue({ family: 'uniswap_v2' }), true)
})
