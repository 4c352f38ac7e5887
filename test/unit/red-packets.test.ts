import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeQuoteAssets } from '../../core/prices/quote-assets.ts'
import type { DecodeContext } from '../../ingestors/decode/contract.ts'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'

import { redPacketEvents } from '../../ingestors/to-wire/red-packet-feed.ts'
import { blockMapping } from '../../ingestors/vm/block-mapping.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { TOKEN_A, transferLog, USER } from '../support/builders/dex-logs.ts'
import {
  buildEventLog,
  dropReasons,
  type LogWithoutIndex,
  withDataWord,
  withoutLastByte,
} from '../support/builders/evm-event-log.ts'
import { buildSingleTransactionBlock } from '../support/recordings/ethereum.ts'

const HAPPY = '0xabbe1101fd8fa5847c452a6d70c8655532b03c33'
const OWN = `0x${'0e'.repeat(20)}`
const STRANGER = `0x${'0d'.repeat(20)}`
const ID = `0x${'1d'.repeat(32)}`
const CLAIMER = `0x${'c1'.repeat(20)}`
const AUTHORITY = `0x${'a7'.repeat(20)}`
const NO_ADDRESS = `0x${'0'.repeat(40)}`
const IMPOSSIBLE = 1n << 255n

const books: DecodeContext = {
  verification: 'facts',
  protocols: protocolRegistry('eth', {
    factories: [{ protocol: 'red_packets', factory: OWN }],
    quotes: [],
    referencePools: [],
    replace: false,
  }),
  pool: () => undefined,
}
const decode = (...logs: readonly LogWithoutIndex[]) =>
  decodeBlock(buildSingleTransactionBlock(logs), books)

const created = (by: string, token = NO_ADDRESS, authority = AUTHORITY): LogWithoutIndex =>
  buildEventLog(
    by,
    'PacketCreated(bytes32 indexed id, address indexed creator, address token, uint256 total, uint16 maxClaims, bool isRandom, uint64 expiresAt, address authority, string memo)',
    [ID, USER, token, 1_000n, 7, true, 1_800_000_000n, authority, 'Happy\u202e  new\nyear'],
  )
const claimed = (by: string): LogWithoutIndex =>
  buildEventLog(
    by,
    'PacketClaimed(bytes32 indexed id, address indexed claimer, uint256 amount, uint16 index)',
    [ID, CLAIMER, 142n, 3],
  )
const refunded = (by: string): LogWithoutIndex =>
  buildEventLog(by, 'PacketRefunded(bytes32 indexed id, uint256 amount)', [ID, 858n])

const happyCreated = buildEventLog(
  HAPPY,
  'CreationSuccess(uint256 total, bytes32 id, string name, string message, address creator, uint256 creation_time, address token_address, uint256 number, bool ifrandom, uint256 duration)',
  [1_000n, ID, 'Ann', 'Best wishes', USER, 1_700_000_000n, TOKEN_A, 5n, false, 86_400n],
)
const happyClaimed = buildEventLog(
  HAPPY,
  'ClaimSuccess(bytes32 id, address claimer, uint256 claimed_value, address token_address)',
  [ID, CLAIMER, 200n, NO_ADDRESS],
)
const happyTokenClaim = buildEventLog(
  HAPPY,
  'ClaimSuccess(bytes32 id, address claimer, uint256 claimed_value, address token_address)',
  [ID, CLAIMER, 200n, TOKEN_A],
)
const happyRefunded = buildEventLog(
  HAPPY,
  'RefundSuccess(bytes32 id, address token_address, uint256 remaining_balance)',
  [ID, NO_ADDRESS, 800n],
)

test('creation, claim and refund of a packet of the own contract are decoded', () => {
  const { redPackets, dropped } = decode(created(OWN), claimed(OWN), refunded(OWN))
  assert.deepEqual(dropped, [])
  const head = { txIndex: 0, contract: OWN, protocol: 'red_packets', packetId: ID }
  assert.deepEqual(redPackets, [
    {
      kind: 'packet-created',
      ...head,
      logIndex: 0,
      creator: USER,
      token: CHAINS.eth.wrappedNative,
      totalRaw: 1_000n,
      maxClaims: 7,
      isRandom: true,
      createdAtMs: null,
      ends: { atMs: 1_800_000_000_000 },
      authority: AUTHORITY,
      memo: 'Happy new year',
    },
    {
      kind: 'packet-claimed',
      ...head,
      logIndex: 1,
      claimer: CLAIMER,
      token: null,
      amountRaw: 142n,
      index: 3,
    },
    { kind: 'packet-refunded', ...head, logIndex: 2, token: null, amountRaw: 858n },
  ])
  const [open] = decode(created(OWN, TOKEN_A, NO_ADDRESS)).redPackets
  assert(open?.kind === 'packet-created')
  assert.deepEqual([open.token, open.authority], [TOKEN_A, null])
})

