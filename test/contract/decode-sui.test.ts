import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeFiles } from '../../cli/commands/decode.ts'
import { suiExpectations, suiRecordingPath } from '../support/recordings/sui.ts'

interface Line {
  readonly trades: readonly (Readonly<Record<string, unknown>> & { readonly at: number })[]
  readonly transfers: readonly unknown[]
  readonly tokensCreated: readonly unknown[]
}

const explained = async (name: string): Promise<Line> => {
  const lines: Line[] = []
  const write = (line: string) => lines.push(JSON.parse(line))
  assert.equal(await decodeFiles({ chain: 'sui', files: [suiRecordingPath(name)], write }), 0)
  const [line] = lines
  assert.ok(line)
  return line
}

for (const [name, expected] of Object.entries(suiExpectations())) {
  test(`${name} holds the recorded trades and no other`, async () => {
    const { trades, transfers, tokensCreated } = await explained(name)
    assert.deepEqual(
      trades.map(({ at, protocol, pool, amountIn, amountOut }) => ({
        at,
        protocol,
        pool,
        amountIn,
        amountOut,
      })),
      expected.trades.map(({ protocol, pool, amountIn, amountOut }, at) => ({
        at,
        protocol,
        pool,
        amountIn,
        amountOut,
      })),
    )
    assert.deepEqual(
      trades.map(({ tokenIn }) => tokenIn ?? undefined),
      expected.trades.map(({ tokenIn }) => tokenIn),
    )
    assert.deepEqual([transfers, tokensCreated], [[], []])
  })
}
