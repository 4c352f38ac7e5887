import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { makeQuoteAssets } from '../../core/prices/quote-assets.ts'
import { normalizeTransaction } from '../../ingestors/evm/normalize/block.ts'
import { logEvents } from '../../ingestors/evm/to-wire/feeds.ts'
import { eventHead } from '../../ingestors/to-wire/context.ts'
import { transactionEvents } from '../../ingestors/to-wire/transactions.ts'
import { blockMapping } from '../../ingestors/vm/block-mapping.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { Log } from '../../schemas/events.ts'
import {
  addressTopic,
  buildDecodeContext,
  ROUTER,
  TOKEN_A,
  TOPIC,
  transferLog,
  USER,
} from '../support/builders/dex-logs.ts'
import { buildLog, buildSingleTransactionBlock } from '../support/recordings/ethereum.ts'

const { nativeTokenContract: COIN, nativeAddress: NATIVE } = CHAINS.zksync
const BOOTLOADER = '0x0000000000000000000000000000000000008001'
const WITH_MESSAGE = '0xc405fe8958410bbaf0c73b7a0c3e20859e86ca168a4c9b0def9c54d2555a306b'
const decoded = (
  logs: Parameters<typeof buildSingleTransactionBlock>[0],
  chain: string,
  success = true,
) =>
  decodeBlock(
    buildSingleTransactionBlock(logs, { success }),
    buildDecodeContext('facts', [], chain),
  )
const left = (contract: string, amount: bigint, topic: string = TOPIC.coinWithdrawal) =>
  buildLog(contract, [topic, addressTopic(USER), addressTopic(ROUTER)], [amount])

test('zkSync: logs of the base token are transfers of the native coin, with fees and refunds', () => {
  const logs = [
    transferLog(COIN, USER, BOOTLOADER, 9n),
    transferLog(COIN, USER, COIN, 5n),
    left(COIN, 5n),
    left(COIN, 6n, WITH_MESSAGE),
    transferLog(COIN, BOOTLOADER, USER, 2n),
    transferLog(TOKEN_A, USER, ROUTER, 7n),
  ]
  const { transfers, supplies } = decoded(logs, 'zksync')
  assert.deepEqual(
    transfers.map(({ token, from, to, amountRaw, logIndex, wrap }) => [
      ...[token, from, to, amountRaw],
      ...[logIndex, wrap],
    ]),
    [
      [NATIVE, USER, BOOTLOADER, 9n, 0, false],
      [NATIVE, USER, COIN, 5n, 1, false],
      [NATIVE, USER, ROUTER, 5n, 2, false],
      [NATIVE, USER, ROUTER, 6n, 3, false],
      [NATIVE, BOOTLOADER, USER, 2n, 4, false],
      [TOKEN_A, USER, ROUTER, 7n, 5, false],
    ],
  )
  assert.deepEqual(supplies, [])
})

test('zkSync: a native coin sent to the zero address is not burnt, a token is', () => {
  const { supplies } = decoded(
    [transferLog(COIN, USER, NATIVE, 1n), transferLog(TOKEN_A, USER, NATIVE, 1n)],
    'zksync',
  )
  assert.deepEqual(
    supplies.map(({ token, type }) => [token, type]),
    [[TOKEN_A, 'burn']],
  )
})

test('zkSync: only logs of the base token contract withdraw the native coin, and only on that chain', () => {
  assert.deepEqual(decoded([left(TOKEN_A, 5n)], 'zksync').transfers, [])
  const elsewhere = decoded([transferLog(COIN, USER, ROUTER, 5n), left(COIN, 5n)], 'base')
  assert.deepEqual(
    elsewhere.transfers.map(({ token }) => token),
    [COIN],
  )
})

/** Who paid for a transaction with these logs, as its feed and the heads of its events say. */
const payersOf = (logs: readonly Omit<Log, 'index'>[], chain: 'zksync' | 'base') => {
  const block = { ...buildSingleTransactionBlock(logs), chain }
  const mapping = blockMapping(block)
  const [event] = transactionEvents({ block, mapping })
  const head = eventHead({
    chain: CHAINS[chain],
    block,
    mapping,
    quoteAssets: makeQuoteAssets(CHAINS[chain]),
    quotePrices: new Map(),
    token: () => undefined,
    pool: () => undefined,
  })({ txIndex: 0, logIndex: 0, pool: '', protocol: '', index: 0 })
  return [event?.event.fee_payer, head.transaction?.fee_payer, event?.event.tx_signer]
}

