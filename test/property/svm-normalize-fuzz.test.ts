import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { InvalidInput } from '../../core/errors.ts'
import { recordedBlock } from '../../ingestors/recorded/files.ts'
import { parseWireTransaction } from '../../ingestors/svm/normalize/wire-transaction.ts'
import { solanaRecordingJson, solanaRecordingNames } from '../support/recordings/solana.ts'

const SEED = 344_556_402
const FILES = [
  ...solanaRecordingNames(),
  'block_account_deletion.json',
  'block_structure_100000000_jsonparsed.json',
  'yellowstone_block_344556402.json',
].map((name) => JSON.stringify(solanaRecordingJson(name)))

/** What a node may write where something else should be; `toString` and the like are keys as any other. */
const odd: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    ...[null, true, '', 'legacy', '11111111111111111111111111111111', -1, 0.5, 2 ** 53, 1e300, 256],
    ...[[], {}, [[]], { toString: 1 }, [{ valueOf: null }], '9'.repeat(90), 'z'.repeat(44)],
    ...['base64', 'AAAA', 'transfer', { type: 'toString', info: {} }, { type: 'setAuthority' }],
  ),
  fc.integer(),
  fc.string(),
  fc.jsonValue({ maxDepth: 2 }),
)

interface Mutation {
  readonly path: readonly number[]
  readonly how: 'replace' | 'delete' | 'repeat' | 'cut'
  readonly value: unknown
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  path: fc.array(fc.nat(), { minLength: 2, maxLength: 14 }),
  how: fc.constantFrom('replace', 'delete', 'repeat', 'cut'),
  value: odd,
})

type Holder = Record<string, unknown>

/** Walks down until the path or the JSON ends, and changes what it came to. */
const mutate = (json: unknown, { path, how, value }: Mutation): void => {
  let holder = json as Holder
  for (const [depth, step] of path.entries()) {
    const keys = Object.keys(holder)
    const key = keys[step % Math.max(keys.length, 1)]
    if (key === undefined) return
    const child = holder[key]
    const isLeaf = typeof child !== 'object' || child === null
    if (!isLeaf && depth < path.length - 1) {
      holder = child as Holder
      continue
    }
    if (how === 'replace') holder[key] = value
    else if (how === 'repeat' && Array.isArray(child)) child.push(...child)
    else if (how === 'cut' && typeof child === 'string') {
      holder[key] = child.slice(0, Math.floor(child.length / 2))
    } else if (Array.isArray(holder)) holder.splice(Number(key), 1)
    else delete holder[key]
    return
  }
}

/** Runs; whatever is thrown must be `InvalidInput` with words of bounded length. Tells whether it was. */
const isRefused = (work: () => unknown): boolean => {
  try {
    work()
    return false
  } catch (error) {
    assert.ok(error instanceof InvalidInput, String(error))
    assert.ok(error.message.length < 400, error.message)
    return true
  }
}

test('a damaged Solana recording is a block or malformed, never another error', () => {
  let refused = 0
  fc.assert(
    fc.property(
      fc.nat({ max: FILES.length - 1 }),
      fc.array(mutation, { minLength: 1, maxLength: 4 }),
      (file, mutations) => {
        const json: unknown = JSON.parse(FILES[file] ?? '')
        for (const each of mutations) mutate(json, each)
        if (isRefused(() => recordedBlock('sol', json))) refused += 1
      },
    ),
    { seed: SEED, numRuns: 1_500 },
  )
  assert.ok(refused > 300, `only ${refused} were refused`)
})

test('damaged wire bytes are a transaction or malformed', () => {
  const wires = FILES.flatMap((text) => {
    const { getTransaction } = JSON.parse(text) as { getTransaction?: { transaction: unknown } }
    const pair = getTransaction?.transaction
    return Array.isArray(pair) ? [Buffer.from(String(pair[0]), 'base64')] : []
  })
  assert.ok(wires.length > 5)
  fc.assert(
    fc.property(
      fc.nat({ max: wires.length - 1 }),
      fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 6 }),
      fc.nat({ max: 1_400 }),
      fc.constantFrom(undefined, 0x80, 0x81, 0x82),
      (at, flips, length, first) => {
        const bytes = Buffer.from(wires[at]?.subarray(0, length) ?? [])
        for (const [place, byte] of flips) if (bytes.length > 0) bytes[place % bytes.length] = byte
        if (first !== undefined && bytes.length > 0) bytes[0] = first
        isRefused(() => parseWireTransaction(bytes))
      },
    ),
    { seed: SEED, numRuns: 3_000 },
  )
})
