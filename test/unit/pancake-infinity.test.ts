import assert from 'node:assert/strict'
import { test } from 'node:test'
import { priceCall } from '../../ingestors/evm/decode/positions.ts'
import { decodeBlock, requiredLookups } from '../../ingestors/vm/decode-block.ts'
import {
  addressTopic,
  buildDecodeContext,
  buildPoolMetadata,
  ROUTER,
  TOKEN_A,
  TOKEN_B,
  TOPIC,
  transferLog,
  USER,
} from '../support/builders/dex-logs.ts'
import { buildLog, buildSingleTransactionBlock } from '../support/recordings/ethereum.ts'
import { type SwapCase, testSwaps } from '../support/swap-cases.ts'

const MANAGER = '0xa0ffb9c1ce1fe56963b0321b32e7a0302114058b'
const BINS = '0xc697d2898e0d09264376196696c51d7abbbaa4a9'
const VAULT = '0x238a358808379702088667322f80ac48bad5e6c4'
const WBNB = '0xbb4cdb9cbd36b01bd1cbaebf2de08d9173bc095c'
const ZERO = `0x${'00'.repeat(20)}`
const ID = `0x${'1d'.repeat(32)}`
const MAX = 2n ** 127n
type Words = readonly (bigint | string)[]
const swap = (amounts: Words, manager = MANAGER) =>
  buildLog(
    manager,
    [TOPIC.infinitySwap, ID, addressTopic(ROUTER)],
    amounts.length === 2 ? [...amounts, 1n, 2n, 3n, 4n, 5n] : amounts,
  )
const binSwap = (amounts: Words, manager = BINS) =>
  buildLog(manager, [TOPIC.infinityBinSwap, ID, addressTopic(ROUTER)], [...amounts, 1n, 2n, 3n])
const fact = (protocol: string) => ({ ...buildPoolMetadata(protocol), address: ID })
const books = buildDecodeContext('facts', [fact('pancakeswap_infinity_cl')], 'bsc')
const decoded = (logs: Parameters<typeof buildSingleTransactionBlock>[0], chosen = books) =>
  decodeBlock(buildSingleTransactionBlock(logs), chosen)

const CASES: readonly SwapCase<Words>[] = [
  ['token0 paid', [-10n, 7n], [0, 10n, 7n]],
  ['token1 paid', [7n, -10n], [1, 10n, 7n]],
  ['the largest numbers', [-MAX, MAX - 1n], [0, MAX, MAX - 1n]],
  ['nothing came out', [-1n, 0n], [0, 1n, 0n]],
  ['nothing was paid', [0n, 1n], [0, 0n, 1n]],
  ['both paid', [-1n, -1n], 'zero-amount'],
  ['both got', [1n, 1n], 'zero-amount'],
  ['nothing', [0n, 0n], 'zero-amount'],
  ['the number without an opposite', [-(2n ** 255n), 1n], 'impossible-amount'],
  ['words missing', [-10n, 7n, 1n], 'truncated-data'],
]

testSwaps('Infinity', CASES, {
  decode: (amounts) => decoded([swap(amounts)]),
  decoder: 'pancake_infinity',
  trade: {
    pool: ID,
    vault: VAULT,
    protocol: 'pancakeswap_infinity_cl',
    sqrtPriceX96: 1n,
    liquidityRaw: 2n,
  },
})

test('a swap in bins has no price', () => {
  const { swaps } = decoded(
    [binSwap([-10n, 7n])],
    buildDecodeContext('facts', [fact('pancakeswap_infinity_bin')], 'base'),
  )
  assert.deepEqual(
    swaps.map(({ protocol, amountInRaw, sqrtPriceX96 }) => [protocol, amountInRaw, sqrtPriceX96]),
    [['pancakeswap_infinity_bin', 10n, undefined]],
  )
})

test('swap events of unlisted contracts are dropped', () => {
  const { swaps, dropped } = decoded([
    swap([-10n, 7n], ROUTER),
    swap([-10n, 7n], '0x28e2ea090877bf75740558f6bfb36a5ffee9e9df'),
  ])
  assert.deepEqual(swaps, [])
  assert.deepEqual(
    dropped.map(({ reason }) => reason),
    ['unlisted-contract', 'unlisted-contract'],
  )
})

test('without a node, the manager gives the protocol, and exact transfers of the vault name the tokens', () => {
  const evidence = buildDecodeContext('evidence', [], 'base')
  const kept = (logs: Parameters<typeof buildSingleTransactionBlock>[0]) =>
    decoded(logs, evidence).swaps.map(({ protocol, tokenIn, tokenOut }) => [
      ...[protocol, tokenIn, tokenOut],
    ])
  const cl = 'pancakeswap_infinity_cl'
  assert.deepEqual(kept([swap([-10n, 7n])]), [[cl, null, null]])
  assert.deepEqual(kept([binSwap([-10n, 7n])]), [['pancakeswap_infinity_bin', null, null]])
  const paid = transferLog(TOKEN_A, USER, VAULT, 10n)
  const got = transferLog(TOKEN_B, VAULT, USER, 7n)
  assert.deepEqual(kept([paid, got, swap([-10n, 7n])]), [[cl, TOKEN_A, TOKEN_B]])
  const netted = transferLog(TOKEN_B, VAULT, USER, 6n)
  assert.deepEqual(kept([paid, netted, swap([-10n, 7n])]), [[cl, TOKEN_A, null]])
})

