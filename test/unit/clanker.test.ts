import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DecodeContext } from '../../ingestors/decode/contract.ts'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import {
  addressTopic,
  POOL,
  ROUTER,
  TOKEN_A,
  TOKEN_B,
  TOPIC,
  USER,
} from '../support/builders/dex-logs.ts'
import {
  buildEventLog,
  dropReasons,
  type LogWithoutIndex,
  withDataWord,
  withoutLastByte,
} from '../support/builders/evm-event-log.ts'
import { buildLog, buildSingleTransactionBlock } from '../support/recordings/ethereum.ts'

const FACTORY = '0xe85a59c628f7d27878aceb4bf3b35733630083a9'
/** Factories on Base by version. Source: clanker-devco/DOCS references/deployed-contracts.md. */
const BY_VERSION = {
  '0': '0x250c9fb2b411b48273f69879007803790a6aea47',
  '1': '0x9b84fce5dcd9a38d2d01d5d72373f6b6b067c3e1',
  '2': '0x732560fa1d1a76350b1a500155ba978031b53833',
  '3.0': '0x375c15db32d28cecdcab5c03ab889bf15cbd2c5e',
  '3.1': '0x2a787b2362021cc3eea3c24c4748a6cd5b687382',
} as const
const POOL_FACTORY = `0x${'fa'.repeat(20)}`
const POOL_ID = `0x${'5d'.repeat(32)}`
const TOKEN = TOKEN_A

const books: DecodeContext = {
  verification: 'facts',
  protocols: protocolRegistry('base', {
    factories: [{ protocol: 'uniswap_v3', factory: POOL_FACTORY }],
    quotes: [],
    referencePools: [],
    replace: false,
  }),
  pool: () => undefined,
}
const decode = (logs: readonly LogWithoutIndex[]) =>
  decodeBlock(buildSingleTransactionBlock(logs), books)

