import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AbiParameter, parseAbi, toEventSelector } from 'viem'
import { EVM_FAMILIES } from '../../ingestors/evm/protocols/families.ts'
import { decodeBlock, requiredLookups } from '../../ingestors/vm/decode-block.ts'
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

const WETH = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'
const ZERO = `0x${'00'.repeat(20)}`
const transfersOf = (logs: Parameters<typeof buildSingleTransactionBlock>[0]) =>
  decodeBlock(buildSingleTransactionBlock(logs), buildDecodeContext('facts')).transfers.map(
    ({ token, from, to, amountRaw, wrap }) => [token, from, to, amountRaw, wrap],
  )

test('Transfer logs with three topics or one are token transfers, also of zero; with four topics they are collectibles', () => {
  const pay = transferLog(TOKEN_A, USER, ROUTER, 5n)
  assert.deepEqual(
    transfersOf([
      pay,
      transferLog(TOKEN_A, USER, ROUTER, 0n),
      { ...pay, topics: [...pay.topics, addressTopic(USER)], data: '0x' },
      buildLog(TOKEN_A, [TOPIC.transfer], [USER, ROUTER, 6n]),
      transferLog(TOKEN_A, USER, ROUTER, -1n),
    ]),
    [
      [TOKEN_A, USER, ROUTER, 5n, false],
      [TOKEN_A, USER, ROUTER, 0n, false],
      [TOKEN_A, USER, ROUTER, 6n, false],
      [TOKEN_A, USER, ROUTER, 2n ** 256n - 1n, false],
    ],
  )
})

test('transfer logs of the native token are not token transfers', () => {
  const system = '0xfffffffffffffffffffffffffffffffffffffffe'
  const logs = [transferLog(system, USER, ROUTER, 5n), transferLog(TOKEN_A, USER, ROUTER, 6n)]
  assert.deepEqual(transfersOf(logs), [[TOKEN_A, USER, ROUTER, 6n, false]])
  assert.deepEqual(
    requiredLookups(buildSingleTransactionBlock(logs), buildDecodeContext('facts').protocols)
      .tokens,
    [TOKEN_A],
  )
})

test('a transfer log without its amount is dropped', () => {
  const { dropped } = decodeBlock(
    buildSingleTransactionBlock([{ ...transferLog(TOKEN_A, USER, ROUTER, 5n), data: '0x' }]),
    buildDecodeContext('facts'),
  )
  assert.deepEqual(
    dropped.map(({ reason, protocol }) => [reason, protocol]),
    [['truncated-data', 'erc20']],
  )
})

test('deposits and withdrawals of the wrapped native token are mints and burns; of other contracts they are ignored', () => {
  const deposit = (token: string) => buildLog(token, [TOPIC.deposit, addressTopic(USER)], [5n])
  assert.deepEqual(
    transfersOf([
      deposit(WETH),
      buildLog(WETH, [TOPIC.withdrawal, addressTopic(USER)], [4n]),
      deposit(TOKEN_A),
    ]),
    [
      [WETH, ZERO, USER, 5n, true],
      [WETH, USER, ZERO, 4n, true],
    ],
  )
})

for (const { family, events } of EVM_FAMILIES) {
  test(`each topic0 of ${family} is the hash of its signature, and its topic and word counts fit it`, () => {
    for (const [topic0, rows] of Object.entries(events)) {
      for (const { signature, topics, words } of [rows].flat()) {
        const [event] = parseAbi([`event ${signature}`] as readonly string[])
        assert.ok(event?.type === 'event')
        assert.equal(toEventSelector(sourceOrder(topic0) ?? event), topic0, signature)
        const indexed = event.inputs.filter((input) => input.indexed).length
        assert.equal(topics, indexed + 1, signature)
        assert.ok(words <= fewestWords(event.inputs.filter((input) => !input.indexed)), signature)
      }
    }
  })
}

/** Words that data of these types has at least: what is of any length takes its offset and its length. */
function fewestWords(inputs: readonly AbiParameter[]): number {
  return inputs.reduce((sum, input) => {
    const [, base = '', count] = /^(.*?)(?:\[(\d*)\])?$/.exec(input.type) ?? []
    if (count === '' || base === 'string') return sum + 2
    const item = 'components' in input ? fewestWords(input.components) : 1
    return sum + item * Number(count ?? 1)
  }, 0)
}

/** The tables list indexed parts first; the hash is over the order in the source. */
function sourceOrder(topic0: string): string | undefined {
  return {
    [TOPIC.v2Swap]: 'Swap(address,uint256,uint256,uint256,uint256,address)',
    [TOPIC.v2Burn]: 'Burn(address,uint256,uint256,address)',
    [TOPIC.v3Mint]: 'Mint(address,address,int24,int24,uint128,uint256,uint256)',
    [TOPIC.v3Collect]: 'Collect(address,address,int24,int24,uint128,uint128)',
    [TOPIC.ramsesMint]: 'Mint(address,address,uint256,int24,int24,uint128,uint256,uint256)',
    [TOPIC.syncMint]: 'Mint(address,uint256,uint256,uint256,address)',
    [TOPIC.syncBurn]: 'Burn(address,uint256,uint256,uint256,address)',
    [TOPIC.clankerCreated]:
      'TokenCreated(address,address,address,string,string,string,string,string,int24,address,bytes32,address,address,address,uint256,address[])',
    [TOPIC.positionSplit]: 'PositionSplit(address,address,bytes32,bytes32,uint256[],uint256)',
    [TOPIC.positionsMerge]: 'PositionsMerge(address,address,bytes32,bytes32,uint256[],uint256)',
    [TOPIC.marketMakerBuy]: 'FPMMBuy(address,uint256,uint256,uint256,uint256)',
    [TOPIC.marketMakerSell]: 'FPMMSell(address,uint256,uint256,uint256,uint256)',
  }[topic0]
}
