import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeBlock } from '../../ingestors/decode.ts'
import type { Books } from '../../ingestors/decode-contract.ts'
import { protocolBook } from '../../ingestors/protocols/book.ts'
import { cut, eventLog, reasonsOf, type Unplaced, withWord } from '../support/evm-logs.ts'
import { POOL, ROUTER, TOKEN_A, TOKEN_B, TOPIC, topicOf, USER } from '../support/made-up-chain.ts'
import { blockOf, logOf } from '../support/recordings.ts'

const FACTORY = '0xe85a59c628f7d27878aceb4bf3b35733630083a9'
const FIRST_FACTORY = '0x250c9fb2b411b48273f69879007803790a6aea47'
const POOL_FACTORY = `0x${'fa'.repeat(20)}`
const POOL_ID = `0x${'5d'.repeat(32)}`
const TOKEN = TOKEN_A

const books: Books = {
  proof: 'facts',
  protocols: protocolBook('base', {
    factories: [{ protocol: 'uniswap_v3', factory: POOL_FACTORY }],
    quotes: [],
    referencePools: [],
    replace: false,
  }),
  pool: () => undefined,
}
const decode = (logs: readonly Unplaced[]) => decodeBlock(blockOf(logs), books)

const created = (name = 'Coin', by = FACTORY): Unplaced =>
  eventLog(
    by,
    'TokenCreated(address msgSender, address indexed tokenAddress, address indexed tokenAdmin, string tokenImage, string tokenName, string tokenSymbol, string tokenMetadata, string tokenContext, int24 startingTick, address poolHook, bytes32 poolId, address pairedToken, address locker, address mevModule, uint256 extensionsSupply, address[] extensions)',
    [
      ROUTER,
      TOKEN,
      USER,
      'ipfs://image',
      name,
      'C',
      '{"description":"a coin"}',
      '{}',
      -230_400,
      ROUTER,
      POOL_ID,
      TOKEN_B,
      ROUTER,
      ROUTER,
      0n,
      [ROUTER, POOL],
    ],
  )
const first = (by = FIRST_FACTORY): Unplaced =>
  eventLog(
    by,
    'TokenCreated(address tokenAddress, uint256 positionId, address deployer, uint256 fid, string name, string symbol, uint256 supply, address lockerAddress, string castHash)',
    [TOKEN, 5n, USER, 6n, 'Coin', 'C', 10n ** 29n, ROUTER, '0xcast'],
  )
const fact = {
  address: TOKEN,
  name: 'Coin',
  symbol: 'C',
  decimals: 18,
  totalSupplyRaw: 10n ** 29n,
}
const birth = { kind: 'birth', txIndex: 0, fact, dev: USER, creators: [USER] } as const

test('a token is born with the pool that it trades in', () => {
  const { births, dropped, migrations } = decode([created()])
  assert.deepEqual(births, [
    { ...birth, logIndex: 0, launch: { protocol: 'clanker', pool: POOL_ID } },
  ])
  assert.deepEqual([...dropped, ...migrations], [])
})

test('a token of the first version trades in the pool that its transaction made', () => {
  const fee = `0x${10_000n.toString(16).padStart(64, '0')}`
  const made = logOf(
    POOL_FACTORY,
    [TOPIC.poolCreated, topicOf(TOKEN), topicOf(TOKEN_B), fee],
    [200n, POOL],
  )
  const opened = logOf(POOL, [TOPIC.v3Initialize], [1n << 96n, 0n])
  assert.deepEqual(decode([made, opened, first()]).births, [
    { ...birth, logIndex: 2, launch: { protocol: 'clanker', pool: POOL } },
  ])
  assert.deepEqual(decode([first()]).births, [
    { ...birth, logIndex: 0, launch: { protocol: 'clanker', pool: '' } },
  ])
})

test('other contracts make no tokens of the launchpad', () => {
  const decoded = decode([created('Coin', ROUTER), first(ROUTER)])
  assert.deepEqual(decoded.births, [])
  assert.deepEqual(reasonsOf(decoded), ['foreign-event', 'foreign-event'])
})

const whole = created().data
const BAD: readonly (readonly [string, Unplaced, string])[] = [
  ['cut before its last word', { ...created(), data: whole.slice(0, 2 + 13 * 64) }, 'short-data'],
  ['cut in its texts', cut({ ...first(), data: first().data.slice(0, 2 + 9 * 64) }), 'short-data'],
  ['name outside', withWord(created(), 2, 1n << 255n), 'bad-array'],
  ['symbol outside', withWord(created(), 3, 1n << 40n), 'bad-array'],
  ['first name outside', withWord(first(), 4, 1n << 40n), 'bad-array'],
  ['first symbol at an odd place', withWord(first(), 5, 289n), 'bad-array'],
]

for (const [what, log, reason] of BAD) {
  test(`a creation is refused, ${what}: ${reason}`, () => {
    const decoded = decode([log])
    assert.deepEqual(decoded.births, [])
    assert.deepEqual(reasonsOf(decoded), [reason])
  })
}

test('a name of megabytes is cut, broken characters are left out', () => {
  const { births } = decode([created('x'.repeat(1_000_000))])
  assert.equal(births[0]?.fact.name, 'x'.repeat(128))
  assert.equal(decode([created('\u0007')]).births[0]?.fact.name, null)
})
