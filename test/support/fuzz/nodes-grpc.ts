import { InvalidInput, Outage } from '../../../core/errors.ts'
import { grpcEndpoint, loadGrpcServices } from '../../../core/rpc/grpc.ts'
import { RpcError } from '../../../core/rpc/pool.ts'
import { METHOD } from '../../../ingestors/move/source/node-queries.ts'
import { createRandom, type Random } from '../../../simulator/node/random.ts'
import { GrpcError, type OpenStream, startGrpcServer } from '../replay/grpc-server.ts'
import { mutateBytes, randomText } from './random-values.ts'
import { FuzzFailure, type FuzzRunner, type FuzzSurface } from './surface.ts'

const TIMEOUT_MS = 2_000
const STATUS_NAMES = [
  'INTERNAL',
  'UNKNOWN',
  'NOT_FOUND',
  'OK',
  'RESOURCE_EXHAUSTED',
  'DATA_LOSS',
] as const

/** A checkpoint with fields of every wire type: varint, text, nested message. Source: protobuf.dev, encoding. */
const VALID_CHECKPOINT = Buffer.from(
  '0a200801120a6162636465666768696a1a0a6162636465666768696a22040a020801',
  'hex',
)

const randomBytes = (random: Random): Buffer => {
  const how = random.below(5)
  if (how === 0) return Buffer.from(random.hex(2 * random.below(60)), 'hex')
  if (how === 1) return Buffer.from(randomText(random))
  // Groups inside each other: a reader that recurses into them overflows.
  if (how === 2) return Buffer.alloc(random.pick([10, 1_000, 100_000]), 0x0b)
  if (how === 3) return Buffer.from(`ff${'ff'.repeat(random.below(20))}01`, 'hex')
  return mutateBytes(VALID_CHECKPOINT, random)
}

const requestSeed = (request: Readonly<Record<string, unknown>>): number =>
  Number(request.sequenceNumber ?? 0)

/** Answers and streams of gRPC nodes: each ends in a message or in an error that the callers know. */
export const grpcNodes: FuzzSurface = {
  name: 'nodes-grpc',
  share: 1,
  needsTarget: false,
  open: async (): Promise<FuzzRunner> => {
    const services = loadGrpcServices('sui.proto')
    let streamSeed = 0
    const server = await startGrpcServer({
      services,
      faults: () => undefined,
      bend: (_fault, _method, answer) => answer,
      handlers: {
        unary: {
          [METHOD.checkpoint]: (request) => {
            const random = createRandom(requestSeed(request))
            if (random.chance(0.2)) {
              throw new GrpcError(
                random.pick(STATUS_NAMES),
                randomText(random).replace(/[^ -~]/g, ''),
              )
            }
            return randomBytes(random)
          },
        },
        streams: {
          [METHOD.subscribe]: (stream: OpenStream) => {
            const random = createRandom(streamSeed)
            stream.on('error', () => undefined)
            for (let more = random.below(5); more > 0; more--) stream.write(randomBytes(random))
            stream.end()
          },
        },
      },
    })
    const endpoint = grpcEndpoint(server.url, { services, timeoutMs: TIMEOUT_MS })
    return {
      run: async (random) => {
        const seed = random.uint32()
        const isStream = random.chance(0.3)
        const { signal } = new AbortController()
        if (isStream) streamSeed = seed
        const spec = { method: METHOD.subscribe, request: {}, onMessage: () => undefined }
        const call = { method: METHOD.checkpoint, params: [{ sequenceNumber: String(seed) }] }
        try {
          await (isStream ? endpoint.stream(spec, signal) : endpoint.request(call, signal))
        } catch (error) {
          const isKnown =
            error instanceof Outage || error instanceof InvalidInput || error instanceof RpcError
          if (!isKnown)
            throw new FuzzFailure(
              `${String(error).slice(0, 200)} of seed ${seed}, stream: ${isStream}`,
            )
        }
      },
      close: async () => {
        endpoint.close()
        await server.stop()
      },
    }
  },
}
