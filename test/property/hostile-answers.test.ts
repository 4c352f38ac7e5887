import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { InvalidInput } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { parseRpcMessage, RpcError, resultOfMessage } from '../../core/rpc/endpoint.ts'
import { loadGrpcServices } from '../../core/rpc/grpc.ts'
import { evmSource } from '../../ingestors/evm/source/evm-source.ts'
import { applied, finalized } from '../../ingestors/follow/chain-position.ts'
import type { ChainOp, Position, Source } from '../../ingestors/follow/contract.ts'
import { followWithRetry } from '../../ingestors/follow/follow-with-retry.ts'
import { METHOD } from '../../ingestors/move/source/node-queries.ts'
import { openMoveSource } from '../../ingestors/move/source/sui-source.ts'
import { openSvmSource } from '../../ingestors/svm/source/solana-source.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { createRandom, type Random } from '../../simulator/node/random.ts'
import { startHostileNode } from '../support/nodes/hostile.ts'
import type { ReplayChain } from '../support/replay/contract.ts'
import { evmReplayChain } from '../support/replay/evm-chain.ts'
import { startGrpcServer } from '../support/replay/grpc-server.ts'
import { type ReplayNode, startReplayNode } from '../support/replay/json-rpc-node.ts'
import { createSuiChain, suiChainId, suiCheckpoints } from '../support/replay/sui-chain.ts'
import { startSuiNode } from '../support/replay/sui-node.ts'
import { svmReplayChain } from '../support/replay/svm-chain.ts'

const RUNS = Number(process.env.SLUICE_HOSTILE_RUNS ?? 12)
const GENESIS_MS = 1_700_000_000_000

const shared = (stop: AbortController, urls: readonly string[]) => ({
  urls,
  concurrency: 8,
  timeoutMs: 2_000,
  metrics: makeMetrics(),
  log: makeSilentLogger(),
  signal: stop.signal,
})

/** Follows a chain as the product does, from one height to another, and checks it block by block. */
const follows = async (
  source: Source,
  {
    from,
    to,
    hashAt,
  }: { from: number; to: number; hashAt: (height: number) => string | undefined },
): Promise<void> => {
  const stop = new AbortController()
  const guard = setTimeout(() => stop.abort(new Error('the chain stands still')), 30_000)
  let position: Position | null = null
  const hashes: string[] = []
  const take = async (op: ChainOp): Promise<boolean> => {
    assert.notEqual(op.op, 'revert')
    if (op.op === 'finalize' && position !== null) position = finalized(position, op.ref)
    if (op.op !== 'apply') return false
    position = applied(position, op.block)
    hashes.push(op.block.hash)
    return op.block.height === to
  }
  const log = makeSilentLogger()
  const onStill = async (): Promise<void> => undefined
  await followWithRetry({ source, position: () => position, take, onStill, log }, stop.signal)
  clearTimeout(guard)
  const expected = Array.from({ length: to - from + 1 }, (_, at) => hashAt(from + at))
  assert.deepEqual(
    hashes,
    expected.filter((hash) => hash !== undefined),
  )
}

test('a node message is parsed or rejected as RpcError or InvalidInput: nothing else is thrown', () => {
  const message = fc.record(
    {
      id: fc.oneof(fc.constant(7), fc.jsonValue({ maxDepth: 4 })),
      error: fc.oneof(
        fc.jsonValue({ maxDepth: 4 }),
        fc.record({
          code: fc.jsonValue({ maxDepth: 3 }),
          message: fc.jsonValue({ maxDepth: 3 }),
          data: fc.jsonValue({ maxDepth: 3 }),
        }),
      ),
      result: fc.jsonValue({ maxDepth: 4 }),
    },
    { requiredKeys: [] },
  )
  const text = fc.oneof(
    message.map((each) => JSON.stringify(each)),
    fc.string(),
    fc.json(),
  )
  const call = { method: 'eth_chainId', params: [] }
  fc.assert(
    fc.property(text, (said) => {
      try {
        resultOfMessage(parseRpcMessage(said), { id: 7, call })
      } catch (error) {
        assert.ok(error instanceof RpcError || error instanceof InvalidInput, String(error))
        assert.ok(error.message.length <= 500)
      }
    }),
    { numRuns: 2_000 },
  )
})

test('an answer may nest as deep as its method does: calls of a trace, and nothing else', () => {
  const answer = (depth: number) =>
    `{"jsonrpc":"2.0","id":1,"result":${'['.repeat(depth)}${']'.repeat(depth)}}`
  const read = (method: string, depth: number) =>
    resultOfMessage(parseRpcMessage(answer(depth)), { id: 1, call: { method, params: [] } })
  assert.ok(read('eth_getBlockByHash', 60))
  assert.throws(() => read('eth_getBlockByHash', 70), { reason: 'json-too-deep' })
  assert.ok(read('debug_traceBlockByHash', 2_000))
  assert.throws(() => read('debug_traceBlockByHash', 3_000), { reason: 'json-too-deep' })
})