test('zkSync: the first payer of the bootloader pays the fee: the sender or a paymaster', () => {
  const through = [
    transferLog(TOKEN_A, USER, BOOTLOADER, 9n),
    transferLog(COIN, ROUTER, BOOTLOADER, 9n),
    transferLog(COIN, USER, BOOTLOADER, 1n),
  ]
  const [, , sender] = payersOf([], 'zksync')
  assert.deepEqual(payersOf(through, 'zksync'), [ROUTER, ROUTER, sender])
  assert.deepEqual(payersOf([], 'zksync'), [sender, sender, sender])
  assert.deepEqual(payersOf(through, 'base'), [sender, sender, sender])
})

test('zkSync: a recorded transaction with a paymaster names the paymaster as fee payer', () => {
  const name = 'zksync/receipt_multiTransfer_eth-usdc-erc20-through-paymaster.json'
  const { logs } = JSON.parse(readFileSync(new URL(`../fixtures/${name}`, import.meta.url), 'utf8'))
  const own = logs.map(({ address, topics, data }: Log) => ({
    address: address.toLowerCase(),
    topics,
    data,
  }))
  const paymaster = '0x0265d9a5af8af5fe070933e5e549d8fef08e09f4'
  assert.deepEqual(payersOf(own, 'zksync').slice(0, 2), [paymaster, paymaster])
})

test('zkSync: a failed transaction gives only the transfers of its fee and its refund', () => {
  const logs = [
    transferLog(COIN, USER, BOOTLOADER, 9n),
    transferLog(COIN, USER, ROUTER, 5n),
    transferLog(TOKEN_A, USER, BOOTLOADER, 7n),
    left(COIN, 5n),
    transferLog(COIN, BOOTLOADER, USER, 2n),
  ]
  const failed = (chain: string) => ({
    ...buildSingleTransactionBlock(logs, { success: false }),
    chain,
  })
  const moved = (chain: string) =>
    decodeBlock(failed(chain), buildDecodeContext('facts', [], chain)).transfers.map(
      ({ token, from, to, amountRaw, logIndex }) => [token, from, to, amountRaw, logIndex],
    )
  assert.deepEqual(moved('zksync'), [
    [NATIVE, USER, BOOTLOADER, 9n, 0],
    [NATIVE, BOOTLOADER, USER, 2n, 4],
  ])
  assert.deepEqual(moved('base'), [])
  assert.deepEqual(logEvents(failed('zksync')), [], 'its logs are in no feed')
})

test('zkSync: a failed receipt keeps only the logs of its fee', () => {
  const hash = `0x${'02'.repeat(32)}`
  const name = { chain: 'zksync', height: 1, hash: `0x${'01'.repeat(32)}` }
  const said = (log: Omit<Log, 'index'>, index: number) => ({ ...log, logIndex: `0x${index}` })
  const receipt = {
    transactionHash: hash,
    blockHash: name.hash,
    blockNumber: '0x1',
    transactionIndex: '0x0',
    from: USER,
    to: ROUTER,
    status: '0x0',
    gasUsed: '0x1',
    logs: [
      transferLog(COIN, USER, BOOTLOADER, 9n),
      transferLog(COIN, USER, ROUTER, 5n),
      transferLog(COIN, BOOTLOADER, USER, 2n),
    ].map(said),
  }
  const kept = (chain: string) =>
    normalizeTransaction({ ...name, chain }, { transaction: null, receipt }).logs
  assert.deepEqual(
    kept('zksync').map(({ index }) => index),
    [0, 2],
  )
  assert.deepEqual(kept('polygon'), [])
})

test('zkSync: a withdrawal log without its amount is dropped as truncated', () => {
  const { dropped } = decoded([{ ...left(COIN, 5n), data: '0x' }], 'zksync')
  assert.deepEqual(
    dropped.map(({ reason }) => reason),
    ['truncated-data'],
  )
})
