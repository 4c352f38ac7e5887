import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { InvalidInput } from '../../core/errors.ts'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import { recordedBlock } from '../../ingestors/recorded/files.ts'
import { decodeBlock, requiredLookups } from '../../ingestors/vm/decode-block.ts'
import { CHAIN_ID_BY_NAME } from '../../schemas/chains.ts'
import type {
  Block,
  EvmBlock,
  Log,
  MoveBlock,
  MoveEvent,
  SvmBlock,
  SvmInstruction,
} from '../../schemas/events.ts'
import { createRandom, type Random } from '../../simulator/node/random.ts'

const INPUTS = Number(process.env.SLUICE_FUZZ_INPUTS ?? 200_000)
const SEED = 20_260_915
/** No decoder takes longer for one transaction. A pause of the machine is told apart by trying again. */
const LIMIT_MS = 10
const TRIES = 5
/** No token has as many base units: what states more is forged or misread. */
const IMPOSSIBLE = 1n << 255n

/** A folder with one folder per chain; another collection of recordings may be given. */
const FIXTURES =
  process.env.SLUICE_FUZZ_FIXTURES ?? fileURLToPath(new URL('../fixtures/', import.meta.url))

const blockIn = (chain: string, path: string): Block | undefined => {
  try {
    return recordedBlock(chain, JSON.parse(readFileSync(path, 'utf8'))).block
  } catch (error) {
    if (error instanceof InvalidInput || error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Every recorded transaction that did something, each as a block of its own. */
const recordedTransactions = (): readonly Block[] =>
  readdirSync(FIXTURES, { withFileTypes: true }).flatMap((folder) => {
    const chain = folder.isDirectory() ? CHAIN_ID_BY_NAME[folder.name] : undefined
    if (chain === undefined) return []
    return readdirSync(FIXTURES + folder.name).flatMap((name) => {
      const block = blockIn(chain, `${FIXTURES}${folder.name}/${name}`)
      if (block === undefined) return []
      return block.transactions
        .filter(({ success }) => success)
        .map((transaction) => ({ ...block, transactions: [transaction] }) as Block)
    })
  })

const flipped = (text: string, random: Random): string => {
  if (text.length <= 2) return text
  const at = 2 + random.below(text.length - 2)
  return text.slice(0, at) + random.hex(1) + text.slice(at + 1)
}

const WORDS = ['0'.repeat(64), 'f'.repeat(64), `8${'0'.repeat(63)}`, `7${'f'.repeat(63)}`] as const

/** Data with a whole word replaced by one at the edge of its range: lengths, offsets, amounts. */
const edged = (data: string, random: Random): string => {
  const words = Math.floor((data.length - 2) / 64)
  if (words === 0) return data
  const at = 2 + random.below(words) * 64
  return data.slice(0, at) + random.pick(WORDS) + data.slice(at + 64)
}

const LOG_CHANGES: readonly ((log: Log, random: Random) => Log)[] = [
  (log, random) => ({ ...log, data: log.data.slice(0, 2 + random.below(log.data.length - 1)) }),
  (log, random) => ({ ...log, data: log.data + random.hex(random.below(257)) }),
  (log, random) => ({ ...log, data: flipped(log.data, random) }),
  (log, random) => ({ ...log, data: edged(log.data, random) }),
  (log, random) => ({ ...log, topics: log.topics.slice(0, random.below(5)) }),
  (log, random) => ({
    ...log,
    topics: log.topics.map((topic, at) => (at === 0 ? topic : flipped(topic, random))),
  }),
  (log, random) => ({ ...log, address: flipped(log.address, random) }),
]

const mutatedEvm = (block: EvmBlock, random: Random): EvmBlock => {
  const [tx] = block.transactions
  if (tx === undefined || tx.logs.length === 0) return block
  const at = random.below(tx.logs.length)
  const change = random.pick(LOG_CHANGES)
  const logs = tx.logs.map((log, index) => (index === at ? change(log, random) : log))
  return { ...block, transactions: [{ ...tx, logs }] }
}

const bytesChanged = (data: Uint8Array, random: Random): Uint8Array => {
  const how = random.below(4)
  if (how === 0) return data.subarray(0, random.below(data.length + 1))
  if (how === 1) return Buffer.concat([data, Buffer.from(random.hex(64), 'hex')])
  const bytes = Uint8Array.from(data)
  const at = random.below(bytes.length || 1)
  if (how === 2) bytes[at] = random.below(256)
  else bytes.fill(random.chance(0.5) ? 0xff : 0, at, at + 8)
  return bytes
}

const INSTRUCTION_CHANGES: readonly ((was: SvmInstruction, random: Random) => SvmInstruction)[] = [
  (was, random) => ({ ...was, data: was.data && bytesChanged(was.data, random) }),
  (was, random) => ({ ...was, accounts: was.accounts.slice(0, random.below(20)) }),
  (was, random) => ({ ...was, depth: 1 + random.below(5) }),
  (was, random) => ({
    ...was,
    logs: was.logs.map((line) => line.slice(0, random.below(line.length + 1))),
  }),
]

const mutatedSvm = (block: SvmBlock, random: Random): SvmBlock => {
  const [tx] = block.transactions
  if (tx === undefined || tx.instructions.length === 0) return block
  const at = random.below(tx.instructions.length)
  const change = random.pick(INSTRUCTION_CHANGES)
  const instructions = tx.instructions.map((each, index) =>
    index === at ? change(each, random) : each,
  )
  return { ...block, transactions: [{ ...tx, instructions }] }
}

const STRANGE: readonly unknown[] = [
  null,
  -1,
  '-1',
  '1e3',
  '',
  true,
  {},
  [],
  (1n << 256n).toString(),
  { bits: 4_294_967_295 },
]

const fieldsChanged = (event: MoveEvent, random: Random): MoveEvent => {
  if (event.bytes !== null) return { ...event, bytes: bytesChanged(event.bytes, random) }
  const names = Object.keys(event.fields ?? {})
  if (names.length === 0) return event
  return { ...event, fields: { ...event.fields, [random.pick(names)]: random.pick(STRANGE) } }
}

const mutatedMove = (block: MoveBlock, random: Random): MoveBlock => {
  const [tx] = block.transactions
  if (tx === undefined || tx.events.length === 0) return block
  const at = random.below(tx.events.length)
  const events = tx.events.map((each, index) => (index === at ? fieldsChanged(each, random) : each))
  return { ...block, transactions: [{ ...tx, events }] }
}

const mutated = (block: Block, random: Random): Block => {
  if (block.vm === 'evm') return mutatedEvm(block, random)
  return block.vm === 'svm' ? mutatedSvm(block, random) : mutatedMove(block, random)
}

/** The shortest of several runs: what the work itself takes. */
const shortestMs = (work: () => void): number => {
  let best = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const startedMs = performance.now()
    work()
    best = Math.min(best, performance.now() - startedMs)
  }
  return best
}

test(`${INPUTS} mutated transactions of all recordings: nothing throws, no amount is impossible, none is slow`, () => {
  const random = createRandom(SEED)
  const recorded = recordedTransactions()
  const books = new Map(
    [...new Set(recorded.map(({ chain }) => chain))].map((chain) => [
      chain,
      protocolRegistry(chain),
    ]),
  )
  assert.ok(books.size === 10, 'recordings of all ten chains')
  let trades = 0
  for (let input = 0; input < INPUTS; input += 1) {
    const block = mutated(random.pick(recorded), random)
    const protocols = books.get(block.chain)
    assert.ok(protocols)
    const decode = () =>
      decodeBlock(block, { verification: 'evidence', protocols, pool: () => undefined })
    const startedMs = performance.now()
    const decoded = decode()
    const elapsedMs = performance.now() - startedMs
    if (elapsedMs > LIMIT_MS) assert.ok(shortestMs(decode) <= LIMIT_MS, `input ${input} is slow`)
    requiredLookups(block, protocols)
    for (const { amountInRaw, amountOutRaw } of decoded.swaps) {
      assert.ok(amountInRaw > 0n || amountOutRaw > 0n, `input ${input}: nothing`)
      assert.ok(amountInRaw >= 0n && amountInRaw < IMPOSSIBLE, `input ${input}: ${amountInRaw}`)
      assert.ok(amountOutRaw >= 0n && amountOutRaw < IMPOSSIBLE, `input ${input}: ${amountOutRaw}`)
    }
    for (const { reserves = [] } of decoded.swaps) assert.ok(reserves.every((each) => each >= 0n))
    trades += decoded.swaps.length
  }
  assert.ok(trades > INPUTS / 10, 'what the changes leave whole is still decoded')
})
