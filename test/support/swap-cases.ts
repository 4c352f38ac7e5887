import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import type { Swap } from '../../schemas/events.ts'
import { TOKEN_A, TOKEN_B } from './builders/dex-logs.ts'

/** What an event says, and the trade that it is: which token was sold (0: `TOKEN_A`), the amounts in and out; or why it is none. */
export type SwapCase<Said> = readonly [
  what: string,
  said: Said,
  expected: readonly [sold: 0 | 1, amountInRaw: bigint, amountOutRaw: bigint] | string,
]

/** How a family reads the cases. */
interface SwapCaseOptions<Said> {
  readonly decode: (said: Said) => ReturnType<typeof decodeBlock>
  /** The decoder that refuses. */
  readonly decoder: string
  /** What every trade of the cases says beside tokens and amounts. */
  readonly trade: Partial<Swap>
}

/** A test per case: one trade with all its fields, or none and one reason. */
export const testSwaps = <Said>(
  family: string,
  cases: readonly SwapCase<Said>[],
  { decode, decoder, trade }: SwapCaseOptions<Said>,
): void => {
  for (const [what, said, expected] of cases) {
    test(`${family} swap, ${what}`, () => {
      const { swaps, dropped } = decode(said)
      const reasons = dropped.map(({ reason, protocol }) => [reason, protocol])
      if (typeof expected === 'string') {
        assert.deepEqual(swaps, [])
        assert.deepEqual(reasons, [[expected, decoder]])
        return
      }
      const [sold, amountInRaw, amountOutRaw] = expected
      assert.deepEqual(reasons, [])
      assert.deepEqual(swaps, [
        {
          kind: 'swap',
          txIndex: 0,
          logIndex: 0,
          trader: `0x${'f0'.repeat(20)}`,
          tokenIn: sold === 0 ? TOKEN_A : TOKEN_B,
          tokenOut: sold === 0 ? TOKEN_B : TOKEN_A,
          amountInRaw,
          amountOutRaw,
          ...trade,
        },
      ])
    })
  }
}
