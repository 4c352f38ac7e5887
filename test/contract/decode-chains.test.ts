import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeFiles } from '../../cli/commands/decode.ts'
import {
  chainExpectations,
  chainRecordingPath,
  chainRecordings,
} from '../support/recordings/evm-chains.ts'

interface Line {
  readonly error?: unknown
  readonly trades: readonly {
    readonly at: number
    readonly protocol: string
    readonly pool: string
    readonly tokenIn: string | null
    readonly amountIn: string
    readonly tokenOut: string | null
    readonly amountOut: string
  }[]
  readonly transfers: readonly unknown[]
  readonly nativeTransfers: readonly {
    readonly from: string
    readonly to: string
    readonly value: string
  }[]
}

/** Names where nothing but the event's shape is known, or the contract that speaks for its pools. */
const PROTOCOL: Readonly<Record<string, string>> = {
  'univ2.Swap': 'uniswap_v2',
  'univ3.Swap': 'uniswap_v3',
  'univ4.Swap': 'uniswap_v4',
  'pancakev3.Swap': 'pancakeswap_v3',
  'algebraIntegral.Swap': 'quickswap_v4',
  'solidly2.Swap(aero/velo2)': 'velodrome_v2',
  'joe20.Swap': 'lfj_v2',
  'joe21.Swap': 'lfj_v2_1',
  'pcsinf.cl.Swap': 'pancakeswap_infinity_cl',
}

const explained = async (name: string): Promise<Line> => {
  const lines: Line[] = []
  const code = await decodeFiles({
    chain: name.split('/')[0] ?? '',
    files: [chainRecordingPath(name)],
    write: (line) => lines.push(JSON.parse(line)),
  })
  const [line] = lines
  assert.ok(line)
  assert.equal(line.error, undefined)
  assert.equal(code, 0)
  return line
}

for (const name of chainRecordings()) {
  test(`${name} holds the recorded trades and no other`, async () => {
    const expected = chainExpectations().get(name)
    assert.ok(expected)
    const { trades, transfers, nativeTransfers } = await explained(name)
    const swaps = (expected.swaps ?? []).toSorted((a, b) => a.logIndex - b.logIndex)
    assert.deepEqual(
      trades.map(({ at, pool, amountIn, amountOut, protocol }) => ({
        at,
        pool,
        amountIn,
        amountOut,
        protocol,
      })),
      swaps.map(({ logIndex: at, address, poolId, amountIn, amountOut, event }) => ({
        at,
        pool: poolId ?? address,
        amountIn,
        amountOut,
        protocol: PROTOCOL[event],
      })),
    )
    for (const [index, { tokenIn, tokenOut }] of swaps.entries()) {
      if (tokenIn !== null) assert.equal(trades[index]?.tokenIn, tokenIn)
      if (tokenOut !== null) assert.equal(trades[index]?.tokenOut, tokenOut)
    }
    if (expected.erc20Transfers !== undefined) {
      assert.equal(transfers.length, expected.erc20Transfers)
    }
    assert.deepEqual(
      nativeTransfers.map(({ from, to, value }) => ({ from, to, value })),
      (expected.nativeTransfers ?? []).map(({ from_: from, to, value }) => ({ from, to, value })),
    )
  })
}