test('pools are created with their key; the native token is listed as wrapped; a fee may be a dynamic flag', () => {
  const opened = (fee: bigint) =>
    buildLog(
      MANAGER,
      [TOPIC.infinityPool, ID, addressTopic(ZERO), addressTopic(TOKEN_B)],
      [ZERO, fee, 0n, 1n, 0n],
    )
  const bin = buildLog(
    BINS,
    [TOPIC.infinityBinPool, ID, addressTopic(TOKEN_A), addressTopic(TOKEN_B)],
    [ZERO, 0x800000n, 0n, 1n],
  )
  const none = buildDecodeContext('facts', [], 'bsc')
  const { pools, swaps, poolChanges } = decoded([opened(500n), swap([-10n, 7n])], none)
  assert.deepEqual(
    pools.map(({ address, tokenA, tokenB, feePips, protocol }) => ({
      address,
      tokenA,
      tokenB,
      feePips,
      protocol,
    })),
    [
      {
        address: ID,
        tokenA: WBNB,
        tokenB: TOKEN_B,
        feePips: 500,
        protocol: 'pancakeswap_infinity_cl',
      },
    ],
  )
  assert.equal(swaps[0]?.tokenIn, WBNB)
  assert.equal(poolChanges[0]?.kind, 'initialize')
  assert.equal(poolChanges[0]?.vault, swaps[0]?.vault)
  assert.deepEqual(
    decoded([bin], none).pools.map(({ feePips, protocol }) => [feePips, protocol]),
    [[null, 'pancakeswap_infinity_bin']],
  )
})

const V4_MANAGER = '0x28e2ea090877bf75740558f6bfb36a5ffee9e9df'
const ONE = 1n << 96n
const position = (manager: string) =>
  buildLog(manager, [TOPIC.modifyLiquidity, ID, addressTopic(USER)], [-60n, 60n, 10n ** 18n, 0n])

test('a liquidity event belongs to the manager that logged it: Uniswap V4 has the same event', () => {
  const priced = (protocol: string) => ({
    ...buildDecodeContext('facts', [fact(protocol)], 'bsc'),
    price: () => ONE,
  })
  const changes = (manager: string, protocol: string) => {
    const { poolChanges, dropped } = decoded([position(manager)], priced(protocol))
    return [
      ...poolChanges.map((change) => [change.kind, change.protocol, change.vault]),
      ...dropped.map(({ reason }) => reason),
    ]
  }
  const cl = 'pancakeswap_infinity_cl'
  assert.deepEqual(changes(MANAGER, cl), [['increase', cl, VAULT]])
  assert.deepEqual(changes(V4_MANAGER, 'uniswap_v4'), [['increase', 'uniswap_v4', V4_MANAGER]])
  assert.deepEqual(changes(MANAGER, 'uniswap_v4'), ['unlisted-contract'])
  assert.deepEqual(changes(V4_MANAGER, cl), ['unlisted-contract'])
  assert.deepEqual(changes(ROUTER, cl), ['unlisted-contract'])
  const { prices = [] } = requiredLookups(
    buildSingleTransactionBlock([position(MANAGER)]),
    books.protocols,
  )
  assert.deepEqual(prices, [{ pool: ID, manager: MANAGER, family: 'pancake_infinity' }])
  assert.deepEqual(prices.map(priceCall), [{ to: MANAGER, data: `0xc815641c${ID.slice(2)}` }])
})

/** `Mint` and `Burn` of bins: a list of bins, a salt, a list of packed amounts, and for `Mint` two fees. */
const binChange = (kind: 'Mint' | 'Burn', amounts: readonly (readonly [bigint, bigint])[]) => {
  const isMint = kind === 'Mint'
  const head = isMint ? 5n : 3n
  const count = BigInt(amounts.length)
  return buildLog(
    BINS,
    [isMint ? TOPIC.infinityBinMint : TOPIC.infinityBinBurn, ID, addressTopic(USER)],
    [
      ...[head * 32n, 0n, (head + 1n + count) * 32n],
      ...(isMint ? [8n, 9n] : []),
      ...[count, ...amounts.map((_, index) => BigInt(index))],
      ...[count, ...amounts.map(([first, second]) => first | (second << 128n))],
    ],
  )
}

test('liquidity of bins is the sum over the bins', () => {
  const bins = buildDecodeContext('facts', [fact('pancakeswap_infinity_bin')], 'bsc')
  const amounts = [
    [5n, 0n],
    [2n, 3n],
    [0n, 11n],
  ] as const
  const { poolChanges, dropped } = decoded(
    [binChange('Mint', amounts), binChange('Burn', amounts.slice(0, 2))],
    bins,
  )
  assert.deepEqual(dropped, [])
  assert.deepEqual(
    poolChanges.map((each) => [each.kind, each.amountARaw, each.amountBRaw, each.vault]),
    [
      ['increase', 7n, 14n, VAULT],
      ['decrease', 7n, 3n, VAULT],
    ],
  )
  const whole = binChange('Burn', amounts)
  const cut = { ...whole, data: whole.data.slice(0, -64) }
  assert.deepEqual(
    decoded([cut], bins).dropped.map(({ reason }) => reason),
    ['bad-array'],
  )
})

test('a swap looks up its pool, not its manager', () => {
  assert.deepEqual(
    requiredLookups(buildSingleTransactionBlock([swap([-10n, 7n])]), books.protocols).pools,
    [{ address: ID, family: 'pancake_infinity' }],
  )
})