const CHAINS_OF: readonly [string, ReplayChain, string][] = [
  ['EVM', evmReplayChain(CHAINS.eth, { genesisMs: GENESIS_MS }), 'eth_chainId'],
  ['Solana', svmReplayChain(CHAINS.sol, { genesisMs: GENESIS_MS }), 'getGenesisHash'],
]

for (const [name, chain, identity] of CHAINS_OF) {
  describe(`hostile answers of a ${name} node, a healthy second endpoint`, () => {
    let node: ReplayNode
    before(async () => {
      node = await startReplayNode({ chain, head: 60, finalityDepth: 4, lateMs: 1 })
    })
    after(() => node.stop())

    const follow = async (urls: readonly string[]): Promise<void> => {
      const stop = new AbortController()
      try {
        const options = { ...shared(stop, urls), from: 50 }
        const source =
          chain.id === 'sol'
            ? await openSvmSource({ ...options, chain: CHAINS.sol })
            : await evmSource({ ...options, chain: CHAINS.eth })
        const hashAt = (height: number): string | undefined =>
          chain.hasBlock(height) ? chain.hashAt(height) : undefined
        const to = [60, 59, 58, 57].find((height) => chain.hasBlock(height)) ?? 60
        await follows(source, { from: 50, to, hashAt })
      } finally {
        stop.abort()
      }
    }

    for (const transport of chain.id === 'sol' ? (['http'] as const) : (['http', 'ws'] as const)) {
      test(`the chain continues over ${transport}, block by block`, async () => {
        for (let seed = 1; seed <= RUNS; seed += 1) {
          const random: Random = createRandom(seed)
          // One that never shows its chain is asked nothing else.
          const bends = (method: string): boolean =>
            method === identity ? seed % 6 === 0 : random.below(100) < 10 * (seed % 10) + 10
          const hostile = await startHostileNode({ upstream: node.url, random, bends })
          try {
            await follow([transport === 'http' ? hostile.url : hostile.wsUrl, node.url])
            assert.ok(hostile.bent() > 0, `seed ${seed}`)
          } finally {
            await hostile.stop()
          }
        }
      })
    }
  })
}

/** Bytes that are not a message, or one out of all bounds. */
const hostileBytes = (right: Buffer, random: Random): Buffer => {
  switch (random.below(5)) {
    case 0:
      return right.subarray(0, random.below(right.length))
    case 1:
      return Buffer.from(Array.from({ length: random.below(2_000) }, () => random.below(256)))
    case 2:
      return Buffer.concat([right, Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f])])
    case 3:
      return nestedGroups(100_000)
    default:
      return Buffer.alloc(random.below(4_096) + 1)
  }
}

/** Field 1 as a message, again and again. */
const nestedGroups = (depth: number): Buffer => {
  const parts: Buffer[] = []
  let length = 0
  for (let level = 0; level < depth; level += 1) {
    const header = [0x0a]
    for (let rest = length; ; rest = Math.floor(rest / 128)) {
      header.push(rest >= 128 ? (rest % 128) | 0x80 : rest)
      if (rest < 128) break
    }
    parts.push(Buffer.from(header))
    length += header.length
  }
  return Buffer.concat(parts.toReversed())
}

test('hostile messages of a Sui node over gRPC, a healthy second endpoint: the chain continues', async () => {
  const checkpoints = suiCheckpoints(101, 120)
  const checkpointAt = createSuiChain()
  const healthy = await startSuiNode({ checkpoints })
  const services = loadGrpcServices('sui.proto')
  const info = { chainId: suiChainId(), checkpointHeight: '120', lowestAvailableCheckpoint: '101' }
  const held = new Map(checkpoints.map((each) => [each.height, each.wire]))
  try {
    for (let seed = 1; seed <= RUNS; seed += 1) {
      const random = createRandom(seed)
      let infos = 0
      const server = await startGrpcServer({
        services,
        handlers: {
          unary: {
            [METHOD.info]: () => info,
            [METHOD.checkpoint]: ({ sequenceNumber }) => ({
              checkpoint: held.get(Number(sequenceNumber)) ?? null,
            }),
          },
          streams: {
            [METHOD.subscribe]: (stream) => {
              stream.on('error', () => undefined)
              stream.write(hostileBytes(Buffer.from('some bytes'), random))
            },
          },
        },
        faults: (method) => {
          infos += method === METHOD.info ? 1 : 0
          const isIdentity = method === METHOD.info && infos === 1 && seed % 4 !== 0
          return isIdentity || random.below(10) < 3 ? undefined : 'wrong'
        },
        bend: (_fault, path, answer) => {
          const [service = '', method = ''] = path.split('/')
          const serialize = services[service]?.[method]?.responseSerialize
          return hostileBytes(serialize?.(answer) ?? Buffer.alloc(1), random)
        },
      })
      const stop = new AbortController()
      try {
        const urls = [server.url, healthy.url]
        const source = await openMoveSource({ ...shared(stop, urls), chain: CHAINS.sui, from: 101 })
        const hashAt = (height: number): string => checkpointAt(height).digest
        await follows(source, { from: 101, to: 120, hashAt })
      } finally {
        stop.abort()
        await server.stop()
      }
    }
  } finally {
    await healthy.stop()
  }
})
