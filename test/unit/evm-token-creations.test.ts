import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import type { EvmBlock, TokenMetadata } from '../../schemas/events.ts'
import {
  addressTopic,
  buildDecodeContext,
  TOKEN_A,
  TOKEN_B,
  TOPIC,
  transferLog,
  USER,
} from '../support/builders/dex-logs.ts'
import { buildLog, buildSingleTransactionBlock } from '../support/recordings/ethereum.ts'

const ZERO = `0x${'0'.repeat(40)}`
const DEV = `0x${'f0'.repeat(20)}`

const making = (block: EvmBlock, contractAddress: string): EvmBlock => ({
  ...block,
  transactions: block.transactions.map((tx) => ({ ...tx, contractAddress })),
})

test('transfers from and to the zero address are mints and burns', () => {
  const { supplies } = decodeBlock(
    buildSingleTransactionBlock([
      transferLog(TOKEN_A, ZERO, USER, 5n),
      transferLog(TOKEN_A, USER, DEV, 4n),
      transferLog(TOKEN_A, DEV, ZERO, 3n),
      transferLog(TOKEN_A, ZERO, ZERO, 2n),
      transferLog(TOKEN_A, ZERO, USER, 0n),
    ]),
    buildDecodeContext('facts'),
  )
  assert.deepEqual(
    supplies.map(({ type, token, amountRaw, logIndex }) => [type, token, amountRaw, logIndex]),
    [
      ['mint', TOKEN_A, 5n, 0],
      ['burn', TOKEN_A, 3n, 2],
    ],
  )
})

test('a contract that transfers its own tokens in its creation is a token', () => {
  const block = buildSingleTransactionBlock([
    transferLog(TOKEN_B, USER, DEV, 1n),
    transferLog(TOKEN_A, ZERO, DEV, 1_000n),
    transferLog(TOKEN_A, DEV, USER, 10n),
  ])
  const metadata: TokenMetadata = {
    address: TOKEN_A,
    decimals: 9,
    name: 'Coin',
    symbol: 'C',
    totalSupplyRaw: 1_000n,
  }
  const books = buildDecodeContext('facts')
  const token = (address: string) => (address === TOKEN_A ? metadata : undefined)
  const birth = {
    kind: 'token-created',
    txIndex: 0,
    logIndex: 1,
    dev: DEV,
    creators: [DEV],
    launch: null,
  } as const
  assert.deepEqual(decodeBlock(making(block, TOKEN_A), { ...books, token }).tokenCreations, [
    { ...birth, metadata },
  ])
  assert.deepEqual(decodeBlock(making(block, TOKEN_A), books).tokenCreations, [
    {
      ...birth,
      metadata: {
        address: TOKEN_A,
        decimals: null,
        name: null,
        symbol: null,
        totalSupplyRaw: null,
      },
    },
  ])
  assert.deepEqual(decodeBlock(making(block, USER), books).tokenCreations, [])
  assert.deepEqual(decodeBlock(block, books).tokenCreations, [])
})

test('a contract whose first transfer is a collectible is not a token', () => {
  const minted = buildLog(
    TOKEN_A,
    [TOPIC.transfer, addressTopic(ZERO), addressTopic(DEV), addressTopic(USER)],
    [],
  )
  assert.deepEqual(
    decodeBlock(making(buildSingleTransactionBlock([minted]), TOKEN_A), buildDecodeContext('facts'))
      .tokenCreations,
    [],
  )
})