test('creation, claim and refund of a packet of HappyRedPacket are decoded', () => {
  const paidIn = transferLog(TOKEN_A, USER, HAPPY, 1_000n)
  const { redPackets, dropped } = decode(paidIn, happyCreated, happyClaimed, happyRefunded)
  assert.deepEqual(dropped, [])
  const head = { txIndex: 0, contract: HAPPY, protocol: 'happy_red_packet', packetId: ID }
  const coin = CHAINS.eth.wrappedNative
  assert.deepEqual(redPackets, [
    {
      kind: 'packet-created',
      ...head,
      logIndex: 1,
      creator: USER,
      token: TOKEN_A,
      totalRaw: 1_000n,
      maxClaims: 5,
      isRandom: false,
      createdAtMs: 1_700_000_000_000,
      ends: { afterSeconds: 86_400 },
      authority: null,
      memo: 'Best wishes',
    },
    {
      kind: 'packet-claimed',
      ...head,
      logIndex: 2,
      claimer: CLAIMER,
      token: coin,
      amountRaw: 200n,
      index: null,
    },
    { kind: 'packet-refunded', ...head, logIndex: 3, token: coin, amountRaw: 800n },
  ])
})

test('a packet funded with the native token has that token, whatever token its event has', () => {
  const { redPackets } = decode(happyCreated, happyTokenClaim)
  const coin = CHAINS.eth.wrappedNative
  assert.deepEqual(
    redPackets.map(({ token }) => token),
    [coin, coin],
  )
  const onceMore = decode(
    transferLog(TOKEN_A, USER, HAPPY, 1_000n),
    happyCreated,
    happyCreated,
    transferLog(TOKEN_A, HAPPY, CLAIMER, 200n),
    happyTokenClaim,
  ).redPackets
  assert.deepEqual(
    onceMore.map(({ token }) => token),
    [TOKEN_A, coin, TOKEN_A],
  )
})

test('a claim whose event does not say its index has -1 on the topic: 0 is the first claim', () => {
  const block = buildSingleTransactionBlock([])
  const context = {
    chain: CHAINS.eth,
    block,
    mapping: blockMapping(block),
    quoteAssets: makeQuoteAssets(CHAINS.eth),
    quotePrices: new Map(),
    token: () => undefined,
    pool: () => undefined,
  }
  const [own] = decode(claimed(OWN)).redPackets
  const [happy] = decode(happyClaimed).redPackets
  assert.ok(own?.kind === 'packet-claimed' && happy?.kind === 'packet-claimed')
  const events = redPacketEvents(context, [{ ...own, index: 0 }, own, happy])
  assert.deepEqual(
    events.map(({ event }) => event.index),
    [0, 3, -1],
  )
})

test("logs of unlisted contracts, and events of another contract's kind, are ignored", () => {
  const strangers = [created(STRANGER), claimed(STRANGER), refunded(STRANGER)]
  const mixed = { ...happyCreated, address: OWN }
  const result = decode(...strangers, { ...happyClaimed, address: STRANGER }, mixed, created(HAPPY))
  assert.deepEqual([result.redPackets, result.dropped], [[], []])
})

test('impossible red packet events are dropped with their reason', () => {
  const cases: readonly (readonly [LogWithoutIndex, string])[] = [
    [withDataWord(created(OWN), 1, IMPOSSIBLE), 'impossible-amount'],
    [withDataWord(created(OWN), 2, 1n << 32n), 'impossible-amount'],
    [withDataWord(created(OWN), 4, 1n << 64n), 'impossible-amount'],
    [withDataWord(created(OWN), 6, 1n << 40n), 'bad-array'],
    [withDataWord(claimed(OWN), 0, IMPOSSIBLE), 'impossible-amount'],
    [withDataWord(refunded(OWN), 0, IMPOSSIBLE), 'impossible-amount'],
    [withoutLastByte(refunded(OWN)), 'truncated-data'],
    [withDataWord(happyCreated, 0, IMPOSSIBLE), 'impossible-amount'],
    [withDataWord(happyCreated, 5, 1n << 32n), 'impossible-amount'],
    [withDataWord(happyCreated, 7, 1n << 32n), 'impossible-amount'],
    [withDataWord(happyCreated, 9, 1n << 200n), 'impossible-amount'],
    [withDataWord(happyCreated, 3, 7n), 'bad-array'],
    [withDataWord(happyClaimed, 2, IMPOSSIBLE), 'impossible-amount'],
    [withDataWord(happyRefunded, 2, IMPOSSIBLE), 'impossible-amount'],
    [withoutLastByte(happyClaimed), 'truncated-data'],
  ]
  for (const [log, reason] of cases) {
    const result = decode(log)
    assert.deepEqual([result.redPackets, dropReasons(result)], [[], [reason]])
  }
})
