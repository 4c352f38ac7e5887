import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { decodeFiles } from '../../cli/commands/decode.ts'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import type { PoolMetadata } from '../../schemas/events.ts'
import {
  type ExpectedSwap,
  ethereumExpectations,
  expectedPool,
  recordedEthereumBlock,
  recordingNames,
  recordingPath,
} from '../support/recordings/ethereum.ts'

interface Trade {
  readonly at: number
  readonly txHash: string
  readonly protocol: string
  readonly pool: string
  readonly tokenIn: string | null
  readonly amountIn: string
  readonly tokenOut: string | null
  readonly amountOut: string
}

interface Line {
  readonly file: string
  readonly trades?: readonly Trade[]
  readonly transfers?: readonly unknown[]
  readonly error?: { readonly reason: string; readonly message: string }
}

const explained = async (
  files: readonly string[],
): Promise<{ readonly code: number; readonly lines: readonly Line[] }> => {
  const lines: Line[] = []
  const code = await decodeFiles({
    chain: 'ethereum',
    files,
    write: (line) => lines.push(JSON.parse(line)),
  })
  return { code, lines }
}

const PROTOCOL: Readonly<Record<string, string>> = {
  'univ2.Swap': 'uniswap_v2',
  'univ3.Swap': 'uniswap_v3',
  'pancakev3.Swap': 'pancakeswap_v3',
  'univ4.Swap': 'uniswap_v4',
  'curve.TokenExchange(int128)': 'curve',
  'curve.TokenExchange(uint256)': 'curve',
  'curve.TokenExchange(ng crypto)': 'curve',
  'curve.TokenExchangeUnderlying': 'curve',
  'balv2.Swap': 'balancer_v2',
  'balv3.Swap': 'balancer_v3',
}
const ours = (swaps: readonly ExpectedSwap[]) => swaps.filter(({ event }) => event in PROTOCOL)
const real = (swaps: readonly ExpectedSwap[]) => ours(swaps).filter(({ spoof }) => !spoof)

for (const name of recordingNames()) {
  test(`${name} holds the recorded trades and no other`, async () => {
    const expected = ethereumExpectations().get(name)
    assert.ok(expected, 'every recording has an expectation')
    const { code, lines } = await explained([recordingPath(name)])
    assert.equal(code, 0)
    const [line] = lines
    assert.deepEqual(
      line?.trades?.map(({ at, pool, amountIn, amountOut, protocol }) => ({
        at,
        pool,
        amountIn,
        amountOut,
        protocol,
      })),
      real(expected.swaps)
        .map((swap) => ({
          at: swap.logIndex,
          pool: expectedPool(swap),
          amountIn: swap.amountIn,
          amountOut: swap.amountOut,
          protocol: PROTOCOL[swap.event],
        }))
        .sort((a, b) => a.at - b.at),
    )
    for (const swap of real(expected.swaps)) {
      const trade: Trade | undefined = line?.trades?.find(({ at }) => at === swap.logIndex)
      if (swap.txHash) assert.equal(trade?.txHash, swap.txHash)
      for (const side of ['tokenIn', 'tokenOut'] as const) {
        if (swap[side] !== null)
          assert.equal(trade?.[side], swap[side], `${side} at ${swap.logIndex}`)
      }
    }
    if (expected.erc20Transfers !== undefined) {
      assert.equal(line?.transfers?.length, expected.erc20Transfers)
    }
  })
}

test('block 18100000: each of the 34 forged swaps is dropped with its reason', () => {
  const forged = ethereumExpectations()
    .get('block_18100000.json')
    ?.swaps.filter(({ spoof }) => spoof)
  const { dropped } = decodeBlock(recordedEthereumBlock('block_18100000.json'), {
    verification: 'evidence',
    protocols: protocolRegistry('eth'),
    pool: () => undefined,
  })
  assert.equal(forged?.length, 34)
  assert.deepEqual(
    dropped.map(({ reason, logIndex }) => ({ reason, logIndex })),
    forged.map(({ logIndex }) => ({ reason: 'no-matching-transfers', logIndex })),
  )
})

test('with facts, only proven pools count, under the name of their factory', () => {
  const swaps = real(ethereumExpectations().get('block_18000000.json')?.swaps ?? [])
  const named = swaps.filter(({ tokenIn, tokenOut }) => tokenIn !== null && tokenOut !== null)
  const tokensOf = ({ tokenIn, tokenOut }: ExpectedSwap) =>
    [String(tokenIn), String(tokenOut)].sort()
  const fact = (swap: ExpectedSwap): PoolMetadata => ({
    address: swap.address,
    tokenA: tokensOf(swap)[0] ?? '',
    tokenB: tokensOf(swap)[1] ?? '',
    protocol: swap.event === 'univ2.Swap' ? 'sushiswap_v2' : 'sushiswap_v3',
    factory: '0x01',
    feePips: 3000,
    verified: true,
  })
  const facts = new Map(named.map((swap) => [swap.address, fact(swap)]))
  const [first] = named
  assert.ok(first)
  facts.set(first.address, { ...fact(first), verified: false })
  const { swaps: found, dropped } = decodeBlock(recordedEthereumBlock('block_18000000.json'), {
    verification: 'facts',
    protocols: protocolRegistry('eth'),
    pool: (address) => facts.get(address),
  })
  const kept = swaps.filter(({ address }) => facts.get(address)?.verified)
  assert.ok(kept.length > 15)
  assert.deepEqual(
    found.map(({ logIndex, tokenIn, protocol }) => ({ logIndex, tokenIn, protocol })),
    kept
      .map((swap) => ({
        logIndex: swap.logIndex,
        tokenIn: swap.tokenIn,
        protocol: facts.get(swap.address)?.protocol,
      }))
      .sort((a, b) => a.logIndex - b.logIndex),
  )
  assert.ok(found.every(({ protocol, reserves }) => protocol !== 'sushiswap_v2' || reserves))
  assert.ok(
    dropped.some(
      ({ reason, logIndex }) => reason === 'unverified-pool' && logIndex === first.logIndex,
    ),
  )
})

test('a file that cannot be read is reported with its reason, and the others are decoded', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-decode-'))
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  try {
    const { code, lines } = await explained([
      join(folder, 'absent.json'),
      folder,
      file('broken.json', '{"chain":'),
      file('list.json', '[]'),
      file('other.json', '{}'),
      file('polygon.json', '{"chain":"polygon","eth_getBlockReceipts":[]}'),
      file('empty.json', '{"chain":"ethereum","eth_getBlockReceipts":[]}'),
      recordingPath('tx_univ3_swap_0a86fef1.json'),
    ])
    assert.equal(code, 1)
    assert.deepEqual(
      lines.map(({ error }) => error?.reason),
      [
        'ENOENT',
        'EISDIR',
        'not-json',
        'not-an-object',
        'unknown-shape',
        'wrong-chain',
        'no-block',
        undefined,
      ],
    )
    assert.equal(lines.at(-1)?.trades?.length, 1)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a chain without decoders is refused', async () => {
  await assert.rejects(decodeFiles({ chain: 'tron', files: [], write: () => {} }), {
    reason: 'unknown-chain',
  })
})