const created = (name = 'Coin', by = FACTORY): LogWithoutIndex =>
  buildEventLog(
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
const UP_TO_3 =
  'address tokenAddress, uint256 positionId, address deployer, uint256 fid, string name, string symbol, uint256 supply'
const UP_TO_SUPPLY = [TOKEN, 5n, USER, 6n, 'Coin', 'C', 10n ** 29n]
const version0 = (by: string = BY_VERSION['0']): LogWithoutIndex =>
  buildEventLog(
    by,
    'TokenCreated(address tokenAddress, uint256 lpNftId, address deployer, string name, string symbol, uint256 supply, uint256 _supply, address lockerAddress)',
    [TOKEN, 5n, USER, 'Coin', 'C', 10n ** 29n, 10n ** 29n, ROUTER],
  )
const version2 = (by: string = BY_VERSION['2']): LogWithoutIndex =>
  buildEventLog(by, `TokenCreated(${UP_TO_3}, address lockerAddress, string castHash)`, [
    ...[...UP_TO_SUPPLY, ROUTER, '0xcast'],
  ])
const version3 = (by: string = BY_VERSION['3.0']): LogWithoutIndex =>
  buildEventLog(by, `TokenCreated(${UP_TO_3}, string castHash)`, [...UP_TO_SUPPLY, '0xcast'])
const version31 = (by: string = BY_VERSION['3.1']): LogWithoutIndex =>
  buildEventLog(
    by,
    'TokenCreated(address indexed tokenAddress, address indexed creatorAdmin, address indexed interfaceAdmin, address creatorRewardRecipient, address interfaceRewardRecipient, uint256 positionId, string name, string symbol, int24 startingTickIfToken0IsNewToken, string metadata, uint256 amountTokensBought, uint256 vaultDuration, uint8 vaultPercentage, address msgSender)',
    [
      ...[
        TOKEN,
        USER,
        ROUTER,
        ROUTER,
        ROUTER,
        5n,
        'Coin',
        'C',
        -230_400,
        '{"description":"a coin"}',
      ],
      ...[0n, 0n, 0, ROUTER],
    ],
  )
const metadata = {
  address: TOKEN,
  name: 'Coin',
  symbol: 'C',
  decimals: 18,
  totalSupplyRaw: 10n ** 29n,
}
const birth = {
  kind: 'token-created',
  txIndex: 0,
  metadata,
  dev: USER,
  creators: [USER],
} as const

test('a Clanker token is created with the pool that it trades in', () => {
  const { tokenCreations, dropped, migrations } = decode([created()])
  assert.deepEqual(tokenCreations, [
    { ...birth, logIndex: 0, launch: { protocol: 'clanker', pool: POOL_ID } },
  ])
  assert.deepEqual([...dropped, ...migrations], [])
})

const CAST_TOPIC = '0x0e9d60e5c5597233717659e7b39411e0a61e7177252521b9c6f515f75f6fef01'
const VERSIONS: readonly (readonly [string, LogWithoutIndex, string])[] = [
  ['0', version0(), '0xcd465acec733178787a0c3bc8cd8f6eae657c45b61c6a3e15d13c176c9c536ad'],
  ['1', version2(BY_VERSION['1']), CAST_TOPIC],
  ['2', version2(), CAST_TOPIC],
  ['3.0', version3(), '0x8df367d10c042c43a79f6842addf298c4b250b4cb2145cae311c9ba110ff8e17'],
  ['3.1', version31(), '0x6b04d68ca5c822b9c981d731c83ecb1356b96c8596c7659d397d234856a4537b'],
]

for (const [version, log, topic0] of VERSIONS) {
  test(`a token of version ${version} trades in the pool that its transaction made`, () => {
    const fee = `0x${10_000n.toString(16).padStart(64, '0')}`
    const made = buildLog(
      POOL_FACTORY,
      [TOPIC.poolCreated, addressTopic(TOKEN), addressTopic(TOKEN_B), fee],
      [200n, POOL],
    )
    const opened = buildLog(POOL, [TOPIC.v3Initialize], [1n << 96n, 0n])
    assert.equal(log.topics[0], topic0)
    assert.deepEqual(decode([made, opened, log]).tokenCreations, [
      { ...birth, logIndex: 2, launch: { protocol: 'clanker', pool: POOL } },
    ])
    assert.deepEqual(decode([log]).tokenCreations, [
      { ...birth, logIndex: 0, launch: { protocol: 'clanker', pool: '' } },
    ])
  })
}

for (const [chain, factory] of [
  ['eth', '0x6c8599779b03b00aaae63c6378830919abb75473'],
  ['arbitrum', '0xeb9d2a726edffc887a574dc7f46b3a3638e8e44f'],
  ['bsc', '0xea30438e0b5f99096cb05a8da63be55a6a298f6a'],
] as const) {
  test(`version 4 on ${chain} has a factory of its own`, () => {
    const there = { ...books, protocols: protocolRegistry(chain) }
    const bornBy = (by: string) =>
      decodeBlock(buildSingleTransactionBlock([created('Coin', by)]), there).tokenCreations
    assert.deepEqual(bornBy(factory), [
      { ...birth, logIndex: 0, launch: { protocol: 'clanker', pool: POOL_ID } },
    ])
    assert.deepEqual(bornBy(FACTORY), [], 'that of Base is nobody there')
  })
}

test('logs of other contracts create no tokens of the launchpad', () => {
  const all = [version0, version2, version3, version31].map((log) => log(ROUTER))
  const decoded = decode([created('Coin', ROUTER), ...all])
  assert.deepEqual(decoded.tokenCreations, [])
  assert.deepEqual(dropReasons(decoded), new Array(5).fill('unlisted-contract'))
})

/** The log without what follows its first `words` words. */
const cutAfter = (log: LogWithoutIndex, words: number): LogWithoutIndex => ({
  ...log,
  data: log.data.slice(0, 2 + words * 64),
})
const whole = created().data
const BAD: readonly (readonly [string, LogWithoutIndex, string])[] = [
  [
    'cut before its last word',
    { ...created(), data: whole.slice(0, 2 + 13 * 64) },
    'truncated-data',
  ],
  ['version 0 cut', cutAfter(version0(), 7), 'truncated-data'],
  ['version 2 cut in its texts', withoutLastByte(cutAfter(version2(), 9)), 'truncated-data'],
  ['version 3.0 cut', cutAfter(version3(), 7), 'truncated-data'],
  ['version 3.1 cut', withoutLastByte(cutAfter(version31(), 11)), 'truncated-data'],
  ['version 3.1 without its texts', cutAfter(version31(), 11), 'bad-array'],
  ['name outside', withDataWord(created(), 2, 1n << 255n), 'bad-array'],
  ['symbol outside', withDataWord(created(), 3, 1n << 40n), 'bad-array'],
  ['name of version 0 outside', withDataWord(version0(), 3, 1n << 40n), 'bad-array'],
  ['name of version 2 outside', withDataWord(version2(), 4, 1n << 40n), 'bad-array'],
  ['symbol of version 3.0 at an odd place', withDataWord(version3(), 5, 289n), 'bad-array'],
  ['symbol of version 3.1 outside', withDataWord(version31(), 4, 1n << 255n), 'bad-array'],
]

for (const [what, log, reason] of BAD) {
  test(`a creation is refused, ${what}: ${reason}`, () => {
    const decoded = decode([log])
    assert.deepEqual(decoded.tokenCreations, [])
    assert.deepEqual(dropReasons(decoded), [reason])
  })
}

test('a token name of megabytes is cut, invalid characters are removed', () => {
  const { tokenCreations } = decode([created('x'.repeat(1_000_000))])
  assert.equal(tokenCreations[0]?.metadata.name, 'x'.repeat(128))
  assert.equal(decode([created('\u0007')]).tokenCreations[0]?.metadata.name, null)
})
