import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { InvalidInput } from '../../core/errors.ts'
import { blockDeadLetters } from '../../ingestors/dead-letters/dead-letters.ts'
import {
  type DeadLetterPayload,
  deadLetterPayloadText,
  parseDeadLetterPayload,
} from '../../ingestors/dead-letters/payload.ts'
import { type Decodable, retryDecode } from '../../ingestors/dead-letters/retry.ts'
import type { DecodeContext } from '../../ingestors/decode/contract.ts'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import { DROP_REASONS, toDropReason } from '../../schemas/drop-reasons.ts'
import type { PoolMetadata } from '../../schemas/events.ts'
import {
  buildEvmBlock,
  POOLS,
  TOKEN_POOL,
  tokenSwap,
  wethSwap,
} from '../support/builders/evm-block.ts'

/** The letter of a block of two swaps of which one pool is not proven. */
const letterOf = (): Extract<DeadLetterPayload, { readonly kind: 'event' }> => {
  const block = buildEvmBlock({ height: 100 }, [wethSwap(2_000), tokenSwap(5n)])
  const unproven: readonly PoolMetadata[] = POOLS.map((fact) =>
    fact.address === TOKEN_POOL ? { ...fact, verified: false } : fact,
  )
  const books: DecodeContext = {
    verification: 'facts',
    protocols: protocolRegistry('eth'),
    pool: (address) => unproven.find((fact) => fact.address === address),
  }
  const { dropped, swaps } = decodeBlock(block, books)
  assert.equal(swaps.length, 1)
  const [record, ...others] = blockDeadLetters(block, {
    dropped,
    unread: [],
    rejectedResponses: [],
    context: books,
  })
  assert.deepEqual(others, [])
  const body = parseDeadLetterPayload(record?.value ?? new Uint8Array())
  assert.ok(body.kind === 'event')
  return body
}

test('a dead letter stores everything that decoding its event again needs', () => {
  const body = letterOf()
  assert.equal(body.block?.transactions.length, 1)
  assert.deepEqual(parseDeadLetterPayload(Buffer.from(deadLetterPayloadText(body))), body)
  assert.deepEqual(
    body.pools.map(({ address }) => address),
    [TOKEN_POOL],
  )
})

test('a retried dead letter fails with the same reason, and decodes once its cause is removed', () => {
  const body = letterOf()
  assert.deepEqual(retryDecode(body, 'eth'), { outcome: 'failed-again', reason: body.reason })
  const pools = body.pools.map((fact) => ({ ...fact, verified: true }))
  const mended = retryDecode({ ...body, pools }, 'eth')
  assert.ok(
    mended.outcome === 'decodes-now' && mended.what.includes('1 swaps'),
    JSON.stringify(mended),
  )
})

test('a dead letter that would be too large is stored without its transaction, and its retry reports that', () => {
  const said = { meta: 'x'.repeat(1 << 20) }
  const body: Decodable = {
    kind: 'transaction',
    reason: 'bad-hex',
    txHash: '',
    index: 0,
    vm: 'svm',
    input: said,
    height: 1,
    hash: 'h',
  }
  const text = deadLetterPayloadText(body)
  assert.ok(text.length < 1_024)
  const held = parseDeadLetterPayload(Buffer.from(text))
  assert.ok(held.kind === 'transaction')
  assert.deepEqual(retryDecode(held, 'sol'), { outcome: 'not-retained' })
})

test('a dead letter payload keeps bytes and large numbers', () => {
  const body: DeadLetterPayload = {
    kind: 'transaction',
    reason: 'bad-hex',
    txHash: '',
    index: 0,
    vm: 'evm',
    height: 1,
    hash: 'h',
    input: { amount: 2n ** 256n - 1n, data: new Uint8Array([0, 255]) },
  }
  assert.deepEqual(parseDeadLetterPayload(Buffer.from(deadLetterPayloadText(body))), body)
})

test('an invalid dead letter payload is rejected', () => {
  for (const text of ['', '{', '[]', '7', '{}', '{"kind":"other"}', '{"kind":7}']) {
    assert.throws(() => parseDeadLetterPayload(Buffer.from(text)), InvalidInput, text)
  }
})

test('every drop reason of the ingestors is a listed metric label', () => {
  const root = fileURLToPath(new URL('../../ingestors/', import.meta.url))
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  const given = files
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => {
      const text = readFileSync(root + name, 'utf8')
      return [
        ...text.matchAll(
          /(?:refuse|refused|invalid|new InvalidInput)\(\s*'([a-z][a-z\d-]+)'|reason: '([a-z-]+)'|drop\([^)]*, '([a-z-]+)'\)/g,
        ),
      ].map((match) => `${match[1] ?? match[2] ?? match[3]}`)
    })
  assert.ok(given.length > 50)
  const listed: ReadonlySet<string> = new Set(DROP_REASONS)
  assert.deepEqual(
    [...new Set(given)].filter((reason) => !listed.has(reason)),
    [],
  )
  assert.equal(toDropReason('something else'), 'other')
})

test('a dead letter that an earlier version wrote is read under the names of this one', () => {
  const {
    input: _input,
    verification,
    pools,
    ...rest
  } = {
    input: undefined,
    ...letterOf(),
  }
  const former = {
    ...rest,
    proof: verification,
    pools: pools.map(({ verified, ...pool }) => ({ ...pool, proven: verified })),
  }
  const text = deadLetterPayloadText(former as unknown as DeadLetterPayload)
  assert.deepEqual(parseDeadLetterPayload(Buffer.from(text)), letterOf())
  const transaction = {
    kind: 'transaction',
    reason: 'bad-hex',
    txHash: '',
    index: 0,
    vm: 'evm',
    height: 1,
    hash: '0x',
    said: { receipt: null, place: { index: 0, unplaced: true } },
  }
  const parsed = parseDeadLetterPayload(Buffer.from(JSON.stringify(transaction)))
  assert.ok(parsed.kind === 'transaction')
  assert.deepEqual(parsed.input, { receipt: null, place: { index: 0, withoutPosition: true } })
})
