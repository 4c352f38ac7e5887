import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeEventLog, type Hex, parseAbi } from 'viem'
import { eventOf } from '../../ingestors/evm/protocols/families.ts'
import type { DecodedEvent } from '../../ingestors/evm/protocols/types.ts'
import type { Log } from '../../schemas/events.ts'
import { TOPIC } from '../support/builders/dex-logs.ts'
import { chainRecording, chainRecordings } from '../support/recordings/evm-chains.ts'

type Args = Readonly<Record<string, bigint | string | number | boolean>>

/** The same event read by viem. */
const argsOf = ({ topics, data }: Log, signature: string): Args =>
  decodeEventLog({
    abi: parseAbi([`event ${signature}`] as readonly string[]),
    topics: topics as [Hex, ...Hex[]],
    data: data as Hex,
  }).args as unknown as Args

const big = (args: Args, name: string): bigint => BigInt(args[name] ?? 0)
const positive = (value: bigint): bigint => (value > 0n ? value : 0n)
const sides = (amount0: bigint, amount1: bigint): readonly [0 | 1, bigint, bigint] =>
  amount0 > 0n ? [0, amount0, -amount1] : [1, amount1, -amount0]
const LOW = 2n ** 128n

/** What a swap's or change's arguments mean: side and amounts, or amounts. */
const MEANING: Readonly<Record<string, (args: Args) => readonly unknown[]>> = {
  [TOPIC.solidlySwap]: (args) =>
    sides(
      big(args, 'amount0In') - big(args, 'amount0Out'),
      big(args, 'amount1In') - big(args, 'amount1Out'),
    ),
  [TOPIC.solidlySync]: (args) => [big(args, 'reserve0'), big(args, 'reserve1')],
  [TOPIC.v3Swap]: (args) => sides(big(args, 'amount0'), big(args, 'amount1')),
  [TOPIC.pancakeV3Swap]: (args) => sides(big(args, 'amount0'), big(args, 'amount1')),
  [TOPIC.algebraSwap]: (args) => sides(big(args, 'amount0'), big(args, 'amount1')),
  [TOPIC.infinitySwap]: (args) => sides(-big(args, 'amount0'), -big(args, 'amount1')),
  [TOPIC.binSwap]: (args) => {
    const [ins, outs] = [big(args, 'amountsIn'), big(args, 'amountsOut')]
    return sides(positive(ins % LOW) - (outs % LOW), positive(ins / LOW) - outs / LOW)
  },
}

const meant = (said: DecodedEvent | undefined): readonly unknown[] =>
  said?.kind === 'swap'
    ? [said.tokenIn, said.amountInRaw, said.amountOutRaw]
    : said?.kind === 'reserves'
      ? said.reserves
      : []

test('recorded logs decode the same as with viem', () => {
  const compared = new Map<string, number>()
  for (const log of chainRecordings()
    .map(chainRecording)
    .flatMap(({ transactions }) => transactions)
    .flatMap(({ logs }) => logs)) {
    const topic0 = log.topics[0] ?? ''
    const [found, meaning] = [eventOf(log), MEANING[topic0]]
    if (found === undefined || meaning === undefined) continue
    const { signature, read } = found.event
    assert.deepEqual(meant(read(log)), meaning(argsOf(log, signature)), signature)
    compared.set(topic0, (compared.get(topic0) ?? 0) + 1)
  }
  assert.deepEqual([...compared.keys()].sort(), Object.keys(MEANING).sort(), 'each of them once')
})
