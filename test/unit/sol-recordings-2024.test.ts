import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { DecodedBlock } from '../../schemas/events.ts'
import { recordedSolanaBlock, solanaDecodeContext } from '../support/recordings/solana.ts'

const { wrappedNative: SOL } = CHAINS.sol

const decoded = (name: string): DecodedBlock =>
  decodeBlock(recordedSolanaBlock(name), solanaDecodeContext())
const tradesIn = ({ swaps }: DecodedBlock) =>
  swaps.map(({ protocol, path, trader, tokenIn, amountInRaw, tokenOut, amountOutRaw }) => [
    ...[protocol, path?.inner, trader],
    ...[tokenIn, amountInRaw, tokenOut, amountOutRaw],
  ])

test('pump.fun of 2024: a creation in the layout that ends with the user, and its first buy', () => {
  const mint = '5dNYcCZXEGfGgbdUdq7MMR7KLsNJLLLgL83wLH8Fpump'
  const user = '6xo262KbDXepWbF3vPTrFXysr5vJwk3mozBXmXk3hmMx'
  const out = decoded('pumpfun_create_2024_09.json')
  assert.deepEqual(tradesIn(out), [
    ['pump_fun', null, user, SOL, 1_000_000_000n, mint, 34_612_903_225_806n],
  ])
  const [birth] = out.tokenCreations
  assert.deepEqual(
    [
      birth?.metadata.address,
      birth?.metadata.name,
      birth?.metadata.symbol,
      birth?.dev,
      out.tokenCreations.length,
    ],
    [mint, 'MOO DOG', 'MOODOG', user, 1],
  )
  assert.equal(birth?.metadata.totalSupplyRaw, 10n ** 15n)
  assert.deepEqual(out.dropped, [])
})

test('two hops of an aggregator: a token with a transfer fee counts with the amount that was sent', () => {
  const [fromMint, toMint] = [
    '7atgF8KQo4wJrD5ATGX7t1V2zVvykPJbFfNeVf1icFv1',
    'ED5nyyWEzpPPiWimP8vYm7sD7TD3LAt3Q3gRTWHzPJBY',
  ]
  const payer = 'E8oVrS4Pk74ouemj4t6grJ6w5Ah7SFLYa8VoRtvtWpnw'
  const aggregator = 'HV1KXxWFaSeriyFvXyx48FqG9BoFbfinB8njCJonqP7K'
  const out = decoded('okx_cpmm_token22_clmm.json')
  assert.deepEqual(tradesIn(out), [
    ['raydium_cpmm', 0, payer, fromMint, 358_800n, SOL, 15_742n],
    ['raydium_clmm', 3, aggregator, SOL, 15_742n, toMint, 74_619n],
  ])
  assert.deepEqual(out.dropped, [])
})
