import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeEventLog, type Hex, parseAbi } from 'viem'
import { EVM_FAMILIES, eventOf } from '../../ingestors/evm/protocols/families.ts'
import type { DecodedEvent } from '../../ingestors/evm/protocols/types.ts'
import { recordedEthereumBlock, recordingNames } from '../support/recordings/ethereum.ts'

/** Families whose recorded events are read a second time, by the ABI of their signature. */
const COMPARED = new Set(['curve', 'balancer_v2', 'balancer_v3', 'uniswap_v4'])
const ABIS = new Map(
  EVM_FAMILIES.filter(({ family }) => COMPARED.has(family)).flatMap(({ events }) =>
    Object.values(events)
      .flat()
      .map(
        ({ signature }) =>
          [signature, parseAbi([`event ${signature}`] as readonly string[])] as const,
      ),
  ),
)

const logs = recordingNames()
  .flatMap((name) => recordedEthereumBlock(name).transactions)
  .flatMap((tx) => (tx.success ? tx.logs : []))
  .flatMap((log) => {
    const found = eventOf(log)
    return found && COMPARED.has(found.family.family) ? [{ log, ...found }] : []
  })

type Args = Readonly<Record<string, unknown>>
const lower = (of: unknown): string => String(of).toLowerCase()
const bigints = (of: unknown): readonly bigint[] =>
  Array.isArray(of) ? of.map((each) => BigInt(each)) : [BigInt(of as bigint)]

/** What the named arguments of an event say, told apart from the decoders. */
const tells = (said: DecodedEvent, args: Args): void => {
  if (said.kind === 'swap') {
    if ('tokens_sold' in args) {
      const legs = [said.tokenIn, said.tokenOut].map((leg) =>
        typeof leg === 'object' && 'underlying' in leg ? leg.underlying : leg,
      )
      assert.deepEqual(legs, [Number(args.sold_id), Number(args.bought_id)])
      assert.deepEqual(
        [said.amountInRaw, said.amountOutRaw],
        [args.tokens_sold, args.tokens_bought],
      )
    } else if ('amount0' in args) {
      const signed = [args.amount0, args.amount1] as readonly bigint[]
      assert.equal(said.pool, lower(args.id))
      assert.deepEqual(
        [-(signed[Number(said.tokenIn)] ?? 0n), signed[Number(said.tokenOut)]],
        [said.amountInRaw, said.amountOutRaw],
      )
      assert.equal(said.sqrtPriceX96, args.sqrtPriceX96)
      assert.equal(said.liquidityRaw, args.liquidity)
    } else {
      assert.ok(lower(args.poolId ?? args.pool).startsWith(said.pool))
      assert.deepEqual([said.tokenIn, said.tokenOut], [lower(args.tokenIn), lower(args.tokenOut)])
      assert.deepEqual([said.amountInRaw, said.amountOutRaw], [args.amountIn, args.amountOut])
    }
    return
  }
  if (said.kind === 'position') {
    const { id, tickLower, tickUpper, liquidityDelta } = args
    assert.deepEqual(
      [said.pool, ...said.ticks, said.liquidityRaw],
      [id, tickLower, tickUpper, liquidityDelta],
    )
    return
  }
  assert.ok(said.kind === 'change', said.kind)
  const amounts =
    args.token_amounts ??
    args.deltas ??
    args.amountsAddedRaw ??
    args.amountsRemovedRaw ??
    args.coin_amount
  const told = bigints(amounts).map((each) => (each < 0n ? -each : each))
  const own = Array.isArray(args.tokens) ? args.tokens.map(lower).indexOf(said.pool) : -1
  assert.deepEqual(
    said.amountsRaw,
    told.filter((_, at) => at !== own),
  )
}

test('every recorded event decodes as its ABI does', () => {
  const seen = new Map<string, number>()
  for (const { log, event } of logs) {
    const abi = ABIS.get(event.signature)
    assert.ok(abi)
    const { args } = decodeEventLog({
      abi,
      data: log.data as Hex,
      topics: log.topics as [Hex, ...Hex[]],
    })
    const said = event.read(log)
    if (said === undefined) {
      assert.equal((args as unknown as Args).liquidityDelta, 0n, 'fees alone')
      continue
    }
    tells(said, args as unknown as Args)
    const name = event.signature.slice(0, event.signature.indexOf('('))
    seen.set(name, (seen.get(name) ?? 0) + 1)
  }
  for (const name of [
    ...['TokenExchange', 'TokenExchangeUnderlying', 'AddLiquidity', 'RemoveLiquidity'],
    ...['RemoveLiquidityOne', 'Swap', 'PoolBalanceChanged', 'LiquidityAdded'],
  ]) {
    assert.ok((seen.get(name) ?? 0) > 0, `${name} is recorded`)
  }
})
