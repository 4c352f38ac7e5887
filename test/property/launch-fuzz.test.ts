import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import { clanker } from '../../ingestors/evm/protocols/clanker.ts'
import { fourMeme } from '../../ingestors/evm/protocols/four-meme.ts'
import { openFour } from '../../ingestors/evm/protocols/open-four.ts'
import { polymarket } from '../../ingestors/evm/protocols/polymarket.ts'
import type { EvmFamily } from '../../ingestors/evm/protocols/types.ts'
import { virtuals } from '../../ingestors/evm/protocols/virtuals.ts'
import { decodeBlock, requiredLookups } from '../../ingestors/vm/decode-block.ts'
import { PROTOCOLS, type ProtocolRow } from '../../schemas/protocols.ts'
import { buildSingleTransactionBlock, hexWord } from '../support/recordings/ethereum.ts'

const SEED = 41_983_675
const LIMIT = 1n << 255n
const MAX = (1n << 256n) - 1n
const ROWS: readonly ProtocolRow[] = PROTOCOLS

const words = fc.oneof(
  fc.bigInt(0n, 20n),
  fc.bigInt(0n, 30n).map((index) => index * 32n),
  fc.bigInt(0n, MAX),
  fc.constantFrom(0n, MAX, LIMIT, LIMIT - 1n, 1n << 40n),
)

for (const [chain, family] of [
  ['bsc', fourMeme],
  ['bsc', openFour],
  ['base', clanker],
  ['base', virtuals],
  ['polygon', polymarket],
] as const satisfies readonly (readonly [string, EvmFamily])[]) {
  const protocols = protocolRegistry(chain)
  const listed = ROWS.filter((row) => row.family === family.family).flatMap(
    ({ factories }) => factories[chain] ?? [],
  )
  const address = fc.oneof(fc.constantFrom(...listed), fc.constant(`0x${'0e'.repeat(20)}`))
  const log = fc
    .record({
      address,
      event: fc.constantFrom(...Object.entries(family.events)),
      indexed: fc.array(fc.oneof(words, address), { minLength: 3, maxLength: 3 }),
      data: fc.array(words, { maxLength: 20 }),
      tail: fc.integer({ min: 0, max: 31 }),
    })
    .map(({ address: by, event: [topic0, events], indexed, data, tail }) => {
      const [{ topics = 1 } = {}] = [events].flat()
      return {
        address: by,
        topics: [topic0, ...indexed.slice(0, topics - 1).map((value) => `0x${hexWord(value)}`)],
        data: `0x${data.map(hexWord).join('')}${'ab'.repeat(tail)}`,
      }
    })
  for (const proof of ['facts', 'evidence'] as const) {
    test(`random logs of ${family.family} never make the decoder throw or give impossible amounts (${proof})`, () => {
      fc.assert(
        fc.property(fc.array(log, { minLength: 1, maxLength: 12 }), (logs) => {
          const block = buildSingleTransactionBlock(logs)
          for (const { address: pool } of requiredLookups(block, protocols).pools)
            assert.match(pool, /^0x[0-9a-f]{40}$/)
          const pool = (of: string) => ({
            address: of,
            tokenA: of,
            tokenB: `0x${'0b'.repeat(20)}`,
            factory: null,
            protocol: family.family,
            feePips: null,
            verified: proof === 'facts',
          })
          const {
            swaps,
            tokenCreations: births,
            migrations,
            predictions,
          } = decodeBlock(block, {
            verification: proof,
            protocols,
            pool,
          })
          for (const { amountInRaw, amountOutRaw } of swaps) {
            assert.ok(amountInRaw >= 0n && amountInRaw < LIMIT)
            assert.ok(amountOutRaw >= 0n && amountOutRaw < LIMIT)
            assert.ok(amountInRaw > 0n || amountOutRaw > 0n)
          }
          for (const { metadata: fact } of births) {
            assert.match(fact.address, /^0x[0-9a-f]{40}$/)
            assert.ok((fact.name?.length ?? 0) <= 256)
          }
          assert.ok(births.length + migrations.length + predictions.length <= logs.length)
          for (const said of predictions) {
            if (said.kind === 'prediction-settlement') assert.ok(said.amountRaw < LIMIT)
            if (said.kind !== 'prediction-trade') continue
            assert.ok(said.sharesRaw > 0n && said.sharesRaw < LIMIT)
            assert.ok(said.collateralRaw > 0n && said.collateralRaw < LIMIT)
          }
        }),
        { seed: SEED, numRuns: 400 },
      )
    })
  }
}
